"""Image references: `busybox`, `registry:5000/team/app:v1`, `app@sha256:…`.

The grammar is the distribution project's reference grammar, with Docker's defaults for what is left out: the registry
`docker.io`, its folder `library`, and the tag `latest`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from agent.images.errors import InvalidReference

DEFAULT_DOMAIN = "docker.io"
DEFAULT_TAG = "latest"
_LEGACY_DOMAIN = "index.docker.io"
_LIBRARY = "library"
_MOST_NAME = 255

_LABEL = r"(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])"
_DOMAIN = rf"(?:{_LABEL}(?:\.{_LABEL})*|\[(?:[a-fA-F0-9:]+)\])(?::[0-9]+)?"
_COMPONENT = r"[a-z0-9]+(?:(?:[._]|__|[-]+)[a-z0-9]+)*"
_NAME = rf"(?:{_DOMAIN}/)?{_COMPONENT}(?:/{_COMPONENT})*"
_TAG = r"[\w][\w.-]{0,127}"
_DIGEST = r"[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}"
_REFERENCE = re.compile(rf"({_NAME})(?::({_TAG}))?(?:@({_DIGEST}))?", re.ASCII)
_HEX_64 = re.compile(r"[a-f0-9]{64}")
_DIGEST_LENGTHS = {"sha256": 64, "sha384": 96, "sha512": 128}


@dataclass(frozen=True, slots=True)
class Reference:
    """A reference in full."""

    domain: str
    path: str
    tag: str = ""
    digest: str = ""

    @property
    def repository(self) -> str:
        return f"{self.domain}/{self.path}"


def parse(image: str) -> Reference:
    """Raises InvalidReference."""
    if _HEX_64.fullmatch(image):
        raise InvalidReference(f"invalid repository name ({image}), cannot specify 64-byte hexadecimal strings")
    domain, remainder = _split_domain(image)
    name = remainder.partition("@")[0]
    # A colon after the last slash starts the tag.
    head, slash, last = name.rpartition("/")
    remote = f"{head}{slash}{last.partition(':')[0]}"
    if remote.lower() != remote:
        raise InvalidReference(f"invalid reference format: repository name ({remote}) must be lowercase")
    match = _REFERENCE.fullmatch(f"{domain}/{remainder}")
    if match is None:
        raise InvalidReference("invalid reference format")
    if len(match[1]) > _MOST_NAME:
        raise InvalidReference("repository name must not be more than 255 characters")
    digest = match[3] or ""
    _check_digest(digest)
    return Reference(domain, match[1].removeprefix(f"{domain}/"), match[2] or "", digest)


def with_default_tag(image: str) -> str:
    """The image as it is written, with `:latest` where it has neither tag nor digest. Raises InvalidReference.

    The registry is not filled in: what a short name means is the runtime's to say.
    """
    reference = parse(image)
    return image if reference.tag or reference.digest else f"{image}:{DEFAULT_TAG}"


def _split_domain(image: str) -> tuple[str, str]:
    first, slash, rest = image.partition("/")
    is_domain = slash and (set(".:") & set(first) or first == "localhost" or first.lower() != first)
    domain, remainder = (first, rest) if is_domain else (DEFAULT_DOMAIN, image)
    if domain == _LEGACY_DOMAIN:
        domain = DEFAULT_DOMAIN
    if domain == DEFAULT_DOMAIN and "/" not in remainder:
        remainder = f"{_LIBRARY}/{remainder}"
    return domain, remainder


def _check_digest(digest: str) -> None:
    if not digest:
        return
    algorithm, _, value = digest.partition(":")
    if algorithm not in _DIGEST_LENGTHS:
        raise InvalidReference("unsupported digest algorithm")
    if len(value) != _DIGEST_LENGTHS[algorithm]:
        raise InvalidReference("invalid checksum digest length")
