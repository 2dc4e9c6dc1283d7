"""The images that a node has, as its status lists them."""

from __future__ import annotations

from api import core_v1 as core
from cri.client import RuntimeClient
from proto import cri_pb2 as cri

MOST_IMAGES = 50
MOST_NAMES = 5


async def node_images(client: RuntimeClient, most: int = MOST_IMAGES) -> list[core.ContainerImage]:
    """The largest first, each with some of its names; `most` of them, all with -1. Raises CriError."""
    images = sorted(await client.list_images(), key=lambda image: (-image.size, image.id))
    chosen = images if most < 0 else images[:most]
    return [core.ContainerImage(names=_names(image), size_bytes=image.size) for image in chosen]


def _names(image: cri.Image) -> list[str]:
    return [*image.repo_digests, *image.repo_tags][:MOST_NAMES]
