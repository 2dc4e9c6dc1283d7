"""`ApiClient`: the surface of `client.interface` over HTTPS.

Turns verbs and classes into paths and bytes, and answers into objects. It keeps no state but its connections; caches
are the informers' business.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from types import TracebackType
from typing import Any, TypeVar

import msgspec

from api import codec
from api import meta_v1 as meta
from client import paths
from client.clock import Clock, SystemClock
from client.errors import BadAnswer
from client.interface import ObjectList, PatchKind, WatchEvent
from client.kubeconfig import Config
from client.transport import JSON, Answer, Transport
from client.watching import events, lines

T = TypeVar("T", bound=meta.Object)
R = TypeVar("R")

# Servers send a bookmark about once a minute, so a watch that is silent for longer than this (in seconds) sits on a
# dead connection: a power loss or a firewall cuts without a word. To resume a watch that was merely quiet costs next
# to nothing.
LONGEST_SILENCE = 180.0


class ApiClient:
    """A typed client of one API server under one identity.

    Use as an async context manager, or call `close`. `timeout` is the deadline of a single request in seconds.
    """

    def __init__(
        self,
        config: Config,
        *,
        clock: Clock | None = None,
        connections: int = 32,
        timeout: float = 30.0,
        user_agent: str = "orlop",
    ) -> None:
        self.config = config
        self._clock = clock or SystemClock()
        self._timeout = timeout
        self._user_agent = user_agent
        self._transport = Transport(
            config, clock=self._clock, connections=connections, timeout=timeout, user_agent=user_agent
        )

    async def __aenter__(self) -> ApiClient:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close all connections."""
        await self._transport.close()

    def dedicated(self, *, timeout: float, connections: int = 1) -> ApiClient:
        """A client with connections of its own, to be closed by the caller.

        For leases: a heartbeat must not queue behind a thousand slow writes, nor wait as long as they may.
        """
        return ApiClient(
            self.config, clock=self._clock, connections=connections, timeout=timeout, user_agent=self._user_agent
        )

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: dict[str, str] | None = None,
        body: bytes | None = None,
        content_type: str = JSON,
        accept: str = JSON,
        timeout: float | None = None,
    ) -> Answer:
        """Send a raw request; for what has no class: discovery, /version, Tables, logs."""
        return await self._transport.exchange(
            method, path, query=query, body=body, content_type=content_type, accept=accept, timeout=timeout
        )

    async def get(self, cls: type[T], name: str, namespace: str = "") -> T:
        answer = await self._transport.exchange("GET", paths.item(paths.resource_of(cls), namespace, name))
        return _decode(answer, cls)

    async def list(
        self,
        cls: type[T],
        namespace: str = "",
        *,
        label_selector: str = "",
        field_selector: str = "",
        limit: int = 0,
        continue_: str = "",
        resource_version: str | None = None,
    ) -> ObjectList[T]:
        resource = paths.resource_of(cls)
        query = _selectors(label_selector, field_selector)
        if limit:
            query["limit"] = str(limit)
        if continue_:
            query["continue"] = continue_
        if resource_version is not None:
            query["resourceVersion"] = resource_version
        answer = await self._transport.exchange("GET", paths.collection(resource, namespace), query=query)
        page: Any = _decode(answer, resource.list_type)
        return ObjectList(page.items, page.metadata.resource_version, page.metadata.continue_)

    async def create(self, obj: T, namespace: str = "", *, dry_run: bool = False) -> T:
        path = paths.collection(paths.resource_of(type(obj)), namespace or obj.metadata.namespace)
        answer = await self._transport.exchange("POST", path, query=_dry(dry_run), body=codec.encode(obj))
        return _decode(answer, type(obj))

    async def update(self, obj: T, *, dry_run: bool = False) -> T:
        return await self._put(obj, "", dry_run)

    async def update_status(self, obj: T) -> T:
        return await self._put(obj, "status", False)

    async def update_subresource(self, obj: T, subresource: str) -> T:
        return await self._put(obj, subresource, False)

    async def _put(self, obj: T, subresource: str, dry_run: bool) -> T:
        meta_ = obj.metadata
        path = paths.item(paths.resource_of(type(obj)), meta_.namespace, meta_.name, subresource)
        answer = await self._transport.exchange("PUT", path, query=_dry(dry_run), body=codec.encode(obj))
        return _decode(answer, type(obj))

    async def patch(
        self,
        cls: type[T],
        name: str,
        patch: object,
        namespace: str = "",
        *,
        kind: PatchKind = PatchKind.STRATEGIC,
        subresource: str = "",
        dry_run: bool = False,
    ) -> T:
        path = paths.item(paths.resource_of(cls), namespace, name, subresource)
        body = msgspec.json.encode(codec.to_builtins(patch))
        answer = await self._transport.exchange("PATCH", path, query=_dry(dry_run), body=body, content_type=kind.value)
        return _decode(answer, cls)

    async def delete(
        self,
        cls: type[T],
        name: str,
        namespace: str = "",
        *,
        uid: str = "",
        resource_version: str = "",
        grace_period: int | None = None,
        propagation: str | None = None,
    ) -> None:
        options = delete_options(uid, resource_version, grace_period, propagation)
        path = paths.item(paths.resource_of(cls), namespace, name)
        await self._transport.exchange("DELETE", path, body=codec.encode(options))

    async def delete_collection(
        self,
        cls: type[T],
        namespace: str = "",
        *,
        label_selector: str = "",
        field_selector: str = "",
        grace_period: int | None = None,
        propagation: str | None = None,
    ) -> None:
        options = delete_options("", "", grace_period, propagation)
        path = paths.collection(paths.resource_of(cls), namespace)
        query = _selectors(label_selector, field_selector)
        await self._transport.exchange("DELETE", path, query=query, body=codec.encode(options))

    async def create_subresource(
        self, cls: type[T], name: str, namespace: str, subresource: str, body: Any, into: type[R]
    ) -> R:
        path = paths.item(paths.resource_of(cls), namespace, name, subresource)
        return _decode(await self._transport.exchange("POST", path, body=codec.encode(body)), into)

    async def post_review(self, obj: T) -> T:
        path = paths.collection(paths.resource_of(type(obj)), obj.metadata.namespace)
        return _decode(await self._transport.exchange("POST", path, body=codec.encode(obj)), type(obj))

    async def watch(
        self,
        cls: type[T],
        namespace: str = "",
        *,
        resource_version: str = "",
        label_selector: str = "",
        field_selector: str = "",
        timeout: float = 300.0,
    ) -> AsyncIterator[WatchEvent[T]]:
        query = _selectors(label_selector, field_selector)
        query |= {"watch": "true", "allowWatchBookmarks": "true", "timeoutSeconds": str(max(1, int(timeout)))}
        if resource_version:
            query["resourceVersion"] = resource_version
        path = paths.collection(paths.resource_of(cls), namespace)
        async with self._transport.stream(path, query=query, idle=LONGEST_SILENCE) as chunks:
            async for event in events(lines(chunks), cls):
                yield event


def delete_options(
    uid: str, resource_version: str, grace_period: int | None, propagation: str | None
) -> meta.DeleteOptions:
    """The body of a deletion."""
    options = meta.DeleteOptions(grace_period_seconds=grace_period, propagation_policy=propagation)
    if uid or resource_version:
        options.preconditions = meta.Preconditions(uid=uid or None, resource_version=resource_version or None)
    return options


def _selectors(label_selector: str, field_selector: str) -> dict[str, str]:
    query = {}
    if label_selector:
        query["labelSelector"] = label_selector
    if field_selector:
        query["fieldSelector"] = field_selector
    return query


def _dry(dry_run: bool) -> dict[str, str] | None:
    return {"dryRun": "All"} if dry_run else None


def _decode(answer: Answer, cls: type[R]) -> R:
    try:
        return codec.decode(answer.body, cls)
    except codec.DecodeError as error:
        raise BadAnswer(f"decode {cls.__name__}: {error}") from error
