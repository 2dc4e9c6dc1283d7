"""NodeRestriction: a kubelet writes its own node, and of pods those that are bound to it.

The node authorizer has decided which objects a node can reach; what it may do to them is judged here, where the
object is known. It keeps a compromised node from steering other pods to itself, through its labels and taints, and
from getting tokens of pods elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from api import authentication_v1 as authentication
from api import core_v1 as core
from api import errors
from api import storage_v1 as storage
from api.codec import to_builtins
from api.pods import is_mirror
from api.rendering import quote
from api.scheme import SCHEME
from controlplane.apiserver.admission.attributes import CREATE, DELETE, UPDATE, Attributes
from controlplane.apiserver.admission.plugin import Plugin
from controlplane.apiserver.authorization.authorizer import Authorizer
from controlplane.apiserver.authorization.node import LEASE_NAMESPACE, node_name
from controlplane.apiserver.authorization.references import config_map_names, secret_names
from controlplane.apiserver.request import ObjectReader, RequestInfo

_PODS = errors.GroupName("", "pods")
_NODES = errors.GroupName("", "nodes")
_CLAIMS = errors.GroupName("", "persistentvolumeclaims")
_ACCOUNTS = errors.GroupName("", "serviceaccounts")
_LEASES = errors.GroupName("coordination.k8s.io", "leases")
_CSI_NODES = errors.GroupName("storage.k8s.io", "csinodes")
_RESTRICTED = frozenset({_PODS, _NODES, _CLAIMS, _ACCOUNTS, _LEASES, _CSI_NODES})

_MIRROR_ANNOTATION = "kubernetes.io/config.mirror"
_NEVER = "node-restriction.kubernetes.io"
_OF_KUBELETS = frozenset(
    {
        "kubernetes.io/hostname",
        "kubernetes.io/arch",
        "kubernetes.io/os",
        "beta.kubernetes.io/arch",
        "beta.kubernetes.io/os",
        "beta.kubernetes.io/instance-type",
        "node.kubernetes.io/instance-type",
        "topology.kubernetes.io/region",
        "topology.kubernetes.io/zone",
        "failure-domain.beta.kubernetes.io/region",
        "failure-domain.beta.kubernetes.io/zone",
    }
)
_DOMAINS_OF_KUBELETS = ("kubelet.kubernetes.io", "node.kubernetes.io")


class NodeRestriction(Plugin):
    """Holds members of ``system:nodes`` to what is theirs."""

    def __init__(self, reader: ObjectReader, authorizer: Authorizer) -> None:
        self._reader = reader
        self._authorizer = authorizer
        self._pods = SCHEME.of(core.Pod)
        self._nodes = SCHEME.of(core.Node)

    def applies(self, operation: str, resource: errors.GroupName, subresource: str) -> bool:
        return operation in (CREATE, UPDATE, DELETE) and resource in _RESTRICTED

    async def mutate(self, attributes: Attributes) -> None:
        # While others have not yet changed the object: a mirror pod has to be judged as the node sent it.
        node = node_name(attributes.user)
        if node is None:
            return
        if not node:
            raise attributes.forbidden(f"could not determine node from user {quote(attributes.user.name)}")
        resource = errors.GroupName(attributes.resource.group, attributes.resource.plural)
        if resource == _PODS:
            self._pod(node, attributes)
        elif resource == _NODES:
            _node(node, attributes)
        elif resource == _CLAIMS:
            _claim(node, attributes)
        elif resource == _ACCOUNTS:
            self._token(node, attributes)
        elif resource == _LEASES:
            _lease(node, attributes)
        else:
            _own_name(node, attributes, "can only access CSINode with the same name as the requesting node")

    # ------------------------------------------------------------ pods

    def _pod(self, node: str, attributes: Attributes) -> None:
        subresource = attributes.subresource
        if subresource == "status":
            _pod_status(node, attributes)
        elif subresource == "eviction":
            self._eviction(node, attributes)
        elif subresource:
            raise attributes.forbidden(
                f"unexpected pod subresource {quote(subresource)}, only 'status' and 'eviction' are allowed"
            )
        elif attributes.operation == CREATE:
            self._mirror_pod(node, attributes)
        elif attributes.operation == DELETE:
            if self._find_pod(attributes, attributes.name).spec.node_name != node:
                raise attributes.forbidden(f"node {quote(node)} can only delete pods with spec.nodeName set to itself")
        else:
            raise attributes.forbidden(
                f"unexpected operation {quote(attributes.operation)}, "
                f"node {quote(node)} can only create and delete mirror pods"
            )

    def _mirror_pod(self, node: str, attributes: Attributes) -> None:
        pod: core.Pod = attributes.new
        who = f"node {quote(node)}"
        if not is_mirror(pod):
            raise attributes.forbidden(
                f"pod does not have {quote(_MIRROR_ANNOTATION)} annotation, {who} can only create mirror pods"
            )
        if pod.spec.node_name != node:
            raise attributes.forbidden(f"{who} can only create pods with spec.nodeName set to itself")
        self._mirror_owner(node, who, attributes)
        if pod.spec.service_account_name:
            raise attributes.forbidden(f"{who} can not create pods that reference a service account")
        if any(True for _ in secret_names(pod)):
            raise attributes.forbidden(f"{who} can not create pods that reference secrets")
        if any(True for _ in config_map_names(pod)):
            raise attributes.forbidden(f"{who} can not create pods that reference configmaps")
        for volume in pod.spec.volumes:
            sources = [] if volume.projected is None else volume.projected.sources
            if any(source.cluster_trust_bundle is not None for source in sources):
                raise attributes.forbidden(f"{who} can not create pods that reference clustertrustbundles")
        if any(volume.persistent_volume_claim is not None for volume in pod.spec.volumes):
            raise attributes.forbidden(f"{who} can not create pods that reference persistentvolumeclaims")

    def _mirror_owner(self, node: str, who: str, attributes: Attributes) -> None:
        """A mirror pod goes with its node, so the node must own it."""
        owners = attributes.new.metadata.owner_references
        if len(owners) > 1:
            raise attributes.forbidden(f"{who} can only create pods with a single owner reference set to itself")
        if not owners or (owners[0].api_version, owners[0].kind, owners[0].name) != ("v1", "Node", node):
            raise attributes.forbidden(f"{who} can only create pods with an owner reference set to itself")
        owner = owners[0]
        if not owner.controller:
            raise attributes.forbidden(f"{who} can only create pods with a controller owner reference set to itself")
        if owner.block_owner_deletion:
            raise attributes.forbidden(f"{who} must not set blockOwnerDeletion on an owner reference")
        found = self._reader.get(self._nodes, "", node)
        if found is None:
            raise errors.not_found("node", node)
        if owner.uid != found.metadata.uid:
            raise attributes.forbidden(f"node {node} UID mismatch: expected {owner.uid} got {found.metadata.uid}")

    def _eviction(self, node: str, attributes: Attributes) -> None:
        if attributes.operation != CREATE:
            raise attributes.forbidden(f"unexpected operation {attributes.operation}")
        name = attributes.name or attributes.new.metadata.name
        if not name:
            raise attributes.forbidden("could not determine pod from request data")
        if self._find_pod(attributes, name).spec.node_name != node:
            raise attributes.forbidden(f"node {node} can only evict pods with spec.nodeName set to itself")

    def _find_pod(self, attributes: Attributes, name: str) -> core.Pod:
        pod = self._reader.get(self._pods, attributes.namespace, name)
        if not isinstance(pod, core.Pod):
            raise errors.not_found("pod", name)
        return pod

    # ------------------------------------------------------------ tokens

    def _token(self, node: str, attributes: Attributes) -> None:
        if attributes.operation != CREATE or attributes.subresource != "token":
            return
        request: authentication.TokenRequest = attributes.new
        reference = request.spec.bound_object_ref
        if reference is None or (reference.api_version, reference.kind) != ("v1", "Pod") or not reference.name:
            raise attributes.forbidden("node requested token not bound to a pod")
        if not reference.uid:
            raise attributes.forbidden("node requested token with a pod binding without a uid")
        pod = self._find_pod(attributes, reference.name)
        if reference.uid != pod.metadata.uid:
            raise attributes.forbidden(
                f"the UID in the bound object reference ({reference.uid}) does not match the UID in record. "
                "The object might have been deleted and then recreated"
            )
        if pod.spec.node_name != node:
            raise attributes.forbidden("node requested token bound to a pod scheduled on a different node")
        for audience in request.spec.audiences:
            self._check_audience(attributes, pod, audience)

    def _check_audience(self, attributes: Attributes, pod: core.Pod, audience: str) -> None:
        """The pod must want a token for *audience*, or the node be allowed to ask for it (KEP-4935)."""
        if audience in self._audiences(pod):
            return
        info = RequestInfo(
            "request-serviceaccounts-token-audience",
            "",
            "",
            audience,
            namespace=attributes.namespace,
            name=attributes.name,
            is_resource=True,
        )
        if not self._authorizer.authorize(attributes.user, info).allowed:
            raise attributes.forbidden(f"audience {quote(audience)} not found in pod spec volume")

    def _audiences(self, pod: core.Pod) -> set[str]:
        found: set[str] = set()
        drivers: set[str] = set()
        for volume in pod.spec.volumes:
            if volume.projected is not None:
                for source in volume.projected.sources:
                    if source.service_account_token is not None:
                        found.add(source.service_account_token.audience)
            elif volume.csi is not None:
                drivers.add(volume.csi.driver)
            else:
                drivers.add(self._driver_of_claim(pod, volume))
        for name in drivers - {""}:
            driver = self._reader.get(SCHEME.of(storage.CSIDriver), "", name)
            if isinstance(driver, storage.CSIDriver):
                found.update(request.audience for request in driver.spec.token_requests)
        return found

    def _driver_of_claim(self, pod: core.Pod, volume: core.Volume) -> str:
        name = ""
        if volume.persistent_volume_claim is not None:
            name = volume.persistent_volume_claim.claim_name
        elif volume.ephemeral is not None:
            name = f"{pod.metadata.name}-{volume.name}"
        if not name:
            return ""
        claim = self._reader.get(SCHEME.of(core.PersistentVolumeClaim), pod.metadata.namespace, name)
        if not isinstance(claim, core.PersistentVolumeClaim) or not claim.spec.volume_name:
            return ""
        bound = self._reader.get(SCHEME.of(core.PersistentVolume), "", claim.spec.volume_name)
        if not isinstance(bound, core.PersistentVolume) or bound.spec.csi is None:
            return ""
        return bound.spec.csi.driver


def _pod_status(node: str, attributes: Attributes) -> None:
    if attributes.operation != UPDATE:
        raise attributes.forbidden(f"unexpected operation {quote(attributes.operation)}")
    old, new = attributes.old, attributes.new
    if old.spec.node_name != node:
        raise attributes.forbidden(
            f"node {quote(node)} can only update pod status for pods with spec.nodeName set to itself"
        )
    if old.metadata.labels != new.metadata.labels:
        raise attributes.forbidden(f"node {quote(node)} cannot update labels through pod status")
    if old.status.resource_claim_statuses != new.status.resource_claim_statuses:
        raise attributes.forbidden(f"node {quote(node)} cannot update resource claim statues")


def _node(node: str, attributes: Attributes) -> None:
    name = attributes.name or attributes.new.metadata.name
    if name != node:
        raise attributes.forbidden(f"node {quote(node)} is not allowed to modify node {quote(name)}")
    if attributes.operation == CREATE:
        labels = _forbidden_labels(attributes.new.metadata.labels, {})
        if labels:
            raise attributes.forbidden(
                f"node {quote(node)} is not allowed to set the following labels: {', '.join(labels)}"
            )
        if attributes.new.metadata.owner_references:
            raise attributes.forbidden(f"node {quote(node)} is not allowed to modify ownerReferences")
        return
    if attributes.operation != UPDATE:
        return
    new, old = attributes.new, attributes.old
    if new.spec.taints != old.spec.taints:
        raise attributes.forbidden(f"node {quote(node)} is not allowed to modify taints")
    labels = _forbidden_labels(new.metadata.labels, old.metadata.labels)
    if labels:
        raise attributes.forbidden(f"is not allowed to modify labels: {', '.join(labels)}")
    if new.metadata.owner_references != old.metadata.owner_references:
        raise attributes.forbidden(f"node {quote(node)} is not allowed to modify ownerReferences")


def _forbidden_labels(new: Mapping[str, str], old: Mapping[str, str]) -> list[str]:
    """Changed labels that are not a kubelet's to set, sorted."""
    changed = {key for key in (*new, *old) if new.get(key) != old.get(key)}
    return sorted(key for key in changed if not _is_settable(key))


def _is_settable(label: str) -> bool:
    domain = label.partition("/")[0] if "/" in label else ""
    if _within(domain, _NEVER):
        return False
    if not (_within(domain, "kubernetes.io") or _within(domain, "k8s.io")):
        return True
    return label in _OF_KUBELETS or any(_within(domain, own) for own in _DOMAINS_OF_KUBELETS)


def _within(domain: str, parent: str) -> bool:
    return domain == parent or domain.endswith(f".{parent}")


def _claim(node: str, attributes: Attributes) -> None:
    if attributes.subresource != "status":
        raise attributes.forbidden("may only update PVC status")
    if attributes.operation != UPDATE:
        raise attributes.forbidden(f"unexpected operation {quote(attributes.operation)}")
    if _fixed_part(attributes.new) != _fixed_part(attributes.old):
        raise attributes.forbidden(
            f"node {quote(node)} is not allowed to update fields other than status.quantity and status.conditions"
        )


def _fixed_part(claim: core.PersistentVolumeClaim) -> dict[str, Any]:
    """The claim without what a node reports after it has grown a file system."""
    data: dict[str, Any] = to_builtins(claim)
    for key in ("resourceVersion", "managedFields"):
        data["metadata"].pop(key, None)
    for key in ("capacity", "conditions", "allocatedResources", "allocatedResourceStatuses"):
        data.get("status", {}).pop(key, None)
    return data


def _lease(node: str, attributes: Attributes) -> None:
    if attributes.namespace != LEASE_NAMESPACE:
        raise attributes.forbidden(f"can only access leases in the {quote(LEASE_NAMESPACE)} system namespace")
    _own_name(node, attributes, "can only access node lease with the same name as the requesting node")


def _own_name(node: str, attributes: Attributes, refusal: str) -> None:
    # A creation has its name in the object alone.
    name = attributes.new.metadata.name if attributes.operation == CREATE else attributes.name
    if name != node:
        raise attributes.forbidden(refusal)
