"""Which kinds exist, under which names they are served, and with which verbs.

Built from the one table in ``api.resources``. The modules that declare the types are imported when a type is first
asked for, so that a process that handles three groups does not pay for twenty.
"""

import builtins
import importlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from types import ModuleType

from api.declarations import Struct
from api.meta_v1 import Object, ObjectList
from api.resources import TABLE

ALL_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
_CHANGE_VERBS = ("get", "patch", "update")
_MODULE = re.compile(r"[a-z]+_v[0-9]+")


class UnknownType(LookupError):
    """No such kind or resource is declared."""


@dataclass(frozen=True, slots=True)
class Subresource:
    """``pods/exec``: the name after the slash, and the kind that its body (or its options) has."""

    name: str
    group: str
    version: str
    kind: str
    verbs: tuple[str, ...]

    @property
    def api_version(self) -> str:
        """``policy/v1``, or ``v1`` in the core group."""
        return group_version(self.group, self.version)

    @property
    def type(self) -> builtins.type[Struct]:
        """The declared type of its kind."""
        return declared_type(self.api_version, self.kind)


@dataclass(frozen=True, slots=True)
class Resource:
    """A kind as it is served; ``plural`` stands in paths, ``singular`` and ``short_names`` are what people type."""

    group: str
    version: str
    kind: str
    plural: str
    singular: str
    short_names: tuple[str, ...]
    categories: tuple[str, ...]
    namespaced: bool
    verbs: tuple[str, ...]
    subresources: tuple[Subresource, ...] = field(default=(), repr=False)

    @property
    def api_version(self) -> str:
        """``apps/v1``, or ``v1`` in the core group."""
        return group_version(self.group, self.version)

    @property
    def group_resource(self) -> str:
        """``deployments.apps``, or ``pods`` in the core group: how messages name it."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def type(self) -> builtins.type[Object]:
        """The declared type; its module is imported now if it was not yet."""
        found = declared_type(self.api_version, self.kind)
        assert issubclass(found, Object), found
        return found

    @property
    def list_type(self) -> builtins.type[ObjectList]:
        """The declared type of its list; UnknownType for what cannot be listed (reviews, bindings)."""
        found = declared_type(self.api_version, f"{self.kind}List")
        assert issubclass(found, ObjectList), found
        return found

    def subresource(self, name: str) -> Subresource | None:
        """The subresource of that name, if it has one."""
        return next((item for item in self.subresources if item.name == name), None)


class Scheme:
    """All resources, to be found by kind, by path, or by type."""

    def __init__(self, table: str) -> None:
        self._resources = tuple(_parsed(table))
        self._by_kind = {(resource.api_version, resource.kind): resource for resource in self._resources}
        self._by_path = {(resource.group, resource.version, resource.plural): resource for resource in self._resources}
        self._by_class: dict[builtins.type[Struct], Resource] = {}

    def resources(self) -> tuple[Resource, ...]:
        """Core first, then group by group; where a group has several versions, the preferred one first."""
        return self._resources

    def by_kind(self, api_version: str, kind: str) -> Resource | None:
        """The resource of ``apps/v1 Deployment``."""
        return self._by_kind.get((api_version, kind))

    def by_resource(self, group: str, version: str, plural: str) -> Resource | None:
        """The resource of ``apps v1 deployments``."""
        return self._by_path.get((group, version, plural))

    def of(self, kind: builtins.type[Struct]) -> Resource:
        """The resource whose objects are of this class. Raises UnknownType."""
        found = self._by_class.get(kind)
        if found is None:
            found = self._by_class[kind] = self._resource_of(kind)
        return found

    def _resource_of(self, kind: builtins.type[Struct]) -> Resource:
        if issubclass(kind, Object):
            # The defaults of its first two fields are its apiVersion and kind: a new object tells them.
            blank = kind()
            resource = self.by_kind(blank.api_version, blank.kind)
            if resource is not None and resource.type is kind:
                return resource
        raise UnknownType(f"type {kind.__module__}.{kind.__name__}: not served under any name")

    def kind_type(self, api_version: str, kind: str) -> builtins.type[Struct]:
        """The declared type of any kind, served under a name of its own or not (Scale, Status). Raises UnknownType."""
        return declared_type(api_version, kind)


def group_version(group: str, version: str) -> str:
    """How apiVersion writes the two."""
    return f"{group}/{version}" if group else version


def split_api_version(api_version: str) -> tuple[str, str]:
    """(group, version) of an apiVersion."""
    group, _, version = api_version.rpartition("/")
    return group, version


@lru_cache(maxsize=1024)
def declared_type(api_version: str, kind: str) -> builtins.type[Struct]:
    """The class that declares a kind. Raises UnknownType."""
    group, version = split_api_version(api_version)
    for name in (f"{group.partition('.')[0] or 'core'}_{version}", "meta_v1"):
        found = getattr(_module(name), kind, None)
        if isinstance(found, type) and issubclass(found, Struct) and _declares(found, api_version, kind):
            return found
    raise UnknownType(f'no kind "{kind}" is registered for version "{api_version}"')


def _module(name: str) -> ModuleType | None:
    if _MODULE.fullmatch(name) is None:
        return None
    try:
        return importlib.import_module(f"api.{name}")
    except ModuleNotFoundError:
        return None


def _declares(found: builtins.type[Struct], api_version: str, kind: str) -> bool:
    """Whether the class is a kind (and not a part of one) of that apiVersion."""
    blank = found()
    own = getattr(blank, "api_version", None)
    return getattr(blank, "kind", None) == kind and own in (api_version, "v1", "meta.k8s.io/v1")


def _parsed(table: str) -> Iterator[Resource]:
    for line in table.strip().replace("\n    ", " ").split("\n"):
        api_version, plural, singular, kind, scope, *words = line.split()
        group, version = split_api_version(api_version)
        facts = dict(word.split("=") for word in words if word.startswith(("short=", "categories=", "verbs=")))
        yield Resource(
            group=group,
            version=version,
            kind=kind,
            plural=plural,
            singular=singular,
            short_names=_listed(facts.get("short")),
            categories=_listed(facts.get("categories")),
            namespaced=scope == "Namespaced",
            verbs=_listed(facts.get("verbs")) or ALL_VERBS,
            subresources=tuple(
                _subresource(word, group, version, kind) for word in words if word.partition("=")[0] not in facts
            ),
        )


def _listed(text: str | None) -> tuple[str, ...]:
    return tuple(text.split(",")) if text else ()


def _subresource(word: str, group: str, version: str, kind: str) -> Subresource:
    name, _, facts = word.partition("=")
    if not facts:
        return Subresource(name, group, version, kind, _CHANGE_VERBS)
    own, _, verbs = facts.partition(":")
    api_version, dot, kind = own.rpartition(".")
    if dot:
        group, version = split_api_version(api_version)
    return Subresource(name, group, version, kind, _listed(verbs))


SCHEME = Scheme(TABLE)
