"""Why a container has to wait for its image."""

from __future__ import annotations

from agent.pods.seams import StartError

PULL_FAILED = "ErrImagePull"
BACKING_OFF = "ImagePullBackOff"
NEVER_PULL = "ErrImageNeverPull"
INVALID_NAME = "InvalidImageName"
INSPECT_FAILED = "ImageInspectError"
REGISTRY_UNAVAILABLE = "RegistryUnavailable"
SIGNATURE_INVALID = "SignatureValidationFailed"


class ImagePullError(StartError):
    """The image is not here. `reason` is one of the above and the waiting reason; `message` is upstream's."""

    def __init__(self, reason: str, message: str, retry_in: float | None = None) -> None:
        super().__init__(reason, message)
        self.retry_in = retry_in
        """Seconds until a try can do better; None when only a change can."""


class InvalidReference(ValueError):
    """Not an image reference; the message is that of the reference library upstream uses."""
