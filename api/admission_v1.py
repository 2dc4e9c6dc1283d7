"""Types of admission/v1, written by api.generator; api.declarations says how to read them."""

from api import authentication_v1 as authentication
from api import meta_v1 as meta
from api.declarations import Required, Struct, always, constant, none
from api.free_form import RawExtension

DEFINITIONS = "io.k8s.api.admission.v1"


class AdmissionRequest(Struct):
    uid: Required[str] = always(str)
    kind: Required[meta.GroupVersionKind] = always(meta.GroupVersionKind)
    resource: Required[meta.GroupVersionResource] = always(meta.GroupVersionResource)
    sub_resource: str = ""
    request_kind: meta.GroupVersionKind | None = None
    request_resource: meta.GroupVersionResource | None = None
    request_sub_resource: str = ""
    name: str = ""
    namespace: str = ""
    operation: Required[str] = always(str)
    user_info: Required[authentication.UserInfo] = always(authentication.UserInfo)
    object: RawExtension = always(none)
    old_object: RawExtension = always(none)
    dry_run: bool | None = None
    options: RawExtension = always(none)


class AdmissionResponse(Struct):
    uid: Required[str] = always(str)
    allowed: Required[bool] = always(bool)
    status: meta.Status | None = None
    patch: bytes = b""
    patch_type: str | None = None
    audit_annotations: dict[str, str] = {}
    warnings: list[str] = []


class AdmissionReview(meta.TypeMeta):
    api_version: str = constant("admission.k8s.io/v1")
    kind: str = constant("AdmissionReview")
    request: AdmissionRequest | None = None
    response: AdmissionResponse | None = None
