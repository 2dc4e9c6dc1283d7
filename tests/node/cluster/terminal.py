"""A program at a pseudo-terminal: type, read what the screen shows, resize."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import struct
import subprocess
import termios
import time
from collections.abc import Mapping, Sequence


class Terminal:
    """A process whose controlling terminal is ours to type at."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str], rows: int, columns: int) -> None:
        self._ours, theirs = pty.openpty()
        self.resize(rows, columns)
        self.process = subprocess.Popen(
            command,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env=dict(environment) | {"TERM": "xterm"},
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )
        os.close(theirs)
        self.screen = ""

    def resize(self, rows: int, columns: int) -> None:
        """As when the user drags the window's corner; the kernel tells the program by SIGWINCH."""
        fcntl.ioctl(self._ours, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def type(self, text: str) -> None:
        os.write(self._ours, text.encode())

    def expect(self, text: str, seconds: float = 20.0) -> str:
        """Read until `text` is shown; returns what came up to its end and forgets it."""
        until = time.monotonic() + seconds
        while text not in self.screen:
            left = until - time.monotonic()
            assert left > 0, f"no {text!r} on the screen: {self.screen!r}"
            if not self._read(left):
                raise AssertionError(f"ended without {text!r} on the screen: {self.screen!r}")
        end = self.screen.index(text) + len(text)
        seen, self.screen = self.screen[:end], self.screen[end:]
        return seen

    def end(self, seconds: float = 20.0) -> int:
        """Wait until the program ends; returns its code."""
        until = time.monotonic() + seconds
        while time.monotonic() < until and self._read(until - time.monotonic()):
            pass
        return self.process.wait(max(0.1, until - time.monotonic()))

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(10)
        os.close(self._ours)

    def _read(self, seconds: float) -> bool:
        """Take in what is there; False at the end."""
        if not select.select([self._ours], [], [], max(0.0, seconds))[0]:
            return True
        try:
            data = os.read(self._ours, 65536)
        except OSError:  # how Linux tells that nobody has the other end open
            return False
        self.screen += data.decode(errors="replace").replace("\r\n", "\n")
        return bool(data)
