"""The whole API server in memory, without sockets: requests go in as exchanges, replies come out as data.

Identity is left out: every request comes from the user it is made for. What HTTP adds is tested over real
connections elsewhere.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from multidict import CIMultiDict

from api import errors
from client.clock import FakeClock
from client.streaming.joining import End
from controlplane.apiserver import query
from controlplane.apiserver.assembly import ApiServer, Trust
from controlplane.apiserver.config import ServerConfig
from controlplane.apiserver.exchange import Exchange, Reply, Stream
from controlplane.pki import certificates
from controlplane.store.interface import Store
from controlplane.store.memory import MemoryStore

MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
JSON_PATCH = "application/json-patch+json"


@dataclass
class Answer:
    """A reply, its body read as JSON where it is JSON."""

    status: int
    body: bytes
    headers: dict[str, str] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    def __getitem__(self, name: str) -> Any:
        return self.json[name]

    @property
    def ok(self) -> Answer:
        assert self.status < 400, (self.status, self.body)
        return self

    def refused(self, status: int, reason: str) -> str:
        """Assert that this is a Status of that code and reason; returns its message."""
        assert self.status == status, (self.status, self.body)
        document = self.json
        assert (document["kind"], document["status"]) == ("Status", "Failure")
        assert (document["code"], document.get("reason", "")) == (status, reason), document
        message: str = document["message"]
        return message


class MemoryStream:
    """What a watch or log writes."""

    def __init__(self) -> None:
        self.data = bytearray()
        self.finished = False
        self.closed = False
        self.grown = asyncio.Event()

    def write(self, data: bytes) -> None:
        self.data += b"%x\r\n%b\r\n" % (len(data), data)
        self.grown.set()

    def write_framed(self, data: bytes) -> None:
        self.data += data
        if self.data.endswith(b"0\r\n\r\n"):
            self.finished = True
        self.grown.set()

    def buffered(self) -> int:
        return 0

    async def drain(self) -> None:
        return None

    def finish(self) -> None:
        self.finished = True
        self.grown.set()

    def unframed(self) -> bytes:
        """The body without the chunked framing."""
        rest, out = bytes(self.data), b""
        while rest:
            size, _, rest = rest.partition(b"\r\n")
            out += rest[: int(size, 16)]
            rest = rest[int(size, 16) + 2 :]
        return out

    def events(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.unframed().splitlines()]


class MemoryConnection:
    """Lends a body to an exchange and takes its stream."""

    def __init__(self, body: bytes) -> None:
        self.body = body
        self.stream: MemoryStream | None = None
        self.head: tuple[int, list[tuple[str, str]]] | None = None
        self.aborted = False

    async def read_body(self, limit: int) -> bytes:
        if len(self.body) > limit:
            raise errors.request_entity_too_large(f"limit is {limit}")
        return self.body

    def start_stream(self, status: int, headers: Iterable[tuple[str, str]]) -> Stream:
        self.head = (status, list(headers))
        self.stream = MemoryStream()
        return self.stream

    def start_tunnel(self, head: bytes) -> End:
        raise NotImplementedError("tunnels are tested over real connections")

    def abort(self) -> None:
        self.aborted = True


class Watching:
    """A watch under way."""

    def __init__(self, connection: MemoryConnection, task: asyncio.Task[Reply | None]) -> None:
        self._connection = connection
        self.task = task

    async def events(self, count: int) -> list[dict[str, Any]]:
        """The first `count` events, waited for."""
        async with asyncio.timeout(5):
            while True:
                stream = self._connection.stream
                found = stream.events() if stream is not None else []
                if len(found) >= count:
                    return found[:count]
                if self.task.done() and (stream is None or not stream.events()):
                    raise AssertionError(f"the watch ended: {self.task}")
                await asyncio.sleep(0.001)

    async def end(self) -> list[dict[str, Any]]:
        """All events, once the server has ended the watch."""
        await asyncio.wait_for(self.task, 5)
        assert self._connection.stream is not None
        return self._connection.stream.events()

    async def stop(self) -> None:
        self.task.cancel()
        await asyncio.wait({self.task})


class Harness:
    """A running server and the requests tests make of it."""

    def __init__(self, server: ApiServer, clock: FakeClock) -> None:
        self.server = server
        self.clock = clock

    async def request(
        self,
        method: str,
        target: str,
        body: object = None,
        *,
        content_type: str = "application/json",
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        exchange, connection = self._exchange(method, target, body, content_type, headers)
        reply = await self.server.handle(exchange)
        if reply is None:
            assert connection.stream is not None
            assert connection.head is not None
            status, sent = connection.head
            return Answer(status, connection.stream.unframed(), dict(sent), exchange.warnings)
        return Answer(
            reply.status, reply.body, {"Content-Type": reply.content_type, **dict(reply.headers)}, exchange.warnings
        )

    async def get(self, target: str, **headers: str) -> Answer:
        return await self.request("GET", target, headers=headers)

    async def create(self, target: str, body: object) -> Answer:
        return await self.request("POST", target, body)

    async def update(self, target: str, body: object) -> Answer:
        return await self.request("PUT", target, body)

    async def patch(self, target: str, body: object, kind: str = MERGE) -> Answer:
        return await self.request("PATCH", target, body, content_type=kind)

    async def delete(self, target: str, body: object = None) -> Answer:
        return await self.request("DELETE", target, body)

    async def watch(self, target: str, **headers: str) -> Watching:
        """Begin a watch; returns once the server has begun to answer."""
        exchange, connection = self._exchange("GET", target, None, "", headers)
        task = asyncio.ensure_future(self.server.handle(exchange))
        while connection.stream is None and not task.done():  # noqa: ASYNC110 - a handful of loop turns
            await asyncio.sleep(0)
        return Watching(connection, task)

    def _exchange(
        self, method: str, target: str, body: object, content_type: str, headers: Mapping[str, str] | None
    ) -> tuple[Exchange, MemoryConnection]:
        data = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        connection = MemoryConnection(data)
        path, _, raw = target.partition("?")
        sent: CIMultiDict[str] = CIMultiDict({"Content-Type": content_type} if data else {})
        sent.update({name.replace("_", "-"): value for name, value in (headers or {}).items()})
        return Exchange(connection, method, path, raw, query.parse(raw), sent, admin_certificate()), connection


@lru_cache
def _authority() -> tuple[bytes, bytes]:
    key = certificates.new_key()
    return key, certificates.issue_ca(key, FakeClock().now(), "test-ca")


@lru_cache
def admin_certificate() -> bytes:
    """The certificate (DER) of a member of system:masters."""
    from cryptography import x509

    from controlplane.pki.profiles import profiles

    key, ca = _authority()
    admin = next(profile for profile in profiles("node", ["10.0.0.1"], "10.43.0.0/16") if profile.name == "admin")
    pem = certificates.issue(admin, certificates.new_key(), ca, key, FakeClock().now())
    return x509.load_pem_x509_certificate(pem).public_bytes(serialization.Encoding.DER)


def trust() -> Trust:
    """Keys of a throw-away cluster."""
    token_key = ec.generate_private_key(ec.SECP256R1()).private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return Trust(_authority()[1], token_key)


async def start(config: ServerConfig, store: Store | None = None, clock: FakeClock | None = None) -> Harness:
    """A server over a store of its own, with a namespace `test` that pods can be made in."""
    clock = clock or FakeClock(autojump=False)
    if store is None:
        store = MemoryStore()
        for key, value in _bootstrapped:
            await store.write(key, value, expect=0)
    server = ApiServer(config, store, trust(), clock)
    await server.start()
    harness = Harness(server, clock)
    if not _bootstrapped:
        await harness.create("/api/v1/namespaces", {"metadata": {"name": "test"}})
        await harness.create("/api/v1/namespaces/test/serviceaccounts", {"metadata": {"name": "default"}})
        _bootstrapped.extend((record.key, record.value) for record in (await store.list("")).records)
    return harness


#: What the first server of this process found to be made: others begin with it, which saves most of a test's time.
_bootstrapped: list[tuple[str, bytes]] = []


def pod(name: str, **spec: object) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"app": "test"}},
        "spec": {"containers": [{"name": "c", "image": "busybox"}], **spec},
    }


def config_map(name: str, **data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}
