"""What extends the API: names of CustomResourceDefinitions and APIServices follow from what they serve."""

from __future__ import annotations

from api import apiextensions_v1 as extensions
from api import apiregistration_v1 as registration
from api import names
from api.fields import FieldErrors, invalid, required
from api.names import Messages
from api.rendering import quote
from api.validation.checks import complain, immutable, one_of, required_text
from api.validation.rules import Rules


def _any_name(name: str, prefix: bool) -> Messages:
    """The name is compared as a whole, below."""
    return names.OK


def validate_definition(definition: extensions.CustomResourceDefinition, out: FieldErrors) -> None:
    spec = definition.spec
    expected = f"{spec.names.plural}.{spec.group}"
    if definition.metadata.name != expected:
        detail = 'must be spec.names.plural+"."+spec.group'
        out.append(invalid("metadata.name", definition.metadata.name, detail))
    if not spec.group:
        out.append(required("spec.group"))
    elif bad := names.dns1123_subdomain(spec.group):
        complain(out, "spec.group", spec.group, bad)
    elif "." not in spec.group:
        out.append(invalid("spec.group", spec.group, "should be a domain with at least one dot"))
    if not spec.scope:
        out.append(required("spec.scope"))
    else:
        one_of(spec.scope, ("Cluster", "Namespaced"), "spec.scope", out)
    stored = 0
    for index, version in enumerate(spec.versions):
        stored += version.storage
        if bad := names.dns1035_label(version.name):
            complain(out, f"spec.versions[{index}].name", version.name, bad)
    if stored != 1:
        detail = "must have exactly one version marked as storage version"
        out.append(invalid("spec.versions", [version.name for version in spec.versions], detail))
    for value, wire in ((spec.names.plural, "plural"), (spec.names.singular, "singular")):
        if not value:
            out.append(required(f"spec.names.{wire}"))
        elif bad := names.dns1035_label(value):
            complain(out, f"spec.names.{wire}", value, bad)
    for value, wire in ((spec.names.kind, "kind"), (spec.names.list_kind, "listKind")):
        if not value:
            out.append(required(f"spec.names.{wire}"))
        elif bad := names.dns1035_label(value.lower()):
            detail = f"may have mixed case, but should otherwise match: {','.join(bad)}"
            out.append(invalid(f"spec.names.{wire}", value, detail))
    if spec.names.kind and spec.names.kind == spec.names.list_kind:
        detail = "kind and listKind may not be the same"
        out.append(invalid("spec.names.listKind", spec.names.list_kind, detail))


def validate_definition_update(
    new: extensions.CustomResourceDefinition, old: extensions.CustomResourceDefinition, out: FieldErrors
) -> None:
    validate_definition(new, out)
    immutable(new.spec.group, old.spec.group, "spec.group", out)
    if any(condition.type == "Established" and condition.status == "True" for condition in old.status.conditions):
        immutable(new.spec.scope, old.spec.scope, "spec.scope", out)
        immutable(new.spec.names.kind, old.spec.names.kind, "spec.names.kind", out)
    immutable(new.spec.names.plural, old.spec.names.plural, "spec.names.plural", out)


def validate_api_service(service: registration.APIService, out: FieldErrors) -> None:
    spec = service.spec
    expected = f"{spec.version}.{spec.group}"
    if service.metadata.name != expected:
        detail = f'must be `spec.version+"."+spec.group`: {quote(expected)}'
        out.append(invalid("metadata.name", service.metadata.name, detail))
    if spec.group and (bad := names.dns1123_subdomain(spec.group)):
        complain(out, "spec.group", spec.group, bad)
    if bad := names.dns1035_label(spec.version):
        complain(out, "spec.version", spec.version, bad)
    if not 0 < spec.group_priority_minimum <= 20000:
        detail = "must be positive and less than 20000"
        out.append(invalid("spec.groupPriorityMinimum", spec.group_priority_minimum, detail))
    if not 0 < spec.version_priority <= 1000:
        detail = "must be positive and less than 1000"
        out.append(invalid("spec.versionPriority", spec.version_priority, detail))
    if spec.service is None:
        if spec.ca_bundle:
            out.append(
                invalid("spec.caBundle", f"{len(spec.ca_bundle)} bytes", "local APIServices may not have a caBundle")
            )
        if spec.insecure_skip_tls_verify:
            detail = "local APIServices may not have insecureSkipTLSVerify"
            out.append(invalid("spec.insecureSkipTLSVerify", True, detail))
        return
    required_text(spec.service.namespace, "spec.service.namespace", out)
    required_text(spec.service.name, "spec.service.name", out)
    if spec.insecure_skip_tls_verify and spec.ca_bundle:
        detail = "may not be true if caBundle is present"
        out.append(invalid("spec.insecureSkipTLSVerify", True, detail))


RULES = {
    "CustomResourceDefinition": Rules(name=_any_name, create=validate_definition, update=validate_definition_update),
    "APIService": Rules(name=_any_name, create=validate_api_service),
}
