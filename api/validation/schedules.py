"""When a CronJob is due: five fields as cron(8) has them, a descriptor such as `@daily`, and a time zone's name.

The words about a wrong field are those of the parser upstream uses (robfig/cron version 3), which end in its answer.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from api.fields import FieldErrors, invalid
from api.rendering import quote

_DESCRIPTORS = frozenset({"@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"})
_EVERY = "@every "
_NUMBER = re.compile(r"[+-]?[0-9]+")
_ZONE_PART = re.compile(r"[A-Za-z.\-_0-9+]{1,14}")
_DURATION = re.compile(r"[+-]?(?:0|(?:(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:ns|us|µs|μs|ms|s|m|h))+)")


class _Malformed(Exception):
    """The text is no schedule; says why."""


@dataclass(frozen=True)
class _Bounds:
    low: int
    high: int
    names: Mapping[str, int] = field(default_factory=dict)


def _numbered(words: str, first: int) -> dict[str, int]:
    return {word: number for number, word in enumerate(words.split(), first)}


_FIELDS = (
    _Bounds(0, 59),
    _Bounds(0, 23),
    _Bounds(1, 31),
    _Bounds(1, 12, _numbered("jan feb mar apr may jun jul aug sep oct nov dec", 1)),
    _Bounds(0, 6, _numbered("sun mon tue wed thu fri sat", 0)),
)


def validate_schedule(text: str, path: str, out: FieldErrors, *, zone: str | None, zone_inside: bool) -> None:
    """`zone_inside` lets an older object keep a zone in its schedule, as long as it names none apart."""
    try:
        _parse(text)
    except _Malformed as wrong:
        out.append(invalid(path, text, str(wrong)))
    if "TZ" not in text:
        return
    if not zone_inside:
        out.append(invalid(path, text, "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"))
    elif zone is not None:
        out.append(invalid(path, text, "cannot use both timeZone field and TZ or CRON_TZ in schedule"))


def validate_zone(zone: str | None, path: str, out: FieldErrors) -> None:
    """The form of a name alone: which zones there are is known to the machine that runs the jobs."""
    if zone is None:
        return
    if not zone:
        out.append(invalid(path, zone, "timeZone must be nil or non-empty string"))
    elif not all(_is_zone_part(part) for part in zone.split("/")):
        out.append(invalid(path, zone, f"unknown time zone {zone}"))
    elif zone.lower() == "local":
        detail = "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"
        out.append(invalid(path, zone, detail))


def _is_zone_part(part: str) -> bool:
    return part not in (".", "..") and not part.startswith("-") and _ZONE_PART.fullmatch(part) is not None


def _parse(text: str) -> None:
    if text.startswith(("TZ=", "CRON_TZ=")):
        text = text.partition(" ")[2].strip()
    if text.startswith("@"):
        _parse_descriptor(text)
        return
    fields = text.split()
    if len(fields) != len(_FIELDS):
        raise _Malformed(f"expected exactly {len(_FIELDS)} fields, found {len(fields)}: [{' '.join(fields)}]")
    for expression, bounds in zip(fields, _FIELDS, strict=True):
        for part in filter(None, expression.split(",")):
            _parse_range(part, bounds)


def _parse_descriptor(text: str) -> None:
    if text in _DESCRIPTORS:
        return
    if not text.startswith(_EVERY):
        raise _Malformed(f"unrecognized descriptor: {text}")
    duration = text.removeprefix(_EVERY)
    if _DURATION.fullmatch(duration) is None:
        raise _Malformed(f"failed to parse duration {text}: time: invalid duration {quote(duration)}")


def _parse_range(text: str, bounds: _Bounds) -> None:
    limits, *steps = text.split("/")
    start_text, *end_texts = limits.split("-")
    if start_text in ("*", "?"):
        start, end = bounds.low, bounds.high
    else:
        start = _number_or_name(start_text, bounds)
        if len(end_texts) > 1:
            raise _Malformed(f"too many hyphens: {text}")
        end = _number_or_name(end_texts[0], bounds) if end_texts else start
    if len(steps) > 1:
        raise _Malformed(f"too many slashes: {text}")
    step = _number(steps[0]) if steps else 1
    if steps and not end_texts:
        end = bounds.high  # "5/10" goes on to the last
    if start < bounds.low:
        raise _Malformed(f"beginning of range ({start}) below minimum ({bounds.low}): {text}")
    if end > bounds.high:
        raise _Malformed(f"end of range ({end}) above maximum ({bounds.high}): {text}")
    if start > end:
        raise _Malformed(f"beginning of range ({start}) beyond end of range ({end}): {text}")
    if step == 0:
        raise _Malformed(f"step of range should be a positive number: {text}")


def _number_or_name(text: str, bounds: _Bounds) -> int:
    named = bounds.names.get(text.lower())
    return _number(text) if named is None else named


def _number(text: str) -> int:
    if _NUMBER.fullmatch(text) is None:
        raise _Malformed(f"failed to parse int from {text}: strconv.Atoi: parsing {quote(text)}: invalid syntax")
    number = int(text)
    if number < 0:
        raise _Malformed(f"negative number ({number}) not allowed: {text}")
    return number
