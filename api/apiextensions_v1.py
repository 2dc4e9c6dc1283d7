"""Types of apiextensions/v1, written by api.generator; api.declarations says how to read them."""

from typing import Annotated, Union

from api import meta_v1 as meta
from api.declarations import (
    Atomic,
    Definition,
    Int32,
    Int64,
    ListMap,
    Merge,
    Required,
    Struct,
    always,
    constant,
    none,
    wire,
)
from api.free_form import JSON, RawExtension
from api.times import Time

DEFINITIONS = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1"

JSONSchemaPropsOrArray = Annotated[
    Union["JSONSchemaProps", list["JSONSchemaProps"]], Definition(f"{DEFINITIONS}.JSONSchemaPropsOrArray")
]
JSONSchemaPropsOrBool = Annotated[Union["JSONSchemaProps", bool], Definition(f"{DEFINITIONS}.JSONSchemaPropsOrBool")]
JSONSchemaPropsOrStringArray = Annotated[
    Union["JSONSchemaProps", list[str]], Definition(f"{DEFINITIONS}.JSONSchemaPropsOrStringArray")
]


class CustomResourceDefinitionNames(Struct):
    plural: Required[str] = always(str)
    singular: str = ""
    short_names: Atomic[list[str]] = []
    kind: Required[str] = always(str)
    list_kind: str = ""
    categories: Atomic[list[str]] = []


class ExternalDocumentation(Struct):
    description: str = ""
    url: str = ""


class ValidationRule(Struct):
    rule: Required[str] = always(str)
    message: str = ""
    message_expression: str = ""
    reason: str | None = None
    field_path: str = ""
    optional_old_self: bool | None = None


class JSONSchemaProps(Struct):
    id: str = ""
    schema: str = wire("$schema", "")
    ref: str | None = wire("$ref", None)
    description: str = ""
    type: str = ""
    format: str = ""
    title: str = ""
    default: JSON = None
    maximum: float | None = None
    exclusive_maximum: bool = False
    minimum: float | None = None
    exclusive_minimum: bool = False
    max_length: Int64 | None = None
    min_length: Int64 | None = None
    pattern: str = ""
    max_items: Int64 | None = None
    min_items: Int64 | None = None
    unique_items: bool = False
    multiple_of: float | None = None
    enum: Atomic[list[JSON]] = []
    max_properties: Int64 | None = None
    min_properties: Int64 | None = None
    required: Atomic[list[str]] = []
    items: JSONSchemaPropsOrArray | None = None
    all_of: Atomic[list["JSONSchemaProps"]] = []
    one_of: Atomic[list["JSONSchemaProps"]] = []
    any_of: Atomic[list["JSONSchemaProps"]] = []
    not_: "JSONSchemaProps | None" = None
    properties: dict[str, "JSONSchemaProps"] = {}
    additional_properties: JSONSchemaPropsOrBool | None = None
    pattern_properties: dict[str, "JSONSchemaProps"] = {}
    dependencies: dict[str, JSONSchemaPropsOrStringArray] = {}
    additional_items: JSONSchemaPropsOrBool | None = None
    definitions: dict[str, "JSONSchemaProps"] = {}
    external_docs: ExternalDocumentation | None = None
    example: JSON = None
    nullable: bool = False
    x_kubernetes_preserve_unknown_fields: bool | None = wire("x-kubernetes-preserve-unknown-fields", None)
    x_kubernetes_embedded_resource: bool = wire("x-kubernetes-embedded-resource", False)
    x_kubernetes_int_or_string: bool = wire("x-kubernetes-int-or-string", False)
    x_kubernetes_list_map_keys: Atomic[list[str]] = wire("x-kubernetes-list-map-keys", [])
    x_kubernetes_list_type: str | None = wire("x-kubernetes-list-type", None)
    x_kubernetes_map_type: str | None = wire("x-kubernetes-map-type", None)
    x_kubernetes_validations: Annotated[list[ValidationRule], ListMap("rule"), Merge("rule")] = wire(
        "x-kubernetes-validations", []
    )


class CustomResourceValidation(Struct):
    open_api_v3_schema: JSONSchemaProps | None = wire("openAPIV3Schema", None)


class CustomResourceSubresourceStatus(Struct):
    pass


class CustomResourceSubresourceScale(Struct):
    spec_replicas_path: Required[str] = always(str)
    status_replicas_path: Required[str] = always(str)
    label_selector_path: str | None = None


class CustomResourceSubresources(Struct):
    status: CustomResourceSubresourceStatus | None = None
    scale: CustomResourceSubresourceScale | None = None


class CustomResourceColumnDefinition(Struct):
    name: Required[str] = always(str)
    type: Required[str] = always(str)
    format: str = ""
    description: str = ""
    priority: Int32 = 0
    json_path: Required[str] = always(str)


class SelectableField(Struct):
    json_path: Required[str] = always(str)


class CustomResourceDefinitionVersion(Struct):
    name: Required[str] = always(str)
    served: Required[bool] = always(bool)
    storage: Required[bool] = always(bool)
    deprecated: bool = False
    deprecation_warning: str | None = None
    schema: CustomResourceValidation | None = None
    subresources: CustomResourceSubresources | None = None
    additional_printer_columns: Atomic[list[CustomResourceColumnDefinition]] = []
    selectable_fields: Atomic[list[SelectableField]] = []


class ServiceReference(Struct):
    namespace: Required[str] = always(str)
    name: Required[str] = always(str)
    path: str | None = None
    port: Int32 | None = None


class WebhookClientConfig(Struct):
    url: str | None = None
    service: ServiceReference | None = None
    ca_bundle: bytes = b""


class WebhookConversion(Struct):
    client_config: WebhookClientConfig | None = None
    conversion_review_versions: Required[Atomic[list[str]]] = always(list)


class CustomResourceConversion(Struct):
    strategy: Required[str] = always(str)
    webhook: WebhookConversion | None = None


class CustomResourceDefinitionSpec(Struct):
    group: Required[str] = always(str)
    names: Required[CustomResourceDefinitionNames] = always(CustomResourceDefinitionNames)
    scope: Required[str] = always(str)
    versions: Required[Atomic[list[CustomResourceDefinitionVersion]]] = always(list)
    conversion: CustomResourceConversion | None = None
    preserve_unknown_fields: bool = False


class CustomResourceDefinitionCondition(Struct):
    type: Required[str] = always(str)
    status: Required[str] = always(str)
    last_transition_time: Time | None = always(none)
    reason: str = ""
    message: str = ""
    observed_generation: Int64 = 0


class CustomResourceDefinitionStatus(Struct):
    conditions: Annotated[list[CustomResourceDefinitionCondition], ListMap("type")] = always(list)
    accepted_names: CustomResourceDefinitionNames = always(CustomResourceDefinitionNames)
    stored_versions: Atomic[list[str]] = always(list)
    observed_generation: Int64 = 0


class CustomResourceDefinition(meta.Object):
    api_version: str = constant("apiextensions.k8s.io/v1")
    kind: str = constant("CustomResourceDefinition")
    spec: Required[CustomResourceDefinitionSpec] = always(CustomResourceDefinitionSpec)
    status: CustomResourceDefinitionStatus = always(CustomResourceDefinitionStatus)


class CustomResourceDefinitionList(meta.ObjectList):
    api_version: str = constant("apiextensions.k8s.io/v1")
    kind: str = constant("CustomResourceDefinitionList")
    items: Required[list[CustomResourceDefinition]] = always(list)


class ConversionRequest(Struct):
    uid: Required[str] = always(str)
    desired_api_version: Required[str] = always(str, name="desiredAPIVersion")
    objects: Required[list[RawExtension]] = always(list)


class ConversionResponse(Struct):
    uid: Required[str] = always(str)
    converted_objects: Required[list[RawExtension]] = always(list)
    result: Required[meta.Status] = always(meta.Status)


class ConversionReview(meta.TypeMeta):
    api_version: str = constant("apiextensions.k8s.io/v1")
    kind: str = constant("ConversionReview")
    request: ConversionRequest | None = None
    response: ConversionResponse | None = None
