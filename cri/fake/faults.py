"""Faults to be met on the way to and from the fake runtime.

A `Fault` is armed for a method, for some number of calls, optionally for certain requests only; the transport takes it
when such a call comes. `Faults.sprinkle` arms random ones from a seed, so that a schedule of faults can be run again.
What the runtime itself gets wrong (its lies) is in `cri.fake.lies`.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from google.protobuf.message import Message


@dataclass(frozen=True, slots=True)
class Fault:
    """What befalls one call. The parts combine: it is delayed first, then fails, hangs or loses its reply."""

    delay: float = 0.0
    """Seconds before anything happens."""
    code: str = ""
    """gRPC status to fail with instead of having an effect ("NotFound", "Unavailable", "Unknown")."""
    message: str = "injected fault"
    hang: bool = False
    """Never answers, and has no effect; the caller's deadline ends it."""
    lose_reply: bool = False
    """Has its effect, then fails as if the runtime had died: the crash between doing and telling."""


@dataclass(slots=True)
class _Armed:
    method: str
    fault: Fault
    left: int | None
    when: Callable[[Message], bool]


class Faults:
    """The faults that are armed, in the order they were armed."""

    def __init__(self, seed: int = 0) -> None:
        self._random = random.Random(seed)
        self._armed: list[_Armed] = []
        self._rate = 0.0
        self._choices: Sequence[Fault] = ()
        self._methods: frozenset[str] = frozenset()

    def arm(
        self,
        method: str,
        fault: Fault,
        *,
        times: int | None = 1,
        when: Callable[[Message], bool] = lambda request: True,
    ) -> None:
        """Arms a fault for the next `times` calls of an RPC ("StopContainer"; None: for all) whose request fits."""
        self._armed.append(_Armed(method, fault, times, when))

    def sprinkle(self, rate: float, choices: Sequence[Fault], methods: Sequence[str] = ()) -> None:
        """Lets a random one of `choices` befall a share `rate` of all calls, of these methods only if any are named."""
        self._rate, self._choices, self._methods = rate, choices, frozenset(methods)

    def clear(self) -> None:
        """Disarms everything."""
        self._armed.clear()
        self._rate = 0.0

    def take(self, method: str, request: Message) -> Fault | None:
        """The fault that befalls this call, used up by it."""
        for armed in self._armed:
            if armed.method == method and armed.when(request):
                if armed.left is not None:
                    armed.left -= 1
                    if armed.left <= 0:
                        self._armed.remove(armed)
                return armed.fault
        if self._rate and (not self._methods or method in self._methods) and self._random.random() < self._rate:
            return self._random.choice(self._choices)
        return None
