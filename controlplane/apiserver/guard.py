"""Who asks, on whose behalf, and may they: authentication, impersonation and authorization as one step."""

from __future__ import annotations

from collections.abc import Mapping

from api import errors
from controlplane.apiserver.authentication.authenticator import Authenticator
from controlplane.apiserver.authentication.impersonation import effective_user
from controlplane.apiserver.authorization.authorizer import Authorizer
from controlplane.apiserver.authorization.decisions import forbidden
from controlplane.apiserver.request import RequestInfo, User


class Guard:
    """The gate every request passes before anything is done for it."""

    def __init__(self, authenticator: Authenticator, authorizer: Authorizer) -> None:
        self._authenticator = authenticator
        self._authorizer = authorizer

    def identify(self, headers: Mapping[str, str], peer_certificate: bytes | None, info: RequestInfo) -> User:
        """The user the request counts as; raises StatusError (Unauthorized, Forbidden)."""
        user = self._authenticator.authenticate(headers, peer_certificate, info.path)
        if user is None:
            raise errors.unauthorized("Unauthorized")
        user = effective_user(user, headers, self._authorizer)
        decision = self._authorizer.authorize(user, info)
        if not decision.allowed:
            raise forbidden(user, info, decision.reason)
        return user
