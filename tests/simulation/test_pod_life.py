"""The life of pods on a simulated node, without trouble."""

from __future__ import annotations

import errno

import pytest

from api import core_v1 as core
from cri.fake import Program
from proto import cri_pb2 as cri
from tests.simulation.node_simulation import Simulation


async def test_a_pod_comes_up_is_reported_and_goes_away_without_a_trace() -> None:
    async with Simulation() as node:
        await node.create("web")
        await node.until(lambda: node.is_ready("web"), 30)
        pod = node.pod("web")
        assert pod is not None
        assert pod.status.phase == "Running"
        assert pod.status.pod_ip and pod.status.host_ip == "192.0.2.10"
        assert pod.status.container_statuses[0].container_id.startswith("fake://")
        await node.delete("web")
        await node.until(lambda: node.is_gone("web"), 30)
        await node.until(lambda: not node.fake.sandboxes and not node.fake.containers, 30)
        assert not node.volumes.mounted and not node.cgroups.made
        reasons = [reason for reason, _ in node.events("web")]
        assert [one for one in reasons if one != "Killing"] == ["Created", "Started"]
        assert ("Killing", "Stopping container app") in node.events("web")


async def test_statuses_are_written_once_for_each_change() -> None:
    async with Simulation() as node:
        await node.create("web")
        await node.until(lambda: node.is_ready("web"), 30)
        await node.wait(600)
        writes = [one for one in node.agent_client.calls if one.verb == "patch" and one.resource == "pods"]
        assert len(writes) <= 3, writes


async def test_an_idle_node_speaks_to_the_server_by_its_heartbeat_alone() -> None:
    async with Simulation() as node:
        await node.create("web")
        await node.until(lambda: node.is_ready("web"), 30)
        await node.wait(60)
        node.agent_client.calls.clear()
        await node.wait(200)
        assert [one for one in node.agent_client.calls if one.verb not in ("watch", "list")] == []


async def test_a_crashing_container_backs_off_and_says_so() -> None:
    async with Simulation() as node:
        node.fake.service.programs = lambda config: Program(runs_for=1.0, exit_code=1)
        await node.create("web")
        await node.until(lambda: _waiting(node, "web") == "CrashLoopBackOff", 60)
        pod = node.pod("web")
        assert pod is not None
        status = pod.status.container_statuses[0]
        assert status.state.waiting is not None
        assert status.state.waiting.message == (
            f"back-off 10s restarting failed container=app pod=web_default({pod.metadata.uid})"
        )
        assert status.last_state.terminated is not None and status.last_state.terminated.exit_code == 1
        began = node.clock.monotonic()
        await node.until(lambda: len([1 for one in node.containers("web")]) and _restarts(node, "web") >= 5, 400)
        # 10 + 20 + 40 + 80 seconds at least, and little more.
        assert 140 <= node.clock.monotonic() - began + 10 <= 200
        assert any(reason == "BackOff" for reason, _ in node.events("web"))


def _waiting(node: Simulation, name: str) -> str:
    pod = node.pod(name)
    if pod is None or not pod.status.container_statuses:
        return ""
    waiting = pod.status.container_statuses[0].state.waiting
    return waiting.reason if waiting is not None else ""


def _restarts(node: Simulation, name: str) -> int:
    pod = node.pod(name)
    assert pod is not None
    return pod.status.container_statuses[0].restart_count


async def test_a_job_pod_succeeds_and_gives_back_what_it_held() -> None:
    async with Simulation() as node:
        node.fake.service.programs = lambda config: Program(runs_for=5.0, exit_code=0)
        await node.create("job", restartPolicy="Never")
        await node.until(lambda: _phase(node, "job") == "Succeeded", 60)
        await node.until(lambda: not node.volumes.mounted and not node.cgroups.made, 60)
        assert not any(one.ready for one in node.fake.sandboxes.values())
        # Its container stays, for its logs, until the pod is deleted.
        assert node.containers("job")
        await node.delete("job", 0)
        await node.until(lambda: not node.fake.containers, 60)


def _phase(node: Simulation, name: str) -> str:
    pod = node.pod(name)
    return pod.status.phase if pod is not None else ""


async def test_init_containers_run_in_order_and_sidecars_stay_until_the_end() -> None:
    order: list[str] = []

    def program(config: object) -> Program:
        name = config.metadata.name  # type: ignore[attr-defined]
        order.append(name)
        return Program(runs_for=1.0) if name.startswith("init") else Program()

    async with Simulation() as node:
        node.fake.service.programs = program
        await node.create(
            "web",
            initContainers=[
                {"name": "init-1", "image": "img"},
                {"name": "side-1", "image": "img", "restartPolicy": "Always"},
                {"name": "init-2", "image": "img"},
                {"name": "side-2", "image": "img", "restartPolicy": "Always"},
            ],
        )
        await node.until(lambda: node.is_ready("web"), 60)
        assert order == ["init-1", "side-1", "init-2", "side-2", "app"]
        stopped: list[str] = []
        calls = len(node.fake.way.calls)
        ids = {one.id: one.config.metadata.name for one in node.containers("web")}
        await node.delete("web")
        await node.until(lambda: node.is_gone("web"), 60)
        for method, request in node.fake.way.calls[calls:]:
            if method == "StopContainer":
                stopped.append(ids[request.container_id])  # type: ignore[attr-defined]
        assert stopped == ["app", "side-2", "side-1"]


async def test_a_shorter_grace_period_cuts_a_deletion_short() -> None:
    async with Simulation() as node:
        node.fake.service.programs = lambda config: Program(obeys_after=None)
        await node.create("web", terminationGracePeriodSeconds=300)
        await node.until(lambda: node.is_ready("web"), 30)
        await node.delete("web")
        await node.wait(20)
        assert not node.is_gone("web")
        await node.delete("web", 5)
        await node.until(lambda: node.is_gone("web"), 10)


async def test_a_pod_that_drains_is_told_to_be_no_longer_ready_at_once() -> None:
    async with Simulation() as node:
        node.fake.service.programs = lambda config: Program(obeys_after=20)
        probe = {"exec": {"command": ["check"]}, "periodSeconds": 1, "failureThreshold": 1}
        main = {"name": "app", "image": "img", "readinessProbe": probe}
        await node.create("web", containers=[main], terminationGracePeriodSeconds=60)
        await node.until(lambda: node.is_ready("web"), 30)
        await node.delete("web")
        node.fake.service.exec_handler = lambda container, command: cri.ExecSyncResponse(exit_code=1)
        await node.until(lambda: not node.is_ready("web"), 5)
        assert node.containers("web", running=True)


async def test_a_pod_that_is_active_for_too_long_is_ended() -> None:
    async with Simulation() as node:
        await node.create("web", activeDeadlineSeconds=60)
        await node.until(lambda: node.is_ready("web"), 30)
        await node.until(lambda: _phase(node, "web") == "Failed", 90)
        pod = node.pod("web")
        assert pod is not None and pod.status.reason == "DeadlineExceeded"
        await node.until(lambda: not node.containers("web", running=True), 60)


async def test_a_pod_has_not_ended_while_a_container_of_it_runs() -> None:
    async with Simulation() as node:
        node.fake.service.programs = lambda config: Program(obeys_after=None)
        await node.create("web", activeDeadlineSeconds=60, terminationGracePeriodSeconds=30)
        await node.until(lambda: node.is_ready("web"), 30)
        await node.until(lambda: not node.is_ready("web"), 90)
        while node.containers("web", running=True):
            assert _phase(node, "web") == "Running"
            await node.wait(1)
        await node.until(lambda: _phase(node, "web") == "Failed", 30)
        pod = node.pod("web")
        assert pod is not None and pod.status.reason == "DeadlineExceeded"


async def test_a_failed_init_container_ends_the_pod_once_its_sidecar_is_gone() -> None:
    def program(config: object) -> Program:
        name = config.metadata.name  # type: ignore[attr-defined]
        return Program(runs_for=5.0, exit_code=1) if name == "init" else Program(obeys_after=10.0)

    async with Simulation() as node:
        node.fake.service.programs = program
        init = [{"name": "side", "image": "img", "restartPolicy": "Always"}, {"name": "init", "image": "img"}]
        await node.create("web", initContainers=init, restartPolicy="Never")
        await node.until(lambda: len(node.containers("web")) == 2, 30)
        while node.containers("web", running=True):
            assert _phase(node, "web") == "Pending"
            await node.wait(1)
        await node.until(lambda: _phase(node, "web") == "Failed", 30)


async def test_a_pod_the_node_has_no_room_for_is_refused_once_and_for_all() -> None:
    async with Simulation() as node:
        big = {"containers": [{"name": "app", "image": "img", "resources": {"requests": {"cpu": "3"}}}]}
        await node.create("first", **big)
        await node.until(lambda: node.is_ready("first"), 30)
        await node.create("second", **big)
        await node.until(lambda: _phase(node, "second") == "Failed", 30)
        pod = node.pod("second")
        assert pod is not None
        assert (pod.status.reason, pod.status.message) == (
            "OutOfcpu",
            "Pod was rejected: Node didn't have enough resource: cpu, requested: 3000, used: 3000, capacity: 4000",
        )
        assert not node.containers("second")
        await node.delete("first")
        await node.until(lambda: node.is_gone("first"), 60)
        await node.wait(60)
        assert not node.containers("second")


async def test_volumes_that_cannot_be_mounted_are_told_of_and_tried_again() -> None:
    async with Simulation() as node:
        node.volumes.broken.add("web")
        await node.create("web")
        told = [("FailedMount", f'MountVolume.SetUp failed for volume "{volume}" : web') for volume in "vw"]
        await node.until(lambda: set(told) <= set(node.events("web")), 30)
        pod = node.pod("web")
        assert pod is not None and pod.status.phase == "Pending"
        node.volumes.broken.clear()
        await node.until(lambda: node.is_ready("web"), 60)


async def test_an_image_that_cannot_be_pulled_shows_in_the_status() -> None:
    async with Simulation() as node:
        node.images.missing.add("img")
        await node.create("web")
        await node.until(lambda: _waiting(node, "web") == "ErrImagePull", 30)
        node.images.missing.clear()
        await node.until(lambda: node.is_ready("web"), 60)


async def test_pull_secrets_that_are_not_there_are_named() -> None:
    async with Simulation() as node:
        await node.create("web", imagePullSecrets=[{"name": "first"}, {"name": ""}, {"name": "second"}])
        await node.until(lambda: node.is_ready("web"), 30)
        text = (
            "Unable to retrieve some image pull secrets (first, second); attempting to pull the image may not succeed."
        )
        assert ("FailedToRetrieveImagePullSecret", text) in node.events("web")


async def test_a_sandbox_that_the_host_has_no_place_for_is_told_of_and_tried_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def fails(pod: core.Pod, attempt: int) -> str:
        raise OSError(errno.ENOSPC, "No space left on device", "/logs/default_web")

    async with Simulation() as node:
        with monkeypatch.context() as full:
            full.setattr(node.runtime, "create_sandbox", fails)
            await node.create("web")
            told = (
                "FailedCreatePodSandBox",
                "Failed to create pod sandbox: /logs/default_web: No space left on device",
            )
            await node.until(lambda: told in node.events("web"), 30)
        await node.until(lambda: node.is_ready("web"), 60)


async def test_the_node_is_registered_with_its_lease() -> None:
    async with Simulation() as node:
        await node.until(lambda: bool(node.server.list(core.Node).items), 30)
        ready = [one for one in node.node().status.conditions if one.type == "Ready"]
        assert ready[0].status == "True" and ready[0].message == "kubelet is posting ready status"
        assert node.node().status.node_info.container_runtime_version == "fake://v1.0.0"


async def test_one_containers_end_may_start_the_whole_pod_anew_in_its_sandbox() -> None:
    async with Simulation() as node:
        node.fake.service.programs = lambda config: Program(runs_for=1.0 if config.metadata.name == "init" else None)
        rules = [{"action": "RestartAllContainers", "exitCodes": {"operator": "In", "values": [42]}}]
        await node.create(
            "web",
            initContainers=[{"name": "init", "image": "img"}],
            containers=[
                {"name": "app", "image": "img"},
                {"name": "watch", "image": "img", "restartPolicy": "Never", "restartPolicyRules": rules},
            ],
        )
        await node.until(lambda: node.is_ready("web"), 60)
        before = {one.id for one in node.containers("web")}
        sandboxes = set(node.fake.sandboxes)
        (watch,) = [one for one in node.containers("web", running=True) if one.config.metadata.name == "watch"]
        node.fake.exit(watch.id, 42)
        await node.until(lambda: _restarting(node) == "True", 30)
        await node.until(lambda: node.is_ready("web") and _restarting(node) == "False", 60)
        assert before.isdisjoint(one.id for one in node.containers("web")) and set(node.fake.sandboxes) == sandboxes
        pod = node.pod("web")
        assert pod is not None
        every = [*pod.status.init_container_statuses, *pod.status.container_statuses]
        assert [(one.name, one.restart_count) for one in every] == [("init", 1), ("app", 1), ("watch", 1)]
        ended = pod.status.container_statuses[0].last_state.terminated
        assert ended is not None and ended.reason == "RestartingAllContainers"


def _restarting(node: Simulation) -> str:
    pod = node.pod("web")
    found = [one.status for one in pod.status.conditions if one.type == "AllContainersRestarting"] if pod else []
    return found[0] if found else ""


async def test_a_pod_that_restarts_itself_without_end_is_held_back() -> None:
    async with Simulation() as node:
        node.fake.service.programs = lambda config: Program(runs_for=1.0, exit_code=42)
        rules = [{"action": "RestartAllContainers", "exitCodes": {"operator": "In", "values": [42]}}]
        container = {"name": "app", "image": "img", "restartPolicy": "Never", "restartPolicyRules": rules}
        await node.create("web", containers=[container])
        await node.wait(120)
        assert node.fake.calls.count("StartContainer") <= 6
