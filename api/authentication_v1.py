"""Types of authentication/v1, written by api.generator; api.declarations says how to read them."""

from api import meta_v1 as meta
from api.declarations import Atomic, Int64, Required, Struct, always, constant, none
from api.times import Time

DEFINITIONS = "io.k8s.api.authentication.v1"


class TokenReviewSpec(Struct):
    token: Required[str] = ""
    audiences: Atomic[list[str]] = []


class UserInfo(Struct):
    username: str = ""
    uid: str = ""
    groups: Atomic[list[str]] = []
    extra: dict[str, list[str]] = {}


class TokenReviewStatus(Struct):
    authenticated: bool = False
    user: UserInfo = always(UserInfo)
    audiences: Atomic[list[str]] = []
    error: str = ""


class TokenReview(meta.Object):
    api_version: str = constant("authentication.k8s.io/v1")
    kind: str = constant("TokenReview")
    spec: Required[TokenReviewSpec] = always(TokenReviewSpec)
    status: TokenReviewStatus = always(TokenReviewStatus)


class BoundObjectReference(Struct):
    kind: str = ""
    api_version: str = ""
    name: str = ""
    uid: str = ""


class TokenRequestSpec(Struct):
    audiences: Atomic[list[str]] = always(list)
    expiration_seconds: Int64 | None = always(none)
    bound_object_ref: BoundObjectReference | None = always(none)


class TokenRequestStatus(Struct):
    token: str = always(str)
    expiration_timestamp: Time | None = always(none)


class TokenRequest(meta.Object):
    api_version: str = constant("authentication.k8s.io/v1")
    kind: str = constant("TokenRequest")
    spec: TokenRequestSpec = always(TokenRequestSpec)
    status: TokenRequestStatus = always(TokenRequestStatus)


class SelfSubjectReviewStatus(Struct):
    user_info: UserInfo = always(UserInfo)


class SelfSubjectReview(meta.Object):
    api_version: str = constant("authentication.k8s.io/v1")
    kind: str = constant("SelfSubjectReview")
    status: SelfSubjectReviewStatus = always(SelfSubjectReviewStatus)
