"""What the server serves, told to clients: groups, versions, resources and their verbs.

Two forms are offered, and both say the same, made from the scheme: the old one, a document for each group and
version; and the aggregated one (``apidiscovery.k8s.io/v2``, KEP-3352), in which a client learns everything from two
requests. Only GA versions are served, so alpha and beta ones that upstream knows are absent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from api import apidiscovery_v2 as apidiscovery
from api import meta_v1 as meta
from api.scheme import Resource, Scheme, Subresource
from controlplane.apiserver import replies
from controlplane.apiserver.documents import Document
from controlplane.apiserver.exchange import Exchange, Reply
from controlplane.apiserver.negotiation import JSON

AGGREGATED = f"{JSON};g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
_AGGREGATED_PARAMETERS = {"g": "apidiscovery.k8s.io", "v": "v2", "as": "APIGroupDiscoveryList"}


class Discovery:
    """Answers ``/api``, ``/apis`` and what lies below them down to a version."""

    def __init__(self, scheme: Scheme, server_address: str) -> None:
        """*server_address* is the ``host:port`` under which clients without an idea of their own find the server."""
        groups: dict[str, dict[str, list[Resource]]] = {}
        for resource in scheme.resources():
            groups.setdefault(resource.group, {}).setdefault(resource.version, []).append(resource)
        core = groups.pop("")
        self._old: Mapping[str, bytes] = _old_documents(core, groups, server_address)
        self._aggregated: Mapping[str, Document] = {
            "/api": _aggregated({"": core}),
            "/apis": _aggregated(groups),
        }

    def serve(self, exchange: Exchange) -> Reply | None:
        """The answer to a GET of a discovery path, None when the path is none. Raises NotAcceptable."""
        path = exchange.path.rstrip("/")
        aggregated = self._aggregated.get(path)
        if aggregated is not None and wants_aggregated(exchange.headers.get("Accept", "")):
            return aggregated.reply(exchange)
        body = self._old.get(path)
        if body is None:
            return None
        sent = replies.reply(exchange, replies.output_of(exchange, transforms=()), body)
        if aggregated is not None:
            sent.headers = (*sent.headers, ("Vary", "Accept"))
        return sent


def wants_aggregated(accept: str) -> bool:
    """Whether the aggregated form is what the client would rather have: named before plain JSON."""
    for clause in accept.split(","):
        media_type, *parameters = (part.strip() for part in clause.split(";"))
        if media_type not in (JSON, "*/*"):
            continue
        given = dict(parameter.partition("=")[::2] for parameter in parameters)
        for other in ("q", "profile"):
            given.pop(other, None)
        if given == _AGGREGATED_PARAMETERS:
            return True
        if not given:
            return False
    return False


# ---------------------------------------------------------------- the aggregated form


def _aggregated(groups: Mapping[str, Mapping[str, Sequence[Resource]]]) -> Document:
    def make() -> bytes:
        head = {"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}}
        return msgspec.json.encode({**head, "items": [_group_discovery(*item) for item in groups.items()]})

    return Document(AGGREGATED, make)


def _group_discovery(group: str, versions: Mapping[str, Sequence[Resource]]) -> dict[str, object]:
    # A dictionary, since within the list upstream leaves kind and apiVersion out.
    return {
        "metadata": meta.ObjectMeta(name=group),
        "versions": [
            apidiscovery.APIVersionDiscovery(
                version=version,
                freshness="Current",
                resources=[_resource_discovery(resource) for resource in sorted(resources, key=_by_plural)],
            )
            for version, resources in versions.items()
        ],
    }


def _by_plural(resource: Resource) -> str:
    return resource.plural


def _resource_discovery(resource: Resource) -> apidiscovery.APIResourceDiscovery:
    return apidiscovery.APIResourceDiscovery(
        resource=resource.plural,
        response_kind=meta.GroupVersionKind(kind=resource.kind),
        scope="Namespaced" if resource.namespaced else "Cluster",
        singular_resource=resource.singular,
        verbs=list(resource.verbs),
        short_names=list(resource.short_names),
        categories=list(resource.categories),
        subresources=[
            apidiscovery.APISubresourceDiscovery(
                subresource=item.name, response_kind=_response_kind(resource, item), verbs=list(item.verbs)
            )
            for item in sorted(resource.subresources, key=_by_name)
        ],
    )


def _by_name(subresource: Subresource) -> str:
    return subresource.name


def _response_kind(resource: Resource, subresource: Subresource) -> meta.GroupVersionKind:
    """Group and version are named only where they differ from those around."""
    if (subresource.group, subresource.version) == (resource.group, resource.version):
        return meta.GroupVersionKind(kind=subresource.kind)
    return meta.GroupVersionKind(group=subresource.group, version=subresource.version, kind=subresource.kind)


# ---------------------------------------------------------------- the old form


def _old_documents(
    core: Mapping[str, Sequence[Resource]],
    groups: Mapping[str, Mapping[str, Sequence[Resource]]],
    server_address: str,
) -> dict[str, bytes]:
    """Every document by its path. Written out here: upstream's have no apiVersion where the core group is concerned."""
    address = {"clientCIDR": "0.0.0.0/0", "serverAddress": server_address}
    documents: dict[str, object] = {
        "/api": {"kind": "APIVersions", "versions": list(core), "serverAddressByClientCIDRs": [address]},
        "/apis": {
            "kind": "APIGroupList",
            "apiVersion": "v1",
            "groups": [_group(group, list(versions)) for group, versions in groups.items()],
        },
    }
    for version, resources in core.items():
        documents[f"/api/{version}"] = {"kind": "APIResourceList", **_resource_list(version, resources)}
    for group, versions in groups.items():
        documents[f"/apis/{group}"] = {"kind": "APIGroup", "apiVersion": "v1", **_group(group, list(versions))}
        for version, resources in versions.items():
            documents[f"/apis/{group}/{version}"] = {
                "kind": "APIResourceList",
                "apiVersion": "v1",
                **_resource_list(f"{group}/{version}", resources),
            }
    return {path: msgspec.json.encode(document) for path, document in documents.items()}


def _group(group: str, versions: Sequence[str]) -> dict[str, object]:
    named = [{"groupVersion": f"{group}/{version}", "version": version} for version in versions]
    return {"name": group, "versions": named, "preferredVersion": named[0]}


def _resource_list(group_version: str, resources: Sequence[Resource]) -> dict[str, object]:
    listed: list[meta.APIResource] = []
    for resource in sorted(resources, key=_by_plural):
        listed.append(
            meta.APIResource(
                name=resource.plural,
                singular_name=resource.singular,
                namespaced=resource.namespaced,
                kind=resource.kind,
                verbs=list(resource.verbs),
                short_names=list(resource.short_names),
                categories=list(resource.categories),
            )
        )
        for item in sorted(resource.subresources, key=_by_name):
            kind = _response_kind(resource, item)
            listed.append(
                meta.APIResource(
                    name=f"{resource.plural}/{item.name}",
                    singular_name="",
                    namespaced=resource.namespaced,
                    group=kind.group,
                    version=kind.version,
                    kind=item.kind,
                    verbs=list(item.verbs),
                )
            )
    return {"groupVersion": group_version, "resources": listed}
