"""Bring the cluster's own objects into being, and back in line after an upgrade.

Every start runs through all of them; those that are as they should be cost a look into the cache and no write.
"""

from __future__ import annotations

import ipaddress
import logging
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from api import core_v1 as core
from api import discovery_v1 as discovery
from api import errors
from api import meta_v1 as meta
from api import networking_v1 as networking
from api import scheduling_v1 as scheduling
from api.scheme import SCHEME
from api.times import Time
from controlplane.apiserver.bootstrap import controller_roles, reconciling, roles
from controlplane.apiserver.bootstrap.aggregating import write_sums
from controlplane.apiserver.request import ObjectReader, ObjectWriter

logger = logging.getLogger(__name__)

NAMESPACES = ("kube-system", "kube-public", "kube-node-lease", "default")

_SERVICE = "kubernetes"
_PORT_NAME = "https"

AnyObject = TypeVar("AnyObject", bound=meta.Object)


@dataclass(frozen=True, slots=True)
class ClusterFacts:
    """What the objects say of this cluster."""

    service_address: str
    """The cluster address of the API server: the first of the service range."""
    service_network: str
    """The range services have their addresses from, as a CIDR."""
    advertise_address: str
    """The address under which pods reach this API server."""
    port: int
    client_ca: str
    """The PEM certificates that sign clients, for servers that want to trust the same."""
    started: float
    """Wall-clock seconds of this start, for stamps."""


async def ensure(reader: ObjectReader, writer: ObjectWriter, facts: ClusterFacts) -> int:
    """Create what is missing and complete what lacks something; returns the number of writes.

    Idempotent. Raises StatusError when a write is refused; what was written till then stays, and the next start goes
    on.
    """
    ensurer = _Ensurer(reader, writer)
    # Namespaces first, since roles live in them.
    await ensurer.each(_namespaces())
    await ensurer.each((*roles.cluster_roles(), *controller_roles.controller_roles()), reconciling.reconciled_role)
    await ensurer.each(
        (*roles.cluster_bindings(), *controller_roles.controller_bindings()), reconciling.reconciled_binding
    )
    await ensurer.each(roles.roles(), reconciling.reconciled_role)
    await ensurer.each(roles.bindings(), reconciling.reconciled_binding)
    await ensurer.each(_priority_classes())
    await ensurer.each([_service_range(facts)])
    await ensurer.each([_service(facts)], reconciling.reconciled_service)
    if not ipaddress.ip_address(facts.advertise_address).is_loopback:
        # Endpoints may not name a loopback address; a server that has no other is not to be reached by pods anyway.
        await ensurer.each([_endpoints(facts)], reconciling.reconciled_endpoints)
        await ensurer.each([_endpoint_slice(facts)], reconciling.reconciled_slice)
    await ensurer.each([_authentication(facts)], reconciling.reconciled_config_map)
    ensurer.writes += await write_sums(reader, writer)
    if ensurer.writes:
        logger.info("bootstrapped the cluster's own objects writes=%d", ensurer.writes)
    return ensurer.writes


class _Ensurer:
    def __init__(self, reader: ObjectReader, writer: ObjectWriter) -> None:
        self._reader = reader
        self._writer = writer
        self.writes = 0

    async def each(
        self, wanted: Iterable[AnyObject], reconcile: Callable[[AnyObject, AnyObject], AnyObject | None] | None = None
    ) -> None:
        """Create each object, or replace it by what *reconcile* makes of the wanted and the existing one."""
        for item in wanted:
            resource = SCHEME.of(type(item))
            namespace, name = item.metadata.namespace, item.metadata.name
            existing = self._reader.get(resource, namespace, name)
            if existing is None:
                try:
                    await self._writer.create(resource, item, namespace)
                except errors.StatusError as error:
                    if not errors.is_already_exists(error):
                        raise
                    continue  # another API server on the same store was faster
                self.writes += 1
            elif reconcile is not None and isinstance(existing, type(item)):
                changed = reconcile(item, existing)
                if changed is not None:
                    await self._writer.update(resource, changed, namespace)
                    self.writes += 1


def _namespaces() -> Iterator[core.Namespace]:
    for name in NAMESPACES:
        yield core.Namespace(metadata=meta.ObjectMeta(name=name, labels={"kubernetes.io/metadata.name": name}))


def _priority_classes() -> Iterator[scheduling.PriorityClass]:
    for name, value, description in (
        (
            "system-node-critical",
            2_000_001_000,
            "For pods the system cannot do without on the very node they run on.",
        ),
        (
            "system-cluster-critical",
            2_000_000_000,
            "For pods the system cannot do without, on whichever node.",
        ),
    ):
        yield scheduling.PriorityClass(
            metadata=meta.ObjectMeta(name=name),
            value=value,
            description=description,
            preemption_policy="PreemptLowerPriority",
        )


def _service_range(facts: ClusterFacts) -> networking.ServiceCIDR:
    ready = meta.Condition(
        type="Ready",
        status="True",
        last_transition_time=Time.from_timestamp(facts.started),
        message="Kubernetes default Service CIDR is ready",
    )
    return networking.ServiceCIDR(
        metadata=meta.ObjectMeta(name=_SERVICE),
        spec=networking.ServiceCIDRSpec(cidrs=[facts.service_network]),
        status=networking.ServiceCIDRStatus(conditions=[ready]),
    )


def _service(facts: ClusterFacts) -> core.Service:
    return core.Service(
        metadata=meta.ObjectMeta(
            name=_SERVICE, namespace="default", labels={"component": "apiserver", "provider": "kubernetes"}
        ),
        spec=core.ServiceSpec(
            type="ClusterIP",
            cluster_ip=facts.service_address,
            cluster_ips=[facts.service_address],
            ports=[core.ServicePort(name=_PORT_NAME, protocol="TCP", port=443, target_port=facts.port)],
            session_affinity="None",
        ),
    )


def _endpoints(facts: ClusterFacts) -> core.Endpoints:
    subset = core.EndpointSubset(
        addresses=[core.EndpointAddress(ip=facts.advertise_address)],
        ports=[core.EndpointPort(name=_PORT_NAME, port=facts.port, protocol="TCP")],
    )
    # The slice below is made here as well, so no controller may mirror these.
    labels = {"endpointslice.kubernetes.io/skip-mirror": "true"}
    return core.Endpoints(metadata=meta.ObjectMeta(name=_SERVICE, namespace="default", labels=labels), subsets=[subset])


def _endpoint_slice(facts: ClusterFacts) -> discovery.EndpointSlice:
    return discovery.EndpointSlice(
        metadata=meta.ObjectMeta(name=_SERVICE, namespace="default", labels={"kubernetes.io/service-name": _SERVICE}),
        address_type="IPv6" if ":" in facts.advertise_address else "IPv4",
        endpoints=[
            discovery.Endpoint(addresses=[facts.advertise_address], conditions=discovery.EndpointConditions(ready=True))
        ],
        ports=[discovery.EndpointPort(name=_PORT_NAME, port=facts.port, protocol="TCP")],
    )


def _authentication(facts: ClusterFacts) -> core.ConfigMap:
    return core.ConfigMap(
        metadata=meta.ObjectMeta(name="extension-apiserver-authentication", namespace="kube-system"),
        data={"client-ca-file": facts.client_ca},
    )
