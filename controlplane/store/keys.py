"""How keys are ordered: by code point, which for UTF-8 is also byte order, so every engine agrees."""

from __future__ import annotations

_LAST = 0x10FFFF
_SURROGATES = range(0xD800, 0xE000)


def prefix_end(prefix: str) -> str:
    """The first key after all that start with `prefix`; "" when there is no such bound."""
    for cut in range(len(prefix) - 1, -1, -1):
        following = ord(prefix[cut]) + 1
        if following in _SURROGATES:
            following = _SURROGATES.stop
        if following <= _LAST:
            return prefix[:cut] + chr(following)
    return ""
