"""A pull may take as long as it moves, and no longer than it stands still."""

from __future__ import annotations

import asyncio

import pytest

from client.clock import FakeClock
from cri.containerd import cri_plugin_error, explained
from cri.errors import DeadlineExceeded, NotFound, Unimplemented
from cri.fake import FakeRuntime, Fault, RemoteImage
from cri.pulling import pull_image
from cri.transport import Call
from proto import cri_pb2 as cri
from proto.containerd import introspection_pb2

APP = cri.ImageSpec(image="app:1")


def offering(**more: object) -> tuple[FakeRuntime, FakeClock]:
    clock = FakeClock()
    runtime = FakeRuntime(clock)
    runtime.images.registry["app:1"] = RemoteImage("app:1", **more)  # type: ignore[arg-type]
    return runtime, clock


async def test_a_slow_pull_is_let_go_on() -> None:
    runtime, clock = offering(takes=20_000, size=200_000)
    assert (await pull_image(runtime, APP, stall_seconds=60)).startswith("sha256:")
    assert clock.monotonic() == pytest.approx(20_000)


async def test_a_pull_that_stands_still_is_given_up() -> None:
    runtime, clock = offering(stalls=True)
    with pytest.raises(DeadlineExceeded, match='image "app:1": pull image: no progress for 600 s'):
        await pull_image(runtime, APP)
    assert clock.monotonic() < 700
    assert runtime.images.pulling == 0


async def test_a_runtime_that_tells_no_progress_is_left_alone() -> None:
    runtime, clock = offering(stalls=True)
    runtime.way.unimplemented.add("ListStatuses")
    waiting = asyncio.create_task(pull_image(runtime, APP))
    await clock.sleep(5000)
    assert not waiting.done()
    waiting.cancel()
    await asyncio.wait({waiting})
    assert runtime.images.pulling == 0


async def test_progress_that_cannot_be_asked_for_once_is_no_reason_to_give_up() -> None:
    runtime, clock = offering(takes=300, size=200_000)
    runtime.faults.arm("ListStatuses", Fault(code="Unavailable"), times=5)
    await pull_image(runtime, APP, stall_seconds=120)
    assert clock.monotonic() == pytest.approx(300)


async def test_failures_come_through() -> None:
    runtime, _ = offering(takes=1, code="NotFound", message="manifest unknown")
    with pytest.raises(NotFound, match="manifest unknown"):
        await pull_image(runtime, APP)


class Introspected:
    """A containerd whose CRI plugin did not load."""

    def __init__(self, *plugins: introspection_pb2.Plugin) -> None:
        self.plugins = plugins

    async def unary(self, call: Call, request: object, reply: object, deadline: float | None) -> object:
        assert call.path == "/containerd.services.introspection.v1.Introspection/Plugins"
        return introspection_pb2.PluginsResponse(plugins=self.plugins)


async def test_a_missing_cri_is_explained() -> None:
    other = introspection_pb2.Plugin(type="io.containerd.snapshotter.v1", id="zfs")
    other.init_err.message = "no zfs here"
    broken = introspection_pb2.Plugin(type="io.containerd.grpc.v1", id="cri")
    broken.init_err.message = "failed to create cni conf monitor: too many open files"
    well = introspection_pb2.Plugin(type="io.containerd.grpc.v1", id="cri")
    said = await cri_plugin_error(Introspected(other, broken))  # type: ignore[arg-type]
    assert said == "failed to create cni conf monitor: too many open files"
    assert await cri_plugin_error(Introspected(other, well)) == ""  # type: ignore[arg-type]
    missing = Unimplemented("ask for the version", "", "unknown service runtime.v1.RuntimeService")
    assert await explained(Introspected(broken), missing) == (  # type: ignore[arg-type]
        "ask for the version: unknown service runtime.v1.RuntimeService: the CRI plugin of containerd was not loaded: "
        "failed to create cni conf monitor: too many open files"
    )
    gone = NotFound("ask", "container x", "not found")
    assert await explained(Introspected(broken), gone) == str(gone)  # type: ignore[arg-type]


async def test_other_runtimes_explain_nothing() -> None:
    with pytest.raises(Unimplemented):
        await cri_plugin_error(FakeRuntime(FakeClock()).transport)
    missing = Unimplemented("ask", "", "unknown service")
    assert await explained(FakeRuntime(FakeClock()).transport, missing) == "ask: unknown service"
