"""What went wrong in the field, provoked on a simulated node. The numbers are those of the project's scenarios."""

from __future__ import annotations

import os

import pytest

from api import core_v1 as core
from api.times import Time
from cri.fake import Fault, Program
from proto import cri_pb2 as cri
from tests.simulation.node_simulation import NODE, Simulation


async def up(node: Simulation, *names: str) -> None:
    for name in names:
        await node.create(name)
    await node.until(lambda: all(node.is_ready(name) for name in names), 60)


# 1. Terminating for ever, containers already dead


async def test_a_deleted_pod_whose_containers_died_meanwhile_is_removed_after_a_restart() -> None:
    async with Simulation() as node:
        await up(node, "web")
        await node.stop_agent()
        await node.delete("web")
        for one in node.containers("web", running=True):
            node.fake.exit(one.id, 137)
        await node.start_agent()
        await node.until(lambda: node.is_gone("web"), 60)
        await node.until(lambda: not node.fake.sandboxes, 60)


async def test_a_deletion_dated_before_the_creation_changes_nothing() -> None:
    async with Simulation() as node:
        await up(node, "web")
        await node.stop_agent()
        node.clock.step_wall(-86400)
        await node.delete("web")
        pod = node.pod("web")
        assert pod is not None and pod.metadata.deletion_timestamp is not None
        assert pod.metadata.deletion_timestamp < (pod.metadata.creation_timestamp or Time.from_timestamp(0))
        await node.start_agent()
        await node.until(lambda: node.is_gone("web"), 60)


# 2. The runtime says the container still runs


async def test_a_runtime_that_keeps_saying_running_is_asked_again_and_holds_nobody_else_up() -> None:
    async with Simulation() as node:
        await up(node, "liar", "other")
        (container,) = node.containers("liar")
        node.fake.lies.keeps_running.add(container.id)
        node.fake.faults.arm(
            "StopPodSandbox",
            Fault(code="Unknown", message="failed to stop container"),
            times=None,
            when=lambda request: request.pod_sandbox_id == container.sandbox_id,  # type: ignore[attr-defined]
        )
        began = len(node.fake.calls)
        await node.delete("liar")
        await node.wait(120)
        assert not node.is_gone("liar")
        stops = node.fake.calls[began:].count("StopContainer")
        assert 3 <= stops <= 60, "retried, with back-off"
        assert any(reason == "FailedKillPod" for reason, _ in node.events("liar"))
        await node.create("new")
        await node.until(lambda: node.is_ready("new"), 30)
        await node.delete("other")
        await node.until(lambda: node.is_gone("other"), 30)
        node.fake.lies.keeps_running.clear()
        node.fake.faults.clear()
        node.fake.exit(container.id, 137)
        await node.until(lambda: node.is_gone("liar"), 60)


async def test_a_container_the_runtime_no_longer_knows_is_a_stopped_container() -> None:
    async with Simulation() as node:
        await up(node, "web")
        node.fake.faults.arm("StopContainer", Fault(code="NotFound"), times=1)
        await node.delete("web")
        await node.until(lambda: node.is_gone("web"), 60)


# 4. Image removed under a running container


async def test_an_image_removed_under_a_container_does_not_keep_its_pod() -> None:
    async with Simulation() as node:
        await up(node, "web")
        node.fake.lies.needs_image_for_status = True
        node.fake.images.stored.clear()
        await node.delete("web")
        await node.until(lambda: node.is_gone("web"), 60)
        await node.until(lambda: not node.fake.containers, 60)


# 7. The clock jumps


@pytest.mark.parametrize("step", [-3600.0 * 24 * 365 * 50, 3600.0 * 24 * 365])
async def test_a_step_of_the_wall_clock_restarts_nothing_and_makes_no_second_sandbox(step: float) -> None:
    async with Simulation() as node:
        await up(node, "web")
        before = set(node.fake.containers), set(node.fake.sandboxes)
        node.clock.step_wall(step)
        await node.restart_agent()
        await node.wait(300)
        assert (set(node.fake.containers), set(node.fake.sandboxes)) == before


# 8. One stuck pod


async def test_one_container_whose_status_hangs_leaves_the_node_ready_and_other_pods_alone() -> None:
    async with Simulation() as node:
        await up(node, "stuck", "other")
        (container,) = node.containers("stuck")
        node.fake.faults.arm(
            "ContainerStatus",
            Fault(hang=True),
            times=None,
            when=lambda request: request.container_id == container.id,  # type: ignore[attr-defined]
        )
        await node.delete("stuck")
        await node.wait(300)
        assert _node_ready(node)
        await node.create("new")
        await node.until(lambda: node.is_ready("new"), 30)
        await node.delete("other")
        await node.until(lambda: node.is_gone("other"), 30)


async def test_a_pod_whose_volume_hangs_holds_nobody_else_up_and_can_be_deleted() -> None:
    async with Simulation() as node:
        node.volumes.hanging.add("stuck")
        await node.create("stuck")
        await up(node, "other")
        await node.delete("stuck")
        await node.until(lambda: node.is_gone("stuck"), 60)


async def test_a_runtime_that_answers_nothing_for_three_minutes_makes_the_node_unready() -> None:
    async with Simulation() as node:
        await up(node, "web")
        ids = set(node.fake.containers)
        node.fake.crash()
        await node.wait(60)
        node.fake.restart()
        await node.until(lambda: _node_ready(node), 60)
        node.fake.faults.arm("ListPodSandbox", Fault(hang=True), times=None)
        await node.wait(400)
        assert not _node_ready(node)
        assert "PLEG is not healthy: pleg was last seen active" in _ready(node).message
        node.fake.faults.clear()
        await node.until(lambda: _node_ready(node), 120)
        assert set(node.fake.containers) == ids


async def test_a_runtime_that_is_away_for_a_moment_leaves_the_node_ready() -> None:
    async with Simulation() as node:
        await up(node, "web")
        since = _ready(node).last_transition_time
        node.fake.crash()
        await node.wait(20)
        node.fake.restart()
        await node.wait(60)
        assert _node_ready(node) and _ready(node).last_transition_time == since
        node.fake.crash()
        await node.until(lambda: not _node_ready(node), 60)
        assert _ready(node).message == "container runtime is down"
        node.fake.restart()
        await node.until(lambda: _node_ready(node), 10)


def _ready(node: Simulation) -> core.NodeCondition:
    return next(one for one in node.node().status.conditions if one.type == "Ready")


def _node_ready(node: Simulation) -> bool:
    return _ready(node).status == "True"


# 10. Orphans


async def test_pods_removed_while_the_agent_was_away_leave_nothing_behind() -> None:
    async with Simulation() as node:
        await up(node, "web", "kept")
        kept = {one.id for one in node.containers("kept")}
        await node.stop_agent()
        await node.delete("web", 0)
        await node.start_agent()
        await node.until(lambda: not node.containers("web"), 60)
        await node.until(lambda: len(node.volumes.mounted) == 1 and len(node.cgroups.made) == 1, 60)
        assert {one.id for one in node.containers("kept", running=True)} == kept


async def test_what_is_left_on_disk_is_cleared_away_and_told_of_once(caplog: pytest.LogCaptureFixture) -> None:
    node = Simulation()
    node.volumes.mounted.update({"gone-1", "gone-2"})
    node.cgroups.made.add("gone-3")
    node.volumes.stuck.add("gone-1")
    async with node:
        await node.until(lambda: node.volumes.mounted == {"gone-1"} and not node.cgroups.made, 60)
        await node.wait(600)
        told = [one for one in caplog.records if "gone-1" in one.getMessage() and one.levelname == "WARNING"]
        assert len(told) == 1
        node.volumes.stuck.clear()
        await node.until(lambda: not node.volumes.mounted, 600)


async def test_nothing_is_ended_before_all_sources_have_spoken() -> None:
    async with Simulation() as node:
        await up(node, "web")
        ids = set(node.fake.containers)
        await node.stop_agent()
        node.server.faults.offline = True
        await node.start_agent()
        await node.wait(600)
        assert {one.id for one in node.containers("web", running=True)} == ids
        node.server.faults.offline = False
        await node.wait(120)
        assert {one.id for one in node.containers("web", running=True)} == ids


# 12. Restart of the agent


async def test_restarting_the_agent_disturbs_no_container() -> None:
    async with Simulation() as node:
        await up(node, "a", "b")
        ids = set(node.fake.containers)
        for _ in range(10):
            await node.restart_agent()
            await node.wait(node.rng.uniform(0, 20))
        await node.wait(120)
        assert {one.id for one in node.containers(running=True)} == ids
        assert node.is_ready("a") and node.is_ready("b")


async def test_a_pod_that_runs_is_not_judged_again_after_a_restart() -> None:
    async with Simulation() as node:
        await node.create("web", nodeSelector={"disk": "ssd"})
        await node.until(lambda: _phase(node, "web") == "Failed", 60)
        await node.user.patch(core.Node, NODE, {"metadata": {"labels": {"disk": "ssd"}}})
        await node.create("web-2", nodeSelector={"disk": "ssd"})
        await node.until(lambda: node.is_ready("web-2"), 60)
        ids = {one.id for one in node.containers("web-2")}
        await node.user.patch(core.Node, NODE, {"metadata": {"labels": {"disk": None}}})
        await node.restart_agent()
        await node.wait(120)
        assert node.is_ready("web-2")
        assert {one.id for one in node.containers("web-2", running=True)} == ids


def _phase(node: Simulation, name: str) -> str:
    pod = node.pod(name)
    return pod.status.phase if pod is not None else ""


# 15. Static pods

MANIFEST = """
apiVersion: v1
kind: Pod
metadata: {name: static, labels: {app: static}}
spec:
  terminationGracePeriodSeconds: 1
  containers: [{name: app, image: img}]
"""


async def test_a_static_pod_removed_while_the_server_is_away_is_stopped_and_its_mirror_goes_later(
    tmp_path: os.PathLike[str],
) -> None:
    path = os.path.join(tmp_path, "static.yaml")
    with open(path, "w") as file:
        file.write(MANIFEST)
    async with Simulation(manifests=str(tmp_path), threshold=0.01) as node:
        name = f"static-{NODE}"
        await node.until(lambda: node.is_ready(name), 60)
        mirror = node.pod(name)
        assert mirror is not None
        annotations = mirror.metadata.annotations
        assert annotations["kubernetes.io/config.mirror"] == annotations["kubernetes.io/config.hash"]
        assert mirror.metadata.owner_references[0].kind == "Node"
        node.server.faults.offline = True
        os.remove(path)
        await node.until(lambda: not node.containers(running=True), 60)
        assert node.pod(name) is not None
        node.server.faults.offline = False
        await node.until(lambda: node.is_gone(name), 120)


async def test_a_static_pod_is_replaced_when_its_manifest_changes_and_survives_a_broken_one(
    tmp_path: os.PathLike[str],
) -> None:
    path = os.path.join(tmp_path, "static.yaml")

    def write(text: str) -> None:
        with open(path + ".tmp", "w") as file:
            file.write(text)
        os.rename(path + ".tmp", path)

    write(MANIFEST)
    async with Simulation(manifests=str(tmp_path), threshold=0.01) as node:
        name = f"static-{NODE}"
        await node.until(lambda: node.is_ready(name), 60)
        (first,) = node.containers(running=True)
        write("{ not a manifest")
        await node.wait(60)
        assert [one.id for one in node.containers(running=True)] == [first.id]
        write(MANIFEST.replace("app: static", "app: changed"))
        await node.until(lambda: [one.id for one in node.containers(running=True)] not in ([first.id], []), 60)
        await node.until(lambda: (pod := node.pod(name)) is not None and pod.metadata.labels == {"app": "changed"}, 60)
        await node.until(lambda: node.is_ready(name), 60)


async def test_a_mirror_that_somebody_deletes_is_made_again_and_the_pod_runs_on(tmp_path: os.PathLike[str]) -> None:
    with open(os.path.join(tmp_path, "static.yaml"), "w") as file:
        file.write(MANIFEST)
    async with Simulation(manifests=str(tmp_path), threshold=0.01) as node:
        name = f"static-{NODE}"
        await node.until(lambda: node.is_ready(name), 60)
        ids = {one.id for one in node.containers(running=True)}
        before = node.pod(name)
        await node.delete(name, 0)
        await node.until(
            lambda: (
                (pod := node.pod(name)) is not None and before is not None and pod.metadata.uid != before.metadata.uid
            ),
            60,
        )
        await node.until(lambda: node.is_ready(name), 60)
        assert {one.id for one in node.containers(running=True)} == ids


# 31. No network configuration yet


async def test_the_node_is_ready_soon_after_the_network_is_and_says_why_it_was_not(tmp_path: os.PathLike[str]) -> None:
    node = Simulation()
    folder = os.path.join(tmp_path, "net.d")
    node.config = type(node.config)(node_name=NODE, root=str(tmp_path), cni_config_dir=folder)
    node.fake.service.network_ready = False
    async with node:
        await node.until(lambda: bool(node.server.list(core.Node).items), 60)
        text = _ready(node).message
        assert text.startswith(
            "container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady "
            "message:Network plugin returns error: cni plugin not initialized"
        )
        assert folder in text
        await node.create("web")
        await node.until(lambda: any(reason == "NetworkNotReady" for reason, _ in node.events("web")), 30)
        os.mkdir(folder)
        with open(os.path.join(folder, "10-net.conflist"), "w") as file:
            file.write("{}")
        await node.until(lambda: "10-net.conflist" in _ready(node).message, 15)
        node.fake.service.network_ready = True
        await node.until(lambda: _node_ready(node), 10.5)
        await node.until(lambda: node.is_ready("web"), 10)


# 53. A slow or absent API server


async def test_leases_and_pods_survive_a_server_that_stalls() -> None:
    async with Simulation() as node:
        await up(node, "web")
        ids = set(node.fake.containers)
        node.server.faults.offline = True
        for one in node.containers("web"):
            node.fake.exit(one.id, 1)
        await node.wait(120)
        running = {one.id for one in node.containers("web", running=True)}
        assert len(running) == 1 and running.isdisjoint(ids)
        node.server.faults.offline = False
        await node.until(lambda: _restart_count(node, "web") == 1 and node.is_ready("web"), 60)


def _restart_count(node: Simulation, name: str) -> int:
    pod = node.pod(name)
    return pod.status.container_statuses[0].restart_count if pod is not None else -1


async def test_a_deleted_node_object_is_registered_again() -> None:
    async with Simulation() as node:
        await up(node, "web")
        await node.user.delete(core.Node, NODE)
        await node.until(lambda: bool(node.server.list(core.Node).items), 60)


# The runtime's own troubles


async def test_events_that_get_lost_are_made_up_for() -> None:
    async with Simulation() as node:
        await up(node, "web")
        node.fake.lies.silent = True
        (container,) = node.containers("web")
        node.fake.exit(container.id, 1)
        await node.until(lambda: _restart_count(node, "web") == 1, 90)


async def test_a_runtime_whose_state_is_seconds_behind_its_events_is_looked_at_again() -> None:
    async with Simulation() as node:
        await node.create("job", restartPolicy="Never")
        await node.until(lambda: node.containers("job", running=True), 60)
        (container,) = node.containers("job")
        node.fake.exit(container.id, 0)
        record = node.fake.containers[container.id]
        record.state = cri.CONTAINER_RUNNING
        await node.wait(10)
        record.state = cri.CONTAINER_EXITED
        await node.until(lambda: (pod := node.pod("job")) is not None and pod.status.phase == "Succeeded", 10)


async def test_a_sandbox_that_dies_is_replaced_with_its_containers() -> None:
    async with Simulation() as node:
        await up(node, "web")
        (sandbox,) = node.fake.sandboxes.values()
        for one in node.containers("web"):
            node.fake.exit(one.id, 137)
        await node.fake.stop_pod_sandbox(sandbox.id)
        await node.until(lambda: node.is_ready("web") and len(node.containers("web", running=True)) == 1, 120)
        assert any(reason == "SandboxChanged" for reason, _ in node.events("web"))
        pod = node.pod("web")
        assert pod is not None and pod.status.pod_ip
        await node.until(lambda: len([one for one in node.fake.sandboxes.values() if one.ready]) == 1, 60)


async def test_a_lost_answer_to_the_sandbox_call_makes_no_second_sandbox() -> None:
    async with Simulation() as node:
        node.fake.faults.arm("RunPodSandbox", Fault(lose_reply=True), times=1)
        await up(node, "web")
        assert node.runtime.violations == []
        assert len([one for one in node.fake.sandboxes.values() if one.ready]) == 1


async def test_a_container_that_does_not_start_is_told_of_and_tried_again() -> None:
    async with Simulation() as node:
        node.fake.service.programs = lambda config: Program(fails_to_start='exec: "nope": not found')
        await node.create("web")
        await node.until(lambda: any("nope" in message for _, message in node.events("web")), 30)
        node.fake.service.programs = lambda config: Program()
        await node.until(lambda: node.is_ready("web"), 120)


async def test_a_runtime_that_restarts_under_load_leaves_one_of_everything() -> None:
    async with Simulation(seed=3) as node:
        for number in range(8):
            await node.create(f"web-{number}")
        await node.wait(0.1)
        node.fake.crash()
        await node.wait(20)
        node.fake.restart()
        await node.until(lambda: all(node.is_ready(f"web-{number}") for number in range(8)), 300)
        assert node.runtime.violations == []
        assert len([one for one in node.fake.sandboxes.values() if one.ready]) == 8
        assert len([one for one in node.fake.containers.values() if one.state == cri.CONTAINER_RUNNING]) == 8
