"""Sources of external storage, as volumes of pods and as PersistentVolumes have them.

Most of these need drivers no node carries any more; objects that name them must still be checked as ever.
"""

from __future__ import annotations

import re

from api import core_v1 as core
from api import names
from api.fields import FieldErrors, invalid, not_supported, required, too_long
from api.validation.checks import complain, dns_label, one_of, required_text

_IQN = re.compile(r"iqn\.\d{4}-\d{2}\.([a-zA-Z0-9.-]+)(:[^,;*&$|\s]+)\Z")
_EUI = re.compile(r"eui.[a-zA-Z0-9]{16}\Z")
_NAA = re.compile(r"naa.[a-zA-Z0-9]{32}\Z")
_INITIATORS = {"iqn": _IQN.search, "eui": _EUI.match, "naa": _NAA.match}
_LUN = names.range_error(0, 255)
_PARTITION = names.range_error(1, 255)
_REGISTRY = "must be a host:port pair or multiple pairs separated by commas"

Cinder = core.CinderVolumeSource | core.CinderPersistentVolumeSource
ISCSI = core.ISCSIVolumeSource | core.ISCSIPersistentVolumeSource


def validate_gce_disk(source: core.GCEPersistentDiskVolumeSource, path: str, out: FieldErrors) -> None:
    required_text(source.pd_name, f"{path}.pdName", out)
    _validate_partition(source.partition, path, out)


def validate_aws_disk(source: core.AWSElasticBlockStoreVolumeSource, path: str, out: FieldErrors) -> None:
    required_text(source.volume_id, f"{path}.volumeID", out)
    _validate_partition(source.partition, path, out)


def _validate_partition(partition: int, path: str, out: FieldErrors) -> None:
    if not 0 <= partition <= 255:
        out.append(invalid(f"{path}.partition", partition, _PARTITION))


def validate_nfs(source: core.NFSVolumeSource, path: str, out: FieldErrors) -> None:
    required_text(source.server, f"{path}.server", out)
    required_text(source.path, f"{path}.path", out)
    if not source.path.startswith("/"):
        out.append(invalid(f"{path}.path", source.path, "must be an absolute path"))


def validate_iscsi(source: ISCSI, path: str, out: FieldErrors) -> None:
    in_pod = isinstance(source, core.ISCSIVolumeSource)
    starts = "must be valid format starting with iqn, eui, or naa" if in_pod else "must be valid format"
    required_text(source.target_portal, f"{path}.targetPortal", out)
    if not source.iqn:
        out.append(required(f"{path}.iqn"))
    else:
        _validate_initiator(source.iqn, starts, f"{path}.iqn", out)
    if not 0 <= source.lun <= 255:
        out.append(invalid(f"{path}.lun", source.lun, _LUN))
    if (source.chap_auth_discovery or source.chap_auth_session) and source.secret_ref is None:
        out.append(required(f"{path}.secretRef"))
    if not in_pod and source.secret_ref is not None:
        required_text(source.secret_ref.name, f"{path}.secretRef.name", out)
    if source.initiator_name is not None:
        _validate_initiator(source.initiator_name, starts, f"{path}.initiatorname", out)


def _validate_initiator(name: str, starts: str, path: str, out: FieldErrors) -> None:
    matches = _INITIATORS.get(name[:3])
    if matches is None:
        out.append(invalid(path, name, starts))
    elif not matches(name):
        out.append(invalid(path, name, "must be valid format"))


def validate_iscsi_name_length(volume: str, portal: str, path: str, shown: str, out: FieldErrors) -> None:
    """The kernel's name of the interface is made of both, and is short."""
    if names.byte_length(f"{volume}:{portal}") > 64:
        detail = (
            "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if "
            "iscsi.initiatorName is specified."
        )
        out.append(invalid(path, shown, detail))


def validate_glusterfs(
    source: core.GlusterfsVolumeSource | core.GlusterfsPersistentVolumeSource, path: str, out: FieldErrors
) -> None:
    required_text(source.endpoints, f"{path}.endpoints", out)
    required_text(source.path, f"{path}.path", out)
    if isinstance(source, core.GlusterfsPersistentVolumeSource) and source.endpoints_namespace is not None:
        where, namespace = f"{path}.endpointsNamespace", source.endpoints_namespace
        if not namespace:
            detail = "if the endpointnamespace is set, it must be a valid namespace name"
            out.append(invalid(where, namespace, detail))
        else:
            dns_label(namespace, where, out)


def validate_flocker(source: core.FlockerVolumeSource, path: str, out: FieldErrors) -> None:
    if not source.dataset_name and not source.dataset_uuid:
        out.append(required(path, "one of datasetName and datasetUUID is required"))
    if source.dataset_name and source.dataset_uuid:
        detail = "datasetName and datasetUUID can not be specified simultaneously"
        out.append(invalid(path, "resource", detail))
    if "/" in source.dataset_name:
        out.append(invalid(f"{path}.datasetName", source.dataset_name, "must not contain '/'"))


def validate_rbd(source: core.RBDVolumeSource | core.RBDPersistentVolumeSource, path: str, out: FieldErrors) -> None:
    if not source.monitors:
        out.append(required(f"{path}.monitors"))
    required_text(source.image, f"{path}.image", out)


def validate_cinder(source: Cinder, path: str, out: FieldErrors) -> None:
    required_text(source.volume_id, f"{path}.volumeID", out)
    if source.secret_ref is not None:
        required_text(source.secret_ref.name, f"{path}.secretRef.name", out)
        if isinstance(source.secret_ref, core.SecretReference):
            required_text(source.secret_ref.namespace, f"{path}.secretRef.namespace", out)


def validate_cephfs(
    source: core.CephFSVolumeSource | core.CephFSPersistentVolumeSource, path: str, out: FieldErrors
) -> None:
    if not source.monitors:
        out.append(required(f"{path}.monitors"))


def validate_quobyte(source: core.QuobyteVolumeSource, path: str, out: FieldErrors) -> None:
    if not source.registry:
        out.append(required(f"{path}.registry", _REGISTRY))
    elif len(source.tenant) >= 65:
        detail = "must be a UUID and may not exceed a length of 64 characters"
        out.append(required(f"{path}.tenant", detail))
    else:
        for pair in source.registry.split(","):
            host, colon, _ = pair.rpartition(":")
            if not colon or (":" in host and not (host.startswith("[") and host.endswith("]"))):
                out.append(invalid(f"{path}.registry", source.registry, _REGISTRY))
    required_text(source.volume, f"{path}.volume", out)


def validate_fc(source: core.FCVolumeSource, path: str, out: FieldErrors) -> None:
    if not source.target_wwns and not source.wwids:
        detail = "must specify either targetWWNs or wwids, but not both"
        out.append(required(f"{path}.targetWWNs", detail))
    if source.target_wwns and source.wwids:
        detail = "targetWWNs and wwids can not be specified simultaneously"
        out.append(invalid(f"{path}.targetWWNs", source.target_wwns, detail))
    if source.target_wwns:
        if source.lun is None:
            out.append(required(f"{path}.lun", "lun is required if targetWWNs is specified"))
        elif not 0 <= source.lun <= 255:
            out.append(invalid(f"{path}.lun", source.lun, _LUN))


def validate_flex(source: core.FlexVolumeSource | core.FlexPersistentVolumeSource, path: str, out: FieldErrors) -> None:
    required_text(source.driver, f"{path}.driver", out)
    for key in source.options:
        domain = "." + key.partition("/")[0].lower()
        if domain.endswith((".kubernetes.io", ".k8s.io")):
            detail = "kubernetes.io and k8s.io namespaces are reserved"
            out.append(invalid(f"{path}.options[{key}]", key, detail))


def validate_azure_file(
    source: core.AzureFileVolumeSource | core.AzureFilePersistentVolumeSource, path: str, out: FieldErrors
) -> None:
    required_text(source.secret_name, f"{path}.secretName", out)
    required_text(source.share_name, f"{path}.shareName", out)
    if isinstance(source, core.AzureFilePersistentVolumeSource) and source.secret_namespace == "":
        out.append(required(f"{path}.secretNamespace"))


_CACHING_MODES = ("None", "ReadOnly", "ReadWrite")
_DISK_KINDS = ("Dedicated", "Managed", "Shared")
_MANAGED_URI = "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}"
_BLOB_URI = "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd"


def validate_azure_disk(source: core.AzureDiskVolumeSource, path: str, out: FieldErrors) -> None:
    required_text(source.disk_name, f"{path}.diskName", out)
    required_text(source.disk_uri, f"{path}.diskURI", out)
    if source.caching_mode is not None:
        one_of(source.caching_mode, _CACHING_MODES, f"{path}.cachingMode", out)
    if source.kind is None:
        return
    one_of(source.kind, _DISK_KINDS, f"{path}.kind", out)
    if source.kind == "Managed":
        if not source.disk_uri.startswith("/subscriptions/"):
            out.append(not_supported(f"{path}.diskURI", source.disk_uri, [_MANAGED_URI]))
    elif not source.disk_uri.startswith("https://"):
        out.append(not_supported(f"{path}.diskURI", source.disk_uri, [_BLOB_URI]))


def validate_vsphere(source: core.VsphereVirtualDiskVolumeSource, path: str, out: FieldErrors) -> None:
    required_text(source.volume_path, f"{path}.volumePath", out)


def validate_photon(source: core.PhotonPersistentDiskVolumeSource, path: str, out: FieldErrors) -> None:
    required_text(source.pd_id, f"{path}.pdID", out)


def validate_portworx(source: core.PortworxVolumeSource, path: str, out: FieldErrors) -> None:
    required_text(source.volume_id, f"{path}.volumeID", out)


def validate_scale_io(
    source: core.ScaleIOVolumeSource | core.ScaleIOPersistentVolumeSource, path: str, out: FieldErrors
) -> None:
    required_text(source.gateway, f"{path}.gateway", out)
    required_text(source.system, f"{path}.system", out)
    required_text(source.volume_name, f"{path}.volumeName", out)


def validate_storageos(
    source: core.StorageOSVolumeSource | core.StorageOSPersistentVolumeSource, path: str, out: FieldErrors
) -> None:
    if not source.volume_name:
        out.append(required(f"{path}.volumeName"))
    else:
        dns_label(source.volume_name, f"{path}.volumeName", out)
    if source.volume_namespace:
        dns_label(source.volume_namespace, f"{path}.volumeNamespace", out)
    if source.secret_ref is not None:
        required_text(source.secret_ref.name, f"{path}.secretRef.name", out)
        if isinstance(source.secret_ref, core.ObjectReference):
            required_text(source.secret_ref.namespace, f"{path}.secretRef.namespace", out)


def validate_csi_driver_name(name: str, path: str, out: FieldErrors) -> None:
    """A CSI driver's name (CSI spec, GetPluginInfo): a domain of at most 63 bytes, in any case."""
    if not name:
        out.append(required(path))
    if names.byte_length(name) > 63:
        out.append(too_long(path, 63))
    if bad := names.dns1123_subdomain(name.lower()):
        complain(out, path, name, bad)
