"""The one failure of authentication: a credential was shown, and it is not good."""

from __future__ import annotations


class Rejected(Exception):
    """A credential that does not prove who asks; the text says why, for logs and for TokenReview, never for the 401."""
