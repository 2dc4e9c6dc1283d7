"""The folder of network configurations: what is told of it, and events for runtimes that miss some."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest
from asyncinotify import Inotify, Mask

from agent.cni_folder import CniFolder


async def events(inotify: Inotify) -> int:
    """How many removals have been seen since the last look."""
    seen = 0
    try:
        while True:
            async with asyncio.timeout(0.05):
                await inotify.get()
            seen += 1
    except TimeoutError:
        return seen


def test_the_hint_names_folder_and_file(tmp_path: Path) -> None:
    folder = CniFolder(str(tmp_path))
    assert folder.hint() == f"CNI configuration folder {tmp_path} has no .conf, .conflist or .json file"
    (tmp_path / "20-late.conf").touch()
    first = tmp_path / "10-first.conflist"
    first.write_text("{}")
    (tmp_path / "00-readme").touch()
    assert folder.hint() == f"CNI configuration file {first}"
    first.write_text('{"cniVersion": 1')
    assert (
        folder.hint()
        == f"CNI configuration file {first}: not JSON: Expecting ',' delimiter: line 1 column 17 (char 16)"
    )
    first.unlink()
    first.symlink_to(tmp_path / "nowhere")
    assert folder.hint() == f"CNI configuration file {first}: No such file or directory"
    assert (
        CniFolder(f"{tmp_path}/none").hint() == f"CNI configuration folder {tmp_path}/none: No such file or directory"
    )
    assert CniFolder("").hint() == ""


async def test_each_state_of_the_folder_is_pointed_at_once(tmp_path: Path) -> None:
    folder = CniFolder(str(tmp_path))
    with Inotify() as inotify:
        inotify.add_watch(tmp_path, Mask.DELETE)
        folder.point_at()
        assert await events(inotify) == 0  # there is nothing to read yet
        (tmp_path.parent / "elsewhere.conf").touch()
        (tmp_path / "10-linked.conf").symlink_to(tmp_path.parent / "elsewhere.conf")
        folder.point_at()
        folder.point_at()
        assert await events(inotify) == 1
        os.utime(tmp_path / "10-linked.conf", (1, 1))
        folder.point_at()
        assert await events(inotify) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["10-linked.conf"]


@pytest.mark.parametrize("path", ["", "/no/such/folder"])
def test_no_folder_is_no_trouble(path: str) -> None:
    CniFolder(path).point_at()
