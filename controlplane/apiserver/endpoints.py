"""Which handler serves which verb of which resource: the table behind the dispatcher, made from the scheme.

Every stored resource gets the same eight handlers; below, the few that upstream treats differently. This is the one
place that knows all verbs and subresources by name.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from api.errors import GroupName
from api.fields import FieldErrors
from api.scheme import SCHEME, Resource
from api.validation import validate_status_update
from api.validation.pods import validate_ephemeral_update
from client.clock import Clock
from controlplane.apiserver import routing
from controlplane.apiserver.components import Components
from controlplane.apiserver.dispatch import Dispatcher, Endpoint
from controlplane.apiserver.exchange import Exchange, Reply
from controlplane.apiserver.kubelet import Kubelets
from controlplane.apiserver.objects import registry_key
from controlplane.apiserver.registry.pods import PodStrategy
from controlplane.apiserver.registry.registry import Registry
from controlplane.apiserver.registry.signing_requests import SigningRequestStrategy
from controlplane.apiserver.reviews import Reviews
from controlplane.apiserver.subresources import binding, eviction, logs, posted, scale, streaming
from controlplane.apiserver.tokens import TokenIssuer
from controlplane.apiserver.verbs import namespaces
from controlplane.apiserver.verbs.create import create
from controlplane.apiserver.verbs.delete import delete
from controlplane.apiserver.verbs.delete_collection import delete_collection
from controlplane.apiserver.verbs.environment import Environment
from controlplane.apiserver.verbs.get import get
from controlplane.apiserver.verbs.listing import list_objects
from controlplane.apiserver.verbs.patch import patch
from controlplane.apiserver.verbs.update import STATUS, Part, update
from controlplane.apiserver.verbs.watch import watch
from controlplane.apiserver.watching import Fanout
from controlplane.store.interface import Store

_PODS = GroupName("", "pods")

#: Stable kinds one should no longer use, and what is said to whoever does.
_DEPRECATED = {
    GroupName("", "componentstatuses"): "v1 ComponentStatus is deprecated in v1.19+",
    GroupName("", "endpoints"): "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice",
}


@dataclass(frozen=True, slots=True)
class Parts:
    """What the handlers need of the rest of the server."""

    store: Store
    registries: Mapping[str, Registry]
    environment: Environment
    kubelets: Kubelets
    reviews: Reviews
    tokens: TokenIssuer
    clock: Clock


class Endpoints:
    """Fills a dispatcher; `fanouts` are the watches it opened, to be closed when the server stops."""

    def __init__(self, parts: Parts, dispatcher: Dispatcher) -> None:
        self._parts = parts
        self._dispatcher = dispatcher
        self.fanouts: list[Fanout] = []
        for resource in SCHEME.resources():
            self._add(resource)

    def _add(self, resource: Resource) -> None:
        registry = self._parts.registries.get(registry_key(resource))
        endpoint = Endpoint(GroupName(resource.group, resource.plural), namespaced=resource.namespaced)
        if registry is not None:
            self._serve_stored(registry, endpoint)
            self._serve_parts(registry, endpoint)
        elif resource.kind == "Binding":
            endpoint.add("create", partial(binding.bind, self._registry(_PODS, "v1"), self._parts.environment))
        elif resource.kind == "ComponentStatus":
            components = Components(self._parts.store)
            endpoint.add("get", components.get)
            endpoint.add("list", components.list)
        elif resource.verbs == ("create",):
            endpoint.add("create", partial(posted.review, resource, self._parts.reviews))
        else:
            return
        endpoint.deprecation = _DEPRECATED.get(endpoint.resource, "")
        self._dispatcher.add_endpoint(resource.version, endpoint)

    def _serve_stored(self, registry: Registry, endpoint: Endpoint) -> None:
        environment = self._parts.environment
        fanout = Fanout(registry.source, self._parts.clock)
        self.fanouts.append(fanout)
        handlers: dict[str, Callable[[Exchange], Awaitable[Reply | None]]] = {
            "get": _immediate(partial(get, registry)),
            "list": partial(list_objects, registry),
            "watch": partial(_watch, registry, fanout),
            "create": partial(create, registry, environment),
            "update": partial(update, registry, environment),
            "patch": partial(patch, registry, environment),
            "delete": partial(delete, registry, environment),
            "deletecollection": partial(delete_collection, registry, environment),
        }
        if registry.group_resource == GroupName("", "namespaces"):
            handlers["delete"] = partial(namespaces.delete_namespace, registry, environment)
        for verb in registry.resource.verbs:
            endpoint.add(verb, handlers[verb])

    def _serve_parts(self, registry: Registry, endpoint: Endpoint) -> None:
        """The subresources."""
        environment, resource = self._parts.environment, registry.resource
        if registry.strategy.has_status:
            self._serve_part(registry, endpoint, "status", STATUS)
        if resource.subresource("scale") is not None:
            endpoint.add("get", _immediate(partial(scale.get_scale, registry)), "scale")
            endpoint.add("update", partial(scale.update_scale, registry, environment), "scale")
            endpoint.add("patch", partial(scale.patch_scale, registry, environment), "scale")
        if isinstance(registry.strategy, SigningRequestStrategy):
            strategy = registry.strategy
            part = Part(lambda _, new, old, write: strategy.prepare_approval(new, old, write), validate_status_update)
            self._serve_part(registry, endpoint, "approval", part)
        if registry.group_resource == _PODS:
            self._serve_pods(registry, endpoint)
        elif registry.group_resource == GroupName("", "namespaces"):
            endpoint.add("update", partial(namespaces.finalize_namespace, registry, environment), "finalize")
        elif registry.group_resource == GroupName("", "serviceaccounts"):
            endpoint.add("create", partial(posted.issue_token, registry, self._parts.tokens, environment), "token")

    def _serve_part(self, registry: Registry, endpoint: Endpoint, name: str, part: Part) -> None:
        environment = self._parts.environment
        endpoint.add("get", _immediate(partial(get, registry)), name)
        endpoint.add("update", partial(update, registry, environment, part=part), name)
        endpoint.add("patch", partial(patch, registry, environment, part=part), name)

    def _serve_pods(self, registry: Registry, endpoint: Endpoint) -> None:
        environment, kubelets = self._parts.environment, self._parts.kubelets
        budgets = self._registry(GroupName("policy", "poddisruptionbudgets"), "v1")
        strategy = registry.strategy
        if isinstance(strategy, PodStrategy):
            part = Part(lambda _, new, old, write: strategy.prepare_ephemeral(new, old, write), _ephemeral_problems)
            self._serve_part(registry, endpoint, "ephemeralcontainers", part)
        endpoint.add("create", partial(binding.bind, registry, environment), "binding")
        endpoint.add("create", partial(eviction.evict, registry, budgets, environment), "eviction")
        endpoint.add("get", partial(logs.read_log, registry, kubelets), "log")
        for name in ("exec", "attach", "portforward"):
            connect = partial(streaming.connect, registry, environment, kubelets)
            endpoint.add("get", connect, name)
            endpoint.add("create", connect, name)

    def _registry(self, group_resource: GroupName, version: str) -> Registry:
        resource = SCHEME.by_resource(group_resource.group, version, group_resource.name)
        if resource is None:
            raise LookupError(f"{group_resource} is not in the scheme")
        return self._parts.registries[registry_key(resource)]


def _ephemeral_problems(new: Any, old: Any) -> FieldErrors:
    found: FieldErrors = []
    validate_ephemeral_update(new, old, found)
    return found


async def _watch(registry: Registry, fanout: Fanout, exchange: Exchange) -> Reply | None:
    return await watch(registry, fanout, exchange, by_path=routing.watches_by_path(exchange.path))


def _immediate(handler: Callable[[Exchange], Reply]) -> Callable[[Exchange], Awaitable[Reply]]:
    """A handler that never waits, where one that may is expected."""

    async def handle(exchange: Exchange) -> Reply:
        return handler(exchange)

    return handle
