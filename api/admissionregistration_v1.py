"""Types of admissionregistration/v1, written by api.generator; api.declarations says how to read them."""

from typing import Annotated

from api import meta_v1 as meta
from api.declarations import (
    Atomic,
    Int32,
    Int64,
    ListMap,
    Merge,
    Required,
    SetOf,
    Struct,
    always,
    atomic,
    constant,
    none,
)

DEFINITIONS = "io.k8s.api.admissionregistration.v1"


@atomic
class ParamKind(Struct):
    api_version: str = ""
    kind: str = ""


@atomic
class NamedRuleWithOperations(Struct):
    resource_names: Atomic[list[str]] = []
    operations: Atomic[list[str]] = []
    api_groups: Atomic[list[str]] = []
    api_versions: Atomic[list[str]] = []
    resources: Atomic[list[str]] = []
    scope: str | None = None


@atomic
class MatchResources(Struct):
    namespace_selector: meta.LabelSelector | None = None
    object_selector: meta.LabelSelector | None = None
    resource_rules: Atomic[list[NamedRuleWithOperations]] = []
    exclude_resource_rules: Atomic[list[NamedRuleWithOperations]] = []
    match_policy: str | None = None


class Validation(Struct):
    expression: Required[str] = always(str)
    message: str = ""
    reason: str | None = None
    message_expression: str = ""


class AuditAnnotation(Struct):
    key: Required[str] = always(str)
    value_expression: Required[str] = always(str)


class MatchCondition(Struct):
    name: Required[str] = always(str)
    expression: Required[str] = always(str)


@atomic
class Variable(Struct):
    name: Required[str] = always(str)
    expression: Required[str] = always(str)


class ValidatingAdmissionPolicySpec(Struct):
    param_kind: ParamKind | None = None
    match_constraints: MatchResources | None = None
    validations: Atomic[list[Validation]] = []
    failure_policy: str | None = None
    audit_annotations: Atomic[list[AuditAnnotation]] = []
    match_conditions: Annotated[list[MatchCondition], ListMap("name"), Merge("name")] = []
    variables: Annotated[list[Variable], ListMap("name"), Merge("name")] = []


class ExpressionWarning(Struct):
    field_ref: Required[str] = always(str)
    warning: Required[str] = always(str)


class TypeChecking(Struct):
    expression_warnings: Atomic[list[ExpressionWarning]] = []


class ValidatingAdmissionPolicyStatus(Struct):
    observed_generation: Int64 = 0
    type_checking: TypeChecking | None = None
    conditions: Annotated[list[meta.Condition], ListMap("type")] = []


class ValidatingAdmissionPolicy(meta.Object):
    api_version: str = constant("admissionregistration.k8s.io/v1")
    kind: str = constant("ValidatingAdmissionPolicy")
    spec: ValidatingAdmissionPolicySpec = always(ValidatingAdmissionPolicySpec)
    status: ValidatingAdmissionPolicyStatus = always(ValidatingAdmissionPolicyStatus)


class ValidatingAdmissionPolicyList(meta.ObjectList):
    api_version: str = constant("admissionregistration.k8s.io/v1")
    kind: str = constant("ValidatingAdmissionPolicyList")
    items: Required[list[ValidatingAdmissionPolicy]] = always(list)


@atomic
class ParamRef(Struct):
    name: str = ""
    namespace: str = ""
    selector: meta.LabelSelector | None = None
    parameter_not_found_action: str | None = None


class ValidatingAdmissionPolicyBindingSpec(Struct):
    policy_name: Required[str] = ""
    param_ref: ParamRef | None = None
    match_resources: MatchResources | None = None
    validation_actions: Required[SetOf[list[str]]] = []


class ValidatingAdmissionPolicyBinding(meta.Object):
    api_version: str = constant("admissionregistration.k8s.io/v1")
    kind: str = constant("ValidatingAdmissionPolicyBinding")
    spec: Required[ValidatingAdmissionPolicyBindingSpec] = always(ValidatingAdmissionPolicyBindingSpec)


class ValidatingAdmissionPolicyBindingList(meta.ObjectList):
    api_version: str = constant("admissionregistration.k8s.io/v1")
    kind: str = constant("ValidatingAdmissionPolicyBindingList")
    items: Required[list[ValidatingAdmissionPolicyBinding]] = always(list)


class ServiceReference(Struct):
    namespace: Required[str] = always(str)
    name: Required[str] = always(str)
    path: str | None = None
    port: Int32 | None = None


class WebhookClientConfig(Struct):
    url: str | None = None
    service: ServiceReference | None = None
    ca_bundle: bytes = b""


class RuleWithOperations(Struct):
    operations: Atomic[list[str]] = []
    api_groups: Atomic[list[str]] = []
    api_versions: Atomic[list[str]] = []
    resources: Atomic[list[str]] = []
    scope: str | None = None


class ValidatingWebhook(Struct):
    name: Required[str] = always(str)
    client_config: Required[WebhookClientConfig] = always(WebhookClientConfig)
    rules: Atomic[list[RuleWithOperations]] = []
    failure_policy: str | None = None
    match_policy: str | None = None
    namespace_selector: meta.LabelSelector | None = None
    object_selector: meta.LabelSelector | None = None
    side_effects: Required[str | None] = always(none)
    timeout_seconds: Int32 | None = None
    admission_review_versions: Required[Atomic[list[str]]] = always(list)
    match_conditions: Annotated[list[MatchCondition], ListMap("name"), Merge("name")] = []


class ValidatingWebhookConfiguration(meta.Object):
    api_version: str = constant("admissionregistration.k8s.io/v1")
    kind: str = constant("ValidatingWebhookConfiguration")
    webhooks: Annotated[list[ValidatingWebhook], ListMap("name"), Merge("name")] = []


class ValidatingWebhookConfigurationList(meta.ObjectList):
    api_version: str = constant("admissionregistration.k8s.io/v1")
    kind: str = constant("ValidatingWebhookConfigurationList")
    items: Required[list[ValidatingWebhookConfiguration]] = always(list)


class MutatingWebhook(Struct):
    name: Required[str] = always(str)
    client_config: Required[WebhookClientConfig] = always(WebhookClientConfig)
    rules: Atomic[list[RuleWithOperations]] = []
    failure_policy: str | None = None
    match_policy: str | None = None
    namespace_selector: meta.LabelSelector | None = None
    object_selector: meta.LabelSelector | None = None
    side_effects: Required[str | None] = always(none)
    timeout_seconds: Int32 | None = None
    admission_review_versions: Required[Atomic[list[str]]] = always(list)
    reinvocation_policy: str | None = None
    match_conditions: Annotated[list[MatchCondition], ListMap("name"), Merge("name")] = []


class MutatingWebhookConfiguration(meta.Object):
    api_version: str = constant("admissionregistration.k8s.io/v1")
    kind: str = constant("MutatingWebhookConfiguration")
    webhooks: Annotated[list[MutatingWebhook], ListMap("name"), Merge("name")] = []


class MutatingWebhookConfigurationList(meta.ObjectList):
    api_version: str = constant("admissionregistration.k8s.io/v1")
    kind: str = constant("MutatingWebhookConfigurationList")
    items: Required[list[MutatingWebhookConfiguration]] = always(list)


class ApplyConfiguration(Struct):
    expression: str = ""


class JSONPatch(Struct):
    expression: str = ""


class Mutation(Struct):
    patch_type: Required[str] = always(str)
    apply_configuration: ApplyConfiguration | None = None
    json_patch: JSONPatch | None = None


class MutatingAdmissionPolicySpec(Struct):
    param_kind: ParamKind | None = None
    match_constraints: MatchResources | None = None
    variables: Atomic[list[Variable]] = []
    mutations: Atomic[list[Mutation]] = []
    failure_policy: str | None = None
    match_conditions: Annotated[list[MatchCondition], ListMap("name"), Merge("name")] = []
    reinvocation_policy: str = ""


class MutatingAdmissionPolicy(meta.Object):
    api_version: str = constant("admissionregistration.k8s.io/v1")
    kind: str = constant("MutatingAdmissionPolicy")
    spec: MutatingAdmissionPolicySpec = always(MutatingAdmissionPolicySpec)


class MutatingAdmissionPolicyList(meta.ObjectList):
    api_version: str = constant("admissionregistration.k8s.io/v1")
    kind: str = constant("MutatingAdmissionPolicyList")
    items: Required[list[MutatingAdmissionPolicy]] = always(list)


class MutatingAdmissionPolicyBindingSpec(Struct):
    policy_name: str = ""
    param_ref: ParamRef | None = None
    match_resources: MatchResources | None = None


class MutatingAdmissionPolicyBinding(meta.Object):
    api_version: str = constant("admissionregistration.k8s.io/v1")
    kind: str = constant("MutatingAdmissionPolicyBinding")
    spec: MutatingAdmissionPolicyBindingSpec = always(MutatingAdmissionPolicyBindingSpec)


class MutatingAdmissionPolicyBindingList(meta.ObjectList):
    api_version: str = constant("admissionregistration.k8s.io/v1")
    kind: str = constant("MutatingAdmissionPolicyBindingList")
    items: Required[list[MutatingAdmissionPolicyBinding]] = always(list)
