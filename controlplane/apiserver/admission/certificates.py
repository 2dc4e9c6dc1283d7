"""Certificates: who may approve and sign requests of a signer, and what may not be asked of one.

Three of upstream's plugins (CertificateApproval, CertificateSigning, CertificateSubjectRestriction) that share their
subject. Whoever may update the endpoints of approval and status may do so for the signers only that roles give them:
the verbs ``approve`` and ``sign`` on the imagined resource ``signers``.
"""

from __future__ import annotations

from cryptography import x509
from cryptography.x509.oid import NameOID

from api.certificates_v1 import CertificateSigningRequest
from api.errors import GroupName
from controlplane.apiserver.admission.attributes import CREATE, UPDATE, Attributes
from controlplane.apiserver.admission.plugin import Plugin
from controlplane.apiserver.authorization.authorizer import PRIVILEGED_GROUP, Authorizer
from controlplane.apiserver.request import RequestInfo, User

_GROUP = "certificates.k8s.io"
_REQUESTS = GroupName(_GROUP, "certificatesigningrequests")
_CLIENTS = "kubernetes.io/kube-apiserver-client"


class CertificateApproval(Plugin):
    """Lets only those decide who may approve for the request's signer."""

    def __init__(self, authorizer: Authorizer) -> None:
        self._authorizer = authorizer

    def applies(self, operation: str, resource: GroupName, subresource: str) -> bool:
        return operation == UPDATE and resource == _REQUESTS and subresource == "approval"

    async def validate(self, attributes: Attributes) -> None:
        # The old request counts: nobody is to name a signer of his own in passing.
        signer = attributes.old.spec.signer_name
        if not _may(self._authorizer, attributes.user, "approve", signer):
            raise attributes.forbidden(f'user not permitted to approve requests with signerName "{signer}"')


class CertificateSigning(Plugin):
    """Lets only those hand out certificates who may sign for the request's signer."""

    def __init__(self, authorizer: Authorizer) -> None:
        self._authorizer = authorizer

    def applies(self, operation: str, resource: GroupName, subresource: str) -> bool:
        return operation == UPDATE and resource == _REQUESTS and subresource == "status"

    async def validate(self, attributes: Attributes) -> None:
        new, old = attributes.new.status, attributes.old.status
        if (new.certificate, new.conditions) == (old.certificate, old.conditions):
            return
        signer = attributes.old.spec.signer_name
        if not _may(self._authorizer, attributes.user, "sign", signer):
            raise attributes.forbidden(f'user not permitted to sign requests with signerName "{signer}"')


class CertificateSubjectRestriction(Plugin):
    """Keeps anyone from asking for a client certificate of the superusers' group."""

    def applies(self, operation: str, resource: GroupName, subresource: str) -> bool:
        return operation == CREATE and resource == _REQUESTS and not subresource

    async def validate(self, attributes: Attributes) -> None:
        request: CertificateSigningRequest = attributes.new
        if request.spec.signer_name == _CLIENTS and PRIVILEGED_GROUP in _organizations(request.spec.request):
            raise attributes.forbidden(f"use of {_CLIENTS} signer with {PRIVILEGED_GROUP} group is not allowed")


def _may(authorizer: Authorizer, user: User, verb: str, signer: str) -> bool:
    """Whether a user may do it for this signer, or for all of its domain."""
    domain = signer.partition("/")[0]
    return any(
        authorizer.authorize(user, RequestInfo(verb, _GROUP, "*", "signers", "", "", name, "", True)).allowed
        for name in (signer, f"{domain}/*")
    )


def _organizations(pem: bytes) -> list[str | bytes]:
    """The groups a request asks for; none if it cannot be read, which validation will say."""
    try:
        subject = x509.load_pem_x509_csr(pem).subject
    except (ValueError, x509.InvalidVersion):
        return []
    return [attribute.value for attribute in subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)]
