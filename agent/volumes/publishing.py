"""Files that change all at once: a reader sees the old set or the new one, never a mixture.

The layout is the one that programs in containers have come to rely on (and watch for): the files lie in a folder with a
dated name, `..data` is a link to it, and what the reader opens are links into `..data`. A change makes a new dated
folder and swaps `..data` by one rename.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from agent.volumes.content import FileContent, Files

DATA, NEW_DATA = "..data", "..data_tmp"


def publish(folder: Path, files: Files, now: float) -> bool:
    """Make `folder` show exactly `files`; False if it does already. `now` stamps the dated folder. Raises OSError.

    Dying anywhere in it leaves the old set visible or the new one; the next call clears what was left.
    """
    current = _current(folder)
    if current is not None and _same(current, files):
        _link_all(folder, files)
        _remove_strays(folder, files, current.name)
        return False
    stamp = datetime.fromtimestamp(now, UTC).strftime("..%Y_%m_%d_%H_%M_%S.")
    fresh = Path(tempfile.mkdtemp(prefix=stamp, dir=folder))
    fresh.chmod(0o755)
    for path, file in files.items():
        _write(fresh / path, file)
    new_data = folder / NEW_DATA
    new_data.unlink(missing_ok=True)
    new_data.symlink_to(fresh.name)
    new_data.rename(folder / DATA)
    _link_all(folder, files)
    _remove_strays(folder, files, fresh.name)
    return True


def _current(folder: Path) -> Path | None:
    try:
        return folder / os.readlink(folder / DATA)
    except FileNotFoundError:
        return None


def _same(current: Path, files: Files) -> bool:
    found = {str(path.relative_to(current)) for path in _regular_files(current)}
    if found != set(files):
        return False
    for path, file in files.items():
        status = (current / path).stat()
        # fsGroup adds bits for the group to the mode that was asked for.
        if status.st_mode & 0o707 != file.mode & 0o707 or (file.owner is not None and status.st_uid != file.owner):
            return False
        if status.st_size != len(file.data) or (current / path).read_bytes() != file.data:
            return False
    return True


def _regular_files(folder: Path) -> Iterator[Path]:
    for root, _folders, names in os.walk(folder):
        for name in names:
            yield Path(root) / name


def _write(path: Path, file: FileContent) -> None:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o755)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as opened:
        opened.write(file.data)
        os.fchmod(opened.fileno(), file.mode & 0o777)
        if file.owner is not None:
            os.fchown(opened.fileno(), file.owner, -1)


def _link_all(folder: Path, files: Files) -> None:
    for name in {path.partition("/")[0] for path in files}:
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
    keep = {path.partition("/")[0] for path in files} | {DATA, current}
    for entry in os.scandir(folder):
        if entry.name in keep:
            continue
        if entry.is_symlink():
            os.unlink(entry.path)
        elif entry.name.startswith("..") and entry.is_dir(follow_symlinks=False):
            shutil.rmtree(entry.path)
