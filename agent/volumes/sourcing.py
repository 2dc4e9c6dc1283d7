"""From a volume's description to its files: the objects and tokens it names, fetched and laid out."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from agent.runtime.errors import ConfigError
from agent.runtime.facts import NodeFacts
from agent.volumes import content
from agent.volumes.content import DEFAULT_MODE, Files
from agent.volumes.host import SetUpError
from agent.volumes.objects import ObjectCache
from agent.volumes.tokens import Tokens, Wanted
from api import core_v1 as core

TOKEN_SECONDS = 3600


class FileSource:
    """The files of volumes that are made of objects. Raises SetUpError, ConfigError."""

    def __init__(self, objects: ObjectCache, tokens: Tokens, facts: Callable[[], NodeFacts]) -> None:
        self._objects = objects
        self._tokens = tokens
        self._facts = facts

    async def files(self, pod: core.Pod, volume: core.Volume) -> Files:
        """All files of a volume."""
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
        if (projected := volume.projected) is not None:
            return await self._projected(pod, projected)
        raise SetUpError("no volume plugin matched")

    async def _projected(self, pod: core.Pod, projected: core.ProjectedVolumeSource) -> Files:
        """The files of all sources, the later ones over the earlier; what fails is told together."""
        files: Files = {}
        problems = []
        for part in projected.sources:
            try:
                files |= await self._projection(pod, part, _mode(projected.default_mode))
            except (SetUpError, ConfigError) as error:
                problems.append(str(error))
        if problems:
            raise SetUpError(content.together(problems))
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
                account=pod.spec.service_account_name or "default",
                pod=pod.metadata.name,
                uid=pod.metadata.uid,
                audience=projection.audience,
                seconds=projection.expiration_seconds or TOKEN_SECONDS,
            )
            return content.token_file(projection.path, await self._tokens.get(wanted), mode, pod)
        if part == core.VolumeProjection():
            return {}  # the API lets it pass
        raise SetUpError("no volume plugin matched")

    async def _config_map(
        self, namespace: str, name: str, items: Sequence[core.KeyToPath], mode: int, *, optional: bool
    ) -> Files:
        obj = await self._objects.config_map(namespace, name)
        return content.config_map_files(obj, name, items, mode, optional=optional)

    async def _secret(
        self, namespace: str, name: str, items: Sequence[core.KeyToPath], mode: int, *, optional: bool
    ) -> Files:
        obj = await self._objects.secret(namespace, name)
        return content.secret_files(obj, name, items, mode, optional=optional)

    def _downward(self, pod: core.Pod, items: Sequence[core.DownwardAPIVolumeFile], mode: int) -> Files:
        facts = self._facts()
        return content.downward_files(pod, items, mode, host_ips=facts.ips, allocatable=facts.allocatable)


def _mode(mode: int | None) -> int:
    return DEFAULT_MODE if mode is None else mode
