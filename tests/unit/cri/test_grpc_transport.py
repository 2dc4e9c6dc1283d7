"""Our transport over a real socket, with the fake runtime at the other end."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from cri.client import Deadlines, RuntimeClient
from cri.errors import (
    AlreadyExists,
    CriError,
    DeadlineExceeded,
    FailedPrecondition,
    InvalidArgument,
    NotFound,
    PermissionDenied,
    ResourceExhausted,
    RuntimeFailure,
    Unavailable,
    Unimplemented,
)
from cri.events import EventKind
from cri.fake import FakeRuntime, Fault
from cri.fake.serving import FakeServer
from proto import cri_pb2 as cri


@pytest.fixture
def socket() -> Iterator[Path]:
    # Not tmp_path: a socket's path is limited to 107 characters.
    with tempfile.TemporaryDirectory(prefix="orlop-cri-") as folder:
        yield Path(folder, "fake.sock")


@pytest.fixture
async def fake(socket: Path) -> AsyncIterator[FakeRuntime]:
    runtime = FakeRuntime()
    async with FakeServer(runtime, socket):
        yield runtime


@pytest.fixture
async def client(fake: FakeRuntime, socket: Path) -> AsyncIterator[RuntimeClient]:
    made = RuntimeClient(str(socket), Deadlines(call=20))
    yield made
    await made.close()


async def test_messages_go_there_and_back(fake: FakeRuntime, client: RuntimeClient) -> None:
    fake.images.add("app:1", size=5)
    config = cri.PodSandboxConfig(
        metadata=cri.PodSandboxMetadata(name="web", uid="u", namespace="d", attempt=2), labels={"a": "b"}
    )
    sandbox = await client.run_pod_sandbox(config)
    (listed,) = await client.list_pod_sandbox(labels={"a": "b"}, state=cri.SANDBOX_READY)
    assert (listed.id, listed.metadata.attempt) == (sandbox, 2)
    assert await client.list_pod_sandbox(labels={"a": "c"}) == []
    image = await client.image_status(cri.ImageSpec(image="app:1"))
    assert image is not None and image.size == 5
    assert await client.image_status(cri.ImageSpec(image="none")) is None


@pytest.mark.parametrize(
    "kind",
    [
        NotFound,
        AlreadyExists,
        InvalidArgument,
        FailedPrecondition,
        PermissionDenied,
        ResourceExhausted,
        Unimplemented,
        Unavailable,
        DeadlineExceeded,
    ],
)
async def test_every_status_becomes_its_error(fake: FakeRuntime, client: RuntimeClient, kind: type[CriError]) -> None:
    fake.faults.arm("StopContainer", Fault(code=kind.code, message="so it is"))
    with pytest.raises(kind) as caught:
        await client.stop_container("c0ffee", 0)
    assert str(caught.value) == "container c0ffee: stop container: so it is"
    assert caught.value.status_text == f"rpc error: code = {kind.code} desc = so it is"


async def test_other_statuses_keep_their_code(fake: FakeRuntime, client: RuntimeClient) -> None:
    for code in ("Unknown", "Internal", "Aborted"):
        fake.faults.arm("Version", Fault(code=code, message="x"))
        with pytest.raises(RuntimeFailure) as caught:
            await client.version()
        assert caught.value.code == code


async def test_a_call_that_hangs_ends_at_its_deadline(fake: FakeRuntime, socket: Path) -> None:
    client = RuntimeClient(f"unix://{socket}", Deadlines(call=0.2))
    fake.faults.arm("Version", Fault(hang=True))
    with pytest.raises(DeadlineExceeded):
        await client.version()
    await client.version()
    await client.close()


async def test_cancelling_the_caller_cancels_the_call(fake: FakeRuntime, client: RuntimeClient) -> None:
    fake.faults.arm("Version", Fault(hang=True))
    task = asyncio.create_task(client.version())
    await asyncio.sleep(0.05)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_nobody_on_the_socket_is_unavailable(socket: Path) -> None:
    client = RuntimeClient(str(socket))
    with pytest.raises(Unavailable):
        await client.version()
    await client.close()


async def test_the_connection_comes_back_by_itself(socket: Path) -> None:
    runtime = FakeRuntime()
    client = RuntimeClient(str(socket))
    async with FakeServer(runtime, socket):
        await client.version()
    with pytest.raises(Unavailable):
        await client.version()
    async with FakeServer(runtime, socket), asyncio.timeout(20):
        while True:
            try:
                await client.version()
            except Unavailable:
                await asyncio.sleep(0.05)
            else:
                break
    await client.close()


async def test_a_reply_of_several_mebibytes_passes(fake: FakeRuntime, client: RuntimeClient) -> None:
    for number in range(40):
        config = cri.PodSandboxConfig(
            metadata=cri.PodSandboxMetadata(name=f"p{number}", uid="u", namespace="d"),
            annotations={"note": "x" * 250_000},
        )
        await client.run_pod_sandbox(config)
    assert len(await client.list_pod_sandbox()) == 40


async def test_events_arrive_over_the_socket(fake: FakeRuntime, client: RuntimeClient) -> None:
    events = client.events()
    async with asyncio.timeout(20):
        assert (await anext(events)).kind is EventKind.RESYNC
        config = cri.PodSandboxConfig(metadata=cri.PodSandboxMetadata(name="web", uid="u", namespace="d"))
        sandbox = await client.run_pod_sandbox(config)
        event = await anext(events)
        assert (event.kind, event.container_id, event.sandbox_id) == (EventKind.CREATED, sandbox, sandbox)
        fake.crash()
        fake.restart()
        while event.kind is not EventKind.RESYNC:
            event = await anext(events)
    await events.aclose()  # type: ignore[attr-defined]
