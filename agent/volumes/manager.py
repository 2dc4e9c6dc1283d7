"""All volumes of a pod: brought up before its containers, kept current while it runs, taken down after it.

What may block (file systems that are not ours) runs in threads with a deadline, one pod's trouble is not another's.
Calls for one pod come one after the other, from its worker.
"""

from __future__ import annotations

import asyncio
import logging
import os
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from agent.pods.seams import VolumeError
from agent.runtime.errors import ConfigError
from agent.runtime.facts import NodeFacts
from agent.volumes.blocking import PodThreads
from agent.volumes.host import HostVolume, SetUpError, failure
from agent.volumes.kernel import Mounts
from agent.volumes.layout import plugin_of, pod_folder, pod_uids, volume_folder
from agent.volumes.local import (
    EMPTY_DIR_MODE,
    TMPFS_MODE,
    check_host_path,
    empty_dir_bounds,
    memory_bound,
    set_up_empty_dir,
)
from agent.volumes.objects import ObjectCache
from agent.volumes.ownership import folder_mode, settle
from agent.volumes.publishing import is_published, publish
from agent.volumes.removing import remove_tree, unmount_all
from agent.volumes.sourcing import FileSource
from agent.volumes.tokens import Tokens
from api import core_v1 as core
from api.pods import containers_of
from client.clock import Clock
from client.interface import Client

logger = logging.getLogger(__name__)

SET_UP_DEADLINE = 120.0
TEAR_DOWN_DEADLINE = 60.0


class VolumeManager:
    """The volumes of this node's pods below `root`.

    `changed` is told a pod's UID when `refresh` has something to do.
    """

    def __init__(
        self,
        root: Path,
        client: Client,
        clock: Clock,
        mounts: Mounts,
        facts: Callable[[], NodeFacts],
        changed: Callable[[str], None],
        rng: random.Random | None = None,
    ) -> None:
        # Mount points are known by their real paths: through a link in `root` no mount would ever be found.
        self._root = Path(os.path.realpath(root))
        self._clock = clock
        self._mounts = mounts
        self._facts = facts
        self._threads = PodThreads(clock)
        self.objects = ObjectCache(client, clock, changed)
        self._tokens = Tokens(client, clock, changed, rng)
        self._source = FileSource(self.objects, self._tokens, facts)

    async def run(self) -> None:
        """Own the watches of config maps and secrets until cancelled."""
        await self.objects.run()

    # ------------------------------------------------------------ for a pod

    async def mount(self, pod: core.Pod) -> Mapping[str, HostVolume]:
        """Bring every volume up that a container uses; idempotent. Raises VolumeError for those that fail.

        Files that are shown already do not fail: a container may end and start again though a config map is gone that
        it was given, with what it was given.
        """
        volumes = list(used_volumes(pod.spec))
        found, failures = await self._set_up_each(pod, volumes)
        for volume in [each for each in volumes if each.name in failures]:
            kept = await self._shown(pod, volume)
            if kept is not None:
                logger.info('event=volume_kept pod=%s error="%s"', pod.metadata.uid, failures[volume.name])
                found[volume.name] = kept
                del failures[volume.name]
        if failures:
            raise VolumeError(*failures.values())
        return found

    async def refresh(self, pod: core.Pod) -> None:
        """Bring the files of volumes made of objects up to date, each that can be. Raises VolumeError."""
        _, failures = await self._set_up_each(pod, (each for each in used_volumes(pod.spec) if _is_of_objects(each)))
        if failures:
            raise VolumeError(*failures.values())

    async def unmount(self, uid: str) -> None:
        """Take the pod's volumes down and remove its folder; idempotent. Raises VolumeError."""
        self.objects.unregister(uid)
        self._tokens.forget(uid)
        folder = pod_folder(self._root, uid)

        def take_down() -> None:
            unmount_all(folder, self._mounts)  # the binds of sub-paths included, which agent.runtime made
            remove_tree(folder, self._mounts)

        try:
            await self._threads.run(uid, take_down, f"take volumes of pod {uid} down", TEAR_DOWN_DEADLINE)
        except OSError as error:
            text = f"UnmountVolume.TearDown failed for pod {uid}: {error}"
            raise VolumeError(text, reason="FailedUnMount") from error

    async def orphans(self) -> Sequence[str]:
        """UIDs of which something is on disk."""
        return await asyncio.to_thread(pod_uids, self._root)

    async def pull_secrets(self, pod: core.Pod) -> Sequence[core.Secret]:
        """The pod's image pull secrets, those that exist and can be had."""
        found = []
        for reference in pod.spec.image_pull_secrets:
            try:
                secret = await self.objects.secret(pod.metadata.namespace, reference.name)
            except ConfigError:
                continue  # the pull says what it lacked, if it lacked anything
            if secret is not None:
                found.append(secret)
        return found

    # ---------------------------------------------------------- for a volume

    async def _set_up_each(
        self, pod: core.Pod, volumes: Iterable[core.Volume]
    ) -> tuple[dict[str, HostVolume], dict[str, str]]:
        """Set volumes up; returns those that are, and what is to be told of those that are not, by name.

        One that cannot be had is no reason to let the others go stale. Raises VolumeError when one hangs, for the
        others would wait behind it.
        """
        self.objects.register(pod)
        found: dict[str, HostVolume] = {}
        failures: dict[str, str] = {}
        for volume in volumes:
            try:
                found[volume.name] = await self._set_up(pod, volume)
            except TimeoutError as error:
                hangs = failure(volume.name, f"timed out: {error}")
                raise VolumeError(*failures.values(), hangs) from error
            except (SetUpError, ConfigError, OSError) as error:
                failures[volume.name] = failure(volume.name, error)
        return found, failures

    async def _set_up(self, pod: core.Pod, volume: core.Volume) -> HostVolume:
        if volume.host_path is not None:
            return await self._host_path(pod, volume.host_path)
        if volume.empty_dir is not None:
            return await self._empty_dir(pod, volume, volume.empty_dir)
        return await self._object_volume(pod, volume)

    async def _host_path(self, pod: core.Pod, source: core.HostPathVolumeSource) -> HostVolume:
        if source.type:
            await self._blocking(pod, lambda: check_host_path(source), f"check host path {source.path}")
        return HostVolume(source.path)

    async def _empty_dir(self, pod: core.Pod, volume: core.Volume, source: core.EmptyDirVolumeSource) -> HostVolume:
        path = volume_folder(self._root, pod.metadata.uid, volume)
        bounds, group = empty_dir_bounds(pod, source, self._facts()), _group(pod)
        await self._blocking(
            pod,
            lambda: set_up_empty_dir(path, source.medium, bounds, self._mounts, group),
            f"set volume {volume.name} up",
        )
        return HostVolume(str(path), selinux_relabel=True)

    async def _object_volume(self, pod: core.Pod, volume: core.Volume) -> HostVolume:
        files = await self._source.files(pod, volume)
        path = volume_folder(self._root, pod.metadata.uid, volume)
        group = _group(pod)
        # A config map is no secret and may lie on disk; everything else stays in memory.
        on_disk = volume.config_map is not None
        mode = folder_mode(EMPTY_DIR_MODE if on_disk else TMPFS_MODE, group, read_only=True)
        size = memory_bound(pod, None, self._facts())

        def write() -> None:
            path.mkdir(parents=True, exist_ok=True, mode=0o755)
            if not on_disk and path not in self._mounts.points(path):
                self._mounts.mount_tmpfs(path, size, mode, group)
            settle(path, mode, group)
            publish(path, files, self._clock.now(), group)

        await self._blocking(pod, write, f"set volume {volume.name} up")
        return _files_at(path)

    async def _shown(self, pod: core.Pod, volume: core.Volume) -> HostVolume | None:
        """A volume made of objects as it was last set up, None if it has not been."""
        if not _is_of_objects(volume):
            return None
        path = volume_folder(self._root, pod.metadata.uid, volume)
        return _files_at(path) if await asyncio.to_thread(is_published, path) else None

    async def _blocking(self, pod: core.Pod, call: Callable[[], None], what: str) -> None:
        await self._threads.run(pod.metadata.uid, call, what, SET_UP_DEADLINE)


def used_volumes(spec: core.PodSpec) -> Iterator[core.Volume]:
    """The volumes that some container has a use for, those left to the runtime (image volumes) excepted."""
    used: set[str] = set()
    for container in containers_of(spec):
        used.update(mount.name for mount in container.volume_mounts)
        used.update(device.name for device in container.volume_devices)
        for variable in container.env:
            if variable.value_from is not None and variable.value_from.file_key_ref is not None:
                used.add(variable.value_from.file_key_ref.volume_name)
    return (volume for volume in spec.volumes if volume.name in used and volume.image is None)


def _is_of_objects(volume: core.Volume) -> bool:
    """Whether its files are those of config maps, secrets, the pod itself."""
    return volume.empty_dir is None and plugin_of(volume) != ""


def _files_at(path: Path) -> HostVolume:
    return HostVolume(str(path), read_only=True, selinux_relabel=True)


def _group(pod: core.Pod) -> int | None:
    security = pod.spec.security_context
    return security.fs_group if security is not None else None
