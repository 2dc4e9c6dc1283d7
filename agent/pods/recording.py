"""What was planned for a pod and how it went: a short memory per pod, for `orlop explain` and the curious.

It is bounded, holds plain values, and nothing ever decides by it.
"""

from __future__ import annotations

from collections import deque
from dataclasses import asdict, dataclass, field
from typing import Any

from agent.pods.plans import Action, Plan

KEPT = 32
"""Entries per pod: some ten restarts with their back-offs."""


@dataclass(slots=True)
class Entry:
    """One plan, or one step outside of plans; times are wall seconds."""

    at: float
    what: str
    actions: list[str] = field(default_factory=list)
    outcome: str = ""
    took: float = 0.0


class Record:
    """The last entries of one pod, oldest first."""

    def __init__(self) -> None:
        self._entries: deque[Entry] = deque(maxlen=KEPT)

    def plan(self, plan: Plan, now: float) -> Entry:
        """Note a plan; the caller fills in how it went."""
        actions = [_tell(one) for one in plan.actions]
        actions += [f"wait {one.delay:.0f}s name={one.name}" for one in plan.backing_off]
        return self.note("plan", now, actions)

    def note(self, what: str, now: float, actions: list[str] | None = None) -> Entry:
        """Note a step."""
        entry = Entry(now, what, actions or [])
        self._entries.append(entry)
        return entry

    def dump(self) -> list[dict[str, Any]]:
        """As JSON values."""
        return [asdict(one) for one in self._entries]


def _tell(action: Action) -> str:
    parts = []
    for name in action.__dataclass_fields__:
        value = getattr(action, name)
        if value not in ("", None):
            parts.append(f"{name}={getattr(value, 'value', value)}")
    return " ".join([type(action).__name__, *parts])
