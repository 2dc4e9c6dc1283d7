"""exec, attach, port-forward and logs through the agent's API, with a real containerd behind it."""

import asyncio
import hashlib
import json
import os
import secrets
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import WSMsgType

from agent.logs import generations
from agent.logs.rotating import LogRotator
from agent.server.serving import AgentServer
from api import core_v1 as core
from client.clock import SystemClock
from client.streaming.dialing import dial
from client.streaming.joining import End
from client.streaming.session import SpdySession, Stream
from cri.client import RuntimeClient
from proto import cri_pb2 as cri
from tests.node.containerd import TOOLBOX, Containerd
from tests.unit.agent.server.agent_server_harness import FakeReviews, Pki, running_pod
from tests.unit.agent.server.channel_client import BASE64, ERROR, RESIZE, STDERR, STDIN, STDOUT, V4, V5, Client

pytestmark = pytest.mark.node

SECONDS = 60.0
EXEC = "/exec/default/web/app"
TUNNEL = "SPDY/3.1+portforward.k8s.io"


class CriHost:
    """A node with one pod, whose containers are a real runtime's."""

    def __init__(self, runtime: RuntimeClient) -> None:
        self.runtime = runtime
        self.one: core.Pod | None = None
        self.sandbox = ""

    def pod(self, namespace: str, name: str) -> core.Pod | None:
        return self.one if (namespace, name) == ("default", "web") else None

    def pods(self) -> list[core.Pod]:
        return [self.one] if self.one is not None else []

    async def log_path(self, container_id: str) -> str:
        return (await self.runtime.container_status(container_id)).status.log_path

    async def container_running(self, container_id: str) -> bool:
        return (await self.runtime.container_status(container_id)).status.state == cri.CONTAINER_RUNNING

    async def exec_url(
        self, container_id: str, command: Sequence[str], *, stdin: bool, stdout: bool, stderr: bool, tty: bool
    ) -> str:
        return await self.runtime.exec(
            cri.ExecRequest(container_id=container_id, cmd=command, stdin=stdin, stdout=stdout, stderr=stderr, tty=tty)
        )

    async def attach_url(self, container_id: str, *, stdin: bool, stdout: bool, stderr: bool, tty: bool) -> str:
        return await self.runtime.attach(
            cri.AttachRequest(container_id=container_id, stdin=stdin, stdout=stdout, stderr=stderr, tty=tty)
        )

    async def port_forward_url(self, pod: core.Pod, ports: Sequence[int]) -> str:
        return await self.runtime.port_forward(cri.PortForwardRequest(pod_sandbox_id=self.sandbox, port=ports))

    def health(self) -> Mapping[str, str]:
        return {"ping": ""}

    def configuration(self) -> Mapping[str, Any]:
        return {}

    def metrics(self) -> str:
        return ""

    def debug(self) -> object:
        return []


class Node:
    def __init__(self, runtime: RuntimeClient, containerd: Containerd, pki: Pki, logs: Path) -> None:
        self.runtime = runtime
        self.containerd = containerd
        self.pki = pki
        self.logs = logs
        self.host = CriHost(runtime)
        self.server = AgentServer(
            self.host,
            "node",
            FakeReviews(),
            SystemClock(),
            certificate=pki.serving,
            key=pki.key,
            client_ca=pki.ca,
        )
        self.port = 0
        self.session: aiohttp.ClientSession

    @property
    def log(self) -> Path:
        return self.logs / "app" / "0.log"

    async def start(self, *command: str, stdin: bool = False, stdin_once: bool = False, tty: bool = False) -> str:
        """Run the pod `web` with one container; returns the container's id."""
        name = secrets.token_hex(4)
        config = cri.PodSandboxConfig(
            metadata=cri.PodSandboxMetadata(name=name, namespace="default", uid=name),
            hostname="web",
            log_directory=str(self.logs),
        )
        config.linux.cgroup_parent = self.containerd.cgroup_parent
        self.host.sandbox = await self.runtime.run_pod_sandbox(config)
        (self.logs / "app").mkdir(parents=True, exist_ok=True)
        container = await self.runtime.create_container(
            self.host.sandbox,
            cri.ContainerConfig(
                metadata=cri.ContainerMetadata(name="app"),
                image=cri.ImageSpec(image=TOOLBOX),
                command=command or ("sleep", "1000"),
                log_path="app/0.log",
                stdin=stdin,
                stdin_once=stdin_once,
                tty=tty,
            ),
            config,
        )
        await self.runtime.start_container(container)
        self.host.one = running_pod(containerID=f"containerd://{container}", state={"running": {}})
        return container

    @asynccontextmanager
    async def command(self, *words: str, streams: str = "ioe", protocol: str = V5) -> AsyncIterator[Client]:
        async with self.socket(f"{EXEC}?{query(words, streams)}", protocol) as client:
            yield client

    @asynccontextmanager
    async def socket(self, path: str, protocol: str = V5) -> AsyncIterator[Client]:
        async with asyncio.timeout(SECONDS), self.session.ws_connect(path, protocols=[protocol]) as socket:
            assert socket.protocol == protocol
            yield Client(socket)

    @asynccontextmanager
    async def spdy(self, target: str) -> AsyncIterator[SpdySession]:
        headers = [("Connection", "Upgrade"), ("Upgrade", "SPDY/3.1")]
        kind = "portforward.k8s.io" if target.startswith("/portForward") else "v4.channel.k8s.io"
        async with asyncio.timeout(SECONDS):
            answer = await dial(
                "127.0.0.1",
                self.port,
                "POST",
                target,
                [*headers, ("X-Stream-Protocol-Version", kind), ("Content-Length", "0")],
                tls=self.pki.tls("admin"),
            )
            assert answer.status == 101, await answer.whole_body(1000)
            async with session_over(answer) as session:
                yield session
            await answer.closed()


@asynccontextmanager
async def session_over(wire: End) -> AsyncIterator[SpdySession]:
    session = SpdySession(wire)
    reading = asyncio.create_task(session.run())
    try:
        yield session
    finally:
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)


def query(words: Sequence[str], streams: str) -> str:
    names = {"i": "input", "o": "output", "e": "error", "t": "tty"}
    parts = [f"{names[each]}=1" for each in streams]
    return "&".join([*parts, *(f"command={aiohttp.helpers.quote(word, safe='')}" for word in words)])


async def everything(stream: Stream) -> bytes:
    pieces = []
    while data := await stream.read():
        pieces.append(data)
    return b"".join(pieces)


@pytest.fixture(scope="module")
def pki(tmp_path_factory: pytest.TempPathFactory) -> Pki:
    return Pki.make(tmp_path_factory.mktemp("agent-pki"), time.time())


@pytest.fixture
async def node(runtime: RuntimeClient, containerd: Containerd, pki: Pki, tmp_path: Path) -> AsyncIterator[Node]:
    made = Node(runtime, containerd, pki, tmp_path / "logs")
    made.port = await made.server.start("127.0.0.1", 0)
    connector = aiohttp.TCPConnector(ssl=pki.tls("admin"))
    async with aiohttp.ClientSession(f"https://127.0.0.1:{made.port}", connector=connector) as made.session:
        yield made
    await made.server.stop()


@pytest.mark.parametrize("protocol", [V5, V4, BASE64])
async def test_a_command_writes_to_both_outputs_and_succeeds(node: Node, protocol: str) -> None:
    await node.start()
    async with node.command("sh", "-c", "echo out; echo err >&2; hostname", streams="oe", protocol=protocol) as client:
        channels = await client.to_the_end()
    assert (channels[STDOUT], channels[STDERR]) == (b"out\nweb\n", b"err\n")
    assert json.loads(channels[ERROR])["status"] == "Success", channels[ERROR]


@pytest.mark.parametrize("protocol", [V5, V4])
async def test_an_exit_code_is_told(node: Node, protocol: str) -> None:
    await node.start()
    async with node.command("sh", "-c", "exit 42", streams="oe", protocol=protocol) as client:
        status = await client.status()
    assert (status["status"], status["reason"]) == ("Failure", "NonZeroExitCode")
    assert status["details"]["causes"] == [{"reason": "ExitCode", "message": "42"}]


async def test_a_command_that_is_not_there_is_a_failure(node: Node) -> None:
    await node.start()
    async with node.command("/no/such/program", streams="oe") as client:
        status = await client.status()
    assert status["status"] == "Failure"
    assert "no such file or directory" in status["message"]


async def test_stdin_ends_while_output_goes_on(node: Node) -> None:
    await node.start()
    sent = os.urandom(3_000_000)
    async with node.command("sh", "-c", "md5sum; echo done", streams="ioe") as client:
        for start in range(0, len(sent), 50_000):
            await client.send(STDIN, sent[start : start + 50_000])
        await client.send(255, bytes((STDIN,)))
        channels = await client.to_the_end()
    digest = hashlib.md5(sent).hexdigest()
    assert channels[STDOUT] == f"{digest}  -\ndone\n".encode()
    assert json.loads(channels[ERROR])["status"] == "Success", channels[ERROR]


async def test_a_command_that_ends_before_its_input_is_a_success(node: Node) -> None:
    await node.start()
    async with node.command("head", "-n", "1", streams="ioe") as client:
        await client.send(STDIN, b"y\n" * 30_000)
        channels = await client.to_the_end()
    assert channels[STDOUT] == b"y\n"
    assert json.loads(channels[ERROR])["status"] == "Success", channels[ERROR]


async def test_much_output_arrives_whole(node: Node) -> None:
    await node.start()
    async with node.command("sh", "-c", "head -c 20000000 /dev/zero", streams="oe") as client:
        channels = await client.to_the_end()
    assert len(channels[STDOUT]) == 20_000_000
    assert json.loads(channels[ERROR])["status"] == "Success", channels[ERROR]


async def test_a_terminal_echoes_and_knows_its_size(node: Node) -> None:
    await node.start()
    async with node.command("sh", streams="iot") as client:
        await client.send(RESIZE, b'{"Width":93,"Height":41}')
        # The size comes a moment after the shell.
        await client.send(STDIN, b"until stty size | grep ^41; do sleep 0.1; done; tty; exit 3\n")
        status = await client.status()
    seen = client.channels[STDOUT]
    assert b"until stty size" in seen
    assert b"41 93\r\n" in seen
    assert b"/dev/pts/" in seen
    assert status["details"]["causes"] == [{"reason": "ExitCode", "message": "3"}]


async def test_when_the_client_goes_a_command_that_reads_sees_its_end(node: Node) -> None:
    container = await node.start()
    async with node.command("sh", "-c", "cat; touch /tmp/over", streams="io") as client:
        await client.send(STDIN, b"x")
        await client.until(STDOUT, b"x")
    async with asyncio.timeout(SECONDS):
        while (await node.runtime.exec_sync(container, ["test", "-e", "/tmp/over"], 10)).exit_code:  # noqa: ASYNC110
            await asyncio.sleep(0.1)


async def test_when_the_container_dies_its_commands_fail(node: Node) -> None:
    container = await node.start()
    async with node.command("sh", "-c", "echo up; sleep 1000", streams="oe") as client:
        await client.until(STDOUT, b"up\n")
        await node.runtime.stop_container(container, 0)
        status = await client.status()
    assert status["status"] == "Failure"


async def test_scenario_39_when_the_runtime_dies_its_commands_fail(node: Node) -> None:
    await node.start()
    async with node.command("sh", "-c", "echo up; sleep 1000", streams="oe") as client:
        await client.until(STDOUT, b"up\n")
        await asyncio.to_thread(node.containerd.kill)
        try:
            status = await client.status()
        finally:
            await asyncio.to_thread(node.containerd.start)
    assert (status["status"], status["code"]) == ("Failure", 500)


async def test_a_spdy_client_runs_a_command(node: Node) -> None:
    await node.start()
    async with node.spdy(f"{EXEC}?{query(('tr', 'a-z', 'A-Z'), 'io')}") as session:
        error = await session.open({"streamtype": "error"})
        stdin = await session.open({"streamtype": "stdin"})
        stdout = await session.open({"streamtype": "stdout"})
        await stdin.write(b"shout")
        await stdin.close()
        assert await everything(stdout) == b"SHOUT"
        assert json.loads(await everything(error))["status"] == "Success"


async def test_attaching_shows_what_is_written_from_now_on(node: Node) -> None:
    await node.start("sh", "-c", "read line; echo got $line; exit 5", stdin=True, stdin_once=True)
    async with node.socket(f"/attach/default/web/app?{query((), 'ioe')}") as client:
        await client.send(STDIN, b"words\n")
        channels = await client.to_the_end()
    assert channels[STDOUT] == b"got words\n"


async def test_the_runtimes_refusal_is_told(node: Node) -> None:
    container = await node.start()
    await node.runtime.stop_container(container, 0)
    answer = await node.session.post(
        f"{EXEC}?{query(('true',), 'o')}", headers={"Connection": "Upgrade", "Upgrade": "SPDY/3.1"}
    )
    assert answer.status == 500
    assert await answer.text() == f"container {container}: prepare exec: container is in CONTAINER_EXITED state"


WEB = ("sh", "-c", "mkdir /tmp/www; echo hello > /tmp/www/index.html; exec httpd -f -p 8080 -h /tmp/www")
REQUEST = b"GET / HTTP/1.0\r\n\r\n"


async def fetched(session: SpdySession, number: int, port: int = 8080) -> tuple[bytes, bytes]:
    """One request over a pair of streams, as kubectl port-forward makes them; the answer, and the error."""
    headers = {"port": str(port), "requestID": str(number)}
    error = await session.open({"streamtype": "error", **headers})
    await error.close()
    data = await session.open({"streamtype": "data", **headers})
    await data.write(REQUEST)
    answer = await everything(data)
    return answer, await everything(error)


async def serving(node: Node) -> None:
    container = await node.start(*WEB)
    async with asyncio.timeout(SECONDS):
        command = ["wget", "-qO-", "http://127.0.0.1:8080/"]
        while (await node.runtime.exec_sync(container, command, 10)).exit_code:  # noqa: ASYNC110
            await asyncio.sleep(0.05)


async def test_ports_are_forwarded_for_spdy_clients(node: Node) -> None:
    await serving(node)
    async with node.spdy("/portForward/default/web") as session:
        for number in range(3):
            answer, error = await fetched(session, number)
            assert answer.endswith(b"\r\n\r\nhello\n") and error == b""


async def test_ports_are_forwarded_through_a_tunnel_and_one_broken_stream_breaks_no_other(node: Node) -> None:
    await serving(node)
    async with node.socket("/portForward/default/web", TUNNEL) as client:
        socket = client.socket

        class Inside:
            async def read(self) -> bytes:
                message = await socket.receive()
                return bytes(message.data) if message.type is WSMsgType.BINARY else b""

            async def write(self, data: bytes) -> None:
                await socket.send_bytes(data)

            async def flushed(self) -> None:
                pass

            def close(self) -> None:
                pass

        async with session_over(Inside()) as session:
            assert (await fetched(session, 0))[0].endswith(b"hello\n")
            _, error = await fetched(session, 1, port=9)  # nobody listens there
            assert b"connection refused" in error
            assert (await fetched(session, 2))[0].endswith(b"hello\n")


async def test_logs_are_read_and_followed_until_the_container_ends(node: Node) -> None:
    await node.start("sh", "-c", "echo one; echo two >&2; read line; echo three", stdin=True, stdin_once=True)
    async with asyncio.timeout(SECONDS), node.session.get("/containerLogs/default/web/app?follow=true") as answer:
        seen = b""
        while len(seen) < len(b"one\ntwo\n"):
            seen += await answer.content.readany()
        assert sorted(seen.splitlines()) == [b"one", b"two"]
        async with node.socket(f"/attach/default/web/app?{query((), 'ioe')}") as client:
            await client.send(STDIN, b"go\n")
            await client.to_the_end()
        assert await answer.content.read() == b"three\n"


async def test_scenario_26_following_loses_nothing_while_the_runtime_reopens_its_log(node: Node) -> None:
    # In bursts with a rest between: rotation compresses what is older than one generation, and a follower that is
    # further behind than that would lose it. Rotations are ten seconds apart on a node.
    lines, burst = 30_000, 5_000
    pause = f"[ $((i % {burst})) -eq 0 ] && sleep 1"
    script = f"i=0; while [ $i -lt {lines} ]; do echo line $i; i=$((i+1)); {pause}; done"
    container = await node.start("sh", "-c", script)

    async def logs() -> Mapping[str, str]:
        status = (await node.runtime.container_status(container)).status
        return {container: str(node.log)} if status.state == cri.CONTAINER_RUNNING else {}

    rotator = LogRotator(logs, node.runtime.reopen_container_log, SystemClock(), max_size=100_000, max_files=20)
    following = True
    rotations = 0

    async def rotate() -> None:
        nonlocal rotations
        while following:
            before = generations.inode_of(str(node.log))
            await rotator.rotate_all()
            rotations += generations.inode_of(str(node.log)) != before
            await asyncio.sleep(0.5)

    async with asyncio.timeout(SECONDS), node.session.get("/containerLogs/default/web/app?follow=true") as answer:
        seen = await answer.content.readany()  # a follower that comes after a rotation begins with the newest file
        rotating = asyncio.create_task(rotate())
        seen += await answer.content.read()
    following = False
    await rotating
    assert seen == b"".join(b"line %d\n" % number for number in range(lines))
    assert rotations >= 3
