"""The key pair behind service-account tokens: signing, verifying, and publishing the public half.

A key's id is derived from its public half as upstream derives it, so that tokens name their key and a rotated key can
stay in the set of those that verify. RSA signs with RS256, P-256, P-384 and P-521 with ES256, ES384 and ES512.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from controlplane.apiserver.authentication.rejection import Rejected

PublicKey = rsa.RSAPublicKey | ec.EllipticCurvePublicKey
PrivateKey = rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey

_CURVES = {
    "secp256r1": ("ES256", "P-256", 32),
    "secp384r1": ("ES384", "P-384", 48),
    "secp521r1": ("ES512", "P-521", 66),
}


@dataclass(frozen=True, slots=True)
class _Verifier:
    key: PublicKey
    algorithm: str


class TokenKeys:
    """Signs with one key and verifies with several."""

    def __init__(self, private_pem: bytes, public_pems: Iterable[bytes] = ()) -> None:
        """*public_pems* are further keys whose tokens are still accepted; raises ValueError on other kinds of key."""
        private = serialization.load_pem_private_key(private_pem, None)
        if not isinstance(private, rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey):
            raise ValueError(f"service account key: {type(private).__name__} cannot sign tokens")
        self._private: PrivateKey = private
        self._verifiers: dict[str, _Verifier] = {}
        own = private.public_key()
        self.key_id = key_id(own)
        self._verifiers[self.key_id] = _Verifier(own, _algorithm(own))
        for pem in public_pems:
            public = serialization.load_pem_public_key(pem)
            if not isinstance(public, rsa.RSAPublicKey | ec.EllipticCurvePublicKey):
                raise ValueError(f"service account key: {type(public).__name__} cannot verify tokens")
            self._verifiers.setdefault(key_id(public), _Verifier(public, _algorithm(public)))

    @property
    def algorithms(self) -> list[str]:
        """The signing algorithms in use, sorted."""
        return sorted({verifier.algorithm for verifier in self._verifiers.values()})

    def sign(self, claims: Mapping[str, Any]) -> str:
        """A JWT with *claims* as they are."""
        algorithm = self._verifiers[self.key_id].algorithm
        return jwt.encode(dict(claims), self._private, algorithm, headers={"kid": self.key_id})

    def verify(self, token: str) -> dict[str, Any]:
        """The claims of a token that one of the keys signed; nothing else of them is judged. Raises `Rejected`."""
        try:
            named = jwt.get_unverified_header(token).get("kid")
            verifier = self._verifiers.get(named) if isinstance(named, str) else None
            for candidate in (verifier,) if verifier is not None else self._verifiers.values():
                try:
                    return dict(jwt.decode(token, candidate.key, [candidate.algorithm], options=_SIGNATURE_ONLY))
                except jwt.InvalidSignatureError:
                    continue
        except (jwt.InvalidTokenError, RecursionError) as malformed:
            raise Rejected("invalid bearer token") from malformed
        raise Rejected("invalid bearer token")

    def published(self) -> list[dict[str, str]]:
        """The public keys as JSON Web Keys (RFC 7517), for OIDC discovery."""
        return [_web_key(name, verifier) for name, verifier in self._verifiers.items()]


# Times and audiences are judged by our own clock and rules.
_SIGNATURE_ONLY: Any = {
    "verify_signature": True,
    "verify_exp": False,
    "verify_nbf": False,
    "verify_iat": False,
    "verify_aud": False,
    "verify_iss": False,
    "verify_sub": False,
    "verify_jti": False,
}


def key_id(key: PublicKey) -> str:
    """Base64url of the SHA-256 of the key's SubjectPublicKeyInfo, as upstream computes a `kid`."""
    spki = key.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    return _base64url(hashlib.sha256(spki).digest())


def _algorithm(key: PublicKey) -> str:
    if isinstance(key, rsa.RSAPublicKey):
        return "RS256"
    if key.curve.name not in _CURVES:
        raise ValueError(f"service account key: curve {key.curve.name} is not supported")
    return _CURVES[key.curve.name][0]


def _web_key(name: str, verifier: _Verifier) -> dict[str, str]:
    shared = {"use": "sig", "kid": name, "alg": verifier.algorithm}
    if isinstance(verifier.key, rsa.RSAPublicKey):
        numbers = verifier.key.public_numbers()
        return shared | {
            "kty": "RSA",
            "n": _base64url(numbers.n.to_bytes((numbers.n.bit_length() + 7) // 8)),
            "e": _base64url(numbers.e.to_bytes((numbers.e.bit_length() + 7) // 8)),
        }
    point = verifier.key.public_numbers()
    _, curve, size = _CURVES[verifier.key.curve.name]
    return shared | {
        "kty": "EC",
        "crv": curve,
        "x": _base64url(point.x.to_bytes(size)),
        "y": _base64url(point.y.to_bytes(size)),
    }


def _base64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode("ascii")
