"""Users by client certificate: common name is the user, organizations are the groups.

The TLS handshake lets every certificate through (`client.tls`), so the whole judgement is made here: issued by a CA of
the cluster, valid now, meant for clients. It is made once per certificate and remembered; only the validity is looked
at again on each request, because a connection can outlive its certificate. Chains with intermediates are not supported:
the cluster's CAs sign directly.
"""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.utils import CryptographyDeprecationWarning
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from client.clock import Clock

U = TypeVar("U")

AUTHENTICATED = "system:authenticated"
CREDENTIAL_ID = "authentication.kubernetes.io/credential-id"

# The attribute of the subject that carries a user's UID (source: Kubernetes' own OID arc, KEP-4193 era).
_UID_OID = x509.ObjectIdentifier("1.3.6.1.4.1.57683.2")
# Remembered certificates; strangers' ones are remembered too, hence a bound.
_REMEMBERED = 4096


class CertificateRejected(Exception):
    """A certificate that does not prove who asks; the text says why, for logs, never for the 401."""


@dataclass(frozen=True, slots=True)
class Subject:
    """Whom a certificate names. `extra` holds the ID of the credential, for audit logs."""

    name: str
    uid: str
    groups: tuple[str, ...]
    extra: tuple[tuple[str, tuple[str, ...]], ...]


@dataclass(frozen=True, slots=True)
class _Judged(Generic[U]):
    """A certificate once looked at: a user with a time of validity (epoch seconds), or the reason it is refused."""

    user: U | None
    not_before: float = 0.0
    not_after: float = 0.0
    refusal: str = ""


class CertificateAuthenticator(Generic[U]):
    """Turns the DER bytes of a client certificate into a user, in whatever form its owner knows users."""

    def __init__(self, ca_pem: bytes, clock: Clock, user_of: Callable[[Subject], U]) -> None:
        """*ca_pem* holds the CA certificates that may sign users; raises ValueError if it holds none."""
        self._authorities = x509.load_pem_x509_certificates(ca_pem)
        self._clock = clock
        self._user_of = user_of
        self._judged: dict[bytes, _Judged[U]] = {}

    def authenticate(self, certificate: bytes) -> U:
        """The user that *certificate* (DER) stands for; raises `CertificateRejected`."""
        judged = self._judged.get(certificate)
        if judged is None:
            if len(self._judged) >= _REMEMBERED:
                self._judged.clear()
            judged = self._judged[certificate] = self._judge(certificate)
        if judged.user is None:
            raise CertificateRejected(judged.refusal)
        now = self._clock.now()
        if now < judged.not_before:
            raise CertificateRejected("x509: certificate is not yet valid")
        if now > judged.not_after:
            raise CertificateRejected("x509: certificate has expired")
        return judged.user

    def _judge(self, der: bytes) -> _Judged[U]:
        try:
            with warnings.catch_warnings():
                # What the library only warns of (a serial number below zero, say) no upstream server accepts either.
                warnings.simplefilter("error", CryptographyDeprecationWarning)
                certificate = x509.load_der_x509_certificate(der)
                subject = _subject(certificate, der)
                refusal = self._refusal(certificate)
        except (
            CryptographyDeprecationWarning,
            ValueError,
            x509.DuplicateExtension,
            x509.InvalidVersion,
            UnsupportedAlgorithm,
        ) as malformed:
            return _Judged(None, refusal=f"x509: malformed certificate: {malformed}")
        if not subject.name:
            refusal = refusal or "x509: subject with no common name"
        if refusal:
            return _Judged(None, refusal=refusal)
        return _Judged(
            self._user_of(subject),
            certificate.not_valid_before_utc.timestamp(),
            certificate.not_valid_after_utc.timestamp(),
        )

    def _refusal(self, certificate: x509.Certificate) -> str:
        if not any(_issued_by(certificate, authority) for authority in self._authorities):
            return "x509: certificate signed by unknown authority"
        try:
            usage = certificate.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
        except x509.ExtensionNotFound:
            return ""  # without the extension a certificate is good for anything (RFC 5280, section 4.2.1.12)
        if ExtendedKeyUsageOID.CLIENT_AUTH in usage or ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE in usage:
            return ""
        return "x509: certificate specifies an incompatible key usage"


def _issued_by(certificate: x509.Certificate, authority: x509.Certificate) -> bool:
    try:
        certificate.verify_directly_issued_by(authority)
    except (ValueError, TypeError, InvalidSignature, UnsupportedAlgorithm):
        return False
    return True


def _subject(certificate: x509.Certificate, der: bytes) -> Subject:
    named = certificate.subject
    digest = hashlib.sha256(der).hexdigest()
    return Subject(
        name=_first(named, NameOID.COMMON_NAME),
        uid=_first(named, _UID_OID),
        groups=(*_all(named, NameOID.ORGANIZATION_NAME), AUTHENTICATED),
        extra=((CREDENTIAL_ID, (f"X509SHA256={digest}",)),),
    )


def _first(subject: x509.Name, oid: x509.ObjectIdentifier) -> str:
    return next(iter(_all(subject, oid)), "")


def _all(subject: x509.Name, oid: x509.ObjectIdentifier) -> tuple[str, ...]:
    values = (attribute.value for attribute in subject.get_attributes_for_oid(oid))
    return tuple(value if isinstance(value, str) else value.decode("utf-8", "replace") for value in values)
