"""The node authorizer: a kubelet sees its own Node and Lease, and of other objects those its pods use.

A compromised node must not read the secrets of pods that run elsewhere. So the grants of ``system:nodes`` are not
roles but are decided here from the pods bound to the node: which secrets, config maps, claims, volumes and service
accounts they refer to (https://kubernetes.io/docs/reference/access-authn-authz/node/). What a node may *write* into
objects it can reach is judged later, by the NodeRestriction admission plugin.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from api import core_v1 as core
from api import rbac_v1 as rbac
from api import storage_v1 as storage
from api.rendering import quote
from api.scheme import SCHEME
from controlplane.apiserver.authorization.decisions import NO_OPINION, Decision
from controlplane.apiserver.authorization.node_references import NodeReferences
from controlplane.apiserver.authorization.references import Reference, volume_secrets
from controlplane.apiserver.authorization.rules import allows
from controlplane.apiserver.request import ObjectReader, RequestInfo, User

NODES_GROUP = "system:nodes"
USER_PREFIX = "system:node:"
LEASE_NAMESPACE = "kube-node-lease"

_READ = ("get", "list", "watch")
_OWN_OBJECT = ("get", "create", "update", "patch", "delete")
_ALLOWED = Decision(True)

_Judge = Callable[[str, RequestInfo], Decision]


def node_name(user: User) -> str | None:
    """The node that *user* is; "" for a member of system:nodes without a node's name, None for anybody else."""
    if NODES_GROUP not in user.groups:
        return None
    return user.name.removeprefix(USER_PREFIX) if user.name.startswith(USER_PREFIX) else ""


class NodeAuthorizer:
    """Decides for kubelets, by what their pods refer to."""

    def __init__(self, reader: ObjectReader, node_rules: list[rbac.PolicyRule]) -> None:
        """*node_rules* are those of the ClusterRole ``system:node``, for what is not subdivided by node."""
        self._reader = reader
        self._node_rules = node_rules
        self._references = NodeReferences(reader)
        self._judges: Mapping[tuple[str, str], _Judge] = {
            ("", "secrets"): self._read_related,
            ("", "configmaps"): self._read_related,
            ("", "persistentvolumeclaims"): self._claim,
            ("", "persistentvolumes"): self._get_related,
            ("resource.k8s.io", "resourceclaims"): self._get_related,
            ("storage.k8s.io", "volumeattachments"): self._get_attachment,
            ("", "serviceaccounts"): self._create_token,
            ("coordination.k8s.io", "leases"): self._lease,
            ("storage.k8s.io", "csinodes"): self._csi_node,
            ("", "nodes"): self._node,
            ("", "pods"): self._pod,
        }
        self._pods = SCHEME.of(core.Pod)
        self._attachments = SCHEME.of(storage.VolumeAttachment)
        self._claims = SCHEME.of(core.PersistentVolumeClaim)
        self._persistent_volumes = SCHEME.of(core.PersistentVolume)

    def authorize(self, user: User, info: RequestInfo) -> Decision:
        """Allows, or has no opinion; the reason of the latter goes into the 403."""
        node = node_name(user)
        if node is None:
            return NO_OPINION
        if not node:
            return Decision(False, f"unknown node for user {quote(user.name)}")
        if info.is_resource:
            judge = self._judges.get((info.group, info.resource))
            if judge is not None:
                return judge(node, info)
        if any(allows(rule, info) for rule in self._node_rules):
            return _ALLOWED
        return NO_OPINION

    # ------------------------------------------------------------ one method a resource

    def _read_related(self, node: str, info: RequestInfo) -> Decision:
        if info.verb not in _READ:
            return Decision(False, "can only read resources of this type")
        if info.subresource:
            return Decision(False, "cannot read subresource")
        if not info.namespace:
            return Decision(False, "can only read namespaced object of this type")
        return self._related(node, info)

    def _get_related(self, node: str, info: RequestInfo) -> Decision:
        refusal = _only_get(info)
        return refusal if refusal is not None else self._related(node, info)

    def _get_attachment(self, node: str, info: RequestInfo) -> Decision:
        refusal = _only_get(info)
        if refusal is not None:
            return refusal
        attachment = self._reader.get(self._attachments, "", info.name)
        if isinstance(attachment, storage.VolumeAttachment) and attachment.spec.node_name == node:
            return _ALLOWED
        return _unrelated(node)

    def _claim(self, node: str, info: RequestInfo) -> Decision:
        if info.subresource != "status":
            return self._get_related(node, info)
        if info.verb not in ("update", "patch"):
            return Decision(False, "can only get/update/patch this type")
        return self._related(node, info)

    def _create_token(self, node: str, info: RequestInfo) -> Decision:
        if info.verb != "create" or not info.name:
            return Decision(False, "can only create tokens for individual service accounts")
        if info.subresource != "token":
            return Decision(False, "can only create token subresource of serviceaccount")
        return self._related(node, info)

    def _lease(self, node: str, info: RequestInfo) -> Decision:
        if info.verb not in _OWN_OBJECT:
            return Decision(False, "can only get, create, update, patch, or delete a node lease")
        if info.namespace != LEASE_NAMESPACE:
            return Decision(False, f"can only access leases in the {quote(LEASE_NAMESPACE)} system namespace")
        if info.verb != "create" and info.name != node:
            return Decision(False, "can only access node lease with the same name as the requesting node")
        return _ALLOWED

    def _csi_node(self, node: str, info: RequestInfo) -> Decision:
        if info.verb not in _OWN_OBJECT:
            return Decision(False, "can only get, create, update, patch, or delete a CSINode")
        if info.subresource:
            return Decision(False, "cannot authorize CSINode subresources")
        if info.verb != "create" and info.name != node:
            return Decision(False, "can only access CSINode with the same name as the requesting node")
        return _ALLOWED

    def _node(self, node: str, info: RequestInfo) -> Decision:
        # Which node is written is checked by admission, which sees the object's name on creation too.
        if not info.subresource and info.verb in ("create", "update", "patch"):
            return _ALLOWED
        if info.subresource == "status" and info.verb in ("update", "patch"):
            return _ALLOWED
        if info.subresource or info.verb not in _READ:
            return NO_OPINION
        if info.name == node:
            return _ALLOWED
        if not info.name:
            return Decision(False, f"node '{node}' cannot read all nodes, only its own Node object")
        return Decision(False, f"node '{node}' cannot read '{info.name}', only its own Node object")

    def _pod(self, node: str, info: RequestInfo) -> Decision:
        question = (info.subresource, info.verb)
        if question in (
            ("", "create"),
            ("", "delete"),
            ("status", "update"),
            ("status", "patch"),
            ("eviction", "create"),
        ):
            return _ALLOWED
        if question == ("", "get"):
            return self._own_pod(node, info)
        if question in (("", "list"), ("", "watch")):
            if ("spec.nodeName", node) in info.field_equals:
                return _ALLOWED
            if info.name:
                return self._own_pod(node, info)
            return Decision(False, "can only list/watch pods with spec.nodeName field selector")
        return NO_OPINION

    def _own_pod(self, node: str, info: RequestInfo) -> Decision:
        if not info.name:
            return Decision(False, "No Object name found")
        pod = self._reader.get(self._pods, info.namespace, info.name)
        if isinstance(pod, core.Pod) and pod.spec.node_name == node:
            return _ALLOWED
        return _unrelated(node)

    # ------------------------------------------------------------ references

    def _related(self, node: str, info: RequestInfo) -> Decision:
        if not info.name:
            return Decision(False, "No Object name found")
        references = self._references.of(node)
        if (info.resource, info.namespace, info.name) in references:
            return _ALLOWED
        if info.resource == "persistentvolumes":
            related = any(volume.metadata.name == info.name for volume in self._volumes(references))
        elif info.resource == "secrets":
            secret = (info.namespace, info.name)
            related = any(secret in volume_secrets(volume) for volume in self._volumes(references))
        else:
            related = False
        return _ALLOWED if related else _unrelated(node)

    def _volumes(self, references: Iterable[Reference]) -> Iterator[core.PersistentVolume]:
        """The volumes bound to the claims that pods of the node use."""
        for resource, namespace, name in references:
            if resource != "persistentvolumeclaims":
                continue
            claim = self._reader.get(self._claims, namespace, name)
            if isinstance(claim, core.PersistentVolumeClaim) and claim.spec.volume_name:
                volume = self._reader.get(self._persistent_volumes, "", claim.spec.volume_name)
                if isinstance(volume, core.PersistentVolume):
                    yield volume


def _only_get(info: RequestInfo) -> Decision | None:
    if info.verb != "get":
        return Decision(False, "can only get individual resources of this type")
    if info.subresource:
        return Decision(False, "cannot get subresource")
    return None


def _unrelated(node: str) -> Decision:
    return Decision(False, f"no relationship found between node '{node}' and this object")
