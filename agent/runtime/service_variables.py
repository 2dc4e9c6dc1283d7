"""Services as environment variables: `REDIS_SERVICE_HOST` and the older link variables.

Of the pod's own namespace all services with an address are told (unless `enableServiceLinks` is false), and always the
API server's own, `kubernetes` in `default`. The names follow the API documentation's "Accessing the Service".
"""

from __future__ import annotations

from collections.abc import Iterable

from api import core_v1 as core

MASTER_NAMESPACE = "default"
MASTER_SERVICE = "kubernetes"


def service_variables(services: Iterable[core.Service], namespace: str, links: bool) -> dict[str, str]:
    """The variables for a pod of `namespace`; `links` is its enableServiceLinks."""
    chosen: dict[str, core.Service] = {}
    for service in services:
        name = service.metadata.name
        if service.spec.cluster_ip in ("", "None"):
            continue
        if service.metadata.namespace == namespace and links:
            chosen[name] = service
        elif service.metadata.namespace == MASTER_NAMESPACE and name == MASTER_SERVICE:
            chosen.setdefault(name, service)
    variables: dict[str, str] = {}
    for name in sorted(chosen):
        variables.update(_variables_of(chosen[name]))
    return variables


def _variables_of(service: core.Service) -> dict[str, str]:
    prefix = _variable(service.metadata.name)
    address = service.spec.cluster_ip
    ports = service.spec.ports
    variables = {f"{prefix}_SERVICE_HOST": address}
    if not ports:
        return variables
    variables[f"{prefix}_SERVICE_PORT"] = str(ports[0].port)
    for port in ports:
        if port.name:
            variables[f"{prefix}_SERVICE_PORT_{_variable(port.name)}"] = str(port.port)
    host = f"[{address}]" if ":" in address else address
    for index, port in enumerate(ports):
        protocol = port.protocol or "TCP"
        url = f"{protocol.lower()}://{host}:{port.port}"
        if index == 0:
            variables[f"{prefix}_PORT"] = url
        one = f"{prefix}_PORT_{port.port}_{protocol.upper()}"
        variables[one] = url
        variables[f"{one}_PROTO"] = protocol.lower()
        variables[f"{one}_PORT"] = str(port.port)
        variables[f"{one}_ADDR"] = address
    return variables


def _variable(name: str) -> str:
    return name.upper().replace("-", "_")
