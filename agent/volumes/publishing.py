"""Files that change all at once: a reader sees the old set or the new one, never a mixture.

The layout is the one that programs in containers have come to rely on (and watch for): the files lie in a folder with a
dated name, `..data` is a link to it, and what the reader opens are links into `..data`. A change makes a new dated
folder, complete with modes and owners, and swaps `..data` by one rename.

Nothing is synced to disk: what a power loss leaves is compared with what is wanted, byte for byte, before a container
sees it.
"""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from agent.volumes.content import FileContent, Files
from agent.volumes.ownership import file_mode, folder_mode, settle

DATA, NEW_DATA = "..data", "..data_tmp"
_FOLDER_MODE = 0o755


def publish(folder: Path, files: Files, now: float, group: int | None = None) -> bool:
    """Make `folder` show exactly `files`, readable by `group` if there is one; False if it does already.

    `now` (wall clock) stamps the dated folder. Dying anywhere in it leaves the old set visible or the new one; the next
    call clears what was left. Raises OSError.
    """
    current = _current(folder)
    if current is not None and _same(current, files, group):
        _link_all(folder, files)
        _remove_strays(folder, files, current.name)
        return False
    stamp = datetime.fromtimestamp(now, UTC).strftime("..%Y_%m_%d_%H_%M_%S.")
    fresh = Path(tempfile.mkdtemp(prefix=stamp, dir=folder))
    settle(fresh, folder_mode(_FOLDER_MODE, group, read_only=True), group)
    for path, file in files.items():
        _write(fresh, path, file, group)
    new_data = folder / NEW_DATA
    new_data.unlink(missing_ok=True)
    new_data.symlink_to(fresh.name)
    new_data.rename(folder / DATA)
    _link_all(folder, files)
    _remove_strays(folder, files, fresh.name)
    return True


def is_published(folder: Path) -> bool:
    """Whether `folder` shows a set of files."""
    return _current(folder) is not None


def _current(folder: Path) -> Path | None:
    """The dated folder that is shown now, None when there is none."""
    try:
        current = folder / os.readlink(folder / DATA)
    except FileNotFoundError:
        return None
    return current if current.is_dir() else None


def _same(current: Path, files: Files, group: int | None) -> bool:
    found = {str(path.relative_to(current)) for path in _regular_files(current)}
    return found == set(files) and all(_is(current / path, file, group) for path, file in files.items())


def _is(path: Path, file: FileContent, group: int | None) -> bool:
    status = path.stat()
    return (
        stat.S_IMODE(status.st_mode) == file_mode(file.mode, group)
        and (file.owner is None or status.st_uid == file.owner)
        and (group is None or status.st_gid == group)
        and status.st_size == len(file.data)
        and path.read_bytes() == file.data
    )


def _regular_files(folder: Path) -> Iterator[Path]:
    for root, _folders, names in os.walk(folder):
        for name in names:
            yield Path(root) / name


def _write(fresh: Path, path: str, file: FileContent, group: int | None) -> None:
    parent = fresh
    for part in Path(path).parent.parts:
        parent /= part
        parent.mkdir(exist_ok=True)
        settle(parent, folder_mode(_FOLDER_MODE, group, read_only=True), group)
    descriptor = os.open(fresh / path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as opened:
        opened.write(file.data)
        if file.owner is not None or group is not None:
            os.fchown(opened.fileno(), -1 if file.owner is None else file.owner, -1 if group is None else group)
        os.fchmod(opened.fileno(), file_mode(file.mode, group))


def _link_all(folder: Path, files: Files) -> None:
    for name in _tops(files):
        link = folder / name
        target = f"{DATA}/{name}"
        if link.is_symlink() and os.readlink(link) == target:
            continue
        temporary = folder / f"..{name}.tmp"
        temporary.unlink(missing_ok=True)
        temporary.symlink_to(target)
        temporary.rename(link)


def _remove_strays(folder: Path, files: Files, current: str) -> None:
    """Remove links to files that are no more, and dated folders of earlier sets."""
    keep = _tops(files) | {DATA, current}
    with os.scandir(folder) as listing:
        entries = list(listing)
    for entry in entries:
        if entry.name in keep:
            continue
        if entry.is_symlink():
            os.unlink(entry.path)
        elif entry.name.startswith("..") and entry.is_dir(follow_symlinks=False):
            shutil.rmtree(entry.path)


def _tops(files: Files) -> set[str]:
    """What a reader finds in the volume's folder: the first part of each path."""
    return {path.partition("/")[0] for path in files}
