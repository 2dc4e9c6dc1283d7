"""Keep a certificate or issue it anew: a pure judgement of what was found on disk against what is wanted, now.

A private key is kept for as long as it can be read: renewing replaces the certificate alone, which is one rename, so
that a crash never leaves a key and a certificate that do not belong together.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

from controlplane.pki.profiles import Profile

CA_LIFETIME = 10 * 365 * 86400.0
"""Seconds."""

LIFETIME = 365 * 86400.0
"""Seconds a certificate below the CA is valid for."""

RENEW_AT = 1 / 3
"""The part of its lifetime left at which a certificate is renewed at the next start."""

BACKDATING = 3600.0
"""Seconds before now from which a certificate is valid: clocks differ."""


@dataclass(frozen=True, slots=True)
class Found:
    """A certificate on disk. Times are seconds since the epoch."""

    common_name: str
    organization: str
    client: bool
    server: bool
    dns_names: frozenset[str]
    addresses: frozenset[str]
    not_before: float
    not_after: float
    fits_key: bool
    signed_by_ca: bool


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A file that is there but is not what its name says."""

    cause: str


class Action(enum.Enum):
    KEEP = "keep"
    ISSUE = "issue"
    REPLACE_DAMAGED = "set aside and issue"


@dataclass(frozen=True, slots=True)
class Decision:
    action: Action
    reason: str = ""


KEEP = Decision(Action.KEEP)


def decide_ca(found: Found | Unreadable | None, now: float) -> Decision:
    """What to do about the certificate of the CA whose key is at hand."""
    if found is None:
        return Decision(Action.ISSUE, "there is none")
    if isinstance(found, Unreadable):
        return Decision(Action.REPLACE_DAMAGED, found.cause)
    if not found.fits_key:
        # Everything out there trusts this one; whoever finds the key again can put it back.
        return Decision(Action.REPLACE_DAMAGED, "its key is lost")
    return _decide_by_age(found, now)


def decide(profile: Profile, found: Found | Unreadable | None, now: float) -> Decision:
    """What to do about a certificate below the CA."""
    if found is None:
        return Decision(Action.ISSUE, "there is none")
    if isinstance(found, Unreadable):
        return Decision(Action.REPLACE_DAMAGED, found.cause)
    if not found.signed_by_ca:
        return Decision(Action.ISSUE, "it was not signed by this CA")
    if not found.fits_key:
        return Decision(Action.ISSUE, "it does not belong to its key")
    subject = (profile.common_name, profile.organization, profile.client, profile.server)
    if (found.common_name, found.organization, found.client, found.server) != subject:
        return Decision(Action.ISSUE, f"it is for {found.common_name}")
    missing = ({*profile.dns_names} - found.dns_names) | ({*profile.addresses} - found.addresses)
    if missing:
        return Decision(Action.ISSUE, f"it lacks {', '.join(sorted(missing))}")
    return _decide_by_age(found, now)


def _decide_by_age(found: Found, now: float) -> Decision:
    # One that is not valid yet is kept: it is the clock that is wrong, and what it would issue would be, too.
    left = found.not_after - now
    if left <= 0:
        return Decision(Action.ISSUE, "it has expired")
    if left < (found.not_after - found.not_before) * RENEW_AT:
        return Decision(Action.ISSUE, f"it expires in {left / 86400:.0f} days")
    return KEEP
