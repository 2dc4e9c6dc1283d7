"""What differs between two structs, for the message of a refused update.

The reference implementation prints a diff of its internal types in a format of its own that nobody parses; here each
changed field stands on one line, old value and new.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from api.rendering import go_form, to_json


def describe(old: Any, new: Any) -> str:
    """One line per changed field: `-	containers[0].image: "a"`, then `+` with the new value."""
    lines = []
    for path, before, after in _changes("", old, new):
        lines.append(f"- \t{path}: {_shown(before)}")
        lines.append(f"+ \t{path}: {_shown(after)}")
    return "\n".join(lines) + "\n"


def _shown(value: Any) -> str:
    return to_json(go_form(value))


def _changes(path: str, old: Any, new: Any) -> Iterator[tuple[str, Any, Any]]:
    if old == new:
        return
    if isinstance(old, msgspec.Struct) and type(old) is type(new):
        for field in msgspec.structs.fields(old):
            step = f"{path}.{field.encode_name}" if path else field.encode_name
            yield from _changes(step, getattr(old, field.name), getattr(new, field.name))
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for index, (before, after) in enumerate(zip(old, new, strict=True)):
            yield from _changes(f"{path}[{index}]", before, after)
    else:
        yield path, old, new
