"""Who may use the agent's API: the API server decides, by TokenReview and SubjectAccessReview.

A client certificate of the cluster's authority names its user itself. Answers are kept for a while, as upstream keeps
them, so that a scrape every second is not a review every second; a "no" is kept shorter, since somebody is waiting for
it to change. Anonymous requests are refused.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from agent.server.http import Problem
from agent.server.routes import permissions
from api import authentication_v1 as authentication
from api import authorization_v1 as authorization
from api.errors import StatusError
from client.certificates import CertificateAuthenticator, CertificateRejected, Subject
from client.clock import Clock
from client.errors import ClientError

TOKEN_TTL = 120.0
ALLOWED_TTL, DENIED_TTL = 300.0, 30.0
MOST_ENTRIES = 1024
T = TypeVar("T")
_FAILURES = (StatusError, ClientError, TimeoutError)

logger = logging.getLogger(__name__)

Review = Callable[[Any], Awaitable[Any]]


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks."""

    name: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: tuple[tuple[str, tuple[str, ...]], ...] = ()


@dataclass(slots=True)
class _Kept(Generic[T]):
    """Answers until they are too old, the oldest forgotten first when there are too many."""

    clock: Clock
    entries: OrderedDict[Hashable, tuple[float, T]] = field(default_factory=OrderedDict)

    def get(self, key: Hashable) -> T | None:
        found = self.entries.get(key)
        if found is None or found[0] < self.clock.monotonic():
            return None
        return found[1]

    def put(self, key: Hashable, value: T, ttl: float) -> None:
        self.entries.pop(key, None)
        self.entries[key] = (self.clock.monotonic() + ttl, value)
        while len(self.entries) > MOST_ENTRIES:
            self.entries.popitem(last=False)


class Access:
    """Checks requests. `review` posts a review object to the API server and returns it answered.

    `client_ca` holds the certificates (PEM) of those who may sign client certificates; ValueError if it has none.
    """

    def __init__(self, node_name: str, review: Review, clock: Clock, client_ca: bytes) -> None:
        self._node_name = node_name
        self._certificates = CertificateAuthenticator(client_ca, clock, caller_of)
        self._review = review
        self._callers: _Kept[Caller] = _Kept(clock)
        self._decisions: _Kept[bool] = _Kept(clock)

    async def check(self, certificate: bytes | None, header: str, method: str, path: str) -> Caller:
        """Let the request through or raise Problem: 401 without good credentials, 403 without permission.

        `certificate` (DER) is what the client showed, as yet unverified.
        """
        caller = await self.identify(certificate, header)
        verb, subresources = permissions(method, path)
        for subresource in subresources:
            if await self._is_allowed(caller, verb, subresource):
                return caller
        listed = " ".join(subresources)
        raise Problem(403, f"Forbidden (user={caller.name}, verb={verb}, resource=nodes, subresource(s)=[{listed}])\n")

    async def identify(self, certificate: bytes | None, header: str) -> Caller:
        """Who shows this certificate or else this Authorization header. Raises Problem (401)."""
        if certificate is not None:
            try:
                return self._certificates.authenticate(certificate)
            except CertificateRejected as rejected:
                logger.info('event=certificate_rejected error="%s"', rejected)
        scheme, _, token = header.partition(" ")
        if scheme.lower() == "bearer" and token.strip():
            return await self._caller_of(token.strip())
        raise _unauthorized()

    async def _caller_of(self, token: str) -> Caller:
        kept = self._callers.get(token)
        if kept is not None:
            return kept
        review = authentication.TokenReview(spec=authentication.TokenReviewSpec(token=token))
        try:
            answered = await self._review(review)
        except _FAILURES as error:
            logger.warning('event=token_not_reviewed error="%s"', error)
            raise _unauthorized() from error
        user = answered.status.user
        if not answered.status.authenticated or user is None:
            raise _unauthorized()
        extra = tuple(sorted((key, tuple(values)) for key, values in (user.extra or {}).items()))
        caller = Caller(user.username, user.uid, tuple(user.groups), extra)
        self._callers.put(token, caller, TOKEN_TTL)
        return caller

    async def _is_allowed(self, caller: Caller, verb: str, subresource: str) -> bool:
        key = (caller, verb, subresource)
        kept = self._decisions.get(key)
        if kept is not None:
            return kept
        review = authorization.SubjectAccessReview(
            spec=authorization.SubjectAccessReviewSpec(
                user=caller.name,
                uid=caller.uid,
                groups=list(caller.groups),
                extra={name: list(values) for name, values in caller.extra},
                resource_attributes=authorization.ResourceAttributes(
                    verb=verb, version="v1", resource="nodes", subresource=subresource, name=self._node_name
                ),
            )
        )
        try:
            answered = await self._review(review)
        except _FAILURES as error:
            logger.warning(
                'event=access_not_reviewed user=%s subresource=%s error="%s"', caller.name, subresource, error
            )
            text = f"Authorization error (user={caller.name}, verb={verb}, resource=nodes, subresource={subresource})"
            raise Problem(500, text) from error
        allowed = bool(answered.status.allowed)
        self._decisions.put(key, allowed, ALLOWED_TTL if allowed else DENIED_TTL)
        return allowed


def _unauthorized() -> Problem:
    return Problem(401, "Unauthorized")


def caller_of(subject: Subject) -> Caller:
    """The user that a certificate names."""
    return Caller(subject.name, subject.uid, subject.groups, subject.extra)
