"""The containerd that belongs to this node: its configuration, its process, the system images in it.

It is the distribution's binary with a socket, root, state and configuration of its own, so that a Docker or containerd
that is already on the host is left alone. Knows nothing of Kubernetes.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from contextlib import suppress
from pathlib import Path

from cli.capabilities import has_capability
from cli.layout import Layout
from images.system import PAUSE, TOOLBOX, write_system_images

NAMESPACE = "k8s.io"
CAP_SYS_RESOURCE = 24
START_DEADLINE = 60.0
IMPORT_DEADLINE = 120.0


class ContainerdError(Exception):
    """containerd could not be configured, started or asked; the message names the step and the cause."""


def binary() -> str:
    """The path of the distribution's containerd. Raises ContainerdError when there is none."""
    found = shutil.which("containerd", path="/usr/bin:/usr/local/bin:/usr/sbin")
    if found is None:
        raise ContainerdError("start containerd: program not found (install the package containerd)")
    return found


def configuration(layout: Layout, *, restrict_oom_score: bool) -> str:
    """The text of containerd's version 2 configuration file.

    `restrict_oom_score` is needed where CAP_SYS_RESOURCE is missing: a sandbox asks for a negative oom_score_adj, the
    kernel refuses, and runc then dies with nothing better to say than "can't get final child's PID from pipe".

    The pods' network namespaces have their names in our own folder, not in /run/netns: there the first `ip netns add`
    on a machine binds them all a second time (iproute2's `create_netns_dir`), so that none can be removed, and one
    whose making was cut short bears no sign of whose it is.
    """
    cri = 'plugins."io.containerd.grpc.v1.cri"'
    return f"""version = 2
root = "{layout.containerd_root}"
state = "{layout.containerd_state}"
disabled_plugins = [
  "io.containerd.snapshotter.v1.aufs", "io.containerd.snapshotter.v1.btrfs",
  "io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.zfs",
  "io.containerd.tracing.processor.v1.otlp", "io.containerd.internal.v1.tracing",
]

[grpc]
  address = "{layout.containerd_socket}"

[{cri}]
  sandbox_image = "{PAUSE}"
  restrict_oom_score_adj = {str(restrict_oom_score).lower()}
  stream_server_address = "127.0.0.1"
  stream_server_port = "0"
  netns_mounts_under_state_dir = true
  enable_unprivileged_ports = true
  enable_unprivileged_icmp = true
  [{cri}.containerd]
    default_runtime_name = "runc"
    [{cri}.containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      [{cri}.containerd.runtimes.runc.options]
        Root = "{layout.run / "runc"}"
        SystemdCgroup = false
  [{cri}.cni]
    bin_dir = "{layout.cni_plugins}"
    conf_dir = "{layout.cni_config}"

[plugins."io.containerd.internal.v1.opt"]
  path = "{layout.containerd_root / "opt"}"
"""


def write_configuration(layout: Layout) -> None:
    """Write the configuration for this machine. It is made anew at each start, so it needs no fsync."""
    layout.containerd_config.parent.mkdir(parents=True, exist_ok=True)
    layout.containerd_config.write_text(
        configuration(layout, restrict_oom_score=not has_capability(CAP_SYS_RESOURCE)), encoding="utf-8"
    )


def command(layout: Layout) -> list[str]:
    """What to execute for a containerd in the foreground."""
    return [binary(), "--config", str(layout.containerd_config), "--log-level", "warn"]


def _ctr(layout: Layout, *arguments: str, deadline: float) -> str:
    argv = ["ctr", "--address", str(layout.containerd_socket), "--namespace", NAMESPACE, *arguments]
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=deadline, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ContainerdError(f"ask containerd: {' '.join(arguments)}: {error}") from error
    if done.returncode:
        raise ContainerdError(f"ask containerd: {' '.join(arguments)}: {done.stderr.strip() or done.returncode}")
    return done.stdout


def answers(layout: Layout) -> bool:
    """Whether a containerd listens on our socket and serves."""
    if not layout.containerd_socket.exists():
        return False
    try:
        _ctr(layout, "version", deadline=5)
    except ContainerdError:
        return False
    return True


def wait_until_it_answers(
    layout: Layout, process: subprocess.Popen[bytes], log: Path, deadline: float = START_DEADLINE
) -> None:
    """Return once containerd serves. Raises ContainerdError after `deadline` seconds, or when the process ends, with
    the last line of its log.
    """
    until = time.monotonic() + deadline
    while not answers(layout):
        if (code := process.poll()) is not None:
            words = log.read_text(errors="replace").splitlines()
            raise ContainerdError(f"start containerd: it ended with {code}: {words[-1] if words else 'no word'}")
        if time.monotonic() > until:
            raise ContainerdError(f"start containerd: no answer on {layout.containerd_socket} after {deadline:g} s")
        time.sleep(0.05)


def ensure_system_images(layout: Layout) -> None:
    """Have the system images in containerd: build the archive if it is missing, import it if an image is.

    Raises ContainerdError, images.system.MissingProgram, OSError.
    """
    have = _ctr(layout, "images", "list", "--quiet", deadline=30).split()
    if PAUSE in have and TOOLBOX in have and layout.system_images.exists():
        return
    write_system_images(layout.system_images)
    _ctr(layout, "images", "import", str(layout.system_images), deadline=IMPORT_DEADLINE)


def remove_leavings() -> None:
    """Remove the empty folders that containerd and its shims leave at fixed places outside our own."""
    places = ("/run/containerd/s", "/run/containerd", "/var/lib/cni/results", "/var/lib/cni")
    for folder in places:
        with suppress(OSError):  # in use by another containerd, or never made
            os.rmdir(folder)
