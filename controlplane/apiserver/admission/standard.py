"""The plugins that are in force, in upstream's order.

Not here, though upstream has them on: PodSecurity, ResourceQuota, PodTopologyLabels, PersistentVolumeClaimResize,
webhooks and admission policies (later work); and StorageObjectInUseProtection, whose finalizers
nobody would remove as long as the controllers behind it do not exist.
"""

from __future__ import annotations

import random

from client.clock import Clock
from controlplane.apiserver.admission.certificates import (
    CertificateApproval,
    CertificateSigning,
    CertificateSubjectRestriction,
)
from controlplane.apiserver.admission.chain import Admission
from controlplane.apiserver.admission.default_classes import DefaultIngressClass, DefaultStorageClass
from controlplane.apiserver.admission.default_toleration_seconds import DefaultTolerationSeconds
from controlplane.apiserver.admission.limit_ranger import LimitRanger
from controlplane.apiserver.admission.namespace_lifecycle import NamespaceLifecycle
from controlplane.apiserver.admission.node_restriction import NodeRestriction
from controlplane.apiserver.admission.priority import Priority
from controlplane.apiserver.admission.role_escalation import RoleEscalation
from controlplane.apiserver.admission.runtime_class import RuntimeClass
from controlplane.apiserver.admission.service_account import ServiceAccount
from controlplane.apiserver.admission.taint_nodes_by_condition import TaintNodesByCondition
from controlplane.apiserver.authorization.authorizer import Authorizer
from controlplane.apiserver.authorization.escalation import EscalationCheck
from controlplane.apiserver.request import ObjectReader


def standard_admission(
    reader: ObjectReader, authorizer: Authorizer, clock: Clock, rng: random.Random | None = None
) -> Admission:
    """The chain of the API server."""
    return Admission(
        (
            NamespaceLifecycle(reader),
            LimitRanger(reader),
            ServiceAccount(reader, clock, rng or random.SystemRandom()),
            NodeRestriction(reader, authorizer),
            TaintNodesByCondition(),
            Priority(reader),
            DefaultTolerationSeconds(),
            RuntimeClass(reader),
            CertificateApproval(authorizer),
            CertificateSigning(authorizer),
            CertificateSubjectRestriction(),
            DefaultIngressClass(reader),
            DefaultStorageClass(reader),
            RoleEscalation(EscalationCheck(authorizer)),
        )
    )
