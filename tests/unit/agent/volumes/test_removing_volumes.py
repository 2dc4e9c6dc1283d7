"""A pod's folder goes away whole, and nothing outside of it ever does."""

import os
from pathlib import Path

import pytest

from agent.volumes.kernel import FakeMounts, LinuxMounts
from agent.volumes.layout import pod_uids
from agent.volumes.removing import MOST_DEPTH, StillMounted, remove_tree, unmount_all


def test_a_tree_goes_with_all_kinds_of_entries(tmp_path: Path) -> None:
    folder = tmp_path / "pod"
    (folder / "a" / "b").mkdir(parents=True)
    (folder / "a" / "file").write_bytes(b"x")
    (folder / "a" / "b" / "link").symlink_to("/etc")
    os.mkfifo(folder / "a" / "pipe")
    remove_tree(folder, FakeMounts())
    assert not folder.exists()


def test_what_is_gone_already_is_fine(tmp_path: Path) -> None:
    remove_tree(tmp_path / "pod", FakeMounts())
    remove_tree(tmp_path / "no" / "pod", FakeMounts())
    unmount_all(tmp_path / "pod", FakeMounts())


def test_links_are_removed_and_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "precious").touch()
    folder = tmp_path / "pod"
    folder.mkdir()
    (folder / "link").symlink_to(outside)
    remove_tree(folder, FakeMounts())
    assert (outside / "precious").exists()


def test_a_folder_that_is_a_link_itself_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "precious").touch()
    (tmp_path / "pod").symlink_to("outside")
    with pytest.raises(OSError, match="pod"):
        remove_tree(tmp_path / "pod", FakeMounts())
    assert (tmp_path / "outside" / "precious").exists()


def test_a_link_put_there_between_looking_and_entering_leads_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "precious").touch()
    folder = tmp_path / "pod"
    (folder / "victim").mkdir(parents=True)
    real = os.scandir

    def swapping(path: int) -> object:
        listing = real(path)
        entries = list(listing)
        listing.close()
        if any(entry.name == "victim" and entry.is_dir(follow_symlinks=False) for entry in entries):
            (folder / "victim").rmdir()
            (folder / "victim").symlink_to(outside)
        return _Listing(entries)

    monkeypatch.setattr(os, "scandir", swapping)
    with pytest.raises(OSError, match="victim"):
        remove_tree(folder, FakeMounts())
    monkeypatch.undo()
    assert (outside / "precious").exists()
    remove_tree(folder, FakeMounts())
    assert not folder.exists()


class _Listing(list[os.DirEntry[str]]):
    def __enter__(self) -> "_Listing":
        return self

    def __exit__(self, *_: object) -> None:
        pass


def test_nesting_deeper_than_there_are_descriptors_does_not_help(tmp_path: Path) -> None:
    folder = tmp_path / "pod"
    folder.mkdir()
    descriptor = os.open(folder, os.O_RDONLY)
    for _ in range(5 * MOST_DEPTH + 7):
        os.mkdir("deeper", dir_fd=descriptor)
        inner = os.open("deeper", os.O_RDONLY, dir_fd=descriptor)
        os.close(descriptor)
        descriptor = inner
        os.close(os.open("file", os.O_CREAT | os.O_WRONLY, dir_fd=descriptor))
    os.close(descriptor)
    remove_tree(folder, FakeMounts())
    assert not folder.exists()


def test_mounts_go_the_latest_first(tmp_path: Path) -> None:
    folder, gone = tmp_path / "pod", []

    class Watched(FakeMounts):
        def unmount(self, path: Path, *, detach: bool = False) -> None:
            gone.append(path)
            super().unmount(path, detach=detach)

    mounts = Watched()
    for name in ("v", "v/inner", "v"):
        mounts.mount(folder / name)
    mounts.mount(tmp_path / "podium")  # only looks as if it were below
    unmount_all(folder, mounts)
    assert gone == [folder / "v", folder / "v/inner", folder / "v"]
    assert mounts.points(tmp_path) == [tmp_path / "podium"]


def test_a_busy_mount_is_detached(tmp_path: Path) -> None:
    mounts = FakeMounts(busy={tmp_path / "v"})
    mounts.mount(tmp_path / "v")
    unmount_all(tmp_path, mounts)
    assert mounts.points(tmp_path) == []


def test_what_stays_mounted_stops_everything(tmp_path: Path) -> None:
    folder = tmp_path / "pod"
    (folder / "v").mkdir(parents=True)
    (folder / "v" / "precious").touch()
    mounts = FakeMounts(stuck={folder / "v"})
    mounts.mount(folder / "v")
    with pytest.raises(OSError, match="busy"):
        unmount_all(folder, mounts)
    with pytest.raises(StillMounted, match=f"{folder / 'v'} is still mounted"):
        remove_tree(folder, mounts)
    assert (folder / "v" / "precious").exists()


def test_pods_on_disk_are_folders_and_nothing_else(tmp_path: Path) -> None:
    assert pod_uids(tmp_path) == []
    for uid in ("b", "a"):
        (tmp_path / "pods" / uid).mkdir(parents=True)
    (tmp_path / "pods" / "file").touch()
    (tmp_path / "pods" / "link").symlink_to("a")
    assert pod_uids(tmp_path) == ["a", "b"]


def mountinfo(tmp_path: Path, *points: str) -> LinuxMounts:
    table = tmp_path / "mountinfo"
    lines = [f"{40 + n} 25 0:{n} / {point} rw,relatime - tmpfs tmpfs rw" for n, point in enumerate(points)]
    table.write_text("\n".join(lines) + "\n")
    return LinuxMounts(str(table))


def test_mount_points_are_read_from_mountinfo_the_latest_first(tmp_path: Path) -> None:
    mounts = mountinfo(tmp_path, "/", "/pods/a", "/pods/a/v", "/pods/ab", "/pods/a/v", "/x/pods/a")
    assert mounts.points(Path("/pods/a")) == [Path("/pods/a/v"), Path("/pods/a/v"), Path("/pods/a")]
    assert mounts.points(Path("/pods/b")) == []


def test_odd_characters_in_mount_points_are_understood(tmp_path: Path) -> None:
    escaped = r"/pods/a\040b\134040c/\011tab\012"
    mounts = mountinfo(tmp_path, escaped)
    folder = Path("/pods/a b\\040c")
    assert mounts.points(folder) == [folder / "\ttab\n"]
