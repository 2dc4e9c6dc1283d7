"""All parts of the server put together: from a store and some keys to something that answers exchanges.

Nothing here listens or touches a file, so that tests can have the whole server in memory.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Iterator
from dataclasses import dataclass

from api.scheme import SCHEME
from client.certificates import CertificateAuthenticator
from client.clock import Clock
from controlplane.apiserver.admission.standard import standard_admission
from controlplane.apiserver.authentication.authenticator import Authenticator, user_of
from controlplane.apiserver.authentication.keys import TokenKeys
from controlplane.apiserver.authentication.service_accounts import ServiceAccountAuthenticator
from controlplane.apiserver.authorization.authorizer import Authorizer
from controlplane.apiserver.authorization.node import NodeAuthorizer
from controlplane.apiserver.authorization.rbac import RbacAuthorizer
from controlplane.apiserver.bootstrap import ClusterFacts, RoleAggregation, ensure
from controlplane.apiserver.bootstrap.roles import node_rules
from controlplane.apiserver.cache import Caches
from controlplane.apiserver.config import ServerConfig
from controlplane.apiserver.dispatch import Dispatcher
from controlplane.apiserver.endpoints import Endpoints, Parts
from controlplane.apiserver.exchange import Exchange, Reply
from controlplane.apiserver.expiry import Expiry
from controlplane.apiserver.front import Front
from controlplane.apiserver.guard import Guard
from controlplane.apiserver.kubelet import Kubelets
from controlplane.apiserver.metrics import Metrics
from controlplane.apiserver.objects import Objects
from controlplane.apiserver.paths import Paths
from controlplane.apiserver.registry.building import Networks, build
from controlplane.apiserver.registry.registry import Registry
from controlplane.apiserver.reviews import Reviews
from controlplane.apiserver.tokens import TokenIssuer
from controlplane.apiserver.verbs.environment import Environment
from controlplane.store.compacting import Compactor
from controlplane.store.interface import Store


@dataclass(frozen=True, slots=True)
class Trust:
    """Keys and certificates, already read."""

    #: PEM of the authorities that may sign client certificates.
    client_ca: bytes
    #: PEM of the key that signs service-account tokens.
    token_key: bytes
    #: For connections to kubelets; None speaks plain HTTP (tests).
    kubelet_tls: ssl.SSLContext | None = None


class ApiServer:
    """The server without its sockets."""

    def __init__(self, config: ServerConfig, store: Store, trust: Trust, clock: Clock) -> None:
        self.config = config
        self.metrics = Metrics()
        self.caches = Caches(store)
        self.registries = build(store, self.caches, self.metrics, Networks(config.service_network, config.node_ports))
        self.objects = Objects(self.registries, clock.now)
        self._store = store
        self._trust = trust
        self._clock = clock
        self.metrics.add_source(self._object_counts)
        self._expiry = Expiry(self._registry("v1/events"), clock)
        self._endpoints: Endpoints | None = None
        self._front: Front | None = None
        self.ready = False

    async def start(self) -> None:
        """Fill the caches, build the handlers and see that what every cluster has is there."""
        await self.caches.start()
        self._expiry.seed()
        clock, reader = self._clock, self.objects
        keys = TokenKeys(self._trust.token_key)
        tokens = TokenIssuer(reader, keys, clock)
        accounts = ServiceAccountAuthenticator(reader, keys, tokens.issuer, tokens.audiences, clock)
        authorizer = Authorizer(RbacAuthorizer(reader), NodeAuthorizer(reader, node_rules()))
        environment = Environment(standard_admission(reader, authorizer, clock), authorizer, clock.now)
        kubelets = Kubelets(reader, self._trust.kubelet_tls)
        parts = Parts(self._store, self.registries, environment, kubelets, Reviews(accounts, authorizer), tokens, clock)
        dispatcher = Dispatcher()
        self._endpoints = Endpoints(parts, dispatcher)
        Paths(self, SCHEME, tokens, config_address(self.config)).add_to(dispatcher)
        authenticator = Authenticator(CertificateAuthenticator(self._trust.client_ca, clock, user_of), accounts)
        self._front = Front(Guard(authenticator, authorizer), dispatcher, self.metrics, clock=clock.monotonic)
        await ensure(reader, self.objects, self._facts())
        self.ready = True

    async def run(self) -> None:
        """The server's own work beside answering; until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._expiry.run())
            group.create_task(Compactor(self._store, self._clock).run())
            group.create_task(RoleAggregation(self.objects, self.objects).run())

    async def handle(self, exchange: Exchange) -> Reply | None:
        """Answer one request."""
        if self._front is None:
            raise RuntimeError("the server has not started")
        return await self._front(exchange)

    def close_watches(self) -> None:
        """End all watches: the server is stopping."""
        self.ready = False
        for fanout in self._endpoints.fanouts if self._endpoints is not None else ():
            fanout.close()

    async def idle(self, grace: float) -> None:
        """Wait until no request is being handled, at most `grace` seconds."""
        deadline = self._clock.monotonic() + grace
        while self.metrics.reading or self.metrics.writing:
            if self._clock.monotonic() >= deadline:
                return
            await asyncio.sleep(0.02)

    @property
    def store(self) -> Store:
        """The store it works on."""
        return self._store

    def _object_counts(self) -> Iterator[str]:
        name = "apiserver_resource_objects"
        yield f"# HELP {name} Objects stored."
        yield f"# TYPE {name} gauge"
        for registry in self.registries.values():
            if registry.cache is registry.source:
                group, resource = registry.group_resource
                yield f'{name}{{group="{group}",resource="{resource}"}} {len(registry.source)}'

    def _facts(self) -> ClusterFacts:
        config = self.config
        return ClusterFacts(
            service_address=config.kubernetes_service_ip,
            service_network=str(config.service_network),
            advertise_address=config.node_ips[0] if config.node_ips else config.bind_addresses[0],
            port=config.port,
            client_ca=self._trust.client_ca.decode(),
            started=self._clock.now(),
        )

    def _registry(self, key: str) -> Registry:
        return self.registries[key]


def config_address(config: ServerConfig) -> str:
    """`host:port` under which clients find the server."""
    host = config.node_ips[0] if config.node_ips else config.bind_addresses[0]
    return f"[{host}]:{config.port}" if ":" in host else f"{host}:{config.port}"
