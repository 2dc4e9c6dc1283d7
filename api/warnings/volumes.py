"""Kinds of volumes that are on their way out, or gone, and warnings of persistent volumes."""

from __future__ import annotations

from collections.abc import Iterator

from api import core_v1 as core
from api.warnings.node_labels import term_warnings

# By attribute of a volume: its name in JSON, and what became of it.
OLD_VOLUMES = {
    "photon_persistent_disk": ("photonPersistentDisk", "deprecated in v1.11, non-functional in v1.16+"),
    "git_repo": ("gitRepo", "deprecated in v1.11"),
    "scale_io": ("scaleIO", "deprecated in v1.16, non-functional in v1.22+"),
    "flocker": ("flocker", "deprecated in v1.22, non-functional in v1.25+"),
    "storageos": ("storageOS", "deprecated in v1.22, non-functional in v1.25+"),
    "quobyte": ("quobyte", "deprecated in v1.22, non-functional in v1.25+"),
    "glusterfs": ("glusterfs", "deprecated in v1.25, non-functional in v1.26+"),
    "cephfs": ("cephfs", "deprecated in v1.28, non-functional in v1.31+"),
    "rbd": ("rbd", "deprecated in v1.28, non-functional in v1.31+"),
}

_ALSO_PERSISTENT = ("cephfs", "photon_persistent_disk", "scale_io", "storageos", "glusterfs", "rbd")
_ANNOTATIONS = {
    "volume.beta.kubernetes.io/storage-class": 'deprecated since v1.8; use "storageClassName" attribute instead',
    "volume.beta.kubernetes.io/mount-options": 'deprecated since v1.31; use "mountOptions" attribute instead',
}


def volume_warnings(volume: core.PersistentVolume) -> Iterator[str]:
    """What to say of a persistent volume (source: pkg/api/persistentvolume/util.go)."""
    spec = volume.spec
    for name, advice in _ANNOTATIONS.items():
        if name in volume.metadata.annotations:
            yield f"metadata.annotations[{name}]: {advice}"
    if spec.persistent_volume_reclaim_policy == "Recycle":
        yield (
            "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the recommended "
            "approach is to use dynamic provisioning."
        )
    if spec.node_affinity is not None and spec.node_affinity.required is not None:
        for index, term in enumerate(spec.node_affinity.required.node_selector_terms):
            yield from term_warnings(term, f"spec.nodeAffinity.required.nodeSelectorTerms[{index}]", values=False)
    for attribute in _ALSO_PERSISTENT:
        if getattr(spec, attribute) is not None:
            wire, fate = OLD_VOLUMES[attribute]
            yield f"spec.{wire}: {fate}"
