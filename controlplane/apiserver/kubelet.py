"""The way to a node's kubelet: where it listens, and a connection to it with the server's own certificate."""

from __future__ import annotations

import ssl
from collections.abc import Iterable
from dataclasses import dataclass

from api import core_v1 as core
from api import errors
from api import meta_v1 as meta
from api.scheme import SCHEME
from client.streaming.dialing import Answer, dial
from controlplane.apiserver.request import ObjectReader

_DEFAULT_PORT = 10250
_ADDRESS_TYPES = ("InternalIP", "Hostname", "InternalDNS", "ExternalIP", "ExternalDNS")


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a kubelet listens."""

    host: str
    port: int


class Kubelets:
    """Finds and calls the kubelets of the cluster's nodes."""

    def __init__(self, reader: ObjectReader, tls: ssl.SSLContext | None) -> None:
        nodes = SCHEME.by_resource("", "v1", "nodes")
        if nodes is None:
            raise LookupError("nodes are not in the scheme")
        self._nodes = nodes
        self._reader = reader
        self._tls = tls

    def endpoint(self, node_name: str) -> Endpoint:
        """Where the kubelet of a node listens; raises StatusError when there is no such node or it has no address."""
        node = self._reader.get(self._nodes, "", node_name)
        if not isinstance(node, core.Node):
            raise errors.not_found("nodes", node_name)
        known: dict[str, str] = {}
        for address in node.status.addresses:
            known.setdefault(address.type, address.address)
        host = next((known[kind] for kind in _ADDRESS_TYPES if known.get(kind)), "")
        if not host:
            raise unreachable(f"no preferred addresses found; known addresses: {node.status.addresses}")
        port = node.status.daemon_endpoints.kubelet_endpoint.port
        return Endpoint(host, port or _DEFAULT_PORT)

    async def call(
        self, endpoint: Endpoint, method: str, target: str, headers: Iterable[tuple[str, str]] = ()
    ) -> Answer:
        """Send a request without body; returns once the head of the answer is there. Raises StatusError."""
        try:
            return await dial(endpoint.host, endpoint.port, method, target, headers, tls=self._tls)
        except OSError as error:
            raise unreachable(f"error dialing backend: {error}") from error


def unreachable(message: str) -> errors.StatusError:
    """A failure on the way to a node: a 500 without reason, as upstream's proxy answers."""
    return errors.StatusError(meta.Status(status="Failure", code=500, message=message))
