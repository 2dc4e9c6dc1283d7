"""orlop-cni on the real kernel: judged by our kit, killed and restarted, with packets that arrive."""

from __future__ import annotations

import asyncio
import ipaddress
import json
import os
import secrets
import subprocess
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from cni.bridge.program import install
from cni.bridge.service import PluginService
from cni.client.attachments import Attachment, AttachmentCache
from cni.client.execution import ProgramExecutor
from cni.client.networks import Network, parse_network
from cni.client.runner import Runner
from cni.conformance.judge import DEMANDS, Trial, judge
from cni.kernel.linux import LinuxKernel

pytestmark = pytest.mark.node


def ip(*arguments: str) -> str:
    return subprocess.run(["ip", *arguments], check=True, capture_output=True, text=True, timeout=20).stdout


class Namespaces:
    """Namespaces with a prefix of their own, all gone at the end."""

    def __init__(self) -> None:
        self.prefix = f"ot{secrets.token_hex(3)}"
        self.made: list[str] = []

    def make(self) -> str:
        name = f"{self.prefix}{len(self.made)}"
        ip("netns", "add", name)
        self.made.append(name)
        return f"/run/netns/{name}"

    def remove(self, path: str) -> None:
        ip("netns", "delete", os.path.basename(path))

    def links(self, path: str) -> Sequence[str]:
        return [link["ifname"] for link in json.loads(ip("-j", "-n", os.path.basename(path), "link"))]

    def close(self) -> None:
        for name in self.made:
            if os.path.exists(f"/run/netns/{name}"):
                ip("netns", "delete", name)


@pytest.fixture
def namespaces() -> Iterator[Namespaces]:
    namespaces = Namespaces()
    yield namespaces
    namespaces.close()


class Lab:
    """A folder with our executables, and a network of its own range and bridge."""

    def __init__(self, folder: Path) -> None:
        number = secrets.randbelow(200)
        self.folder = folder
        self.bridge = f"otb{secrets.token_hex(3)}"
        self.subnet = ipaddress.IPv4Network(f"10.199.{number}.0/24")
        self.socket = str(folder / "cni.sock")
        install(str(folder / "bin"), self.socket)
        self.config: dict[str, Any] = {
            "cniVersion": "1.1.0", "name": "pods", "type": "orlop-cni", "bridge": self.bridge,
            "subnet": str(self.subnet), "stateDir": str(folder / "state"), "capabilities": {"portMappings": True},
        }  # fmt: skip
        self.executor = ProgramExecutor([str(folder / "bin")])
        self.runner = Runner(self.executor, AttachmentCache(str(folder / "results")))

    @property
    def network(self) -> Network:
        return parse_network(json.dumps({"name": "pods", "cniVersion": "1.1.0", "plugins": [self.config]}))

    def leased(self) -> list[str]:
        folder = self.folder / "state" / "pods"
        return sorted(name for name in os.listdir(folder) if name.count(",") == 2) if folder.exists() else []

    def filtered(self) -> str:
        done = subprocess.run(
            ["nft", "list", "table", "ip", f"orlop-{self.bridge}"],
            capture_output=True,
            text=True,
            check=False,
            timeout=20,
        )
        return done.stdout

    def close(self) -> None:
        kernel = LinuxKernel()
        left = kernel.ports(self.bridge)
        kernel.remove_bridge(self.bridge)
        kernel.filter(f"add table ip orlop-{self.bridge}\ndelete table ip orlop-{self.bridge}\n")
        kernel.close()
        assert left == [], "links were left on the bridge"
        assert self.leased() == [], "addresses were left leased"


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    lab = Lab(tmp_path)
    yield lab
    lab.close()


@pytest.fixture(params=["alone", "with the agent"])
async def served(request: pytest.FixtureRequest, lab: Lab) -> AsyncIterator[Lab]:
    """The plugin as it is with and without an agent that serves it."""
    if request.param == "alone":
        yield lab
        return
    service = PluginService(lab.socket)
    await service.start()
    try:
        yield lab
    finally:
        await service.stop()


async def test_our_plugin_meets_every_demand_of_the_kit(served: Lab, namespaces: Namespaces) -> None:
    config = {key: value for key, value in served.config.items() if key != "capabilities"}
    verdicts = await judge(Trial(served.executor, config, namespaces))
    assert [f"{verdict.demand}: {verdict.complaint}" for verdict in verdicts if not verdict.met] == []
    assert len(verdicts) == len(DEMANDS)


async def test_the_kit_finds_fault_with_a_plugin_that_does_nothing(tmp_path: Path, namespaces: Namespaces) -> None:
    program = tmp_path / "idle"
    program.write_text("#!/bin/sh\ncat > /dev/null\necho '{}'\n", encoding="utf-8")
    program.chmod(0o755)
    config = {"cniVersion": "1.1.0", "name": "x", "type": "idle"}
    verdicts = await judge(Trial(ProgramExecutor([str(tmp_path)]), config, namespaces))
    faults = {verdict.demand for verdict in verdicts if not verdict.met}
    assert {"says its versions", "add makes the interface", "an unknown version is refused"} <= faults


async def test_the_kit_judges_a_plugin_of_others(tmp_path: Path, namespaces: Namespaces) -> None:
    bridge = f"otd{secrets.token_hex(3)}"
    config = {
        "cniVersion": "1.0.0", "name": bridge, "type": "bridge", "bridge": bridge, "isGateway": True,
        "ipam": {"type": "host-local", "subnet": "10.198.7.0/24", "dataDir": str(tmp_path)},
    }  # fmt: skip
    try:
        verdicts = {v.demand: v for v in await judge(Trial(ProgramExecutor(["/usr/lib/cni"]), config, namespaces))}
    finally:
        kernel = LinuxKernel()
        kernel.remove_bridge(bridge)
        kernel.close()
    for demand in ("says its versions", "add makes the interface", "del may be repeated", "del needs no namespace"):
        assert verdicts[demand].met, verdicts[demand]


async def answer(url: str, netns: str = "") -> str:
    inside = ["ip", "netns", "exec", os.path.basename(netns)] if netns else []
    process = await asyncio.create_subprocess_exec(
        *inside, "timeout", "5", "busybox", "wget", "-q", "-O", "-", url, stdout=asyncio.subprocess.PIPE
    )
    output, _ = await asyncio.wait_for(process.communicate(), 20)
    return output.decode().strip()


async def serve_http(netns: str, folder: Path, port: int) -> asyncio.subprocess.Process:
    (folder / "index.html").write_text("it is me", encoding="utf-8")
    process = await asyncio.create_subprocess_exec(
        "ip", "netns", "exec", os.path.basename(netns), "busybox", "httpd", "-f", "-p", str(port), "-h", str(folder)
    )

    for _ in range(100):
        if "it is me" in await answer(f"http://127.0.0.1:{port}/", netns):
            return process
        await asyncio.sleep(0.05)
    process.kill()
    await process.wait()
    raise AssertionError("the server in the namespace does not answer")


async def test_packets_arrive_by_pod_address_and_by_host_port(
    served: Lab, namespaces: Namespaces, tmp_path: Path
) -> None:
    port = 20000 + secrets.randbelow(9000)
    mapping = [{"hostPort": port, "containerPort": 8080, "protocol": "tcp"}]
    server = Attachment("server", namespaces.make(), "eth0", {}, {"portMappings": mapping})
    client = Attachment("client", namespaces.make(), "eth0")
    loopback = parse_network(json.dumps({"name": "lo", "cniVersion": "1.0.0", "type": "loopback"}))
    for attachment in (server, client):
        await served.runner.add(loopback, Attachment(attachment.container, attachment.netns, "lo"))
    address = (await served.runner.add(served.network, server))["ips"][0]["address"].partition("/")[0]
    await served.runner.add(served.network, client)
    process = await serve_http(server.netns, tmp_path, 8080)
    gateway = str(served.subnet.network_address + 1)
    try:
        assert await answer(f"http://{address}:8080/") == "it is me"
        assert await answer(f"http://{address}:8080/", client.netns) == "it is me"
        assert await answer(f"http://127.0.0.1:{port}/") == "it is me"
        assert await answer(f"http://{gateway}:{port}/", client.netns) == "it is me"
        assert await answer(f"http://{gateway}:{port}/", server.netns) == "it is me", "a pod by its own host port"
    finally:
        process.kill()
        await process.wait()
    for attachment in (server, client):
        await served.runner.check(served.network, attachment)
        await served.runner.delete(served.network, attachment)
    assert str(port) not in served.filtered()


async def test_a_pod_cannot_reach_what_listens_on_the_hosts_loopback(served: Lab, namespaces: Namespaces) -> None:
    pod = Attachment("pod", namespaces.make(), "eth0")
    await served.runner.add(served.network, pod)
    gateway = str(served.subnet.network_address + 1)
    server = await asyncio.start_server(lambda _reader, writer: writer.close(), "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    name = os.path.basename(pod.netns)
    ip("-n", name, "route", "add", "127.0.0.0/8", "via", gateway, "table", "main")
    setting = ["ip", "netns", "exec", name, "sysctl", "-qw", "net.ipv4.conf.eth0.route_localnet=1"]
    await (await asyncio.create_subprocess_exec(*setting)).wait()
    script = f"import socket; s = socket.create_connection(('127.0.0.1', {port}), 2)"
    process = await asyncio.create_subprocess_exec(
        "ip", "netns", "exec", name, "python3", "-c", script, stderr=asyncio.subprocess.DEVNULL
    )
    assert await asyncio.wait_for(process.wait(), 20) != 0
    server.close()
    await server.wait_closed()
    await served.runner.delete(served.network, pod)


async def test_pods_that_start_at_once_all_get_addresses_of_their_own(served: Lab, namespaces: Namespaces) -> None:
    pods = [Attachment(f"c{number}", namespaces.make(), "eth0") for number in range(12)]
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(served.runner.add(served.network, pod)) for pod in pods]
    addresses = {task.result()["ips"][0]["address"] for task in tasks}
    assert len(addresses) == len(pods)
    async with asyncio.TaskGroup() as group:
        for pod in pods:
            group.create_task(served.runner.delete(served.network, pod))


async def test_killed_programs_leak_nothing_once_gc_has_run(lab: Lab, namespaces: Namespaces) -> None:
    """kill -9 at a random moment of ADD, as often as the range has addresses to lose."""
    environment = {**os.environ, "CNI_COMMAND": "ADD", "CNI_IFNAME": "eth0", "CNI_PATH": "/nowhere"}
    config = json.dumps({**lab.config, "subnet": f"{lab.subnet.network_address}/28"}).encode()
    lab.config["subnet"] = f"{lab.subnet.network_address}/28"
    for attempt in range(20):
        netns = namespaces.make()
        process = await asyncio.create_subprocess_exec(
            str(lab.folder / "bin" / "orlop-cni"),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.DEVNULL,
            env={**environment, "CNI_CONTAINERID": f"k{attempt}", "CNI_NETNS": netns},
        )
        assert process.stdin is not None
        process.stdin.write(config)
        process.stdin.close()
        await asyncio.sleep(0.04 + attempt * 0.006)
        if process.returncode is None:
            process.kill()
        await process.wait()
        namespaces.remove(netns)
        await lab.runner.collect(lab.network, [])
    assert lab.leased() == []
    await lab.runner.status(lab.network)
