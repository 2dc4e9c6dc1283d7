"""The images that a node brings along: `pause`, which holds a pod's namespaces, and `toolbox`, a busybox.

Both are made of static binaries of Debian's packages (`catatonit`, `busybox-static`), so they run on any root file
system and need nothing beside them.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from images.oci import Entry, Image, write_archive

PAUSE = "localhost/orlop/pause:1"
TOOLBOX = "localhost/orlop/toolbox:1"

PASSWD = "root:x:0:0:root:/root:/bin/sh\ndaemon:x:1:1:daemon:/:/bin/false\nnobody:x:65534:65534:nobody:/:/bin/false\n"
GROUP = "root:x:0:\ndaemon:x:1:\nnogroup:x:65534:\n"


class MissingProgram(Exception):
    """A program that a system image is made of is not installed, or is not a static binary."""


def _static_binary(name: str, package: str) -> bytes:
    found = shutil.which(name, path="/usr/bin:/bin:/usr/sbin:/sbin")
    if found is None:
        raise MissingProgram(f"build system images: {name} not found (install the package {package})")
    data = Path(found).read_bytes()
    if b"/ld-linux" in data[:4096]:
        raise MissingProgram(f"build system images: {found} is linked dynamically (install the package {package})")
    return data


def pause_image() -> Image:
    """`catatonit -P` waits for a signal and reaps orphans, which is all a pause container does."""
    return Image(
        name=PAUSE,
        layers=[[Entry("pause", _static_binary("catatonit", "catatonit"))]],
        entrypoint=["/pause", "-P"],
        user="65535:65535",
    )


def toolbox_image() -> Image:
    """Busybox under all the names it answers to; its httpd is the server of `examples/hello.yaml`."""
    busybox = _static_binary("busybox", "busybox-static")
    program = shutil.which("busybox", path="/usr/bin:/bin") or "busybox"
    applets = subprocess.run([program, "--list"], check=True, capture_output=True, text=True, timeout=10).stdout.split()
    base = [
        Entry("bin/busybox", busybox),
        *(Entry(f"bin/{applet}", link="busybox") for applet in applets if applet != "busybox"),
        Entry("etc/passwd", PASSWD.encode(), mode=0o644),
        Entry("etc/group", GROUP.encode(), mode=0o644),
        Entry("tmp", mode=0o1777),
        Entry("var/tmp", mode=0o1777),
        Entry("root", mode=0o700),
        *(Entry(folder) for folder in ("dev", "proc", "sys", "run", "home", "usr/bin")),
        Entry("usr/bin/env", link="../../bin/busybox"),
    ]
    return Image(name=TOOLBOX, layers=[base], command=["/bin/sh"])


def write_system_images(path: Path) -> list[str]:
    """Write the archive with all system images to `path`; returns their references. Raises MissingProgram, OSError."""
    images = [pause_image(), toolbox_image()]
    write_archive(path, images)
    return [image.name for image in images]
