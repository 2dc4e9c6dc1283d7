"""What has to be on the host before a container can be created: folders, its files, its sub-paths.

Blocks; run by `blocking.run_blocking`.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from pathlib import Path

from agent.runtime.errors import ConfigError
from agent.runtime.mounts import SubPathBind
from agent.runtime.subpaths import MissingFolderError, SubPathError, SubPaths

log = logging.getLogger(__name__)

HOST_HOSTS = Path("/etc/hosts")


def prepare_container(
    container: str,
    *,
    log_folder: Path,
    hosts: tuple[Path, str] | None,
    termination: Path,
    binds: Sequence[SubPathBind],
    sub_paths: SubPaths,
) -> None:
    """Raises ConfigError with upstream's words, OSError for our own folders."""
    (log_folder / container).mkdir(parents=True, exist_ok=True, mode=0o755)
    if hosts is not None:
        path, content = hosts
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o750)
        # In place: containers that run have the file itself mounted. After a crash in between it is written again.
        if not path.exists() or path.read_text() != content:
            path.write_text(content)
    _make_termination_file(termination)
    for bind in binds:
        try:
            sub_paths.bind(bind.volume, bind.sub_path, bind.target)
        except SubPathError as error:
            # Users of the pod are not to learn from it what is where on the host.
            log.info("sub-path refused container=%s volume=%s error=%s", container, bind.mount, error)
            step = "create subPath directory" if isinstance(error, MissingFolderError) else "prepare subPath"
            raise ConfigError(f'failed to {step} for volumeMount "{bind.mount}" of container "{container}"') from error


def host_hosts_file() -> str:
    """The host's own /etc/hosts; empty when it has none."""
    try:
        return HOST_HOSTS.read_text()
    except FileNotFoundError:
        return ""


def _make_termination_file(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o755)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o666)
    try:
        os.fchmod(descriptor, 0o666)  # whoever the container runs as may write; the umask would forbid it
    finally:
        os.close(descriptor)
