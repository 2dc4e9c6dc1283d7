"""Which representation a client wants back, and which one it sent.

Accept and Content-Type headers repeat endlessly, so their parsing is memoised. Everything here is a pure function of
header text (source: k8s.io/apiserver, handlers/negotiation).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from api import errors

JSON = "application/json"
YAML = "application/yaml"

PROTOBUF = "application/vnd.kubernetes.protobuf"

#: What the server can write, in upstream's order of preference.
SUPPORTED = (JSON, YAML)
#: What it can read: Go clients send protobuf, and take JSON for an answer.
READABLE = (*SUPPORTED, PROTOBUF)

JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_MERGE_PATCH = "application/strategic-merge-patch+json"
PATCH_TYPES = (JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH)

_META_GROUP = "meta.k8s.io"

#: Other shapes an object can be had in; one that is only answered, not kept, has no table.
METADATA_ONLY = ("PartialObjectMetadata", "PartialObjectMetadataList")
TRANSFORMS = ("Table", *METADATA_ONLY)


@dataclass(frozen=True, slots=True)
class Transform:
    """Another shape the client wants the result in: a kind of group meta.k8s.io."""

    kind: str
    version: str

    @property
    def api_version(self) -> str:
        """The apiVersion of what is sent instead of the object."""
        return f"{_META_GROUP}/{self.version}"


@dataclass(frozen=True, slots=True)
class Output:
    """The outcome of negotiation for one response."""

    media_type: str = JSON
    transform: Transform | None = None
    pretty: bool = False


PLAIN = Output()


@lru_cache(maxsize=512)
def output(accept: str, *, transforms: tuple[str, ...]) -> Output:
    """Choose the representation for an Accept header; `transforms` are the other shapes that are possible here.

    Raises StatusError (NotAcceptable) when the client takes nothing the server can send.
    """
    if not accept:
        return PLAIN
    for media_range, parameters in _clauses(accept):
        for supported in SUPPORTED:
            if not _covers(media_range, supported):
                continue
            chosen = _accept(supported, parameters, transforms)
            if chosen is not None:
                return chosen
    raise errors.not_acceptable(list(SUPPORTED))


@lru_cache(maxsize=128)
def preferred(accept: str, offered: tuple[str, ...]) -> str | None:
    """The media type of *offered* that an Accept header likes best, None when it takes none of them.

    What the client likes equally is decided by the order of the offer. Parameters other than ``q`` do not count.
    """
    if not accept:
        return offered[0]
    for media_range, _ in _clauses(accept.lower()):
        for media_type in offered:
            if _covers(media_range, media_type):
                return media_type
    return None


@lru_cache(maxsize=128)
def input_type(content_type: str) -> str:
    """The media type of a body ("" means JSON); raises StatusError (UnsupportedMediaType)."""
    if not content_type:
        return JSON
    media_type = content_type.partition(";")[0].strip().lower()
    if media_type not in READABLE:
        raise errors.unsupported_media_type(list(READABLE))
    return media_type


@lru_cache(maxsize=128)
def patch_type(content_type: str) -> str:
    """The kind of a patch; raises StatusError (UnsupportedMediaType)."""
    media_type = content_type.partition(";")[0]
    if media_type not in PATCH_TYPES:
        raise errors.unsupported_media_type(list(PATCH_TYPES))
    return media_type


@lru_cache(maxsize=64)
def is_human(user_agent: str) -> bool:
    """Whether a user agent is a browser or command-line HTTP tool, for which output is indented."""
    return user_agent.startswith(("curl", "Wget", "Mozilla/5.0"))


def _accept(media_type: str, parameters: dict[str, str], transforms: tuple[str, ...]) -> Output | None:
    if parameters.get("stream") not in (None, "", "watch"):
        return None
    if parameters.get("sv") not in (None, "", "v1"):
        return None
    transform = None
    if parameters.keys() & {"as", "g", "v"}:
        transform = Transform(parameters.get("as", ""), parameters.get("v", ""))
        known = (
            parameters.get("g", "") == _META_GROUP
            and transform.version in ("v1", "v1beta1")
            and transform.kind in transforms
        )
        if not known:
            return None
    return Output(media_type, transform, parameters.get("pretty") == "1")


def _covers(media_range: str, media_type: str) -> bool:
    """Whether a media range, ``application/*`` say, has a media type in it."""
    main, _, sub = media_range.partition("/")
    own_main, _, own_sub = media_type.partition("/")
    return main in ("*", own_main) and sub in ("*", own_sub) and (main != "*" or sub == "*")


def _clauses(accept: str) -> list[tuple[str, dict[str, str]]]:
    """The media ranges of an Accept header, most wanted first (RFC 9110, section 12.5.1)."""
    weighted: list[tuple[float, int, str, dict[str, str]]] = []
    for clause in accept.split(","):
        media_range, *rest = (part.strip() for part in clause.split(";"))
        if media_range == "*":
            media_range = "*/*"
        if media_range.count("/") != 1:
            continue
        parameters = {}
        weight = 1.0
        for part in rest:
            name, _, value = part.partition("=")
            if name == "q":
                try:
                    weight = float(value)
                except ValueError:
                    weight = 1.0
            elif name:
                parameters[name] = value.strip('"')
        wildcards = media_range.count("*")
        weighted.append((-weight, wildcards, media_range, parameters))
    weighted.sort(key=lambda entry: entry[:2])
    return [(media_range, parameters) for _, _, media_range, parameters in weighted]
