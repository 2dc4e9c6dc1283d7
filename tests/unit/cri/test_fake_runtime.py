"""The fake behaves as a runtime does, goes wrong as told, and does both alike every time."""

import pytest

from client.clock import FakeClock
from cri.client import Deadlines
from cri.errors import CriError, DeadlineExceeded, NotFound, Unavailable, Unimplemented
from cri.fake import FakeRuntime, Fault, Program, RemoteImage
from proto import cri_pb2 as cri


def sandbox_config(name: str = "web", attempt: int = 0) -> cri.PodSandboxConfig:
    return cri.PodSandboxConfig(
        metadata=cri.PodSandboxMetadata(name=name, namespace="default", uid=f"uid-{name}", attempt=attempt),
        log_directory=f"/logs/{name}",
        labels={"io.kubernetes.pod.name": name},
    )


def container_config(name: str = "app", attempt: int = 0) -> cri.ContainerConfig:
    return cri.ContainerConfig(
        metadata=cri.ContainerMetadata(name=name, attempt=attempt),
        image=cri.ImageSpec(image="busybox"),
        log_path=f"{name}/{attempt}.log",
        labels={"io.kubernetes.container.name": name},
    )


async def running(runtime: FakeRuntime, name: str = "app") -> str:
    runtime.images.add("busybox:latest")
    pod = sandbox_config()
    sandbox = await runtime.run_pod_sandbox(pod)
    container = await runtime.create_container(sandbox, container_config(name), pod)
    await runtime.start_container(container)
    return container


async def state_of(runtime: FakeRuntime, container: str) -> str:
    return cri.ContainerState.Name((await runtime.container_status(container)).status.state)


async def test_a_container_lives_from_creation_to_removal() -> None:
    clock = FakeClock()
    runtime = FakeRuntime(clock)
    runtime.service.programs = lambda config: Program(runs_for=30, exit_code=3)
    container = await running(runtime)
    assert await state_of(runtime, container) == "CONTAINER_RUNNING"
    await clock.sleep(31)
    status = (await runtime.container_status(container)).status
    assert (status.state, status.exit_code, status.reason) == (cri.CONTAINER_EXITED, 3, "Error")
    assert status.finished_at - status.started_at == 30_000_000_000
    assert status.log_path == "/logs/web/app/0.log"
    await runtime.remove_container(container)
    assert await runtime.list_containers() == []
    with pytest.raises(NotFound):
        await runtime.container_status(container)


@pytest.mark.parametrize(
    ("program", "grace", "code", "took"),
    [
        (Program(obeys_after=2), 30, 143, 2),
        (Program(obeys_after=2, obeys_with=0), 30, 0, 2),
        (Program(obeys_after=None), 30, 137, 30),
        (Program(obeys_after=2), 0, 137, 0),
        (Program(obeys_after=40), 30, 137, 30),
        (Program(runs_for=5, exit_code=0, obeys_after=None), 30, 0, 5),
    ],
)
async def test_stopping_obeys_program_and_grace(program: Program, grace: int, code: int, took: float) -> None:
    clock = FakeClock()
    runtime = FakeRuntime(clock)
    runtime.service.programs = lambda config: program
    container = await running(runtime)
    begun = clock.monotonic()
    await runtime.stop_container(container, grace)
    assert clock.monotonic() - begun == pytest.approx(took)
    assert (await runtime.container_status(container)).status.exit_code == code


async def test_names_are_reserved_until_removal() -> None:
    runtime = FakeRuntime(FakeClock())
    sandbox = await runtime.run_pod_sandbox(sandbox_config())
    with pytest.raises(CriError, match="is reserved for"):
        await runtime.run_pod_sandbox(sandbox_config())
    assert await runtime.run_pod_sandbox(sandbox_config(attempt=1)) != sandbox
    await runtime.remove_pod_sandbox(sandbox)
    await runtime.run_pod_sandbox(sandbox_config())


async def test_removing_a_sandbox_takes_its_containers_along() -> None:
    runtime = FakeRuntime(FakeClock())
    container = await running(runtime)
    sandbox = runtime.containers[container].sandbox_id
    await runtime.stop_pod_sandbox(sandbox)
    assert await state_of(runtime, container) == "CONTAINER_EXITED"
    assert (await runtime.list_pod_sandbox(state=cri.SANDBOX_NOTREADY))[0].id == sandbox
    await runtime.remove_pod_sandbox(sandbox)
    await runtime.remove_pod_sandbox(sandbox)
    assert (await runtime.list_containers(), await runtime.list_pod_sandbox()) == ([], [])


async def test_a_container_needs_its_image() -> None:
    runtime = FakeRuntime(FakeClock())
    sandbox = await runtime.run_pod_sandbox(sandbox_config())
    with pytest.raises(NotFound):
        await runtime.create_container(sandbox, container_config(), sandbox_config())


async def test_pulls_take_time_fail_and_want_passwords() -> None:
    clock = FakeClock()
    runtime = FakeRuntime(clock)
    runtime.images.anything_goes = False
    runtime.images.registry = {
        "slow:1": RemoteImage("slow:1", takes=90, size=77),
        "gone:1": RemoteImage("gone:1", code="NotFound", message="manifest unknown"),
        "mine:1": RemoteImage("mine:1", password="sesame"),
    }
    reference = await runtime.pull_image(cri.ImageSpec(image="slow:1"))
    assert clock.monotonic() == pytest.approx(90)
    image = await runtime.image_status(cri.ImageSpec(image=reference))
    assert image is not None and image.size == 77 and list(image.repo_tags) == ["slow:1"]
    with pytest.raises(NotFound, match="manifest unknown"):
        await runtime.pull_image(cri.ImageSpec(image="gone:1"))
    with pytest.raises(NotFound):
        await runtime.pull_image(cri.ImageSpec(image="nowhere:1"))
    with pytest.raises(CriError, match="failed to authorize"):
        await runtime.pull_image(cri.ImageSpec(image="mine:1"), auth=cri.AuthConfig(password="guess"))
    await runtime.pull_image(cri.ImageSpec(image="mine:1"), auth=cri.AuthConfig(password="sesame"))
    await runtime.remove_image(cri.ImageSpec(image="mine:1"))
    assert await runtime.image_status(cri.ImageSpec(image="mine:1")) is None


async def test_faults_delay_fail_hang_and_lose_replies() -> None:
    clock = FakeClock()
    runtime = FakeRuntime(clock, deadlines=Deadlines(call=120))
    container = await running(runtime)
    runtime.faults.arm("ContainerStatus", Fault(delay=5))
    await runtime.container_status(container)
    assert clock.monotonic() == pytest.approx(5)

    runtime.faults.arm("ContainerStatus", Fault(code="Unknown", message="nfs: stale handle"))
    with pytest.raises(CriError, match=f"container {container}: ask for status: nfs: stale handle"):
        await runtime.container_status(container)

    runtime.faults.arm("ContainerStatus", Fault(hang=True))
    with pytest.raises(DeadlineExceeded):
        await runtime.container_status(container)
    assert clock.monotonic() == pytest.approx(125)

    runtime.faults.arm("RemoveContainer", Fault(lose_reply=True))
    with pytest.raises(Unavailable):
        await runtime.remove_container(container)
    assert runtime.containers == {}


async def test_faults_can_be_for_one_container_only() -> None:
    runtime = FakeRuntime(FakeClock())
    container = await running(runtime)
    runtime.faults.arm("ContainerStatus", Fault(code="Unknown"), times=None, when=lambda r: r.container_id == "other")  # type: ignore[attr-defined]
    await runtime.container_status(container)


async def test_lies_about_a_stopped_container() -> None:
    runtime = FakeRuntime(FakeClock())
    container = await running(runtime)
    runtime.lies.keeps_running.add(container)
    await runtime.stop_container(container, 0)
    assert await state_of(runtime, container) == "CONTAINER_RUNNING"
    runtime.lies.keeps_running.clear()
    runtime.lies.forgets_on_stop.add(container)
    with pytest.raises(NotFound):
        await runtime.stop_container(container, 0)
    runtime.lies.needs_image_for_status = True
    await runtime.remove_image(cri.ImageSpec(image="busybox"))
    with pytest.raises(CriError, match="no such image"):
        await runtime.container_status(container)


async def test_a_crash_makes_it_unavailable_and_loses_nothing() -> None:
    runtime = FakeRuntime(FakeClock())
    container = await running(runtime)
    runtime.crash()
    with pytest.raises(Unavailable):
        await runtime.version()
    runtime.restart()
    assert await state_of(runtime, container) == "CONTAINER_RUNNING"


async def test_an_old_runtime_lacks_methods() -> None:
    runtime = FakeRuntime(FakeClock())
    runtime.way.unimplemented.add("RuntimeConfig")
    with pytest.raises(Unimplemented):
        await runtime.runtime_config()
    with pytest.raises(Unimplemented):
        async for _ in runtime.stream_containers():
            pass


async def test_one_seed_one_course() -> None:
    async def course(seed: int) -> list[str]:
        runtime = FakeRuntime(FakeClock(), seed=seed)
        runtime.faults.sprinkle(0.5, [Fault(code="Unknown"), Fault(lose_reply=True)], ["RunPodSandbox"])
        seen = []
        for attempt in range(30):
            try:
                seen.append(await runtime.run_pod_sandbox(sandbox_config(attempt=attempt)))
            except CriError as error:
                seen.append(error.code)
        return seen

    assert await course(1) == await course(1)
    assert await course(1) != await course(2)
