"""get: the newest state of one object, as it is stored."""

from __future__ import annotations

from api import errors
from api import meta_v1 as meta
from controlplane.apiserver import replies, tabular
from controlplane.apiserver.caching.entries import Entry
from controlplane.apiserver.exchange import Exchange, Reply
from controlplane.apiserver.query import parse_resource_version
from controlplane.apiserver.registry.registry import Registry


def get(registry: Registry, exchange: Exchange) -> Reply:
    """Answer a GET of one object, or of its status subresource."""
    output = replies.output_of(exchange)
    info = exchange.info
    if exchange.query:
        _check_version(registry, exchange)
    entry = registry.find(info.namespace if registry.resource.namespaced else "", info.name)
    if output.transform is None:
        return replies.reply(exchange, output, entry.raw)
    if output.transform.kind == "Table":
        return tabular.table_reply(registry, exchange, output, [entry], _ofone(entry))
    if output.transform.kind == "PartialObjectMetadataList":
        raise errors.not_acceptable(["you requested PartialObjectMetadataList, but the requested object is not a list"])
    return replies.object_reply(exchange, output, entry.raw)


def _ofone(entry: Entry) -> dict[str, object]:
    return {"resourceVersion": str(entry.mod_revision)}


def _check_version(registry: Registry, exchange: Exchange) -> None:
    """A get that asks for "not older than" a version we have not reached is refused as upstream does."""
    text = exchange.query.first("resourceVersion")
    if not text:
        return
    version = parse_resource_version(text)
    if isinstance(version, str):
        cause = f'resourceVersion: Invalid value: "{text}": {version}'
        raise errors.bad_request(f"invalid resource version: {cause}")
    if version > registry.cache.revision:
        raise too_large_version(version, registry.cache.revision)


def too_large_version(wanted: int, current: int) -> errors.StatusError:
    """The Timeout that says that a version is not reached yet; clients wait and try again."""
    error = errors.timeout(f"Too large resource version: {wanted}, current: {current}", 1)
    details = error.status.details
    if details is not None:
        details.causes = [meta.StatusCause(reason="ResourceVersionTooLarge", message="Too large resource version")]
    return error
