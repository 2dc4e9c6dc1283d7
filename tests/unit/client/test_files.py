"""Files are whole or not there."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from client import files


def test_content_and_mode_are_as_asked(tmp_path: Path) -> None:
    target = tmp_path / "key"
    files.write_atomically(target, b"one", mode=0o644)
    files.write_atomically(target, b"two" * 100_000)
    assert target.read_bytes() == b"two" * 100_000
    assert target.stat().st_mode & 0o7777 == 0o600
    assert [entry.name for entry in tmp_path.iterdir()] == ["key"]


@pytest.mark.parametrize("step", ["write", "fsync", "replace"])
def test_a_failed_write_leaves_the_old_content(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    target = tmp_path / "key"
    files.write_atomically(target, b"old")

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "no space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, step, full)
        with pytest.raises(OSError, match="no space"):
            files.write_atomically(target, b"new")
    assert target.read_bytes() == b"old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["key"]


def test_what_a_crash_left_behind_is_cleared(tmp_path: Path) -> None:
    (tmp_path / ".key.tmp").write_bytes(b"half of")
    files.write_atomically(tmp_path / "key", b"whole")
    assert [(entry.name, entry.read_bytes()) for entry in tmp_path.iterdir()] == [("key", b"whole")]


def test_a_planted_link_is_not_followed(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_bytes(b"mine")
    (tmp_path / ".key.tmp").symlink_to(victim)
    files.write_atomically(tmp_path / "key", b"secret")
    assert victim.read_bytes() == b"mine"
    assert (tmp_path / "key").read_bytes() == b"secret"
    assert not (tmp_path / "key").is_symlink()


def test_folders_are_made_with_their_mode(tmp_path: Path) -> None:
    files.make_directory(tmp_path / "a" / "b", mode=0o700)
    assert (tmp_path / "a" / "b").stat().st_mode & 0o7777 == 0o700
    files.make_directory(tmp_path / "a" / "b", mode=0o755)
    assert (tmp_path / "a" / "b").stat().st_mode & 0o7777 == 0o755


def test_damaged_files_are_kept_under_names_of_their_own(tmp_path: Path) -> None:
    kept = []
    for content in (b"1", b"2", b"3"):
        (tmp_path / "state").write_bytes(content)
        kept.append(files.set_aside(tmp_path / "state", 0.0))
    assert [path.read_bytes() for path in kept] == [b"1", b"2", b"3"]
    assert kept[0].name == "state.damaged-19700101T000000Z"
    assert not (tmp_path / "state").exists()
