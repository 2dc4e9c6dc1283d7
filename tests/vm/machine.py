"""A machine under QEMU: boot it, run commands on it, pull its plug, boot it again.

Software emulation, since a lab need not offer a usable /dev/kvm. The host talks to it by SSH over QEMU's user-mode
network, on a loopback port of its own; machines that are given the same `wire` also share an Ethernet segment, on which
machine number n has the address 10.77.0.n.
"""

from __future__ import annotations

import shlex
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from tests.vm.image import Image, run

BOOT_DEADLINE = 300.0
COMMAND_DEADLINE = 180.0
POLL = 1.0
WIRE_NETWORK = "10.77.0"
WIRE_PREFIX = 24
# Multicast that stays on the loopback interface of the host: whoever has joined the group sees every frame.
WIRE_GROUP = "230.0.0.1"
WIRE_UNIT = "/etc/systemd/network/05-wire.network"


class MachineError(Exception):
    """A machine did not boot, or a command on it failed."""


@dataclass(slots=True)
class Machine:
    """One virtual machine with a disk of its own on top of the shared image. Use `boot`, then `shell`.

    `number` tells machines on one wire apart, from 1 to 254; `wire` is a free UDP port (`free_port`), 0 for none.
    """

    name: str
    image: Image
    project: Path
    folder: Path
    number: int = 1
    memory_mib: int = 1536
    cpus: int = 2
    wire: int = 0
    port: int = 0
    _process: subprocess.Popen[bytes] | None = field(default=None, repr=False)
    _master: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    @property
    def wire_address(self) -> str:
        """Its address on the wire."""
        return f"{WIRE_NETWORK}.{self.number}"

    # ----------------------------------------------------------- power

    def boot(self) -> None:
        """Start it (with the disk as it was left) and wait until it takes commands. Raises MachineError."""
        disk = self.folder / f"{self.name}.qcow2"
        if not disk.exists():
            run(["qemu-img", "create", "-q", "-f", "qcow2", "-F", "raw", "-b", str(self.image.disk), str(disk)])
        self.port = self.port or free_port()
        with self._console.open("ab") as console:
            self._process = subprocess.Popen(
                self._command(disk), stdin=subprocess.DEVNULL, stdout=console, stderr=subprocess.STDOUT
            )
        self._await_commands()
        self._master = subprocess.Popen(
            [*self._ssh(), "-M", "-N", "root@127.0.0.1"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL
        )
        if self.wire:
            self._join_wire()

    def _await_commands(self) -> None:
        """Wait for the end of the boot, degraded or not. Raises MachineError."""
        assert self._process is not None
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
                time.sleep(POLL)

    def pull_the_plug(self) -> None:
        """End it as a power cut does: nothing on it gets to hear of it."""
        for process in (self._process, self._master):
            if process is not None:
                process.send_signal(signal.SIGKILL)
                process.wait()
        self._process = self._master = None
        self._control.unlink(missing_ok=True)

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
            argv += ["-nic", f"socket,model=virtio-net-pci,mcast={WIRE_GROUP}:{self.wire},localaddr=127.0.0.1,"
                             f"mac={self._wire_mac}"]  # fmt: skip
        return argv

    # ------------------------------------------------------------ wire

    @property
    def _wire_mac(self) -> str:
        return f"52:54:00:77:00:{self.number:02x}"

    def _join_wire(self) -> None:
        """Give its second interface the address it has on the wire; kept on its disk from the first boot on."""
        unit = (
            f"[Match]\nMACAddress={self._wire_mac}\n\n[Network]\nAddress={self.wire_address}/{WIRE_PREFIX}\n"
            "LinkLocalAddressing=no\n"
        )
        self.shell(
            f"printf %s {shlex.quote(unit)} > {WIRE_UNIT} && sync && networkctl reload && "
            f"for n in $(seq 60); do ip -4 addr | grep -qF {self.wire_address}/ && exit 0; sleep 0.5; done; exit 1"
        )

    # -------------------------------------------------------- commands

    @property
    def _control(self) -> Path:
        return self.folder / f"{self.name}.ssh"

    def _ssh(self) -> list[str]:
        """A session of its own costs a key exchange, a login and a user's service manager, seconds under emulation.

        So the commands after the boot share the connection of `_master`.
        """
        return [
            "ssh", "-q", "-i", str(self.image.key), "-p", str(self.port), "-o", "StrictHostKeyChecking=no",
            "-o", "UserKnownHostsFile=/dev/null", "-o", "ConnectTimeout=10", "-o", "BatchMode=yes",
            "-o", f"ControlPath={self._control}",
        ]  # fmt: skip

    def _remote(self, script: str, *, own_session: bool) -> list[str]:
        alone = ["-o", "ControlPath=none"] if own_session else []
        # ssh takes the first value it is given for an option.
        return ["ssh", *alone, *self._ssh()[1:], "root@127.0.0.1", f"sh -c {shlex.quote(script)}"]

    def shell(self, script: str, *, deadline: float = COMMAND_DEADLINE, own_session: bool = False) -> str:
        """Run `script` as root on the machine; returns its output. Raises MachineError when it fails.

        With `own_session` it is a login that ends with the script, and what it leaves running is no part of any other.
        """
        argv = self._remote(script, own_session=own_session)
        try:
            done = subprocess.run(argv, capture_output=True, text=True, timeout=deadline, check=False)
        except subprocess.TimeoutExpired as error:
            raise MachineError(
                f"on {self.name}: {script}: no end after {deadline:g} s\n{error.stdout}\n{self.console()}"
            ) from error
        if done.returncode:
            raise MachineError(f"on {self.name}: {script}: exit {done.returncode}\n{done.stdout}\n{done.stderr}")
        return done.stdout

    @contextmanager
    def running(self, script: str) -> Iterator[IO[str]]:
        """Run `script` beside the caller; yields its output as it comes, and ends our side of it afterwards."""
        argv = self._remote(script, own_session=False)
        with subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            try:
                yield process.stdout
            finally:
                process.kill()

    def eventually(self, script: str, *, within: float) -> str:
        """Run `script` again and again until it succeeds; returns its output. Raises the last MachineError."""
        until = time.monotonic() + within
        while True:
            try:
                return self.shell(script)
            except MachineError:
                if time.monotonic() > until:
                    raise
                time.sleep(POLL)

    @property
    def _console(self) -> Path:
        return self.folder / f"{self.name}.console"

    def console(self) -> str:
        """The end of what it printed on its serial console."""
        return self._console.read_text(encoding="utf-8", errors="replace")[-4000:]


def free_port() -> int:
    """A loopback port that nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
