"""Addresses, names and ports of pods: packets that arrive."""

from __future__ import annotations

import subprocess
import urllib.request
from pathlib import Path

import pytest

from tests.node.cluster.installation import Installation, free_ports
from tests.node.cluster.kubectl import Kubectl, rows
from tests.node.cluster.manifests import Manifest, container, once, pod, shell
from tests.node.cluster.waiting import eventually

pytestmark = pytest.mark.node


def web(name: str, text: str = "", port: int = 8080, **more: object) -> Manifest:
    """A pod that answers HTTP, ready once it does."""
    script = f"mkdir -p /www; echo {text or name} > /www/index.html; exec httpd -f -p {port} -h /www"
    probe = {"tcpSocket": {"port": port}, "periodSeconds": 1}
    ports = more.pop("ports", [{"containerPort": port}])
    return pod(name, container(command=shell(script), readinessProbe=probe, ports=ports), **more)  # type: ignore[arg-type]


def fetch(address: str, port: int) -> str:
    with urllib.request.urlopen(f"http://{address}:{port}/", timeout=10) as answer:
        text: str = answer.read().decode().strip()
        return text


def ip(kubectl: Kubectl, name: str) -> str:
    return kubectl.field(f"pod/{name}", ".status.podIP")


def test_pods_reach_each_other_and_the_host_reaches_them(kubectl: Kubectl, node: Installation) -> None:
    kubectl.apply(web("server"))
    kubectl.wait("pod/server", "condition=Ready")
    address = ip(kubectl, "server")
    assert fetch(address, 8080) == "server"
    said = kubectl.run_pod(once("client", f"wget -qO- http://{address}:8080/; ip -4 -o addr show eth0; ip route"))
    answer, own, route = said.splitlines()[:3]
    assert answer == "server"
    assert ip(kubectl, "client") in own or kubectl.get("pod", "client")["status"]["podIP"] in own
    assert route.startswith(f"default via {node.pod_cidr.rpartition('.')[0]}.1")


def test_host_ports_survive_a_flush_of_the_packet_filter(kubectl: Kubectl, node: Installation) -> None:
    (port,) = free_ports(1)
    kubectl.apply(web("first", ports=[{"containerPort": 8080, "hostPort": port}]))
    kubectl.wait("pod/first", "condition=Ready")
    host = kubectl.field("pod/first", ".status.hostIP")
    assert fetch(host, port) == "first"
    # As much of `nft flush ruleset` as concerns nobody else on this machine.
    table = f"orlop-{node.bridge}"
    subprocess.run(["nft", "delete", "table", "ip", table], check=True, timeout=10)

    def answers() -> bool:
        try:
            return fetch(host, port) == "first"
        except OSError:
            return False

    eventually(answers, "an answer at the host port", 20)
    assert f"table={table}" in (node.logs / "agent.log").read_text()


def test_host_ports(kubectl: Kubectl, node: Installation) -> None:
    (port,) = free_ports(1)
    ports = [{"containerPort": 8080, "hostPort": port}]
    kubectl.apply(web("first", ports=ports))
    kubectl.wait("pod/first", "condition=Ready")
    host = kubectl.field("pod/first", ".status.hostIP")
    assert fetch(host, port) == "first"
    assert fetch("127.0.0.1", port) == "first"
    said = kubectl.run_pod(once("client", f"wget -qO- http://{host}:{port}/"))
    assert said == "first\n"

    kubectl.apply(web("second", ports=ports))
    kubectl.expect_event(
        "second",
        "FailedScheduling",
        "0/1 nodes are available: 1 node(s) didn't have free ports for the requested pod ports.",
    )
    kubectl("delete", "pod", "first")
    kubectl.wait("pod/second", "condition=Ready")
    assert eventually(lambda: fetch(host, port), "an answer") == "second"
    kubectl("delete", "pod", "second")
    with pytest.raises(OSError):
        fetch("127.0.0.1", port)


def test_the_network_of_the_host(kubectl: Kubectl, node: Installation) -> None:
    (port,) = free_ports(1)
    kubectl.apply(web("host", port=port, hostNetwork=True))
    kubectl.wait("pod/host", "condition=Ready")
    made = kubectl.get("pod", "host")
    assert made["status"]["podIP"] == made["status"]["hostIP"]
    assert made["spec"]["containers"][0]["ports"][0]["hostPort"] == port
    assert fetch("127.0.0.1", port) == "host"
    row = rows(kubectl("get", "pod", "host", "-o", "wide"))[0]
    assert row[5:7] == [made["status"]["hostIP"], node.name]


def test_names_in_the_hosts_file(kubectl: Kubectl) -> None:
    said = kubectl.run_pod(
        once(
            "named",
            "hostname; hostname -f; cat /etc/hosts",
            hostname="inner",
            hostAliases=[{"ip": "192.0.2.7", "hostnames": ["seven", "lucky"]}],
        )
    )
    lines = said.splitlines()
    assert lines[0] == "inner"
    assert "# Kubernetes-managed hosts file." in lines
    assert "127.0.0.1\tlocalhost" in lines
    assert f"{ip(kubectl, 'named')}\tinner" in lines
    assert "# Entries added by HostAliases." in lines
    assert "192.0.2.7\tseven\tlucky" in lines


def test_subdomains_make_full_names(kubectl: Kubectl) -> None:
    named = once("member", "hostname -f; cat /etc/hosts", hostname="zero")
    named["spec"]["subdomain"] = "group"
    said = kubectl.run_pod(named)
    full = f"zero.group.{kubectl.namespace}.svc.cluster.local"
    assert said.splitlines()[0] == full
    assert f"{ip(kubectl, 'member')}\t{full}\tzero" in said


def test_resolver_configurations(kubectl: Kubectl) -> None:
    show = "cat /etc/resolv.conf"
    own = {"nameservers": ["192.0.2.53"], "searches": ["example.org"], "options": [{"name": "ndots", "value": "2"}]}
    kubectl.apply(
        once("cluster-first", show),
        once("none", show, dnsPolicy="None", dnsConfig=own),
        once("default", show, dnsPolicy="Default"),
    )
    for name in ("cluster-first", "none", "default"):
        kubectl.wait(f"pod/{name}", "jsonpath={.status.phase}=Succeeded")
    usual = kubectl("logs", "cluster-first").splitlines()
    search = f"search {kubectl.namespace}.svc.cluster.local svc.cluster.local cluster.local"
    assert usual[0].startswith(search)
    assert usual[1:] == ["nameserver 10.143.0.10", "options ndots:5"]
    assert kubectl("logs", "none").splitlines() == [
        "search example.org",
        "nameserver 192.0.2.53",
        "options ndots:2",
    ]
    host = [line.split()[1] for line in Path("/etc/resolv.conf").read_text().splitlines() if "nameserver" in line]
    seen = [line.split()[1] for line in kubectl("logs", "default").splitlines() if line.startswith("nameserver")]
    assert seen == host
