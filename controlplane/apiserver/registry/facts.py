"""In what the kinds differ from the common rule, as upstream's strategies have it.

Kept as data rather than as a class per kind: nearly all kinds differ in one or two switches only. Kinds with real
behaviour of their own (pods, services, namespaces) have a strategy module each.
"""

from __future__ import annotations

from dataclasses import dataclass

from api.errors import GroupName


@dataclass(frozen=True, slots=True)
class Facts:
    """The switches of one resource.

    `generation` names the parts of an object ("spec", "metadata.annotations") whose change makes a new
    metadata.generation; empty for kinds that do not count generations. `keeps_status` marks the kinds whose status may
    be given at creation although there is a status subresource. `out_of_status` names the members of metadata that are
    no business of those who write the status.
    """

    generation: tuple[str, ...] = ()
    counts_generations: bool = False
    create_on_update: bool = False
    unconditional_update: bool = True
    returns_deleted: bool = False
    keeps_status: bool = False
    orphans_by_default: bool = False
    collects_garbage: bool = True
    out_of_status: tuple[str, ...] = ()


_METADATA = ("labels", "annotations", "finalizers", "owner_references", "deletion_timestamp", "generation")

_SPEC = Facts(generation=("spec",), counts_generations=True)
_COMMON = Facts()


def of(group_resource: GroupName) -> Facts:
    """The facts of a resource."""
    return _FACTS.get(group_resource, _COMMON)


_FACTS: dict[GroupName, Facts] = {
    GroupName("", "endpoints"): Facts(create_on_update=True),
    GroupName("", "events"): Facts(create_on_update=True, collects_garbage=False),
    GroupName("", "limitranges"): Facts(create_on_update=True),
    GroupName("", "nodes"): Facts(keeps_status=True),
    GroupName("", "persistentvolumeclaims"): Facts(returns_deleted=True),
    GroupName("", "persistentvolumes"): Facts(returns_deleted=True),
    GroupName("", "pods"): Facts(generation=("spec",), counts_generations=True, returns_deleted=True),
    GroupName("", "podtemplates"): Facts(
        generation=("template",), counts_generations=True, create_on_update=True, returns_deleted=True
    ),
    GroupName("", "replicationcontrollers"): Facts(
        generation=("spec",), counts_generations=True, orphans_by_default=True
    ),
    GroupName("", "resourcequotas"): Facts(returns_deleted=True),
    GroupName("", "serviceaccounts"): Facts(returns_deleted=True),
    GroupName("", "services"): Facts(create_on_update=True, returns_deleted=True),
    GroupName("admissionregistration.k8s.io", "mutatingwebhookconfigurations"): Facts(
        generation=("webhooks",), counts_generations=True, unconditional_update=False
    ),
    GroupName("admissionregistration.k8s.io", "validatingadmissionpolicies"): Facts(
        generation=("spec",), counts_generations=True, unconditional_update=False, out_of_status=_METADATA
    ),
    GroupName("admissionregistration.k8s.io", "validatingadmissionpolicybindings"): Facts(
        generation=("spec",), counts_generations=True, unconditional_update=False
    ),
    GroupName("admissionregistration.k8s.io", "mutatingadmissionpolicies"): Facts(
        generation=("spec",), counts_generations=True, unconditional_update=False
    ),
    GroupName("admissionregistration.k8s.io", "mutatingadmissionpolicybindings"): Facts(
        generation=("spec",), counts_generations=True, unconditional_update=False
    ),
    GroupName("admissionregistration.k8s.io", "validatingwebhookconfigurations"): Facts(
        generation=("webhooks",), counts_generations=True, unconditional_update=False
    ),
    GroupName("apiextensions.k8s.io", "customresourcedefinitions"): Facts(
        generation=("spec",), counts_generations=True, unconditional_update=False
    ),
    GroupName("apiregistration.k8s.io", "apiservices"): Facts(unconditional_update=False, out_of_status=_METADATA),
    GroupName("apps", "daemonsets"): _SPEC,
    GroupName("apps", "deployments"): Facts(
        generation=("spec", "metadata.annotations"), counts_generations=True, out_of_status=("labels",)
    ),
    GroupName("apps", "replicasets"): _SPEC,
    GroupName("apps", "statefulsets"): _SPEC,
    GroupName("autoscaling", "horizontalpodautoscalers"): _COMMON,
    GroupName("batch", "cronjobs"): _SPEC,
    GroupName("batch", "jobs"): Facts(generation=("spec",), counts_generations=True, orphans_by_default=True),
    GroupName("coordination.k8s.io", "leases"): Facts(create_on_update=True, unconditional_update=False),
    GroupName("discovery.k8s.io", "endpointslices"): Facts(
        generation=("endpoints", "ports", "address_type"), counts_generations=True
    ),
    GroupName("events.k8s.io", "events"): Facts(create_on_update=True, collects_garbage=False),
    GroupName("flowcontrol.apiserver.k8s.io", "flowschemas"): Facts(
        generation=("spec",), counts_generations=True, out_of_status=_METADATA
    ),
    GroupName("flowcontrol.apiserver.k8s.io", "prioritylevelconfigurations"): Facts(
        generation=("spec",), counts_generations=True, out_of_status=_METADATA
    ),
    GroupName("networking.k8s.io", "ingresses"): _SPEC,
    GroupName("networking.k8s.io", "ingressclasses"): _SPEC,
    GroupName("networking.k8s.io", "networkpolicies"): _SPEC,
    GroupName("networking.k8s.io", "servicecidrs"): Facts(keeps_status=True),
    GroupName("policy", "poddisruptionbudgets"): Facts(
        generation=("spec",), counts_generations=True, unconditional_update=False
    ),
    GroupName("rbac.authorization.k8s.io", "clusterrolebindings"): Facts(create_on_update=True),
    GroupName("rbac.authorization.k8s.io", "clusterroles"): Facts(create_on_update=True),
    GroupName("rbac.authorization.k8s.io", "rolebindings"): Facts(create_on_update=True),
    GroupName("rbac.authorization.k8s.io", "roles"): Facts(create_on_update=True),
    GroupName("resource.k8s.io", "deviceclasses"): Facts(
        generation=("spec",), counts_generations=True, returns_deleted=True
    ),
    GroupName("resource.k8s.io", "resourceclaims"): Facts(returns_deleted=True, out_of_status=_METADATA),
    GroupName("resource.k8s.io", "resourceclaimtemplates"): Facts(returns_deleted=True),
    GroupName("resource.k8s.io", "resourceslices"): Facts(
        generation=("spec",), counts_generations=True, returns_deleted=True
    ),
    GroupName("scheduling.k8s.io", "priorityclasses"): Facts(counts_generations=True),
    GroupName("storage.k8s.io", "csidrivers"): Facts(
        generation=("spec",), counts_generations=True, unconditional_update=False, returns_deleted=True
    ),
    GroupName("storage.k8s.io", "csinodes"): Facts(unconditional_update=False, returns_deleted=True),
    GroupName("storage.k8s.io", "csistoragecapacities"): Facts(unconditional_update=False, returns_deleted=True),
    GroupName("storage.k8s.io", "storageclasses"): Facts(returns_deleted=True),
    GroupName("storage.k8s.io", "volumeattachments"): Facts(
        unconditional_update=False, returns_deleted=True, out_of_status=_METADATA
    ),
    GroupName("storage.k8s.io", "volumeattributesclasses"): Facts(returns_deleted=True),
}
