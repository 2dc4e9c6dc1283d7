"""Makes the registries of all stored resources, from the scheme."""

from __future__ import annotations

import ipaddress
import random
from dataclasses import dataclass
from typing import Any

from api import codec
from api.errors import GroupName
from api.scheme import SCHEME, Resource
from controlplane.apiserver.cache import Caches
from controlplane.apiserver.caching.entries import Entry, Shape
from controlplane.apiserver.metrics import Metrics
from controlplane.apiserver.objects import registry_key
from controlplane.apiserver.registry import facts, keys, selectable
from controlplane.apiserver.registry.jobs import JobStrategy
from controlplane.apiserver.registry.namespaces import NamespaceStrategy
from controlplane.apiserver.registry.pods import PodStrategy
from controlplane.apiserver.registry.registry import Registry
from controlplane.apiserver.registry.services import ServiceStrategy
from controlplane.apiserver.registry.signing_requests import SigningRequestStrategy
from controlplane.apiserver.registry.strategy import Strategy
from controlplane.apiserver.registry.volumes import PendingStrategy
from controlplane.store.interface import Store

#: Resources that are served from the objects of another: (group, plural) to the version that is stored.
STORED_AS = {
    GroupName("events.k8s.io", "events"): ("", "v1", "events"),
}


@dataclass(frozen=True, slots=True)
class Networks:
    """From what services are given addresses and node ports."""

    services: ipaddress.IPv4Network | ipaddress.IPv6Network
    node_ports: tuple[int, int] = (30000, 32767)


def build(store: Store, caches: Caches, metrics: Metrics, networks: Networks) -> dict[str, Registry]:
    """The registry of every resource that is stored, by `registry_key`. Declares the caches; start them afterwards."""
    registries: dict[str, Registry] = {}
    chance = random.SystemRandom()
    for resource in SCHEME.resources():
        if not is_stored(resource):
            continue
        strategy = _strategy(resource, networks, chance)
        cache = caches.declare(_shape(resource, strategy))
        registry = Registry(resource, strategy, cache, store, metrics)
        registries[registry_key(resource)] = registry
        if isinstance(strategy, ServiceStrategy):
            _follow_services(registry, strategy)
    return registries


def is_stored(resource: Resource) -> bool:
    """Whether a resource has objects of its own in the store: those that can be listed, in the version kept."""
    group_resource = GroupName(resource.group, resource.plural)
    if "list" not in resource.verbs or "create" not in resource.verbs or group_resource in STORED_AS:
        return False
    preferred = next(r for r in SCHEME.resources() if (r.group, r.plural) == (resource.group, resource.plural))
    return resource is preferred


def _shape(resource: Resource, strategy: Strategy) -> Shape:
    declared = resource.type
    return Shape(
        prefix=keys.prefix(strategy.group_resource),
        namespaced=resource.namespaced,
        api_version=resource.api_version,
        kind=resource.kind,
        decode=lambda raw: codec.decode(raw, declared),
        field_defaults=selectable.defaults(strategy.group_resource),
        fields_of=selectable.refine,
    )


def _strategy(resource: Resource, networks: Networks, chance: random.Random) -> Strategy:
    group_resource = GroupName(resource.group, resource.plural)
    known = facts.of(group_resource)
    if group_resource == GroupName("", "services"):
        return ServiceStrategy(resource, known, networks.services, networks.node_ports, chance)
    return _STRATEGIES.get(group_resource, Strategy)(resource, known)


_STRATEGIES: dict[GroupName, type[Strategy]] = {
    GroupName("", "namespaces"): NamespaceStrategy,
    GroupName("", "persistentvolumeclaims"): PendingStrategy,
    GroupName("", "persistentvolumes"): PendingStrategy,
    GroupName("", "pods"): PodStrategy,
    GroupName("batch", "jobs"): JobStrategy,
    GroupName("certificates.k8s.io", "certificatesigningrequests"): SigningRequestStrategy,
}


def _follow_services(registry: Registry, strategy: ServiceStrategy) -> None:
    cache = registry.cache

    def changed(old: Entry | None, new: Entry | None) -> None:
        decoded: list[Any] = [None if entry is None else cache.object(entry) for entry in (old, new)]
        strategy.watch(*decoded)

    cache.on_change(changed)
