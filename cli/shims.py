"""The shims of our containerd: which there are, and ending those that nobody else will.

A shim holds a sandbox's processes and outlives containerd, which finds it again by its socket. It is known by the
command line that containerd gives it, so that those of another containerd on the same host are never touched.
"""

from __future__ import annotations

import hashlib
import os
import signal
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from cli.containerd import NAMESPACE
from cli.layout import Layout


@dataclass(frozen=True, slots=True)
class Shim:
    pid: int
    sandbox: str


def running(layout: Layout) -> list[Shim]:
    """The shims that were started for our containerd's socket."""
    address = str(layout.containerd_socket).encode()
    found = []
    for pid in _processes():
        try:
            argv = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        except OSError:
            continue  # it has ended meanwhile
        if b"containerd-shim" in os.path.basename(argv[0]) and address in argv:
            found.append(Shim(pid, argv[argv.index(b"-id") + 1].decode()))
    return found


def idle(layout: Layout) -> list[Shim]:
    """Those that hold no process any more."""
    shims = running(layout)
    parents = set(_parents()) if shims else set()
    return [one for one in shims if one.pid not in parents]


def end(layout: Layout, shims: Iterable[Shim]) -> None:
    """Kill shims, and remove the sockets they leave."""
    for one in shims:
        os.kill(one.pid, signal.SIGKILL)
        socket_of(str(layout.containerd_socket), one.sandbox).unlink(missing_ok=True)


def end_idle(layout: Layout) -> None:
    """End shims that a containerd left which was killed while it took their sandboxes down: the next one would forget
    the sandboxes and let their shims run for ever. To be called while no containerd runs: it may be starting others.

    A shim whose last process is only about to end is found by the next start of containerd, or by `orlop down`.
    """
    end(layout, idle(layout))


def socket_of(address: str, sandbox: str) -> Path:
    """Where the shim of a sandbox listens that was started by the containerd at `address`.

    A shim removes its socket when it ends in order; one that is killed leaves it. Source: containerd, pkg/shim
    (the name is a digest of what the shim is told at its start).
    """
    told = os.path.join(address, NAMESPACE, sandbox)
    return Path("/run/containerd/s", hashlib.sha256(told.encode()).hexdigest())


def _processes() -> Iterator[int]:
    return (int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit())


def _parents() -> Iterator[int]:
    """The parent of every process."""
    for pid in _processes():
        try:
            stat = Path(f"/proc/{pid}/stat").read_text()
        except OSError:
            continue  # it has ended meanwhile
        # After the name, which is in parentheses and may hold anything: state, parent.
        yield int(stat.rpartition(")")[2].split()[1])
