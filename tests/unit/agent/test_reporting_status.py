"""What the API is told of a pod: phase, conditions, container statuses, and the patch that says it."""

from __future__ import annotations

import dataclasses

import pytest

from agent.pods.containers import ContainerFacts, Waiting
from agent.pods.observed import ContainerState, ObservedPod, ObservedUser
from agent.pods.patching import status_patch
from agent.pods.planner import initialized
from agent.pods.status import Failure, StatusFacts, pod_status, rejected
from api import core_v1 as core
from api.codec import deepcopy, from_builtins, to_builtins
from api.patches import strategic_merge_patch
from api.times import Time
from tests.unit.agent.pod_builders import exited, in_state, nothing, pod, running, sandbox, seen, sidecar

NOW = 1_767_225_600.0


def tell(
    web: core.Pod,
    runtime: ObservedPod,
    previous: core.PodStatus | None = None,
    *,
    started: frozenset[str] | None = None,
    ready: frozenset[str] | None = None,
    waiting: dict[str, Waiting] | None = None,
    now: float = NOW,
    **facts: object,
) -> core.PodStatus:
    """A status with running containers taken as started and ready."""
    alive = frozenset(one.id for one in runtime.running)
    containers = ContainerFacts(
        runtime_name="containerd",
        started=alive if started is None else started,
        ready=alive if ready is None else ready,
        waiting=waiting or {},
        initialized=initialized(web, runtime),
    )
    facts.setdefault("host_ips", ("192.0.2.10",))
    return pod_status(web, runtime, previous, StatusFacts(containers=containers, now=now, **facts))  # type: ignore[arg-type]


def condition(status: core.PodStatus, kind: str) -> core.PodCondition:
    return next(one for one in status.conditions if one.type == kind)


class TestPhase:
    @pytest.mark.parametrize(
        ("policy", "parts", "phase"),
        [
            ("Always", [], "Pending"),
            ("Always", [running("a")], "Pending"),
            ("Always", [running("a"), running("b")], "Running"),
            ("Always", [running("a"), exited("b", 1)], "Running"),
            ("Always", [exited("a"), exited("b")], "Running"),
            ("OnFailure", [exited("a"), exited("b", 1)], "Running"),
            ("OnFailure", [exited("a"), exited("b")], "Succeeded"),
            ("Never", [exited("a"), exited("b")], "Succeeded"),
            ("Never", [exited("a"), exited("b", 1)], "Failed"),
            ("Never", [exited("a"), running("b")], "Running"),
        ],
    )
    def test_follows_from_the_containers(self, policy: str, parts: list[object], phase: str) -> None:
        assert tell(pod("a", "b", restart=policy), seen(*parts)).phase == phase  # type: ignore[arg-type]

    def test_of_a_pod_that_initializes_is_pending(self) -> None:
        assert tell(pod("a", init=["i"]), seen(running("i"))).phase == "Pending"

    def test_of_a_pod_whose_init_container_failed_for_good_is_failed(self) -> None:
        assert tell(pod("a", init=["i"], restart="Never"), seen(exited("i", 1))).phase == "Failed"
        assert tell(pod("a", init=["i"]), seen(exited("i", 1))).phase == "Pending"

    def test_waits_for_sidecars_to_start(self) -> None:
        web = pod("a", init=[sidecar("s")])
        assert tell(web, seen(running("s")), started=frozenset()).phase == "Pending"
        assert tell(web, seen(running("s"), running("a"))).phase == "Running"
        # A sidecar that restarts does not set a running pod back.
        assert tell(web, seen(running("s", 1), running("a")), started=frozenset({"a-0"})).phase == "Running"

    def test_of_a_pod_taken_down_is_final_whatever_its_policy(self) -> None:
        assert tell(pod("a"), seen(exited("a", 143)), terminal=True).phase == "Failed"
        assert tell(pod("a"), seen(exited("a", 0)), terminal=True).phase == "Succeeded"

    def test_of_a_pod_taken_down_before_it_came_up_is_failed(self) -> None:
        assert tell(pod("a"), nothing(), terminal=True).phase == "Failed"
        status = tell(pod("a", "b"), seen(exited("a")), terminal=True)
        assert status.phase == "Failed"
        assert status.container_statuses[1].state.terminated is not None
        assert status.container_statuses[1].state.terminated.reason == "ContainerStatusUnknown"

    def test_once_final_is_never_taken_back(self) -> None:
        web = pod("a")
        ended = core.PodStatus(phase="Failed", reason="Evicted", message="no room")
        again = tell(web, seen(running("a")), ended)
        assert (again.phase, again.reason, again.message) == ("Failed", "Evicted", "no room")
        web.status.phase = "Succeeded"
        assert tell(web, seen(running("a"))).phase == "Succeeded"

    def test_of_a_pod_the_node_ends_is_failed_for_the_nodes_reason(self) -> None:
        status = tell(pod("a"), seen(running("a")), failure=Failure("DeadlineExceeded", "too long"))
        assert (status.phase, status.reason, status.message) == ("Failed", "DeadlineExceeded", "too long")


class TestContainerStatuses:
    def test_of_a_new_pod_say_what_it_waits_for(self) -> None:
        assert _waiting(tell(pod("a"), nothing()).container_statuses[0]) == "ContainerCreating"
        status = tell(pod("a", init=["i"]), nothing())
        assert _waiting(status.container_statuses[0]) == "PodInitializing"
        assert _waiting(status.init_container_statuses[0]) == "PodInitializing"

    def test_of_a_running_container(self) -> None:
        one = dataclasses.replace(running("a", 2), image="docker.io/library/img:1", image_ref="sha256:abc")
        (status,) = tell(pod("a"), seen(one)).container_statuses
        assert status.state.running is not None and status.state.running.started_at == Time.from_timestamp(1010)
        assert (status.container_id, status.image, status.image_id) == (
            "containerd://a-2",
            "docker.io/library/img:1",
            "sha256:abc",
        )
        assert (status.restart_count, status.ready, status.started) == (2, True, True)

    def test_share_the_room_for_last_words(self) -> None:
        words = "ä" * 2000
        parts = [exited(name, 1, message=words) for name in "abcd"]
        statuses = tell(pod("a", "b", "c", "d", restart="Never"), seen(*parts)).container_statuses
        ends = [one.state.terminated for one in statuses]
        assert [len(end.message.encode()) for end in ends if end is not None] == [3072] * 4
        (alone,) = tell(pod("a", restart="Never"), seen(exited("a", 1, message=words))).container_statuses
        assert alone.state.terminated is not None and alone.state.terminated.message == words

    def test_of_ended_containers_give_reason_code_and_message(self) -> None:
        (status,) = tell(pod("a", restart="Never"), seen(exited("a", 3, message="last words"))).container_statuses
        ended = status.state.terminated
        assert ended is not None
        assert (ended.exit_code, ended.reason, ended.message) == (3, "Error", "last words")
        assert ended.container_id == "containerd://a-0"
        (status,) = tell(pod("a", restart="Never"), seen(exited("a", 137, reason="OOMKilled"))).container_statuses
        assert status.state.terminated is not None and status.state.terminated.reason == "OOMKilled"
        (status,) = tell(pod("a", restart="Never"), seen(exited("a"))).container_statuses
        assert status.state.terminated is not None and status.state.terminated.reason == "Completed"

    def test_remember_the_attempt_before(self) -> None:
        (status,) = tell(pod("a"), seen(exited("a", 1, 0), running("a", 1))).container_statuses
        assert status.restart_count == 1
        assert status.last_state.terminated is not None and status.last_state.terminated.exit_code == 1

    def test_of_a_crash_loop_wait_and_keep_the_end_as_last_state(self) -> None:
        why = Waiting("CrashLoopBackOff", "back-off 10s restarting failed container=a pod=web_default(1)")
        (status,) = tell(pod("a"), seen(exited("a", 1)), waiting={"a": why}).container_statuses
        assert status.state.waiting is not None
        assert (status.state.waiting.reason, status.state.waiting.message) == (why.reason, why.message)
        assert status.state.terminated is None
        assert status.last_state.terminated is not None and status.last_state.terminated.exit_code == 1

    def test_of_a_container_whose_image_cannot_be_pulled(self) -> None:
        why = Waiting("ImagePullBackOff", 'Back-off pulling image "img"')
        (status,) = tell(pod("a"), seen(), waiting={"a": why}).container_statuses
        assert _waiting(status) == "ImagePullBackOff"

    def test_of_a_container_that_could_not_be_started_say_that_it_was_at_the_epoch(self) -> None:
        one = dataclasses.replace(exited("a", 128), started_at=0.0, finished_at=1020.0, reason="StartError")
        ended = tell(pod("a"), seen(one)).container_statuses[0].state.terminated
        assert ended is not None
        assert (ended.started_at, ended.finished_at) == ("1970-01-01T00:00:00Z", "1970-01-01T00:17:00Z")

    def test_of_a_container_the_runtime_lost_say_so_and_count_the_restart(self) -> None:
        web = pod("a")
        before = tell(web, seen(running("a")))
        (status,) = tell(web, seen(), before).container_statuses
        lost = status.last_state.terminated
        assert lost is not None and (lost.reason, lost.exit_code) == ("ContainerStatusUnknown", 137)
        assert status.restart_count == 1

    def test_of_an_init_container_that_was_collected_is_still_a_success(self) -> None:
        (status,) = tell(pod("a", init=["i"]), seen(running("a"))).init_container_statuses
        assert status.state.terminated is not None and status.state.terminated.reason == "Completed"
        assert status.ready

    def test_keep_an_end_the_runtime_no_longer_knows(self) -> None:
        web = pod("a", restart="Never")
        before = tell(web, seen(exited("a", 3)))
        (status,) = tell(web, nothing(), before).container_statuses
        assert status.state.terminated is not None and status.state.terminated.exit_code == 3

    def test_unstarted_or_unready_containers_say_so(self) -> None:
        (status,) = tell(pod("a"), seen(running("a")), started=frozenset()).container_statuses
        assert (status.started, status.ready) == (False, False)
        (status,) = tell(pod("a"), seen(running("a")), ready=frozenset()).container_statuses
        assert (status.started, status.ready) == (True, False)

    def test_of_a_created_container_wait_without_a_reason(self) -> None:
        (status,) = tell(pod("a"), seen(in_state("a", ContainerState.CREATED))).container_statuses
        assert _waiting(status) == ""

    def test_show_resources_user_and_mounts(self) -> None:
        container = {
            "name": "a",
            "resources": {"requests": {"cpu": "100m"}, "limits": {"cpu": "200m"}},
            "volumeMounts": [{"name": "v", "mountPath": "/v", "readOnly": True}],
        }
        one = dataclasses.replace(running("a"), user=ObservedUser(1000, 2000, (3000,)))
        (status,) = tell(pod(container), seen(one)).container_statuses
        plain = to_builtins(status)
        assert plain["allocatedResources"] == {"cpu": "100m"}
        assert plain["resources"] == {"requests": {"cpu": "100m"}, "limits": {"cpu": "200m"}}
        assert plain["user"] == {"linux": {"uid": 1000, "gid": 2000, "supplementalGroups": [3000]}}
        assert plain["volumeMounts"] == [
            {"name": "v", "mountPath": "/v", "readOnly": True, "recursiveReadOnly": "Disabled"}
        ]

    def test_come_in_the_order_of_init_containers_and_else_by_name(self) -> None:
        status = tell(pod("b", "a", init=["z", "y"]), nothing())
        assert [one.name for one in status.container_statuses] == ["a", "b"]
        assert [one.name for one in status.init_container_statuses] == ["z", "y"]


def _waiting(status: core.ContainerStatus) -> str:
    assert status.state.waiting is not None
    return status.state.waiting.reason


class TestConditions:
    def test_of_a_ready_pod(self) -> None:
        status = tell(pod("a"), seen(running("a")))
        assert {one.type: one.status for one in status.conditions} == {
            "PodReadyToStartContainers": "True",
            "Initialized": "True",
            "Ready": "True",
            "ContainersReady": "True",
            "PodScheduled": "True",
        }
        assert all(one.observed_generation == 1 for one in status.conditions)

    def test_name_what_is_not_ready(self) -> None:
        status = tell(pod("a", "b"), seen(running("a"), running("b")), ready=frozenset({"a-0"}))
        ready = condition(status, "Ready")
        assert (ready.status, ready.reason, ready.message) == (
            "False",
            "ContainersNotReady",
            "containers with unready status: [b]",
        )

    def test_name_what_is_not_initialized(self) -> None:
        made = condition(tell(pod("a", init=["i", "j"]), seen(running("i"))), "Initialized")
        assert (made.status, made.reason) == ("False", "ContainersNotInitialized")
        assert made.message == "containers with incomplete status: [i j]"

    def test_of_a_finished_pod(self) -> None:
        status = tell(pod("a", restart="Never"), seen(exited("a")))
        assert condition(status, "Ready").reason == "PodCompleted"
        assert condition(status, "Initialized").reason == "PodCompleted"
        status = tell(pod("a", restart="Never"), seen(exited("a", 1)))
        assert condition(status, "ContainersReady").reason == "PodFailed"

    def test_a_pod_without_a_sandbox_cannot_start_containers(self) -> None:
        assert condition(tell(pod("a"), nothing()), "PodReadyToStartContainers").status == "False"

    def test_readiness_gates_hold_a_pod_back(self) -> None:
        web = pod("a", readinessGates=[{"conditionType": "example.com/gate"}])
        ready = condition(tell(web, seen(running("a"))), "Ready")
        assert (ready.status, ready.reason) == ("False", "ReadinessGatesNotReady")
        assert ready.message == 'corresponding condition of pod readiness gate "example.com/gate" does not exist.'
        web.status.conditions = [core.PodCondition(type="example.com/gate", status="False")]
        ready = condition(tell(web, seen(running("a"))), "Ready")
        assert ready.message == 'the status of pod readiness gate "example.com/gate" is not "True", but False'
        web.status.conditions = [core.PodCondition(type="example.com/gate", status="True")]
        status = tell(web, seen(running("a")))
        assert condition(status, "Ready").status == "True"
        assert condition(status, "example.com/gate").status == "True"

    def test_keep_their_transition_time_while_they_hold(self) -> None:
        web = pod("a")
        first = tell(web, seen(running("a")), ready=frozenset())
        later = tell(web, seen(running("a")), first, now=NOW + 60)
        assert condition(later, "PodScheduled").last_transition_time == Time.from_timestamp(NOW)
        assert condition(later, "Ready").last_transition_time == Time.from_timestamp(NOW + 60)


class TestAddresses:
    def test_are_those_of_the_sandbox_one_per_family(self) -> None:
        box = dataclasses.replace(sandbox(), ips=("fd00::5", "10.42.0.5", "10.42.0.6"))
        status = tell(pod("a"), seen(box, running("a")))
        assert status.pod_ip == "10.42.0.5"
        assert [one.ip for one in status.pod_ips] == ["10.42.0.5", "fd00::5"]
        assert (status.host_ip, [one.ip for one in status.host_ips]) == ("192.0.2.10", ["192.0.2.10"])

    def test_of_a_pod_on_the_hosts_network_are_the_hosts(self) -> None:
        web = pod("a", hostNetwork=True)
        status = tell(web, seen(sandbox(ip="", host_network=True), running("a")))
        assert status.pod_ip == "192.0.2.10"

    def test_of_an_ended_pod_stay_on_record(self) -> None:
        web = pod("a", restart="Never")
        before = tell(web, seen(running("a")))
        status = tell(web, seen(sandbox(ready=False), exited("a")), before, terminal=True)
        assert status.pod_ip == "10.42.0.5"


def test_the_start_time_is_set_once() -> None:
    web = pod("a")
    first = tell(web, nothing())
    assert first.start_time == Time.from_timestamp(NOW)
    assert tell(web, seen(running("a")), first, now=NOW + 5).start_time == first.start_time


def test_the_quality_of_service_class_follows_from_the_resources() -> None:
    assert tell(pod("a"), nothing()).qos_class == "BestEffort"
    assert tell(pod({"name": "a", "resources": {"requests": {"cpu": "1"}}}), nothing()).qos_class == "Burstable"


def test_a_refused_pod_fails_and_says_why() -> None:
    status = rejected(pod("a"), Failure("OutOfcpu", "Node didn't have enough resource: cpu"), NOW)
    assert (status.phase, status.reason) == ("Failed", "OutOfcpu")
    assert status.message == "Pod was rejected: Node didn't have enough resource: cpu"


class TestPatch:
    def test_says_nothing_when_nothing_changed(self) -> None:
        status = tell(pod("a"), seen(running("a")))
        assert status_patch("uid", status, deepcopy(status)) is None

    def test_turns_the_old_status_into_the_new_one(self) -> None:
        web = pod("a", "b")
        old = tell(web, nothing())
        new = tell(web, seen(running("a"), exited("b", 1)), old, now=NOW + 9)
        assert _applied(old, new) == to_builtins(new)

    def test_leaves_conditions_of_others_alone(self) -> None:
        web = pod("a")
        old = tell(web, nothing())
        new = tell(web, seen(running("a")), old)
        patch = status_patch("uid", old, new)
        assert patch is not None
        theirs = {"type": "example.com/gate", "status": "True"}
        known = to_builtins(old)
        known["conditions"].append(theirs)
        merged = strategic_merge_patch({"status": known}, {"status": patch["status"]}, core.Pod)
        assert theirs in merged["status"]["conditions"]

    def test_replaces_the_address_of_a_new_sandbox(self) -> None:
        web = pod("a")
        old = tell(web, seen(sandbox(0), running("a")))
        new = tell(web, seen(sandbox(1, ip="10.42.0.9"), running("a", 1, box="sb1")), old)
        assert _applied(old, new)["podIPs"] == [{"ip": "10.42.0.9"}]

    def test_is_bound_to_the_pods_uid(self) -> None:
        patch = status_patch("uid-1", core.PodStatus(), core.PodStatus(phase="Running"))
        assert patch == {"metadata": {"uid": "uid-1"}, "status": {"phase": "Running"}}

    def test_does_not_touch_what_belongs_to_others(self) -> None:
        known = from_builtins({"resourceClaimStatuses": [{"name": "claim"}]}, core.PodStatus)
        assert status_patch("uid", known, core.PodStatus()) is None


def _applied(old: core.PodStatus, new: core.PodStatus) -> dict[str, object]:
    patch = status_patch("uid", old, new)
    assert patch is not None
    merged = strategic_merge_patch({"status": to_builtins(old)}, {"status": patch["status"]}, core.Pod)
    return dict(to_builtins(from_builtins(merged["status"], core.PodStatus)))
