"""Types of authorization/v1, written by api.generator; api.declarations says how to read them."""

from api import meta_v1 as meta
from api.declarations import Atomic, Required, Struct, always, constant, wire

DEFINITIONS = "io.k8s.api.authorization.v1"


class FieldSelectorAttributes(Struct):
    raw_selector: str = ""
    requirements: Atomic[list[meta.FieldSelectorRequirement]] = []


class LabelSelectorAttributes(Struct):
    raw_selector: str = ""
    requirements: Atomic[list[meta.LabelSelectorRequirement]] = []


class ResourceAttributes(Struct):
    namespace: str = ""
    verb: str = ""
    group: str = ""
    version: str = ""
    resource: str = ""
    subresource: str = ""
    name: str = ""
    field_selector: FieldSelectorAttributes | None = None
    label_selector: LabelSelectorAttributes | None = None


class NonResourceAttributes(Struct):
    path: str = ""
    verb: str = ""


class SubjectAccessReviewSpec(Struct):
    resource_attributes: ResourceAttributes | None = None
    non_resource_attributes: NonResourceAttributes | None = None
    user: str = ""
    groups: Atomic[list[str]] = []
    extra: dict[str, list[str]] = {}
    uid: str = ""


class SubjectAccessReviewStatus(Struct):
    allowed: Required[bool] = always(bool)
    denied: bool = False
    reason: str = ""
    evaluation_error: str = ""


class SubjectAccessReview(meta.Object):
    api_version: str = constant("authorization.k8s.io/v1")
    kind: str = constant("SubjectAccessReview")
    spec: Required[SubjectAccessReviewSpec] = always(SubjectAccessReviewSpec)
    status: SubjectAccessReviewStatus = always(SubjectAccessReviewStatus)


class SelfSubjectAccessReviewSpec(Struct):
    resource_attributes: ResourceAttributes | None = None
    non_resource_attributes: NonResourceAttributes | None = None


class SelfSubjectAccessReview(meta.Object):
    api_version: str = constant("authorization.k8s.io/v1")
    kind: str = constant("SelfSubjectAccessReview")
    spec: Required[SelfSubjectAccessReviewSpec] = always(SelfSubjectAccessReviewSpec)
    status: SubjectAccessReviewStatus = always(SubjectAccessReviewStatus)


class LocalSubjectAccessReview(meta.Object):
    api_version: str = constant("authorization.k8s.io/v1")
    kind: str = constant("LocalSubjectAccessReview")
    spec: Required[SubjectAccessReviewSpec] = always(SubjectAccessReviewSpec)
    status: SubjectAccessReviewStatus = always(SubjectAccessReviewStatus)


class SelfSubjectRulesReviewSpec(Struct):
    namespace: str = ""


class ResourceRule(Struct):
    verbs: Required[Atomic[list[str]]] = always(list)
    api_groups: Atomic[list[str]] = []
    resources: Atomic[list[str]] = []
    resource_names: Atomic[list[str]] = []


class NonResourceRule(Struct):
    verbs: Required[Atomic[list[str]]] = always(list)
    non_resource_urls: Atomic[list[str]] = wire("nonResourceURLs", [])


class SubjectRulesReviewStatus(Struct):
    resource_rules: Required[Atomic[list[ResourceRule]]] = always(list)
    non_resource_rules: Required[Atomic[list[NonResourceRule]]] = always(list)
    incomplete: Required[bool] = always(bool)
    evaluation_error: str = ""


class SelfSubjectRulesReview(meta.Object):
    api_version: str = constant("authorization.k8s.io/v1")
    kind: str = constant("SelfSubjectRulesReview")
    spec: Required[SelfSubjectRulesReviewSpec] = always(SelfSubjectRulesReviewSpec)
    status: SubjectRulesReviewStatus = always(SubjectRulesReviewStatus)
