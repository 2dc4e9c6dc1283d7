"""The supervisor keeps its children running, in order, and leaves none behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cli.supervisor import trim_log

PROGRAM = """
import signal, sys, time
from pathlib import Path
from cli.supervisor import Child, Supervisor

folder = Path(sys.argv[1])

def note(line):
    with (folder / "story").open("a") as file:
        file.write(line + "\\n")

def note_pid(name):
    # All at once: the file tells that the child is ready, and is read for the id right after.
    import os
    draft = folder / f"{name}.draft"
    draft.write_text(str(os.getpid()))
    draft.rename(folder / f"{name}.pid")

def sleeper(name):
    def main():
        def leave(*_):
            note(f"{name} leaves")
            sys.exit(0)
        signal.signal(signal.SIGTERM, leave)
        note_pid(name)
        note(f"{name} runs")
        print(f"{name} says hello", flush=True)
        while True:
            time.sleep(60)
    return main

def stubborn():
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    note_pid("stubborn")
    note("stubborn runs")
    while True:
        time.sleep(60)

def ready_when(name):
    return lambda: (folder / f"{name}.pid").exists()

children = {
    "first": Child("first", sleeper("first"), ready=ready_when("first")),
    "second": Child("second", sleeper("second"), ready=ready_when("second")),
    "stubborn": Child("stubborn", stubborn, ready=ready_when("stubborn"), stop_within=0.2),
    "never": Child("never", sleeper("never"), ready=lambda: False, ready_within=60),
}
chosen = [children[name] for name in sys.argv[2:]]
sys.exit(Supervisor(chosen, folder / "log", on_started=lambda: note("all started")).run())
"""


class Running:
    """A supervisor in a process of its own, and what its children wrote down."""

    def __init__(self, folder: Path, *names: str) -> None:
        program = folder / "program.py"
        program.write_text(textwrap.dedent(PROGRAM), encoding="utf-8")
        self.folder = folder
        self.process = subprocess.Popen(
            [sys.executable, str(program), str(folder), *names],
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
        )

    def story(self) -> list[str]:
        file = self.folder / "story"
        return file.read_text(encoding="utf-8").splitlines() if file.exists() else []

    def pid(self, name: str) -> int:
        return int((self.folder / f"{name}.pid").read_text(encoding="utf-8"))

    def until(self, test: Callable[[], bool], seconds: float = 30) -> None:
        deadline = time.monotonic() + seconds
        while not test():
            assert time.monotonic() < deadline, f"waited in vain; so far: {self.story()}"
            time.sleep(0.01)

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(30)


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


@pytest.fixture
def supervise(tmp_path: Path) -> Iterator[Callable[..., Running]]:
    started: list[Running] = []

    def start(*names: str) -> Running:
        started.append(Running(tmp_path, *names))
        return started[-1]

    yield start
    for running in started:
        if running.process.poll() is None:
            running.process.kill()
        running.process.wait()
        assert running.process.stderr is not None
        running.process.stderr.close()


def test_children_start_in_order_and_stop_in_reverse(supervise: Callable[..., Running]) -> None:
    running = supervise("first", "second")
    running.until(lambda: "all started" in running.story())
    assert running.stop() == 0
    assert running.story() == ["first runs", "second runs", "all started", "second leaves", "first leaves"]


def test_a_child_that_dies_is_started_again_and_the_others_stay(supervise: Callable[..., Running]) -> None:
    running = supervise("first", "second")
    running.until(lambda: "all started" in running.story())
    first, second = running.pid("first"), running.pid("second")
    os.kill(first, signal.SIGKILL)
    running.until(lambda: running.story().count("first runs") == 2 and running.pid("first") != first)
    assert running.pid("second") == second
    assert running.stop() == 0


def test_a_child_that_ignores_the_request_to_stop_is_killed(supervise: Callable[..., Running]) -> None:
    running = supervise("stubborn")
    running.until(lambda: "all started" in running.story())
    pid = running.pid("stubborn")
    assert running.stop() == 0
    assert not alive(pid)


def test_no_child_outlives_a_supervisor_that_is_killed(supervise: Callable[..., Running]) -> None:
    running = supervise("first")
    running.until(lambda: "all started" in running.story())
    pid = running.pid("first")
    running.process.kill()
    running.until(lambda: not alive(pid))


def test_a_request_to_stop_while_a_child_is_not_ready_is_obeyed(supervise: Callable[..., Running]) -> None:
    running = supervise("first", "never")
    running.until(lambda: "never runs" in running.story())
    assert running.stop() == 1
    assert running.story()[-2:] == ["never leaves", "first leaves"]


def test_output_of_a_child_goes_to_its_log(supervise: Callable[..., Running]) -> None:
    running = supervise("first")
    running.until(lambda: "all started" in running.story())
    log = running.folder / "log" / "first.log"
    running.until(lambda: "first says hello" in log.read_text(encoding="utf-8"))
    running.stop()


def test_a_log_past_its_limit_keeps_one_older_generation(tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    log.write_text("x" * 100, encoding="utf-8")
    trim_log(log, limit=100)
    assert log.stat().st_size == 100
    with log.open("a", encoding="utf-8") as writer:
        writer.write("y")
        writer.flush()
        trim_log(log, limit=100)
        writer.write("z")
        writer.flush()
    assert log.read_text(encoding="utf-8") == "z"
    assert (tmp_path / "a.log.1").read_text(encoding="utf-8") == "x" * 100 + "y"
