"""Our client against a real containerd: the life of a pod, and what happens when the daemon dies."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator

import pytest

from cri.client import RuntimeClient
from cri.errors import CriError, NotFound, Unimplemented
from cri.events import ContainerEvent, EventKind
from proto import cri_pb2 as cri
from tests.node.containerd import TOOLBOX, Containerd

pytestmark = pytest.mark.node

SECONDS = 30.0


def sandbox_config(parent: str, name: str = "web") -> cri.PodSandboxConfig:
    config = cri.PodSandboxConfig(
        metadata=cri.PodSandboxMetadata(name=name, namespace="test", uid=secrets.token_hex(8)),
        hostname=name,
        labels={"test": name},
    )
    config.linux.cgroup_parent = parent
    return config


def container_config(*command: str, name: str = "app") -> cri.ContainerConfig:
    return cri.ContainerConfig(
        metadata=cri.ContainerMetadata(name=name), image=cri.ImageSpec(image=TOOLBOX), command=command
    )


async def run(runtime: RuntimeClient, containerd: Containerd, *command: str) -> tuple[str, str]:
    config = sandbox_config(containerd.cgroup_parent)
    sandbox = await runtime.run_pod_sandbox(config)
    container = await runtime.create_container(sandbox, container_config(*command), config)
    await runtime.start_container(container)
    return sandbox, container


async def until(events: AsyncIterator[ContainerEvent], kind: EventKind, container: str = "") -> ContainerEvent:
    async with asyncio.timeout(SECONDS):
        async for event in events:
            if event.kind is kind and event.container_id == container:
                return event
    raise AssertionError("the event stream ended")


async def test_a_pod_lives_from_sandbox_to_removal(runtime: RuntimeClient, containerd: Containerd) -> None:
    sandbox, container = await run(runtime, containerd, "sleep", "1000")
    status = (await runtime.pod_sandbox_status(sandbox)).status
    assert status.state == cri.SANDBOX_READY
    assert status.network.ip
    answer = await runtime.exec_sync(container, ["hostname"], 10)
    assert (answer.exit_code, answer.stdout) == (0, b"web\n")
    await runtime.stop_container(container, 0)
    ended = (await runtime.container_status(container)).status
    assert (ended.state, ended.exit_code) == (cri.CONTAINER_EXITED, 137)
    await runtime.remove_container(container)
    await runtime.stop_pod_sandbox(sandbox)
    await runtime.remove_pod_sandbox(sandbox)
    await runtime.remove_pod_sandbox(sandbox)
    assert [one.id for one in await runtime.list_pod_sandbox(labels={"test": "web"})] == []


async def test_absent_things_are_not_found(runtime: RuntimeClient) -> None:
    with pytest.raises(NotFound):
        await runtime.container_status("0" * 64)
    with pytest.raises(NotFound):
        await runtime.pod_sandbox_status("0" * 64)
    await runtime.remove_container("0" * 64)
    await runtime.remove_pod_sandbox("0" * 64)
    assert await runtime.image_status(cri.ImageSpec(image="localhost/none:1")) is None


async def test_failures_carry_the_runtimes_words(runtime: RuntimeClient, containerd: Containerd) -> None:
    config = sandbox_config(containerd.cgroup_parent)
    sandbox = await runtime.run_pod_sandbox(config)
    container = await runtime.create_container(sandbox, container_config("/no/such/program"), config)
    with pytest.raises(CriError, match=f"container {container}: start container: .*no such file or directory"):
        await runtime.start_container(container)


async def test_this_line_lacks_what_the_fallbacks_are_for(runtime: RuntimeClient) -> None:
    with pytest.raises(Unimplemented):
        await runtime.runtime_config()
    with pytest.raises(Unimplemented):
        async for _ in runtime.get_container_events():
            break


async def test_events_tell_start_and_end(runtime: RuntimeClient, containerd: Containerd) -> None:
    events = runtime.events()
    await until(events, EventKind.RESYNC)
    await until(events, EventKind.RESYNC)  # containerd's own service, after CRI's was not there
    _, container = await run(runtime, containerd, "sh", "-c", "exit 7")
    await until(events, EventKind.CREATED, container)
    await until(events, EventKind.STARTED, container)
    assert (await until(events, EventKind.STOPPED, container)).exit_code == 7
    await runtime.remove_container(container)
    await until(events, EventKind.DELETED, container)
    await events.aclose()  # type: ignore[attr-defined]


async def test_the_end_of_an_exec_is_no_event(runtime: RuntimeClient, containerd: Containerd) -> None:
    _, container = await run(runtime, containerd, "sleep", "1000")
    events = runtime.events()
    await until(events, EventKind.RESYNC)
    await until(events, EventKind.RESYNC)
    await runtime.exec_sync(container, ["true"], 10)
    await runtime.stop_container(container, 0)
    async with asyncio.timeout(SECONDS):
        seen = await anext(events)
    assert (seen.kind, seen.exit_code) == (EventKind.STOPPED, 137)
    await events.aclose()  # type: ignore[attr-defined]


async def test_events_go_on_after_containerd_was_killed(runtime: RuntimeClient, containerd: Containerd) -> None:
    _, container = await run(runtime, containerd, "sleep", "1000")
    events = runtime.events()
    await until(events, EventKind.RESYNC)
    await until(events, EventKind.RESYNC)
    await asyncio.to_thread(containerd.kill)
    restarting = asyncio.create_task(asyncio.to_thread(containerd.start))
    await until(events, EventKind.RESYNC)
    await restarting
    status = (await runtime.container_status(container)).status
    assert status.state == cri.CONTAINER_RUNNING
    await runtime.stop_container(container, 0)
    assert (await until(events, EventKind.STOPPED, container)).exit_code == 137
    await events.aclose()  # type: ignore[attr-defined]
