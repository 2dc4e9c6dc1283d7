"""NamespaceLifecycle: nothing is made in a namespace that is missing or on its way out; some namespaces never go."""

from __future__ import annotations

from api import core_v1 as core
from api import errors
from api import meta_v1 as meta
from api.scheme import SCHEME
from controlplane.apiserver.admission.attributes import CREATE, DELETE, Attributes
from controlplane.apiserver.admission.plugin import Plugin
from controlplane.apiserver.request import ObjectReader

IMMORTAL = frozenset({"default", "kube-system", "kube-public"})

_NAMESPACES = errors.GroupName("", "namespaces")
# Who may ask about permissions in a namespace must not learn from the answer whether it exists.
_ACCESS_REVIEWS = errors.GroupName("authorization.k8s.io", "localsubjectaccessreviews")


class NamespaceLifecycle(Plugin):
    """Guards the beginning and the end of namespaces."""

    def __init__(self, reader: ObjectReader) -> None:
        self._reader = reader
        self._namespaces = SCHEME.of(core.Namespace)

    def applies(self, operation: str, resource: errors.GroupName, subresource: str) -> bool:
        if resource == _NAMESPACES:
            return operation == DELETE
        return operation not in (DELETE, "CONNECT") and resource != _ACCESS_REVIEWS

    async def mutate(self, attributes: Attributes) -> None:
        # Before everything else: other plugins look into the namespace and would report worse.
        if attributes.operation == DELETE:
            if attributes.name in IMMORTAL:
                raise errors.forbidden(_NAMESPACES, attributes.name, "this namespace may not be deleted")
            return
        name = attributes.namespace
        if not name:
            return
        namespace = self._reader.get(self._namespaces, "", name)
        if not isinstance(namespace, core.Namespace):
            raise errors.not_found(_NAMESPACES, name)
        if attributes.operation == CREATE and namespace.status.phase == "Terminating":
            raise self._terminating(attributes)

    def _terminating(self, attributes: Attributes) -> errors.StatusError:
        name = attributes.namespace
        error = attributes.forbidden(f"unable to create new content in namespace {name} because it is being terminated")
        if error.status.details is not None:
            error.status.details.causes.append(
                meta.StatusCause(
                    reason="NamespaceTerminating",
                    message=f"namespace {name} is being terminated",
                    field="metadata.namespace",
                )
            )
        return error
