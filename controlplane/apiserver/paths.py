"""The paths beside the resources: health, version, metrics, discovery, OpenAPI, and the keys that verify tokens."""

from __future__ import annotations

from typing import Protocol

import msgspec

from api.scheme import Scheme
from controlplane.apiserver.discovery import Discovery
from controlplane.apiserver.dispatch import Dispatcher, not_found_page
from controlplane.apiserver.exchange import Exchange, Reply
from controlplane.apiserver.health import Health, Unhealthy, serve_version
from controlplane.apiserver.metrics import Metrics
from controlplane.apiserver.openapi import OpenApi
from controlplane.apiserver.tokens import DISCOVERY_PATH, KEYS_PATH, TokenIssuer
from controlplane.store.interface import Store


class Running(Protocol):
    """What the paths may ask of the server."""

    metrics: Metrics
    ready: bool

    @property
    def store(self) -> Store: ...


class Paths:
    """The handlers of all paths that are no resources."""

    def __init__(self, server: Running, scheme: Scheme, tokens: TokenIssuer, address: str) -> None:
        self._server = server
        self._tokens = tokens
        self._address = address
        self._discovery = Discovery(scheme, address)
        self._openapi = OpenApi()
        checks = {"ping": _ping, "store": self._check_store}
        ready = {**checks, "caches": self._check_ready, "poststarthook/bootstrap": self._check_ready}
        self._health = {
            "livez": Health("livez", checks),
            "readyz": Health("readyz", {**ready, "shutdown": self._check_ready}),
            "healthz": Health("healthz", ready),
        }

    def add_to(self, dispatcher: Dispatcher) -> None:
        """Serve them."""
        for name, health in self._health.items():
            dispatcher.add_path(f"/{name}", health.serve)
            dispatcher.add_prefix(f"/{name}/", health.serve)
        dispatcher.add_path("/version", serve_version)
        dispatcher.add_path("/metrics", self._serve_metrics)
        for prefix in ("/api", "/apis"):
            dispatcher.add_path(prefix, self._serve_discovery)
            dispatcher.add_prefix(f"{prefix}/", self._serve_discovery)
        for prefix in ("/openapi/v2", "/openapi/v3"):
            dispatcher.add_path(prefix, self._serve_openapi)
            dispatcher.add_prefix(f"{prefix}/", self._serve_openapi)
        dispatcher.add_path(DISCOVERY_PATH, self._serve_openid)
        dispatcher.add_path(KEYS_PATH, self._serve_keys)
        self._index = msgspec.json.format(msgspec.json.encode({"paths": dispatcher.paths}), indent=2)
        dispatcher.add_path("/", lambda exchange: Reply(200, self._index))

    def _serve_metrics(self, exchange: Exchange) -> Reply:
        text = self._server.metrics.render()
        return Reply(200, text.encode(), "text/plain; version=0.0.4; charset=utf-8")

    def _serve_discovery(self, exchange: Exchange) -> Reply:
        return self._discovery.serve(exchange) or not_found_page()

    def _serve_openapi(self, exchange: Exchange) -> Reply:
        return self._openapi.serve(exchange) or not_found_page()

    def _serve_openid(self, exchange: Exchange) -> Reply:
        return Reply(200, self._tokens.openid_configuration(f"https://{self._address}"))

    def _serve_keys(self, exchange: Exchange) -> Reply:
        return Reply(200, self._tokens.key_set(), "application/jwk-set+json")

    def _check_store(self) -> None:
        if self._server.store.revision < 1:
            raise Unhealthy("the store is not open")

    def _check_ready(self) -> None:
        if not self._server.ready:
            raise Unhealthy("the server is starting or stopping")


def _ping() -> None:
    """Whoever answers this is alive."""
