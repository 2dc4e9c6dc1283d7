"""How a wire name becomes a Python name, and when the wire name can be left unsaid."""

import keyword
import re

# Inside a class body these would shadow the types that the following annotations mean.
_TYPE_NAMES = frozenset({"bool", "bytes", "dict", "float", "int", "list", "str"})

# An acronym (with its plural s: podIPs, nonResourceURLs), or a word, or digits that open a word.
_WORD = re.compile(r"[A-Z]{2,}s(?=[A-Z]|$)|[A-Z]+(?![a-z])[0-9]*|[A-Z]?[a-z0-9]+|[0-9]+")

# Two words that run into one another, which no pattern can tell apart.
_IRREGULAR = {"openAPIV3Schema": "open_api_v3_schema"}


def attribute(wire: str) -> str:
    """``podIPs`` → ``pod_ips``; keywords and names of built-in types get a trailing underscore."""
    name = _IRREGULAR.get(wire) or "_".join(word.lower() for word in _WORD.findall(wire))
    return name + "_" if keyword.iskeyword(name) or name in _TYPE_NAMES else name


def is_regular(wire: str) -> bool:
    """Whether msgspec's camelCase of the Python name is the wire name."""
    head, *tail = attribute(wire).rstrip("_").split("_")
    return head + "".join(word.title() for word in tail) == wire
