"""`orlop up`: a one-node cluster on this machine, in the foreground or behind it."""

from __future__ import annotations

import os
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path

from cli import containerd, lock
from cli.node_api import NodeApi, NotYet
from cli.options import misfits, ports_in_use
from cli.preflight import complaints
from cli.processes import children, import_common
from cli.progress import step
from cli.scope import ScopeError, leave_session
from cli.settings import Settings, folders
from cli.supervisor import Supervisor, redirect_output, trim_log

READY_DEADLINE = 240.0  # a first start takes a minute on an emulated machine
SUPERVISOR_LOG = "supervisor.log"


def up(settings: Settings, *, detach: bool) -> int:
    """Start the node; with `detach` return once it is Ready, else stay until told to stop. Returns the exit code."""
    if found := complaints(settings) or misfits(settings):
        return _refuse(found)
    try:
        for folder in folders(settings):
            folder.mkdir(parents=True, exist_ok=True)
            if not os.access(folder, os.W_OK):
                return _refuse([f"{folder}: cannot be written to"])
        if (pid := lock.holder(settings.layout.lock)) is not None:
            raise lock.AlreadyRunning(pid)
    except OSError as error:
        return _refuse([f"{error.filename}: {error.strerror}"])
    except lock.AlreadyRunning as running:
        return _refuse([str(running)])
    if found := ports_in_use(settings):
        return _refuse(found)
    try:
        return _detached(settings) if detach else _supervise(settings, None)
    except lock.AlreadyRunning as running:
        return _refuse([str(running)])


def _refuse(reasons: list[str]) -> int:
    for reason in reasons:
        print(f"orlop up: {reason}", file=sys.stderr)
    return 1


def _supervise(settings: Settings, log_folder: Path | None) -> int:
    """Be the supervisor until told to stop."""
    held = lock.take(settings.layout.lock)
    try:
        if not settings.runtime_endpoint:
            containerd.write_configuration(settings.layout)
        import_common()
        return Supervisor(children(settings), log_folder).run()
    finally:
        settings.layout.lock.unlink(missing_ok=True)
        os.close(held)


def _detached(settings: Settings) -> int:
    """Have a supervisor in the background, and tell how it goes until the node is Ready."""
    layout = settings.layout
    begun = time.monotonic()
    log = layout.logs / SUPERVISOR_LOG
    if log.exists():
        trim_log(log)
    pid = _fork_daemon(lambda: _in_background(settings), log)
    api = NodeApi(layout.admin_kubeconfig)

    def alive() -> bool:
        return Path(f"/proc/{pid}").exists()

    try:
        with step("starting the node"):
            api.wait_ready(settings.node_name, READY_DEADLINE, alive)
    except (NotYet, OSError) as error:
        print(f"orlop up: node {settings.node_name} did not become ready: {error}", file=sys.stderr)
        if not alive():
            print(f"orlop up: the supervisor has ended; the end of {log}:", file=sys.stderr)
            print("\n".join(log.read_text(encoding="utf-8", errors="replace").splitlines()[-10:]), file=sys.stderr)
        else:
            print(f"orlop up: it goes on trying; see {layout.logs}", file=sys.stderr)
        return 1
    print(f"node {settings.node_name} is ready after {time.monotonic() - begun:.1f} s")
    print(f"export KUBECONFIG={layout.admin_kubeconfig}")
    return 0


def _in_background(settings: Settings) -> int:
    """Be the supervisor, and outlive the login that started it."""
    try:
        leave_session(f"orlop-{os.getpid()}")
    except ScopeError as error:
        print(f"orlop up: the node may end with this session: {error}", file=sys.stderr)
    return _supervise(settings, settings.layout.logs)


def _fork_daemon(main: Callable[[], int], log: Path) -> int:
    """Run `main` in a process of its own session that no terminal reaches; returns its id."""
    reading, writing = os.pipe()
    if (child := os.fork()) == 0:
        os.setsid()
        if (daemon := os.fork()) != 0:
            os.write(writing, str(daemon).encode())
            os._exit(0)
        code = 1
        try:
            os.close(reading)
            os.close(writing)
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            redirect_output(log)
            os.chdir("/")
            code = main()
        except lock.AlreadyRunning as running:
            print(f"orlop up: {running}", file=sys.stderr)
        except Exception:  # noqa: BLE001 - the last frame of a process: print and leave, whatever it was
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(code)
    os.close(writing)
    os.waitpid(child, 0)
    pid = int(os.read(reading, 32).decode())
    os.close(reading)
    return pid
