"""A pod's resolv.conf: whom it asks, in which domains, with which options.

The policy decides where to start from (the cluster's server, the node's own settings, nothing), the pod's dnsConfig is
added, and the whole is cut to what resolvers bear (KEP-2595). Each cut is told as an event.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from agent.pods.identity import describe
from api import core_v1 as core
from proto import cri_pb2 as cri

MOST_SERVERS = 3
MOST_SEARCHES = 32
MOST_SEARCH_CHARACTERS = 2048
MOST_DOMAIN_CHARACTERS = 253

_OPTIONS = ["ndots:5"]
_STUB = "127.0.0.53"
_ETC = Path("/etc/resolv.conf")
_RESOLVED = Path("/run/systemd/resolve/resolv.conf")


@dataclass(frozen=True, slots=True)
class Resolver:
    """The settings of a resolv.conf (resolv.conf(5)), in order."""

    servers: tuple[str, ...] = ()
    searches: tuple[str, ...] = ()
    options: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DnsSettings:
    """What the node brings to it."""

    cluster_servers: tuple[str, ...] = ()
    cluster_domain: str = "cluster.local"
    node: Resolver = field(default_factory=Resolver)


@dataclass(slots=True)
class PodDns:
    config: cri.DNSConfig
    warnings: list[tuple[str, str]] = field(default_factory=list)
    """(reason, message) of warning events."""


def parse_resolv_conf(text: str) -> Resolver:
    """Reads a resolv.conf; of several `search` or `options` lines the last counts."""
    servers: list[str] = []
    searches: list[str] = []
    options: list[str] = []
    for line in text.splitlines():
        words = line.split()
        if not words or words[0].startswith(("#", ";")):
            continue
        if words[0] == "nameserver" and len(words) > 1:
            servers.append(words[1])
        elif words[0] == "search":
            # One domain with and without the final dot would count twice against the limits.
            searches = [word.removesuffix(".") or word for word in words[1:]]
        elif words[0] == "options":
            options = words[1:]
    return Resolver(tuple(servers), tuple(searches), tuple(options))


def node_resolver(path: Path | None = None) -> Resolver:
    """The node's own settings.

    Where /etc/resolv.conf names but the stub of systemd-resolved, which no pod can reach, the list behind the stub is
    taken. Raises OSError when a file that was asked for by `path` cannot be read.
    """
    if path is not None:
        return parse_resolv_conf(path.read_text())
    try:
        resolver = parse_resolv_conf(_ETC.read_text())
    except FileNotFoundError:
        return Resolver()
    if set(resolver.servers) == {_STUB} and _RESOLVED.exists():
        return parse_resolv_conf(_RESOLVED.read_text())
    return resolver


def pod_dns(pod: core.Pod, settings: DnsSettings) -> PodDns:
    """What the runtime is to write into the pod's resolv.conf."""
    warnings: list[tuple[str, str]] = []
    servers, searches, options = _base(pod, settings, warnings)
    added = pod.spec.dns_config
    if added is not None:
        servers = _unique([*servers, *added.nameservers])
        searches = _unique([*searches, *added.searches])
        options = _merge_options(options, added.options)
    servers = _fitting_servers(servers, warnings)
    searches = _fitting_searches(searches, warnings)
    return PodDns(cri.DNSConfig(servers=servers, searches=searches, options=options), warnings)


def _base(
    pod: core.Pod, settings: DnsSettings, warnings: list[tuple[str, str]]
) -> tuple[list[str], list[str], list[str]]:
    policy = pod.spec.dns_policy or "ClusterFirst"
    if policy == "None":
        return [], [], []
    node = settings.node
    cluster = policy == "ClusterFirstWithHostNet" or (policy == "ClusterFirst" and not pod.spec.host_network)
    if cluster and settings.cluster_servers:
        return list(settings.cluster_servers), _cluster_searches(pod, settings), list(_OPTIONS)
    if cluster:
        text = (
            'kubelet does not have ClusterDNS IP configured and cannot create Pod using "ClusterFirst" policy. '
            'Falling back to "Default" policy.'
        )
        warnings.append(("MissingClusterDNS", f'pod: "{describe(pod)}". {text}'))
    return list(node.servers), list(node.searches), list(node.options)


def _cluster_searches(pod: core.Pod, settings: DnsSettings) -> list[str]:
    domain = settings.cluster_domain
    if not domain:
        return list(settings.node.searches)
    own = [f"{pod.metadata.namespace}.svc.{domain}", f"svc.{domain}", domain]
    return _unique([*own, *settings.node.searches])


def _unique(values: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(values))


def _merge_options(options: Sequence[str], added: Sequence[core.PodDNSConfigOption]) -> list[str]:
    merged: dict[str, str] = {}
    for option in options:
        name, _, value = option.partition(":")
        merged[name] = value
    for one in added:
        merged[one.name] = one.value or ""
    return [f"{name}:{value}" if value else name for name, value in merged.items()]


def _fitting_servers(servers: list[str], warnings: list[tuple[str, str]]) -> list[str]:
    if len(servers) <= MOST_SERVERS:
        return servers
    kept = servers[:MOST_SERVERS]
    text = (
        "Nameserver limits were exceeded, some nameservers have been omitted, "
        f"the applied nameserver line is: {' '.join(kept)}"
    )
    warnings.append(("DNSConfigForming", text))
    return kept


def _fitting_searches(searches: list[str], warnings: list[tuple[str, str]]) -> list[str]:
    # glibc 2.28 aborts the program on a domain longer than a name can be.
    kept = [domain for domain in searches[:MOST_SEARCHES] if len(domain) <= MOST_DOMAIN_CHARACTERS]
    while len(" ".join(kept)) > MOST_SEARCH_CHARACTERS:
        kept.pop()
    if kept != searches:
        text = (
            "Search Line limits were exceeded, some search paths have been omitted, "
            f"the applied search line is: {' '.join(kept)}"
        )
        warnings.append(("DNSConfigForming", text))
    return kept
