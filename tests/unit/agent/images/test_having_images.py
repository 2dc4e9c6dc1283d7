"""Having an image: policies, words, back-off, sharing, and who does not wait."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from agent.images.durations import duration_text
from agent.images.errors import ImagePullError
from agent.images.listing import node_images
from agent.images.puller import ImagePuller
from api import core_v1 as core
from client.clock import FakeClock
from cri.fake import FakeRuntime, Fault, RemoteImage
from tests.unit.agent.images.secrets import docker_secret
from tests.unit.agent.pod_builders import pod


class Heard:
    def __init__(self) -> None:
        self.events: list[tuple[str, str, str]] = []

    def event(self, obj: Any, type_: str, reason: str, message: str, *, field_path: str = "") -> None:
        assert field_path == "spec.containers{app}"
        self.events.append((type_, reason, message))

    def take(self) -> list[tuple[str, str, str]]:
        taken, self.events = self.events, []
        return taken


class Bench:
    def __init__(self, parallel: int = 5) -> None:
        self.clock = FakeClock()
        self.fake = FakeRuntime(self.clock)
        self.fake.images.anything_goes = False
        self.heard = Heard()
        self.puller = ImagePuller(self.fake, self.heard, self.clock, parallel=parallel)

    def offer(self, name: str, **more: Any) -> None:
        self.fake.images.registry[name] = RemoteImage(name, **more)

    async def ensure(self, image: str, policy: str = "IfNotPresent", uid: str = "uid", *secrets: core.Secret) -> str:
        one = pod("app", uid=uid)
        return await self.puller.ensure(one, one.spec.containers[0], image, policy, secrets)

    async def fails(self, image: str, policy: str = "IfNotPresent", uid: str = "uid") -> ImagePullError:
        with pytest.raises(ImagePullError) as caught:
            await self.ensure(image, policy, uid)
        return caught.value


async def test_an_image_that_is_here() -> None:
    bench = Bench()
    held = bench.fake.images.add("busybox:latest")
    for policy in ("IfNotPresent", "Never", ""):
        assert await bench.ensure("busybox", policy) == held.id
    text = 'Container image "busybox" already present on machine and can be accessed by the pod'
    assert bench.heard.take() == [("Normal", "Pulled", text)] * 3
    assert bench.fake.images.pulls == []


async def test_an_image_that_has_to_be_pulled() -> None:
    bench = Bench()
    bench.offer("busybox:latest", takes=1.2, size=4321)
    reference = await bench.ensure("busybox")
    assert reference.startswith("sha256:")
    assert bench.heard.take() == [
        ("Normal", "Pulling", 'Pulling image "busybox"'),
        (
            "Normal",
            "Pulled",
            'Successfully pulled image "busybox" in 1.2s (1.2s including waiting). Image size: 4321 bytes.',
        ),
    ]
    await bench.ensure("busybox", "Always")
    assert bench.fake.images.pulls == ["busybox:latest"] * 2


async def test_an_image_that_must_not_be_pulled() -> None:
    bench = Bench()
    error = await bench.fails("busybox", "Never")
    message = 'Container image "busybox" is not present with pull policy of Never'
    assert (error.reason, error.message, error.retry_in) == ("ErrImageNeverPull", message, None)
    assert bench.heard.take() == [
        ("Warning", "ErrImageNeverPull", message),
        ("Warning", "Failed", "Error: ErrImageNeverPull"),
    ]


async def test_a_name_that_is_none() -> None:
    bench = Bench()
    error = await bench.fails("Nope:x")
    message = (
        'Failed to apply default image tag "Nope:x": couldn\'t parse image name "Nope:x": '
        "invalid reference format: repository name (library/Nope) must be lowercase"
    )
    assert (error.reason, error.message) == ("InvalidImageName", message)
    assert bench.heard.take() == [
        ("Warning", "InspectFailed", message),
        ("Warning", "Failed", "Error: InvalidImageName"),
    ]


async def test_a_runtime_that_cannot_tell() -> None:
    bench = Bench()
    bench.fake.faults.arm("ImageStatus", Fault(code="Unknown", message="disk on fire"))
    error = await bench.fails("busybox")
    assert error.reason == "ImageInspectError"
    assert error.message == 'Failed to inspect image "": rpc error: code = Unknown desc = disk on fire'


async def test_failing_pulls_back_off_for_each_pod() -> None:
    bench = Bench()
    bench.offer("gone:1", code="NotFound", message="manifest unknown")
    error = await bench.fails("gone:1")
    words = "rpc error: code = NotFound desc = manifest unknown"
    assert (error.reason, error.message, error.retry_in) == ("ErrImagePull", words, 10)
    assert bench.heard.take() == [
        ("Normal", "Pulling", 'Pulling image "gone:1"'),
        ("Warning", "Failed", f'Failed to pull image "gone:1": {words}'),
        ("Warning", "Failed", "Error: ErrImagePull"),
    ]
    await bench.clock.sleep(4)
    error = await bench.fails("gone:1")
    assert error.reason == "ImagePullBackOff"
    assert error.message == f'Back-off pulling image "gone:1": ErrImagePull: {words}'
    assert error.retry_in == pytest.approx(6)
    assert bench.heard.take() == [
        ("Normal", "BackOff", 'Back-off pulling image "gone:1"'),
        ("Warning", "Failed", "Error: ImagePullBackOff"),
    ]
    assert (await bench.fails("gone:1", uid="another")).reason == "ErrImagePull"


async def test_pauses_double_up_to_five_minutes_and_are_forgotten() -> None:
    bench = Bench()
    bench.offer("gone:1", code="Unknown", message="x")
    pauses = []
    for _ in range(7):
        error = await bench.fails("gone:1")
        assert error.reason == "ErrImagePull" and error.retry_in is not None
        pauses.append(error.retry_in)
        await bench.clock.sleep(error.retry_in)
    assert pauses == [10, 20, 40, 80, 160, 300, 300]
    await bench.clock.sleep(601)
    assert (await bench.fails("gone:1")).retry_in == 10


async def test_failures_with_names_of_their_own() -> None:
    bench = Bench()
    bench.offer("a:1", code="Unknown", message="RegistryUnavailable: it sleeps")
    bench.offer("b:1", code="Unknown", message="SignatureValidationFailed: forged")
    error = await bench.fails("a:1")
    assert error.reason == "RegistryUnavailable"
    assert error.message == "image pull failed for a:1 because the registry is unavailable: it sleeps"
    error = await bench.fails("b:1")
    assert error.message == "image pull failed for b:1 because the signature validation failed: forged"


async def test_credentials_are_tried_until_one_fits() -> None:
    bench = Bench()
    bench.offer("registry.example/app:1", password="sesame")
    wrong = docker_secret({"registry.example": ("user", "guess")})
    right = docker_secret({"registry.example": ("user", "sesame")})
    await bench.ensure("registry.example/app:1", "IfNotPresent", "uid", wrong, right)
    with pytest.raises(ImagePullError, match="pull access denied"):
        await bench.ensure("registry.example/app:1", "Always", "other", wrong)


async def test_pods_that_want_one_image_share_its_pull() -> None:
    bench = Bench()
    bench.offer("big:1", takes=60)
    async with asyncio.TaskGroup() as group:
        for number in range(10):
            group.create_task(bench.ensure("big:1", "Always", f"uid{number}"))
    assert bench.fake.images.pulls == ["big:1"]
    assert bench.clock.monotonic() == pytest.approx(60)
    pulled = [message for _, reason, message in bench.heard.take() if reason == "Pulled"]
    assert len(pulled) == 10


async def test_a_shared_pull_survives_the_end_of_who_began_it() -> None:
    bench = Bench()
    bench.offer("big:1", takes=60)
    first = asyncio.create_task(bench.ensure("big:1", "Always", "first"))
    second = asyncio.create_task(bench.ensure("big:1", "Always", "second"))
    await bench.clock.sleep(30)
    first.cancel()
    assert (await second).startswith("sha256:")
    assert first.cancelled()
    assert bench.clock.monotonic() == pytest.approx(90)


async def test_a_shared_failure_is_told_to_all() -> None:
    bench = Bench()
    bench.offer("bad:1", takes=5, code="Unknown", message="broken")
    results = await asyncio.gather(*(bench.fails("bad:1", "Always", f"uid{n}") for n in range(3)))
    assert {error.message for error in results} == {"broken"}
    assert bench.fake.images.pulls == ["bad:1"]


async def test_pulls_are_bounded_and_an_image_that_is_here_waits_for_none() -> None:
    bench = Bench(parallel=2)
    bench.fake.images.add("here:1")
    for number in range(6):
        bench.offer(f"slow{number}:1", takes=1000)
    async with asyncio.TaskGroup() as group:
        for number in range(6):
            group.create_task(bench.ensure(f"slow{number}:1", uid=f"uid{number}"))
        await bench.clock.sleep(1)
        begun = bench.clock.monotonic()
        await bench.ensure("here:1", uid="quick")
        assert bench.clock.monotonic() == begun
    assert bench.fake.images.most_at_once == 2
    assert bench.clock.monotonic() == pytest.approx(3000)


async def test_waiting_is_told_apart_from_pulling() -> None:
    bench = Bench(parallel=1)
    bench.offer("a:1", takes=60)
    bench.offer("b:1", takes=1.5)
    async with asyncio.TaskGroup() as group:
        group.create_task(bench.ensure("a:1", uid="a"))
        await bench.clock.sleep(0)
        group.create_task(bench.ensure("b:1", uid="b"))
    messages = [message for _, reason, message in bench.heard.take() if reason == "Pulled"]
    assert messages[1].startswith('Successfully pulled image "b:1" in 1.5s (1m1.5s including waiting).')


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0s"),
        (0.0004, "0s"),
        (0.393, "393ms"),
        (1, "1s"),
        (1.2, "1.2s"),
        (1.2349, "1.234s"),
        (61.5, "1m1.5s"),
        (60, "1m0s"),
        (3600, "1h0m0s"),
        (3725.25, "1h2m5.25s"),
    ],
)
def test_durations_read_as_gos(seconds: float, text: str) -> None:
    assert duration_text(seconds) == text


async def test_the_nodes_images_are_listed_by_size() -> None:
    runtime = FakeRuntime(FakeClock())
    for number in range(60):
        runtime.images.add(f"image{number}:1", size=number)
    listed = await node_images(runtime)
    assert [one.size_bytes for one in listed] == list(range(59, 9, -1))
    assert listed[0].names[1] == "image59:1"
    assert len(await node_images(runtime, -1)) == 60
