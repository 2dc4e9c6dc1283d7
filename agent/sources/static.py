"""A manifest made into a pod of this node: name, UID, marks, defaults, validation. Pure.

The UID is a hash of what the manifest says, of the node and of the file, so that a changed manifest is another pod, and
the same manifest the same pod after any restart.
"""

from __future__ import annotations

import hashlib
from typing import Any

import yaml

from agent.pods.identity import FILE_SOURCE
from api import core_v1 as core
from api.codec import DecodeError, encode, from_builtins
from api.defaults import set_defaults
from api.pods import CONFIG_HASH, CONFIG_SEEN, CONFIG_SOURCE
from api.times import Time
from api.validation import validate_create

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class ManifestError(Exception):
    """The file is not a pod this node can run; the text says why."""


def static_pod(raw: bytes, path: str, node_name: str, now: float) -> core.Pod:
    """Read a manifest (YAML or JSON, one pod). `now` is wall seconds, for the mark of when it was first seen."""
    pod = _parse(raw)
    pod.metadata.resource_version = ""
    pod.metadata.creation_timestamp = None
    pod.metadata.deletion_timestamp = None
    pod.status = core.PodStatus(phase="Pending")
    if not pod.metadata.uid:
        digest = hashlib.md5(encode(pod), usedforsecurity=False)
        digest.update(f"host:{node_name}file:{path}".encode())
        pod.metadata.uid = digest.hexdigest()
    pod.metadata.name = f"{pod.metadata.name}-{node_name}"
    pod.metadata.namespace = pod.metadata.namespace or "default"
    pod.spec.node_name = node_name
    # What runs by the will of the machine's owner is not driven off by the control plane.
    pod.spec.tolerations = [*pod.spec.tolerations, core.Toleration(operator="Exists", effect="NoExecute")]
    pod.metadata.annotations = {
        **pod.metadata.annotations,
        CONFIG_SOURCE: FILE_SOURCE,
        CONFIG_HASH: pod.metadata.uid,
        CONFIG_SEEN: str(Time.from_timestamp(now)),
    }
    set_defaults(pod)
    errors = validate_create(pod)
    if errors:
        raise ManifestError("; ".join(str(one) for one in errors))
    if reference := _api_reference(pod):
        raise ManifestError(f"static pods may not reference {reference}")
    return pod


def _parse(raw: bytes) -> core.Pod:
    try:
        data = yaml.load(raw, Loader=_Loader)
    except yaml.YAMLError as error:
        raise ManifestError(f"neither YAML nor JSON: {error}") from error
    if not isinstance(data, dict):
        raise ManifestError("it holds no object")
    if data.get("kind") != "Pod" or data.get("apiVersion") != "v1":
        raise ManifestError(f"it holds a {data.get('apiVersion')} {data.get('kind')}, not a v1 Pod")
    try:
        return from_builtins(data, core.Pod)
    except DecodeError as error:
        raise ManifestError(str(error)) from error


def _api_reference(pod: core.Pod) -> str:
    """What of the API the pod refers to; a static pod runs without one."""
    if pod.spec.service_account_name:
        return "serviceaccounts"
    if pod.spec.resource_claims:
        return "resourceclaims"
    if pod.spec.image_pull_secrets:
        return "secrets"
    for volume in pod.spec.volumes:
        if volume.config_map is not None:
            return "configmaps"
        if volume.secret is not None or volume.projected is not None:
            return "secrets"
        if volume.persistent_volume_claim is not None or volume.ephemeral is not None:
            return "persistentvolumeclaims"
    for container in [*pod.spec.init_containers, *pod.spec.containers]:
        sources = [one.value_from for one in container.env if one.value_from is not None]
        if any(one.config_map_key_ref is not None for one in sources):
            return "configmaps"
        if any(one.secret_key_ref is not None for one in sources):
            return "secrets"
        if any(one.config_map_ref is not None for one in container.env_from):
            return "configmaps"
        if any(one.secret_ref is not None for one in container.env_from):
            return "secrets"
    return ""
