"""What a reader of a log wants: the query of `GET /containerLogs/…` (PodLogOptions of the core API)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from agent.logs.records import padded_stamp


class InvalidOptions(ValueError):
    """A query that is no set of log options."""


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
    """The options of a query; `now` is the wall clock that `sinceSeconds` counts back from. Raises InvalidOptions."""
    tail = query.get("tailLines") or query.get("tail") or ""
    since = query.get("sinceTime", "")
    seconds = query.get("sinceSeconds", "")
    stream = query.get("stream", "")
    if since and seconds:
        raise InvalidOptions("at most one of `sinceTime` or `sinceSeconds` may be specified")
    if stream not in ("", "All", "Stdout", "Stderr"):
        raise InvalidOptions(f"stream: unsupported value {stream!r}")
    return LogOptions(
        follow=_flag(query, "follow"),
        previous=_flag(query, "previous"),
        timestamps=_flag(query, "timestamps"),
        tail=_number("tailLines", tail, 0) if tail not in ("", "all") else None,
        since=_stamp(since) if since else _before(now, _number("sinceSeconds", seconds, 1)) if seconds else None,
        limit=_number("limitBytes", query["limitBytes"], 1) if query.get("limitBytes") else None,
        stream=stream.lower().encode() if stream in ("Stdout", "Stderr") else None,
    )


def _flag(query: Mapping[str, str], name: str) -> bool:
    # As upstream's query conversion reads booleans: only these two words are false.
    return name in query and query[name].lower() not in ("false", "0")


def _number(name: str, text: str, least: int) -> int:
    try:
        value = int(text)
    except ValueError:
        raise InvalidOptions(f"{name}: {text!r} is not a number") from None
    if value < least:
        raise InvalidOptions(f"{name}: must be greater than or equal to {least}")
    return value


def _stamp(text: str) -> bytes:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise InvalidOptions(f"sinceTime: {text!r} is not a time") from None
    if moment.tzinfo is None:
        raise InvalidOptions(f"sinceTime: {text!r} has no time zone")
    return _render(moment)


def _before(now: float, seconds: int) -> bytes:
    return _render(datetime.fromtimestamp(now - seconds, UTC))


def _render(moment: datetime) -> bytes:
    return padded_stamp(moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ").encode())
