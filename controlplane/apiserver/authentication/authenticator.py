"""The chain of authenticators: certificate, token, and anonymous where that is allowed.

The first that recognises its credential wins. A credential that was shown and is not good makes the request fail when
nothing else recognises it, even where anonymous would do: who says who they are must be right. Anonymous may ask for
health and version and nothing else; RBAC has the last word there too.
"""

from __future__ import annotations

import base64
import binascii
import logging
from collections.abc import Mapping

from client.certificates import CertificateAuthenticator, CertificateRejected, Subject
from controlplane.apiserver.authentication.rejection import Rejected
from controlplane.apiserver.authentication.service_accounts import ServiceAccountAuthenticator
from controlplane.apiserver.request import BEARER_PROTOCOL, User

logger = logging.getLogger(__name__)

UNAUTHENTICATED = "system:unauthenticated"
ANONYMOUS = User("system:anonymous", groups=(UNAUTHENTICATED,))
ANONYMOUS_PATHS = frozenset({"/healthz", "/livez", "/readyz", "/version", "/version/"})


class Authenticator:
    """Says who asks. Synchronous; a dictionary look-up or two for a credential seen before."""

    def __init__(self, certificates: CertificateAuthenticator[User], tokens: ServiceAccountAuthenticator) -> None:
        self._certificates = certificates
        self._tokens = tokens

    def authenticate(self, headers: Mapping[str, str], peer_certificate: bytes | None, path: str = "") -> User | None:
        """The user, or None when the answer must be 401.

        *peer_certificate* is the DER certificate the client showed, as yet unverified; *path* that of the request.
        """
        refusals: list[str] = []
        if peer_certificate:
            try:
                return self._certificates.authenticate(peer_certificate)
            except CertificateRejected as refusal:
                refusals.append(str(refusal))
        token = bearer_token(headers)
        if token:
            try:
                return self._tokens.authenticate(token)[0]
            except Rejected as refusal:
                refusals.append(str(refusal))
        if refusals:
            logger.info("unable to authenticate the request path=%s error=%s", path, "; ".join(refusals))
            return None
        return ANONYMOUS if path in ANONYMOUS_PATHS else None


def user_of(subject: Subject) -> User:
    """The user that a certificate names."""
    return User(subject.name, subject.uid, subject.groups, dict(subject.extra))


def bearer_token(headers: Mapping[str, str]) -> str:
    """The bearer token of a request (RFC 6750), from its header or its WebSocket subprotocols; "" without one."""
    authorization = headers.get("Authorization", "")
    if authorization:
        scheme, _, token = authorization.strip().partition(" ")
        return token.strip() if scheme.lower() == "bearer" else ""
    protocols = headers.get("Sec-WebSocket-Protocol", "")
    if BEARER_PROTOCOL in protocols:
        for protocol in protocols.split(","):
            name = protocol.strip()
            if name.startswith(BEARER_PROTOCOL):
                return _decoded(name.removeprefix(BEARER_PROTOCOL))
    return ""


def _decoded(text: str) -> str:
    try:
        return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)).decode("utf-8")
    except (binascii.Error, UnicodeDecodeError):
        return text  # no token of ours either way: it will be refused as one
