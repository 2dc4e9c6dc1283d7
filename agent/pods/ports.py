"""Which number a port of a probe or hook means: a number, or the name of one of the container's ports."""

from __future__ import annotations

from agent.pods.go_text import quoted
from api.pods import AnyContainer


def resolve_port(port: int | str, container: AnyContainer) -> int:
    """Raises ValueError when the number is out of range, or when no port has the name: upstream then takes the name for
    a number, and tells what is wrong with that.
    """
    if isinstance(port, int):
        number = port
    else:
        named = [one.container_port for one in container.ports if one.name == port]
        if named:
            number = named[0]
        elif port.isdigit():
            number = int(port)
        else:
            raise ValueError(f"strconv.Atoi: parsing {quoted(port)}: invalid syntax")
    if not 0 < number < 65536:
        raise ValueError(f"invalid port number: {number}")
    return number
