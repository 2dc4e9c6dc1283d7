"""The disk that brings the project to a machine: this checkout as it stands, with kubectl, ready to run read-only."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from tests.vm.image import KUBECTL_ON_DISK, PROJECT, PROJECT_AT, make_disk, run

SIZE = "512M"
COMPILE_DEADLINE = 300.0


def project_disk(folder: Path) -> Path:
    """Make the disk in `folder`; it holds what git knows of, committed or not."""
    tree = folder / "project"
    listed = run(["git", "-C", str(PROJECT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"])
    for name in filter(None, listed.split("\0")):
        source, target = PROJECT / name, tree / name
        if source.is_file():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, target)
    kubectl = tree / KUBECTL_ON_DISK
    kubectl.parent.mkdir(exist_ok=True)
    shutil.copy(_kubectl(), kubectl)
    _compile(tree)
    disk = folder / "project.ext4"
    make_disk(tree, disk, SIZE)
    shutil.rmtree(tree)
    return disk


def _kubectl() -> Path:
    """Debian's, whatever the host has: that may want libraries or neighbours that are not on the machine."""
    return Path(run([str(PROJECT / "packaging/scripts/kubectl.sh"), "fetch"]).strip())


def _compile(tree: Path) -> None:
    """Write the byte code beside the sources, as a package does when it is installed.

    The machine cannot, since the disk is read-only, and would compile everything in each process again: many seconds
    under emulation. By hash and not by time, for a copied file's time says nothing. Python of another minor version
    than the machine's leaves byte code there that the machine does not look at.
    """
    rooms = [str(each) for each in tree.iterdir() if each.is_dir() and each.name not in ("bin", "tests")]
    argv = [sys.executable, "-m", "compileall", "-q", "--invalidation-mode", "unchecked-hash"]
    run([*argv, "-s", str(tree), "-p", PROJECT_AT, *rooms], deadline=COMPILE_DEADLINE)
