"""Volumes of a pod: one source each, whole and of a known kind.

The sources every node serves by itself are here; those of external storage are in `storage_sources`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any, Final

from api import core_v1 as core
from api import meta_v1 as meta
from api import names
from api.fields import FieldErrors, duplicate, forbidden, invalid, not_supported, required
from api.validation import storage_sources as storage
from api.validation.checks import (
    complain,
    dns_label,
    local_path,
    no_backsteps,
    one_of,
    relative_path,
    required_one_of,
    required_text,
)
from api.validation.claims import validate_claim_template
from api.validation.environment import VOLUME_FIELDS, validate_field_ref, validate_resource_ref
from api.validation.metadata import validate_label_selector
from api.validation.resources import ZERO

Volumes = dict[str, core.Volume]
"""The volumes without errors, by name: mounts may refer to these alone."""

PULL_POLICIES = ("Always", "IfNotPresent", "Never")
_HOST_PATH_TYPES = (
    "",
    "BlockDevice",
    "CharDevice",
    "Directory",
    "DirectoryOrCreate",
    "File",
    "FileOrCreate",
    "Socket",
)
_MODE = "must be a number between 0 and 0777 (octal), both inclusive"
_SEVERAL = "may not specify more than 1 volume type"
_CONFLICT = "conflicting duplicate paths"


def validate_volumes(
    volumes: Sequence[core.Volume], metadata: meta.ObjectMeta | None, path: str, out: FieldErrors, *, in_pod: bool
) -> Volumes:
    """Checks every volume. `metadata` is that of the pod itself, None for a template."""
    seen: Volumes = {}
    created_claims = (
        {f"{metadata.name}-{volume.name}" for volume in volumes if volume.ephemeral is not None}
        if metadata is not None and metadata.name
        else set()
    )
    for index, volume in enumerate(volumes):
        where = f"{path}[{index}]"
        before = len(out)
        _validate_source(volume, metadata, where, out, in_pod=in_pod)
        if not volume.name:
            out.append(required(f"{where}.name"))
        else:
            dns_label(volume.name, f"{where}.name", out)
        if volume.name in seen:
            out.append(duplicate(f"{where}.name", volume.name))
        if len(out) == before:
            seen[volume.name] = volume
        claim = volume.persistent_volume_claim
        if claim is not None and claim.claim_name in created_claims:
            detail = "must not reference a PVC that gets created for an ephemeral volume"
            out.append(invalid(f"{where}.persistentVolumeClaim.claimName", claim.claim_name, detail))
    return seen


def _validate_source(
    volume: core.Volume, metadata: meta.ObjectMeta | None, path: str, out: FieldErrors, *, in_pod: bool
) -> None:
    found = False
    for source, (attribute, wire, several, check) in zip(_read_sources(volume), _SOURCES, strict=True):
        if source is None:
            continue
        if found:
            out.append(forbidden(f"{path}.{several}", _SEVERAL))
            continue
        found = True
        check(source, f"{path}.{wire}", out)
        if attribute == "image" and in_pod and not source.reference:
            out.append(required(f"{path}.image.reference"))
        if attribute == "ephemeral" and metadata is not None and metadata.name and volume.name:
            _validate_created_claim(f"{metadata.name}-{volume.name}", volume.name, path, out)
    iscsi = volume.iscsi
    if iscsi is not None and iscsi.initiator_name is not None:
        storage.validate_iscsi_name_length(volume.name, iscsi.target_portal, f"{path}.name", volume.name, out)
    if not found:
        out.append(required(path, "must specify a volume type"))


def _validate_created_claim(claim: str, volume: str, path: str, out: FieldErrors) -> None:
    for message in names.dns1123_subdomain(claim):
        out.append(invalid(f"{path}.name", volume, f'PVC name "{claim}": {message}'))


def _validate_empty_dir(source: core.EmptyDirVolumeSource, path: str, out: FieldErrors) -> None:
    if source.size_limit is not None and source.size_limit < ZERO:
        out.append(forbidden(f"{path}.sizeLimit", "SizeLimit field must be a valid resource quantity"))


def validate_host_path(source: core.HostPathVolumeSource, path: str, out: FieldErrors) -> None:
    if not source.path:
        out.append(required(f"{path}.path"))
        return
    no_backsteps(source.path, f"{path}.path", out)
    if source.type is not None:
        one_of(source.type, _HOST_PATH_TYPES, f"{path}.type", out)


def _validate_git_repo(source: core.GitRepoVolumeSource, path: str, out: FieldErrors) -> None:
    required_text(source.repository, f"{path}.repository", out)
    relative_path(source.directory, f"{path}.directory", out)


def _validate_mode(mode: int | None, path: str, out: FieldErrors) -> None:
    if mode is not None and not 0 <= mode <= 0o777:
        out.append(invalid(path, mode, _MODE))


def _validate_secret(source: core.SecretVolumeSource, path: str, out: FieldErrors) -> None:
    required_text(source.secret_name, f"{path}.secretName", out)
    _validate_mode(source.default_mode, f"{path}.defaultMode", out)
    _validate_items(source.items, f"{path}.items", out)


def _validate_config_map(source: core.ConfigMapVolumeSource, path: str, out: FieldErrors) -> None:
    required_text(source.name, f"{path}.name", out)
    _validate_mode(source.default_mode, f"{path}.defaultMode", out)
    _validate_items(source.items, f"{path}.items", out)


def _validate_items(items: Sequence[core.KeyToPath], path: str, out: FieldErrors) -> None:
    for index, item in enumerate(items):
        where = f"{path}[{index}]"
        required_text(item.key, f"{where}.key", out)
        required_text(item.path, f"{where}.path", out)
        local_path(item.path, f"{where}.path", out)
        _validate_mode(item.mode, f"{where}.mode", out)


def _validate_downward_api(source: core.DownwardAPIVolumeSource, path: str, out: FieldErrors) -> None:
    _validate_mode(source.default_mode, f"{path}.defaultMode", out)
    for file in source.items:
        _validate_downward_file(file, path, out)


def _validate_downward_file(file: core.DownwardAPIVolumeFile, path: str, out: FieldErrors) -> None:
    required_text(file.path, f"{path}.path", out)
    local_path(file.path, f"{path}.path", out)
    if file.field_ref is not None:
        validate_field_ref(file.field_ref, VOLUME_FIELDS, f"{path}.fieldRef", out)
        if file.resource_field_ref is not None:
            detail = "fieldRef and resourceFieldRef can not be specified simultaneously"
            out.append(invalid(path, "resource", detail))
    elif file.resource_field_ref is not None:
        validate_resource_ref(file.resource_field_ref, f"{path}.resourceFieldRef", out, in_volume=True)
    else:
        out.append(required(path, "one of fieldRef and resourceFieldRef is required"))
    _validate_mode(file.mode, f"{path}.mode", out)


def _validate_projected(source: core.ProjectedVolumeSource, path: str, out: FieldErrors) -> None:
    _validate_mode(source.default_mode, f"{path}.defaultMode", out)
    taken: set[str] = set()
    for index, projection in enumerate(source.sources):
        where = f"{path}.sources[{index}]"
        count = 0
        for attribute, wire in (("secret", "secret"), ("config_map", "configMap")):
            named = getattr(projection, attribute)
            if named is not None:
                count += 1
                required_text(named.name, f"{where}.{wire}.name", out)
                _validate_items(named.items, f"{where}.{wire}.items", out)
                for item in named.items:
                    _take(item.path, named.name, taken, path, out)
        if projection.downward_api is not None:
            count += 1
            for file in projection.downward_api.items:
                _validate_downward_file(file, f"{where}.downwardAPI", out)
                _take(file.path, file.path, taken, path, out)
        if projection.service_account_token is not None:
            count += 1
            token = projection.service_account_token
            _validate_token(token, path, f"{where}.serviceAccountToken", out)
        if projection.cluster_trust_bundle is not None:
            count += 1
            bundle = projection.cluster_trust_bundle
            _validate_trust_bundle(bundle, f"{where}.clusterTrustBundle", out)
            _take(bundle.path, bundle.path, taken, path, out)
        if projection.pod_certificate is not None:
            count += 1
            _validate_pod_certificate(projection.pod_certificate, taken, f"{where}.podCertificate", out)
        if count > 1:
            out.append(forbidden(where, "may not specify more than 1 volume type per source"))


def _take(file: str, shown: str, taken: set[str], path: str, out: FieldErrors) -> None:
    """Reserves a file of the volume; two projections may not write the same."""
    if not file:
        return
    if file in taken:
        out.append(invalid(path, shown, _CONFLICT))
    taken.add(file)


def _validate_token(token: core.ServiceAccountTokenProjection, volume_path: str, path: str, out: FieldErrors) -> None:
    expiration = token.expiration_seconds or 0
    if expiration < 10 * 60:
        detail = "may not specify a duration less than 10 minutes"
        out.append(invalid(f"{path}.expirationSeconds", expiration, detail))
    if expiration > 1 << 32:
        detail = "may not specify a duration larger than 2^32 seconds"
        out.append(invalid(f"{path}.expirationSeconds", expiration, detail))
    if not token.path:
        out.append(required(f"{volume_path}.path"))
    else:
        local_path(token.path, f"{volume_path}.path", out)


def _validate_trust_bundle(bundle: core.ClusterTrustBundleProjection, path: str, out: FieldErrors) -> None:
    if bundle.name is not None and bundle.signer_name is not None:
        out.append(invalid(path, bundle, "only one of name and signerName may be used"))
    elif bundle.name is not None:
        required_text(bundle.name, f"{path}.name", out, "must be a valid object name")
        for message in names.dns1123_subdomain(bundle.name.rpartition(":")[2]):
            out.append(invalid(f"{path}.name", bundle.name, f"not a valid clustertrustbundlename: {message}"))
        if bundle.label_selector is not None:
            detail = "labelSelector must be unset if name is specified"
            out.append(invalid(f"{path}.labelSelector", bundle.label_selector, detail))
    elif bundle.signer_name is not None:
        required_text(bundle.signer_name, f"{path}.signerName", out, "must be a valid signer name")
        validate_label_selector(bundle.label_selector, f"{path}.labelSelector", out)
    else:
        out.append(required(path, "either name or signerName must be specified"))
    required_text(bundle.path, f"{path}.path", out)
    local_path(bundle.path, f"{path}.path", out)


_KEY_TYPES = ("ECDSAP256", "ECDSAP384", "ECDSAP521", "ED25519", "RSA3072", "RSA4096")


def _validate_pod_certificate(
    projection: core.PodCertificateProjection, taken: set[str], path: str, out: FieldErrors
) -> None:
    required_text(projection.signer_name, f"{path}.signerName", out)
    if projection.key_type not in _KEY_TYPES:
        out.append(not_supported(f"{path}.keyType", projection.key_type, _KEY_TYPES))
    files = (
        (projection.credential_bundle_path, "credentialBundlePath"),
        (projection.key_path, "keyPath"),
        (projection.certificate_chain_path, "certificateChainPath"),
    )
    for file, wire in files:
        if file:
            local_path(file, f"{path}.{wire}", out)
            _take(file, file, taken, path, out)
    if not any(file for file, _ in files):
        detail = "specify at least one of credentialBundlePath, keyPath, and certificateChainPath"
        out.append(required(path, detail))


def _validate_claim(source: core.PersistentVolumeClaimVolumeSource, path: str, out: FieldErrors) -> None:
    required_text(source.claim_name, f"{path}.claimName", out)


def _validate_csi(source: core.CSIVolumeSource, path: str, out: FieldErrors) -> None:
    storage.validate_csi_driver_name(source.driver, f"{path}.driver", out)
    ref = source.node_publish_secret_ref
    if ref is not None:
        if not ref.name:
            out.append(required(f"{path}.nodePublishSecretRef.name"))
        elif bad := names.dns1123_subdomain(ref.name):
            complain(out, f"{path}.name", ref.name, bad)


def _validate_ephemeral(source: core.EphemeralVolumeSource, path: str, out: FieldErrors) -> None:
    if source.volume_claim_template is None:
        out.append(required(f"{path}.volumeClaimTemplate"))
    else:
        validate_claim_template(source.volume_claim_template, f"{path}.volumeClaimTemplate", out)


def _validate_image(source: core.ImageVolumeSource, path: str, out: FieldErrors) -> None:
    required_one_of(source.pull_policy, PULL_POLICIES, f"{path}.pullPolicy", out)


Check = Callable[[Any, str, FieldErrors], None]

_SOURCES: Final[tuple[tuple[str, str, str, Check], ...]] = (
    # attribute, its wire name in errors, the name when it is one too many (upstream's spellings), its check
    ("empty_dir", "emptyDir", "emptyDir", _validate_empty_dir),
    ("host_path", "hostPath", "hostPath", validate_host_path),
    ("git_repo", "gitRepo", "gitRepo", _validate_git_repo),
    ("gce_persistent_disk", "persistentDisk", "gcePersistentDisk", storage.validate_gce_disk),
    ("aws_elastic_block_store", "awsElasticBlockStore", "awsElasticBlockStore", storage.validate_aws_disk),
    ("secret", "secret", "secret", _validate_secret),
    ("nfs", "nfs", "nfs", storage.validate_nfs),
    ("iscsi", "iscsi", "iscsi", storage.validate_iscsi),
    ("glusterfs", "glusterfs", "glusterfs", storage.validate_glusterfs),
    ("flocker", "flocker", "flocker", storage.validate_flocker),
    ("persistent_volume_claim", "persistentVolumeClaim", "persistentVolumeClaim", _validate_claim),
    ("rbd", "rbd", "rbd", storage.validate_rbd),
    ("cinder", "cinder", "cinder", storage.validate_cinder),
    ("cephfs", "cephfs", "cephFS", storage.validate_cephfs),
    ("quobyte", "quobyte", "quobyte", storage.validate_quobyte),
    ("downward_api", "downwardAPI", "downwarAPI", _validate_downward_api),
    ("fc", "fc", "fc", storage.validate_fc),
    ("flex_volume", "flexVolume", "flexVolume", storage.validate_flex),
    ("config_map", "configMap", "configMap", _validate_config_map),
    ("azure_file", "azureFile", "azureFile", storage.validate_azure_file),
    ("vsphere_volume", "vsphereVolume", "vsphereVolume", storage.validate_vsphere),
    ("photon_persistent_disk", "photonPersistentDisk", "photonPersistentDisk", storage.validate_photon),
    ("portworx_volume", "portworxVolume", "portworxVolume", storage.validate_portworx),
    ("azure_disk", "azureDisk", "azureDisk", storage.validate_azure_disk),
    ("storageos", "storageos", "storageos", storage.validate_storageos),
    ("projected", "projected", "projected", _validate_projected),
    ("scale_io", "scaleIO", "scaleIO", storage.validate_scale_io),
    ("csi", "csi", "csi", _validate_csi),
    ("ephemeral", "ephemeral", "ephemeral", _validate_ephemeral),
    ("image", "image", "image", _validate_image),
)
_read_sources = attrgetter(*(source[0] for source in _SOURCES))
