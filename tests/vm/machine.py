"""A machine under QEMU: boot it, run commands on it, pull its plug, boot it again.

Software emulation, since a lab need not offer a usable /dev/kvm. The host talks to it by SSH over QEMU's user-mode
network, on a loopback port of its own; machines that are given the same `wire` also share an Ethernet segment.
"""

from __future__ import annotations

import shlex
import signal
import socket
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

from image import Image, run

BOOT_DEADLINE = 300.0
COMMAND_DEADLINE = 120.0


class MachineError(Exception):
    """A machine did not boot, or a command on it failed."""


@dataclass(slots=True)
class Machine:
    """One virtual machine with a disk of its own on top of the shared image. Use `boot`, then `shell`."""

    name: str
    image: Image
    project: Path
    folder: Path
    memory_mib: int = 1536
    cpus: int = 2
    wire: str = ""
    port: int = 0
    _process: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    def boot(self) -> None:
        """Start it (with the disk as it was left) and wait until it takes commands. Raises MachineError."""
        disk = self.folder / f"{self.name}.qcow2"
        if not disk.exists():
            run(["qemu-img", "create", "-q", "-f", "qcow2", "-F", "raw", "-b", str(self.image.disk), str(disk)])
        self.port = self.port or free_port()
        with (self.folder / f"{self.name}.console").open("ab") as console:
            self._process = subprocess.Popen(
                self._command(disk), stdin=subprocess.DEVNULL, stdout=console, stderr=subprocess.STDOUT
            )
        until = time.monotonic() + BOOT_DEADLINE
        while True:
            if self._process.poll() is not None:
                raise MachineError(f"boot {self.name}: QEMU ended with {self._process.returncode}\n{self.console()}")
            try:
                if self.shell("systemctl is-system-running --wait || true", deadline=60).strip():
                    return
            except MachineError:
                if time.monotonic() > until:
                    raise
                time.sleep(1)

    def _command(self, disk: Path) -> list[str]:
        argv = [
            "qemu-system-x86_64", "-accel", "tcg,thread=multi", "-cpu", "max", "-smp", str(self.cpus),
            "-m", str(self.memory_mib), "-nographic", "-no-reboot", "-nodefaults", "-serial", "stdio",
            "-kernel", str(self.image.kernel), "-initrd", str(self.image.initrd),
            "-append", f"root=/dev/vda rw console=ttyS0 quiet systemd.hostname={self.name}",
            "-drive", f"file={disk},format=qcow2,if=virtio,cache=writethrough",
            "-drive", f"file={self.project},format=raw,if=virtio,readonly=on",
            "-nic", f"user,model=virtio-net-pci,hostfwd=tcp:127.0.0.1:{self.port}-:22",
            "-device", "virtio-rng-pci",
        ]  # fmt: skip
        if self.wire:
            address = sum(self.name.encode()) % 200 + 16
            argv += ["-nic", f"socket,model=virtio-net-pci,mcast=230.0.0.1:{self.wire},localaddr=127.0.0.1,"
                             f"mac=52:54:00:00:00:{address:02x}"]  # fmt: skip
        return argv

    def shell(self, script: str, *, deadline: float = COMMAND_DEADLINE) -> str:
        """Run `script` as root on the machine; returns its output. Raises MachineError when it fails."""
        argv = [
            "ssh", "-q", "-i", str(self.image.key), "-p", str(self.port), "-o", "StrictHostKeyChecking=no",
            "-o", "UserKnownHostsFile=/dev/null", "-o", "ConnectTimeout=10", "-o", "BatchMode=yes",
            "root@127.0.0.1", f"sh -c {shlex.quote(script)}",
        ]  # fmt: skip
        try:
            done = subprocess.run(argv, capture_output=True, text=True, timeout=deadline, check=False)
        except subprocess.TimeoutExpired as error:
            raise MachineError(f"on {self.name}: {script}: no end after {deadline:g} s") from error
        if done.returncode:
            raise MachineError(f"on {self.name}: {script}: exit {done.returncode}\n{done.stdout}\n{done.stderr}")
        return done.stdout

    def eventually(self, script: str, *, within: float) -> str:
        """Run `script` again and again until it succeeds; returns its output. Raises the last MachineError."""
        until = time.monotonic() + within
        while True:
            try:
                return self.shell(script)
            except MachineError:
                if time.monotonic() > until:
                    raise
                time.sleep(1)

    def pull_the_plug(self) -> None:
        """End it as a power cut does: nothing on it gets to hear of it."""
        if self._process is not None:
            self._process.send_signal(signal.SIGKILL)
            self._process.wait()
            self._process = None

    def console(self) -> str:
        """The end of what it printed on its serial console."""
        return (self.folder / f"{self.name}.console").read_text(encoding="utf-8", errors="replace")[-4000:]


def free_port() -> int:
    """A loopback port that nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
