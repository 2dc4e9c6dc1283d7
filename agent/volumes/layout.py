"""Where volumes lie below a pod's folder: the layout of upstream's kubelet, which tools on nodes know."""

from __future__ import annotations

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


class PodFolder:
    """The folder of one pod below the agent's root."""

    def __init__(self, root: Path, uid: str) -> None:
        self.path = root / "pods" / uid

    @property
    def volumes(self) -> Path:
        return self.path / "volumes"

    @property
    def sub_paths(self) -> Path:
        """The binds of sub-paths, which agent.runtime makes."""
        return self.path / "volume-subpaths"

    def volume(self, volume: core.Volume) -> Path:
        return self.volumes / plugin_of(volume) / volume.name


def pod_uids(root: Path) -> list[str]:
    """The UIDs of the pods of which something is on disk."""
    folder = root / "pods"
    return sorted(each.name for each in folder.iterdir() if each.is_dir()) if folder.is_dir() else []
