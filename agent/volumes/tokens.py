"""Service account tokens for projected volumes, asked for by TokenRequest and bound to the pod.

A token is renewed when 80 % of its life are over or it is a day old, a little earlier or later for each so that a
node's tokens do not all fall due together. An old token is used on while it is valid and the server cannot be reached.
Source: KEP-1205.
"""

from __future__ import annotations

import logging
import random
from collections.abc import Callable
from dataclasses import dataclass

from agent.volumes.host import SetUpError
from api import authentication_v1 as authentication
from api import core_v1 as core
from api.errors import StatusError
from client.clock import Clock, Timer
from client.errors import ClientError
from client.interface import Client

logger = logging.getLogger(__name__)

OLDEST = 24 * 3600.0
SHARE_OF_LIFE = 0.8
JITTER = 10.0
RETRY = 60.0
REQUEST_DEADLINE = 20.0


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which token: for whom, bound to which pod, for what audience and how long (seconds)."""

    namespace: str
    account: str
    pod: str
    uid: str
    audience: str
    seconds: int


@dataclass(frozen=True, slots=True)
class _Held:
    token: str
    expires: float
    renew_at: float


class Tokens:
    """The tokens of the pods on this node. `due` is told a pod's UID when a token of it wants renewing."""

    def __init__(
        self, client: Client, clock: Clock, due: Callable[[str], None], rng: random.Random | None = None
    ) -> None:
        self._client = client
        self._clock = clock
        self._due = due
        self._rng = rng or random.Random()
        self._held: dict[Wanted, _Held] = {}
        self._timers: dict[Wanted, Timer] = {}

    async def get(self, wanted: Wanted) -> str:
        """A valid token. Raises SetUpError."""
        now = self._clock.now()
        held = self._held.get(wanted)
        if held is not None and now < held.renew_at:
            return held.token
        try:
            fresh = await self._request(wanted)
        except (StatusError, ClientError, TimeoutError) as error:
            if held is not None and now < held.expires:
                logger.info('event=token_not_renewed pod=%s account=%s error="%s"', wanted.uid, wanted.account, error)
                self._remind(wanted, RETRY)
                return held.token
            raise SetUpError(f"failed to fetch token: {error}") from error
        self._held[wanted] = fresh
        self._remind(wanted, max(1.0, fresh.renew_at - now))
        return fresh.token

    def _remind(self, wanted: Wanted, seconds: float) -> None:
        """Have the pod told later; one reminder for each token, the last one set."""
        self._cancel(wanted)
        self._timers[wanted] = self._clock.call_later(seconds, self._due, wanted.uid)

    def _cancel(self, wanted: Wanted) -> None:
        timer = self._timers.pop(wanted, None)
        if timer is not None:
            timer.cancel()

    async def _request(self, wanted: Wanted) -> _Held:
        body = authentication.TokenRequest(
            spec=authentication.TokenRequestSpec(
                audiences=[wanted.audience] if wanted.audience else [],
                expiration_seconds=wanted.seconds,
                bound_object_ref=authentication.BoundObjectReference(
                    kind="Pod", api_version="v1", name=wanted.pod, uid=wanted.uid
                ),
            )
        )
        async with self._clock.timeout(REQUEST_DEADLINE):
            answer = await self._client.create_subresource(
                core.ServiceAccount,
                wanted.account,
                wanted.namespace,
                "token",
                body,
                authentication.TokenRequest,
            )
        if answer.status.expiration_timestamp is None:
            raise SetUpError("failed to fetch token: the server set no expiration")
        now, expires = self._clock.now(), answer.status.expiration_timestamp.timestamp()
        life = min((expires - now) * SHARE_OF_LIFE, OLDEST)
        return _Held(answer.status.token, expires, now + life - self._rng.random() * JITTER)

    def forget(self, uid: str) -> None:
        """Drop the tokens of a pod that is gone."""
        for wanted in [wanted for wanted in self._held if wanted.uid == uid]:
            self._cancel(wanted)
            del self._held[wanted]
