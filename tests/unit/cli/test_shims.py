"""Which of the shims on a host are those of our containerd, and which of them hold nothing any more."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from cli import shims
from cli.layout import Layout

NAME = "containerd-shim-runc-v2"
ALONE = "echo; read never"
WITH_A_CHILD = "sleep 60 & echo; read never"


@contextmanager
def shim(address: Path, sandbox: str, program: str) -> Iterator[subprocess.Popen[bytes]]:
    """A process that has a shim's command line."""
    argv = [NAME, "-c", program, "-namespace", "k8s.io", "-id", sandbox, "-address", str(address)]
    process = subprocess.Popen(
        argv, executable="/bin/sh", stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
    )
    assert process.stdin is not None and process.stdout is not None
    try:
        process.stdout.readline()
        yield process
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def test_those_of_ours_that_hold_no_process_are_ended(tmp_path: Path) -> None:
    layout = Layout(run=tmp_path)
    with ExitStack() as stack:
        idle = stack.enter_context(shim(layout.containerd_socket, "idle", ALONE))
        busy = stack.enter_context(shim(layout.containerd_socket, "busy", WITH_A_CHILD))
        foreign = stack.enter_context(shim(tmp_path / "other.sock", "foreign", ALONE))
        assert {one.sandbox for one in shims.running(layout)} == {"idle", "busy"}
        assert shims.idle(layout) == [shims.Shim(idle.pid, "idle")]
        shims.end_idle(layout)
        assert idle.wait(10) == -9
        assert busy.poll() is None and foreign.poll() is None
        shims.end_idle(Layout(run=tmp_path / "nobody"))
        assert [one.sandbox for one in shims.running(layout)] == ["busy"]
