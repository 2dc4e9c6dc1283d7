"""What one ADD and one DEL of `orlop-cni` with a host port cost: as containerd calls it, with and without the agent.

Run by hand, as root: `python -m tests.bench.bench_cni [times]`. It works in a network namespace and on a bridge of its
own, and removes both.
"""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from cni.bridge.program import install
from cni.bridge.service import PluginService

NAME = f"orlop-bench-{os.getpid()}"
BRIDGE = f"ob{os.getpid()}"


def configuration(state: Path) -> bytes:
    """Of a network with a host port, as containerd hands it over."""
    port = {"hostPort": 18080, "containerPort": 80, "protocol": "TCP"}
    return json.dumps(
        {
            "cniVersion": "1.0.0",
            "name": "bench",
            "type": "orlop-cni",
            "bridge": BRIDGE,
            "subnet": "10.77.0.0/24",
            "stateDir": str(state),
            "capabilities": {"portMappings": True},
            "runtimeConfig": {"portMappings": [port]},
        }
    ).encode()


def run(*argv: str) -> None:
    """Run a command to its end. Raises subprocess.CalledProcessError when it fails."""
    subprocess.run(argv, check=True)


async def call(command: str, plugin: Path, network: bytes) -> float:
    """Milliseconds of one call, the start of the program included."""
    environment = {
        "CNI_COMMAND": command,
        "CNI_CONTAINERID": NAME,
        "CNI_NETNS": f"/run/netns/{NAME}",
        "CNI_IFNAME": "eth0",
        "CNI_PATH": str(plugin.parent),
    }
    begun = time.perf_counter()
    pipe = subprocess.PIPE
    process = await asyncio.create_subprocess_exec(str(plugin), stdin=pipe, stdout=pipe, env=environment)
    said, _ = await process.communicate(network)
    took = (time.perf_counter() - begun) * 1000
    if process.returncode:
        raise SystemExit(f"{command}: exit {process.returncode}: {said.decode()}")
    return took


async def measure(title: str, plugin: Path, network: bytes, times: int) -> None:
    adds, deletes = [], []
    for _ in range(times):
        adds.append(await call("ADD", plugin, network))
        deletes.append(await call("DEL", plugin, network))
    for command, took in (("ADD", adds), ("DEL", deletes)):
        took.sort()
        print(f"{title:18} {command} p50 {statistics.median(took):6.1f} ms  p90 {took[len(took) * 9 // 10]:6.1f} ms")


async def main(times: int) -> None:
    with tempfile.TemporaryDirectory(prefix="orlop-bench-") as folder:
        top = Path(folder)
        install(str(top / "bin"), str(top / "cni.sock"))
        plugin, network = top / "bin" / "orlop-cni", configuration(top / "state")
        with ExitStack() as undo:
            run("ip", "netns", "add", NAME)
            undo.callback(run, "ip", "netns", "del", NAME)
            await call("ADD", plugin, network)
            undo.callback(run, "ip", "link", "del", BRIDGE)
            undo.callback(run, "nft", "delete", "table", "ip", f"orlop-{BRIDGE}")
            await call("DEL", plugin, network)
            service = PluginService(str(top / "cni.sock"))
            await service.start()
            await measure("by the agent", plugin, network, times)
            await service.stop()
            await measure("agent away", plugin, network, times)


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else 40))
