"""The processes of a node as children of the supervisor: containerd, API server, controllers, agent."""

from __future__ import annotations

import asyncio
import importlib
import logging
import os
import signal
import socket
from collections.abc import Awaitable, Callable

from cli import cni_cache, containerd, shims
from cli.memory import keep_giving_back
from cli.settings import Settings
from cli.supervisor import Child

# What the Python processes have in common, imported before they are forked from one another so that it is in memory
# once. Nothing here may start a thread or open a connection.
COMMON = (
    "aiohttp", "asyncio", "msgspec", "orjson", "ssl", "uvloop", "yaml",
    "api.codec", "api.scheme", "api.core_v1", "api.apps_v1", "api.coordination_v1", "api.authentication_v1",
    "api.authorization_v1", "api.errors", "api.patches", "api.selectors", "client.rest", "client.informer",
    "client.events",
)  # fmt: skip


def import_common() -> None:
    """Import what the children share."""
    for module in COMMON:
        importlib.import_module(module)


def children(settings: Settings) -> list[Child]:
    """What to keep running, in the order in which it is started."""
    wanted = [
        Child("apiserver", lambda: _python(_apiserver(settings)), ready=lambda: _listens(settings.api_port)),
        Child("controller", lambda: _python(_controller(settings))),
        Child("agent", lambda: _python(_agent(settings))),
    ]
    if not settings.runtime_endpoint:
        wanted.insert(0, _containerd(settings))
    return wanted


def _containerd(settings: Settings) -> Child:
    layout = settings.layout
    argv = containerd.command(layout)

    def main() -> int:
        shims.end_idle(layout)
        cni_cache.remove_damaged(layout)
        os.execv(argv[0], argv)

    def ready() -> bool:
        """It serves, and has the images that pods cannot do without."""
        if not _accepts(str(layout.containerd_socket)):
            return False
        containerd.ensure_system_images(layout)
        return True

    return Child("containerd", main, ready=ready, ready_within=90, stop_within=20)


Run = Callable[[asyncio.Event], Awaitable[None]]


def _apiserver(settings: Settings) -> Run:
    def run(stop: asyncio.Event) -> Awaitable[None]:
        from controlplane.apiserver.server import run as serve

        return serve(settings.server(), stop)

    return run


def _controller(settings: Settings) -> Run:
    def run(stop: asyncio.Event) -> Awaitable[None]:
        from controlplane.manager import run as manage

        return manage(settings.manager(), stop)

    return run


def _agent(settings: Settings) -> Run:
    def run(stop: asyncio.Event) -> Awaitable[None]:
        from agent.main import run as work

        return work(settings.agent(), stop)

    return run


def _python(run: Run) -> int:
    """The life of a Python child: until it is told to stop, or fails."""
    import uvloop

    logging.basicConfig(
        level=logging.INFO,
        format="time=%(asctime)s.%(msecs)03dZ level=%(levelname)s logger=%(name)s %(message)s",
        datefmt="%Y-%m-%dT%H:%M:%S",
        force=True,
    )

    async def main() -> None:
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, stop.set)
        keep_giving_back(loop)
        await run(stop)

    uvloop.run(main())
    return 0


def _listens(port: int) -> bool:
    """Whether somebody accepts connections at a loopback port."""
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
    except OSError:
        return False
    return True


def _accepts(path: str) -> bool:
    """Whether somebody accepts connections at a unix socket."""
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(path)
        except OSError:
            return False
    return True
