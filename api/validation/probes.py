"""Probes and lifecycle hooks: one handler each, of a known type, with sane numbers."""

from __future__ import annotations

from api import core_v1 as core
from api import names
from api.fields import FieldErrors, forbidden, invalid, required
from api.validation.checks import complain, non_negative, one_of, port_or_name, required_text

_SCHEMES = ("HTTP", "HTTPS")
_ONE_HANDLER = "may not specify more than 1 handler type"


def validate_liveness_or_startup(probe: core.Probe | None, path: str, out: FieldErrors) -> None:
    if probe is None:
        return
    _validate_probe(probe, path, out)
    if probe.success_threshold != 1:
        out.append(invalid(f"{path}.successThreshold", probe.success_threshold, "must be 1"))


def validate_readiness(probe: core.Probe | None, path: str, out: FieldErrors) -> None:
    if probe is None:
        return
    _validate_probe(probe, path, out)
    if probe.termination_grace_period_seconds is not None:
        where = f"{path}.terminationGracePeriodSeconds"
        out.append(invalid(where, probe.termination_grace_period_seconds, "must not be set for readinessProbes"))


def _validate_probe(probe: core.Probe, path: str, out: FieldErrors) -> None:
    _validate_handler(probe, None, path, out)
    if (
        probe.initial_delay_seconds < 0
        or probe.timeout_seconds < 0
        or probe.period_seconds < 0
        or probe.success_threshold < 0
        or probe.failure_threshold < 0
    ):
        non_negative(probe.initial_delay_seconds, f"{path}.initialDelaySeconds", out)
        non_negative(probe.timeout_seconds, f"{path}.timeoutSeconds", out)
        non_negative(probe.period_seconds, f"{path}.periodSeconds", out)
        non_negative(probe.success_threshold, f"{path}.successThreshold", out)
        non_negative(probe.failure_threshold, f"{path}.failureThreshold", out)
    grace = probe.termination_grace_period_seconds
    if grace is not None and grace <= 0:
        out.append(invalid(f"{path}.terminationGracePeriodSeconds", grace, "must be greater than 0"))


def validate_lifecycle(lifecycle: core.Lifecycle | None, grace: int | None, path: str, out: FieldErrors) -> None:
    """Hooks of a container; `grace` is the pod's grace period in seconds, which bounds a sleep."""
    if lifecycle is None:
        return
    if lifecycle.post_start is not None:
        _validate_handler(lifecycle.post_start, grace, f"{path}.postStart", out)
    if lifecycle.pre_stop is not None:
        _validate_handler(lifecycle.pre_stop, grace, f"{path}.preStop", out)


def _validate_handler(
    handler: core.Probe | core.LifecycleHandler, grace: int | None, path: str, out: FieldErrors
) -> None:
    """Exactly one of exec, httpGet, tcpSocket, and grpc (probes) or sleep (hooks)."""
    count = 0
    if handler.exec is not None:
        count = 1
        if not handler.exec.command:
            out.append(required(f"{path}.exec.command"))
    if handler.http_get is not None:
        if count:
            out.append(forbidden(f"{path}.httpGet", _ONE_HANDLER))
        else:
            count = 1
            _validate_http_get(handler.http_get, f"{path}.httpGet", out)
    if handler.tcp_socket is not None:
        if count:
            out.append(forbidden(f"{path}.tcpSocket", _ONE_HANDLER))
        else:
            count = 1
            port_or_name(handler.tcp_socket.port, f"{path}.tcpSocket.port", out)
    if isinstance(handler, core.Probe):
        if handler.grpc is not None:
            if count:
                out.append(forbidden(f"{path}.grpc", _ONE_HANDLER))
            else:
                count = 1
                port_or_name(handler.grpc.port, f"{path}.grpc.port", out)
    elif handler.sleep is not None:
        if count:
            out.append(forbidden(f"{path}.sleep", _ONE_HANDLER))
        else:
            count = 1
            if grace is not None and not 0 <= handler.sleep.seconds <= grace:
                detail = f"must be non-negative and less than terminationGracePeriodSeconds ({grace})"
                out.append(invalid(f"{path}.sleep", handler.sleep.seconds, detail))
    if not count:
        out.append(required(path, "must specify a handler type"))


def _validate_http_get(action: core.HTTPGetAction, path: str, out: FieldErrors) -> None:
    required_text(action.path, f"{path}.path", out)
    port_or_name(action.port, f"{path}.port", out)
    one_of(action.scheme, _SCHEMES, f"{path}.scheme", out)
    for header in action.http_headers:
        if bad := names.http_header_name(header.name):
            complain(out, f"{path}.httpHeaders", header.name, bad)
