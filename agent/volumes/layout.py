"""Where volumes lie below a pod's folder: the layout of upstream's kubelet, which tools on nodes know."""

from __future__ import annotations

import os
from pathlib import Path

from api import core_v1 as core

EMPTY_DIR = "kubernetes.io~empty-dir"
CONFIG_MAP = "kubernetes.io~configmap"
SECRET = "kubernetes.io~secret"
DOWNWARD_API = "kubernetes.io~downward-api"
PROJECTED = "kubernetes.io~projected"


def plugin_of(volume: core.Volume) -> str:
    """The folder of a volume's kind; "" for a hostPath, which lies where it lies, and for kinds that are unknown."""
    if volume.empty_dir is not None:
        return EMPTY_DIR
    if volume.config_map is not None:
        return CONFIG_MAP
    if volume.secret is not None:
        return SECRET
    if volume.downward_api is not None:
        return DOWNWARD_API
    if volume.projected is not None:
        return PROJECTED
    return ""


def pod_folder(root: Path, uid: str) -> Path:
    """All that the agent keeps of one pod."""
    return root / "pods" / uid


def volume_folder(root: Path, uid: str, volume: core.Volume) -> Path:
    """Where a volume of a kind that has a folder lies."""
    return pod_folder(root, uid) / "volumes" / plugin_of(volume) / volume.name


def pod_uids(root: Path) -> list[str]:
    """The UIDs of the pods of which something is on disk."""
    try:
        with os.scandir(root / "pods") as entries:
            return sorted(entry.name for entry in entries if entry.is_dir(follow_symlinks=False))
    except FileNotFoundError:
        return []
