"""A whole node of a test's own: `orlop up`, with folders, bridge, cgroup, ports and addresses that nobody else has."""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.node.cluster.footprint import Footprint, Leftovers
from tests.node.cluster.kubectl import Kubectl
from tests.node.cluster.waiting import eventually

ROOT = Path(__file__).parents[3]
PROCESSES = ("apiserver", "controller", "agent")
UP_SECONDS = 100.0
DOWN_SECONDS = 90.0


class Installation:
    """One node; `up` and `down` are the commands of these names."""

    def __init__(self, *options: str) -> None:
        mark = secrets.token_hex(3)
        # Not tmp_path: a socket's path is limited to 107 characters.
        self.folder = Path(tempfile.mkdtemp(prefix=f"orlop-{mark}-"))
        self.bridge = f"ob{mark}"
        self.cgroup = f"oc{mark}"
        self.api_port, self.agent_port = free_ports(2)
        third = secrets.randbelow(250)
        self.pod_cidr = f"10.142.{third}.0/24"
        self.options = options
        self.home = self.folder / "home"
        self.home.mkdir()
        self.name = os.uname().nodename.lower()

    @property
    def data(self) -> Path:
        return self.folder / "data"

    @property
    def config(self) -> Path:
        return self.folder / "config"

    @property
    def run(self) -> Path:
        return self.folder / "run"

    @property
    def logs(self) -> Path:
        return self.data / "log"

    @property
    def pod_logs(self) -> Path:
        return self.logs / "pods"

    @property
    def manifests(self) -> Path:
        return self.config / "manifests"

    @property
    def runtime_endpoint(self) -> str:
        return f"unix://{self.run / 'containerd.sock'}"

    @property
    def kubectl(self) -> Kubectl:
        return Kubectl(self.config / "admin.kubeconfig", self.home)

    def _command(self, name: str, *options: str) -> list[str]:
        return [
            sys.executable, "-m", "cli", name,
            f"--data-dir={self.data}", f"--config-dir={self.config}", f"--run-dir={self.run}",
            f"--bridge={self.bridge}", f"--cgroup-root={self.cgroup}", *options,
        ]  # fmt: skip

    @property
    def _environment(self) -> dict[str, str]:
        return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}

    def start_up(self, *options: str) -> subprocess.Popen[str]:
        """`orlop up --detach`, not waited for."""
        ports = (f"--api-port={self.api_port}", f"--agent-port={self.agent_port}")
        ranges = (f"--pod-cidr={self.pod_cidr}", "--cluster-cidr=10.142.0.0/16", "--service-cidr=10.143.0.0/16")
        return subprocess.Popen(
            self._command("up", "--detach", *ports, *ranges, *self.options, *options),
            cwd=ROOT,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def up(self, *options: str) -> str:
        """`orlop up --detach`; returns what it printed once the node is Ready."""
        process = self.start_up(*options)
        try:
            said, _ = process.communicate(timeout=UP_SECONDS)
        finally:
            if process.poll() is None:
                process.kill()
                process.communicate()
        assert process.returncode == 0, f"{said}\n{self.log_tails()}"
        return said

    def start_down(self, *options: str) -> subprocess.Popen[str]:
        """`orlop down`, not waited for."""
        return subprocess.Popen(
            self._command("down", *options),
            cwd=ROOT,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def down(self, *, purge: bool = True, foreign_runtime: str = "") -> str:
        """`orlop down`; raises Leftovers when something of the node is still there."""
        before = Footprint.of(self)
        options = ["--purge"] if purge else []
        options += [f"--container-runtime-endpoint={foreign_runtime}"] if foreign_runtime else []
        with self.start_down(*options) as process:
            try:
                said, _ = process.communicate(timeout=DOWN_SECONDS)
            except BaseException:
                process.kill()
                raise
        assert process.returncode == 0, said
        left = before.remaining(self)
        left += [f"folder {path}" for path in (self.run, *((self.data, self.config) if purge else ())) if path.exists()]
        if left:
            raise Leftovers(f"{'; '.join(left)}\n{said}")
        return said

    def forget(self) -> None:
        """Remove the test's own folder."""
        shutil.rmtree(self.folder, ignore_errors=True)

    # ------------------------------------------------------------ processes

    @property
    def supervisor(self) -> int:
        return int((self.run / "supervisor.pid").read_text())

    def pid(self, name: str) -> int:
        """The process id of one of the supervisor's children, 0 while there is none."""
        try:
            children = Path(f"/proc/{self.supervisor}/task/{self.supervisor}/children").read_text().split()
        except FileNotFoundError:
            return 0
        for child in children:
            try:
                known = Path("/proc", child, "comm").read_text().strip()
            except (FileNotFoundError, ProcessLookupError):
                continue
            if known in (f"orlop-{name}"[:15], name):
                return int(child)
        return 0

    def kill(self, name: str) -> int:
        """SIGKILL to one of the node's processes; returns the id it had."""
        pid = eventually(lambda: self.pid(name), f"process {name}", 30.0, 0.02)
        os.kill(pid, signal.SIGKILL)
        return pid

    def killed_and_back(self, name: str, seconds: float = 60.0) -> None:
        """Kill a process and wait until the supervisor has another in its place."""
        old = self.kill(name)
        eventually(lambda: self.pid(name) not in (0, old), f"a new {name}", seconds, 0.02)

    def log_tails(self, since: dict[str, int] | None = None, lines: int = 60) -> str:
        """The end of each log of the node's processes, at most from the given offsets on."""
        parts = []
        for file in sorted(self.logs.glob("*.log")):
            data = file.read_bytes()[(since or {}).get(file.name, 0) :]
            tail = data.decode(errors="replace").splitlines()[-lines:]
            parts.append(f"---- {file.name}\n" + "\n".join(tail))
        return "\n".join(parts)

    def log_sizes(self) -> dict[str, int]:
        return {file.name: file.stat().st_size for file in self.logs.glob("*.log")}


@contextmanager
def running(*options: str) -> Iterator[Installation]:
    """A node that is Ready, and whose end is checked for leftovers."""
    node = Installation(*options)
    try:
        node.up()
        admit_pods(node)
        yield node
    except BaseException:
        print(node.log_tails())
        raise
    finally:
        node.down()
        node.forget()


def admit_pods(node: Installation) -> None:
    """Wait until the node's taint of not being ready is lifted."""
    eventually(
        lambda: not node.kubectl.get("node", node.name)["spec"].get("taints"), "the node without a taint", 30.0, 0.1
    )


def free_ports(count: int) -> list[int]:
    """Ports that nobody listens at, below the range that the kernel gives to clients."""
    found: list[int] = []
    while len(found) < count:
        port = 20000 + secrets.randbelow(12000)
        with socket.socket() as listener:
            try:
                listener.bind(("0.0.0.0", port))
            except OSError:
                continue
        if port not in found:
            found.append(port)
    return found
