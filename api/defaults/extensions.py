"""Defaults of what extends the API: CustomResourceDefinitions and APIServices."""

from __future__ import annotations

from api import apiextensions_v1 as extensions
from api import apiregistration_v1 as registration

SERVICE_PORT = 443


def default_definition(definition: extensions.CustomResourceDefinition) -> None:
    spec = definition.spec
    if not spec.names.singular:
        spec.names.singular = spec.names.kind.lower()
    if not spec.names.list_kind and spec.names.kind:
        spec.names.list_kind = f"{spec.names.kind}List"
    if spec.conversion is None:
        spec.conversion = extensions.CustomResourceConversion(strategy="None")
    webhook = spec.conversion.webhook
    if webhook is not None and webhook.client_config is not None and webhook.client_config.service is not None:
        service = webhook.client_config.service
        if service.port is None:
            service.port = SERVICE_PORT
    if not definition.status.stored_versions:
        definition.status.stored_versions = [version.name for version in spec.versions if version.storage]


def default_api_service(service: registration.APIService) -> None:
    if service.spec.service is not None and service.spec.service.port is None:
        service.spec.service.port = SERVICE_PORT


DEFAULTS = {
    ("apiextensions.k8s.io/v1", "CustomResourceDefinition"): default_definition,
    ("apiregistration.k8s.io/v1", "APIService"): default_api_service,
}
