"""Liveness, readiness and startup probes: by command, HTTP, TCP and gRPC."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import grpc
import pytest

from tests.node.cluster.kubectl import Kubectl
from tests.node.cluster.manifests import container, pod, shell
from tests.node.cluster.waiting import eventually

pytestmark = pytest.mark.node

EVERY_SECOND = {"periodSeconds": 1, "failureThreshold": 1}
WEB = "mkdir -p /www; echo ok > /www/live; exec httpd -f -p 8080 -h /www"


def restarts(kubectl: Kubectl, name: str) -> int:
    found = kubectl.get("pod", name)["status"].get("containerStatuses", [{}])
    return int(found[0].get("restartCount", 0))


def test_readiness_by_command_comes_and_goes(kubectl: Kubectl) -> None:
    script = "sleep 1; touch /tmp/ready; sleep 3; rm /tmp/ready; sleep infinity"
    probe = {"exec": {"command": ["cat", "/tmp/ready"]}} | EVERY_SECOND
    kubectl.apply(pod("moody", container(command=shell(script), readinessProbe=probe)))
    kubectl.wait("pod/moody", "condition=Ready")
    kubectl.wait("pod/moody", "condition=Ready=False")
    kubectl.expect_event(
        "moody", "Unhealthy", "Readiness probe failed: cat: can't open '/tmp/ready': No such file or directory"
    )
    assert restarts(kubectl, "moody") == 0


def test_liveness_by_http_restarts(kubectl: Kubectl) -> None:
    probe = {"httpGet": {"path": "/live", "port": "web"}, "initialDelaySeconds": 1} | EVERY_SECOND
    script = "(sleep 3; rm /www/live) & " + WEB
    web = container(command=shell(script), livenessProbe=probe, ports=[{"containerPort": 8080, "name": "web"}])
    kubectl.apply(pod("dies", web))
    kubectl.wait("pod/dies", "jsonpath={.status.containerStatuses[0].restartCount}=1")
    kubectl.expect_event("dies", "Unhealthy", "Liveness probe failed: HTTP probe failed with statuscode: 404")
    kubectl.expect_event("dies", "Killing", "Container main failed liveness probe, will be restarted")


def test_a_startup_probe_holds_the_others_back(kubectl: Kubectl) -> None:
    script = "sleep 2; " + WEB
    live = {"httpGet": {"path": "/live", "port": 8080}} | EVERY_SECOND
    start = {"httpGet": {"path": "/live", "port": 8080}, "periodSeconds": 1, "failureThreshold": 30}
    slow = container(command=shell(script), livenessProbe=live, readinessProbe=live, startupProbe=start)
    kubectl.apply(pod("slow", slow))
    kubectl.wait("pod/slow", "jsonpath={.status.containerStatuses[0].state.running.startedAt}")
    assert kubectl.get("pod", "slow")["status"]["containerStatuses"][0]["started"] is False
    kubectl.wait("pod/slow", "condition=Ready")
    assert kubectl.get("pod", "slow")["status"]["containerStatuses"][0]["started"] is True
    assert restarts(kubectl, "slow") == 0
    kubectl.expect_event("slow", "Unhealthy", 'Startup probe failed: Get "http://')


def test_a_startup_probe_that_never_succeeds(kubectl: Kubectl) -> None:
    start = {"exec": {"command": ["false"]}, "periodSeconds": 1, "failureThreshold": 2}
    kubectl.apply(pod("stillborn", container(startupProbe=start)))
    kubectl.wait("pod/stillborn", "jsonpath={.status.containerStatuses[0].restartCount}=1")
    kubectl.expect_event("stillborn", "Killing", "Container main failed startup probe, will be restarted")


def test_readiness_by_tcp(kubectl: Kubectl) -> None:
    probe = {"tcpSocket": {"port": 8080}} | EVERY_SECOND
    kubectl.apply(
        pod("listens", container(command=shell(WEB), readinessProbe=probe)),
        pod("deaf", container(readinessProbe=probe)),
    )
    kubectl.wait("pod/listens", "condition=Ready")
    kubectl.expect_event("deaf", "Unhealthy", "connect: connection refused")
    assert kubectl.field("pod/deaf", ".status.containerStatuses[0].ready") == "false"


def test_a_command_that_takes_too_long(kubectl: Kubectl) -> None:
    probe = {"exec": {"command": ["sleep", "10"]}, "timeoutSeconds": 1} | EVERY_SECOND
    kubectl.apply(pod("sleepy", container(readinessProbe=probe)))
    kubectl.expect_event("sleepy", "Unhealthy", "Readiness probe")
    text = kubectl.expect_event("sleepy", "Unhealthy", "timed out")
    assert "timed out after 1s" in text


def test_readiness_by_grpc(kubectl: Kubectl) -> None:
    """The server is this test's own: a pod in the host's network has the node's address."""
    with health_server() as (port, answers):
        probe = {"grpc": {"port": port, "service": "test"}} | EVERY_SECOND
        kubectl.apply(pod("remote", container(readinessProbe=probe), hostNetwork=True))
        kubectl.wait("pod/remote", "condition=Ready")
        assert answers["asked"] == b"\n\x04test"
        answers["status"] = 2
        kubectl.wait("pod/remote", "condition=Ready=False")
        eventually(
            lambda: kubectl.expect_event("remote", "Unhealthy", "service unhealthy (responded with"), "the event", 10
        )


@contextmanager
def health_server() -> Iterator[tuple[int, dict[str, Any]]]:
    """A server of grpc.health.v1.Health; `status` is what it answers, 1 for serving."""
    answers: dict[str, Any] = {"status": 1}

    def check(request: bytes, context: grpc.ServicerContext) -> bytes:
        answers["asked"] = request
        return bytes([8, answers["status"]])

    server = grpc.server(ThreadPoolExecutor(2))
    handlers = {"Check": grpc.unary_unary_rpc_method_handler(check)}
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("grpc.health.v1.Health", handlers),))
    port = server.add_insecure_port("0.0.0.0:0")
    server.start()
    try:
        yield port, answers
    finally:
        server.stop(None).wait(10)
