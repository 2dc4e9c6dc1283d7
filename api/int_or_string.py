"""IntOrString: a number, or a string that is a percentage or a name (a port's). Rules of apimachinery's util/intstr."""

import re
from typing import Annotated

from api.declarations import Definition

IntOrString = Annotated[
    int | str, Definition("io.k8s.apimachinery.pkg.util.intstr.IntOrString", "string", "int-or-string")
]

_PERCENT = re.compile(r"[0-9]+%")


def percent(value: int | str) -> int | None:
    """The number before the percent sign, or None when the value is no percentage."""
    if isinstance(value, int) or not _PERCENT.fullmatch(value):
        return None
    return int(value[:-1])


def scaled(value: int | str, total: int, *, round_up: bool) -> int:
    """An absolute number as it is, a percentage as that share of ``total``; ValueError for any other string."""
    if isinstance(value, int):
        return value
    share = percent(value)
    if share is None:
        raise ValueError("invalid value for IntOrString: invalid type: string is not a percentage")
    return -(-share * total // 100) if round_up else share * total // 100


def canonical(value: int | str) -> str:
    """The value as text, as it would stand in a message."""
    return str(value)
