"""What a probe can come to."""

from __future__ import annotations

import enum
from dataclasses import dataclass


class ProbeType(enum.Enum):
    """The three questions; the value is how events name them."""

    LIVENESS = "Liveness"
    READINESS = "Readiness"
    STARTUP = "Startup"


class Verdict(enum.Enum):
    SUCCESS = "success"
    WARNING = "warning"
    """Success, with something to tell."""
    FAILURE = "failure"


@dataclass(frozen=True, slots=True)
class Outcome:
    """One answer; `output` is what an event may quote."""

    verdict: Verdict
    output: str = ""


class ProbeError(Exception):
    """The probe itself could not be carried out: it says nothing about the container."""


class ProbeLate(ProbeError):
    """The node was too busy to carry the probe out in time: its answer, or that there was none, means nothing."""


def failure(output: str) -> Outcome:
    return Outcome(Verdict.FAILURE, output)


SUCCESS = Outcome(Verdict.SUCCESS)
LARGEST_OUTPUT = 10 * 1024
"""Bytes of an answer or of a command's output that are looked at."""
USER_AGENT = "kube-probe/1.36"
