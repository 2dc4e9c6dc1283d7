"""Sandboxes and containers as the runtime is told them, as a whole."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agent.pods.identity import container_hash
from agent.resources.kernel import KernelFacts
from agent.runtime.containers import ContainerFacts, build_container_config
from agent.runtime.environment import Environment
from agent.runtime.errors import ConfigError, SandboxConfigError
from agent.runtime.facts import NodeFacts, Places
from agent.runtime.labels import attempt_of, termination_grace
from agent.runtime.sandboxes import build_sandbox_config
from api import core_v1 as core
from proto import cri_pb2 as cri
from tests.unit.agent.pod_builders import UID, pod

PLACES = Places(root=Path("/agent"), pod_logs=Path("/logs"))
NODE = NodeFacts("node", kernel=KernelFacts(memory_bytes=8 << 30))


def sandbox(one: core.Pod, attempt: int = 0, **more: Any) -> cri.PodSandboxConfig:
    given: dict[str, Any] = {
        "facts": NODE,
        "places": PLACES,
        "dns": cri.DNSConfig(servers=["10.43.0.10"]),
        "cluster_domain": "cluster.local",
        "cgroup_parent": "/kubepods/pod1",
        **more,
    }
    return build_sandbox_config(one, attempt, **given)


def container(one: core.Pod, attempt: int = 0, environment: dict[str, str] | None = None) -> cri.ContainerConfig:
    facts = ContainerFacts(Environment(environment or {}), "sha256:1")
    return build_container_config(one, one.spec.containers[0], attempt, node=NODE, places=PLACES, facts=facts).config


def test_a_sandbox() -> None:
    one = pod(
        {
            "name": "app",
            "ports": [
                {"containerPort": 80, "hostPort": 8080, "hostIP": "192.0.2.1"},
                {"containerPort": 53, "hostPort": 53, "protocol": "UDP"},
                {"containerPort": 9},
            ],
        },
        init=[
            {"name": "sidecar", "restartPolicy": "Always", "ports": [{"containerPort": 1, "hostPort": 2}]},
            {"name": "once", "ports": [{"containerPort": 3, "hostPort": 4}]},
        ],
        securityContext={"sysctls": [{"name": "net.core.somaxconn", "value": "128"}]},
        overhead={"cpu": "100m", "memory": "32Mi"},
    )
    one.metadata.labels = {"app": "web", "io.kubernetes.pod.name": "liar"}
    one.metadata.annotations = {"note": "x"}
    made = sandbox(one, 3, handler="kata")
    assert made.metadata == cri.PodSandboxMetadata(name="web", uid=UID, namespace="default", attempt=3)
    assert made.hostname == "web"
    assert made.log_directory == f"/logs/default_web_{UID}"
    assert dict(made.labels) == {
        "app": "web",
        "io.kubernetes.pod.name": "web",
        "io.kubernetes.pod.namespace": "default",
        "io.kubernetes.pod.uid": UID,
    }
    assert dict(made.annotations) == {"note": "x"}
    assert [(one.protocol, one.container_port, one.host_port, one.host_ip) for one in made.port_mappings] == [
        (cri.TCP, 1, 2, ""),
        (cri.TCP, 80, 8080, "192.0.2.1"),
        (cri.UDP, 53, 53, ""),
    ]
    assert made.linux.cgroup_parent == "/kubepods/pod1"
    assert dict(made.linux.sysctls) == {"net.core.somaxconn": "128"}
    assert made.linux.overhead.memory_limit_in_bytes == 32 << 20


def test_a_sandbox_on_the_hosts_network_has_no_name_and_no_ports() -> None:
    made = sandbox(pod({"name": "app", "ports": [{"containerPort": 80, "hostPort": 80}]}, hostNetwork=True))
    assert made.hostname == "" and not made.port_mappings


def test_a_sandbox_that_cannot_be_made_says_why_in_upstreams_words() -> None:
    with pytest.raises(SandboxConfigError) as caught:
        sandbox(pod(hostUsers=False))
    assert caught.value.status_text == "can't set `spec.hostUsers: false`, runtime does not support user namespaces"


def test_a_container() -> None:
    one = pod(
        {
            "name": "app",
            "image": "busybox",
            "command": ["run", "$(A)", "$$(A)"],
            "args": ["$(B)"],
            "workingDir": "/work",
            "ports": [{"containerPort": 80, "protocol": "TCP"}],
            "stdin": True,
            "stdinOnce": True,
            "tty": True,
            "terminationMessagePath": "/dev/termination-log",
            "terminationMessagePolicy": "File",
            "lifecycle": {"preStop": {"exec": {"command": ["bye"]}}, "stopSignal": "SIGRTMIN+3"},
        },
        terminationGracePeriodSeconds=45,
    )
    one.metadata.deletion_grace_period_seconds = 5
    made = container(one, 2, {"A": "one"})
    assert made.metadata == cri.ContainerMetadata(name="app", attempt=2)
    assert made.image == cri.ImageSpec(image="sha256:1", user_specified_image="busybox")
    assert list(made.command) == ["run", "one", "$(A)"]
    assert list(made.args) == ["$(B)"]
    assert (made.working_dir, made.log_path) == ("/work", "app/2.log")
    assert (made.stdin, made.stdin_once, made.tty) == (True, True, True)
    assert [(one.key, one.value) for one in made.envs] == [("A", b"one")]
    assert made.stop_signal == cri.SIGRTMINPLUS3
    assert dict(made.labels)["io.kubernetes.container.name"] == "app"
    annotations = dict(made.annotations)
    assert annotations.pop("io.kubernetes.container.hash") == container_hash(one.spec.containers[0])
    assert json.loads(annotations.pop("io.kubernetes.container.preStopHandler")) == {"exec": {"command": ["bye"]}}
    assert json.loads(annotations.pop("io.kubernetes.container.ports")) == [{"containerPort": 80, "protocol": "TCP"}]
    assert annotations == {
        "io.kubernetes.container.restartCount": "2",
        "io.kubernetes.container.terminationMessagePath": "/dev/termination-log",
        "io.kubernetes.container.terminationMessagePolicy": "File",
        "io.kubernetes.container.type": "container",
        "io.kubernetes.pod.deletionGracePeriod": "5",
        "io.kubernetes.pod.terminationGracePeriod": "45",
    }
    assert termination_grace(annotations) == 5
    assert attempt_of(annotations, 0) == 2
    assert [mount.container_path for mount in made.mounts] == ["/etc/hosts", "/dev/termination-log"]
    assert made.mounts[1].host_path == f"/agent/pods/{UID}/containers/app/termination-2"


def test_bytes_of_secrets_reach_the_process_as_they_are() -> None:
    made = container(pod(), environment={"RAW": b"\xff\xfe".decode("utf-8", "surrogateescape")})
    assert made.envs[0].value == b"\xff\xfe"


@pytest.mark.parametrize(("signal", "expected"), [(None, cri.RUNTIME_DEFAULT), ("SIGUSR1", cri.SIGUSR1)])
def test_stop_signals(signal: str | None, expected: cri.Signal) -> None:
    assert container(pod({"name": "app", "lifecycle": {"stopSignal": signal}})).stop_signal == expected


def test_an_unknown_stop_signal_is_refused() -> None:
    with pytest.raises(ConfigError, match='unknown stop signal "SIGNOPE"'):
        container(pod({"name": "app", "lifecycle": {"stopSignal": "SIGNOPE"}}))


def test_kinds_of_containers_are_noted() -> None:
    one = pod(init=["first"], ephemeralContainers=[{"name": "debug", "image": "i"}])
    kinds = {}
    for each in (*one.spec.init_containers, *one.spec.containers, *one.spec.ephemeral_containers):
        facts = ContainerFacts(Environment(), "i")
        made = build_container_config(one, each, 0, node=NODE, places=PLACES, facts=facts).config
        kinds[each.name] = made.annotations["io.kubernetes.container.type"]
    assert kinds == {"first": "init", "app": "container", "debug": "ephemeral"}
