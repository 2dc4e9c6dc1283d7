"""Which objects a pod, or the volume behind its claim, makes a kubelet read.

The node authorizer allows exactly these, and NodeRestriction refuses mirror pods that have any. Pure functions over
the types.
"""

from __future__ import annotations

from collections.abc import Iterator

from api import core_v1 as core

# A resource's plural, a namespace ("" for the cluster) and a name.
Reference = tuple[str, str, str]


def references_of(pod: core.Pod) -> Iterator[Reference]:
    """Every object a kubelet has to read to run *pod*."""
    namespace, spec = pod.metadata.namespace, pod.spec
    if spec.service_account_name:
        yield "serviceaccounts", namespace, spec.service_account_name
    for name in secret_names(pod):
        yield "secrets", namespace, name
    for name in config_map_names(pod):
        yield "configmaps", namespace, name
    for volume in spec.volumes:
        if volume.persistent_volume_claim is not None:
            yield "persistentvolumeclaims", namespace, volume.persistent_volume_claim.claim_name
        elif volume.ephemeral is not None:
            yield "persistentvolumeclaims", namespace, f"{pod.metadata.name}-{volume.name}"
    for claim in spec.resource_claims:
        if claim.resource_claim_name:
            yield "resourceclaims", namespace, claim.resource_claim_name
    for status in pod.status.resource_claim_statuses:
        if status.resource_claim_name:  # made from a template
            yield "resourceclaims", namespace, status.resource_claim_name


def secret_names(pod: core.Pod) -> Iterator[str]:
    """The names of the secrets that the pod's spec refers to."""
    for reference in pod.spec.image_pull_secrets:
        yield reference.name
    for container in _containers(pod):
        for source in container.env_from:
            if source.secret_ref is not None:
                yield source.secret_ref.name
        for variable in container.env:
            if variable.value_from is not None and variable.value_from.secret_key_ref is not None:
                yield variable.value_from.secret_key_ref.name
    for volume in pod.spec.volumes:
        if volume.secret is not None:
            yield volume.secret.secret_name
        elif volume.projected is not None:
            for projection in volume.projected.sources:
                if projection.secret is not None:
                    yield projection.secret.name
        else:
            yield from _driver_secrets(volume)


def config_map_names(pod: core.Pod) -> Iterator[str]:
    """The names of the config maps that the pod's spec refers to."""
    for container in _containers(pod):
        for source in container.env_from:
            if source.config_map_ref is not None:
                yield source.config_map_ref.name
        for variable in container.env:
            if variable.value_from is not None and variable.value_from.config_map_key_ref is not None:
                yield variable.value_from.config_map_key_ref.name
    for volume in pod.spec.volumes:
        if volume.config_map is not None:
            yield volume.config_map.name
        elif volume.projected is not None:
            for projection in volume.projected.sources:
                if projection.config_map is not None:
                    yield projection.config_map.name


def _driver_secrets(volume: core.Volume) -> Iterator[str]:
    """Secrets that a volume's driver is handed by the kubelet."""
    for source in (volume.cephfs, volume.flex_volume, volume.rbd, volume.scale_io, volume.iscsi, volume.storageos):
        if source is not None and source.secret_ref is not None:
            yield source.secret_ref.name
    if volume.azure_file is not None:
        yield volume.azure_file.secret_name
    if volume.csi is not None and volume.csi.node_publish_secret_ref is not None:
        yield volume.csi.node_publish_secret_ref.name


def volume_secrets(volume: core.PersistentVolume) -> set[tuple[str, str]]:
    """Namespace and name of the secrets that the drivers of *volume* are handed."""
    spec = volume.spec
    home = spec.claim_ref.namespace if spec.claim_ref is not None else ""
    found: set[tuple[str, str]] = set()
    for source in (spec.cephfs, spec.flex_volume, spec.rbd, spec.scale_io, spec.iscsi):
        if source is not None and source.secret_ref is not None:
            found.add((source.secret_ref.namespace or home, source.secret_ref.name))
    if spec.storageos is not None and spec.storageos.secret_ref is not None:
        found.add((spec.storageos.secret_ref.namespace or home, spec.storageos.secret_ref.name))
    if spec.azure_file is not None:
        found.add((spec.azure_file.secret_namespace or home, spec.azure_file.secret_name))
    if spec.csi is not None:
        for reference in (
            spec.csi.controller_publish_secret_ref,
            spec.csi.controller_expand_secret_ref,
            spec.csi.node_publish_secret_ref,
            spec.csi.node_stage_secret_ref,
            spec.csi.node_expand_secret_ref,
        ):
            if reference is not None:
                found.add((reference.namespace or home, reference.name))
    return found


def _containers(pod: core.Pod) -> Iterator[core.Container | core.EphemeralContainer]:
    yield from pod.spec.init_containers
    yield from pod.spec.containers
    yield from pod.spec.ephemeral_containers
