"""References to variables in commands, arguments and environment values: `$(NAME)`.

A reference to an unknown variable stays as it is written; `$$` stands for one dollar, so `$$(NAME)` gives `$(NAME)`.
The syntax is that of the API documentation of `Container.command`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

# A dollar followed by another, by a closed reference, or by anything else; an unclosed "$(" is text.
_REFERENCE = re.compile(r"\$(?:(\$)|\(([^)]*)\))")


def expand(text: str, values: Mapping[str, str]) -> str:
    """Replaces every reference whose variable is known."""
    if "$" not in text:
        return text
    return _REFERENCE.sub(_replacer(values), text)


def without_value(text: str, values: Mapping[str, str]) -> list[str]:
    """Names that are referred to and are not known, or empty; sorted, each once."""
    referred = {match[2] for match in _REFERENCE.finditer(text) if match[1] is None}
    return sorted(name for name in referred if not values.get(name))


def _replacer(values: Mapping[str, str]) -> Callable[[re.Match[str]], str]:
    def replace(match: re.Match[str]) -> str:
        if match[1] is not None:
            return "$"
        return values.get(match[2], match[0])

    return replace
