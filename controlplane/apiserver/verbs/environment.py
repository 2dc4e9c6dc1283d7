"""What the verbs need of the rest of the server, handed in once."""

from __future__ import annotations

import random
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from api.times import Time
from controlplane.apiserver.admission.attributes import Attributes
from controlplane.apiserver.authorization.decisions import Decision
from controlplane.apiserver.exchange import Exchange
from controlplane.apiserver.registry.registry import Registry
from controlplane.apiserver.registry.strategy import Write
from controlplane.apiserver.request import RequestInfo, User

# Characters of generated names: no vowels, so that no words arise, and nothing that is easily misread.
_NAME_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
_NAME_RANDOM = 5
_NAME_MAX = 63

#: How often a generated name is tried before the client is told of the collision.
GENERATE_ATTEMPTS = 8


class Authorizes(Protocol):
    """Tells what a user may do."""

    def authorize(self, user: User, info: RequestInfo) -> Decision: ...


class Admits(Protocol):
    """The admission chain: may change the new object, or refuse the request with a StatusError."""

    async def admit(self, attributes: Attributes) -> None: ...


@dataclass(frozen=True, slots=True)
class Environment:
    """Admission, time and chance."""

    admission: Admits
    authorizer: Authorizes
    #: Wall-clock seconds.
    now: Callable[[], float]
    random: random.Random = field(default_factory=random.SystemRandom)

    async def admit(
        self, operation: str, exchange: Exchange, registry: Registry, new: Any, old: Any, *, dry_run: bool
    ) -> None:
        """Put a write before the admission chain."""
        await self.admission.admit(
            Attributes(operation, exchange.info, registry.resource, new, old, exchange.user, dry_run)
        )

    def write(self, exchange: Exchange, *, dry_run: bool) -> Write:
        """The circumstances of a write, for strategies."""
        return Write(exchange.user, self.now(), dry_run, exchange.warn)

    def stamp(self) -> Time:
        """The present, to the second."""
        return Time.from_timestamp(self.now())

    def uid(self) -> str:
        """A new UID (RFC 4122, version 4)."""
        return str(uuid.uuid4())

    def generate_name(self, base: str) -> str:
        """A name that begins with `base` and ends in five random characters."""
        base = base[: _NAME_MAX - _NAME_RANDOM]
        return base + "".join(self.random.choices(_NAME_ALPHABET, k=_NAME_RANDOM))
