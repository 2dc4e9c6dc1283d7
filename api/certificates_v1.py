"""Types of certificates/v1, written by api.generator; api.declarations says how to read them."""

from typing import Annotated

from api import meta_v1 as meta
from api.declarations import Atomic, Int32, ListMap, Required, Struct, always, constant, none
from api.times import Time

DEFINITIONS = "io.k8s.api.certificates.v1"


class CertificateSigningRequestSpec(Struct):
    request: Required[bytes] = always(bytes)
    signer_name: Required[str] = always(str)
    expiration_seconds: Int32 | None = None
    usages: Atomic[list[str]] = []
    username: str = ""
    uid: str = ""
    groups: Atomic[list[str]] = []
    extra: dict[str, list[str]] = {}


class CertificateSigningRequestCondition(Struct):
    type: Required[str] = always(str)
    status: Required[str] = always(str)
    reason: str = ""
    message: str = ""
    last_update_time: Time | None = always(none)
    last_transition_time: Time | None = always(none)


class CertificateSigningRequestStatus(Struct):
    conditions: Annotated[list[CertificateSigningRequestCondition], ListMap("type")] = []
    certificate: bytes = b""


class CertificateSigningRequest(meta.Object):
    api_version: str = constant("certificates.k8s.io/v1")
    kind: str = constant("CertificateSigningRequest")
    spec: Required[CertificateSigningRequestSpec] = always(CertificateSigningRequestSpec)
    status: CertificateSigningRequestStatus = always(CertificateSigningRequestStatus)


class CertificateSigningRequestList(meta.ObjectList):
    api_version: str = constant("certificates.k8s.io/v1")
    kind: str = constant("CertificateSigningRequestList")
    items: Required[list[CertificateSigningRequest]] = always(list)
