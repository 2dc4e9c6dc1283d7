"""Faults on demand: what a network and a server do to a client on a bad day.

Each fault applies to the calls it matches, so many times, and then is spent. It knows calls, not objects.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from client.clock import Clock
from client.errors import Unreachable


@dataclass(frozen=True, slots=True)
class Call:
    """One request: verb as in RBAC (get, list, watch, create, update, patch, delete, deletecollection), plural
    resource.
    """

    verb: str
    resource: str
    namespace: str = ""
    name: str = ""
    subresource: str = ""

    def __str__(self) -> str:
        path = "/".join(part for part in (self.resource, self.namespace, self.name, self.subresource) if part)
        return f"{self.verb} {path}"


Hook = Callable[[Call], Awaitable[None]]


@dataclass(slots=True)
class _Rule:
    """A fault that waits for its calls; `skip` of them go well before it strikes."""

    verb: str
    resource: str
    name: str
    subresource: str | None
    skip: int
    times: int | None
    action: Hook
    after: bool

    def strikes(self, call: Call) -> bool:
        if self.verb not in ("", call.verb) or self.resource not in ("", call.resource):
            return False
        if self.name not in ("", call.name) or (self.subresource is not None and self.subresource != call.subresource):
            return False
        if self.skip > 0:
            self.skip -= 1
            return False
        if self.times is None:
            return True
        self.times -= 1
        return self.times >= 0


class Faults:
    """The faults of one fake server. `offline` refuses every connection, open watches excepted: see `drop_watches`."""

    def __init__(self, clock: Clock) -> None:
        self.offline = False
        self._clock = clock
        self._rules: list[_Rule] = []
        self._stale: dict[str, int] = {}
        self._watch_cuts: list[Callable[[str], int]] = []

    def clear(self) -> None:
        """All is well again."""
        self.offline = False
        self._rules.clear()
        self._stale.clear()

    def fail(
        self,
        error: Exception,
        *,
        verb: str = "",
        resource: str = "",
        name: str = "",
        subresource: str | None = None,
        skip: int = 0,
        times: int | None = 1,
    ) -> None:
        """Refuse matching calls with an error, before they have an effect; `times` None is for ever."""

        async def action(call: Call) -> None:
            raise error

        self._rules.append(_Rule(verb, resource, name, subresource, skip, times, action, after=False))

    def lose_answer(
        self, *, verb: str = "", resource: str = "", name: str = "", skip: int = 0, times: int | None = 1
    ) -> None:
        """Carry matching calls out, then break the connection: the caller cannot know that they took effect."""

        async def action(call: Call) -> None:
            raise Unreachable(f"{call}: connection reset by peer")

        self._rules.append(_Rule(verb, resource, name, None, skip, times, action, after=True))

    def delay(
        self,
        seconds: float,
        *,
        verb: str = "",
        resource: str = "",
        name: str = "",
        skip: int = 0,
        times: int | None = None,
    ) -> None:
        """Hold matching calls up before they have an effect."""

        async def action(call: Call) -> None:
            await self._clock.sleep(seconds)

        self._rules.append(_Rule(verb, resource, name, None, skip, times, action, after=False))

    def hook(
        self, action: Hook, *, verb: str = "", resource: str = "", after: bool = False, times: int | None = None
    ) -> None:
        """Run code of the test's own before (or after) matching calls; it may wait, and it may raise."""
        self._rules.append(_Rule(verb, resource, "", None, 0, times, action, after))

    def serve_stale_lists(self, resource: str, changes: int) -> None:
        """Lie: lists show the state of so many changes ago, as a lagging replica's would; 0 stops it."""
        self._stale[resource] = changes

    def staleness(self, resource: str) -> int:
        """How many changes back lists of a resource look."""
        return self._stale.get(resource, 0)

    def drop_watches(self, resource: str = "") -> int:
        """Cut the open watches of a resource (of all, unless one is named), without a word; returns how many there
        were.
        """
        return sum(cut(resource) for cut in self._watch_cuts)

    def on_drop(self, cut: Callable[[str], int]) -> None:
        """For the server: how watches are cut."""
        self._watch_cuts.append(cut)

    async def before(self, call: Call) -> None:
        """For the client: what strikes before a call takes effect."""
        if self.offline:
            raise Unreachable(f"{call}: connection refused")
        await self._strike(call, after=False)

    async def after(self, call: Call) -> None:
        """For the client: what strikes once a call took effect."""
        await self._strike(call, after=True)

    async def _strike(self, call: Call, *, after: bool) -> None:
        for rule in [rule for rule in self._rules if rule.after is after]:
            if rule.strikes(call):
                await rule.action(call)
        self._rules = [rule for rule in self._rules if rule.times is None or rule.times > 0]
