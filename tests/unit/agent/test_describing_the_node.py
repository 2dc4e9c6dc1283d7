"""The Node object: what the machine has, how it is, and the patch that says so."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path

import pytest

from agent.node.addresses import NoAddress, detect, node_addresses, usable
from agent.node.conditions import conditions, problems
from agent.node.machine import Machine, allocatable, capacity, read_machine
from agent.node.status import NodeView, changed, node_status, status_patch
from agent.pods.seams import RuntimeInfo
from api import core_v1 as core
from api.codec import deepcopy, from_builtins, to_builtins
from api.patches import strategic_merge_patch
from api.times import Time

NOW = 1_767_225_600.0
HEALTHY = RuntimeInfo("containerd", "1.6.20", ready=True)
MACHINE = Machine(cpus=2, memory_kib=4046009, swap_bytes=0, huge_pages={2048: 0})


def write(root: Path, path: str, text: str) -> None:
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def test_a_machine_is_read_from_its_files(tmp_path: Path) -> None:
    write(tmp_path, "proc/meminfo", "MemTotal:        4046008 kB\nSwapTotal:       1024 kB\n")
    write(tmp_path, "proc/cpuinfo", "processor\t: 0\n\nprocessor\t: 1\n")
    write(tmp_path, "proc/sys/kernel/osrelease", "6.1.0-18-amd64\n")
    write(tmp_path, "proc/sys/kernel/random/boot_id", "boot\n")
    write(tmp_path, "etc/machine-id", "machine\n")
    write(tmp_path, "etc/os-release", 'ID=debian\nPRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\n')
    write(tmp_path, "sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", "4\n")
    machine = read_machine(str(tmp_path))
    assert (machine.cpus, machine.memory_kib, machine.swap_bytes) == (2, 4046008, 1024 * 1024)
    assert machine.os_image == "Debian GNU/Linux 12 (bookworm)"
    assert (machine.machine_id, machine.system_uuid, machine.boot_id) == ("machine", "machine", "boot")
    assert machine.huge_pages == {2048: 4}


def test_this_machine_can_be_read() -> None:
    machine = read_machine()
    assert machine.cpus >= 1 and machine.memory_kib > 0 and machine.boot_id and machine.kernel_version


def test_capacity_is_told_in_kibibytes_and_allocatable_keeps_something_back() -> None:
    assert {name: str(one) for name, one in capacity(MACHINE, 1000, 110).items()} == {
        "cpu": "2",
        "memory": "4046009Ki",
        "ephemeral-storage": "1000Ki",
        "pods": "110",
        "hugepages-2Mi": "0",
    }
    rest = allocatable(MACHINE, 1000, 110)
    assert (str(rest["memory"]), str(rest["ephemeral-storage"]), str(rest["cpu"])) == ("3943609Ki", "921600", "2")


def test_memory_for_huge_pages_is_no_other_memory() -> None:
    machine = dataclasses.replace(MACHINE, huge_pages={2048: 512})
    assert str(capacity(machine, 1, 1)["hugepages-2Mi"]) == "1Gi"
    assert str(allocatable(machine, 1, 1)["memory"]) == f"{4046009 - 102400 - 1048576}Ki"


def test_the_address_is_one_that_others_could_reach() -> None:
    assert usable("192.0.2.1") and not usable("127.0.0.1") and not usable("169.254.1.1") and not usable("x")
    try:
        assert usable(detect())
    except NoAddress as error:
        assert "--node-ip" in str(error)
    assert [(one.type, one.address) for one in node_addresses(("192.0.2.1",), "host")] == [
        ("InternalIP", "192.0.2.1"),
        ("Hostname", "host"),
    ]


class TestConditions:
    def test_of_a_healthy_node(self) -> None:
        made, events = conditions(problems(HEALTHY, ""), [], NOW)
        assert [(one.type, one.status, one.reason) for one in made] == [
            ("MemoryPressure", "False", "KubeletHasSufficientMemory"),
            ("DiskPressure", "False", "KubeletHasNoDiskPressure"),
            ("PIDPressure", "False", "KubeletHasSufficientPID"),
            ("Ready", "True", "KubeletReady"),
        ]
        assert made[-1].message == "kubelet is posting ready status"
        assert events == ["NodeHasSufficientMemory", "NodeHasNoDiskPressure", "NodeHasSufficientPID"]

    @pytest.mark.parametrize(
        ("runtime", "relist", "message"),
        [
            (None, "", "container runtime is down"),
            (
                dataclasses.replace(
                    HEALTHY,
                    network_ready=False,
                    network_reason="NetworkPluginNotReady",
                    network_message="Network plugin returns error: cni plugin not initialized",
                ),
                "",
                "container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady "
                "message:Network plugin returns error: cni plugin not initialized",
            ),
            (HEALTHY, "PLEG is not healthy: x", "PLEG is not healthy: x"),
        ],
    )
    def test_of_an_unready_node_say_why(self, runtime: RuntimeInfo | None, relist: str, message: str) -> None:
        made, _ = conditions(problems(runtime, relist), [], NOW)
        assert (made[-1].status, made[-1].reason, made[-1].message) == ("False", "KubeletNotReady", message)

    def test_keep_their_transition_time_and_tell_of_changes_only(self) -> None:
        first, _ = conditions([], [], NOW)
        same, events = conditions([], first, NOW + 10)
        assert events == [] and same[-1].last_transition_time == Time.from_timestamp(NOW)
        assert same[-1].last_heartbeat_time == Time.from_timestamp(NOW + 10)
        other, events = conditions(["no"], same, NOW + 20)
        assert events == ["NodeNotReady"] and other[-1].last_transition_time == Time.from_timestamp(NOW + 20)


def view(now: float = NOW, **changes: object) -> NodeView:
    made, _ = conditions([], [], now)
    base = NodeView(
        machine=MACHINE,
        hostname="node",
        ips=("192.0.2.1",),
        capacity=capacity(MACHINE, 1000, 110),
        allocatable=allocatable(MACHINE, 1000, 110),
        conditions=made,
        version="v1.36.2",
        port=10250,
        runtime=HEALTHY,
    )
    return dataclasses.replace(base, **changes)  # type: ignore[arg-type]


class TestStatus:
    def test_says_who_the_runtime_and_where_the_agent_is(self) -> None:
        plain = to_builtins(node_status(view(), core.NodeStatus()))
        assert plain["nodeInfo"]["containerRuntimeVersion"] == "containerd://1.6.20"
        assert plain["daemonEndpoints"] == {"kubeletEndpoint": {"Port": 10250}}

    def test_a_heartbeat_alone_is_no_change(self) -> None:
        old = node_status(view(), core.NodeStatus())
        made, _ = conditions([], old.conditions, NOW + 60)
        assert not changed(old, node_status(view(conditions=made), old))
        made, _ = conditions(["no"], old.conditions, NOW + 60)
        assert changed(old, node_status(view(conditions=made), old))

    def test_the_patch_turns_one_into_the_other_and_keeps_what_others_wrote(self) -> None:
        old = node_status(view(), core.NodeStatus())
        old.conditions.append(core.NodeCondition(type="NetworkUnavailable", status="False"))
        old.capacity["example.com/gpu"] = old.capacity["cpu"]
        old.volumes_in_use = ["volume"]
        new = node_status(view(NOW + 60, ips=("192.0.2.7", "2001:db8::7"), hostname="other"), deepcopy(old))
        patch = status_patch(old, new)
        merged = strategic_merge_patch({"status": to_builtins(old)}, patch, core.Node)["status"]
        got = to_builtins(from_builtins(merged, core.NodeStatus))
        want = to_builtins(new)
        for one in (got, want):
            one["conditions"] = sorted(one["conditions"], key=lambda condition: condition["type"])
        assert got == want
        assert "NetworkUnavailable" in {one["type"] for one in got["conditions"]}
        assert got["volumesInUse"] == ["volume"] and "example.com/gpu" in got["capacity"]


def test_the_storage_is_that_of_the_agents_folder(tmp_path: os.PathLike[str]) -> None:
    from agent.node.machine import storage_kib

    assert storage_kib(os.fspath(tmp_path)) > 0
