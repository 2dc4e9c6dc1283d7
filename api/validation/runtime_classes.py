"""RuntimeClasses (node.k8s.io): which handler runs a pod, what that costs, and where it is to be found."""

from __future__ import annotations

from api import core_v1 as core
from api import node_v1 as node
from api.fields import FieldErrors
from api.validation.checks import dns_label, immutable
from api.validation.metadata import validate_labels
from api.validation.resources import validate_requirements
from api.validation.rules import Rules
from api.validation.scheduling import validate_tolerations


def validate_runtime_class(runtime_class: node.RuntimeClass, out: FieldErrors) -> None:
    dns_label(runtime_class.handler, "handler", out)
    if runtime_class.overhead is not None:
        overhead = core.ResourceRequirements(limits=runtime_class.overhead.pod_fixed)
        validate_requirements(overhead, (), "overhead", out)
    scheduling = runtime_class.scheduling
    if scheduling is not None:
        validate_labels(scheduling.node_selector, "scheduling.nodeSelector", out)
        validate_tolerations(scheduling.tolerations, "scheduling.tolerations", out)


def validate_runtime_class_update(new: node.RuntimeClass, old: node.RuntimeClass, out: FieldErrors) -> None:
    """Upstream looks at the handler alone: pods have been admitted by it."""
    immutable(new.handler, old.handler, "handler", out)


RULES = {"RuntimeClass": Rules(create=validate_runtime_class, update=validate_runtime_class_update)}
