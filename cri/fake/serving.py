"""The fake runtime behind a socket, for what has to speak gRPC: our own transport, other programs, other processes.

Faults, lies and crashes are those of the fake it serves. Methods come from the services' descriptors.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from types import TracebackType
from typing import Any

import grpc
import grpc.aio
from google.protobuf import message_factory
from google.protobuf.descriptor import MethodDescriptor, ServiceDescriptor
from google.protobuf.message import Message

from cri.errors import CriError
from cri.fake import FakeRuntime
from cri.transport import MAX_MESSAGE_BYTES, Call
from proto import cri_pb2 as cri

_Context = grpc.aio.ServicerContext[Any, Any]


class FakeServer:
    """Serves while it is entered: `async with FakeServer(fake, path) as server: RuntimeClient(server.endpoint)`."""

    def __init__(self, fake: FakeRuntime, socket: Path) -> None:
        self.endpoint = f"unix://{socket}"
        self._fake = fake
        self._server: grpc.aio.Server | None = None

    async def __aenter__(self) -> FakeServer:
        self._server = grpc.aio.server(
            options=[
                ("grpc.max_send_message_length", MAX_MESSAGE_BYTES),
                ("grpc.max_receive_message_length", MAX_MESSAGE_BYTES),
            ]
        )
        for service in cri.DESCRIPTOR.services_by_name.values():
            handlers = {method.name: self._handler(service, method) for method in service.methods}
            handler = grpc.method_handlers_generic_handler(service.full_name, handlers)
            self._server.add_generic_rpc_handlers((handler,))
        self._server.add_insecure_port(self.endpoint)
        await self._server.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._server is not None:
            await self._server.stop(None)

    def _handler(self, service: ServiceDescriptor, method: MethodDescriptor) -> grpc.RpcMethodHandler[Any, Any]:
        request_type = message_factory.GetMessageClass(method.input_type)
        reply_type = message_factory.GetMessageClass(method.output_type)
        call = Call(service.full_name, method.name, method.name)
        if method.server_streaming:
            return grpc.unary_stream_rpc_method_handler(
                self._streaming(call, reply_type),
                request_deserializer=request_type.FromString,
                response_serializer=reply_type.SerializeToString,
            )
        return grpc.unary_unary_rpc_method_handler(
            self._unary(call, reply_type),
            request_deserializer=request_type.FromString,
            response_serializer=reply_type.SerializeToString,
        )

    def _unary(self, call: Call, reply: type[Message]) -> Callable[[Message, _Context], Awaitable[Message]]:
        async def answer(request: Message, context: _Context) -> Message:
            try:
                return await self._fake.way.unary(call, request, reply, None)
            except CriError as error:
                await context.abort(_status(error), error.cause)
                raise AssertionError("abort returned") from error

        return answer

    def _streaming(self, call: Call, reply: type[Message]) -> Callable[[Message, _Context], AsyncIterator[Message]]:
        async def answer(request: Message, context: _Context) -> AsyncIterator[Message]:
            replies = self._fake.way.stream(call, request, reply, None)
            try:
                async for one in replies:
                    yield one
            except CriError as error:
                await context.abort(_status(error), error.cause)
            finally:
                replies.cancel()

        return answer


_STATUSES = {code.name.replace("_", ""): code for code in grpc.StatusCode}


def _status(error: CriError) -> grpc.StatusCode:
    return _STATUSES.get(error.code.upper(), grpc.StatusCode.UNKNOWN)
