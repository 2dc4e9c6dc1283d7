"""Users by service-account token: JWTs this server has issued, for pods and whoever acts as one.

A token is good as long as what it is bound to lives: its service account, and the pod, secret or node it was made
for, each told apart by UID from a successor of the same name. The signature is verified once per token and
remembered; the bound objects and the times are looked at on every request (source: KEP-1205, KEP-4193).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from api import core_v1 as core
from api.meta_v1 import Object
from api.scheme import SCHEME, Resource
from client.certificates import AUTHENTICATED, CREDENTIAL_ID
from client.clock import Clock
from controlplane.apiserver.authentication.keys import TokenKeys
from controlplane.apiserver.authentication.rejection import Rejected
from controlplane.apiserver.request import ObjectReader, User

USER_PREFIX = "system:serviceaccount:"
ALL_SERVICE_ACCOUNTS = "system:serviceaccounts"

# Seconds a token, or what it is bound to, is still good after its end: clocks differ and graceful deletion takes a
# while.
LEEWAY = 60.0
_REMEMBERED = 8192

_BINDABLE: Mapping[str, type[Object]] = {"pod": core.Pod, "secret": core.Secret, "node": core.Node}
_EXTRA_PREFIX = "authentication.kubernetes.io/"


@dataclass(frozen=True, slots=True)
class _Bound:
    """An object whose end is the end of the token."""

    resource: Resource
    namespace: str
    name: str
    uid: str
    word: str


@dataclass(frozen=True, slots=True)
class _Token:
    """What a token with a good signature says."""

    user: User
    audiences: tuple[str, ...]
    not_before: float
    expiry: float
    bound: tuple[_Bound, ...]


class ServiceAccountAuthenticator:
    """Turns a bearer token into a user."""

    def __init__(
        self, reader: ObjectReader, keys: TokenKeys, issuer: str, audiences: tuple[str, ...], clock: Clock
    ) -> None:
        self._reader = reader
        self._keys = keys
        self._issuer = issuer
        self._audiences = audiences
        self._clock = clock
        self._tokens: dict[str, _Token] = {}
        self._service_accounts = SCHEME.of(core.ServiceAccount)
        self._bindable = {kind: SCHEME.of(type_) for kind, type_ in _BINDABLE.items()}

    def authenticate(self, token: str, audiences: tuple[str, ...] = ()) -> tuple[User, tuple[str, ...]]:
        """The user of *token* and the audiences it is good for, of those asked for (default: this server's).

        Raises `Rejected`.
        """
        known = self._tokens.get(token)
        if known is None:
            if len(self._tokens) >= _REMEMBERED:
                self._tokens.clear()
            known = self._tokens[token] = self._read(self._keys.verify(token))
        now = self._clock.now()
        if now - LEEWAY > known.expiry:
            raise Rejected("service account token has expired")
        if now + LEEWAY < known.not_before:
            raise Rejected("service account token is not valid yet")
        wanted = audiences or self._audiences
        met = tuple(audience for audience in wanted if audience in known.audiences)
        if not met:
            raise Rejected(
                f"token audiences {_list(known.audiences)} is invalid for the target audiences {_list(wanted)}"
            )
        for bound in known.bound:
            self._check_alive(bound, now)
        return known.user, met

    def _check_alive(self, bound: _Bound, now: float) -> None:
        found: Object | None = self._reader.get(bound.resource, bound.namespace, bound.name)
        if found is None:
            if bound.word == "service account":
                raise Rejected(f'serviceaccounts "{bound.name}" not found')
            raise Rejected("service account token has been invalidated")
        deleted = found.metadata.deletion_timestamp
        if deleted is not None and deleted.timestamp() < now - LEEWAY:
            if bound.word == "service account":
                raise Rejected(f"service account {bound.namespace}/{bound.name} has been deleted")
            raise Rejected("service account token has been invalidated")
        if found.metadata.uid != bound.uid:
            if bound.word == "service account":
                raise Rejected(f"service account UID ({found.metadata.uid}) does not match claim ({bound.uid})")
            raise Rejected(
                f"{bound.word} UID ({found.metadata.uid}) does not match service account "
                f"{bound.word} ref claim ({bound.uid})"
            )

    # ------------------------------------------------------------ claims

    def _read(self, claims: Mapping[str, Any]) -> _Token:
        """The claims as a token; raises `Rejected` for those of another issuer or of a form that is not ours."""
        private = claims.get("kubernetes.io")
        if claims.get("iss") != self._issuer or not isinstance(private, Mapping):
            raise Rejected("invalid bearer token")
        namespace = _text(private, "namespace")
        account = _reference(private, "serviceaccount")
        if account is None or not namespace:
            raise Rejected("service account token claims could not be validated due to unexpected private claim")
        name, uid = account
        if claims.get("sub") != f"{USER_PREFIX}{namespace}:{name}":
            raise Rejected("service account token claims could not be validated due to unexpected private claim")
        audience = claims.get("aud", [])
        audiences = (audience,) if isinstance(audience, str) else tuple(str(item) for item in audience)
        bound = [_Bound(self._service_accounts, namespace, name, uid, "service account")]
        extra: dict[str, tuple[str, ...]] = {}
        jti = claims.get("jti")
        if isinstance(jti, str) and jti:
            extra[CREDENTIAL_ID] = (f"JTI={jti}",)
        for kind in ("pod", "secret", "node"):
            reference = _reference(private, kind)
            if reference is None:
                continue
            # A pod's token names the node for information; it does not die with the node object.
            if kind != "node" or not any(item.word == "pod" for item in bound):
                home = "" if kind == "node" else namespace
                bound.append(_Bound(self._bindable[kind], home, *reference, word=kind))
            if kind != "secret":
                extra[f"{_EXTRA_PREFIX}{kind}-name"] = (reference[0],)
                if reference[1]:
                    extra[f"{_EXTRA_PREFIX}{kind}-uid"] = (reference[1],)
        return _Token(
            user=user(namespace, name, uid, extra),
            audiences=audiences,
            not_before=_number(claims, "nbf"),
            expiry=_number(claims, "exp"),
            bound=tuple(bound),
        )


def user(namespace: str, name: str, uid: str, extra: Mapping[str, tuple[str, ...]] | None = None) -> User:
    """The user that the service account is."""
    groups = (ALL_SERVICE_ACCOUNTS, f"{ALL_SERVICE_ACCOUNTS}:{namespace}", AUTHENTICATED)
    return User(f"{USER_PREFIX}{namespace}:{name}", uid, groups, extra or {})


def split_user(name: str) -> tuple[str, str] | None:
    """Namespace and name of the service account that a user name stands for, None when it stands for none."""
    if not name.startswith(USER_PREFIX):
        return None
    parts = name.removeprefix(USER_PREFIX).split(":")
    return (parts[0], parts[1]) if len(parts) == 2 and all(parts) else None


def _reference(private: Mapping[str, Any], kind: str) -> tuple[str, str] | None:
    found = private.get(kind)
    if not isinstance(found, Mapping):
        return None
    name = _text(found, "name")
    return (name, _text(found, "uid")) if name else None


def _text(claims: Mapping[str, Any], key: str) -> str:
    found = claims.get(key)
    return found if isinstance(found, str) else ""


def _number(claims: Mapping[str, Any], key: str) -> float:
    found = claims.get(key)
    if isinstance(found, bool) or not isinstance(found, int | float):
        raise Rejected("invalid bearer token")
    return float(found)


def _list(texts: tuple[str, ...]) -> str:
    return "[" + " ".join(f'"{text}"' for text in texts) + "]"
