"""A containerd of a test's own: its binary is the distribution's, all else lives below one folder and ends with it.

Nothing of it is shared with whatever else runs on the machine: own root, state, socket, CNI configuration and bridge.
`Containerd.stop` takes everything down and then looks whether something is left.
"""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from agent.resources.cgroups import machine_tree
from agent.resources.kernel import look_up
from cri.client import RuntimeClient
from cri.errors import CriError, RuntimeFailure
from images.system import PAUSE, TOOLBOX, write_system_images

__all__ = ["PAUSE", "TOOLBOX", "Containerd"]

_START_SECONDS = 30.0
_STOP_SECONDS = 20.0


class Leftovers(AssertionError):
    """Something of a containerd outlived it."""


async def remove_sandbox(client: RuntimeClient, sandbox: str) -> None:
    """Stop and remove a sandbox, more than once if need be, as the agent does.

    A container that ends by itself in the moment in which containerd kills it makes the call fail ("ttrpc: closed").
    """
    for attempt in range(5):
        try:
            await client.stop_pod_sandbox(sandbox)
            await client.remove_pod_sandbox(sandbox)
        except RuntimeFailure:
            if attempt == 4:
                raise
            await asyncio.sleep(0.5)
        else:
            return


class Containerd:
    """Started by `start`, ended by `stop`; `endpoint` is its socket."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.prefix = f"ot{secrets.token_hex(3)}"
        """Begins the names of links that this containerd makes."""
        self.socket = folder / "containerd.sock"
        self.endpoint = f"unix://{self.socket}"
        self.subnet = f"10.{200 + secrets.randbelow(50)}.{secrets.randbelow(250)}.0/24"
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def bridge(self) -> str:
        return f"{self.prefix}br"

    @property
    def log(self) -> Path:
        return self.folder / "containerd.log"

    @property
    def cgroup_parent(self) -> str:
        """The cgroup that sandboxes of tests are to be put below; removed at the end."""
        return f"/{self.prefix}"

    def start(self) -> None:
        """Starts it, for the first time or again, and waits until CRI answers."""
        self._write_config()
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                ["containerd", "--config", str(self.folder / "config.toml")],
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self._wait_until_it_answers()

    def kill(self) -> None:
        """SIGKILL, as a crash would; containers run on in their shims."""
        assert self._process is not None
        self._process.kill()
        self._process.wait(_STOP_SECONDS)
        self._process = None

    def import_images(self) -> None:
        """The system images: pause and toolbox (a busybox)."""
        archive = self.folder / "images.tar"
        write_system_images(archive)
        self.ctr("images", "import", str(archive))
        archive.unlink()

    def ctr(self, *arguments: str) -> str:
        """containerd's own command line, in the namespace of CRI."""
        command = ["ctr", "--address", str(self.socket), "--namespace", "k8s.io", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, f"{' '.join(command)}: {done.stderr}"
        return done.stdout

    def stop(self) -> None:
        """Removes every sandbox, ends the daemon, and raises Leftovers when something stays behind."""
        if self._process is None or self._process.poll() is not None:
            self.start()
        asyncio.run(self._remove_all())
        assert self._process is not None
        self._process.send_signal(signal.SIGTERM)
        self._process.wait(_STOP_SECONDS)
        self._process = None
        subprocess.run(["ip", "link", "delete", self.bridge], capture_output=True, timeout=10, check=False)
        tree = machine_tree(look_up())
        left = self._leftovers()
        left += [f"process {pid} in its cgroup" for pid in tree.pids(self.prefix)]
        if not left:
            tree.remove(self.prefix)
        for mount in sorted(self._mounts(), reverse=True):
            subprocess.run(["umount", "-l", mount], capture_output=True, timeout=10, check=False)
        shutil.rmtree(self.folder)
        if left:
            raise Leftovers("; ".join(left))

    async def _remove_all(self) -> None:
        client = RuntimeClient(self.endpoint)
        try:
            for sandbox in await client.list_pod_sandbox():
                await remove_sandbox(client, sandbox.id)
        finally:
            await client.close()

    def _leftovers(self) -> list[str]:
        left = [f"mount {mount}" for mount in self._mounts()]
        left += [f"process {pid}" for pid in _processes_naming(str(self.folder))]
        left += [f"link {name}" for name in os.listdir("/sys/class/net") if name.startswith(self.prefix)]
        return left

    def _mounts(self) -> list[str]:
        points = [line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines()]
        return [point for point in points if point.startswith(f"{self.folder}/")]

    def _wait_until_it_answers(self) -> None:
        assert self._process is not None
        _wait(lambda: self.socket.exists() or self._process_ended(), _START_SECONDS, "socket")
        asyncio.run(self._wait_for_cri())

    def _process_ended(self) -> bool:
        assert self._process is not None
        if self._process.poll() is not None:
            raise AssertionError(f"containerd ended: {self.log.read_text()[-2000:]}")
        return False

    async def _wait_for_cri(self) -> None:
        client = RuntimeClient(self.endpoint)
        try:
            deadline = time.monotonic() + _START_SECONDS
            while True:
                try:
                    await client.version()
                except CriError as error:
                    if time.monotonic() > deadline:
                        raise AssertionError(f"{error}: {self.log.read_text()[-2000:]}") from error
                    await asyncio.sleep(0.05)
                else:
                    return
        finally:
            await client.close()

    def _write_config(self) -> None:
        cni = self.folder / "cni"
        cni.mkdir(parents=True, exist_ok=True)
        (cni / "10-test.conflist").write_text(
            json.dumps(
                {
                    "cniVersion": "1.0.0",
                    "name": self.prefix,
                    "plugins": [
                        {
                            "type": "bridge",
                            "bridge": self.bridge,
                            "isGateway": True,
                            "ipMasq": False,
                            "ipam": {
                                "type": "host-local",
                                "dataDir": str(self.folder / "addresses"),
                                "ranges": [[{"subnet": self.subnet}]],
                                "routes": [{"dst": "0.0.0.0/0"}],
                            },
                        }
                    ],
                }
            )
        )
        (self.folder / "config.toml").write_text(
            f"""
version = 2
root = "{self.folder}/root"
state = "{self.folder}/state"
[grpc]
  address = "{self.socket}"
[ttrpc]
  address = "{self.socket}.ttrpc"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{PAUSE}"
  netns_mounts_under_state_dir = true
  restrict_oom_score_adj = true
  stream_server_address = "127.0.0.1"
  stream_server_port = "0"
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "{cni}"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
      SystemdCgroup = false
"""
        )


def _wait(done: Callable[[], bool], seconds: float, what: str) -> None:
    deadline = time.monotonic() + seconds
    while not done():
        if time.monotonic() > deadline:
            raise AssertionError(f"no {what} after {seconds} s")
        time.sleep(0.02)


def _processes_naming(text: str) -> list[int]:
    """Processes that have a text in their command line, this one apart."""
    found = []
    for entry in os.listdir("/proc"):
        if not entry.isdigit() or int(entry) == os.getpid():
            continue
        try:
            command = Path("/proc", entry, "cmdline").read_bytes()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if text.encode() in command:
            found.append(int(entry))
    return found
