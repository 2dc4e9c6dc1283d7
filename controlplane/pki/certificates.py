"""Keys and certificates themselves: making them and looking into them. EC P-256 throughout.

The cryptography library costs some eight megabytes, so it is imported when a function is called and not before.
Everything goes in and out as PEM bytes.
"""

from __future__ import annotations

import datetime
import ipaddress
from typing import TYPE_CHECKING

from controlplane.pki.planning import BACKDATING, CA_LIFETIME, LIFETIME, Found, Unreadable
from controlplane.pki.profiles import Profile

if TYPE_CHECKING:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey


def new_key() -> bytes:
    """A private key on P-256, PKCS#8."""
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    return ec.generate_private_key(ec.SECP256R1()).private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def key_problem(key: bytes) -> str:
    """What is wrong with a private key, or ""."""
    try:
        _load_key(key)
    except ValueError as error:
        return str(error) or "not a private key"
    return ""


def public_key(key: bytes) -> bytes:
    """The public half of a private key, as SubjectPublicKeyInfo."""
    from cryptography.hazmat.primitives import serialization

    return (
        _load_key(key)
        .public_key()
        .public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    )


def issue_ca(key: bytes, now: float, common_name: str) -> bytes:
    """A self-signed CA certificate. With the same key and name it takes the place of an older one everywhere."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes

    private = _load_key(key)
    subject = _subject(common_name, "")
    builder = (
        _builder(now, CA_LIFETIME)
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(private.public_key())
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(_key_usage(ca=True), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(private.public_key()), critical=False)
    )
    return _pem(builder.sign(private, hashes.SHA256()))


def issue(profile: Profile, key: bytes, ca_certificate: bytes, ca_key: bytes, now: float) -> bytes:
    """A certificate for the holder of `key`, as the profile says; it does not outlive the CA."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes
    from cryptography.x509.oid import ExtendedKeyUsageOID

    private, authority = _load_key(key), x509.load_pem_x509_certificate(ca_certificate)
    lifetime = min(LIFETIME, authority.not_valid_after_utc.timestamp() - now)
    uses = [ExtendedKeyUsageOID.SERVER_AUTH] * profile.server + [ExtendedKeyUsageOID.CLIENT_AUTH] * profile.client
    builder = (
        _builder(now, lifetime)
        .subject_name(_subject(profile.common_name, profile.organization))
        .issuer_name(authority.subject)
        .public_key(private.public_key())
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_key_usage(ca=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage(uses), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(
                authority.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value
            ),
            critical=False,
        )
    )
    names: list[x509.GeneralName] = [x509.DNSName(name) for name in profile.dns_names]
    names += [x509.IPAddress(ipaddress.ip_address(address)) for address in profile.addresses]
    if names:
        builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
    return _pem(builder.sign(_load_key(ca_key), hashes.SHA256()))


def inspect(certificate: bytes, key: bytes, ca_certificate: bytes | None) -> Found | Unreadable:
    """What a certificate says, whether it fits `key`, and whether the CA signed it (None: whether it did itself)."""
    from cryptography import x509
    from cryptography.exceptions import InvalidSignature
    from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

    try:
        seen = x509.load_pem_x509_certificate(certificate)
        authority = seen if ca_certificate is None else x509.load_pem_x509_certificate(ca_certificate)
        names, uses = _alternative_names(seen), _extended_uses(seen)
        common_names = seen.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
        organizations = seen.subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)
        try:
            seen.verify_directly_issued_by(authority)
            signed = True
        except (InvalidSignature, ValueError, TypeError):
            signed = False
        return Found(
            common_name=str(common_names[0].value) if common_names else "",
            organization=str(organizations[0].value) if organizations else "",
            client=ExtendedKeyUsageOID.CLIENT_AUTH in uses,
            server=ExtendedKeyUsageOID.SERVER_AUTH in uses,
            dns_names=frozenset(names.get_values_for_type(x509.DNSName)) if names else frozenset(),
            addresses=frozenset(str(a) for a in names.get_values_for_type(x509.IPAddress)) if names else frozenset(),
            not_before=seen.not_valid_before_utc.timestamp(),
            not_after=seen.not_valid_after_utc.timestamp(),
            fits_key=seen.public_key() == _load_key(key).public_key(),
            signed_by_ca=signed,
        )
    except (ValueError, x509.DuplicateExtension, x509.UnsupportedGeneralNameType) as error:
        return Unreadable(str(error) or "not a certificate")


def _load_key(pem: bytes) -> EllipticCurvePrivateKey:
    """Raises ValueError for anything but an unencrypted EC key."""
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    try:
        key = serialization.load_pem_private_key(pem, None)
    except (TypeError, UnsupportedAlgorithm) as error:
        raise ValueError(str(error)) from error
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise ValueError("not an elliptic-curve key")
    return key


def _builder(now: float, lifetime: float) -> x509.CertificateBuilder:
    from cryptography import x509

    start = datetime.datetime.fromtimestamp(now - BACKDATING, datetime.UTC)
    end = datetime.datetime.fromtimestamp(now + lifetime, datetime.UTC)
    return (
        x509.CertificateBuilder()
        .serial_number(x509.random_serial_number())
        .not_valid_before(start)
        .not_valid_after(end)
    )


def _subject(common_name: str, organization: str) -> x509.Name:
    from cryptography import x509
    from cryptography.x509.oid import NameOID

    attributes = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, organization)] if organization else []
    # RFC 5280 caps a common name at 64 characters; node names may be longer, and Go does not care either.
    common = x509.NameAttribute(NameOID.COMMON_NAME, common_name, _validate=len(common_name) <= 64)
    return x509.Name([*attributes, common])


def _key_usage(*, ca: bool) -> x509.KeyUsage:
    from cryptography import x509

    return x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=ca,
        crl_sign=ca,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _alternative_names(seen: x509.Certificate) -> x509.SubjectAlternativeName | None:
    from cryptography import x509

    try:
        return seen.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return None


def _extended_uses(seen: x509.Certificate) -> list[x509.ObjectIdentifier]:
    from cryptography import x509

    try:
        return list(seen.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value)
    except x509.ExtensionNotFound:
        return []


def _pem(certificate: x509.Certificate) -> bytes:
    from cryptography.hazmat.primitives import serialization

    return certificate.public_bytes(serialization.Encoding.PEM)
