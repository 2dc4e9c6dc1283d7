"""Back-off of failing pulls: 10 s, doubled up to 5 min, for each pod and image.

What has been quiet for twice the longest pause starts anew.
"""

from __future__ import annotations

from dataclasses import dataclass

FIRST = 10.0
LONGEST = 300.0
_FORGET_AFTER = 2 * LONGEST


@dataclass(slots=True)
class _Entry:
    pause: float
    failed_at: float
    message: str


class PullBackoff:
    """Times are monotonic seconds of one clock."""

    def __init__(self, first: float = FIRST, longest: float = LONGEST) -> None:
        self._first = first
        self._longest = longest
        self._entries: dict[tuple[str, str], _Entry] = {}

    def failed(self, key: tuple[str, str], now: float, message: str) -> float:
        """Notes a failure; returns the seconds to wait from now."""
        self._forget(now)
        entry = self._entries.get(key)
        pause = self._first if entry is None else min(entry.pause * 2, self._longest)
        self._entries[key] = _Entry(pause, now, message)
        return pause

    def remaining(self, key: tuple[str, str], now: float) -> tuple[float, str]:
        """Seconds still to wait and the message of the failure; 0 and "" when there is none to wait for."""
        entry = self._entries.get(key)
        if entry is None or now - entry.failed_at >= entry.pause:
            return 0.0, ""
        return entry.pause - (now - entry.failed_at), entry.message

    def _forget(self, now: float) -> None:
        stale = [key for key, entry in self._entries.items() if now - entry.failed_at > _FORGET_AFTER]
        for key in stale:
            del self._entries[key]
