"""SPDY clients and port-forwards: the agent passes bytes and understands none of them."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from aiohttp import WSMsgType

from agent.server.handlers import requested_ports
from agent.server.http import Problem
from client.streaming.dialing import Answer, dial
from client.streaming.session import SpdySession, StreamReset
from tests.unit.agent.server.agent_server_harness import Bench, running_pod
from tests.unit.client.streaming.spdy_peer import Peer, Script

SPDY = [("Connection", "Upgrade"), ("Upgrade", "SPDY/3.1"), ("X-Stream-Protocol-Version", "v4.channel.k8s.io")]
TUNNEL = "SPDY/3.1+portforward.k8s.io"


@asynccontextmanager
async def spdy_client(bench: Bench, script: Script, target: str) -> AsyncIterator[tuple[SpdySession, Answer]]:
    """An old kubectl: SPDY straight to the agent."""
    bench.host.held = [running_pod()]
    bench.host.script = script
    async with asyncio.timeout(30):
        answer = await dial("127.0.0.1", bench.port, "POST", target, SPDY, tls=bench.pki.tls("admin"))
        assert answer.status == 101, await answer.whole_body(1000)
        session = SpdySession(answer)
        reading = asyncio.create_task(session.run())
        yield session, answer
        await answer.closed()
        await reading


async def echo(peer: Peer) -> None:
    """Give back what comes on a stream of type `data`, once it has ended."""
    await peer.opened("error", "data")
    number = peer.streams["data"]
    await peer.until(lambda: number in peer.ended)
    await peer.say("data", bytes(peer.received[number]), fin=True)
    await peer.say("error", b"", fin=True)
    await peer.until(lambda: peer.gone)


async def test_a_spdy_client_speaks_with_the_runtime_itself(bench: Bench) -> None:
    target = "/exec/default/web/app?command=cat&input=1&output=1"
    async with spdy_client(bench, echo, target) as (session, answer):
        assert answer.headers["x-stream-protocol-version"] == "v4.channel.k8s.io"
        await session.open({"streamtype": "error"})
        data = await session.open({"streamtype": "data"})
        await data.write(b"x" * 300_000)
        await data.close()
        seen = b""
        while piece := await data.read():
            seen += piece
        assert seen == b"x" * 300_000
    assert bench.host.asked[0][:3] == ("exec", "c1", ["cat"])
    request = bench.streaming.requests[0]
    assert b"\r\nX-Stream-Protocol-Version: v4.channel.k8s.io\r\n" in request
    assert b"authorization" not in request.lower()


async def test_when_the_runtime_ends_the_client_has_all_of_it_first(bench: Bench) -> None:
    async def script(peer: Peer) -> None:
        await peer.opened("stdout")
        await peer.say("stdout", b"y" * 2_000_000, fin=True)

    async with spdy_client(bench, script, "/exec/default/web/app?command=x&output=1") as (session, _):
        stream = await session.open({"streamtype": "stdout"})
        count = 0
        while piece := await stream.read():
            count += len(piece)
        assert count == 2_000_000
        with pytest.raises(StreamReset):
            await session.open({"streamtype": "more"})


async def test_when_the_client_ends_the_runtimes_connection_does(bench: Bench) -> None:
    gone = asyncio.Event()

    async def script(peer: Peer) -> None:
        await peer.opened("data")
        await peer.until(lambda: peer.gone)
        gone.set()

    async with spdy_client(bench, script, "/portForward/default/web") as (session, answer):
        await session.open({"streamtype": "data"})
        answer.close()
        await gone.wait()


async def test_two_deaf_ends_are_parted_when_one_goes(bench: Bench) -> None:
    """Both flood, neither reads, then the client breaks off: nothing may be left waiting."""

    async def flood(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            writer.write(b"z" * 65536)
            await writer.drain()

    bench.streaming.raw = flood
    bench.host.held, bench.host.script = [running_pod()], echo
    answer = await dial("127.0.0.1", bench.port, "POST", "/portForward/default/web", SPDY, tls=bench.pki.tls("admin"))
    assert answer.status == 101
    writing = asyncio.create_task(answer.write(b"c" * 10_000_000))
    await asyncio.sleep(0.3)
    await answer.closed(grace=0)
    await asyncio.gather(writing, return_exceptions=True)


async def test_forwarding_names_its_pod(bench: Bench) -> None:
    async with spdy_client(bench, echo, "/portForward/default/web/11111111-2222-3333-4444-555555555555") as (
        session,
        _,
    ):
        await session.open({"streamtype": "error"})
        await session.open({"streamtype": "data"})
    assert bench.host.asked == [("portForward", "web", [])]


@pytest.mark.parametrize(
    ("path", "status", "text"),
    [
        ("/portForward/default/ghost", 404, "pod does not exist"),
        ("/portForward/default/web/another-uid", 404, "pod not found"),
    ],
)
async def test_forwarding_to_a_pod_that_is_not_here(bench: Bench, path: str, status: int, text: str) -> None:
    bench.host.held = [running_pod()]
    assert await bench.get(path, "POST", headers=dict(SPDY)) == (status, text)


async def test_forwarding_to_a_pod_without_a_sandbox(bench: Bench) -> None:
    bench.host.held = [running_pod()]
    bench.host.fault = LookupError("no sandbox of it runs")
    assert await bench.get("/portForward/default/web", "POST", headers=dict(SPDY)) == (
        500,
        'pod not found ("web_default")',
    )


async def test_a_tunnel_carries_spdy_in_messages(bench: Bench) -> None:
    bench.host.held, bench.host.script = [running_pod()], echo
    async with (
        asyncio.timeout(30),
        bench.session.ws_connect("/portForward/default/web?port=80", protocols=[TUNNEL]) as socket,
    ):
        assert socket.protocol == TUNNEL

        class Inside:
            async def read(self) -> bytes:
                message = await socket.receive()
                return bytes(message.data) if message.type is WSMsgType.BINARY else b""

            async def write(self, data: bytes) -> None:
                for start in range(0, len(data), 1000):  # cut as one likes: it is one stream of bytes
                    await socket.send_bytes(data[start : start + 1000])

            async def flushed(self) -> None:
                pass

            def close(self) -> None:
                pass

        session = SpdySession(Inside())
        reading = asyncio.create_task(session.run())
        await session.open({"streamtype": "error", "port": "80"})
        data = await session.open({"streamtype": "data", "port": "80"})
        await data.write(b"GET /" * 10_000)
        await data.close()
        seen = b""
        while piece := await data.read():
            seen += piece
        assert seen == b"GET /" * 10_000
        await socket.close()
        await reading
    assert b"\r\nX-Stream-Protocol-Version: portforward.k8s.io\r\n" in bench.streaming.requests[0]
    assert bench.host.asked == [("portForward", "web", [])]


@pytest.mark.parametrize("how", ["client", "runtime"])
async def test_a_tunnel_ends_with_either_side(bench: Bench, how: str) -> None:
    gone = asyncio.Event()

    async def script(peer: Peer) -> None:
        if how == "client":
            await peer.until(lambda: peer.gone)
        gone.set()

    bench.host.held, bench.host.script = [running_pod()], script
    async with (
        asyncio.timeout(30),
        bench.session.ws_connect("/portForward/default/web", protocols=[TUNNEL]) as socket,
    ):
        if how == "client":
            await socket.close()
        else:
            assert (await socket.receive()).type in (WSMsgType.CLOSE, WSMsgType.CLOSED)
        await gone.wait()


async def test_the_oldest_forwarding_protocol_goes_through_to_the_runtime(bench: Bench) -> None:
    bench.host.held, bench.host.script = [running_pod()], echo
    headers = {
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
        "Sec-WebSocket-Protocol": "v4.channel.k8s.io",
    }
    target = "/portForward/default/web?port=80,81&port=443"
    answer = await dial("127.0.0.1", bench.port, "GET", target, headers.items(), tls=bench.pki.tls("admin"))
    assert answer.status == 101
    await answer.closed()
    assert bench.host.asked == [("portForward", "web", [80, 81, 443])]
    assert b"\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n" in bench.streaming.requests[0]


@pytest.mark.parametrize(
    ("values", "complaint"),
    [
        ([], 'query parameter "port" is required'),
        (["x"], 'unable to parse "x" as a port: strconv.ParseUint: parsing "x": invalid syntax'),
        (["80", ""], 'unable to parse "" as a port: strconv.ParseUint: parsing "": invalid syntax'),
        (["65536"], 'unable to parse "65536" as a port: strconv.ParseUint: parsing "65536": value out of range'),
        (["0"], 'port "0" must be > 0'),
    ],
)
def test_ports_that_are_none(values: list[str], complaint: str) -> None:
    with pytest.raises(Problem) as raised:
        requested_ports(values)
    assert (raised.value.status, raised.value.text) == (400, complaint)
