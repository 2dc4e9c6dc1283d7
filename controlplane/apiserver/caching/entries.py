"""One object as the cache holds it: bytes ready to serve, and views of them made only when asked for.

An entry never changes; a new revision is a new entry. Labels, selectable fields and the decoded object are derived
from the bytes on first use and kept beside them, the decoded objects under a common bound.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, get_args

import msgspec

from controlplane.apiserver.caching.splicing import resplice, splice

Scalar = str | int | bool


class Matcher(Protocol):
    """A parsed label or field selector."""

    def matches(self, values: Mapping[str, str], /) -> bool: ...


@dataclass(frozen=True, eq=False)
class Shape:
    """What the cache must know of a resource.

    `prefix` is the store prefix with its closing slash; keys below it are `<namespace>/<name>`, or `<name>` for
    cluster-scoped resources. `field_defaults` names the JSON paths that field selectors may use besides metadata.name
    and metadata.namespace, with the value each has where the object does not say; `fields_of` may refine the result
    where upstream derives a field rather than reads it.
    """

    prefix: str
    namespaced: bool
    api_version: str
    kind: str
    decode: Callable[[bytes], Any]
    field_defaults: Mapping[str, Scalar] = field(default_factory=dict)
    fields_of: Callable[[dict[str, str], Entry], dict[str, str]] | None = None
    _peek: msgspec.json.Decoder[Any] = field(init=False, repr=False)
    _labels_at: tuple[str, ...] = field(init=False, repr=False)
    _fields_at: tuple[tuple[str, tuple[str, ...], str], ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        labels = ["metadata", "labels"]
        paths = {path: path.split(".") for path in self.field_defaults}
        partial = _partial("Object", [labels, *paths.values()])
        found = tuple((path, _place(partial, at), _text(self.field_defaults[path])) for path, at in paths.items())
        object.__setattr__(self, "_peek", msgspec.json.Decoder(partial))
        object.__setattr__(self, "_labels_at", _place(partial, labels))
        object.__setattr__(self, "_fields_at", found)

    def split(self, key: str) -> tuple[str, str]:
        """Namespace ("" if none) and name of a key of this resource."""
        path = key[len(self.prefix) :]
        if not self.namespaced:
            return "", path
        namespace, _, name = path.partition("/")
        return namespace, name

    def key(self, namespace: str, name: str) -> str:
        """The store key of an object."""
        return f"{self.prefix}{namespace}/{name}" if self.namespaced else self.prefix + name

    def entry(self, key: str, value: bytes, create_revision: int, mod_revision: int) -> Entry:
        """The entry of a stored record. Raises ValueError when the value is no object."""
        namespace, name = self.split(key)
        return Entry(self, namespace, name, splice(value, mod_revision), create_revision, mod_revision)

    def attributes(self, entry: Entry) -> tuple[dict[str, str], dict[str, str]]:
        """Labels and selectable fields, read from the bytes without decoding the rest."""
        seen = self._peek.decode(entry.raw)
        labels = _follow(seen, self._labels_at) or {}
        fields = {"metadata.name": entry.name}
        if self.namespaced:
            fields["metadata.namespace"] = entry.namespace
        for path, place, default in self._fields_at:
            found = _follow(seen, place)
            fields[path] = default if found is None else found if type(found) is str else _text(found)
        if self.fields_of is not None:
            fields = self.fields_of(fields, entry)
        return labels, fields


class Entry:
    """An object at one revision. `raw` is the JSON that is served, resourceVersion included."""

    __slots__ = ("_attributes", "_object", "create_revision", "mod_revision", "name", "namespace", "raw", "shape")

    def __init__(
        self, shape: Shape, namespace: str, name: str, raw: bytes, create_revision: int, mod_revision: int
    ) -> None:
        self.shape = shape
        self.namespace = namespace
        self.name = name
        self.raw = raw
        self.create_revision = create_revision
        self.mod_revision = mod_revision
        self._attributes: tuple[dict[str, str], dict[str, str]] | None = None
        self._object: Any = None

    def __repr__(self) -> str:
        return f"<Entry {self.key} at {self.mod_revision}>"

    @property
    def key(self) -> str:
        """The key in the store."""
        return self.shape.key(self.namespace, self.name)

    @property
    def labels(self) -> Mapping[str, str]:
        """The object's labels; parsed once."""
        if self._attributes is None:
            self._attributes = self.shape.attributes(self)
        return self._attributes[0]

    @property
    def fields(self) -> Mapping[str, str]:
        """What field selectors see; parsed once."""
        if self._attributes is None:
            self._attributes = self.shape.attributes(self)
        return self._attributes[1]

    def at(self, revision: int) -> Entry:
        """The same object stamped with another revision: how a deletion shows the last state."""
        raw = resplice(self.raw, self.mod_revision, revision)
        moved = Entry(self.shape, self.namespace, self.name, raw, self.create_revision, revision)
        moved._attributes = self._attributes
        return moved


@dataclass(frozen=True, eq=False)
class Selection:
    """Which objects a list or watch is about. Empty members do not restrict."""

    namespace: str = ""
    name: str = ""
    labels: Matcher | None = None
    fields: Matcher | None = None

    @property
    def shared(self) -> tuple[str, str] | None:
        """What watchers with the same view have in common; None for selectors, which are not compared."""
        return None if self.labels or self.fields else (self.namespace, self.name)

    @property
    def selective(self) -> bool:
        """Whether a label or field selector is at work."""
        return self.labels is not None or self.fields is not None

    def matches(self, entry: Entry) -> bool:
        """Whether the object is in view."""
        if self.namespace and entry.namespace != self.namespace:
            return False
        if self.name and entry.name != self.name:
            return False
        if self.labels is not None and not self.labels.matches(entry.labels):
            return False
        return self.fields is None or self.fields.matches(entry.fields)


EVERYTHING = Selection()


class DecodedObjects:
    """Decodes entries and remembers the results, the oldest being dropped beyond a bound.

    The bound counts the bytes of the JSON; a decoded object takes three to four times as much memory.
    """

    def __init__(self, limit: int = 8 << 20) -> None:
        self._limit = limit
        self._size = 0
        self._order: deque[Entry] = deque()

    def get(self, entry: Entry) -> Any:
        """The decoded object. It is shared: treat it as immutable."""
        found = entry._object
        if found is None:
            found = entry._object = entry.shape.decode(entry.raw)
            self._order.append(entry)
            self._size += len(entry.raw)
            while self._size > self._limit and len(self._order) > 1:
                oldest = self._order.popleft()
                oldest._object = None
                self._size -= len(oldest.raw)
        return found


def _partial(name: str, paths: list[list[str]]) -> type[msgspec.Struct]:
    """A struct that reads only these paths of a document, whatever is in the rest."""
    members: dict[str, list[list[str]]] = {}
    for head, *rest in paths:
        members.setdefault(head, []).append(rest)
    fields: list[tuple[str, Any, Any]] = []
    for index, (member, rests) in enumerate(members.items()):
        deeper = [rest for rest in rests if rest]
        kind: Any = _partial(member.title(), deeper) | None if deeper else Any
        fields.append((f"m{index}", kind, msgspec.field(name=member, default=None)))
    return msgspec.defstruct(name, fields, gc=False)


def _place(partial: type[msgspec.Struct], path: list[str]) -> tuple[str, ...]:
    """The attributes that lead to a path in what a partial struct has read."""
    place = []
    kind: Any = partial
    for member in path:
        attribute = kind.__struct_fields__[kind.__struct_encode_fields__.index(member)]
        place.append(attribute)
        nested = [each for each in get_args(kind.__annotations__[attribute]) if each is not type(None)]
        kind = nested[0] if nested else None
    return tuple(place)


def _follow(seen: Any, place: tuple[str, ...]) -> Any:
    for attribute in place:
        if seen is None:
            return None
        seen = getattr(seen, attribute)
    return seen


def _text(value: Any) -> str:
    if value is True:
        return "true"
    if value is False:
        return "false"
    return str(value)
