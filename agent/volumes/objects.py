"""Config maps and secrets that pods of this node refer to, each kept current by a watch of its own.

An object is watched while some pod here refers to it; nothing else of the namespace is ever fetched, which is also all
that a node is authorized to. When an object changes, those pods are told.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TypeVar

from agent.runtime.errors import ConfigError
from api import core_v1 as core
from api.errors import StatusError
from api.pods import containers_of
from client.clock import Clock
from client.errors import ClientError
from client.informer import Informer
from client.interface import Client

FETCH_DEADLINE = 10.0
O = TypeVar("O", core.ConfigMap, core.Secret)  # noqa: E741 - the object


@dataclass(frozen=True, slots=True)
class Reference:
    """A config map or secret by name."""

    kind: type[core.ConfigMap] | type[core.Secret]
    namespace: str
    name: str


AnyInformer = Informer[core.ConfigMap] | Informer[core.Secret]


@dataclass(slots=True)
class _Watched:
    informer: AnyInformer
    task: asyncio.Task[None] | None = None
    pods: set[str] = field(default_factory=set)
    given: set[str] = field(default_factory=set)
    """The resource versions given to whoever asked since the last change, "" where there was no object."""


class ObjectCache:
    """The objects that pods refer to. `changed` is told the UID of each pod whose object changed."""

    def __init__(self, client: Client, clock: Clock, changed: Callable[[str], None]) -> None:
        self._client = client
        self._clock = clock
        self._changed = changed
        self._watched: dict[Reference, _Watched] = {}
        self._group: asyncio.TaskGroup | None = None

    async def run(self) -> None:
        """Own the watches until cancelled."""
        async with asyncio.TaskGroup() as group:
            self._group = group
            try:
                for reference, watched in self._watched.items():
                    self._start(reference, watched)
                await asyncio.Event().wait()
            finally:
                self._group = None

    def register(self, pod: core.Pod) -> None:
        """Watch what a pod refers to; idempotent."""
        for reference in set(references(pod)):
            watched = self._watched.get(reference)
            if watched is None:
                watched = self._watched[reference] = _Watched(self._informer(reference))
                self._start(reference, watched)
            watched.pods.add(pod.metadata.uid)

    def unregister(self, uid: str) -> None:
        """Watch for a pod no more; idempotent."""
        for reference, watched in list(self._watched.items()):
            watched.pods.discard(uid)
            if not watched.pods:
                del self._watched[reference]
                if watched.task is not None:
                    watched.task.cancel()

    def _informer(self, reference: Reference) -> AnyInformer:
        selector = f"metadata.name={reference.name}"
        informer: AnyInformer = (
            Informer(self._client, core.ConfigMap, reference.namespace, field_selector=selector, clock=self._clock)
            if reference.kind is core.ConfigMap
            else Informer(self._client, core.Secret, reference.namespace, field_selector=selector, clock=self._clock)
        )
        informer.add_handler(
            lambda obj: self._tell(reference, obj.metadata.resource_version),
            lambda _old, obj: self._tell(reference, obj.metadata.resource_version),
            lambda _obj: self._tell(reference, ""),
        )
        return informer

    def _start(self, reference: Reference, watched: _Watched) -> None:
        if self._group is not None:
            name = f"watch {reference.kind.__name__} {reference.namespace}/{reference.name}"
            watched.task = self._group.create_task(watched.informer.run(), name=name)

    def _tell(self, reference: Reference, version: str) -> None:
        watched = self._watched.get(reference)
        if watched is None or watched.given == {version}:
            return  # the watch has brought what all who asked were given already
        watched.given.clear()
        for uid in tuple(watched.pods):
            self._changed(uid)

    async def config_map(self, namespace: str, name: str) -> core.ConfigMap | None:
        """The config map, None when there is none. Raises ConfigError when that cannot be told."""
        return await self._get(core.ConfigMap, namespace, name)

    async def secret(self, namespace: str, name: str) -> core.Secret | None:
        """The secret, None when there is none. Raises ConfigError when that cannot be told."""
        return await self._get(core.Secret, namespace, name)

    async def _get(self, kind: type[O], namespace: str, name: str) -> O | None:
        watched = self._watched.get(Reference(kind, namespace, name))
        found = watched.informer.get(namespace, name) if watched is not None else None
        if not isinstance(found, kind):
            # Not watched, not seen yet, or not there: it may have been made a moment ago, so the server is asked.
            found = await self._fetch(kind, namespace, name)
        if watched is not None:
            watched.given.add(found.metadata.resource_version if found is not None else "")
        return found

    async def _fetch(self, kind: type[O], namespace: str, name: str) -> O | None:
        try:
            async with self._clock.timeout(FETCH_DEADLINE):
                return await self._client.get(kind, name, namespace)
        except StatusError as error:
            if error.code == 404:
                return None
            raise ConfigError(str(error)) from error
        except (ClientError, TimeoutError) as error:
            raise ConfigError(f"failed to fetch {kind.__name__.lower()} {namespace}/{name}: {error}") from error


def references(pod: core.Pod) -> Iterator[Reference]:
    """What a pod's volumes, variables and pull secrets refer to by name."""
    return (reference for reference in _references(pod) if reference.name)


def _references(pod: core.Pod) -> Iterator[Reference]:
    namespace, spec = pod.metadata.namespace, pod.spec
    for volume in spec.volumes:
        if volume.config_map is not None:
            yield Reference(core.ConfigMap, namespace, volume.config_map.name)
        if volume.secret is not None:
            yield Reference(core.Secret, namespace, volume.secret.secret_name)
        for source in volume.projected.sources if volume.projected is not None else ():
            if source.config_map is not None:
                yield Reference(core.ConfigMap, namespace, source.config_map.name)
            if source.secret is not None:
                yield Reference(core.Secret, namespace, source.secret.name)
    for pull in spec.image_pull_secrets:
        yield Reference(core.Secret, namespace, pull.name)
    for container in containers_of(spec):
        for whole in container.env_from:
            if whole.config_map_ref is not None:
                yield Reference(core.ConfigMap, namespace, whole.config_map_ref.name)
            if whole.secret_ref is not None:
                yield Reference(core.Secret, namespace, whole.secret_ref.name)
        for variable in container.env:
            value = variable.value_from
            if value is not None and value.config_map_key_ref is not None:
                yield Reference(core.ConfigMap, namespace, value.config_map_key_ref.name)
            if value is not None and value.secret_key_ref is not None:
                yield Reference(core.Secret, namespace, value.secret_key_ref.name)
