"""The executor over a fake runtime: what it asks, what it makes of the answers, and of failures."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from agent.pods.observed import ContainerState
from agent.pods.seams import ContainerRequest, StartError
from agent.runtime.blocking import run_blocking
from agent.runtime.dns import DnsSettings
from agent.runtime.executor import PodRuntime, Surroundings
from agent.runtime.facts import NodeFacts, Places
from agent.runtime.subpaths import FakeSubPaths
from api import core_v1 as core
from client.clock import FakeClock
from cri.errors import CriError, Unavailable
from cri.fake import FakeRuntime, Fault, Program
from proto import cri_pb2 as cri
from tests.unit.agent.pod_builders import UID, pod


class Heard:
    def __init__(self) -> None:
        self.events: list[tuple[str, str, str]] = []

    def event(self, obj: Any, type_: str, reason: str, message: str, *, field_path: str = "") -> None:
        self.events.append((type_, reason, message))


class NoObjects:
    async def config_map(self, namespace: str, name: str) -> core.ConfigMap | None:
        return None

    async def secret(self, namespace: str, name: str) -> core.Secret | None:
        return None


async def no_handler(one: core.Pod) -> str:
    return ""


class Bench:
    def __init__(self, folder: Path) -> None:
        # Files are prepared in threads, which the loop cannot see: wait a little before time jumps.
        self.clock = FakeClock(threshold=0.05)
        self.fake = FakeRuntime(self.clock)
        self.fake.images.add("img:latest")
        self.heard = Heard()
        self.places = Places(root=folder / "agent", pod_logs=folder / "logs")
        self.dns = DnsSettings(cluster_servers=("10.43.0.10",))
        facts = NodeFacts("node", ips=("192.0.2.1",))
        around = Surroundings(
            facts=lambda: facts,
            places=self.places,
            dns=lambda: self.dns,
            cgroup_parent=lambda one: f"/kubepods/pod{one.metadata.uid}",
            objects=NoObjects(),
            services=list,
            runtime_handler=no_handler,
            recorder=self.heard,
            clock=self.clock,
            sub_paths=FakeSubPaths(),
        )
        self.runtime = PodRuntime(self.fake, "fake", around)

    async def create(self, one: core.Pod, attempt: int = 0) -> str:
        seen = await self.runtime.observe(one.metadata.uid)
        box = seen.sandboxes[0]
        request = ContainerRequest(one, one.spec.containers[0], attempt, box.id, box.attempt, "img:latest", {}, box.ips)
        return await self.runtime.create_container(request)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


async def test_a_pod_is_seen_as_it_was_made(bench: Bench) -> None:
    one = pod({"name": "app", "terminationMessagePath": "/dev/termination-log"})
    sandbox = await bench.runtime.create_sandbox(one, 4)
    container = await bench.create(one, 2)
    await bench.runtime.start_container(container)
    seen = await bench.runtime.observe(UID)
    assert (seen.name, seen.namespace, seen.grace) == ("web", "default", 30)
    assert [(box.id, box.attempt, box.ready, box.ips) for box in seen.sandboxes] == [(sandbox, 4, True, ("10.42.0.3",))]
    (app,) = seen.containers
    assert (app.name, app.attempt, app.state, app.image) == ("app", 2, ContainerState.RUNNING, "img")
    assert (bench.places.log_folder("default", "web", UID) / "app").is_dir()
    assert "10.42.0.3\tweb\n" in (bench.places.pod(UID) / "etc-hosts").read_text()
    words = bench.places.pod(UID) / "containers/app/termination-2"
    assert words.stat().st_mode & 0o777 == 0o666
    words.write_text("that was it")
    bench.fake.exit(container, 3)
    ended = (await bench.runtime.observe(UID)).container("app")
    assert ended is not None and (ended.exit_code, ended.message) == (3, "that was it")


async def test_lists_and_single_views_agree(bench: Bench) -> None:
    await bench.runtime.create_sandbox(pod(), 0)
    await bench.create(pod())
    foreign = cri.PodSandboxConfig(metadata=cri.PodSandboxMetadata(name="x", uid="x", namespace="x"))
    await bench.fake.run_pod_sandbox(foreign)
    listed = await bench.runtime.list_pods()
    assert list(listed) == [UID]
    seen = await bench.runtime.observe(UID)
    assert [one.id for one in listed[UID].containers] == [one.id for one in seen.containers]
    assert (await bench.runtime.observe("nobody")).empty


async def test_a_container_that_cannot_be_configured_says_why(bench: Bench) -> None:
    one = pod({"name": "app", "env": [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}]})
    await bench.runtime.create_sandbox(one, 0)
    with pytest.raises(StartError) as caught:
        await bench.create(one)
    assert (caught.value.reason, caught.value.message) == ("CreateContainerConfigError", 'secret "s" not found')


async def test_cuts_of_dns_are_told_once_a_sandbox(bench: Bench) -> None:
    bench.dns = DnsSettings()
    await bench.runtime.create_sandbox(pod(), 0)
    await bench.create(pod())
    assert [(kind, reason) for kind, reason, _ in bench.heard.events] == [("Warning", "MissingClusterDNS")]


async def test_what_is_gone_is_stopped_and_removed_already(bench: Bench) -> None:
    await bench.runtime.stop_container("gone", 5)
    await bench.runtime.remove_container("gone")
    await bench.runtime.stop_sandbox("gone")
    await bench.runtime.remove_sandbox("gone")


async def test_grace_is_rounded_up_to_whole_seconds(bench: Bench) -> None:
    bench.fake.service.programs = lambda config: Program(obeys_after=None)
    await bench.runtime.create_sandbox(pod(), 0)
    container = await bench.create(pod())
    await bench.runtime.start_container(container)
    begun = bench.clock.monotonic()
    await bench.runtime.stop_container(container, 1.2)
    assert bench.clock.monotonic() - begun == pytest.approx(2)


async def test_trouble_with_one_status_does_not_hide_the_container(bench: Bench) -> None:
    await bench.runtime.create_sandbox(pod(), 0)
    container = await bench.create(pod())
    await bench.runtime.start_container(container)
    bench.fake.lies.needs_image_for_status = True
    await bench.fake.remove_image(cri.ImageSpec(image="img:latest"))
    (running,) = (await bench.runtime.observe(UID)).containers
    assert running.state is ContainerState.RUNNING
    await bench.runtime.stop_container(container, 0)
    (ended,) = (await bench.runtime.observe(UID)).containers
    # Nobody knows how it ended, so it must not pass for a success.
    assert (ended.state, ended.exit_code, ended.reason) == (ContainerState.EXITED, 137, "ContainerStatusUnknown")
    await bench.runtime.remove_container(container)
    assert not (await bench.runtime.observe(UID)).containers


async def test_a_runtime_that_is_away_is_not_an_empty_one(bench: Bench) -> None:
    await bench.runtime.create_sandbox(pod(), 0)
    container = await bench.create(pod())
    bench.fake.faults.arm("ContainerStatus", Fault(code="Unavailable"))
    with pytest.raises(Unavailable):
        await bench.runtime.observe(UID)
    assert container in {one.id for one in (await bench.runtime.observe(UID)).containers}


async def test_a_container_that_vanishes_between_list_and_status_is_gone(bench: Bench) -> None:
    await bench.runtime.create_sandbox(pod(), 0)
    await bench.create(pod())
    bench.fake.faults.arm("ContainerStatus", Fault(code="NotFound"))
    assert not (await bench.runtime.observe(UID)).containers


async def test_state_that_lags_behind_its_event_is_waited_for(bench: Bench) -> None:
    await bench.runtime.create_sandbox(pod(), 0)
    container = await bench.create(pod())
    await bench.runtime.start_container(container)
    events = bench.runtime.events()
    assert (await anext(events)).id == ""
    record = bench.fake.containers[container]
    bench.fake.exit(container, 7)
    # The event is out; the state is set back and follows a moment later, as with containerd's own events.
    record.state = cri.CONTAINER_RUNNING
    assert (await anext(events)).id == container
    bench.clock.call_later(0.02, setattr, record, "state", cri.CONTAINER_EXITED)
    seen = (await bench.runtime.observe(UID)).container("app")
    assert seen is not None and (seen.state, seen.exit_code) == (ContainerState.EXITED, 7)
    await close(events)


async def test_state_that_never_follows_is_taken_as_it_is(bench: Bench) -> None:
    await bench.runtime.create_sandbox(pod(), 0)
    container = await bench.create(pod())
    await bench.runtime.start_container(container)
    events = bench.runtime.events()
    await anext(events)
    bench.fake.exit(container, 7)
    bench.fake.containers[container].state = cri.CONTAINER_RUNNING
    await anext(events)
    begun = bench.clock.monotonic()
    seen = (await bench.runtime.observe(UID)).container("app")
    assert seen is not None and seen.state is ContainerState.RUNNING
    assert 0 < bench.clock.monotonic() - begun < 3
    # It is to be looked at again soon: no event will tell when the state has followed. But not for ever.
    assert (await bench.runtime.observe(UID)).lagging
    await bench.clock.sleep(61)
    assert not (await bench.runtime.observe(UID)).lagging
    await close(events)


async def test_an_end_that_is_told_during_a_look_is_in_what_the_look_brings(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    await bench.runtime.create_sandbox(pod(), 0)
    container = await bench.create(pod())
    await bench.runtime.start_container(container)
    events = bench.runtime.events()
    await anext(events)
    read = bench.fake.container_status

    async def ends_once_it_was_read(identity: str) -> cri.ContainerStatusResponse:
        status = await read(identity)
        if status.status.state == cri.CONTAINER_RUNNING:
            bench.fake.exit(identity, 7)
            assert (await anext(events)).id == identity
        return status

    monkeypatch.setattr(bench.fake, "container_status", ends_once_it_was_read)
    seen = await bench.runtime.observe(UID)
    assert [(one.state, one.exit_code) for one in seen.containers] == [(ContainerState.EXITED, 7)]
    assert not seen.lagging
    await close(events)


async def close(events: AsyncIterator[Any]) -> None:
    await events.aclose()  # type: ignore[attr-defined]


async def test_commands_end_or_time_out(bench: Bench) -> None:
    await bench.runtime.create_sandbox(pod(), 0)
    container = await bench.create(pod())
    await bench.runtime.start_container(container)
    bench.fake.service.exec_handler = lambda record, command: cri.ExecSyncResponse(exit_code=len(command), stdout=b"x")
    result = await bench.runtime.exec_sync(container, ["a", "b"], 1)
    assert (result.exit_code, result.stdout) == (2, b"x")
    bench.fake.service.exec_takes = 10
    with pytest.raises(TimeoutError):
        await bench.runtime.exec_sync(container, ["a"], 1.5)


async def test_the_runtimes_health_is_told(bench: Bench) -> None:
    info = await bench.runtime.info()
    assert (info.name, info.version, info.ready, info.network_ready) == ("fake", "v1.0.0", True, True)
    bench.fake.service.network_ready = False
    info = await bench.runtime.info()
    assert not info.network_ready
    assert info.network_message == "Network plugin returns error: cni plugin not initialized"


async def test_a_pod_on_the_hosts_network_gets_the_hosts_addresses(bench: Bench) -> None:
    one = pod(
        {"name": "app", "env": [{"name": "IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}]},
        hostNetwork=True,
    )
    await bench.runtime.create_sandbox(one, 0)
    container = await bench.create(one)
    assert {one.key: one.value for one in bench.fake.containers[container].config.envs}["IP"] == b"192.0.2.1"


async def test_an_image_that_vanished_is_told(bench: Bench) -> None:
    await bench.runtime.create_sandbox(pod(), 0)
    await bench.fake.remove_image(cri.ImageSpec(image="img:latest"))
    with pytest.raises(StartError, match='CreateContainerConfigError: image "img" not found'):
        await bench.create(pod())


async def test_errors_of_the_runtime_pass_through(bench: Bench) -> None:
    await bench.runtime.create_sandbox(pod(), 0)
    bench.fake.faults.arm("CreateContainer", Fault(code="Unknown", message="no space left on device"))
    with pytest.raises(CriError, match="container app: create container: no space left on device"):
        await bench.create(pod())


async def test_a_blocked_call_lets_the_caller_go_on() -> None:
    clock = FakeClock(threshold=0.05)
    never = threading.Event()
    with pytest.raises(TimeoutError, match="volume data: no end after 30 s"):
        await run_blocking(lambda: never.wait(), "volume data", 30, clock)
    never.set()
    assert await run_blocking(lambda: 5, "sum", 30, clock) == 5
    with pytest.raises(KeyError):
        await run_blocking(lambda: {}["x"], "lookup", 30, clock)


async def test_a_cancelled_caller_is_free_at_once() -> None:
    never = threading.Event()
    task = asyncio.create_task(run_blocking(lambda: never.wait(), "volume", 30, FakeClock(autojump=False)))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    never.set()
