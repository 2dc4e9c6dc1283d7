"""Issuing service-account tokens: the ``serviceaccounts/token`` subresource and OIDC discovery.

A token lives as long as asked for (ten minutes at least) and dies with the pod, secret or node it is bound to;
checking that is the business of `controlplane.apiserver.authentication.service_accounts`. Claims are upstream's
(KEP-1205, KEP-4193), so that whoever verifies tokens offline through the discovery documents reads ours as well.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from api import authentication_v1 as authentication
from api import core_v1 as core
from api import errors, fields
from api.meta_v1 import Object
from api.rendering import quote
from api.scheme import SCHEME
from api.times import Time
from client.clock import Clock
from controlplane.apiserver.authentication.keys import TokenKeys
from controlplane.apiserver.authentication.service_accounts import USER_PREFIX
from controlplane.apiserver.request import ObjectReader

ISSUER = "https://kubernetes.default.svc.cluster.local"
DISCOVERY_PATH = "/.well-known/openid-configuration"
KEYS_PATH = "/openid/v1/jwks"

# Seconds.
_DEFAULT_EXPIRATION = 3600
_SHORTEST = 600
_LONGEST = 1 << 32
# A kubelet asks for exactly this for the volume that admission adds to every pod. Programs that read such a token
# once at start must not break after an hour, so it is made to last a year, with a claim that says when it should have
# been renewed (KEP-1205, "safe rollout").
_EXTENDED_FOR = 3607
_EXTENDED_TO = 365 * 24 * 3600

_BINDABLE: Mapping[str, type[Object]] = {"Pod": core.Pod, "Secret": core.Secret, "Node": core.Node}
_KIND = errors.GroupName("authentication.k8s.io", "TokenRequest")


@dataclass(frozen=True, slots=True)
class _Binding:
    """What a token dies with: claims by kind, as they stand in the token."""

    claims: dict[str, dict[str, str]]
    to_pod: bool = False


class TokenIssuer:
    """Makes tokens for service accounts."""

    def __init__(
        self,
        reader: ObjectReader,
        keys: TokenKeys,
        clock: Clock,
        *,
        issuer: str = ISSUER,
        audiences: tuple[str, ...] = (),
    ) -> None:
        self._reader = reader
        self._keys = keys
        self._clock = clock
        self.issuer = issuer
        self.audiences = audiences or (issuer,)

    def request(self, namespace: str, name: str, request: authentication.TokenRequest) -> authentication.TokenRequest:
        """Answer a TokenRequest posted to the service account; the given object is changed and returned.

        Raises StatusError: 404 when the account or the bound object is missing, 422 for a bad lifetime, 400 for a pod
        of another account, 409 for another UID.
        """
        self._check_names(namespace, name, request)
        account = self._find(core.ServiceAccount, namespace, name)
        spec = request.spec
        if spec.expiration_seconds is None:
            spec.expiration_seconds = _DEFAULT_EXPIRATION
        if not spec.audiences:
            spec.audiences = list(self.audiences)
        lifetime = spec.expiration_seconds
        self._check_lifetime(lifetime)
        now = self._clock.now()
        request.metadata.name = name
        request.metadata.namespace = namespace
        request.metadata.creation_timestamp = Time.from_timestamp(now)
        binding = self._binding(namespace, name, spec.bound_object_ref)

        private: dict[str, Any] = {
            "namespace": namespace,
            "serviceaccount": {"name": name, "uid": account.metadata.uid},
            **binding.claims,
        }
        expiry = lifetime
        if binding.to_pod and lifetime == _EXTENDED_FOR and set(spec.audiences) <= set(self.audiences):
            private["warnafter"] = int(now) + lifetime
            expiry = _EXTENDED_TO
        token = self._keys.sign(
            {
                "aud": list(spec.audiences),
                "exp": int(now) + expiry,
                "iat": int(now),
                "iss": self.issuer,
                "jti": str(uuid.uuid4()),
                "kubernetes.io": dict(sorted(private.items())),
                "nbf": int(now),
                "sub": f"{USER_PREFIX}{namespace}:{name}",
            }
        )
        request.status = authentication.TokenRequestStatus(
            token=token, expiration_timestamp=Time.from_timestamp(int(now) + lifetime)
        )
        return request

    # ------------------------------------------------------------ checks

    def _check_names(self, namespace: str, name: str, request: authentication.TokenRequest) -> None:
        metadata = request.metadata
        if metadata.name and metadata.name != name:
            wrong = fields.invalid("metadata.name", metadata.name, "must match the service account name if specified")
            raise errors.invalid(_KIND, name, [wrong])
        if metadata.namespace and metadata.namespace != namespace:
            wrong = fields.invalid(
                "metadata.namespace", metadata.namespace, "must match the service account namespace if specified"
            )
            raise errors.invalid(_KIND, name, [wrong])

    def _check_lifetime(self, seconds: int) -> None:
        wrong = ""
        if seconds < _SHORTEST:
            wrong = "may not specify a duration less than 10 minutes"
        elif seconds > _LONGEST:
            wrong = "may not specify a duration larger than 2^32 seconds"
        if wrong:
            raise errors.invalid(_KIND, "", [fields.invalid("spec.expirationSeconds", seconds, wrong)])

    def _binding(self, namespace: str, name: str, reference: authentication.BoundObjectReference | None) -> _Binding:
        if reference is None:
            return _Binding({})
        if reference.api_version != "v1" or reference.kind not in _BINDABLE:
            group, _, version = reference.api_version.rpartition("/")
            raise errors.bad_request(f"cannot bind token to object of type {group}/{version}, Kind={reference.kind}")
        home = "" if reference.kind == "Node" else namespace
        found = self._find(_BINDABLE[reference.kind], home, reference.name)
        if isinstance(found, core.Pod) and found.spec.service_account_name != name:
            raise errors.bad_request(
                f"cannot bind token for serviceaccount {quote(name)} to pod running with different serviceaccount name."
            )
        uid = found.metadata.uid
        if reference.uid and reference.uid != uid:
            raise errors.conflict(
                errors.GroupName("", reference.kind),
                reference.name,
                f"the UID in the bound object reference ({reference.uid}) does not match the UID in record. "
                "The object might have been deleted and then recreated",
            )
        claims = {reference.kind.lower(): {"name": reference.name, "uid": uid}}
        if isinstance(found, core.Pod) and found.spec.node_name:
            node = self._reader.get(SCHEME.of(core.Node), "", found.spec.node_name)
            claims["node"] = {"name": found.spec.node_name}
            if node is not None:
                claims["node"]["uid"] = node.metadata.uid
        return _Binding(claims, to_pod=isinstance(found, core.Pod))

    def _find(self, type_: type[Object], namespace: str, name: str) -> Object:
        resource = SCHEME.of(type_)
        found = self._reader.get(resource, namespace, name)
        if found is None:
            raise errors.not_found(resource.group_resource, name)
        return found

    # ------------------------------------------------------------ discovery

    def openid_configuration(self, base_url: str) -> bytes:
        """The document at `DISCOVERY_PATH` (OpenID Connect Discovery 1.0), reached at *base_url*."""
        document = {
            "issuer": self.issuer,
            "jwks_uri": base_url + KEYS_PATH,
            "response_types_supported": ["id_token"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": self._keys.algorithms,
        }
        return json.dumps(document, separators=(",", ":")).encode()

    def key_set(self) -> bytes:
        """The document at `KEYS_PATH`: the public keys (RFC 7517), as ``application/jwk-set+json``."""
        return json.dumps({"keys": self._keys.published()}, separators=(",", ":")).encode()
