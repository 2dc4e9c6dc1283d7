"""The surface of `client.interface` on a fake server: each call takes a turn of the event loop, and the server's
faults strike it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING, Any, TypeVar

from api import codec
from api import meta_v1 as meta
from api.scheme import SCHEME
from client.fake.faults import Call
from client.interface import ObjectList, PatchKind, WatchEvent

if TYPE_CHECKING:
    from client.fake.server import FakeApiServer

T = TypeVar("T", bound=meta.Object)
R = TypeVar("R")
V = TypeVar("V")


class FakeClient:
    """A client of one fake server; `calls` lists what was asked of it, for tests that count writes."""

    def __init__(self, server: FakeApiServer) -> None:
        self.calls: list[Call] = []
        self._server = server

    async def close(self) -> None:
        """Nothing to close."""

    async def get(self, cls: type[T], name: str, namespace: str = "") -> T:
        call = _call("get", cls, namespace, name)
        return await self._do(call, lambda: self._server.get(cls, name, namespace))

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
        call = _call("list", cls, namespace)
        return await self._do(
            call,
            lambda: self._server.list(
                cls,
                namespace,
                label_selector=label_selector,
                field_selector=field_selector,
                limit=limit,
                continue_=continue_,
                back=self._server.faults.staleness(call.resource),
            ),
        )

    async def create(self, obj: T, namespace: str = "", *, dry_run: bool = False) -> T:
        call = _call("create", type(obj), namespace or obj.metadata.namespace, obj.metadata.name)
        return await self._do(call, lambda: self._server.create(obj, namespace, dry_run=dry_run))

    async def update(self, obj: T, *, dry_run: bool = False) -> T:
        call = _call("update", type(obj), obj.metadata.namespace, obj.metadata.name)
        return await self._do(call, lambda: self._server.update(obj, dry_run=dry_run))

    async def update_status(self, obj: T) -> T:
        return await self.update_subresource(obj, "status")

    async def update_subresource(self, obj: T, subresource: str) -> T:
        call = _call("update", type(obj), obj.metadata.namespace, obj.metadata.name, subresource)
        return await self._do(call, lambda: self._server.update(obj, subresource=subresource))

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
        call = _call("patch", cls, namespace, name, subresource)
        return await self._do(
            call,
            lambda: self._server.patch(
                cls, name, patch, namespace, kind=kind, subresource=subresource, dry_run=dry_run
            ),
        )

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
        call = _call("delete", cls, namespace, name)
        await self._do(
            call,
            lambda: self._server.delete(
                cls,
                name,
                namespace,
                uid=uid,
                resource_version=resource_version,
                grace_period=grace_period,
                propagation=propagation,
            ),
        )

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
        def act() -> None:
            found = self._server.list(cls, namespace, label_selector=label_selector, field_selector=field_selector)
            for item in found.items:
                self._server.delete(
                    cls,
                    item.metadata.name,
                    item.metadata.namespace,
                    grace_period=grace_period,
                    propagation=propagation,
                )

        await self._do(_call("deletecollection", cls, namespace), act)

    async def create_subresource(
        self, cls: type[T], name: str, namespace: str, subresource: str, body: Any, into: type[R]
    ) -> R:
        call = _call("create", cls, namespace, name, subresource)
        answer = await self._do(
            call, lambda: self._server.create_subresource(cls, name, namespace, subresource, codec.deepcopy(body))
        )
        if not isinstance(answer, into):
            raise TypeError(f"{call}: the answer is a {type(answer).__name__}, not a {into.__name__}")
        return answer

    async def post_review(self, obj: T) -> T:
        call = _call("create", type(obj), obj.metadata.namespace)
        return await self._do(call, lambda: self._server.review(obj))

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
        call = _call("watch", cls, namespace)
        self.calls.append(call)
        await asyncio.sleep(0)
        await self._server.faults.before(call)
        async for event in self._server.watch(
            cls,
            namespace,
            resource_version=resource_version,
            label_selector=label_selector,
            field_selector=field_selector,
            timeout=timeout,
        ):
            yield event

    async def _do(self, call: Call, act: Callable[[], V]) -> V:
        self.calls.append(call)
        await asyncio.sleep(0)
        await self._server.faults.before(call)
        result = act()
        await self._server.faults.after(call)
        return result


def _call(verb: str, cls: type[Any], namespace: str = "", name: str = "", subresource: str = "") -> Call:
    return Call(verb, SCHEME.of(cls).plural, namespace, name, subresource)
