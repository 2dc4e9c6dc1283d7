"""The seam between our calls and a runtime: one message there, one message (or a stream of them) back.

`GrpcTransport` speaks to a socket; `cri.fake` answers in this process. This is the only module that imports gRPC for
calling, and the only place where its errors become ours.
"""

from __future__ import annotations

from typing import Any, Generic, NamedTuple, Protocol, TypeVar, cast

import grpc
import grpc.aio
from google.protobuf.message import Message

from cri.errors import CriError, error_for

R = TypeVar("R", bound=Message)
R_co = TypeVar("R_co", bound=Message, covariant=True)

# An ExecSync reply may hold 16 MiB of each output stream; a list of some thousand containers with their annotations
# passes gRPC's default of 4 MiB too.
MAX_MESSAGE_BYTES = 33 << 20


class Call(NamedTuple):
    """One call: where it goes, and how an error about it reads."""

    service: str
    """Full name of the gRPC service."""
    method: str
    step: str
    """What is tried, in words: "stop container"."""
    object: str = ""
    """Whom it concerns: "container 1f0c…"."""
    metadata: tuple[tuple[str, str], ...] = ()
    """gRPC headers."""

    @property
    def path(self) -> str:
        return f"/{self.service}/{self.method}"


class Replies(Protocol[R_co]):
    """The replies of a streaming call, which has been sent already. Ends when the runtime ends the stream."""

    def __aiter__(self) -> Replies[R_co]:
        """Itself."""

    async def __anext__(self) -> R_co:
        """The next reply, or a `CriError`."""

    def cancel(self) -> None:
        """Ends the call; to be called by whoever stops reading early."""


class Transport(Protocol):
    """Carries calls to one runtime. Every failure is a `CriError`; cancelling the caller cancels the call."""

    async def unary(self, call: Call, request: Message, reply: type[R], deadline: float | None) -> R:
        """Sends a request and waits for its reply, `deadline` seconds at most (None: as long as it takes)."""

    def stream(self, call: Call, request: Message, reply: type[R], deadline: float | None) -> Replies[R]:
        """Sends a request at once and returns its replies to come."""

    async def close(self) -> None:
        """Ends the connection and every call on it."""


class GrpcTransport:
    """A runtime on a socket. The channel is opened by the first call, and reconnects by itself."""

    def __init__(self, endpoint: str) -> None:
        """`endpoint` is `unix:///path`, a bare absolute path, or any other gRPC target."""
        self.target = f"unix://{endpoint}" if endpoint.startswith("/") else endpoint
        self._channel: grpc.aio.Channel | None = None
        self._unary: dict[str, Any] = {}
        self._stream: dict[str, Any] = {}

    def _open(self) -> grpc.aio.Channel:
        if self._channel is None:
            self._channel = grpc.aio.insecure_channel(
                self.target,
                options=[
                    ("grpc.max_receive_message_length", MAX_MESSAGE_BYTES),
                    ("grpc.max_send_message_length", MAX_MESSAGE_BYTES),
                    ("grpc.enable_http_proxy", 0),
                    # A runtime that restarts is back within a second or two; the default back-off goes to two minutes.
                    ("grpc.initial_reconnect_backoff_ms", 100),
                    ("grpc.max_reconnect_backoff_ms", 3000),
                    # This is how long an attempt may take, whatever its name says; one that is refused ends at once. A
                    # busy machine takes seconds to answer, and is only made busier by being asked again and again.
                    ("grpc.min_reconnect_backoff_ms", 5000),
                    # Two clients of one socket in one process stay independent of each other's broken connection.
                    ("grpc.use_local_subchannel_pool", 1),
                ],
            )
        return self._channel

    async def unary(self, call: Call, request: Message, reply: type[R], deadline: float | None) -> R:
        method = self._unary.get(call.path)
        if method is None:
            method = self._open().unary_unary(
                call.path, request_serializer=type(request).SerializeToString, response_deserializer=reply.FromString
            )
            self._unary[call.path] = method
        try:
            answer: R = await method(request, timeout=deadline, metadata=call.metadata)
        except grpc.aio.AioRpcError as failure:
            raise _translate(call, failure) from failure
        return answer

    def stream(self, call: Call, request: Message, reply: type[R], deadline: float | None) -> Replies[R]:
        method = self._stream.get(call.path)
        if method is None:
            method = self._open().unary_stream(
                call.path, request_serializer=type(request).SerializeToString, response_deserializer=reply.FromString
            )
            self._stream[call.path] = method
        return _GrpcReplies(call, method(request, timeout=deadline, metadata=call.metadata))

    async def close(self) -> None:
        channel, self._channel = self._channel, None
        self._unary.clear()
        self._stream.clear()
        if channel is not None:
            await channel.close(None)


class _GrpcReplies(Generic[R]):
    """Replies read from a gRPC call."""

    def __init__(self, call: Call, replies: grpc.aio.UnaryStreamCall[Any, R]) -> None:
        self._call = call
        self._replies = replies

    def __aiter__(self) -> _GrpcReplies[R]:
        return self

    async def __anext__(self) -> R:
        try:
            answer = await self._replies.read()
        except grpc.aio.AioRpcError as failure:
            raise _translate(self._call, failure) from failure
        if not isinstance(answer, Message):  # gRPC's mark of the end
            raise StopAsyncIteration
        return cast("R", answer)

    def cancel(self) -> None:
        self._replies.cancel()


def _translate(call: Call, failure: grpc.aio.AioRpcError) -> CriError:
    # grpc names codes NOT_FOUND; the tree and Go's texts name them NotFound.
    code = "".join(word.capitalize() for word in failure.code().name.split("_"))
    cause = failure.details() or f"no details, code {failure.code().name}"
    return error_for(code, call.step, call.object, cause)
