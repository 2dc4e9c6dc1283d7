"""The folder in which the runtime looks for its network configuration: what to tell of it, and how to point at it.

Runtimes watch the folder, but not all see all: containerd (2.0 included) reads it anew when a file in it is written,
renamed or removed, and not when one merely appears, as a symbolic link or a file moved in from elsewhere does. Its
network then stays down until it is restarted. Knows nothing of what the configuration says, but that it is JSON.
"""

from __future__ import annotations

import json
import logging
import os

log = logging.getLogger(__name__)

ENDINGS = (".conf", ".conflist", ".json")
MARK = ".orlop-look-again"


class CniFolder:
    """The folder at `path`; "" when it is not known."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._pointed_at: list[tuple[str, int]] | None = None

    def hint(self) -> str:
        """What to tell somebody whose network is not ready."""
        if not self._path:
            return ""
        try:
            names = self._names()
        except OSError as error:
            return f"CNI configuration folder {self._path}: {error.strerror}"
        if not names:
            return f"CNI configuration folder {self._path} has no .conf, .conflist or .json file"
        file = os.path.join(self._path, names[0])
        trouble = _trouble(file)
        return f"CNI configuration file {file}: {trouble}" if trouble else f"CNI configuration file {file}"

    def point_at(self) -> None:
        """Have the runtime read the folder anew, once for each state of it. To be called while its network is down.

        A file that comes and goes is an event that every runtime takes note of; its name is one that none reads.
        """
        if not self._path:
            return
        try:
            state = [(name, os.stat(os.path.join(self._path, name)).st_mtime_ns) for name in self._names()]
            if state and state != self._pointed_at:
                mark = os.path.join(self._path, MARK)
                os.close(os.open(mark, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600))
                os.unlink(mark)
            self._pointed_at = state
        except OSError as error:
            log.debug("network configuration not pointed at folder=%s error=%s", self._path, error)

    def _names(self) -> list[str]:
        return sorted(one for one in os.listdir(self._path) if one.endswith(ENDINGS))


def _trouble(file: str) -> str:
    """Why a file cannot be read as a configuration; empty when it can."""
    try:
        with open(file, "rb") as opened:
            json.load(opened)
    except OSError as error:
        return error.strerror or str(error)
    except ValueError as error:
        return f"not JSON: {error}"
    return ""
