"""The disk that test machines boot from: Debian 12 with systemd, cgroup v2 and all that a node needs, made once.

The tree comes from debootstrap, is kept in a cache and turned into an ext4 image without mounting anything. It holds
the project's Python dependencies, not the project: that is a small disk of its own (`project`), made anew for each run,
so that a change of the code does not cost a new debootstrap. A change of this file does: its text is part of the key
under which the image is kept.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
SUITE = "bookworm"
PACKAGES = (
    "busybox-static", "ca-certificates", "catatonit", "containerd", "dbus", "iproute2", "iputils-ping",
    "libnftables1", "libpam-systemd", "linux-image-cloud-amd64", "nftables", "openssh-server", "procps", "python3",
    "python3-venv", "runc", "systemd", "systemd-sysv", "systemd-timesyncd", "udev", "zstd",
)  # fmt: skip
DISK_SIZE = "4G"
PROJECT_AT = "/opt/orlop"
KUBECTL_ON_DISK = "bin/kubectl"
VENV_AT = "/opt/orlop-venv"
DEADLINE = 1200.0

FSTAB = f"/dev/vda / ext4 defaults 0 1\n/dev/vdb {PROJECT_AT} ext4 ro 0 0\n"
HOSTS = "127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n"  # the installer writes one, debootstrap not
# The strictest setting an administrator may have made: what a session leaves running is killed with it, even of root.
LOGIND = "[Login]\nKillUserProcesses=yes\nKillExcludeUsers=\n"
NETWORK = "[Match]\nName=en*\n\n[Network]\nDHCP=yes\n\n[DHCPv4]\nUseHostname=no\n"
COMMAND = f"""#!/bin/sh
export PYTHONPATH={PROJECT_AT}:{PROJECT_AT}/packaging
exec {VENV_AT}/bin/python -m cli "$@"
"""


@dataclass(frozen=True, slots=True)
class Image:
    """What a machine is started from. `key` opens a shell on it as root."""

    disk: Path
    kernel: Path
    initrd: Path
    key: Path


def run(argv: Sequence[str], *, deadline: float = DEADLINE) -> str:
    """Run a command of the build; its output is shown when it fails."""
    done = subprocess.run(argv, capture_output=True, text=True, timeout=deadline, check=False)
    if done.returncode:
        raise RuntimeError(
            f"{' '.join(argv[:3])}: exit {done.returncode}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
        )
    return done.stdout


def debian_mirror() -> str:
    """The mirror that this host itself installs Debian from."""
    targets = run(["apt-get", "indextargets", "--format", "$(RELEASE) $(REPO_URI)", "Created-By: Packages"])
    for line in targets.splitlines():
        release, _, address = line.partition(" ")
        if release == SUITE:
            return address.strip()
    raise RuntimeError(f"build the test machine: no {SUITE} among this host's package sources")


def requirements() -> str:
    """What the project needs at run time, by name, as pyproject.toml has it."""
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return "\n".join(project["dependencies"]) + "\n"


def build_image(cache: Path) -> Image:
    """The image in `cache`, made if it is not there for the present list of packages. Takes minutes the first time."""
    constraints = (PROJECT / "constraints.txt").read_text(encoding="utf-8")
    recipe = "\n".join([requirements(), constraints, Path(__file__).read_text(encoding="utf-8")])
    folder = cache / hashlib.sha256(recipe.encode()).hexdigest()[:16]
    image = Image(folder / "root.ext4", folder / "vmlinuz", folder / "initrd.img", folder / "key")
    if image.key.exists():
        return image
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    tree = folder / "tree"
    include = ",".join(PACKAGES)
    run(["debootstrap", "--variant=minbase", f"--include={include}", SUITE, str(tree), debian_mirror()])
    _install_dependencies(tree, folder, constraints)
    _configure(tree)
    key = folder / "key.new"
    run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "test machine", "-f", str(key)])
    _write(tree / "root/.ssh/authorized_keys", key.with_suffix(".new.pub").read_text(encoding="utf-8"), 0o600)
    shutil.copy(next((tree / "boot").glob("vmlinuz-*")), image.kernel)
    shutil.copy(next((tree / "boot").glob("initrd.img-*")), image.initrd)
    make_disk(tree, image.disk, DISK_SIZE)
    shutil.rmtree(tree)
    key.rename(image.key)  # last: its presence says that the image is whole
    return image


def _install_dependencies(tree: Path, folder: Path, constraints: str) -> None:
    wheels = folder / "wheels"
    (folder / "requirements.txt").write_text(requirements(), encoding="utf-8")
    (folder / "constraints.txt").write_text(constraints, encoding="utf-8")
    pip = ["python3", "-m", "pip", "--disable-pip-version-check"]
    run([*pip, "download", "-q", "-d", str(wheels), "-c", str(folder / "constraints.txt"), "--only-binary=:all:",
         "--python-version=3.11", "-r", str(folder / "requirements.txt")])  # fmt: skip
    shutil.copytree(wheels, tree / "wheels")
    shutil.copy(folder / "requirements.txt", tree / "wheels")
    run(["chroot", str(tree), "python3", "-m", "venv", VENV_AT])
    run(["chroot", str(tree), f"{VENV_AT}/bin/pip", "install", "-q", "--no-index", "--find-links=/wheels", "-r",
         "/wheels/requirements.txt"])  # fmt: skip
    shutil.rmtree(tree / "wheels")
    shutil.rmtree(wheels)


def _configure(tree: Path) -> None:
    _write(tree / "etc/fstab", FSTAB)
    _write(tree / "etc/hosts", HOSTS)
    _write(tree / "etc/systemd/network/10-wired.network", NETWORK)
    _write(tree / "etc/systemd/logind.conf.d/sessions.conf", LOGIND)
    _write(tree / "usr/local/bin/orlop", COMMAND, 0o755)
    (tree / "usr/local/bin/kubectl").symlink_to(f"{PROJECT_AT}/{KUBECTL_ON_DISK}")
    (tree / PROJECT_AT.lstrip("/")).mkdir(exist_ok=True)
    for unit in ("systemd-networkd", "ssh"):
        run(["chroot", str(tree), "systemctl", "enable", "-q", unit])
    # The node brings a containerd of its own; timers would make an idle machine busy at odd moments.
    for unit in ("containerd", "apt-daily.timer", "apt-daily-upgrade.timer", "e2scrub_all.timer"):
        run(["chroot", str(tree), "systemctl", "mask", "-q", unit])


def _write(path: Path, text: str, mode: int = 0o644) -> None:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700 if path.parent.name == ".ssh" else 0o755)
    path.write_text(text, encoding="utf-8")
    path.chmod(mode)


def make_disk(tree: Path, disk: Path, size: str) -> None:
    """Turn a folder into an ext4 image of (sparse) `size`, owned by root."""
    run(["mkfs.ext4", "-q", "-F", "-d", str(tree), "-E", "root_owner=0:0", str(disk), size])


def default_cache() -> Path:
    """Where images are kept: `ORLOP_TEST_CACHE`, or `.cache/vm` in the checkout."""
    return Path(os.environ.get("ORLOP_TEST_CACHE", PROJECT / ".cache")) / "vm"
