"""list: a collection as of one revision, whole or in pages.

The newest state is a join of cached bytes. Only an older revision (a later page of a long list, or one asked for by
`resourceVersionMatch=Exact`) is read from the store's history; once that is compacted, the client is offered a token
that goes on inconsistently, or has to start over (source: k8s.io/apiserver, storage.ValidateListOptions and
etcd3/errors.go).
"""

from __future__ import annotations

from dataclasses import dataclass

from api import errors
from controlplane.apiserver import options, replies, tabular
from controlplane.apiserver.cache import Listing
from controlplane.apiserver.caching.continuation import NEWEST, InvalidContinue, decode_continue, encode_continue
from controlplane.apiserver.caching.encoding import list_body
from controlplane.apiserver.caching.entries import Selection
from controlplane.apiserver.exchange import Exchange, Reply
from controlplane.apiserver.negotiation import Output
from controlplane.apiserver.options import ListOptions
from controlplane.apiserver.query import parse_resource_version
from controlplane.apiserver.registry.registry import Registry
from controlplane.apiserver.verbs.get import too_large_version
from controlplane.apiserver.verbs.selecting import selection
from controlplane.store.errors import Compacted, FutureRevision

_TOO_OLD = "The resourceVersion for the provided list is too old."
_INCONSISTENT = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new list without "
    "the continue parameter, or use the continue token in this response to retrieve the remainder of the results. "
    "Continuing with the provided token results in an inconsistent list - objects that were created, modified, or "
    "deleted between the time the first chunk was returned and now may show up in the list."
)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a list begins: behind which path, and as of which revision (0: the newest)."""

    after: str = ""
    revision: int = 0


async def list_objects(registry: Registry, exchange: Exchange) -> Reply:
    """Answer a GET of a collection."""
    output = replies.output_of(exchange)
    wanted = options.list_options(exchange.query)
    selected = selection(registry, exchange, wanted)
    page = await page_of(registry, selected, wanted)
    return _reply(registry, exchange, output, page)


async def page_of(registry: Registry, selected: Selection, wanted: ListOptions) -> Listing:
    """The page a list asks for; raises StatusError (BadRequest, Expired, Timeout)."""
    limit = max(wanted.limit, 0)
    place = place_of(registry, wanted)
    if not place.revision:
        return registry.cache.list(selected, limit=limit, after=place.after)
    try:
        return await registry.cache.list_at(place.revision, selected, limit=limit, after=place.after)
    except FutureRevision as error:
        raise too_large_version(error.revision, error.current) from None
    except Compacted:
        raise _expired(place, paging=bool(wanted.continue_)) from None


def place_of(registry: Registry, wanted: ListOptions) -> Place:
    """Where to begin, by the rules of resourceVersion, resourceVersionMatch and continue."""
    if wanted.continue_:
        try:
            after, revision = decode_continue(wanted.continue_)
        except InvalidContinue as error:
            raise errors.bad_request(f"invalid continue token: {error}") from None
        if wanted.resource_version not in ("", "0"):
            raise errors.bad_request("specifying resource version is not allowed when using continue")
        return Place(after, 0 if revision == NEWEST else max(revision, 0))
    if not wanted.resource_version:
        return Place()
    revision = _revision(wanted.resource_version)
    exact = wanted.resource_version_match == options.EXACT
    # Before there was resourceVersionMatch, a limited list of a version meant exactly that version.
    legacy = not wanted.resource_version_match and wanted.limit > 0
    if revision and (exact or legacy):
        return Place(revision=revision)
    if revision > registry.cache.revision:
        raise too_large_version(revision, registry.cache.revision)
    return Place()


def _revision(text: str) -> int:
    version = parse_resource_version(text)
    if isinstance(version, str):
        raise errors.bad_request(f'invalid resource version: resourceVersion: Invalid value: "{text}": {version}')
    return version


def _expired(place: Place, *, paging: bool) -> errors.StatusError:
    if not paging:
        return errors.expired(_TOO_OLD)
    error = errors.expired(_INCONSISTENT)
    error.status.metadata.continue_ = encode_continue(place.after, NEWEST)
    return error


def _reply(registry: Registry, exchange: Exchange, output: Output, page: Listing) -> Reply:
    continue_ = encode_continue(page.last, page.revision) if page.last else ""
    if output.transform is None:
        return replies.reply(exchange, output, list_body(registry.cache.shape, page, continue_))
    metadata: dict[str, object] = {"resourceVersion": str(page.revision)}
    if continue_:
        metadata["continue"] = continue_
        if page.remaining:
            metadata["remainingItemCount"] = page.remaining
    if output.transform.kind == "Table":
        return tabular.table_reply(registry, exchange, output, page.entries, metadata)
    if output.transform.kind == "PartialObjectMetadata":
        kind = f"{registry.resource.kind}List"
        raise errors.not_acceptable(
            [f"you requested PartialObjectMetadata, but the requested object is a list ({kind})"]
        )
    return tabular.partial_list_reply(exchange, output, page.entries, metadata)
