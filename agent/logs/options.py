"""What a reader of a log wants: the query of `GET /containerLogs/…` (PodLogOptions of the core API)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from agent.logs.records import padded_stamp


class OptionsError(ValueError):
    """A query that is no set of log options."""


class UndecodableOptions(OptionsError):
    """One of its values is not of its type."""


class InvalidOptions(OptionsError):
    """Its values are of their types, and not allowed, alone or together."""


@dataclass(frozen=True, slots=True)
class LogOptions:
    """`tail` is a number of records from the end, `since` a padded stamp, `limit` bytes of output; None is no bound."""

    follow: bool = False
    previous: bool = False
    timestamps: bool = False
    tail: int | None = None
    since: bytes | None = None
    limit: int | None = None
    stream: bytes | None = None


def parse_options(query: Mapping[str, str], now: float) -> LogOptions:
    """The options of a query; `now` is the wall clock that `sinceSeconds` counts back from. Raises OptionsError."""
    tail = query.get("tail") or query.get("tailLines", "")  # the short name is older
    lines = _number("tailLines", tail) if tail not in ("", "all") else None
    since = _stamp(query["sinceTime"]) if query.get("sinceTime") else None
    seconds = _number("sinceSeconds", query["sinceSeconds"]) if query.get("sinceSeconds") else None
    limit = _number("limitBytes", query["limitBytes"]) if query.get("limitBytes") else None
    stream = query.get("stream") or "All"
    if lines is not None and lines < 0:
        raise InvalidOptions("tailLines: must be greater than or equal to 0")
    if limit is not None and limit < 1:
        raise InvalidOptions("limitBytes: must be greater than 0")
    if since is not None and seconds is not None:
        raise InvalidOptions("at most one of `sinceTime` or `sinceSeconds` may be specified")
    if seconds is not None and seconds < 1:
        raise InvalidOptions("sinceSeconds: must be greater than 0")
    if stream not in ("All", "Stdout", "Stderr"):
        raise InvalidOptions(f"stream: unsupported value {stream!r}")
    if stream != "All" and lines is not None:
        raise InvalidOptions("`tailLines` and specific `stream` are mutually exclusive for now")
    return LogOptions(
        follow=_flag(query, "follow"),
        previous=_flag(query, "previous"),
        timestamps=_flag(query, "timestamps"),
        tail=lines,
        since=since if seconds is None else _before(now, seconds),
        limit=limit,
        stream=stream.lower().encode() if stream != "All" else None,
    )


def _flag(query: Mapping[str, str], name: str) -> bool:
    # As upstream's query conversion reads booleans: only these two words are false.
    return name in query and query[name].lower() not in ("false", "0")


def _number(name: str, text: str) -> int:
    try:
        value = int(text)
    except ValueError:
        raise UndecodableOptions(f"{name}: {text!r} is not a number") from None
    if not -(1 << 63) <= value < 1 << 63:
        raise UndecodableOptions(f"{name}: {text!r} is out of range")
    return value


def _stamp(text: str) -> bytes:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise UndecodableOptions(f"sinceTime: {text!r} is not a time") from None
    if moment.tzinfo is None:
        raise UndecodableOptions(f"sinceTime: {text!r} has no time zone")
    return _render(moment)


def _before(now: float, seconds: int) -> bytes:
    return _render(datetime.fromtimestamp(max(0.0, now - seconds), UTC))


def _render(moment: datetime) -> bytes:
    return padded_stamp(moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ").encode())
