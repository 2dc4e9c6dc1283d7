"""gRPC probes: the standard health service (grpc.health.v1), over a channel of its own without TLS."""

from __future__ import annotations

from agent.probes.dialing import address
from agent.probes.results import SUCCESS, USER_AGENT, Outcome, failure
from api import core_v1 as core

METHOD = "/grpc.health.v1.Health/Check"


async def probe_grpc(action: core.GRPCAction, host: str, timeout: float) -> Outcome:
    """Ask once, within `timeout` seconds."""
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
    limit = f"{timeout:g}s"
    async with grpc.aio.insecure_channel(target, options=options) as channel:
        check = channel.unary_unary(
            METHOD,
            request_serializer=health_pb2.HealthCheckRequest.SerializeToString,
            response_deserializer=health_pb2.HealthCheckResponse.FromString,
        )
        request = health_pb2.HealthCheckRequest(service=action.service or "")
        try:
            answer = await check(request, timeout=timeout)
        except grpc.aio.AioRpcError as error:
            code, details = error.code(), error.details() or ""
            if code is grpc.StatusCode.UNIMPLEMENTED:
                return failure(
                    f"error: this server does not implement the grpc health protocol (grpc.health.v1.Health): {details}"
                )
            if code is grpc.StatusCode.DEADLINE_EXCEEDED:
                return failure(f"timeout: health rpc did not complete within {limit}")
            if code is grpc.StatusCode.UNAVAILABLE:
                return failure(f'error: failed to connect service at "{target}": {details}')
            return failure(f"error: health rpc probe failed: {details}")
    if answer.status == health_pb2.HealthCheckResponse.SERVING:
        return SUCCESS
    name = health_pb2.HealthCheckResponse.ServingStatus.Name(answer.status)
    return failure(f'service unhealthy (responded with "{name}")')
