"""What this process may do: Linux capabilities, read from /proc (capabilities(7))."""

from __future__ import annotations

from pathlib import Path


def has_capability(number: int, status: str | None = None) -> bool:
    """Whether the effective set of this process holds capability `number`.

    `status` stands in for /proc/self/status in tests.
    """
    text = Path("/proc/self/status").read_text(encoding="ascii") if status is None else status
    for line in text.splitlines():
        if line.startswith("CapEff:"):
            return bool(int(line.split()[1], 16) >> number & 1)
    return False
