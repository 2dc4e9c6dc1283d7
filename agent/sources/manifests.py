"""Pods from a folder of manifests on this machine.

The folder is read as a whole whenever the kernel says that something in it changed, and now and then where the kernel
cannot say. A file that does not parse keeps the pod it last described: an editor in the middle of a write, or a slip of
the pen, must not stop a control plane.
"""

from __future__ import annotations

import errno
import logging
import os

from asyncinotify import Inotify, Mask

from agent.sources.merging import Feed
from agent.sources.static import ManifestError, static_pod
from api import core_v1 as core
from client.clock import Clock

log = logging.getLogger(__name__)

POLL_PERIOD = 20.0
"""Seconds between reads where there is no inotify (its limits are used up, or the folder is not there yet)."""
SETTLE = 0.05
"""Seconds to wait after a change, so that the several events of one write are one read."""

_CHANGES = (
    Mask.CREATE | Mask.CLOSE_WRITE | Mask.DELETE | Mask.MOVED_FROM | Mask.MOVED_TO | Mask.DELETE_SELF | Mask.MOVE_SELF
)


class ManifestSource:
    """Feeds the pods of one folder."""

    def __init__(self, folder: str, node_name: str, feed: Feed, clock: Clock) -> None:
        self._folder = folder
        self._node_name = node_name
        self._feed = feed
        self._clock = clock
        self._files: dict[str, tuple[tuple[int, int, int], core.Pod | None]] = {}
        """Path → (what stat said of it, the pod it last described)."""
        self._told: dict[str, str] = {}
        self._missing = False

    async def run(self) -> None:
        """Follow the folder until cancelled."""
        while True:
            try:
                with Inotify() as inotify:
                    inotify.add_watch(self._folder, _CHANGES)
                    # Read only after the watch is in place: what changes in between is then heard of.
                    self.read()
                    await self._follow(inotify)
            except OSError as error:
                if error.errno not in (errno.ENOENT, errno.ENOTDIR):
                    self._tell(self._folder, f"its changes cannot be followed, it is polled: {error}")
                self.read()
                await self._clock.sleep(POLL_PERIOD)

    async def _follow(self, inotify: Inotify) -> None:
        async for event in inotify:
            if event.mask & (Mask.DELETE_SELF | Mask.MOVE_SELF | Mask.IGNORED):
                self.read()
                return
            await self._clock.sleep(SETTLE)
            self.read()

    def read(self) -> None:
        """Read the folder and tell the feed what it says now."""
        try:
            names = sorted(name for name in os.listdir(self._folder) if not name.startswith("."))
        except FileNotFoundError:
            names = []
        except OSError as error:
            # The folder may hold a control plane: not being able to look is no reason to take it down.
            self._tell(self._folder, f"it cannot be read: {error}")
            return
        files = {}
        for name in names:
            path = os.path.join(self._folder, name)
            entry = self._file(path)
            if entry is not None:
                files[path] = entry
        self._files = files
        self._tell_feed()

    def _file(self, path: str) -> tuple[tuple[int, int, int], core.Pod | None] | None:
        before = self._files.get(path)
        try:
            stat = os.stat(path)
            if not os.path.isfile(path):
                return None
            mark = (stat.st_mtime_ns, stat.st_size, stat.st_ino)
            if before is not None and before[0] == mark:
                return before
            with open(path, "rb") as file:
                raw = file.read()
            pod = static_pod(raw, path, self._node_name, self._clock.now())
        except FileNotFoundError:
            return None
        except (OSError, ManifestError) as error:
            self._tell(path, f"it is ignored: {error}")
            return (0, 0, 0), before[1] if before is not None else None
        self._told.pop(path, None)
        return mark, pod

    def _tell_feed(self) -> None:
        wanted: dict[str, core.Pod] = {}
        names: dict[tuple[str, str], str] = {}
        for path, (_, pod) in self._files.items():
            if pod is None:
                continue
            name = (pod.metadata.namespace, pod.metadata.name)
            if name in names:
                self._tell(path, f"it is ignored: {names[name]} describes a pod of the same name")
                continue
            names[name] = path
            wanted[pod.metadata.uid] = pod
        present = {one.metadata.uid for one in self._feed.pods}
        for uid in present - wanted.keys():
            self._feed.remove(uid)
        for uid in wanted.keys() - present:
            self._feed.set(wanted[uid])
        self._feed.synced()

    def _tell(self, path: str, problem: str) -> None:
        """Log a problem of a file once, until it is another."""
        if self._told.get(path) != problem:
            self._told[path] = problem
            log.warning("manifest path=%s problem=%s", path, problem)
