"""CertificateSigningRequests: a signer, usages, and a request that stays."""

from __future__ import annotations

from api import certificates_v1 as certificates
from api import names
from api.fields import FieldErrors, duplicate, forbidden, invalid, required
from api.names import Messages
from api.validation.checks import immutable, one_of
from api.validation.rules import Rules

_USAGES = (
    "any",
    "cert sign",
    "client auth",
    "code signing",
    "content commitment",
    "crl sign",
    "data encipherment",
    "decipher only",
    "digital signature",
    "email protection",
    "encipher only",
    "ipsec end system",
    "ipsec tunnel",
    "ipsec user",
    "key agreement",
    "key encipherment",
    "microsoft sgc",
    "netscape sgc",
    "ocsp signing",
    "s/mime",
    "server auth",
    "signing",
    "timestamping",
)
_SHORTEST = 600
_CONDITION_STATUS = {"Approved": ("True",), "Denied": ("True",), "Failed": ("True",)}


def _any_name(name: str, prefix: bool) -> Messages:
    """Kubelets and humans name their requests as they like."""
    return names.OK


def validate_request(request: certificates.CertificateSigningRequest, out: FieldErrors) -> None:
    """Whether the bytes are a PKCS#10 request is the API server's to parse, and to refuse at `spec.request`."""
    spec = request.spec
    if not spec.request:
        out.append(required("spec.request"))
    if not spec.usages:
        out.append(required("spec.usages"))
    for index, usage in enumerate(spec.usages):
        one_of(usage, _USAGES, f"spec.usages[{index}]", out)
        if usage in spec.usages[:index]:
            out.append(duplicate(f"spec.usages[{index}]", usage))
    domain, slash, path = spec.signer_name.partition("/")
    if not spec.signer_name:
        out.append(required("spec.signerName"))
    elif not (slash and path) or names.dns1123_subdomain(domain) or "." not in domain:
        detail = "must be a fully qualified domain and path of the form 'example.com/signer-name'"
        out.append(invalid("spec.signerName", spec.signer_name, detail))
    if spec.expiration_seconds is not None and spec.expiration_seconds < _SHORTEST:
        detail = "may not specify a duration less than 600 seconds (10 minutes)"
        out.append(invalid("spec.expirationSeconds", spec.expiration_seconds, detail))
    _validate_conditions(request, out)


def _validate_conditions(request: certificates.CertificateSigningRequest, out: FieldErrors) -> None:
    seen: set[str] = set()
    for index, condition in enumerate(request.status.conditions):
        where = f"status.conditions[{index}]"
        if not condition.type:
            out.append(required(f"{where}.type"))
        if condition.type in seen:
            out.append(duplicate(f"{where}.type", condition.type))
        seen.add(condition.type)
        if not condition.status:
            out.append(required(f"{where}.status"))
        else:
            allowed = _CONDITION_STATUS.get(condition.type, ("False", "True", "Unknown"))
            one_of(condition.status, allowed, f"{where}.status", out)
    if {"Approved", "Denied"} <= seen:
        out.append(invalid("status.conditions", "Denied", "Approved and Denied conditions are mutually exclusive"))


def validate_request_update(
    new: certificates.CertificateSigningRequest, old: certificates.CertificateSigningRequest, out: FieldErrors
) -> None:
    validate_request(new, out)
    kept = {condition.type for condition in new.status.conditions}
    for condition in old.status.conditions:
        if condition.type in ("Approved", "Denied", "Failed") and condition.type not in kept:
            detail = f'updates may not remove a condition of type "{condition.type}"'
            out.append(forbidden("status.conditions", detail))
    if old.status.certificate:
        immutable(new.status.certificate, old.status.certificate, "status.certificate", out)


RULES = {
    "CertificateSigningRequest": Rules(
        name=_any_name, create=validate_request, update=validate_request_update, status=validate_request_update
    )
}
