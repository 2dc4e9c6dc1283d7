"""Files of environment variables, as an init container leaves them in a volume (KEP-3721).

One `NAME='value'` a line. Values are in single quotes and taken as they stand, over several lines if need be; blank
lines and lines that begin with `#` say nothing. It is the part of the shell's syntax in which nothing is ever expanded.
"""

from __future__ import annotations

import re

MOST_BYTES = 64 * 1024

_NAME = re.compile(r"[ -<>-~]+")


class EnvFileError(ValueError):
    """The file is not of the form; the message names the line."""


def parse_env_file(content: str) -> dict[str, str]:
    """Variables by name; of several definitions of one name the last counts."""
    if len(content.encode("utf-8", "surrogateescape")) > MOST_BYTES:
        raise EnvFileError(f"larger than {MOST_BYTES} bytes")
    values: dict[str, str] = {}
    at, line = 0, 1
    while at < len(content):
        end = content.find("\n", at)
        end = len(content) if end < 0 else end
        text = content[at:end].strip()
        if not text or text.startswith("#"):
            at, line = end + 1, line + 1
            continue
        name, equals, rest = content[at:].partition("=")
        name = name.strip()
        if not equals or "\n" in name or not _NAME.fullmatch(name):
            raise EnvFileError(f"line {line}: no NAME='value'")
        if not rest.startswith("'"):
            raise EnvFileError(f"line {line}: value of {name} is not in single quotes")
        value, quote, after = rest[1:].partition("'")
        if not quote:
            raise EnvFileError(f"line {line}: value of {name} is not closed")
        tail = after.partition("\n")[0]
        if tail.strip():
            raise EnvFileError(f"line {line}: text after the value of {name}")
        values[name] = value
        line += value.count("\n") + 1
        at = len(content) - len(after) + len(tail) + 1
    return values
