"""Durations as kubectl shows them: two or three significant figures, coarser the longer they are.

The steps are those of apimachinery's ``duration.HumanDuration``: seconds up to two minutes, minutes up to three
hours, and so on to years.
"""

from __future__ import annotations

from api.times import MicroTime, Time

UNKNOWN = "<unknown>"

_MINUTE, _HOUR, _DAY, _YEAR = 60, 3600, 86400, 365 * 86400


def since(moment: Time | MicroTime | None, now: float) -> str:
    """How long ago *moment* was; *now* in seconds since the epoch."""
    return UNKNOWN if moment is None else human(now - moment.timestamp())


def human(seconds: float) -> str:
    """A duration of *seconds*; clocks may disagree by less than two seconds, beyond that the past is invalid."""
    whole = int(seconds)
    if whole < -1:
        return "<invalid>"
    if whole < 2 * _MINUTE:
        return f"{max(whole, 0)}s"
    if whole < 10 * _MINUTE:
        return _two(whole, _MINUTE, "m", 1, "s")
    if whole < 3 * _HOUR:
        return f"{whole // _MINUTE}m"
    if whole < 8 * _HOUR:
        return _two(whole, _HOUR, "h", _MINUTE, "m")
    if whole < 48 * _HOUR:
        return f"{whole // _HOUR}h"
    if whole < 8 * _DAY:
        return _two(whole, _DAY, "d", _HOUR, "h")
    if whole < 2 * _YEAR:
        return f"{whole // _DAY}d"
    if whole < 8 * _YEAR:
        return _two(whole, _YEAR, "y", _DAY, "d")
    return f"{whole // _YEAR}y"


def _two(seconds: int, large: int, large_unit: str, small: int, small_unit: str) -> str:
    rest = seconds % large // small
    return f"{seconds // large}{large_unit}" + (f"{rest}{small_unit}" if rest else "")
