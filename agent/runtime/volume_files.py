"""Reading a file in one of a pod's volumes, for `fileKeyRef`, without being led out of it."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from pathlib import Path

from agent.runtime.env_files import MOST_BYTES
from agent.runtime.errors import ConfigError
from agent.runtime.mounts import HostVolume
from agent.runtime.opening import open_beneath
from agent.runtime.subpaths import is_outside


def read_volume_file(volumes: Mapping[str, HostVolume], volume: str, path: str) -> str | None:
    """The file's content, None when it is not there. Raises ConfigError. Blocks."""
    held = volumes.get(volume)
    if held is None:
        raise ConfigError(f'cannot find volume "{volume}" for an environment file')
    if is_outside(path):
        raise ConfigError(f"environment file {path} leads out of volume {volume}")
    try:
        descriptor = open_beneath(Path(held.path), path, os.O_RDONLY | os.O_NONBLOCK)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ConfigError(f"couldn't read env file {path} in volume {volume}: {error.strerror or error}") from error
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise ConfigError(f"environment file {path} in volume {volume} is not a regular file")
        return file.read(MOST_BYTES + 1).decode("utf-8", "surrogateescape")
