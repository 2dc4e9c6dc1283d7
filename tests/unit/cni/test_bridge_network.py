"""orlop-cni on a kernel made of dictionaries: what it gives, what it leaves, and dying at every step."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from cni.bridge.plugin import Plugin
from cni.fake import FakeKernel
from cni.fake.kernel import Killed

NETNS = "/run/netns/one"
PORTS = [{"hostPort": 8080, "containerPort": 80, "protocol": "TCP"}]


class Node:
    """A node with our plugin: calls it like a runtime does."""

    def __init__(self, folder: Path, subnet: str = "10.42.0.0/24") -> None:
        self.kernel = FakeKernel(namespaces={NETNS})
        self.plugin = Plugin(self.kernel)
        self.config: dict[str, Any] = {
            "cniVersion": "1.1.0", "name": "pods", "type": "orlop-cni", "bridge": "orlop0", "subnet": subnet,
            "stateDir": str(folder),
        }  # fmt: skip
        self.leases = folder / "pods"

    def restart(self) -> None:
        self.plugin = Plugin(self.kernel)

    def call(self, command: str, container: str = "c1", netns: str = NETNS, **changes: Any) -> tuple[int, Any]:
        environment = {"CNI_COMMAND": command}
        if command in ("ADD", "DEL", "CHECK"):
            environment |= {"CNI_CONTAINERID": container, "CNI_NETNS": netns, "CNI_IFNAME": "eth0"}
        config = {key.replace("__", "/"): value for key, value in {**self.config, **changes}.items()}
        code, output = self.plugin.serve("orlop-cni", environment, json.dumps(config).encode())
        return code, json.loads(output) if output else None

    def leased(self) -> list[str]:
        return sorted(name for name in os.listdir(self.leases) if name.count(",") == 2) if self.leases.exists() else []

    def clean(self) -> bool:
        maps = self.kernel.tables.get("orlop-orlop0", {})
        return not self.leased() and not self.kernel.cables and not any(maps.values())


@pytest.fixture
def node(tmp_path: Path) -> Node:
    return Node(tmp_path)


def with_ports(ports: list[dict[str, Any]]) -> dict[str, Any]:
    return {"runtimeConfig": {"portMappings": ports}}


def test_add_gives_an_address_a_route_and_a_gateway(node: Node) -> None:
    code, result = node.call("ADD")
    assert code == 0
    assert result["ips"] == [{"address": "10.42.0.2/24", "gateway": "10.42.0.1", "interface": 2}]
    assert result["routes"] == [{"dst": "0.0.0.0/0", "gw": "10.42.0.1"}]
    assert result["interfaces"][2] == {"name": "eth0", "mac": "0a:58:0a:2a:00:02", "sandbox": NETNS}
    assert node.kernel.bridges == {"orlop0": ("10.42.0.1", 24)}


def test_results_before_version_1_say_which_ip_version(node: Node) -> None:
    _, result = node.call("ADD", cniVersion="0.4.0")
    assert result["cniVersion"] == "0.4.0"
    assert result["ips"][0]["version"] == "4"


def test_host_ports_are_opened_and_closed(node: Node) -> None:
    ports = [*PORTS, {"hostPort": 53, "containerPort": 5353, "protocol": "UDP", "hostIP": "127.0.0.1"}]
    assert node.call("ADD", **with_ports(ports))[0] == 0
    assert node.kernel.tables["orlop-orlop0"] == {
        "ports": {"tcp . 8080": "10.42.0.2 . 80"},
        "addressed": {"127.0.0.1 . udp . 53": "10.42.0.2 . 5353"},
    }
    assert node.call("DEL")[0] == 0
    assert node.clean()


def test_port_mappings_are_read_in_the_spelling_of_containerd(node: Node) -> None:
    ports = [{"HostPort": 8080, "ContainerPort": 80, "Protocol": "tcp", "HostIP": ""}]
    assert node.call("ADD", **with_ports(ports))[0] == 0
    assert node.kernel.tables["orlop-orlop0"]["ports"] == {"tcp . 8080": "10.42.0.2 . 80"}


def test_del_goes_by_what_was_recorded_and_not_by_the_mappings_it_is_called_with(node: Node) -> None:
    node.call("ADD", **with_ports(PORTS))
    assert node.call("DEL", **with_ports([{"nonsense": True}])) == (0, None)
    assert node.clean()


def test_a_host_port_that_is_taken_fails_the_second_pod_and_leaves_the_first(node: Node) -> None:
    node.kernel.namespaces.add("/run/netns/two")
    node.call("ADD", **with_ports(PORTS))
    code, error = node.call("ADD", "c2", "/run/netns/two", **with_ports(PORTS))
    assert code == 1
    assert "File exists" in error["details"]
    assert node.kernel.tables["orlop-orlop0"]["ports"] == {"tcp . 8080": "10.42.0.2 . 80"}
    assert [name.split(",")[1] for name in node.leased()] == ["c1"]


def test_del_succeeds_for_what_is_gone(node: Node) -> None:
    assert node.call("DEL", "never-was") == (0, None)
    node.call("ADD", **with_ports(PORTS))
    node.kernel.cables.clear()
    node.kernel.tables.clear()
    assert node.call("DEL") == (0, None)
    assert node.call("DEL") == (0, None)
    assert node.clean()


def test_addresses_are_not_given_out_again_at_once(node: Node) -> None:
    given = []
    for _ in range(3):
        given.append(node.call("ADD")[1]["ips"][0]["address"])
        node.call("DEL")
    assert given == ["10.42.0.2/24", "10.42.0.3/24", "10.42.0.4/24"]


def test_a_full_range_is_an_error_that_says_so_and_status_says_it_before(tmp_path: Path) -> None:
    node = Node(tmp_path, "10.42.0.0/29")
    for number in range(5):
        assert node.call("STATUS")[0] == 0
        node.kernel.namespaces.add(f"/run/netns/{number}")
        assert node.call("ADD", f"c{number}", f"/run/netns/{number}")[0] == 0
    code, error = node.call("ADD", "one-too-many")
    assert (code, error["code"]) == (1, 110)
    assert "all 5 are leased" in error["msg"]
    assert node.call("STATUS")[1]["code"] == 50
    node.call("DEL", "c3", "/run/netns/3")
    assert node.call("ADD", "fits-now")[1]["ips"][0]["address"] == "10.42.0.5/29"


def test_a_failed_add_leaves_nothing(node: Node) -> None:
    code, error = node.call("ADD", netns="/run/netns/missing", **with_ports(PORTS))
    assert (code, error["code"]) == (1, 3)
    assert node.clean()


def test_a_failure_that_cannot_be_undone_keeps_the_lease_for_gc(node: Node) -> None:
    node.call("ADD")
    node.call("DEL")
    node.kernel.fail(OSError(5, "Input/output error"), after=1)  # plug
    node.kernel.fail(OSError(5, "Input/output error"), after=2)  # unplug
    code, error = node.call("ADD")
    assert code == 1
    assert "undo it" in error["details"]
    assert len(node.leased()) == 1
    assert node.call("GC", **{"cni.dev__valid-attachments": []})[0] == 0
    assert node.clean()


@pytest.mark.parametrize("step", range(8))
def test_killed_at_any_step_of_add_a_later_del_leaves_nothing(node: Node, step: int) -> None:
    node.kernel.fail(Killed(), after=step)
    try:
        node.call("ADD", **with_ports(PORTS))
        node.kernel.faults.clear()
    except Killed:
        pass
    node.restart()
    assert node.call("DEL") == (0, None)
    assert node.clean()


@pytest.mark.parametrize("step", range(8))
def test_killed_at_any_step_of_add_the_same_add_works_when_tried_again(node: Node, step: int) -> None:
    node.kernel.fail(Killed(), after=step)
    try:
        node.call("ADD", **with_ports(PORTS))
        node.kernel.faults.clear()
        node.call("DEL")
    except Killed:
        if node.kernel.cables:  # the interface is there, so the runtime must DEL first
            assert node.call("ADD")[0] == 1
            node.call("DEL")
    node.restart()
    assert node.call("ADD", **with_ports(PORTS))[0] == 0
    assert len(node.leased()) == 1


@pytest.mark.parametrize("step", range(5))
def test_killed_at_any_step_of_del_it_works_when_tried_again(node: Node, step: int) -> None:
    node.call("ADD", **with_ports(PORTS))
    node.kernel.fail(Killed(), after=step)
    try:
        node.call("DEL")
        node.kernel.faults.clear()
    except Killed:
        pass
    node.restart()
    assert node.call("DEL") == (0, None)
    assert node.clean()


def test_a_reboot_leaks_no_address(tmp_path: Path) -> None:
    node = Node(tmp_path, "10.42.0.0/29")
    for boot in range(4):
        for number in range(5):
            netns = f"/run/netns/{boot}-{number}"
            node.kernel.namespaces.add(netns)
            assert node.call("ADD", f"c{boot}-{number}", netns)[0] == 0, (boot, number)
        node.kernel.reboot()
        node.restart()
    assert node.call("STATUS")[0] == 0
    for number in range(5):  # the runtime still detaches what it remembers of the boot before
        assert node.call("DEL", f"c3-{number}", "")[0] == 0


def test_gc_removes_the_rest_and_repairs_what_others_flushed(node: Node) -> None:
    node.kernel.namespaces.add("/run/netns/two")
    node.call("ADD", "kept", NETNS, **with_ports(PORTS))
    node.call("ADD", "lost", "/run/netns/two", **with_ports([{"hostPort": 81, "containerPort": 81}]))
    node.kernel.tables.clear()
    assert node.call("GC", **{"cni.dev__valid-attachments": [{"containerID": "kept", "ifname": "eth0"}]}) == (0, None)
    assert [name.split(",")[1] for name in node.leased()] == ["kept"]
    assert len(node.kernel.cables) == 1
    assert node.kernel.tables["orlop-orlop0"]["ports"] == {"tcp . 8080": "10.42.0.2 . 80"}


def test_a_flushed_packet_filter_is_made_again_by_the_next_pod_with_a_port(node: Node) -> None:
    node.kernel.namespaces.add("/run/netns/two")
    node.call("ADD", "c1", **with_ports(PORTS))
    node.kernel.tables.clear()
    assert node.call("ADD", "c2", "/run/netns/two", **with_ports([{"hostPort": 81, "containerPort": 81}]))[0] == 0
    assert node.kernel.tables["orlop-orlop0"]["ports"] == {
        "tcp . 8080": "10.42.0.2 . 80",
        "tcp . 81": "10.42.0.3 . 81",
    }


def test_check_names_what_differs(node: Node) -> None:
    _, result = node.call("ADD")
    assert node.call("CHECK", prevResult=result) == (0, None)
    node.kernel.cables.clear()
    code, error = node.call("CHECK", prevResult=result)
    assert code == 1
    assert "interface eth0 is missing" in error["details"]
    node.call("DEL")
    assert "no address is leased" in node.call("CHECK", prevResult=result)[1]["details"]


def test_a_damaged_lease_still_holds_its_address_and_can_be_released(node: Node) -> None:
    node.call("ADD")
    (name,) = node.leased()
    (node.leases / name).write_text("{", encoding="utf-8")
    node.kernel.namespaces.add("/run/netns/two")
    assert node.call("ADD", "c2", "/run/netns/two")[1]["ips"][0]["address"] == "10.42.0.3/24"
    assert node.call("DEL")[0] == 0
    assert [name.split(",")[1] for name in node.leased()] == ["c2"]


@pytest.mark.parametrize(
    ("changes", "code", "text"),
    [
        ({"subnet": "10.42.0.0/33"}, 7, "subnet"),
        ({"subnet": None}, 7, "subnet"),
        ({"subnet": "10.42.0.0/30"}, 7, "too small"),
        ({"bridge": "a/b"}, 7, "bridge"),
        ({"mtu": "big"}, 7, "mtu"),
        ({"stateDir": "relative"}, 7, "stateDir"),
        ({"name": "../x"}, 7, "name"),
        ({"cniVersion": "9.9.9"}, 1, "incompatible"),
        ({"runtimeConfig": {"portMappings": [{"hostPort": 70000, "containerPort": 1}]}}, 7, "port mapping"),
        ({"runtimeConfig": {"portMappings": [{"hostPort": 1, "containerPort": 1, "protocol": "x"}]}}, 7, "protocol"),
        ({"runtimeConfig": {"portMappings": 5}}, 7, "portMappings"),
    ],
)
def test_bad_configuration_is_refused_and_named(node: Node, changes: dict[str, Any], code: int, text: str) -> None:
    exit_code, error = node.call("ADD", **changes)
    assert (exit_code, error["code"]) == (1, code)
    assert text in f"{error['msg']} {error.get('details', '')}"
    assert node.clean()
