"""Exec and attach for WebSocket clients: what they send and see, and every way a command can end."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from aiohttp import WSMsgType

from agent.server.streaming import commands
from client.clock import FakeClock
from client.streaming.session import KEEP_ALIVE
from tests.unit.agent.server.agent_server_harness import Bench, running_pod
from tests.unit.agent.server.channel_client import (
    BASE64,
    ERROR,
    NONE,
    RESIZE,
    STDERR,
    STDIN,
    STDOUT,
    V1,
    V1_BASE64,
    V4,
    V5,
    Client,
)
from tests.unit.client.streaming.spdy_peer import Peer, Script

SUCCESS = b'{"metadata":{},"status":"Success"}'
EXEC = "/exec/default/web/app"


@asynccontextmanager
async def command(
    bench: Bench,
    script: Script,
    query: str = "command=x&input=1&output=1&error=1",
    protocol: str = V5,
    path: str = EXEC,
) -> AsyncIterator[Client]:
    bench.host.held = [running_pod()]
    bench.host.script = script
    offered = [protocol] if protocol else []
    async with asyncio.timeout(30), bench.session.ws_connect(f"{path}?{query}", protocols=offered) as socket:
        assert (socket.protocol or "") == protocol
        yield Client(socket)


async def finish(peer: Peer, status: bytes = SUCCESS) -> None:
    """End as containerd does: the status, then every stream is cancelled, and the connection closed."""
    await peer.say("error", status)
    for number in peer.streams.values():
        await peer.send(peer.make.reset(number, 5))


@pytest.mark.parametrize("protocol", [V5, V4, BASE64])
async def test_a_command_reads_writes_and_ends(bench: Bench, protocol: str) -> None:
    async def upper(peer: Peer) -> None:
        await peer.opened("error", "stdin", "stdout", "stderr")
        await peer.until(lambda: peer.received[peer.streams["stdin"]] == b"hello\xff")
        await peer.say("stdout", b"HELLO\xff")
        await peer.say("stderr", b"warned")
        await finish(peer)

    async with command(bench, upper, "command=tr&command=a-z A-Z&input=1&output=1&error=1", protocol) as client:
        await client.send(STDIN, b"hel")
        await client.send(STDIN, b"lo\xff")
        assert await client.to_the_end() == {STDOUT: b"HELLO\xff", STDERR: b"warned", ERROR: SUCCESS}
        assert client.first == (STDOUT, b"")  # says that the command is connected
        assert client.socket.close_code == 1000
    streams = {"stdin": True, "stdout": True, "stderr": True, "tty": False}
    assert bench.host.asked == [("exec", "c1", ["tr", "a-z A-Z"], streams)]
    request = bench.streaming.requests[0]
    assert request.startswith(b"POST /t0 HTTP/1.1\r\n")
    assert (
        b"\r\nUpgrade: SPDY/3.1\r\n" in request and b"\r\nX-Stream-Protocol-Version: v4.channel.k8s.io\r\n" in request
    )


FAILURE = b'{"metadata":{},"status":"Failure","message":"exited with 3","reason":"NonZeroExitCode"}'


@pytest.mark.parametrize("protocol", [V1, V1_BASE64, NONE])
@pytest.mark.parametrize(("status", "told"), [(SUCCESS, None), (FAILURE, b"exited with 3")])
async def test_clients_from_before_version_4_are_told_of_failures_alone(
    bench: Bench, protocol: str, status: bytes, told: bytes | None
) -> None:
    async def script(peer: Peer) -> None:
        await peer.opened("error", "stdin", "stdout", "stderr")
        await peer.until(lambda: peer.received[peer.streams["stdin"]] == b"in")
        await peer.say("stdout", b"out")
        await finish(peer, status)

    async with command(bench, script, protocol=protocol) as client:
        await client.send(STDIN, b"in")
        assert await client.to_the_end() == {STDOUT: b"out"} | ({ERROR: told} if told else {})


async def test_a_message_in_a_text_frame_is_one_like_any_other(bench: Bench) -> None:
    """Some client libraries send text that way, whatever the protocol."""

    async def script(peer: Peer) -> None:
        await peer.opened("error", "stdin", "stdout", "stderr")
        await peer.until(lambda: peer.received[peer.streams["stdin"]] == "grüße".encode())
        await finish(peer)

    async with command(bench, script, protocol=V4) as client:
        await client.socket.send_str("\x00grüße")
        assert (await client.to_the_end())[ERROR] == SUCCESS


async def test_only_the_streams_that_were_asked_for_are_opened(bench: Bench) -> None:
    async def script(peer: Peer) -> None:
        await peer.opened("error", "stderr")
        await finish(peer)

    async with command(bench, script, "command=x&error=1") as client:
        assert await client.to_the_end() == {STDERR: b"", ERROR: SUCCESS}
        assert client.first == (STDERR, b"")


async def test_a_command_with_stdin_alone_is_announced_too(bench: Bench) -> None:
    opened: list[str] = []

    async def script(peer: Peer) -> None:
        await peer.opened("error", "stdin")
        await peer.until(lambda: peer.received[peer.streams["stdin"]] == b"x")
        opened.extend(peer.streams)
        await finish(peer)

    async with command(bench, script, "command=x&input=1") as client:
        assert await client.next() == (ERROR, b"")
        await client.send(STDIN, b"x")
        assert await client.to_the_end() == {ERROR: SUCCESS}
    assert opened == ["error", "stdin"]


async def test_a_terminal_is_resized_and_has_no_stderr(bench: Bench) -> None:
    async def script(peer: Peer) -> None:
        await peer.opened("error", "stdin", "stdout", "resize")
        assert "stderr" not in peer.streams
        await peer.until(lambda: b'"Height":24' in peer.received[peer.streams["resize"]])
        await peer.say("stdout", b"$ ")
        await finish(peer)

    async with command(bench, script, "command=sh&input=1&output=1&error=1&tty=1") as client:
        await client.send(RESIZE, b'{"Width":80,"Height":24}')
        assert (await client.to_the_end())[STDOUT] == b"$ "
    assert bench.host.asked[0][3] == {"stdin": True, "stdout": True, "stderr": False, "tty": True}


async def test_attaching_goes_the_same_way(bench: Bench) -> None:
    async def script(peer: Peer) -> None:
        await peer.opened("error", "stdout")
        await peer.say("stdout", b"log")
        await finish(peer)

    async with command(bench, script, "output=1", path="/attach/default/web/app") as client:
        assert (await client.to_the_end())[STDOUT] == b"log"
    assert bench.host.asked == [("attach", "c1", {"stdin": False, "stdout": True, "stderr": False, "tty": False})]


async def test_stdin_can_end_while_output_goes_on(bench: Bench) -> None:
    """`kubectl cp` into a container: tar ends when its input does."""

    async def script(peer: Peer) -> None:
        await peer.opened("stdin", "stdout")
        await peer.until(lambda: peer.streams["stdin"] in peer.ended)
        await peer.say("stdout", b"%d" % len(peer.received[peer.streams["stdin"]]))
        await finish(peer)

    async with command(bench, script) as client:
        for _ in range(3):
            await client.send(STDIN, b"x" * 100_000)
        await client.send(255, bytes((STDIN,)))
        await client.send(255, bytes((STDIN,)))  # once more does no harm
        assert (await client.to_the_end())[STDOUT] == b"300000"


async def test_version_4_knows_no_closing_of_channels(bench: Bench) -> None:
    async def script(peer: Peer) -> None:
        await peer.opened("stdin", "stdout")
        await peer.until(lambda: peer.received[peer.streams["stdin"]] == b"after")
        assert not peer.ended
        await finish(peer)

    async with command(bench, script, protocol=V4) as client:
        await client.send(255, bytes((STDIN,)))
        await client.send(STDIN, b"after")
        assert (await client.to_the_end())[ERROR] == SUCCESS


async def test_an_exit_code_reaches_the_client_as_the_runtime_told_it(bench: Bench) -> None:
    status = (
        b'{"metadata":{},"status":"Failure","message":"command terminated with non-zero exit code","reason":'
        b'"NonZeroExitCode","details":{"causes":[{"reason":"ExitCode","message":"42"}]}}'
    )

    async def script(peer: Peer) -> None:
        await peer.opened("error", "stdout", "stderr", "stdin")
        await finish(peer, status)

    async with command(bench, script) as client:
        assert (await client.to_the_end())[ERROR] == status


@pytest.mark.parametrize("how", ["close", "abort", "garbage", "reset", "no status", "at once"])
async def test_scenario_39_a_command_that_breaks_off_is_never_a_success(bench: Bench, how: str) -> None:
    async def script(peer: Peer) -> None:
        if how == "at once":
            return
        await peer.opened("error", "stdout", "stderr", "stdin")
        await peer.say("stdout", b"some")
        match how:
            case "abort":
                peer.abort()
            case "garbage":
                await peer.send(bytes.fromhex("80020006 00 000000"))
            case "reset":
                await peer.send(peer.make.reset(peer.streams["stdout"], 2))
                await peer.until(lambda: peer.gone)
            case "no status":
                for kind in ("stdout", "stderr", "error"):
                    await peer.say(kind, b"", fin=True)
                await peer.until(lambda: peer.gone)

    async with command(bench, script) as client:
        status = await client.status()
        assert (status["status"], status["reason"], status["code"]) == ("Failure", "InternalError", 500)
        assert status["message"].startswith("Internal error occurred: error streaming from the container runtime: ")
        assert len(status["message"]) > len("Internal error occurred: error streaming from the container runtime: ")
        assert client.socket.close_code == 1000


async def test_a_runtime_that_breaks_while_it_is_written_to_is_a_failure(bench: Bench) -> None:
    async def script(peer: Peer) -> None:
        await peer.opened("error", "stdout", "stderr", "stdin")
        peer.abort()

    async with command(bench, script) as client:

        async def pour() -> None:
            while True:
                await client.send(STDIN, b"x" * 65536)

        pouring = asyncio.create_task(pour())
        assert (await client.status())["status"] == "Failure"
        pouring.cancel()
        await asyncio.gather(pouring, return_exceptions=True)


async def test_a_command_that_ends_before_its_input_is_judged_by_its_status(bench: Bench) -> None:
    """`yes | kubectl exec -i pod -- head -1`"""

    async def script(peer: Peer) -> None:
        await peer.opened("error", "stdout", "stderr", "stdin")
        await peer.until(lambda: len(peer.received[peer.streams["stdin"]]) > 0)
        await peer.say("stdout", b"y\n")
        await finish(peer)

    async with command(bench, script) as client:

        async def pour() -> None:
            while True:
                await client.send(STDIN, b"y\n" * 30_000)

        pouring = asyncio.create_task(pour())
        channels = await client.to_the_end()
        pouring.cancel()
        await asyncio.gather(pouring, return_exceptions=True)
        assert (channels[STDOUT], channels[ERROR]) == (b"y\n", SUCCESS)


@pytest.mark.parametrize("how", ["close", "abort"])
async def test_when_the_client_goes_the_runtimes_connection_goes_too(bench: Bench, how: str) -> None:
    gone = asyncio.Event()

    async def script(peer: Peer) -> None:
        await peer.opened("error", "stdout", "stderr", "stdin")
        await peer.until(lambda: peer.gone)
        gone.set()

    async with command(bench, script) as client:
        await client.until(STDOUT, b"")
        if how == "close":
            await client.socket.close()
        else:
            connection = client.socket._response.connection
            assert connection is not None and connection.transport is not None
            connection.transport.abort()
        await gone.wait()


async def test_a_client_that_goes_in_the_middle_of_much_output_leaves_nothing_behind(bench: Bench) -> None:
    """The buffers between runtime and client are full then, and everybody waits for somebody."""
    gone = asyncio.Event()

    async def script(peer: Peer) -> None:
        await peer.opened("error", "stdout", "stderr", "stdin")
        try:
            while True:
                await peer.say("stdout", b"x" * 65536)
        except ConnectionError:
            gone.set()

    async with command(bench, script) as client:
        await asyncio.sleep(0.3)  # let it all fill up
        connection = client.socket._response.connection
        assert connection is not None and connection.transport is not None
        connection.transport.abort()
        await gone.wait()


async def test_much_output_arrives_whole_at_the_readers_pace(bench: Bench) -> None:
    total = 24 * 1024 * 1024
    sent = 0

    async def script(peer: Peer) -> None:
        nonlocal sent
        await peer.opened("error", "stdout", "stderr", "stdin")
        for _ in range(total // 65536):
            await peer.say("stdout", b"z" * 65536)
            sent += 65536
        await finish(peer)

    async with command(bench, script) as client:
        held = -1
        while held != sent or not sent:  # nobody reads: the runtime is held up once all buffers are full
            held = sent
            await asyncio.sleep(0.2)
        assert sent < total
        count = 0
        while (got := await client.next()) is not None:
            if got[0] == STDOUT:
                count += len(got[1])
            else:
                assert got == (ERROR, SUCCESS)
        assert count == total


async def test_much_input_is_taken_at_the_commands_pace(bench: Bench) -> None:
    go = asyncio.Event()
    total = 16 * 1024 * 1024

    async def script(peer: Peer) -> None:
        await peer.opened("error", "stdout", "stderr", "stdin")
        await go.wait()
        await peer.until(lambda: len(peer.received[peer.streams["stdin"]]) == total)
        await finish(peer)

    async with command(bench, script) as client:

        async def pour() -> None:
            for _ in range(total // 65536):
                await client.send(STDIN, b"i" * 65536)

        pouring = asyncio.create_task(pour())
        go.set()
        assert (await client.to_the_end())[ERROR] == SUCCESS
        await pouring


async def test_nonsense_from_the_client_is_passed_over_or_ends_it(bench: Bench) -> None:
    async def script(peer: Peer) -> None:
        await peer.opened("error", "stdout", "stderr", "stdin")
        await peer.until(lambda: peer.received[peer.streams["stdin"]] == b"sense")
        await finish(peer)

    async with command(bench, script) as client:
        for message in (b"", b"\x00", b"\x01to stdout?", b"\x09nowhere", b"\xff", b"\xff\x07", b"\xff\x03"):
            await client.socket.send_bytes(message)
        await client.socket.send_str("text")
        await client.send(STDIN, b"sense")
        assert (await client.to_the_end())[ERROR] == SUCCESS


async def test_text_that_is_no_base64_ends_the_connection(bench: Bench) -> None:
    async def script(peer: Peer) -> None:
        await peer.opened("stdin")
        await peer.until(lambda: peer.gone)

    async with command(bench, script, protocol=BASE64) as client:
        await client.socket.send_str("0 not base64!")
        assert ERROR not in await client.to_the_end()


async def test_a_runtime_that_opens_no_streams_is_not_waited_for_for_ever(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commands, "OPEN_DEADLINE", 0.1)

    async def script(peer: Peer) -> None:
        peer.accepting = False
        await peer.until(lambda: peer.gone)

    async with command(bench, script) as client:
        assert (await client.status())["status"] == "Failure"


async def test_scenario_39_an_idle_command_is_kept_alive(bench: Bench) -> None:
    clock = bench.clock
    assert isinstance(clock, FakeClock)

    async def script(peer: Peer) -> None:
        await peer.opened("error", "stdout", "stderr", "stdin")
        await peer.say("stdout", b"ready")
        await peer.until(lambda: len(peer.pings) == 3)
        await finish(peer)

    async with command(bench, script) as client:
        await client.until(STDOUT, b"ready")
        for _ in range(3):
            await clock.advance(KEEP_ALIVE)
        assert (await client.to_the_end())[ERROR] == SUCCESS


async def test_the_clients_own_pings_are_answered(bench: Bench) -> None:
    async def script(peer: Peer) -> None:
        await peer.opened("stdin")
        await peer.until(lambda: peer.received[peer.streams["stdin"]] == b"done")
        await finish(peer)

    async with command(bench, script) as client:
        await client.until(STDOUT, b"")
        client.socket._autoping = False
        await client.socket.ping(b"there?")
        message = await client.socket.receive()
        assert (message.type, bytes(message.data)) == (WSMsgType.PONG, b"there?")
        await client.send(STDIN, b"done")
        assert (await client.to_the_end())[ERROR] == SUCCESS


@pytest.mark.parametrize(
    ("path", "status", "text"),
    [
        (f"{EXEC}?command=x", 400, "you must specify at least 1 of stdin, stdout, stderr"),
        (f"{EXEC}?command=x&error=1&tty=1", 400, "you must specify at least 1 of stdin, stdout, stderr"),
        ("/exec/default/ghost/app?command=x&output=1", 404, "pod does not exist"),
        ("/exec/default/web/ghost?command=x&output=1", 500, 'container not found ("ghost")'),
        ("/exec/default/web/another-uid/app?command=x&output=1", 500, 'container not found ("app")'),
    ],
)
async def test_what_cannot_be_entered(bench: Bench, path: str, status: int, text: str) -> None:
    bench.host.held = [running_pod()]
    upgrade = {"Connection": "Upgrade", "Upgrade": "SPDY/3.1"}
    assert await bench.get(path, "POST", headers=upgrade) == (status, text)
    assert bench.host.asked == []


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 400),
        ({"Upgrade": "websocket"}, 400),
        ({"Upgrade": "websocket", "Connection": "Upgrade"}, 400),
        ({"Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Protocol": "v9.channel.k8s.io"}, 403),
        ({"Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Protocol": V4}, 400),
    ],
)
async def test_a_handshake_that_is_none_costs_the_runtime_nothing(
    bench: Bench, headers: dict[str, str], status: int
) -> None:
    bench.host.held = [running_pod()]
    assert (await bench.get(f"{EXEC}?command=x&output=1", headers=headers))[0] == status
    assert bench.host.asked == []


@pytest.mark.parametrize(
    ("refusal", "status", "text"),
    [
        (b"HTTP/1.1 404 Not Found\r\nContent-Length: 9\r\n\r\nNot Found", 404, "Not Found"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhm", 500, "hm"),
        (
            b"SSH-2.0\r\n\r\n",
            500,
            "error dialing the container runtime's streaming server: malformed answer: 'SSH-2.0'\n",
        ),
    ],
)
async def test_a_runtime_that_will_not_stream_is_told_before_the_upgrade(
    bench: Bench, refusal: bytes, status: int, text: str
) -> None:
    bench.streaming.refusal = refusal
    bench.host.held = [running_pod()]
    bench.host.script = finish
    for headers in ({"Upgrade": "SPDY/3.1"}, {"Upgrade": "websocket", "Sec-WebSocket-Protocol": V5}):
        whole = {
            "Connection": "Upgrade",
            "Sec-WebSocket-Version": "13",
            "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
            **headers,
        }
        assert await bench.get(f"{EXEC}?command=x&output=1", headers=whole) == (status, text)
