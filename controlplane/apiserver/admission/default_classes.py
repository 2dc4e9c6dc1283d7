"""DefaultStorageClass and DefaultIngressClass: who names no class gets the one marked as default.

Both plugins are alike: among the classes that carry the annotation the newest wins, by name if they are of one age.
"""

from __future__ import annotations

from api import meta_v1 as meta
from api import networking_v1 as networking
from api import storage_v1 as storage
from api.errors import GroupName
from api.scheme import SCHEME, Resource
from controlplane.apiserver.admission.attributes import CREATE, Attributes
from controlplane.apiserver.admission.plugin import Plugin
from controlplane.apiserver.request import ObjectReader

_STORAGE_DEFAULT = "storageclass.kubernetes.io/is-default-class"
_OLD_STORAGE_DEFAULT = "storageclass.beta.kubernetes.io/is-default-class"
_STORAGE_CLASS = "volume.beta.kubernetes.io/storage-class"
_INGRESS_DEFAULT = "ingressclass.kubernetes.io/is-default-class"
_INGRESS_CLASS = "kubernetes.io/ingress.class"


class DefaultStorageClass(Plugin):
    """Gives claims their class."""

    def __init__(self, reader: ObjectReader) -> None:
        self._reader = reader
        self._classes = SCHEME.of(storage.StorageClass)

    def applies(self, operation: str, resource: GroupName, subresource: str) -> bool:
        return operation == CREATE and resource == ("", "persistentvolumeclaims") and not subresource

    async def mutate(self, attributes: Attributes) -> None:
        claim = attributes.new
        if claim.spec.storage_class_name is not None or _STORAGE_CLASS in claim.metadata.annotations:
            return
        default = _newest(self._reader, self._classes, (_STORAGE_DEFAULT, _OLD_STORAGE_DEFAULT))
        if default:
            claim.spec.storage_class_name = default


class DefaultIngressClass(Plugin):
    """Gives ingresses their class."""

    def __init__(self, reader: ObjectReader) -> None:
        self._reader = reader
        self._classes = SCHEME.of(networking.IngressClass)

    def applies(self, operation: str, resource: GroupName, subresource: str) -> bool:
        return operation == CREATE and resource == ("networking.k8s.io", "ingresses") and not subresource

    async def mutate(self, attributes: Attributes) -> None:
        ingress = attributes.new
        if ingress.spec.ingress_class_name is not None or _INGRESS_CLASS in ingress.metadata.annotations:
            return
        default = _newest(self._reader, self._classes, (_INGRESS_DEFAULT,))
        if default:
            ingress.spec.ingress_class_name = default


def _newest(reader: ObjectReader, classes: Resource, annotations: tuple[str, ...]) -> str:
    """The name of the newest class that one of the *annotations* marks, "" when there is none."""
    marked: list[meta.ObjectMeta] = [
        item.metadata
        for item in reader.list(classes)
        if any(item.metadata.annotations.get(annotation) == "true" for annotation in annotations)
    ]
    marked.sort(key=lambda metadata: metadata.name)
    newest = max(marked, key=lambda metadata: metadata.creation_timestamp or "", default=None)
    return "" if newest is None else newest.name
