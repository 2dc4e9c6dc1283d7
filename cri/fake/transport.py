"""The way to the fake runtime, in this process: where faults happen, deadlines hold and crashes cut calls off.

Requests and replies are copied on the way, as a socket would, so that neither side sees what the other changes later.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar, cast

from google.protobuf.message import Message

from cri.errors import CriError, error_for
from cri.fake.faults import Faults
from cri.fake.service import FakeRuntimeService
from cri.transport import Call, Replies

R = TypeVar("R", bound=Message)

_WORD_START = re.compile(r"(?<!^)(?=[A-Z])")


class InProcessTransport:
    """Carries calls to a `FakeRuntimeService`."""

    def __init__(self, service: FakeRuntimeService, faults: Faults) -> None:
        self.service = service
        self.faults = faults
        self.calls: list[tuple[str, Message]] = []
        """Every call that was made, with its request, in order."""
        self.unimplemented: set[str] = set()
        """Methods the runtime is too old for."""
        self._down = False
        self._life = 0
        self._died = asyncio.Event()
        self._open: list[_FakeReplies[Message]] = []

    def crash(self) -> None:
        """The runtime dies: calls under way and streams fail, new calls are Unavailable until `restart`."""
        self._down = True
        self._life += 1
        self._died.set()
        self._died = asyncio.Event()
        for replies in list(self._open):
            replies.fail("Unavailable", "error reading from server: EOF")

    def restart(self) -> None:
        """The runtime is back, with its state as it was left."""
        self._down = False

    async def unary(self, call: Call, request: Message, reply: type[R], deadline: float | None) -> R:
        try:
            async with self.service.clock.timeout(deadline):
                return await self._unary(call, request, reply)
        except TimeoutError:
            raise error_for("DeadlineExceeded", call.step, call.object, "context deadline exceeded") from None

    async def _unary(self, call: Call, request: Message, reply: type[R]) -> R:
        self.calls.append((call.method, request))
        await asyncio.sleep(0)
        life, died = self._life, self._died
        fault = self.faults.take(call.method, request)
        if fault is not None:
            if fault.delay:
                await self.service.clock.sleep(fault.delay)
            if fault.hang:
                await died.wait()
            if fault.code:
                raise error_for(fault.code, call.step, call.object, fault.message)
        self._check_alive(call, life)
        handler = self._handler(call)
        answer = await handler(_copy(request))
        if fault is not None and fault.lose_reply:
            raise error_for("Unavailable", call.step, call.object, fault.message)
        self._check_alive(call, life)
        return reply.FromString(answer.SerializeToString())

    def stream(self, call: Call, request: Message, reply: type[R], deadline: float | None) -> Replies[R]:
        self.calls.append((call.method, request))
        replies: _FakeReplies[R] = _FakeReplies(call, self._close)
        self._open.append(cast("_FakeReplies[Message]", replies))
        fault = self.faults.take(call.method, request)
        if fault is not None and fault.code:
            replies.fail(fault.code, fault.message)
        elif self._down:
            replies.fail("Unavailable", _REFUSED)
        elif call.method != "GetContainerEvents" or call.method in self.unimplemented:
            replies.fail("Unimplemented", f"unknown method {call.method} for service {call.service}")
        else:
            self.service.listen(replies.queue)
        return replies

    async def close(self) -> None:
        for replies in list(self._open):
            replies.fail("Cancelled", "channel closed")

    def _close(self, replies: _FakeReplies[R]) -> None:
        self.service.stop_listening(replies.queue)
        if replies in self._open:
            self._open.remove(cast("_FakeReplies[Message]", replies))

    def _check_alive(self, call: Call, life: int) -> None:
        if self._down or life != self._life:
            raise error_for("Unavailable", call.step, call.object, _REFUSED)

    def _handler(self, call: Call) -> Callable[[Message], Awaitable[Message]]:
        owner = self.service.images if call.service.endswith(("ImageService", "Content")) else self.service
        handler = getattr(owner, _WORD_START.sub("_", call.method).lower(), None)
        if handler is None or call.method in self.unimplemented:
            cause = f"unknown method {call.method} for service {call.service}"
            raise error_for("Unimplemented", call.step, call.object, cause)
        return cast("Callable[[Message], Awaitable[Message]]", handler)


_REFUSED = "connection error: dial unix: connect: connection refused"


class _FakeReplies(Generic[R]):
    """Replies out of a queue; an error in it ends them."""

    def __init__(self, call: Call, on_cancel: Callable[[_FakeReplies[R]], None]) -> None:
        self.queue: asyncio.Queue[Message | CriError] = asyncio.Queue()
        self._call = call
        self._on_cancel = on_cancel

    def fail(self, code: str, message: str) -> None:
        self.queue.put_nowait(error_for(code, self._call.step, self._call.object, message))

    def __aiter__(self) -> _FakeReplies[R]:
        return self

    async def __anext__(self) -> R:
        item = await self.queue.get()
        if isinstance(item, CriError):
            self.cancel()
            raise item
        return cast("R", item)

    def cancel(self) -> None:
        self._on_cancel(self)


def _copy(message: Message) -> Message:
    copied = type(message)()
    copied.CopyFrom(message)
    return copied
