"""Which objects a list, watch or deletecollection is about: selectors from the query, scope from the path."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

from api import errors
from api.selectors import (
    FieldSelector,
    LabelSelector,
    SelectorError,
    check_fields,
    parse_field_selector,
    parse_label_selector,
)
from controlplane.apiserver import routing
from controlplane.apiserver.caching.entries import EVERYTHING, Selection
from controlplane.apiserver.exchange import Exchange
from controlplane.apiserver.options import ListOptions
from controlplane.apiserver.registry.registry import Registry


@dataclass(frozen=True, slots=True)
class _Fields:
    """A field selector as the caches ask it: against values read from the bytes."""

    selector: FieldSelector

    def matches(self, values: Mapping[str, str], /) -> bool:
        return self.selector.matches_values(values)


def selection(registry: Registry, exchange: Exchange, options: ListOptions) -> Selection:
    """Raises StatusError (BadRequest) for selectors that cannot be read or name fields the kind does not offer."""
    info, resource = exchange.info, registry.resource
    namespace = info.namespace if resource.namespaced else ""
    name = ""
    if info.name and routing.watches_by_path(exchange.path):
        name = info.name
    labels = _labels(options.label_selector) if options.label_selector else None
    fields = None
    if options.field_selector:
        selector = _field_selector(options.field_selector, resource.api_version, resource.kind)
        selected = selector.exact("metadata.name")
        if name and selected != name:
            raise errors.bad_request("fieldSelector metadata.name doesn't match requested name")
        name = name or selected or ""
        if not namespace and resource.namespaced:
            namespace = selector.exact("metadata.namespace") or ""
        if not selector.empty:
            fields = _Fields(_renamed(selector, registry.field_names))
        if len(selector.terms) == 1 and selected:
            fields = None  # the name says it all
    if not (namespace or name or labels or fields):
        return EVERYTHING
    return Selection(namespace, name, labels, fields)


def _renamed(selector: FieldSelector, names: Mapping[str, str]) -> FieldSelector:
    """The selector in the words of the version that is stored."""
    if not names:
        return selector
    return FieldSelector(tuple(replace(term, field=names.get(term.field, term.field)) for term in selector.terms))


@lru_cache(maxsize=256)
def _labels(text: str) -> LabelSelector | None:
    try:
        selector = parse_label_selector(text)
    except SelectorError as error:
        raise errors.bad_request(str(error)) from None
    return None if selector.empty else selector


@lru_cache(maxsize=256)
def _field_selector(text: str, api_version: str, kind: str) -> FieldSelector:
    try:
        return check_fields(parse_field_selector(text), api_version, kind)
    except SelectorError as error:
        raise errors.bad_request(str(error)) from None
