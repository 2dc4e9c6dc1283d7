"""The parent of all processes of a node: starts them, restarts those that die, stops them in order.

It imports what its Python children have in common and forks them, so that those pages exist once in memory (five
processes of their own would need twice the memory). For that to hold it must stay a plain, single-threaded process: no
event loop, no threads, no open gRPC channel. It knows what to start and in which order to stop it, not what the
children do.

It waits in sigtimedwait(2) and so costs nothing while nothing happens. A child dies with the supervisor
(PR_SET_PDEATHSIG), so a supervisor that is killed and started again finds no second set of processes; pods are no
children of it and go on.
"""

from __future__ import annotations

import ctypes
import gc
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from cli.parenthood import die_with_parent

PR_SET_NAME = 15
WATCHED = {signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP}
# Seconds. The limit is low, since the node is without the process until then; one that fails at its start costs some
# tenths of a second of processor time.
BACKOFF_FIRST, BACKOFF_LIMIT, BACKOFF_RESET = 0.2, 5.0, 60.0
LOG_LIMIT = 16 * 1024 * 1024
LOG_CHECK_PERIOD = 600.0  # a log that grows without limit fills the disk; nothing tells us of its size

_libc = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True, slots=True)
class Child:
    """One process to keep alive.

    `main` runs in the forked child and returns its exit code (a child that executes another program never returns).
    `ready` is asked after the start, every 20 ms up to `ready_within` seconds, before the next child is started; what
    it raises is reported and retried.
    """

    name: str
    main: Callable[[], int]
    ready: Callable[[], bool] | None = None
    ready_within: float = 30.0
    stop_within: float = 10.0


@dataclass(slots=True)
class _State:
    child: Child
    pid: int = 0
    started: float = 0.0
    backoff: float = BACKOFF_FIRST
    restart_at: float = 0.0


@dataclass(slots=True)
class Supervisor:
    """Keeps `children` running; they are started in order and stopped in the reverse of it."""

    children: Sequence[Child]
    log_folder: Path | None = None
    on_started: Callable[[], None] = lambda: None
    _states: list[_State] = field(default_factory=list)

    def run(self) -> int:
        """Start everything and stay until SIGTERM or SIGINT; returns the exit code of the supervisor."""
        previous = signal.pthread_sigmask(signal.SIG_BLOCK, WATCHED)
        try:
            gc.collect()
            gc.freeze()  # or the first collection in a child would touch, and so copy, every shared page
            self._states = [_State(child) for child in self.children]
            for state in self._states:
                self._start(state)
                if not self._wait_ready(state):
                    self._stop_all()
                    return 1
            self.on_started()
            self._watch()
            self._stop_all()
            return 0
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, previous)

    def _say(self, text: str) -> None:
        stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        print(f"time={stamp} process=supervisor {text}", file=sys.stderr, flush=True)

    def _start(self, state: _State) -> None:
        pid = os.fork()
        if pid == 0:
            self._become(state.child)
        state.pid, state.started, state.restart_at = pid, time.monotonic(), 0.0
        self._say(f"event=started child={state.child.name} pid={pid}")

    def _become(self, child: Child) -> None:
        code = 1
        try:
            die_with_parent()
            _libc.prctl(PR_SET_NAME, f"orlop-{child.name}"[:15].encode())
            if self.log_folder is not None:
                redirect_output(self.log_folder / f"{child.name}.log")
            signal.pthread_sigmask(signal.SIG_UNBLOCK, WATCHED)
            code = child.main()
        except SystemExit as leaving:
            code = leaving.code if isinstance(leaving.code, int) else 1
        except BaseException:  # noqa: BLE001 - the last frame of a process: print and leave, whatever it was
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            sys.stdout.flush()
            os._exit(code)

    def _wait_ready(self, state: _State) -> bool:
        """Wait for the child's readiness; False when asked to stop meanwhile."""
        if state.child.ready is None:
            return True
        until = time.monotonic() + state.child.ready_within
        complaint = ""
        while time.monotonic() < until:
            try:
                if state.pid and state.child.ready():
                    return True
            except Exception as error:  # noqa: BLE001 - said once, and asked again until the deadline
                if str(error) != complaint:
                    complaint = str(error)
                    self._say(f'event=not_ready_yet child={state.child.name} error="{complaint}"')
            if not self._handle(signal.sigtimedwait(WATCHED, 0.02)):
                return False
            self._restart_due()
        self._say(f"event=not_ready child={state.child.name} after={state.child.ready_within:g}s")
        return True

    def _watch(self) -> None:
        next_log_check = time.monotonic() + LOG_CHECK_PERIOD
        while True:
            now = time.monotonic()
            if now >= next_log_check:
                self._trim_logs()
                next_log_check = now + LOG_CHECK_PERIOD
            due = [state.restart_at for state in self._states if state.restart_at]
            if not self._handle(signal.sigtimedwait(WATCHED, max(0.0, min([next_log_check, *due]) - now))):
                return
            self._restart_due()

    def _handle(self, received: signal.struct_siginfo | None) -> bool:
        """Act on a signal; False when it asks the supervisor to stop."""
        if received is None or received.si_signo == signal.SIGHUP:
            return True
        if received.si_signo in (signal.SIGTERM, signal.SIGINT):
            return False
        self._reap()
        return True

    def _reap(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            for state in self._states:
                if state.pid == pid:
                    self._note_death(state, os.waitstatus_to_exitcode(status))

    def _note_death(self, state: _State, code: int) -> None:
        now = time.monotonic()
        if now - state.started > BACKOFF_RESET:
            state.backoff = BACKOFF_FIRST
        state.pid, state.restart_at = 0, now + state.backoff
        self._say(f"event=died child={state.child.name} exit={code} restart_in={state.backoff:.1f}s")
        state.backoff = min(state.backoff * 2, BACKOFF_LIMIT)

    def _restart_due(self) -> None:
        now = time.monotonic()
        for state in self._states:
            if state.restart_at and state.restart_at <= now:
                self._start(state)

    def _stop_all(self) -> None:
        for state in reversed(self._states):
            state.restart_at = 0.0
            if not state.pid:
                continue
            pid, state.pid = state.pid, 0
            os.kill(pid, signal.SIGTERM)
            if not _gone_within(pid, state.child.stop_within):
                self._say(f"event=kill child={state.child.name} after={state.child.stop_within:g}s")
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
            self._say(f"event=stopped child={state.child.name}")

    def _trim_logs(self) -> None:
        if self.log_folder is not None:
            for file in self.log_folder.glob("*.log"):
                trim_log(file)


def _gone_within(pid: int, seconds: float) -> bool:
    until = time.monotonic() + seconds
    while os.waitpid(pid, os.WNOHANG) == (0, 0):
        left = until - time.monotonic()
        if left <= 0:
            return False
        signal.sigtimedwait({signal.SIGCHLD}, min(left, 0.5))
    return True


def redirect_output(path: Path) -> None:
    """Let this process write to the end of the file at `path` instead of to where its output went."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o640)
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
    os.close(descriptor)


def trim_log(path: Path, limit: int = LOG_LIMIT) -> None:
    """Keep one older generation of a log that has outgrown `limit` bytes.

    The file is emptied in place, since its writers hold it open (for appending, so they go on at the start).
    """
    if path.stat().st_size <= limit:
        return
    path.with_name(f"{path.name}.1").write_bytes(path.read_bytes())
    os.truncate(path, 0)
