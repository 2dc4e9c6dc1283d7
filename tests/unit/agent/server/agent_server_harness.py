"""A real agent server over TLS, with doubles for the node behind it, the runtime's streaming server and the reviews."""

from __future__ import annotations

import asyncio
import itertools
import os
import ssl
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp

from agent.server.serving import AgentServer
from api import authentication_v1 as authentication
from api import authorization_v1 as authorization
from api import core_v1 as core
from api.codec import from_builtins
from client.clock import Clock, FakeClock
from controlplane.pki.certificates import issue, issue_ca, new_key
from controlplane.pki.profiles import Profile
from cri.errors import CriError, NotFound
from tests.unit.agent.pod_builders import pod
from tests.unit.client.streaming.spdy_peer import Peer, Script

NOW = 1_767_225_600.0
TEN_YEARS = 10 * 366 * 86400.0


@dataclass(frozen=True)
class Pki:
    """Files of certificates, made once for all tests of a module."""

    ca: str
    serving: str
    key: str
    clients: Mapping[str, str]
    """Name → one file with certificate and key."""

    @staticmethod
    def make(folder: Path, now: float) -> Pki:
        """`now` is the time by the server's clock, by which client certificates are judged."""
        ca_key, foreign_key = new_key(), new_key()
        ca, foreign = issue_ca(ca_key, time.time(), "test-ca"), issue_ca(foreign_key, now, "another-ca")

        def write(name: str, *parts: bytes) -> str:
            path = folder / name
            path.write_bytes(b"".join(parts))
            os.chmod(path, 0o600)
            return str(path)

        def client(
            name: str, common_name: str, organization: str = "", *, by_us: bool = True, made: float = now
        ) -> str:
            key = new_key()
            signed = (ca, ca_key) if by_us else (foreign, foreign_key)
            return write(name, issue(Profile(name, common_name, organization, client=True), key, *signed, made), key)

        key = new_key()
        serving = issue(Profile("s", "node", server=True, addresses=("127.0.0.1",)), key, ca, ca_key, time.time())
        return Pki(
            write("ca.crt", ca),
            write("serving.crt", serving),
            write("serving.key", key),
            {
                "admin": client("admin.pem", "root", "system:masters"),
                "nobody": client("nobody.pem", "nobody"),
                "expired": client("expired.pem", "root", "system:masters", made=now - TEN_YEARS),
                "foreign": client("foreign.pem", "root", "system:masters", by_us=False),
            },
        )

    def tls(self, client: str = "") -> ssl.SSLContext:
        context = ssl.create_default_context(cafile=self.ca)
        if client:
            context.load_cert_chain(self.clients[client])
        return context


class FakeReviews:
    """The API server's judgement: `tokens` name users, `allow` decides; `fault` is raised instead, if set."""

    def __init__(self) -> None:
        self.tokens = {"good-token": authentication.UserInfo(username="robot", uid="7", groups=["bots"])}
        self.allow: Callable[[str, str, str], bool] = lambda user, verb, subresource: user in ("root", "robot")
        self.fault: Exception | None = None
        self.asked: list[Any] = []

    async def __call__(self, review: Any) -> Any:
        self.asked.append(review)
        if self.fault is not None:
            raise self.fault
        if isinstance(review, authentication.TokenReview):
            user = self.tokens.get(review.spec.token)
            review.status = authentication.TokenReviewStatus(authenticated=user is not None, user=user)
        else:
            wanted = review.spec.resource_attributes
            allowed = self.allow(review.spec.user, wanted.verb, wanted.subresource)
            review.status = authorization.SubjectAccessReviewStatus(allowed=allowed, reason="" if allowed else "no")
        return review

    def access_reviews(self) -> list[tuple[str, str, str]]:
        specs = [each.spec for each in self.asked if isinstance(each, authorization.SubjectAccessReview)]
        return [(each.user, each.resource_attributes.verb, each.resource_attributes.subresource) for each in specs]


class FakeStreaming:
    """The runtime's streaming server: every call gets a URL of its own, behind which a script plays."""

    def __init__(self) -> None:
        self._numbers = itertools.count()
        self._scripts: dict[str, Script] = {}
        self._server: asyncio.Server | None = None
        self._peers: set[asyncio.Task[None]] = set()
        self.requests: list[bytes] = []
        self.refusal = b""
        self.raw: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Any] | None = None

    def url(self, script: Script) -> str:
        assert self._server is not None
        token = f"t{next(self._numbers)}"
        self._scripts[token] = script
        host, port = self._server.sockets[0].getsockname()
        return f"http://{host}:{port}/{token}"

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        yield
        self._server.close()
        for task in self._peers:
            task.cancel()
        await asyncio.gather(*self._peers, return_exceptions=True)
        await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._peers.add(task)
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            self.requests.append(head)
            if self.refusal:
                writer.write(self.refusal)
                return
            writer.write(b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n")
            writer.write(b"X-Stream-Protocol-Version: v4.channel.k8s.io\r\n\r\n")
            if self.raw is not None:
                try:
                    await self.raw(reader, writer)
                finally:
                    writer.transport.abort()
                return
            await self._play(Peer(reader, writer), head.split(b" ")[1].decode().strip("/"))
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            self._peers.discard(task)
            writer.close()

    async def _play(self, peer: Peer, token: str) -> None:
        reading = asyncio.create_task(peer.run())
        try:
            await self._scripts[token](peer)
        finally:
            peer.close()
            await asyncio.gather(reading, return_exceptions=True)


@dataclass
class FakeHost:
    """A node with the pods it is given."""

    streaming: FakeStreaming
    held: list[core.Pod] = field(default_factory=list)
    logs: dict[str, str] = field(default_factory=dict)
    running: set[str] = field(default_factory=set)
    script: Script | None = None
    asked: list[tuple[Any, ...]] = field(default_factory=list)
    fault: CriError | Exception | None = None
    checks: dict[str, str] = field(default_factory=lambda: {"ping": "", "syncloop": ""})

    def pod(self, namespace: str, name: str) -> core.Pod | None:
        return next((p for p in self.held if (p.metadata.namespace, p.metadata.name) == (namespace, name)), None)

    def pods(self) -> list[core.Pod]:
        if self.fault is not None:
            raise self.fault
        return self.held

    async def log_path(self, container_id: str) -> str:
        if container_id not in self.logs:
            raise NotFound("read status", f"container {container_id}", "not found")
        return self.logs[container_id]

    async def container_running(self, container_id: str) -> bool:
        return container_id in self.running

    def _url(self, *asked: Any) -> str:
        self.asked.append(asked)
        if self.fault is not None:
            raise self.fault
        assert self.script is not None
        return self.streaming.url(self.script)

    async def exec_url(self, container_id: str, command: Sequence[str], **streams: bool) -> str:
        return self._url("exec", container_id, list(command), streams)

    async def attach_url(self, container_id: str, **streams: bool) -> str:
        return self._url("attach", container_id, streams)

    async def port_forward_url(self, one: core.Pod, ports: Sequence[int]) -> str:
        return self._url("portForward", one.metadata.name, list(ports))

    def health(self) -> Mapping[str, str]:
        return self.checks

    def configuration(self) -> Mapping[str, Any]:
        return {"kind": "KubeletConfiguration", "maxPods": 110}

    def metrics(self) -> str:
        return "kubelet_running_pods 1\n"

    def debug(self) -> object:
        return [{"uid": "u"}]


class Bench:
    """One server and those around it."""

    def __init__(self, pki: Pki, clock: Clock | None = None) -> None:
        self.pki = pki
        self.clock = clock or FakeClock(start=NOW, autojump=False)
        self.reviews = FakeReviews()
        self.streaming = FakeStreaming()
        self.host = FakeHost(self.streaming)
        self.server = AgentServer(
            self.host,
            "node-1",
            self.reviews,
            self.clock,
            certificate=pki.serving,
            key=pki.key,
            client_ca=pki.ca,
        )
        self.port = 0
        self.session: aiohttp.ClientSession

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Bench]:
        before = asyncio.all_tasks()
        async with self.streaming.running():
            self.port = await self.server.start("127.0.0.1", 0)
            async with self.as_client("admin") as self.session:
                yield self
            await self.server.stop()
        await asyncio.sleep(0)
        left = {task for task in asyncio.all_tasks() - before if task is not asyncio.current_task()}
        assert not left, f"tasks that outlived the server: {left}"

    def as_client(self, name: str = "") -> aiohttp.ClientSession:
        return aiohttp.ClientSession(
            f"https://127.0.0.1:{self.port}", connector=aiohttp.TCPConnector(ssl=self.pki.tls(name))
        )

    async def get(self, path: str, method: str = "GET", **options: Any) -> tuple[int, str]:
        async with self.session.request(method, path, **options) as answer:
            return answer.status, await answer.text()


def running_pod(name: str = "web", container: str = "app", **status: Any) -> core.Pod:
    """A pod whose one container runs as `containerd://c1`."""
    one = pod(container, name=name)
    state = status or {"containerID": "containerd://c1", "state": {"running": {}}}
    one.status = from_builtins(
        {"phase": "Running", "containerStatuses": [{"name": container, **state}]}, core.PodStatus
    )
    return one
