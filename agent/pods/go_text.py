"""Values in words as Go prints them: upstream's events, statuses and files tell them so."""

from __future__ import annotations

from collections.abc import Iterable

_ESCAPES = {'"': '\\"', "\\": "\\\\", "\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_ESCAPES["\v"] = "\\v"


def seconds_text(seconds: float) -> str:
    """Whole seconds as a duration: 10s, 1m20s, 5m0s."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}m{rest}s" if minutes else f"{rest}s"


def listed(words: Iterable[str]) -> str:
    """A list of strings: [a b c]."""
    return f"[{' '.join(words)}]"


def quoted(text: str) -> str:
    """A string in quotes (strconv.Quote): what can be printed stays, the rest is escaped; bytes that are no UTF-8 are
    taken as surrogates (`surrogateescape`).
    """
    return '"' + "".join(_ESCAPES.get(char) or _escaped(char) for char in text) + '"'


def _escaped(char: str) -> str:
    if char.isprintable():
        return char
    code = ord(char)
    if 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code - 0xDC00:02x}"
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
