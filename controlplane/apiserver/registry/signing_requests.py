"""Certificate signing requests: who asks is written down by the server, who approves has an endpoint of their own."""

from __future__ import annotations

from typing import Any

from cryptography import x509

from api import certificates_v1 as certificates
from api import fields
from api.times import Time
from controlplane.apiserver.registry.strategy import Strategy, Write

_DECISIONS = ("Approved", "Denied")


class SigningRequestStrategy(Strategy):
    """Signing requests as the API treats them."""

    def prepare_create(self, obj: Any, write: Write) -> None:
        super().prepare_create(obj, write)
        request: certificates.CertificateSigningRequest = obj
        user = write.user
        request.spec.username = user.name
        request.spec.uid = user.uid
        request.spec.groups = list(user.groups)
        request.spec.extra = {key: list(values) for key, values in user.extra.items()}

    def extra_validation(self, new: Any, old: Any | None) -> fields.FieldErrors:
        """A request that no signer could read is refused at once."""
        request: certificates.CertificateSigningRequest = new
        problem = _unreadable(request.spec.request) if old is None and request.spec.request else ""
        return [fields.invalid("spec.request", request.spec.request, problem)] if problem else []

    def prepare_update(self, new: Any, old: Any, write: Write) -> None:
        new.spec = old.spec
        new.status = old.status

    def prepare_status_update(self, new: Any, old: Any, write: Write) -> None:
        """The signer's half: the certificate and its failure, not the decision."""
        super().prepare_status_update(new, old, write)
        decided = [condition for condition in old.status.conditions if condition.type in _DECISIONS]
        others = [condition for condition in new.status.conditions if condition.type not in _DECISIONS]
        new.status.conditions = _stamped([*decided, *others], write.now)

    def prepare_approval(self, new: Any, old: Any, write: Write) -> None:
        """The approver's half: the conditions, nothing else."""
        new.spec = old.spec
        certificate = old.status.certificate
        new.status.certificate = certificate
        new.status.conditions = _stamped(new.status.conditions, write.now)


def _unreadable(pem: bytes) -> str:
    """Why a request is none, "" if it is one."""
    if b"-----BEGIN CERTIFICATE REQUEST-----" not in pem:
        return "PEM block type must be CERTIFICATE REQUEST"
    try:
        x509.load_pem_x509_csr(pem)
    except (ValueError, x509.InvalidVersion) as error:
        return f"asn1: structure error: {error}"
    return ""


def _stamped(
    conditions: list[certificates.CertificateSigningRequestCondition], now: float
) -> list[certificates.CertificateSigningRequestCondition]:
    """Conditions that lack a time of their own get the present one."""
    stamp = Time.from_timestamp(now)
    for condition in conditions:
        condition.last_update_time = condition.last_update_time or stamp
        condition.last_transition_time = condition.last_transition_time or stamp
        condition.status = condition.status or "True"
    return conditions
