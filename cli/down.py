"""`orlop down`: end a node with all of its pods and leave nothing behind.

It works whatever state the node is in: running, killed, half started. What it knows of the node it reads from the host
(the lock, the runtime, mount points, links, cgroups), never from memory of what was once started.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from agent.resources.cgroups import machine_tree
from agent.resources.kernel import look_up
from agent.volumes.kernel import LinuxMounts
from agent.volumes.layout import pod_uids
from agent.volumes.removing import unmount_all
from cli import cni_cache, containerd, lock, shims
from cli.parenthood import die_with_parent
from cli.progress import step
from cli.settings import Settings
from cni.bridge.removing import remove_network
from cni.kernel.linux import LinuxKernel
from cri.client import RuntimeClient
from cri.errors import CriError
from proto import cri_pb2 as cri

SUPERVISOR_DEADLINE = 60.0
RECOVERY_DEADLINE = 60.0
POD_GRACE = 5  # seconds that containers get between the stop signal and the kill
CGROUP_DEADLINE = 10.0
POD_UID = "io.kubernetes.pod.uid"


class DownError(Exception):
    """Something could not be removed; the text names it."""


def down(settings: Settings, *, purge: bool) -> int:
    """Stop and clean up; returns the exit code. Every step is tried, whatever became of the one before."""
    steps: list[tuple[str, Callable[[], None]]] = [
        ("stopping the node's processes", lambda: _stop_supervisor(settings)),
        ("stopping pods", lambda: _stop_pods(settings)),
        ("removing the pods' mounts", lambda: _unmount(settings)),
        ("removing the pod network", lambda: _remove_network(settings)),
        ("removing cgroups", lambda: _remove_cgroups(settings)),
        ("removing files", lambda: _remove_files(settings, purge=purge)),
    ]
    failed = False
    for text, action in steps:
        try:
            with step(text):
                action()
        except Exception as error:  # noqa: BLE001 - reported below; the next step removes what it can all the same
            print(f"orlop down: {text}: {error}", file=sys.stderr)
            failed = True
    return 1 if failed else 0


def _stop_supervisor(settings: Settings) -> None:
    path = settings.layout.lock
    pid = lock.holder(path)
    if pid is None:
        return
    os.kill(pid, signal.SIGTERM)
    until = time.monotonic() + SUPERVISOR_DEADLINE
    while lock.holder(path) == pid:
        if time.monotonic() > until:
            os.kill(pid, signal.SIGKILL)
        time.sleep(0.05)


# ------------------------------------------------------------------- pods


def _stop_pods(settings: Settings) -> None:
    """Stop and remove every pod sandbox of ours: by way of the runtime, and by hand what it does not let go of."""
    if settings.runtime_endpoint:
        stayed = asyncio.run(_remove_sandboxes(settings.runtime_endpoint, _our_pods(settings)))
        if stayed:
            raise DownError("; ".join(str(each) for each in stayed))
        return
    if not settings.layout.containerd_root.exists():
        return
    owner = cni_cache.Owner.of(settings.layout, _our_pods(settings))
    left: list[CriError] = []
    try:
        with _containerd(settings):
            left = asyncio.run(_remove_sandboxes(settings.endpoint, None))
    finally:
        # Those that outlived their pods.
        shims.end(settings.layout, shims.running(settings.layout))
        _forget_attachments(owner)
    for each in left:
        print(f"orlop down: {each}; its processes and network were removed all the same", file=sys.stderr)


def _our_pods(settings: Settings) -> set[str]:
    """UIDs of the pods that may have a sandbox: those with files of ours, and those that have ended and left a log."""
    logs = settings.layout.pod_logs
    logged = os.listdir(logs) if logs.exists() else []
    return {*pod_uids(settings.layout.agent_root), *(name.rpartition("_")[2] for name in logged)}


@contextmanager
def _containerd(settings: Settings) -> Iterator[None]:
    """Our containerd, once more, for the time it takes."""
    layout = settings.layout
    for folder in (layout.run, layout.cni_config, layout.cni_plugins):
        folder.mkdir(parents=True, exist_ok=True)
    containerd.write_configuration(layout)
    cni_cache.remove_damaged(layout)
    path = layout.run / "containerd.log"
    with path.open("wb") as log:
        # A second one, of a second `orlop down` after this one was killed, would wait for the first one's files.
        process = subprocess.Popen(
            containerd.command(layout), stdout=log, stderr=log, stdin=subprocess.DEVNULL, preexec_fn=die_with_parent
        )
    try:
        containerd.wait_until_it_answers(layout, process, path)
        yield
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


async def _remove_sandboxes(endpoint: str, uids: set[str] | None) -> list[CriError]:
    """Remove the sandboxes of the pods in `uids`, or all; returns why some stayed.

    Raises CriError when the runtime does not answer.
    """
    client = RuntimeClient(endpoint)
    try:
        known = await (sandboxes_known(client) if uids is None else client.list_pod_sandbox())
        sandboxes = [each for each in known if uids is None or each.labels.get(POD_UID) in uids]
        ours = {each.id for each in sandboxes}
        running = [
            each.id
            for each in await client.list_containers()
            if each.pod_sandbox_id in ours and each.state == cri.CONTAINER_RUNNING
        ]
        # One that cannot be stopped is killed with its sandbox below.
        await asyncio.gather(*(client.stop_container(one, POD_GRACE) for one in running), return_exceptions=True)
        turns = asyncio.Semaphore(8)

        async def remove(sandbox: str) -> CriError | None:
            async with turns:
                try:
                    await client.stop_pod_sandbox(sandbox)
                    await client.remove_pod_sandbox(sandbox)
                except CriError as error:
                    return error
            return None

        return [one for one in await asyncio.gather(*(remove(each.id) for each in sandboxes)) if one is not None]
    finally:
        await client.close()


async def sandboxes_known(client: RuntimeClient, deadline: float = RECOVERY_DEADLINE) -> Sequence[cri.PodSandbox]:
    """The sandboxes that our containerd knows: it answers before it has looked for what there is, which takes seconds
    after it was killed. Raises CriError after `deadline` seconds.
    """
    until = time.monotonic() + deadline
    while True:
        try:
            return await client.list_pod_sandbox()
        except CriError:
            if time.monotonic() > until:
                raise
        await asyncio.sleep(0.05)


def _forget_attachments(owner: cni_cache.Owner) -> None:
    """Remove the record of the attachments of sandboxes that their runtime does not know (any more).

    Raises DownError naming all that cannot be removed.
    """
    failures = []
    for result in cni_cache.ours(owner):
        try:
            result.file.unlink(missing_ok=True)
        except OSError as error:
            failures.append(str(error))
    if failures:
        raise DownError("; ".join(failures))


# ------------------------------------------------------- what pods leave


def _unmount(settings: Settings) -> None:
    mounts = LinuxMounts()
    for folder in (settings.layout.agent_root, settings.layout.run, settings.layout.containerd_root):
        unmount_all(folder, mounts)


def _remove_network(settings: Settings) -> None:
    if not settings.own_network:
        return
    kernel = LinuxKernel()
    try:
        remove_network(kernel, settings.bridge)
    finally:
        kernel.close()


def _remove_cgroups(settings: Settings) -> None:
    tree = machine_tree(look_up())
    until = time.monotonic() + CGROUP_DEADLINE
    while tree.exists(settings.cgroup_root):
        tree.kill(settings.cgroup_root)
        try:
            tree.remove(settings.cgroup_root)
        except OSError as error:
            if time.monotonic() > until:
                raise DownError(f"cgroup {settings.cgroup_root}: {error}") from error
            time.sleep(0.05)


def _remove_files(settings: Settings, *, purge: bool) -> None:
    layout = settings.layout
    mounts = LinuxMounts()
    folders = [layout.run, *((layout.data, layout.config) if purge else ())]
    for folder in folders:
        real = folder.resolve()
        left = mounts.points(real)
        if inside := [one for one in left if Path(one) != real]:
            raise DownError(f"{inside[0]} is still mounted")
        if left:
            # A disk of its own, which is not ours to unmount: it is given back empty.
            for one in real.iterdir():
                shutil.rmtree(one) if one.is_dir() and not one.is_symlink() else one.unlink()
        elif folder.exists():
            shutil.rmtree(folder)
    if not settings.runtime_endpoint:
        containerd.remove_leavings()
