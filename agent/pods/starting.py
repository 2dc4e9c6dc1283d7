"""Bringing one container up: image, creation, start, postStart hook. Each step that fails says why, in upstream's
words.

Whoever calls knows the sandbox and has the volumes ready; nothing here decides whether a container is due.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from agent.pods.hooks import HookError, Hooks
from agent.pods.identity import field_path
from agent.pods.killing import Killer, container_grace
from agent.pods.plans import KillReason
from agent.pods.seams import ContainerRequest, Images, Recorder, Runtime, StartError
from api import core_v1 as core
from api.pods import AnyContainer
from cri.errors import CriError

log = logging.getLogger(__name__)


@dataclass(slots=True)
class Sandbox:
    """Where containers are started: a live sandbox and what belongs to it."""

    id: str
    attempt: int
    ips: tuple[str, ...] = ()
    volumes: Mapping[str, Any] = field(default_factory=dict)
    pull_secrets: Sequence[core.Secret] = ()


class Starter:
    """Starts containers."""

    def __init__(self, runtime: Runtime, images: Images, hooks: Hooks, killer: Killer, recorder: Recorder) -> None:
        self._runtime = runtime
        self._images = images
        self._hooks = hooks
        self._killer = killer
        self._recorder = recorder

    async def start(
        self,
        pod: core.Pod,
        container: AnyContainer,
        attempt: int,
        sandbox: Sandbox,
        *,
        target_container_id: str = "",
    ) -> str:
        """Returns the id of the running container. Raises StartError with what its waiting state is to say."""
        image_ref = await self._images.ensure(
            pod, container, container.image, container.image_pull_policy, sandbox.pull_secrets
        )
        request = ContainerRequest(
            pod=pod,
            container=container,
            attempt=attempt,
            sandbox_id=sandbox.id,
            sandbox_attempt=sandbox.attempt,
            image_ref=image_ref,
            volumes=sandbox.volumes,
            pod_ips=sandbox.ips,
            target_container_id=target_container_id,
        )
        container_id = await self._create(request)
        await self._run(pod, container, container_id)
        await self._post_start(pod, container, container_id, sandbox)
        return container_id

    async def _create(self, request: ContainerRequest) -> str:
        pod, container = request.pod, request.container
        try:
            container_id = await self._runtime.create_container(request)
        except StartError as error:
            self._tell(pod, container, "Warning", "Failed", f"Error: {error.message}")
            raise
        except CriError as error:
            self._tell(pod, container, "Warning", "Failed", f"Error: {error.cause}")
            raise StartError("CreateContainerError", error.cause) from error
        self._tell(pod, container, "Normal", "Created", "Container created")
        return container_id

    async def _run(self, pod: core.Pod, container: AnyContainer, container_id: str) -> None:
        try:
            await self._runtime.start_container(container_id)
        except CriError as error:
            self._tell(pod, container, "Warning", "Failed", f"Error: {error.cause}")
            raise StartError("RunContainerError", error.cause) from error
        self._tell(pod, container, "Normal", "Started", "Container started")

    async def _post_start(self, pod: core.Pod, container: AnyContainer, container_id: str, sandbox: Sandbox) -> None:
        lifecycle = container.lifecycle
        if lifecycle is None or lifecycle.post_start is None:
            return
        try:
            await self._hooks.run(lifecycle.post_start, pod, container, container_id, sandbox.ips)
        except HookError as error:
            log.info("postStart hook failed pod=%s error=%s", pod.metadata.uid, error)
            self._tell(pod, container, "Warning", "FailedPostStartHook", "PostStartHook failed")
            grace = container_grace(pod, container, KillReason.CHANGED)
            try:
                await self._killer.stop_container(
                    pod, container_id, container.name, grace, "FailedPostStartHook", pod_ips=sandbox.ips
                )
            except CriError as failure:
                log.warning("container would not stop pod=%s error=%s", pod.metadata.uid, failure)
            raise StartError("PostStartHookError", str(error)) from error

    def _tell(self, pod: core.Pod, container: AnyContainer, kind: str, reason: str, message: str) -> None:
        self._recorder.event(pod, kind, reason, message, field_path=field_path(pod, container.name))
