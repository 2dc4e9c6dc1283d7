"""The image builder writes archives that follow the OCI image layout, and the same ones from the same files."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
from pathlib import Path

import pytest

from images.oci import Entry, Image, layer_archive, write_archive
from images.system import PAUSE, TOOLBOX, write_system_images


def read(path: Path) -> dict[str, bytes]:
    with tarfile.open(path) as archive:
        return {m.name: (file.read() if (file := archive.extractfile(m)) else b"") for m in archive.getmembers()}


def test_an_archive_is_a_whole_image_layout(tmp_path: Path) -> None:
    image = Image("example/thing:1", [[Entry("bin/a", b"one")], [Entry("bin/b", link="a")]], entrypoint=["/bin/a"])
    write_archive(tmp_path / "x.tar", [image], "amd64")
    files = read(tmp_path / "x.tar")
    assert json.loads(files["oci-layout"]) == {"imageLayoutVersion": "1.0.0"}
    (described,) = json.loads(files["index.json"])["manifests"]
    assert described["annotations"]["io.containerd.image.name"] == "example/thing:1"

    def blob(descriptor: dict[str, object]) -> bytes:
        data = files["blobs/sha256/" + str(descriptor["digest"]).removeprefix("sha256:")]
        assert hashlib.sha256(data).hexdigest() == str(descriptor["digest"]).removeprefix("sha256:")
        assert len(data) == descriptor["size"]
        return data

    manifest = json.loads(blob(described))
    config = json.loads(blob(manifest["config"]))
    assert config["config"]["Entrypoint"] == ["/bin/a"]
    assert config["rootfs"]["diff_ids"] == [layer["digest"] for layer in manifest["layers"]]
    with tarfile.open(fileobj=io.BytesIO(blob(manifest["layers"][1]))) as layer:
        assert [(m.name, m.linkname) for m in layer.getmembers()] == [("bin", ""), ("bin/b", "a")]


def test_the_same_files_give_the_same_archive(tmp_path: Path) -> None:
    def build(name: str, *entries: Entry) -> bytes:
        write_archive(tmp_path / name, [Image("example/thing:1", [list(entries)])], "amd64")
        return (tmp_path / name).read_bytes()

    a, b = Entry("a/x", b"1"), Entry("b/y", b"2")
    assert build("1", a, b) == build("2", b, a)
    assert build("3", a) != build("4", b)


def test_folders_come_before_what_is_in_them() -> None:
    with tarfile.open(fileobj=io.BytesIO(layer_archive([Entry("z/y/x", b""), Entry("a", b"")]))) as layer:
        assert layer.getnames() == ["a", "z", "z/y", "z/y/x"]


def test_a_failed_build_leaves_the_old_archive(tmp_path: Path) -> None:
    path = tmp_path / "x.tar"
    path.write_bytes(b"old")
    with pytest.raises(AttributeError):
        write_archive(path, [Image("example/thing:1", [[None]])])  # type: ignore[list-item]
    assert path.read_bytes() == b"old"
    assert [p.name for p in tmp_path.iterdir()] == ["x.tar"]


def test_the_system_images_are_named_and_carry_their_programs(tmp_path: Path) -> None:
    assert write_system_images(tmp_path / "s.tar") == [PAUSE, TOOLBOX]
    files = read(tmp_path / "s.tar")
    names: set[str] = set()
    for data in files.values():
        if data[257:262] == b"ustar":
            with tarfile.open(fileobj=io.BytesIO(data)) as layer:
                names.update(layer.getnames())
    assert {"pause", "bin/busybox", "bin/sh", "bin/httpd", "tmp"} <= names
