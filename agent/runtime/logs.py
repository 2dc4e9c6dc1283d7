"""Removing the logs of containers and pods that are gone."""

from __future__ import annotations

import shutil
from pathlib import Path


def remove_container_logs(path: str) -> None:
    """Removes a container's log and what was rotated away from it (`0.log.20260101-…`). Raises OSError."""
    if not path:
        return
    log = Path(path)
    if not log.parent.is_dir():
        return
    for one in log.parent.iterdir():
        if one.name == log.name or one.name.startswith(f"{log.name}."):
            one.unlink(missing_ok=True)


def remove_pod_logs(root: Path, folder: Path) -> None:
    """Removes a pod's log folder below `root`. Raises OSError, ValueError when it is not below."""
    if root not in folder.parents:
        raise ValueError(f"remove pod logs: {folder} is not below {root}")
    if folder.is_dir():
        shutil.rmtree(folder)
