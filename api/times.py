"""Times and durations as they stand in JSON: RFC 3339 in UTC to the second (Time) or microsecond (MicroTime), and
Go's ``1h2m3s``.

Both times are strings in canonical form, so that they sort, compare and encode as they are. Texts of errors are those
of Go's time package. No clock is read here: whoever needs the present brings it.
"""

import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any, ClassVar, Self

from api.declarations import Definition

SECOND_LAYOUT = "2006-01-02T15:04:05Z07:00"
MICROSECOND_LAYOUT = "2006-01-02T15:04:05.000000Z07:00"

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_TEXT = re.compile(r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:[.,](\d+))?(?:Z|([+-])(\d\d):(\d\d))", re.ASCII)


class TimeError(ValueError):
    """The text is no time or duration; its message is Go's."""


class _Stamp(str):
    """What both times share. A string; ``timestamp()`` leads back to the number."""

    __slots__ = ()

    definition: ClassVar[Definition]
    layout: ClassVar[str]

    def timestamp(self) -> float:
        """Seconds since 1970 UTC."""
        return _seconds(self)

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self


class Time(_Stamp):
    """A time to the second, ``2024-01-31T23:59:59Z``; from any RFC 3339 text. Raises TimeError."""

    __slots__ = ()

    definition = Definition("io.k8s.apimachinery.pkg.apis.meta.v1.Time", "string", "date-time")
    layout = SECOND_LAYOUT

    def __new__(cls, text: str) -> Self:
        stamp: Self = text if type(text) is cls else parse_time(text)
        return stamp

    @classmethod
    def from_timestamp(cls, seconds: float) -> Self:
        """The second in which ``seconds`` since 1970 UTC falls."""
        return cls._canonical(_EPOCH + timedelta(seconds=int(seconds // 1)))

    @classmethod
    def _canonical(cls, moment: datetime) -> Self:
        return str.__new__(cls, f"{moment:%Y-%m-%dT%H:%M:%S}Z".zfill(20))


class MicroTime(_Stamp):
    """A time to the microsecond, ``2024-01-31T23:59:59.000000Z``; the text must have six decimals. Raises TimeError."""

    __slots__ = ()

    definition = Definition("io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime", "string", "date-time")
    layout = MICROSECOND_LAYOUT

    def __new__(cls, text: str) -> Self:
        stamp: Self = text if type(text) is cls else parse_micro_time(text)
        return stamp

    @classmethod
    def from_timestamp(cls, seconds: float) -> Self:
        """The microsecond in which ``seconds`` since 1970 UTC falls."""
        return cls._canonical(_EPOCH + timedelta(microseconds=int(seconds * 1_000_000 // 1)))

    @classmethod
    def _canonical(cls, moment: datetime) -> Self:
        return str.__new__(cls, f"{moment:%Y-%m-%dT%H:%M:%S.%f}Z".zfill(27))


# One stamp repeats through an object's conditions and owners: the caches save parsing and share the string.


@lru_cache(maxsize=2048)
def parse_time(text: str) -> Any:
    """The Time of an RFC 3339 text; what ``Time(text)`` calls. Raises TimeError."""
    return Time._canonical(_parsed(text, SECOND_LAYOUT))


@lru_cache(maxsize=2048)
def parse_micro_time(text: str) -> Any:
    """The MicroTime of a text; what ``MicroTime(text)`` calls. Raises TimeError."""
    return MicroTime._canonical(_parsed(text, MICROSECOND_LAYOUT))


@lru_cache(maxsize=2048)
def _seconds(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


def _parsed(text: str, layout: str) -> datetime:
    match = _TEXT.fullmatch(text)
    fraction = match[7] if match else None
    if match is None or (layout == MICROSECOND_LAYOUT and (fraction is None or len(fraction) != 6)):
        raise TimeError(_mismatch(text, layout))
    year, month, day, hour, minute, second = (int(part) for part in match.groups()[:6])
    offset_hours, offset_minutes = int(match[9] or 0), int(match[10] or 0)
    for wrong, name in (
        (not 1 <= month <= 12, "month"),
        (hour > 23, "hour"),
        (minute > 59, "minute"),
        (second > 59, "second"),
        (offset_hours > 24, "time zone offset hour"),
        (offset_minutes > 60, "time zone offset minute"),
    ):
        if wrong:
            raise TimeError(f'parsing time "{text}": {name} out of range')
    micros = int((fraction or "")[:6].ljust(6, "0"))
    offset = timedelta(hours=offset_hours, minutes=offset_minutes)
    try:
        moment = datetime(year, month, day, hour, minute, second, micros, tzinfo=UTC)
        return moment + offset if match[8] == "-" else moment - offset
    except (ValueError, OverflowError):
        # What is left is the day of the month; years before 1 and after 9999 have no use here.
        raise TimeError(f'parsing time "{text}": day out of range') from None


_ELEMENTS = (
    ("2006", r"\d{4}"),
    ("-", "-"),
    ("01", r"\d\d"),
    ("-", "-"),
    ("02", r"\d\d"),
    ("T", "T"),
    ("15", r"\d\d"),
    (":", ":"),
    ("04", r"\d\d"),
    (":", ":"),
    ("05", r"\d\d"),
    (".000000", r"\.\d{6}"),
    ("Z07:00", r"Z|[+-]\d\d:\d\d"),
)


def _mismatch(text: str, layout: str) -> str:
    """Go's message: the first element of the layout that the text does not follow, and where."""
    rest = text
    for element, pattern in _ELEMENTS:
        if element == ".000000" and layout == SECOND_LAYOUT:
            pattern = r"(?:[.,]\d+)?"
        match = re.match(pattern, rest, re.ASCII)
        if match is None:
            return f'parsing time "{text}" as "{layout}": cannot parse "{rest}" as "{element}"'
        rest = rest[match.end() :]
    return f'parsing time "{text}": extra text: "{rest}"'


# Durations, as metav1.Duration and command lines write them.

_UNITS = {"ns": 1, "us": 10**3, "µs": 10**3, "μs": 10**3, "ms": 10**6, "s": 10**9, "m": 60 * 10**9, "h": 3600 * 10**9}
_PART = re.compile(r"(\d*)(?:\.(\d*))?([^\d.]*)", re.ASCII)
_MAX_DURATION = 2**63 - 1


def parse_duration(text: str) -> int:
    """Nanoseconds of ``1h2m3.5s``; TimeError with Go's message otherwise."""
    sign, rest = (-1, text[1:]) if text.startswith("-") else (1, text.removeprefix("+"))
    if rest == "0":
        return 0
    if not rest:
        raise TimeError(f'time: invalid duration "{text}"')
    total = 0
    while rest:
        match = _PART.match(rest)
        if match is None or not (match[1] or match[2]):
            raise TimeError(f'time: invalid duration "{text}"')
        unit = match[3]
        if not unit:
            raise TimeError(f'time: missing unit in duration "{text}"')
        if unit not in _UNITS:
            raise TimeError(f'time: unknown unit "{unit}" in duration "{text}"')
        fraction = (match[2] or "")[:18]
        total += int(match[1] or 0) * _UNITS[unit] + int(fraction or 0) * _UNITS[unit] // 10 ** len(fraction)
        if total > _MAX_DURATION:
            raise TimeError(f'time: invalid duration "{text}"')
        rest = rest[match.end() :]
    return sign * total


def format_duration(nanoseconds: int) -> str:
    """Go's text of a duration: ``1h2m3.5s``, ``1.5ms``, ``0s``."""
    if nanoseconds == 0:
        return "0s"
    sign, rest = ("-", -nanoseconds) if nanoseconds < 0 else ("", nanoseconds)
    for unit, size in (("ns", 10**3), ("µs", 10**6), ("ms", 10**9)):
        if rest < size:
            return f"{sign}{_decimal(rest, size // 1000)}{unit}"
    minutes, rest = divmod(rest, 60 * 10**9)
    hours, minutes = divmod(minutes, 60)
    text = f"{_decimal(rest, 10**9)}s"
    if hours:
        text = f"{hours}h{minutes}m{text}"
    elif minutes:
        text = f"{minutes}m{text}"
    return sign + text


def _decimal(number: int, unit: int) -> str:
    whole, rest = divmod(number, unit)
    if not rest:
        return str(whole)
    return f"{whole}.{str(rest).zfill(len(str(unit)) - 1).rstrip('0')}"
