"""Deployments from template to template against the API double, on a node that runs pods by fiat."""

import asyncio
import random

from hypothesis import given, settings
from hypothesis import strategies as st

from api import apps_v1 as apps
from api import codec, errors
from api import core_v1 as core
from api.pods import get_condition, is_active, is_ready
from client.clock import FakeClock
from client.fake import Call, FakeApiServer
from controlplane.controllers.deployments.revisions import REVISION
from controlplane.controllers.deployments.sizes import goal_of
from controlplane.controllers.deployments.templates import new_replica_set
from tests.unit.controlplane.controllers.small_cluster import Kubelet, controllers, deployment, events, pods, report


def _live(server: FakeApiServer) -> apps.Deployment:
    return server.get(apps.Deployment, "web", "default")


def _change(server: FakeApiServer, **changes: object) -> None:
    live = _live(server)
    for name, value in changes.items():
        if name == "image":
            live.spec.template.spec.containers[0].image = str(value)
        else:
            setattr(live.spec, name, value)
    server.update(live)


def _progress(server: FakeApiServer) -> tuple[str, str]:
    condition = get_condition(_live(server).status.conditions, "Progressing")
    assert condition is not None
    return condition.status, condition.reason


def _revisions(server: FakeApiServer) -> dict[str, int]:
    """Size of each replica set by its image."""
    return {
        one.spec.template.spec.containers[0].image: one.spec.replicas or 0
        for one in server.list(apps.ReplicaSet, "default").items
    }


def _is_rolled_out(server: FakeApiServer) -> bool:
    """What `kubectl rollout status` waits for."""
    live = _live(server)
    status = live.status
    wanted = live.spec.replicas
    return (
        status.observed_generation == live.metadata.generation
        and status.updated_replicas == status.replicas == status.available_replicas == wanted
    )


async def test_a_rollout_and_its_undoing(server: FakeApiServer) -> None:
    server.create(deployment())
    async with controllers(server, kubelet=Kubelet(server)):
        await server.clock.sleep(10)
        assert _is_rolled_out(server)
        assert _progress(server) == ("True", "NewReplicaSetAvailable")
        assert _live(server).metadata.annotations[REVISION] == "1"
        _change(server, image="two")
        await server.clock.sleep(20)
        assert _is_rolled_out(server)
        assert _revisions(server) == {"one": 0, "two": 3}
        assert _live(server).metadata.annotations[REVISION] == "2"
        _change(server, image="one")
        await server.clock.sleep(20)
        assert _revisions(server) == {"one": 3, "two": 0}
        assert _live(server).metadata.annotations[REVISION] == "3"
        assert _is_rolled_out(server)
        status = _live(server).status
        assert (status.ready_replicas, status.unavailable_replicas, status.terminating_replicas) == (3, 0, 0)
    sizes = [message for reason, message in events(server, "web") if reason == "ScalingReplicaSet"]
    first = new_replica_set(deployment()).metadata.name.rsplit("-", 1)[0]
    assert sizes[0].startswith(f"Scaled up replica set {first}-")
    assert sizes[0].endswith(" from 0 to 3")
    assert any(size.startswith("Scaled down replica set") and size.endswith(" from 1 to 0") for size in sizes)


async def test_a_settled_deployment_costs_nothing(server: FakeApiServer) -> None:
    server.create(deployment())
    async with controllers(server, kubelet=Kubelet(server)) as client:
        await server.clock.sleep(60)
        before = [call for call in client.calls if call.verb not in ("list", "watch")]
        await server.clock.sleep(3600)
        after = [call for call in client.calls if call.verb not in ("list", "watch")]
        assert len(after) == len(before)
        writes = [call for call in before if call.verb != "get" and call.resource != "events"]
        assert len(writes) <= 16


async def test_a_broken_template_stops_the_rollout_and_is_reported(server: FakeApiServer) -> None:
    kubelet = Kubelet(server)
    kubelet.broken.add("broken")
    server.create(deployment(replicas=4, progress_deadline_seconds=60))
    async with controllers(server, kubelet=kubelet):
        await server.clock.sleep(10)
        _change(server, image="broken")
        await server.clock.sleep(50)
        assert _progress(server) == ("True", "ReplicaSetUpdated")
        await server.clock.sleep(30)
        assert _progress(server) == ("False", "ProgressDeadlineExceeded")
        # 25 % of 4: one more and one fewer.
        assert _revisions(server) == {"one": 3, "broken": 2}
        assert _live(server).status.available_replicas == 3
        _change(server, image="one")
        await server.clock.sleep(20)
        assert _is_rolled_out(server)
        assert _progress(server) == ("True", "NewReplicaSetAvailable")


async def test_a_pause_holds_the_rollout(server: FakeApiServer) -> None:
    server.create(deployment())
    async with controllers(server, kubelet=Kubelet(server)):
        await server.clock.sleep(10)
        _change(server, image="two", paused=True)
        await server.clock.sleep(10)
        assert _revisions(server) == {"one": 3}
        assert _progress(server) == ("Unknown", "DeploymentPaused")
        _change(server, replicas=5)
        await server.clock.sleep(10)
        assert _revisions(server) == {"one": 5}
        _change(server, paused=False)
        await server.clock.sleep(30)
        assert _is_rolled_out(server)


async def test_recreation_never_runs_two_templates_at_once(server: FakeApiServer) -> None:
    server.create(deployment(strategy=apps.DeploymentStrategy(type="Recreate")))
    seen: set[frozenset[str]] = set()

    async def look(call: Call) -> None:
        seen.add(frozenset(pod.spec.containers[0].image for pod in pods(server)))

    server.faults.hook(look, resource="pods", after=True)
    async with controllers(server, kubelet=Kubelet(server, stop_delay=5)):
        await server.clock.sleep(10)
        _change(server, image="two")
        await server.clock.sleep(30)
        assert _is_rolled_out(server)
        assert _revisions(server) == {"one": 0, "two": 3}
    assert frozenset({"one", "two"}) not in seen


async def test_a_name_taken_by_another_template_is_evaded(server: FakeApiServer) -> None:
    asked = server.create(deployment())
    stranger = new_replica_set(asked)
    stranger.metadata.owner_references = []
    stranger.metadata.labels = {"someone": "else"}
    stranger.spec.template.metadata.labels = {"someone": "else"}
    stranger.spec.selector = None
    stranger.spec.replicas = 0
    server.create(stranger)
    async with controllers(server, kubelet=Kubelet(server)):
        await server.clock.sleep(30)
        assert _is_rolled_out(server)
        assert _live(server).status.collision_count == 1


async def test_a_replica_set_that_cannot_be_made_is_reported(server: FakeApiServer) -> None:
    server.faults.fail(
        errors.forbidden("replicasets.apps", "x", "exceeded quota"), verb="create", resource="replicasets"
    )
    server.create(deployment(progress_deadline_seconds=600))
    async with controllers(server, kubelet=Kubelet(server)):
        await server.clock.sleep(30)
        assert _is_rolled_out(server)
    (message,) = (text for reason, text in events(server, "web") if reason == "ReplicaSetCreateError")
    assert message.startswith('Failed to create new replica set "web-')
    assert message.endswith('": replicasets.apps "x" is forbidden: exceeded quota')


async def test_history_is_kept_to_its_limit(server: FakeApiServer) -> None:
    server.create(deployment(revision_history_limit=2))
    async with controllers(server, kubelet=Kubelet(server)):
        for image in ("two", "three", "four", "five"):
            await server.clock.sleep(20)
            _change(server, image=image)
        await server.clock.sleep(30)
        assert _revisions(server) == {"three": 0, "four": 0, "five": 3}


async def test_a_failing_replica_set_shows_on_its_deployment(server: FakeApiServer) -> None:
    server.faults.fail(errors.forbidden("pods", "", "exceeded quota"), verb="create", resource="pods", times=None)
    server.create(deployment())
    async with controllers(server):
        await server.clock.sleep(10)
        condition = get_condition(_live(server).status.conditions, "ReplicaFailure")
        assert condition is not None
        assert (condition.status, condition.reason) == ("True", "FailedCreate")
        assert condition.message == "pods is forbidden: exceeded quota"


async def test_a_selector_of_everything_is_refused(server: FakeApiServer) -> None:
    asked = deployment()
    asked.spec.selector = codec.from_builtins({}, type(asked.spec.selector))  # type: ignore[arg-type]
    server.create(asked)
    async with controllers(server):
        await server.clock.sleep(5)
        assert server.list(apps.ReplicaSet).items == []
        assert _live(server).status.observed_generation == 1
    assert (
        "SelectingAll",
        "This deployment is selecting all pods. A non-empty selector is required.",
    ) in events(server, "web")


class Referee:
    """Looks at the truth after every write to a replica set, and cries out when a bound is broken."""

    def __init__(self, server: FakeApiServer) -> None:
        self.fouls: list[str] = []
        self.losses = 0  # pods that failed by themselves; no controller can be blamed for those
        self._server = server
        self._most = 0
        self._fewest: int | None = None
        server.faults.hook(self._look, verb="update", resource="replicasets", after=True)
        server.faults.hook(self._look, verb="create", resource="replicasets", after=True)

    async def _look(self, call: Call) -> None:
        if call.subresource:
            return
        goal = goal_of(_live(self._server))
        replica_sets = self._server.list(apps.ReplicaSet, "default").items
        sizes = {one.metadata.uid: one.spec.replicas or 0 for one in replica_sets}
        total = sum(sizes.values())
        if total > max(goal.most, self._most):
            self.fouls.append(f"{total} pods asked for, {goal.most} allowed")
        serving = 0
        for uid, size in sizes.items():
            available = sum(
                1
                for pod in pods(self._server)
                if is_active(pod) and is_ready(pod) and pod.metadata.owner_references[0].uid == uid
            )
            serving += min(available, size)
        least = goal.fewest - self.losses
        if self._fewest is not None and serving < min(least, self._fewest):
            self.fouls.append(f"{serving} pods left serving, {least} needed")
        self._most, self._fewest = total, serving


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 2**32), st.booleans())
def test_any_course_of_events_converges_within_the_bounds(seed: int, faults: bool) -> None:
    asyncio.run(_random_course(seed, faults))


async def _random_course(seed: int, faults: bool) -> None:
    rng = random.Random(seed)
    server = FakeApiServer(clock=FakeClock(), seed=seed)
    asked = deployment(replicas=rng.randrange(1, 7))
    asked.spec.strategy.rolling_update = apps.RollingUpdateDeployment(
        rng.choice([0, 1, 2, "25%", "50%"]), rng.choice([1, 2, "25%", "100%"])
    )
    server.create(asked)
    kubelet = Kubelet(server, start_delay=rng.choice([0.1, 2.0]), stop_delay=rng.choice([0.1, 3.0]))
    async with controllers(server, kubelet=kubelet):
        await server.clock.sleep(20)
        referee = Referee(server)
        for _ in range(12):
            _disturb(server, rng, referee, faults)
            await server.clock.sleep(rng.choice([0, 0.5, 2.0, 6.0]))
        server.faults.offline = False
        await server.clock.sleep(300)
        assert referee.fouls == []
        assert _is_rolled_out(server), _live(server).status
        image = _live(server).spec.template.spec.containers[0].image
        wanted = _live(server).spec.replicas
        assert [pod.spec.containers[0].image for pod in pods(server) if is_active(pod)] == [image] * (wanted or 0)


def _disturb(server: FakeApiServer, rng: random.Random, referee: Referee, faults: bool) -> None:
    match rng.randrange(8 if faults else 4):
        case 0 | 1:
            _change(server, image=rng.choice(["one", "two", "three"]))
        case 2:
            _change(server, image=rng.choice(["four", "five"]), paused=False)
        case 3:
            _change(server, paused=False)
        case 4 if pods(server):
            pod = rng.choice(pods(server))
            if is_active(pod):
                referee.losses += 1
                report(pod, "Failed", False, server.clock.now())
                server.put(pod)
        case 5:
            server.faults.fail(errors.internal("boom"), verb=rng.choice(["create", "delete", "update"]), times=3)
        case 6:
            server.faults.drop_watches(rng.choice(["pods", "replicasets.apps", "deployments.apps", ""]))
        case 7 if pods(server):
            referee.losses += 1
            victim = rng.choice(pods(server))
            server.delete(core.Pod, victim.metadata.name, "default", grace_period=0)


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 2**32))
def test_any_change_of_size_in_a_rollout_converges(seed: int) -> None:
    asyncio.run(_random_sizes(seed))


async def _random_sizes(seed: int) -> None:
    rng = random.Random(seed)
    server = FakeApiServer(clock=FakeClock(), seed=seed)
    server.create(deployment(replicas=rng.randrange(7)))
    async with controllers(server, kubelet=Kubelet(server)):
        for _ in range(10):
            _change(
                server,
                image=rng.choice(["one", "two", "three"]),
                replicas=rng.randrange(9),
                paused=rng.random() < 0.3,
            )
            await server.clock.sleep(rng.choice([0, 0.5, 2.0, 6.0]))
        _change(server, paused=False)
        await server.clock.sleep(300)
        assert _is_rolled_out(server), _live(server).status
