"""What the planner does next, case by case."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.pods.identity import container_hash
from agent.pods.observed import ContainerState, ObservedPod
from agent.pods.planner import plan
from agent.pods.plans import (
    CreateSandbox,
    KillReason,
    Plan,
    RemoveContainer,
    StartContainer,
    StopContainer,
    StopPod,
    View,
)
from agent.pods.restarts import Backoff
from api import core_v1 as core
from tests.unit.agent.pod_builders import exited, in_state, nothing, pod, running, sandbox, seen, sidecar

UNKNOWN = ContainerState.UNKNOWN
NOW = 5000.0
A = container_hash(pod("a").spec.containers[0])


def look(pod_: core.Pod, runtime: ObservedPod, **facts: object) -> Plan:
    """Plan with running containers taken as started."""
    facts.setdefault("started", frozenset(one.id for one in runtime.running))
    return plan(pod_, View(runtime=runtime, **facts), NOW)  # type: ignore[arg-type]


def brief(made: Plan) -> list[str]:
    """The actions in a word each."""
    words = []
    for one in made.actions:
        if isinstance(one, StartContainer):
            words.append(f"start {one.name}#{one.attempt}")
        elif isinstance(one, StopContainer):
            words.append(f"stop {one.name}")
        elif isinstance(one, RemoveContainer):
            words.append(f"remove {one.container_id}")
        elif isinstance(one, CreateSandbox):
            words.append(f"sandbox#{one.attempt}")
        elif isinstance(one, StopPod):
            words.append("stop pod" + (" for good" if one.done else ""))
    return words


class TestNewPod:
    def test_gets_a_sandbox_and_all_its_containers_in_one_plan(self) -> None:
        assert brief(look(pod("a", "b"), nothing())) == ["sandbox#0", "start a#0", "start b#0"]

    def test_starts_with_its_first_init_container_alone(self) -> None:
        assert brief(look(pod("a", init=["i", "j"]), nothing())) == ["sandbox#0", "start i#0"]

    def test_that_runs_as_wanted_needs_nothing(self) -> None:
        made = look(pod("a", "b"), seen(running("a"), running("b")))
        assert made.actions == () and made.retry_at is None

    def test_lacking_one_container_gets_that_one(self) -> None:
        assert brief(look(pod("a", "b"), seen(running("a")))) == ["start b#0"]

    def test_whose_container_was_created_and_not_started_gets_another_attempt(self) -> None:
        assert brief(look(pod("a"), seen(in_state("a", ContainerState.CREATED)))) == ["start a#1"]


class TestRestartPolicy:
    @pytest.mark.parametrize(
        ("policy", "code", "again"),
        [
            ("Always", 0, True),
            ("Always", 1, True),
            ("OnFailure", 0, False),
            ("OnFailure", 1, True),
            ("Never", 0, False),
            ("Never", 1, False),
        ],
    )
    def test_of_the_pod(self, policy: str, code: int, again: bool) -> None:
        made = look(pod("a", "b", restart=policy), seen(running("a"), exited("b", code)))
        assert brief(made) == (["start b#1"] if again else [])

    def test_of_a_container_goes_before_the_pods(self) -> None:
        never = {"name": "b", "restartPolicy": "Never"}
        always = {"name": "b", "restartPolicy": "Always"}
        assert brief(look(pod("a", never), seen(running("a"), exited("b", 1)))) == []
        assert brief(look(pod("a", always, restart="Never"), seen(running("a"), exited("b", 0)))) == ["start b#1"]

    def test_rules_of_a_container_go_before_its_policy(self) -> None:
        rules = [{"action": "Restart", "exitCodes": {"operator": "In", "values": [42]}}]
        container = {"name": "b", "restartPolicy": "Never", "restartPolicyRules": rules}
        assert brief(look(pod("a", container), seen(running("a"), exited("b", 42)))) == ["start b#1"]
        assert brief(look(pod("a", container), seen(running("a"), exited("b", 1)))) == []

    def test_restarting_all_stops_and_removes_every_container_and_keeps_the_sandbox(self) -> None:
        rules = [{"action": "RestartAllContainers", "exitCodes": {"operator": "In", "values": [42]}}]
        container = {"name": "b", "restartPolicy": "Never", "restartPolicyRules": rules}
        made = look(pod("a", container, init=["i"]), seen(exited("i"), running("a"), exited("b", 42)))
        assert brief(made)[0] == "stop a"
        assert sorted(brief(made)[1:]) == ["remove a-0", "remove b-0", "remove i-0"]

    def test_a_pod_that_is_done_is_stopped_for_good(self) -> None:
        made = look(pod("a", restart="Never"), seen(exited("a")))
        assert brief(made) == ["stop pod for good"] and made.finished

    def test_a_pod_being_deleted_restarts_nothing(self) -> None:
        going = pod("a")
        going.metadata.deletion_timestamp = going.metadata.creation_timestamp or "2026-01-01T00:00:00Z"  # type: ignore[assignment]
        assert brief(look(going, seen(exited("a", 1)))) == ["stop pod for good"]


class TestCrashLoop:
    def test_the_first_restart_is_at_once_and_begins_the_back_off(self) -> None:
        made = look(pod("a"), seen(exited("a", 1)), exited_at={"a-0": NOW})
        (start,) = made.actions
        assert isinstance(start, StartContainer) and start.backoff == Backoff(10.0, NOW)

    def test_the_second_waits_ten_seconds_from_the_end(self) -> None:
        made = look(pod("a"), seen(exited("a", 1, 1)), exited_at={"a-1": NOW - 3}, backoffs={A: Backoff(10.0, NOW - 5)})
        assert made.actions == ()
        assert made.retry_at == pytest.approx(NOW + 7)
        assert made.backing_off[0].delay == 10.0

    @pytest.mark.parametrize(("before", "after"), [(10.0, 20.0), (20.0, 40.0), (160.0, 300.0), (300.0, 300.0)])
    def test_the_delay_doubles_up_to_five_minutes(self, before: float, after: float) -> None:
        ended = NOW - before - 1
        made = look(
            pod("a"), seen(exited("a", 1, 3)), exited_at={"a-3": ended}, backoffs={A: Backoff(before, ended - 5)}
        )
        (start,) = made.actions
        assert isinstance(start, StartContainer) and start.backoff == Backoff(after, NOW)

    def test_ten_minutes_of_running_wipe_the_slate(self) -> None:
        made = look(pod("a"), seen(exited("a", 1, 3)), exited_at={"a-3": NOW}, backoffs={A: Backoff(300.0, NOW - 601)})
        (start,) = made.actions
        assert isinstance(start, StartContainer) and start.backoff == Backoff(10.0, NOW)

    def test_a_container_that_is_killed_for_the_first_time_has_not_failed_before(self) -> None:
        made = look(pod("a"), seen(running("a")), failed={"a-0": KillReason.LIVENESS})
        start = made.actions[-1]
        assert isinstance(start, StartContainer) and start.backoff is None

    def test_another_image_does_not_wait_for_what_the_old_one_did(self) -> None:
        waiting = {A: Backoff(300.0, NOW - 5)}
        mended = pod({"name": "a", "image": "mended"})
        assert brief(look(mended, seen(exited("a", 1, 7)), exited_at={"a-7": NOW}, backoffs=waiting)) == ["start a#8"]

    def test_one_container_in_back_off_keeps_no_other_from_starting(self) -> None:
        made = look(pod("a", "b"), seen(exited("a", 1)), exited_at={"a-0": NOW}, backoffs={A: Backoff(10.0, NOW - 1)})
        assert brief(made) == ["start b#0"] and made.retry_at == NOW + 10


class TestSandbox:
    def test_that_died_takes_its_containers_along_and_is_replaced(self) -> None:
        made = look(pod("a"), seen(sandbox(0, ready=False), running("a")))
        assert brief(made) == ["stop pod", "sandbox#1", "start a#1"]

    def test_without_an_address_is_replaced(self) -> None:
        assert brief(look(pod("a"), seen(sandbox(0, ip=""))))[:2] == ["stop pod", "sandbox#1"]

    def test_on_the_hosts_network_needs_no_address(self) -> None:
        host = pod("a", hostNetwork=True)
        assert brief(look(host, seen(sandbox(0, ip="", host_network=True), running("a")))) == []

    def test_two_live_ones_are_both_stopped(self) -> None:
        assert brief(look(pod("a"), seen(sandbox(0), sandbox(1))))[:2] == ["stop pod", "sandbox#2"]

    def test_the_newest_is_the_one_of_the_highest_attempt_whatever_the_clock_said(self) -> None:
        old = sandbox(0, ready=False)
        new = sandbox(1)
        # The first was made "in 2026", the second after the clock was set back to 1970.
        made = look(pod("a"), seen(old, new, running("a", 1, box="sb1")))
        assert brief(made) == []

    def test_replacing_it_starts_again_from_the_first_init_container(self) -> None:
        runtime = seen(sandbox(0, ready=False), exited("i"), exited("a", 137))
        made = look(pod("a", init=["i"]), runtime)
        assert brief(made) == ["stop pod", "remove i-0", "sandbox#1", "start i#1"]

    def test_is_not_replaced_for_a_pod_that_never_restarts(self) -> None:
        made = look(pod("a", restart="Never"), seen(sandbox(0, ready=False), exited("a", 137)))
        assert brief(made) == []

    def test_is_not_replaced_when_all_containers_succeeded(self) -> None:
        made = look(pod("a", restart="OnFailure"), seen(sandbox(0, ready=False), exited("a", 0)))
        assert brief(made) == []

    def test_is_retried_for_a_pod_that_never_got_a_container(self) -> None:
        made = look(pod("a", restart="Never"), seen(sandbox(0, ready=False)))
        assert brief(made) == ["stop pod", "sandbox#1", "start a#0"]


class TestInitContainers:
    def test_run_one_after_the_other(self) -> None:
        web = pod("a", init=["i", "j"])
        assert brief(look(web, seen(running("i")))) == []
        assert brief(look(web, seen(exited("i")))) == ["start j#0"]
        assert brief(look(web, seen(exited("i"), exited("j")))) == ["start a#0"]

    def test_that_fail_are_tried_again(self) -> None:
        assert brief(look(pod("a", init=["i"]), seen(exited("i", 1)))) == ["start i#1"]

    def test_that_fail_for_good_end_the_pod(self) -> None:
        made = look(pod("a", init=["i"], restart="Never"), seen(exited("i", 1)))
        assert brief(made) == ["stop pod for good"]

    def test_are_behind_the_pod_once_an_app_container_was_created(self) -> None:
        # The init container's record may be gone by then.
        assert brief(look(pod("a", "b", init=["i"]), seen(running("a"), running("b")))) == []

    def test_in_unknown_state_are_stopped_before_they_run_again(self) -> None:
        made = look(pod("a", init=["i"]), seen(in_state("i", UNKNOWN)))
        assert brief(made) == ["stop i", "start i#1"]


class TestSidecars:
    def test_hold_up_the_next_until_they_have_started(self) -> None:
        web = pod("a", init=[sidecar("s"), "i"])
        assert brief(look(web, seen(running("s")), started=frozenset())) == []
        assert brief(look(web, seen(running("s")))) == ["start i#0"]

    def test_run_on_beside_the_app_and_restart_whatever_the_pods_policy(self) -> None:
        web = pod("a", init=[sidecar("s")], restart="Never")
        assert brief(look(web, seen(exited("s", 0), running("a")))) == ["start s#1"]

    def test_that_vanished_are_started_again(self) -> None:
        assert brief(look(pod("a", init=[sidecar("s")]), seen(running("a")))) == ["start s#0"]

    def test_do_not_keep_a_finished_pod_alive(self) -> None:
        made = look(pod("a", init=[sidecar("s")], restart="Never"), seen(running("s"), exited("a", 0)))
        assert brief(made) == ["stop pod for good"]

    def test_that_fail_their_liveness_probe_are_killed_and_started(self) -> None:
        made = look(
            pod("a", init=[sidecar("s")]), seen(running("s"), running("a")), failed={"s-0": KillReason.LIVENESS}
        )
        assert brief(made) == ["stop s", "start s#1"]
        stop = made.actions[0]
        assert isinstance(stop, StopContainer) and stop.message == "Init container s failed liveness probe"


class TestKilling:
    @pytest.mark.parametrize("reason", [KillReason.LIVENESS, KillReason.STARTUP])
    def test_a_failed_probe_kills_and_restarts(self, reason: KillReason) -> None:
        made = look(pod("a"), seen(running("a")), failed={"a-0": reason})
        stop, start = made.actions
        assert isinstance(stop, StopContainer) and isinstance(start, StartContainer)
        assert stop.message == f"Container a failed {reason.value} probe, will be restarted"

    def test_a_failed_probe_of_a_pod_that_never_restarts_only_kills(self) -> None:
        made = look(
            pod("a", "b", restart="Never"), seen(running("a"), running("b")), failed={"a-0": KillReason.LIVENESS}
        )
        assert brief(made) == ["stop a"]

    def test_another_image_restarts_the_container_whatever_the_policy(self) -> None:
        web = pod("a", restart="Never")
        made = look(web, seen(running("a", hash_="0ldha5h")))
        assert brief(made) == ["stop a", "start a#1"]
        stop = made.actions[0]
        assert isinstance(stop, StopContainer) and stop.message == "Container a definition changed, will be restarted"

    def test_an_unchanged_or_unrecorded_definition_restarts_nothing(self) -> None:
        web = pod("a")
        assert brief(look(web, seen(running("a", hash_=container_hash(web.spec.containers[0]))))) == []
        assert brief(look(web, seen(running("a", hash_="")))) == []

    def test_an_unknown_container_is_stopped_before_another_runs(self) -> None:
        assert brief(look(pod("a"), seen(in_state("a", UNKNOWN)))) == ["stop a", "start a#1"]


class TestEphemeralContainers:
    def test_start_once_and_never_again(self) -> None:
        web = pod("a", ephemeralContainers=[{"name": "debug", "image": "img"}])
        assert brief(look(web, seen(running("a")))) == ["start debug#0"]
        assert brief(look(web, seen(running("a"), exited("debug", 1)))) == []

    def test_do_not_wait_for_init_containers(self) -> None:
        web = pod("a", init=["i"], ephemeralContainers=[{"name": "debug", "image": "img"}])
        assert brief(look(web, seen(running("i")))) == ["start debug#0"]


def test_attempts_go_on_from_what_the_api_remembers() -> None:
    made = look(pod("a"), seen(), next_attempts={"a": 7})
    assert brief(made) == ["start a#7"]


states = st.sampled_from(list(ContainerState))


@st.composite
def anything(draw: st.DrawFn) -> tuple[core.Pod, ObservedPod]:
    """Any pod of a few containers with any view of it."""
    policy = draw(st.sampled_from(["Always", "OnFailure", "Never"]))
    init = [sidecar(name) if draw(st.booleans()) else name for name in ("i", "j")[: draw(st.integers(0, 2))]]
    web = pod("a", "b", init=init, restart=policy)
    boxes = draw(st.integers(0, 2))
    parts: list[Any] = [sandbox(number, ready=draw(st.booleans())) for number in range(boxes)]
    names = ["a", "b", *(one if isinstance(one, str) else one["name"] for one in init)]
    for name in names:
        for attempt in range(draw(st.integers(0, 2))):
            box = f"sb{draw(st.integers(0, max(boxes - 1, 0)))}"
            state = draw(states)
            if state is ContainerState.EXITED:
                parts.append(exited(name, draw(st.sampled_from([0, 1])), attempt, box=box))
            else:
                parts.append(in_state(name, state, attempt, box=box))
    return web, seen(*parts) if parts else nothing()


@given(anything())
def test_no_plan_starts_what_may_run_already(case: tuple[core.Pod, ObservedPod]) -> None:
    web, runtime = case
    made = look(web, runtime)
    stopped = {one.container_id for one in made.actions if isinstance(one, StopContainer)}
    all_stopped = any(isinstance(one, StopPod) for one in made.actions)
    for start in made.actions:
        if isinstance(start, StartContainer):
            newest = runtime.container(start.name)
            alive = newest is not None and newest.state in (ContainerState.RUNNING, UNKNOWN)
            assert not alive or all_stopped or (newest is not None and newest.id in stopped)


@given(anything())
def test_every_plan_gives_a_container_a_number_it_never_had(case: tuple[core.Pod, ObservedPod]) -> None:
    web, runtime = case
    for start in look(web, runtime).actions:
        if isinstance(start, StartContainer):
            assert all(start.attempt > one.attempt for one in runtime.attempts(start.name))


@given(anything())
def test_a_sandbox_is_made_only_when_no_other_will_live(case: tuple[core.Pod, ObservedPod]) -> None:
    web, runtime = case
    made = look(web, runtime)
    if any(isinstance(one, CreateSandbox) for one in made.actions):
        assert not runtime.ready_sandboxes or isinstance(made.actions[0], StopPod)
