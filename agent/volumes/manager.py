"""All volumes of a pod: brought up before its containers, kept current while it runs, taken down after it.

What may block (file systems that are not ours) runs in threads with a deadline, one pod's trouble is not another's.
Calls for one pod come one after the other, from its worker.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from agent.pods.seams import VolumeError
from agent.runtime.blocking import run_blocking
from agent.runtime.errors import ConfigError
from agent.runtime.facts import NodeFacts
from agent.runtime.subpaths import SubPaths
from agent.volumes import content
from agent.volumes.content import DEFAULT_MODE, Files
from agent.volumes.host import HostVolume, SetUpError, failed
from agent.volumes.kernel import Mounts
from agent.volumes.layout import EMPTY_DIR, PodFolder, plugin_of, pod_uids
from agent.volumes.local import check_host_path, memory_bound, set_up_empty_dir
from agent.volumes.objects import ObjectCache
from agent.volumes.ownership import give_to_group
from agent.volumes.publishing import publish
from agent.volumes.removing import remove_tree, unmount_all
from agent.volumes.tokens import Tokens, Wanted
from api import core_v1 as core
from client.clock import Clock
from client.interface import Client

SET_UP_DEADLINE = 120.0
TEAR_DOWN_DEADLINE = 60.0
OBJECT_VOLUME_MODE = 0o777


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
        sub_paths: SubPaths,
        facts: Callable[[], NodeFacts],
        changed: Callable[[str], None],
        rng: random.Random | None = None,
    ) -> None:
        self._root = root
        self._clock = clock
        self._mounts = mounts
        self._sub_paths = sub_paths
        self._facts = facts
        self.objects = ObjectCache(client, clock, changed)
        self._tokens = Tokens(client, clock, changed, rng)

    async def run(self) -> None:
        """Own the watches of config maps and secrets until cancelled."""
        await self.objects.run()

    # ------------------------------------------------------------ for a pod

    async def mount(self, pod: core.Pod) -> Mapping[str, HostVolume]:
        """Bring every volume up; idempotent. Raises VolumeError for the first that cannot be."""
        self.objects.register(pod)
        mounted = {}
        for volume in pod.spec.volumes:
            try:
                mounted[volume.name] = await self._set_up(pod, volume)
            except (SetUpError, ConfigError, OSError) as error:
                raise failed(volume.name, _cause(error)) from error
        return mounted

    async def refresh(self, pod: core.Pod) -> None:
        """Bring the files of volumes made of objects up to date. Raises VolumeError."""
        self.objects.register(pod)
        for volume in pod.spec.volumes:
            if plugin_of(volume) in ("", EMPTY_DIR):
                continue
            try:
                await self._set_up(pod, volume)
            except (SetUpError, ConfigError, OSError) as error:
                raise failed(volume.name, _cause(error)) from error

    async def unmount(self, uid: str) -> None:
        """Take the pod's volumes down and remove its folder; idempotent. Raises VolumeError."""
        self.objects.unregister(uid)
        self._tokens.forget(uid)
        folder = PodFolder(self._root, uid)

        def take_down() -> None:
            if folder.sub_paths.is_dir():
                self._sub_paths.release(folder.sub_paths)
            unmount_all(folder.path, self._mounts)
            remove_tree(folder.path, self._mounts)

        try:
            await run_blocking(take_down, f"take volumes of pod {uid} down", TEAR_DOWN_DEADLINE, self._clock)
        except OSError as error:
            text = f"UnmountVolume.TearDown failed for pod {uid}: {error}"
            raise VolumeError(text, "FailedUnMount") from error

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

    async def _set_up(self, pod: core.Pod, volume: core.Volume) -> HostVolume:
        if volume.host_path is not None:
            source = volume.host_path
            await self._blocking(lambda: check_host_path(source), f"check host path {source.path}")
            return HostVolume(source.path)
        if not plugin_of(volume):
            raise SetUpError("no volume plugin matched")
        path = PodFolder(self._root, pod.metadata.uid).volume(volume)
        if volume.empty_dir is not None:
            empty = volume.empty_dir
            bound = memory_bound(pod, volume.name)

            def make() -> None:
                set_up_empty_dir(path, empty, self._mounts, bound)
                self._own(pod, path, read_only=False)

            await self._blocking(make, f"set volume {volume.name} up")
            return HostVolume(str(path), selinux_relabel=True)
        files = await self._files(pod, volume)
        # A config map is no secret and may lie on disk; everything else stays in memory.
        in_memory = volume.config_map is None

        def write() -> None:
            path.mkdir(parents=True, exist_ok=True, mode=0o755)
            if in_memory and path not in self._mounts.points(path):
                self._mounts.mount_tmpfs(path, None, OBJECT_VOLUME_MODE)
            path.chmod(OBJECT_VOLUME_MODE)
            if publish(path, files, self._clock.now()):
                self._own(pod, path, read_only=True)

        await self._blocking(write, f"set volume {volume.name} up")
        return HostVolume(str(path), read_only=True, selinux_relabel=True)

    async def _blocking(self, call: Callable[[], None], what: str) -> None:
        await run_blocking(call, what, SET_UP_DEADLINE, self._clock)

    def _own(self, pod: core.Pod, path: Path, *, read_only: bool) -> None:
        security = pod.spec.security_context
        if security is not None and security.fs_group is not None:
            on_mismatch = security.fs_group_change_policy == "OnRootMismatch"
            give_to_group(path, security.fs_group, read_only=read_only, only_on_mismatch=on_mismatch)

    async def _files(self, pod: core.Pod, volume: core.Volume) -> Files:
        namespace = pod.metadata.namespace
        if (source := volume.config_map) is not None:
            return await self._config_map(
                namespace, source.name, source.items, _mode(source.default_mode), optional=bool(source.optional)
            )
        if (secret := volume.secret) is not None:
            return await self._secret(
                namespace, secret.secret_name, secret.items, _mode(secret.default_mode), optional=bool(secret.optional)
            )
        if (downward := volume.downward_api) is not None:
            return self._downward(pod, downward.items, _mode(downward.default_mode))
        files: Files = {}
        if (projected := volume.projected) is not None:
            mode = _mode(projected.default_mode)
            for part in projected.sources:
                files |= await self._projection(pod, part, mode)
        return files

    async def _projection(self, pod: core.Pod, part: core.VolumeProjection, mode: int) -> Files:
        namespace = pod.metadata.namespace
        if (maps := part.config_map) is not None:
            return await self._config_map(namespace, maps.name, maps.items, mode, optional=bool(maps.optional))
        if (secret := part.secret) is not None:
            return await self._secret(namespace, secret.name, secret.items, mode, optional=bool(secret.optional))
        if (downward := part.downward_api) is not None:
            return self._downward(pod, downward.items, mode)
        if (projection := part.service_account_token) is not None:
            wanted = Wanted(
                namespace=namespace,
                service_account=pod.spec.service_account_name or "default",
                pod=pod.metadata.name,
                uid=pod.metadata.uid,
                audience=projection.audience,
                seconds=projection.expiration_seconds or 3600,
            )
            return content.token_file(projection.path, await self._tokens.get(wanted), mode, pod)
        raise SetUpError("no volume plugin matched")

    async def _config_map(
        self, namespace: str, name: str, items: Sequence[core.KeyToPath], mode: int, *, optional: bool
    ) -> Files:
        obj = await self.objects.config_map(namespace, name)
        return content.config_map_files(obj, f"{namespace}/{name}", items, mode, optional=optional)

    async def _secret(
        self, namespace: str, name: str, items: Sequence[core.KeyToPath], mode: int, *, optional: bool
    ) -> Files:
        obj = await self.objects.secret(namespace, name)
        return content.secret_files(obj, f"{namespace}/{name}", items, mode, optional=optional)

    def _downward(self, pod: core.Pod, items: Sequence[core.DownwardAPIVolumeFile], mode: int) -> Files:
        facts = self._facts()
        return content.downward_files(pod, items, mode, host_ips=facts.ips, allocatable=facts.allocatable)


def _mode(mode: int | None) -> int:
    return DEFAULT_MODE if mode is None else mode


def _cause(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return f"timed out: {error}"
    return str(error)
