"""CPU in the kernel's units.

A millicore of request becomes a proportional share, a millicore of limit a quota of each period (CFS bandwidth,
kernel document scheduler/sched-bwc). Rounding and bounds are upstream's.
"""

from __future__ import annotations

LEAST_SHARES = 2
MOST_SHARES = 262_144
SHARES_PER_CPU = 1024
LEAST_QUOTA = 1000
"""Microseconds; the kernel takes no less."""
DEFAULT_PERIOD = 100_000
"""Microseconds."""


def shares_of(milli: int) -> int:
    """cpu.shares for a request in millicores; no request gets the least there is."""
    return min(max(milli * SHARES_PER_CPU // 1000, LEAST_SHARES), MOST_SHARES)


def weight_of(shares: int) -> int:
    """cpu.weight (1 to 10000) for cpu.shares (2 to 262144), linear as in KEP-2254.

    Runtimes from runc 1.3.2 on use another curve for the containers they make; pods and QoS classes are compared with
    each other only, and the agent makes all of those.
    """
    return min(1 + (max(shares, LEAST_SHARES) - 2) * 9999 // 262_142, 10_000)


def quota_of(milli: int, period: int = DEFAULT_PERIOD) -> int:
    """Microseconds of CPU a period for a limit in millicores; 0 for no limit."""
    if milli == 0:
        return 0
    return max(milli * period // 1000, LEAST_QUOTA)
