"""A small builder of OCI image archives: files in, one tar out that `ctr images import` or `skopeo` reads.

Why our own: the system images are two static binaries and a handful of links, and a node must come up without a
registry, a Docker engine or a build tool. What is written follows the OCI image layout 1.0 and image spec 1.0
(`oci-layout`, `index.json`, `blobs/sha256/*`). The result depends on the content alone (no clock, fixed owners and
times), so that the same files always give the same digests and an import can be skipped.
"""

from __future__ import annotations

import hashlib
import io
import os
import tarfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import orjson

EPOCH = "1970-01-01T00:00:00Z"
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
CONFIG = "application/vnd.oci.image.config.v1+json"
LAYER = "application/vnd.oci.image.layer.v1.tar"
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64", "armv7l": "arm", "ppc64le": "ppc64le", "s390x": "s390x"}


@dataclass(frozen=True, slots=True)
class Entry:
    """One path of a layer: a file (`data`), a link (`link`, a symbolic one) or, with neither, a folder.

    `path` has no leading slash; `mode` is the permission bits.
    """

    path: str
    data: bytes | None = None
    link: str | None = None
    mode: int = 0o755


@dataclass(frozen=True, slots=True)
class Image:
    """What an image is made of: its full reference, its layers from the bottom up, and what it runs."""

    name: str
    layers: Sequence[Sequence[Entry]]
    entrypoint: Sequence[str] = ()
    command: Sequence[str] = ()
    environment: Mapping[str, str] = field(
        default_factory=lambda: {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
    )
    working_dir: str = "/"
    user: str = ""


def machine_architecture() -> str:
    """The architecture of this machine in OCI's (Go's) words."""
    machine = os.uname().machine
    return ARCHITECTURES.get(machine, machine)


def layer_archive(entries: Iterable[Entry]) -> bytes:
    """The uncompressed tar of one layer; missing parent folders are added, order is that of the paths."""
    everything: dict[str, Entry] = {}
    for entry in entries:
        parent = os.path.dirname(entry.path)
        while parent:
            everything.setdefault(parent, Entry(parent))
            parent = os.path.dirname(parent)
        everything[entry.path] = entry
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for path in sorted(everything):
            entry = everything[path]
            info = tarfile.TarInfo(path)
            info.mode = entry.mode
            if entry.data is not None:
                info.size = len(entry.data)
                archive.addfile(info, io.BytesIO(entry.data))
            elif entry.link is not None:
                info.type, info.linkname = tarfile.SYMTYPE, entry.link
                archive.addfile(info)
            else:
                info.type = tarfile.DIRTYPE
                archive.addfile(info)
    return buffer.getvalue()


class _Blobs:
    """The content-addressed part of an image layout."""

    def __init__(self) -> None:
        self.content: dict[str, bytes] = {}

    def add(self, data: bytes, media_type: str) -> dict[str, object]:
        digest = hashlib.sha256(data).hexdigest()
        self.content[digest] = data
        return {"mediaType": media_type, "digest": f"sha256:{digest}", "size": len(data)}


def _json(value: object) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


def _describe(image: Image, architecture: str, blobs: _Blobs) -> dict[str, object]:
    layers = [blobs.add(layer_archive(entries), LAYER) for entries in image.layers]
    config = {
        "architecture": architecture,
        "os": "linux",
        "created": EPOCH,
        "config": {
            "Env": [f"{name}={value}" for name, value in image.environment.items()],
            "Entrypoint": list(image.entrypoint),
            "Cmd": list(image.command),
            "WorkingDir": image.working_dir,
            "User": image.user,
        },
        "rootfs": {"type": "layers", "diff_ids": [layer["digest"] for layer in layers]},
        "history": [{"created": EPOCH, "created_by": image.name}] * len(layers),
    }
    manifest = {
        "schemaVersion": 2,
        "mediaType": MANIFEST,
        "config": blobs.add(_json(config), CONFIG),
        "layers": layers,
    }
    return {
        **blobs.add(_json(manifest), MANIFEST),
        "platform": {"architecture": architecture, "os": "linux"},
        "annotations": {
            "io.containerd.image.name": image.name,
            "org.opencontainers.image.ref.name": image.name.rpartition(":")[2],
        },
    }


@contextmanager
def _replacing(path: Path) -> Iterator[Path]:
    """A temporary neighbour of `path` that takes its place, on disk for good, when the block ends without an error."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        yield temporary
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def write_archive(path: Path, images: Sequence[Image], architecture: str = "") -> None:
    """Write `images` as one OCI archive to `path`, atomically. Raises OSError."""
    blobs = _Blobs()
    described = [_describe(image, architecture or machine_architecture(), blobs) for image in images]
    index = {"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": described}
    files = {
        "oci-layout": _json({"imageLayoutVersion": "1.0.0"}),
        "index.json": _json(index),
        **{f"blobs/sha256/{digest}": data for digest, data in sorted(blobs.content.items())},
    }
    with _replacing(path) as temporary, tarfile.open(temporary, "w") as archive:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size, info.mode = len(data), 0o644
            archive.addfile(info, io.BytesIO(data))
