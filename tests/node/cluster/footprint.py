"""What a node holds of this host, read from the host itself: what must be gone after `orlop down`."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from cri.client import RuntimeClient
from cri.errors import CriError
from tests.node.cluster.waiting import eventually

if TYPE_CHECKING:
    from tests.node.cluster.installation import Installation


class Leftovers(AssertionError):
    """Something of a node outlived it."""


@dataclass
class Footprint:
    """Things whose names are not the node's own, so that they must be noted while it runs."""

    processes: set[tuple[int, str]] = field(default_factory=set)
    """(id, start time): ids are used again."""
    sockets: set[str] = field(default_factory=set)
    links: set[str] = field(default_factory=set)
    namespaces: set[str] = field(default_factory=set)
    attachments: set[Path] = field(default_factory=set)
    """What the runtime's CNI library remembers of each sandbox."""

    @classmethod
    def of(cls, node: Installation) -> Footprint:
        """What it holds now."""
        pids = node_processes(node)
        return cls(
            processes={(pid, _started(pid)) for pid in pids},
            sockets={path for pid in pids for path in _listening(pid) if path.startswith("/")},
            links=set(os.listdir(f"/sys/class/net/{node.bridge}/brif"))
            if Path(f"/sys/class/net/{node.bridge}/brif").exists()
            else set(),
            namespaces=set(asyncio.run(namespaces_of(node.runtime_endpoint))),
            attachments={
                path
                for sandbox in asyncio.run(sandboxes_of(node.runtime_endpoint))
                for path in Path("/var/lib/cni/results").glob(f"*-{sandbox}-*")
            },
        )

    def remaining(self, node: Installation) -> list[str]:
        """What of it, and of what bears the node's names, is there."""
        left = [
            f"process {pid}: {_command(pid)}"
            for pid, started in self.processes
            if _started(pid) == started and _command(pid)
        ]
        left += [f"process {pid}: {_command(pid)}" for pid in node_processes(node)]
        left += [f"socket {path}" for path in self.sockets if os.path.exists(path)]
        left += [f"network namespace {path}" for path in self.namespaces if os.path.exists(path)]
        left += [f"attachment {path}" for path in self.attachments if path.exists()]
        links = set(os.listdir("/sys/class/net"))
        left += [f"link {name}" for name in (self.links | {node.bridge}) & links]
        left += [f"mount {point}" for point in mounts(node.folder)]
        left += [f"cgroup {path}" for path in cgroups(node.cgroup)]
        left += [f"nftables {line}" for line in tables() if node.bridge in line]
        return left


def mounts(folder: Path) -> list[str]:
    """Mount points at or below a folder."""
    points = [line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines()]
    return [point for point in points if f"{point}/".startswith(f"{folder}/")]


def cgroups(name: str) -> list[Path]:
    """The cgroup in every hierarchy."""
    root = Path("/sys/fs/cgroup")
    return [path for path in (root / name, *root.glob(f"*/{name}")) if path.exists()]


def tables() -> list[str]:
    """The nftables tables of this network namespace."""
    done = subprocess.run(["nft", "list", "tables"], capture_output=True, text=True, timeout=30, check=True)
    return done.stdout.splitlines()


def node_processes(node: Installation) -> list[int]:
    """Processes that have the node's folder in their command line, sit in its cgroups, or descend from such."""
    marked: set[int] = set()
    parents: dict[int, int] = {}
    for entry in os.listdir("/proc"):
        if not entry.isdigit() or int(entry) == os.getpid():
            continue
        pid = int(entry)
        try:
            parents[pid] = int(Path("/proc", entry, "stat").read_text().rpartition(")")[2].split()[1])
            command = Path("/proc", entry, "cmdline").read_bytes().decode(errors="replace")
            groups = Path("/proc", entry, "cgroup").read_text()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if not command:
            continue  # of the kernel, or dead: the exit status is for its parent, with its shim killed that is init
        if str(node.folder) in command or f"/{node.cgroup}/" in groups:
            marked.add(pid)
    # kubectl processes of the tests themselves have no folder in their command line, only in their environment.
    descended = True
    while descended:
        descended = {pid for pid, parent in parents.items() if parent in marked} - marked
        marked |= descended
    return sorted(marked)


def _started(pid: int) -> str:
    """When a process was started, "" when there is none or it is dead and not yet waited for."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return ""
    return "" if fields[0] in "ZX" else fields[19]


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
    except (FileNotFoundError, ProcessLookupError):
        return ""


def _listening(pid: int) -> list[str]:
    """Paths of unix sockets that a process holds (proc_net(5))."""
    paths = {}
    for line in Path("/proc/net/unix").read_text().splitlines()[1:]:
        parts = line.split()
        if len(parts) > 7:
            paths[f"socket:[{parts[6]}]"] = parts[7]
    held = []
    try:
        for descriptor in os.listdir(f"/proc/{pid}/fd"):
            target = os.readlink(f"/proc/{pid}/fd/{descriptor}")
            if target in paths:
                held.append(paths[target])
    except (FileNotFoundError, ProcessLookupError):
        return held
    return held


async def sandboxes_of(endpoint: str) -> list[str]:
    """The IDs of all sandboxes; none when the runtime is not there."""
    client = RuntimeClient(endpoint)
    try:
        return [sandbox.id for sandbox in await client.list_pod_sandbox()]
    except CriError:
        return []
    finally:
        await client.close()


async def namespaces_of(endpoint: str, sandbox_id: str = "") -> list[str]:
    """Paths of the network namespaces of one sandbox, or of all; none when the runtime is not there."""
    client = RuntimeClient(endpoint)
    found: list[str] = []
    try:
        for sandbox in await client.list_pod_sandbox():
            if sandbox_id not in ("", sandbox.id):
                continue
            status = await client.pod_sandbox_status(sandbox.id, verbose=True)
            info = json.loads(status.info.get("info", "{}"))
            namespaces = info.get("runtimeSpec", {}).get("linux", {}).get("namespaces", [])
            found += [one["path"] for one in namespaces if one.get("type") == "network" and one.get("path")]
    except CriError:
        return found
    finally:
        await client.close()
    return found


def settled(node: Installation) -> None:
    """Wait until no pod has left anything on the node: no cgroup, link, mount, namespace, folder."""

    def clean() -> bool:
        now = Footprint.of(node)
        below = [path for group in cgroups(node.cgroup) for path in group.glob("**/pod*")]
        folders = list((node.data / "agent" / "pods").iterdir())
        found = [*now.links, *now.namespaces, *below, *folders, *mounts(node.data / "agent" / "pods")]
        assert not found, f"{found}"
        return True

    eventually(clean, "nothing left of the pods", 60.0, 0.3)
