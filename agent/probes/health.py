"""gRPC probes: the standard health service (grpc.health.v1), over a channel of its own without TLS."""

from __future__ import annotations

from agent.pods.go_text import seconds_text
from agent.pods.requests import address
from agent.probes.results import SUCCESS, USER_AGENT, Outcome, failure
from api import core_v1 as core
from client.clock import Clock

METHOD = "/grpc.health.v1.Health/Check"
LEAST_TIME = 0.001
"""Seconds that are left to the question at least, however long connecting took."""


async def probe_grpc(action: core.GRPCAction, host: str, timeout: float, clock: Clock) -> Outcome:
    """Ask once; both connecting and the answer have to come within `timeout` seconds."""
    # gRPC is needed by those pods alone that have such a probe.
    import grpc
    import grpc.aio

    from proto import health_pb2

    target = address(host, action.port)
    options = [
        ("grpc.primary_user_agent", USER_AGENT),
        ("grpc.use_local_subchannel_pool", 1),
        ("grpc.enable_http_proxy", 0),
    ]
    limit = seconds_text(timeout)
    until = clock.monotonic() + timeout
    async with grpc.aio.insecure_channel(target, options=options) as channel:
        check = channel.unary_unary(
            METHOD,
            request_serializer=health_pb2.HealthCheckRequest.SerializeToString,
            response_deserializer=health_pb2.HealthCheckResponse.FromString,
        )
        request = health_pb2.HealthCheckRequest(service=action.service or "")
        try:
            # A server that is just coming up may refuse at first: connecting is tried again until the time is over.
            async with clock.timeout(timeout):
                await channel.channel_ready()
            answer = await check(request, timeout=max(until - clock.monotonic(), LEAST_TIME))
        except TimeoutError:
            return failure(f'timeout: failed to connect service "{target}" within {limit}: context deadline exceeded')
        except grpc.aio.AioRpcError as error:
            code, details = error.code(), error.details() or ""
            if code is grpc.StatusCode.UNIMPLEMENTED:
                return failure(
                    f"error: this server does not implement the grpc health protocol (grpc.health.v1.Health): {details}"
                )
            if code is grpc.StatusCode.DEADLINE_EXCEEDED:
                return failure(f"timeout: health rpc did not complete within {limit}")
            return failure(f"error: health rpc probe failed: rpc error: code = {_go_name(code.name)} desc = {details}")
    if answer.status == health_pb2.HealthCheckResponse.SERVING:
        return SUCCESS
    name = health_pb2.HealthCheckResponse.ServingStatus.Name(answer.status)
    return failure(f'service unhealthy (responded with "{name}")')


def _go_name(code: str) -> str:
    """NOT_FOUND as NotFound."""
    name = "".join(part.capitalize() for part in code.split("_"))
    return "Canceled" if name == "Cancelled" else name
