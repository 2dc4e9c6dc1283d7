"""The fake runtime's images: a store, and a registry they are pulled from.

References are compared as they are written; whoever wants `busybox` and `docker.io/library/busybox:latest` to be one
puts both into `tags`.
"""

from __future__ import annotations

import asyncio
import hashlib
from dataclasses import dataclass, field

from cri.clock import Clock
from cri.errors import error_for
from proto import cri_pb2 as cri
from proto.containerd import content_pb2


def image_id(name: str) -> str:
    """The id the fake gives an image of that name."""
    return f"sha256:{hashlib.sha256(name.encode()).hexdigest()}"


@dataclass(slots=True)
class RemoteImage:
    """An image in the registry."""

    name: str
    size: int = 4096
    takes: float = 0.0
    """Seconds a pull takes."""
    stalls: bool = False
    """The download stands still for ever."""
    code: str = ""
    """gRPC status every pull fails with; "" succeeds."""
    message: str = ""
    password: str = ""
    """Required password; "" lets anyone pull."""
    uid: int | None = None
    username: str = ""


@dataclass(slots=True)
class _Download:
    reference: str
    begun_at: float
    remote: RemoteImage

    def offset(self, now: float) -> int:
        if self.remote.stalls or not self.remote.takes:
            return 0
        return int(self.remote.size * min((now - self.begun_at) / self.remote.takes, 1.0))


@dataclass(slots=True)
class FakeImages:
    """Images in the runtime's store and in the registry behind it."""

    clock: Clock
    stored: dict[str, cri.Image] = field(default_factory=dict)
    """By id."""
    registry: dict[str, RemoteImage] = field(default_factory=dict)
    """By reference."""
    anything_goes: bool = True
    """References the registry does not know are pulled with success; False fails them with NotFound."""
    pulls: list[str] = field(default_factory=list)
    """References of all pulls begun."""
    pulling: int = 0
    most_at_once: int = 0
    _downloads: list[_Download] = field(default_factory=list)

    def add(self, name: str, *, size: int = 4096, uid: int | None = None, username: str = "") -> cri.Image:
        """Puts an image into the store, as an import would."""
        repository = name.partition("@")[0]
        tagged = [] if "@" in name else [name]
        identity = image_id(name)
        image = cri.Image(
            id=identity, repo_tags=tagged, repo_digests=[f"{repository}@{identity}"], size=size, username=username
        )
        if uid is not None:
            image.uid.value = uid
        self.stored[identity] = image
        return image

    def find(self, reference: str) -> cri.Image | None:
        """The stored image of an id, tag or digest reference."""
        for image in self.stored.values():
            if reference == image.id or reference in image.repo_tags or reference in image.repo_digests:
                return image
        # Runtimes normalise references; here it is enough that the default tag may be left out or given.
        short = reference.removesuffix(":latest")
        for image in self.stored.values():
            if short in (tag.removesuffix(":latest") for tag in image.repo_tags):
                return image
        return None

    async def list_images(self, request: cri.ListImagesRequest) -> cri.ListImagesResponse:
        wanted = request.filter.image.image
        found = self.find(wanted) if wanted else None
        images = ([found] if found else []) if wanted else list(self.stored.values())
        return cri.ListImagesResponse(images=images)

    async def image_status(self, request: cri.ImageStatusRequest) -> cri.ImageStatusResponse:
        return cri.ImageStatusResponse(image=self.find(request.image.image))

    async def pull_image(self, request: cri.PullImageRequest) -> cri.PullImageResponse:
        reference = request.image.image
        step, target = "pull image", f'image "{reference}"'
        remote = self.registry.get(reference)
        if remote is None:
            if not self.anything_goes:
                cause = f'failed to resolve reference "{reference}": {reference}: not found'
                raise error_for("NotFound", step, target, cause)
            remote = RemoteImage(reference)
        self.pulls.append(reference)
        self.pulling += 1
        self.most_at_once = max(self.most_at_once, self.pulling)
        download = _Download(reference, self.clock.monotonic(), remote)
        self._downloads.append(download)
        try:
            if remote.stalls:
                await asyncio.Event().wait()
            await self.clock.sleep(remote.takes)
        finally:
            self._downloads.remove(download)
            self.pulling -= 1
        if remote.code:
            raise error_for(remote.code, step, target, remote.message)
        if remote.password and request.auth.password != remote.password:
            raise error_for("Unknown", step, target, f'failed to authorize: pull access denied for "{reference}"')
        image = self.add(reference, size=remote.size, uid=remote.uid, username=remote.username)
        return cri.PullImageResponse(image_ref=image.id)

    async def list_statuses(self, request: content_pb2.ListStatusesRequest) -> content_pb2.ListStatusesResponse:
        """containerd's view of the downloads under way."""
        now = self.clock.monotonic()
        return content_pb2.ListStatusesResponse(
            statuses=[content_pb2.Status(ref=one.reference, offset=one.offset(now)) for one in self._downloads]
        )

    async def remove_image(self, request: cri.RemoveImageRequest) -> cri.RemoveImageResponse:
        image = self.find(request.image.image)
        if image is not None:
            del self.stored[image.id]
        return cri.RemoveImageResponse()

    async def image_fs_info(self, request: cri.ImageFsInfoRequest) -> cri.ImageFsInfoResponse:
        used = sum(image.size for image in self.stored.values())
        usage = cri.FilesystemUsage(
            timestamp=int(self.clock.now() * 1e9),
            fs_id=cri.FilesystemIdentifier(mountpoint="/var/lib/fake"),
            used_bytes=cri.UInt64Value(value=used),
            inodes_used=cri.UInt64Value(value=len(self.stored)),
        )
        return cri.ImageFsInfoResponse(image_filesystems=[usage], container_filesystems=[usage])
