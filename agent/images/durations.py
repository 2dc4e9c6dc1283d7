"""Durations as Go prints them, which is how pull events tell them: `393ms`, `1.204s`, `2m3.5s`."""

from __future__ import annotations


def duration_text(seconds: float) -> str:
    """Cut to whole milliseconds."""
    millis = int(seconds * 1000 + 1e-6)
    if millis == 0:
        return "0s"
    if millis < 1000:
        return f"{millis}ms"
    minutes, rest = divmod(millis, 60_000)
    hours, minutes = divmod(minutes, 60)
    text = f"{rest / 1000:.3f}".rstrip("0").rstrip(".") + "s"
    if hours:
        return f"{hours}h{minutes}m{text}"
    return f"{minutes}m{text}" if minutes else text
