"""Makes the registries of all stored resources, from the scheme."""

from __future__ import annotations

import ipaddress
import random
from dataclasses import dataclass
from typing import Any

from api import codec
from api.errors import GroupName
from api.scheme import SCHEME, Resource
from controlplane.apiserver.cache import Cache, Caches
from controlplane.apiserver.caching.entries import Entry, Shape
from controlplane.apiserver.metrics import Metrics
from controlplane.apiserver.objects import registry_key
from controlplane.apiserver.registry import facts, keys, selectable
from controlplane.apiserver.registry.conversions import STORED_ELSEWHERE, conversion
from controlplane.apiserver.registry.jobs import JobStrategy
from controlplane.apiserver.registry.namespaces import NamespaceStrategy
from controlplane.apiserver.registry.pods import PodStrategy
from controlplane.apiserver.registry.registry import Registry
from controlplane.apiserver.registry.services import ServiceStrategy
from controlplane.apiserver.registry.signing_requests import SigningRequestStrategy
from controlplane.apiserver.registry.strategy import Strategy
from controlplane.apiserver.registry.versions import ConvertedRegistry
from controlplane.apiserver.registry.volumes import ClaimStrategy, VolumeStrategy
from controlplane.store.interface import Store


@dataclass(frozen=True, slots=True)
class Networks:
    """From what services are given addresses and node ports."""

    services: ipaddress.IPv4Network | ipaddress.IPv6Network
    node_ports: tuple[int, int] = (30000, 32767)


def build(store: Store, caches: Caches, metrics: Metrics, networks: Networks) -> dict[str, Registry]:
    """The registry of every resource that is stored, by `registry_key`. Declares the caches; start them afterwards."""
    registries: dict[str, Registry] = {}
    stored: dict[GroupName, Registry] = {}
    chance = random.SystemRandom()
    for resource in SCHEME.resources():
        if "list" not in resource.verbs or "create" not in resource.verbs:
            continue
        strategy = _strategy(resource, networks, chance)
        shape = _shape(resource, strategy)
        group_resource = strategy.group_resource
        kept_by = stored.get(STORED_ELSEWHERE.get(group_resource, group_resource))
        converted = conversion(resource.group, resource.version, resource.plural)
        if kept_by is not None and converted is not None:
            registry: Registry = ConvertedRegistry(kept_by, strategy, shape, converted)
        else:
            cache = caches.declare(shape)
            registry = stored[group_resource] = Registry(resource, strategy, cache, store, metrics)
            if isinstance(strategy, ServiceStrategy):
                _follow_services(cache, strategy)
        registries[registry_key(resource)] = registry
    return registries


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
    GroupName("", "persistentvolumeclaims"): ClaimStrategy,
    GroupName("", "persistentvolumes"): VolumeStrategy,
    GroupName("", "pods"): PodStrategy,
    GroupName("batch", "jobs"): JobStrategy,
    GroupName("certificates.k8s.io", "certificatesigningrequests"): SigningRequestStrategy,
}


def _follow_services(cache: Cache, strategy: ServiceStrategy) -> None:
    def changed(old: Entry | None, new: Entry | None) -> None:
        decoded: list[Any] = [None if entry is None else cache.object(entry) for entry in (old, new)]
        strategy.watch(*decoded)

    cache.on_change(changed)
