"""The few checks that every other validation module is made of.

All take the path of the field and the list that errors are added to. Callers build a path only once they know
that there is something to complain about, or hand one down into a list's item.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from api import names
from api.fields import FieldErrors, invalid, not_supported, required
from api.int_or_string import percent

IMMUTABLE = "field is immutable"
NOT_NEGATIVE = "must be greater than or equal to 0"
NOT_POSITIVE = "must be greater than zero"


def complain(out: FieldErrors, path: str, value: object, messages: Iterable[str]) -> None:
    """One "Invalid value" for each message of a name rule."""
    out.extend(invalid(path, value, message) for message in messages)


def non_negative(value: int, path: str, out: FieldErrors) -> None:
    if value < 0:
        out.append(invalid(path, value, NOT_NEGATIVE))


def positive(value: int, path: str, out: FieldErrors) -> None:
    if value <= 0:
        out.append(invalid(path, value, NOT_POSITIVE))


def immutable(new: object, old: object, path: str, out: FieldErrors) -> None:
    if new != old:
        out.append(invalid(path, new, IMMUTABLE))


def one_of(value: str, supported: Collection[str], path: str, out: FieldErrors, *, ordered: bool = False) -> None:
    """The value must be in the enumeration; it is listed sorted unless its order is part of the message."""
    if value not in supported:
        out.append(not_supported(path, value, supported if ordered else sorted(supported)))


def required_one_of(
    value: str, supported: Collection[str], path: str, out: FieldErrors, *, ordered: bool = False
) -> None:
    """As `one_of`, with an error of its own for an empty value."""
    if not value:
        out.append(required(path))
    elif value not in supported:
        out.append(not_supported(path, value, supported if ordered else sorted(supported)))


def required_text(value: str, path: str, out: FieldErrors, detail: str = "") -> None:
    if not value:
        out.append(required(path, detail))


def required_segment(value: str, path: str, out: FieldErrors) -> None:
    """A name that stands in the URL of what it names."""
    if not value:
        out.append(required(path))
    else:
        complain(out, path, value, names.path_segment(value))


def domain_prefixed_path(value: str, path: str, out: FieldErrors) -> None:
    """Who something belongs to, such as a controller: `example.com/name`."""
    domain, slash, rest = value.partition("/")
    if not value:
        out.append(required(path))
    elif not (domain and slash and rest):
        out.append(invalid(path, value, 'must be a domain-prefixed path (such as "acme.io/foo")'))
    else:
        complain(out, path, domain, names.dns1123_subdomain(domain))
        complain(out, path, rest, names.http_path(rest))


def dns_label(value: str, path: str, out: FieldErrors) -> None:
    if bad := names.dns1123_label(value):
        complain(out, path, value, bad)


def dns_subdomain(value: str, path: str, out: FieldErrors) -> None:
    if bad := names.dns1123_subdomain(value):
        complain(out, path, value, bad)


def qualified(value: str, path: str, out: FieldErrors) -> None:
    if bad := names.qualified_name(value):
        complain(out, path, value, bad)


def port_or_name(port: int | str, path: str, out: FieldErrors) -> None:
    """A port by number, or by the name a container gives it."""
    if bad := names.port_name(port) if isinstance(port, str) else names.port_number(port):
        complain(out, path, port, bad)


def relative_path(value: str, path: str, out: FieldErrors) -> None:
    """A path that goes down only: not absolute, without `..` elements."""
    if value.startswith("/"):
        out.append(invalid(path, value, "must be a relative path"))
    no_backsteps(value, path, out)


def no_backsteps(value: str, path: str, out: FieldErrors) -> None:
    if ".." in value and ".." in value.split("/"):
        out.append(invalid(path, value, "must not contain '..'"))


def local_path(value: str, path: str, out: FieldErrors) -> None:
    """A relative path for a file in a volume: the names starting with `..` are the kubelet's own."""
    relative_path(value, path, out)
    if value.startswith("..") and not value.startswith("../"):
        out.append(invalid(path, value, "must not start with '..'"))


def count_or_percent(value: int | str, path: str, out: FieldErrors) -> None:
    """A number that is not negative, or a percentage."""
    if isinstance(value, int):
        non_negative(value, path, out)
    elif bad := names.percent(value):
        complain(out, path, value, bad)


def at_most_all(value: int | str, path: str, out: FieldErrors) -> None:
    """A percentage, if it is one, of at most 100 %."""
    share = percent(value)
    if share is not None and share > 100:
        out.append(invalid(path, value, "must not be greater than 100%"))
