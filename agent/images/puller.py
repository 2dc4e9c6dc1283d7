"""Having an image: the policy, the back-off, and what users are told about it.

An image that is here never waits for anything but the question whether it is here (scenario 58 of the field reports):
no turn, no registry, no other pull.
"""

from __future__ import annotations

from collections.abc import Sequence

from agent.images import errors
from agent.images.backoff import PullBackoff
from agent.images.durations import duration_text
from agent.images.errors import ImagePullError, InvalidReference
from agent.images.keyring import Keyring
from agent.images.pulls import PARALLEL, PullFailed, Pulls
from agent.images.references import parse, with_default_tag
from agent.pods.identity import field_path
from agent.pods.seams import Recorder
from api import core_v1 as core
from api.pods import AnyContainer
from client.clock import Clock
from cri.client import RuntimeClient
from cri.errors import CriError
from proto import cri_pb2 as cri

ALWAYS, IF_NOT_PRESENT, NEVER = "Always", "IfNotPresent", "Never"


class ImagePuller:
    """Fits `agent.pods.seams.Images`."""

    def __init__(
        self,
        client: RuntimeClient,
        recorder: Recorder,
        clock: Clock,
        *,
        parallel: int = PARALLEL,
        node_credentials: Keyring | None = None,
    ) -> None:
        """`node_credentials` are the node's own, tried after those of the pod."""
        self._client = client
        self._recorder = recorder
        self._clock = clock
        self._pulls = Pulls(client, clock, parallel)
        self._backoff = PullBackoff()
        self._node_credentials = node_credentials or Keyring()

    async def ensure(
        self, pod: core.Pod, container: AnyContainer, image: str, policy: str, pull_secrets: Sequence[core.Secret]
    ) -> str:
        """Returns the reference to create a container from. Raises ImagePullError."""
        try:
            return await self._ensure(pod, container, image, policy or IF_NOT_PRESENT, pull_secrets)
        except ImagePullError as error:
            self._tell(pod, container, "Warning", "Failed", f"Error: {error.reason}")
            raise

    async def _ensure(
        self, pod: core.Pod, container: AnyContainer, image: str, policy: str, pull_secrets: Sequence[core.Secret]
    ) -> str:
        try:
            reference = with_default_tag(image)
        except InvalidReference as error:
            message = f'Failed to apply default image tag "{image}": couldn\'t parse image name "{image}": {error}'
            self._tell(pod, container, "Warning", "InspectFailed", message)
            raise ImagePullError(errors.INVALID_NAME, message) from error
        if policy != ALWAYS:
            present = await self._present(pod, container, reference)
            if present:
                text = f'Container image "{image}" already present on machine and can be accessed by the pod'
                self._tell(pod, container, "Normal", "Pulled", text)
                return present
            if policy == NEVER:
                message = f'Container image "{image}" is not present with pull policy of Never'
                self._tell(pod, container, "Warning", "ErrImageNeverPull", message)
                raise ImagePullError(errors.NEVER_PULL, message)
        return await self._pull(pod, container, image, reference, pull_secrets)

    async def _present(self, pod: core.Pod, container: AnyContainer, reference: str) -> str:
        """The runtime's reference to an image that is here, else ""."""
        try:
            found = await self._client.image_status(cri.ImageSpec(image=reference))
        except CriError as error:
            message = f'Failed to inspect image "": {error.status_text}'
            self._tell(pod, container, "Warning", "InspectFailed", message)
            raise ImagePullError(errors.INSPECT_FAILED, message, retry_in=1.0) from error
        return found.id if found is not None else ""

    async def _pull(
        self,
        pod: core.Pod,
        container: AnyContainer,
        image: str,
        reference: str,
        pull_secrets: Sequence[core.Secret],
    ) -> str:
        key = (pod.metadata.uid, image)
        begun = self._clock.monotonic()
        wait, cause = self._backoff.remaining(key, begun)
        if wait > 0:
            message = f'Back-off pulling image "{image}"'
            self._tell(pod, container, "Normal", "BackOff", message)
            raise ImagePullError(errors.BACKING_OFF, f"{message}: {cause}", retry_in=wait)
        self._tell(pod, container, "Normal", "Pulling", f'Pulling image "{image}"')
        repository = parse(reference).repository
        credentials = [*Keyring(pull_secrets).lookup(repository), *self._node_credentials.lookup(repository)]
        try:
            pulled = await self._pulls.pull(reference, list(dict.fromkeys(credentials)))
        except PullFailed as error:
            self._tell(pod, container, "Warning", "Failed", f'Failed to pull image "{image}": {error}')
            reason, message = _judged(image, str(error))
            pause = self._backoff.failed(key, self._clock.monotonic(), f"{reason}: {message}")
            raise ImagePullError(reason, message, retry_in=pause) from error
        in_all = duration_text(self._clock.monotonic() - begun)
        text = (
            f'Successfully pulled image "{image}" in {duration_text(pulled.seconds)} '
            f"({in_all} including waiting). Image size: {pulled.size} bytes."
        )
        self._tell(pod, container, "Normal", "Pulled", text)
        return pulled.image_ref

    def _tell(self, pod: core.Pod, container: AnyContainer, kind: str, reason: str, message: str) -> None:
        self._recorder.event(pod, kind, reason, message, field_path=field_path(pod, container.name))


def _judged(image: str, words: str) -> tuple[str, str]:
    """Reason and message; two failures have names of their own, which runtimes put in front of their words (CRI)."""
    for reason, because in (
        (errors.REGISTRY_UNAVAILABLE, "the registry is unavailable"),
        (errors.SIGNATURE_INVALID, "the signature validation failed"),
    ):
        if words.startswith(reason):
            return reason, f"image pull failed for {image} because {because}{words.removeprefix(reason)}"
    return errors.PULL_FAILED, words
