"""Whom the node refuses, and in which words."""

from __future__ import annotations

from typing import Any

import pytest

from agent.pods.admission import admit
from api import core_v1 as core
from api import meta_v1 as meta
from api.codec import from_builtins
from api.quantity import Quantity
from tests.unit.agent.pod_builders import pod

ROOM = {"cpu": Quantity("2"), "memory": Quantity("4Gi"), "pods": Quantity("3"), "ephemeral-storage": Quantity("10Gi")}


def node(labels: dict[str, str] | None = None, taints: list[dict[str, str]] | None = None) -> core.Node:
    made = core.Node(metadata=meta.ObjectMeta(name="node", labels=labels or {}))
    made.spec.taints = [from_builtins(one, core.Taint) for one in taints or []]
    return made


def sized(name: str = "app", **requests: str) -> dict[str, Any]:
    return {"name": name, "resources": {"requests": requests}}


def verdict(web: core.Pod, *others: core.Pod, at: core.Node | None = None) -> tuple[str, str] | None:
    refusal = admit(web, at or node(), ROOM, others)
    return (refusal.reason, refusal.message) if refusal is not None else None


def test_a_pod_that_fits_is_let_in() -> None:
    assert verdict(pod(sized(cpu="1")), pod(sized(cpu="1"))) is None


@pytest.mark.parametrize(
    ("request_", "figures"),
    [
        ({"cpu": "1500m"}, "cpu, requested: 1500, used: 1000, capacity: 2000"),
        ({"memory": "4Gi"}, "memory, requested: 4294967296, used: 1073741824, capacity: 4294967296"),
    ],
)
def test_a_pod_without_room_is_refused_with_the_figures(request_: dict[str, str], figures: str) -> None:
    name = next(iter(request_))
    answer = verdict(pod(sized(**request_)), pod(sized(cpu="1", memory="1Gi")))
    assert answer == (f"OutOf{name}", f"Node didn't have enough resource: {figures}")


def test_the_number_of_pods_is_limited() -> None:
    others = [pod(uid=str(number)) for number in range(3)]
    assert verdict(pod(), *others) == (
        "OutOfpods",
        "Node didn't have enough resource: pods, requested: 1, used: 3, capacity: 3",
    )


def test_resources_of_the_cluster_are_none_of_the_nodes_business() -> None:
    assert verdict(pod(sized(**{"example.com/licence": "1"}))) is None


@pytest.mark.parametrize(
    ("spec", "suits"),
    [
        ({"nodeSelector": {"disk": "ssd"}}, True),
        ({"nodeSelector": {"disk": "hdd"}}, False),
        ({"affinity": [{"key": "disk", "operator": "In", "values": ["ssd", "nvme"]}]}, True),
        ({"affinity": [{"key": "disk", "operator": "NotIn", "values": ["ssd"]}]}, False),
        ({"affinity": [{"key": "gpu", "operator": "DoesNotExist"}]}, True),
        ({"affinity": [{"key": "gpu", "operator": "Exists"}]}, False),
        ({"affinity": [{"key": "rank", "operator": "Gt", "values": ["4"]}]}, True),
        ({"affinity": [{"key": "rank", "operator": "Lt", "values": ["5"]}]}, False),
        ({"affinity": [{"key": "disk", "operator": "Gt", "values": ["4"]}]}, False),
    ],
)
def test_the_node_must_be_one_the_pod_asks_for(spec: dict[str, Any], suits: bool) -> None:
    if "affinity" in spec:
        terms = [{"matchExpressions": spec["affinity"]}]
        required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
        spec = {"affinity": {"nodeAffinity": required}}
    answer = verdict(pod(**spec), at=node({"disk": "ssd", "rank": "5"}))
    refused = ("NodeAffinity", "Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector")
    assert answer == (None if suits else refused)


def test_a_term_may_ask_for_the_node_by_name_and_an_empty_one_asks_for_none() -> None:
    field = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["node"]}]}
    for terms, suits in (([field], True), ([{}], False), ([{}, field], True)):
        required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
        answer = verdict(pod(affinity={"nodeAffinity": required}))
        assert (answer is None) is suits


@pytest.mark.parametrize(
    ("mine", "theirs", "clash"),
    [
        ({"hostPort": 80}, {"hostPort": 80}, True),
        ({"hostPort": 80}, {"hostPort": 81}, False),
        ({"hostPort": 80, "protocol": "UDP"}, {"hostPort": 80}, False),
        ({"hostPort": 80, "hostIP": "127.0.0.1"}, {"hostPort": 80}, True),
        ({"hostPort": 80, "hostIP": "127.0.0.1"}, {"hostPort": 80, "hostIP": "127.0.0.2"}, False),
    ],
)
def test_a_host_port_is_given_once(mine: dict[str, Any], theirs: dict[str, Any], clash: bool) -> None:
    def with_port(port: dict[str, Any]) -> core.Pod:
        return pod({"name": "app", "ports": [{"containerPort": 80, "protocol": "TCP", **port}]})

    answer = verdict(with_port(mine), with_port(theirs))
    text = "Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports"
    assert answer == (("NodePorts", text) if clash else None)


def test_a_taint_that_drives_pods_off_keeps_them_out_but_not_static_ones() -> None:
    tainted = node(taints=[{"key": "k", "effect": "NoExecute"}])
    assert verdict(pod(), at=tainted) == (
        "TaintToleration",
        "Predicate TaintToleration failed: node(s) had taints that the pod didn't tolerate",
    )
    assert verdict(pod(tolerations=[{"operator": "Exists"}]), at=tainted) is None
    assert verdict(pod(), at=node(taints=[{"key": "k", "effect": "NoSchedule"}])) is None
    static = pod()
    static.metadata.annotations["kubernetes.io/config.source"] = "file"
    assert verdict(static, at=tainted) is None


def test_pods_of_another_operating_system_are_refused() -> None:
    answer = verdict(pod(os={"name": "windows"}))
    assert answer is not None and answer[0] == "PodOSNotSupported"


@pytest.mark.parametrize(
    ("name", "more", "words"),
    [
        ("net.ipv4.tcp_syncookies", {}, ""),
        ("net/ipv4/tcp_syncookies", {}, ""),
        ("kernel.shm_rmid_forced", {"hostNetwork": True}, ""),
        ("kernel.msgmax", {}, '"kernel.msgmax" not allowlisted'),
        ("net/ipv4/conf/eth0.1/forwarding", {}, '"net.ipv4.conf.eth0/1.forwarding" not allowlisted'),
        (
            "net.ipv4.tcp_syncookies",
            {"hostNetwork": True},
            '"net.ipv4.tcp_syncookies" not allowed with host net enabled',
        ),
        ("kernel.shm_rmid_forced", {"hostIPC": True}, '"kernel.shm_rmid_forced" not allowed with host ipc enabled'),
    ],
)
def test_kernel_parameters_beyond_the_pods_own_are_refused(name: str, more: dict[str, Any], words: str) -> None:
    answer = verdict(pod(securityContext={"sysctls": [{"name": name, "value": "1"}]}, **more))
    assert answer == (("SysctlForbidden", f"forbidden sysctl: {words}") if words else None)
