"""What to do next for a running pod: a pure function from (pod, what is seen of it, time) to a list of actions.

It knows neither runtime nor clock nor probes; it is tested with tables and properties. The order of the actions is
the order of their execution. An action may rest on the one before it (containers on their sandbox), so that a new pod
needs one plan and not four rounds.

The rules are upstream's: a pod whose sandbox died starts from its first init container; init containers run one after
the other, sidecars among them stay; what failed a liveness or startup probe is killed and started again; what ended
is started again as its restart policy says, after its back-off.
"""

from __future__ import annotations

from agent.pods import restarts
from agent.pods.identity import container_hash
from agent.pods.observed import ContainerState, ObservedContainer, ObservedPod
from agent.pods.plans import (
    Action,
    BackingOff,
    CreateSandbox,
    KillReason,
    Kind,
    Plan,
    RemoveContainer,
    StartContainer,
    StopContainer,
    StopPod,
    View,
)
from api import core_v1 as core
from api.pod_restarts import asks_to_restart_all, init_restarts_after, restarts_after
from api.pods import AnyContainer, is_restartable_init


def sandbox_verdict(pod: core.Pod, runtime: ObservedPod) -> tuple[bool, int, str]:
    """Whether the pod needs a new sandbox, the number of that attempt (else of the good one), and the id of the
    newest sandbox.
    """
    if not runtime.sandboxes:
        return True, 0, ""
    newest = runtime.sandboxes[0]
    host_network = pod.spec.host_network
    if len(runtime.ready_sandboxes) > 1 or not newest.ready:
        return True, newest.attempt + 1, newest.id
    if newest.host_network != host_network:
        return True, newest.attempt + 1, newest.id
    if not host_network and not newest.ips:
        return True, newest.attempt + 1, newest.id
    return False, newest.attempt, newest.id


def plan(pod: core.Pod, view: View, now: float) -> Plan:
    """What to do for a pod that is to run. `now` is monotonic seconds."""
    return _Planner(pod, view, now).plan()


def initialized(pod: core.Pod, runtime: ObservedPod) -> bool:
    """Whether an app container was created in the present sandbox: from then on the init containers are behind the
    pod.
    """
    sandbox_id = runtime.sandboxes[0].id if runtime.sandboxes else ""
    for container in pod.spec.containers:
        one = runtime.container(container.name)
        if one is None:
            continue
        if one.state in (ContainerState.CREATED, ContainerState.RUNNING) or one.sandbox_id == sandbox_id:
            return True
    return False


class _Planner:
    def __init__(self, pod: core.Pod, view: View, now: float) -> None:
        self._pod = pod
        self._view = view
        self._runtime = view.runtime
        self._now = now
        self._stops: list[Action] = []
        self._starts: list[Action] = []
        self._waits: list[BackingOff] = []

    def plan(self) -> Plan:
        changed, attempt, sandbox_id = sandbox_verdict(self._pod, self._runtime)
        if changed:
            return self._anew(attempt, sandbox_id)
        if strays := self._strays(sandbox_id):
            return Plan(tuple(strays), sandbox_id=sandbox_id, sandbox_attempt=attempt)
        if restarts.restart_of_all_due(self._pod, self._runtime):
            return Plan(tuple(self._restart_all()), tuple(self._waits), sandbox_id, attempt)
        self._ephemeral_containers()
        verdict = self._init_containers(sandbox_id)
        if verdict is None:
            return self._over()
        if verdict and not self._app_containers():
            return self._over()
        return Plan((*self._stops, *self._starts), tuple(self._waits), sandbox_id, attempt)

    def _strays(self, sandbox_id: str) -> list[Action]:
        """What outlived a former sandbox: as long as it lives, its successor in this one must not."""
        return [
            StopContainer(one.id, one.name, KillReason.UNKNOWN, f"Container {one.name} belongs to a former sandbox")
            for one in self._runtime.running
            if one.sandbox_id != sandbox_id
        ]

    def _over(self) -> Plan:
        """Nothing runs and nothing is due. The sandbox may be gone already; then there is nothing left to stop."""
        alive = self._runtime.running or self._runtime.ready_sandboxes
        return Plan((StopPod(done=True),) if alive else ())

    # A new sandbox

    def _anew(self, attempt: int, replaced: str) -> Plan:
        """The sandbox is missing or no good: stop what is left of the pod and start from the first init container."""
        pod, runtime = self._pod, self._runtime
        due = [one for one in pod.spec.containers if self._due_in_new_sandbox(one)]
        ran_before = any(runtime.container(one.name) for one in pod.spec.containers)
        if not due and ran_before:
            return self._over()
        if self._init_failed_for_good():
            return self._over()
        actions: list[Action] = []
        if runtime.running or runtime.ready_sandboxes or replaced:
            actions.append(StopPod(done=False))
        for container in pod.spec.init_containers:
            actions += [RemoveContainer(one.id, one.name) for one in runtime.attempts(container.name)]
        actions.append(CreateSandbox(attempt, replaced))
        if pod.spec.init_containers:
            self._start(pod.spec.init_containers[0], Kind.INIT)
        else:
            for container in due:
                self._start(container, Kind.APP)
        return Plan((*actions, *self._starts), tuple(self._waits))

    def _due_in_new_sandbox(self, container: core.Container) -> bool:
        last = self._runtime.container(container.name)
        if last is None:
            # A pod that never restarts must not get a late container into a second sandbox.
            other_ran = any(self._runtime.container(one.name) for one in self._pod.spec.containers)
            return not other_ran or restarts_after(self._pod, container, 1)
        exit_code = last.exit_code if last.state is ContainerState.EXITED else 137
        return restarts_after(self._pod, container, exit_code)

    def _init_failed_for_good(self) -> bool:
        for container in self._pod.spec.init_containers:
            last = self._runtime.container(container.name)
            if last is None or is_restartable_init(container) or last.state is not ContainerState.EXITED:
                continue
            if last.exit_code != 0 and not init_restarts_after(self._pod, container, last.exit_code):
                return True
        return False

    # The whole pod again, in its sandbox

    def _restart_all(self) -> list[Action]:
        """KEP-5532: one container's end may ask for all to start anew.

        They are removed, so that the pod looks as if it had just begun; but not before the back-off of who asks for it
        is over, or a pod could do this without end.
        """
        for container in [*self._pod.spec.init_containers, *self._pod.spec.containers]:
            last = self._runtime.container(container.name)
            ended = last is not None and last.state is ContainerState.EXITED
            if last is not None and ended and asks_to_restart_all(container, last.exit_code):
                self._hold_back(container, last)
        if self._waits:
            return []
        ephemeral = {one.name for one in self._pod.spec.ephemeral_containers}
        concerned = [one for one in self._runtime.containers if one.name not in ephemeral]
        actions: list[Action] = [
            StopContainer(one.id, one.name, KillReason.RESTART_ALL, f"Container {one.name} will be restarted")
            for one in concerned
            if one.state in (ContainerState.RUNNING, ContainerState.UNKNOWN)
        ]
        actions += [RemoveContainer(one.id, one.name) for one in concerned]
        return actions

    # Init containers

    def _init_containers(self, sandbox_id: str) -> bool | None:
        """True when the app containers' turn has come, False while it has not, None when it never will."""
        containers = self._pod.spec.init_containers
        if not containers:
            return True
        seen: list[ObservedContainer | None] = []
        for container in containers:
            newest = self._runtime.container(container.name)
            seen.append(newest if newest is not None and newest.sandbox_id == sandbox_id else None)
        past = initialized(self._pod, self._runtime)
        if past:
            for container, one in zip(containers, seen, strict=True):
                if is_restartable_init(container):
                    self._keep_sidecar(container, one)
            return True
        last = max((index for index, one in enumerate(seen) if one is not None), default=-1)
        if last < 0:
            self._start(containers[0], Kind.INIT)
            return False
        for index in range(last):
            if is_restartable_init(containers[index]):
                self._keep_sidecar(containers[index], seen[index])
        current = seen[last]
        assert current is not None
        verdict = self._current_init_container(containers[last], current)
        if verdict and last + 1 < len(containers):
            self._start(containers[last + 1], Kind.INIT)
            return False
        return verdict

    def _current_init_container(self, container: core.Container, one: ObservedContainer) -> bool | None:
        """The furthest init container: True when it no longer holds up the next, False when it does, None when it
        failed for good.
        """
        if is_restartable_init(container):
            self._keep_sidecar(container, one)
            return one.state is ContainerState.RUNNING and one.id in self._view.started
        if one.state is ContainerState.RUNNING:
            return False
        if one.state is ContainerState.EXITED:
            if one.exit_code == 0:
                return True
            if not init_restarts_after(self._pod, container, one.exit_code):
                return None
        if one.state is ContainerState.UNKNOWN:
            self._stop_unknown(one, "Init container")
        self._start(container, Kind.INIT)
        return False

    def _keep_sidecar(self, container: core.Container, one: ObservedContainer | None) -> None:
        if one is None or one.state in (ContainerState.EXITED, ContainerState.CREATED):
            self._start(container, Kind.INIT)
            return
        if one.state is ContainerState.UNKNOWN:
            self._stop_unknown(one, "Init container")
            self._start(container, Kind.INIT)
            return
        reason = self._view.failed.get(one.id)
        if reason is not None:
            message = f"Init container {container.name} failed {reason.value} probe"
            self._stops.append(StopContainer(one.id, one.name, reason, message))
            self._start(container, Kind.INIT)

    # App and ephemeral containers

    def _app_containers(self) -> bool:
        """Returns whether any is kept or due."""
        kept = False
        for container in self._pod.spec.containers:
            one = self._runtime.container(container.name)
            if one is None or one.state is not ContainerState.RUNNING:
                if restarts.due_to_start(self._pod, container, self._runtime):
                    kept = True
                    if one is not None and one.state is ContainerState.UNKNOWN:
                        self._stop_unknown(one, "Container")
                    self._start(container, Kind.APP)
                continue
            kept = self._running_app_container(container, one) or kept
        return kept

    def _running_app_container(self, container: core.Container, one: ObservedContainer) -> bool:
        reason = self._view.failed.get(one.id)
        restart = restarts_after(self._pod, container, 137)
        if one.hash and one.hash != container_hash(container):
            # The spec asks for another container: its restart policy has no say.
            reason, restart = KillReason.CHANGED, True
            message = f"Container {container.name} definition changed"
        elif reason is not None:
            message = f"Container {container.name} failed {reason.value} probe"
        else:
            return True
        if restart:
            message += ", will be restarted"
        self._stops.append(StopContainer(one.id, one.name, reason, message))
        if restart:
            self._start(container, Kind.APP)
        return restart

    def _ephemeral_containers(self) -> None:
        for container in self._pod.spec.ephemeral_containers:
            if self._runtime.container(container.name) is None:
                self._starts.append(StartContainer(container.name, Kind.EPHEMERAL, 0))

    # Starting and stopping one

    def _stop_unknown(self, one: ObservedContainer, what: str) -> None:
        # It may well be running: without the stop, two instances of it could run at once.
        message = f'{what} is in "unknown" state, try killing it before restart'
        self._stops.append(StopContainer(one.id, one.name, KillReason.UNKNOWN, message))

    def _start(self, container: AnyContainer, kind: Kind) -> None:
        name = container.name
        newest = self._runtime.container(name)
        attempt = max(newest.attempt + 1 if newest else 0, self._view.next_attempts.get(name, 0))
        last = restarts.newest_exited(self._runtime, name)
        backoff = self._view.backoffs.get(container_hash(container))
        if last is None:
            # It may have run before, and been removed since. One that runs and is replaced has not failed yet.
            ran = restarts.raised(backoff, self._now, self._now) if attempt > 0 and newest is None else None
            self._starts.append(StartContainer(name, kind, attempt, ran))
        elif not self._hold_back(container, last):
            exited_at = self._view.exited_at.get(last.id, self._now)
            self._starts.append(StartContainer(name, kind, attempt, restarts.raised(backoff, exited_at, self._now)))

    def _hold_back(self, container: AnyContainer, last: ObservedContainer) -> bool:
        """Whether the container's back-off, counted from its last end, is not over yet; then it is noted."""
        backoff = self._view.backoffs.get(container_hash(container))
        wait = restarts.remaining(backoff, self._view.exited_at.get(last.id, self._now), self._now)
        if wait <= 0 or backoff is None:
            return False
        self._waits.append(BackingOff(container.name, backoff.delay, self._now + wait))
        return True
