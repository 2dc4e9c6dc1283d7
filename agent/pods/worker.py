"""One pod's life on this node, from admission to the last trace of it.

A worker is a task that belongs to one pod UID. It waits until something may have changed (the spec, the runtime, a
probe, a moment), looks at the runtime afresh, and takes one pass:

    SYNC          observe, report, plan, act: until the pod is to end or has ended by itself
    TERMINATING   stop containers and sandboxes within the grace period, until the runtime shows none alive
    TERMINATED    unmount volumes, remove the cgroup, let the API's object go; then wait until the source drops the pod

The states only go forward. A pass that fails is taken again after a back-off; a pass under way is cut short when the
pod is to end, or to end sooner. So a worker may hang in a call for as long as that call's deadline, and no other pod
notices. After a crash of the agent the same passes lead to the same end from whatever the runtime then shows.
"""

from __future__ import annotations

import asyncio
import enum
import logging
from collections.abc import Awaitable, Callable

from agent.pods.conditions import OWNED
from agent.pods.ending import End, Ender
from agent.pods.killing import grace_period
from agent.pods.memory import Memory
from agent.pods.phases import TERMINAL
from agent.pods.seams import VolumeError
from agent.pods.status import Failure, rejected
from agent.pods.syncing import PassFailed, Syncer
from agent.pods.world import World
from api import core_v1 as core
from client.backoff import Backoff
from cri.errors import CriError

log = logging.getLogger(__name__)

FIRST_RETRY = 1.0
LONGEST_RETRY = 10.0


class State(enum.Enum):
    SYNC = "sync"
    TERMINATING = "terminating"
    TERMINATED = "terminated"


def _is_news(before: core.Pod, after: core.Pod) -> bool:
    """Whether a version of a pod says more than what this node itself has just reported."""

    def facts(pod: core.Pod) -> tuple[object, ...]:
        meta = pod.metadata
        foreign = [one for one in pod.status.conditions if one.type not in OWNED]
        ended = pod.status.phase in TERMINAL
        return meta.deletion_timestamp, meta.deletion_grace_period_seconds, meta.generation, ended, foreign

    changed = facts(before) != facts(after) or before.spec != after.spec
    return changed or (before.metadata.labels, before.metadata.annotations) != (
        after.metadata.labels,
        after.metadata.annotations,
    )


class PodWorker:
    """Runs one pod.

    `admit` is asked once, before anything is done for the pod, and says why the node refuses it; pods that the
    runtime knows already are not asked about (`admitted`). `after`, if given, is the end of a pod of the same name,
    to be waited for. `sourced` is false for a pod of which the runtime alone knows.
    """

    def __init__(
        self,
        pod: core.Pod,
        world: World,
        admit: Callable[[core.Pod], Awaitable[Failure | None]],
        *,
        admitted: bool = False,
        after: asyncio.Event | None = None,
        sourced: bool = True,
    ) -> None:
        self.pod = pod
        self.sourced = sourced
        self.state = State.SYNC
        self.memory = Memory()
        self.admitted = admitted
        self.gone = asyncio.Event()
        self._world = world
        self._admit = admit
        self._after = after
        self._syncer = Syncer(world)
        self._ender = Ender(world, self._syncer)
        self._wake = asyncio.Event()
        self._pass: asyncio.Task[float | None] | None = None
        self._backoff = Backoff(FIRST_RETRY, LONGEST_RETRY, jitter=0.5, rng=world.rng)
        self.removed = False
        # The volumes of a pod that ran before this agent did: nobody keeps their files and tokens current yet.
        self._refresh = admitted
        self._failure: Failure | None = None
        self._override: float | None = None
        self._end: End | None = None
        self._cleaned_as: tuple[bool, bool] | None = None

    # What others have to say; all of it returns at once

    def update(self, pod: core.Pod) -> None:
        """The source has another version of the pod."""
        before, self.pod = self.pod, pod
        if (before.metadata.labels, before.metadata.annotations) != (pod.metadata.labels, pod.metadata.annotations):
            # Downward API volumes show them.
            self._refresh = True
        if _is_news(before, pod):
            self._reconsider()

    def remove(self, grace: float | None = None) -> None:
        """No source has the pod any more; `grace` in seconds caps what it was granted."""
        self.removed = True
        if grace is not None:
            self._override = grace
        self._reconsider()

    def evict(self, failure: Failure, grace: float | None = None) -> None:
        """End the pod for a reason of the node's; `grace` in seconds caps what its spec grants."""
        self._failure = self._failure or failure
        self._override = grace
        self._reconsider()

    def poke(self) -> None:
        """Something may have changed: look again."""
        self._wake.set()

    def judged(self) -> None:
        """A probe has reached another verdict.

        It is told at once and not after the pass that is under way, which may last a whole grace period: a pod that
        drains is to get no more traffic.
        """
        self._wake.set()
        runtime = self.memory.runtime
        if self._pass is None or runtime is None or self.state is State.TERMINATED:
            return
        try:
            self._syncer.report(self.pod, self.memory, runtime, failure=self._failure)
        except Exception:
            # As in a pass: one pod's bug is not to end the others, or the probe that calls.
            log.exception("verdict not told pod=%s", self._name())

    def refresh_volumes(self) -> None:
        """Objects the pod's volumes are made of have changed."""
        self._refresh = True
        self._wake.set()

    def _reconsider(self) -> None:
        """Wake up; and cut a pass short that the news makes pointless."""
        self._wake.set()
        if self._pass is None:
            return
        if self.state is State.SYNC:
            pointless = self._is_to_end()
        else:
            end = self._end if self.state is State.TERMINATING else None
            pointless = end is not None and grace_period(self.pod, self._override) < end.grace
        if pointless:
            self._pass.cancel()

    # The task

    async def run(self) -> None:
        """Returns once nothing of the pod is left here and no source wants it."""
        try:
            if self._after is not None:
                await self._after.wait()
            while True:
                self._wake.clear()
                retry_at = await self._take_pass()
                if self.state is State.TERMINATED and self.removed and self._cleaned_as == (True, True):
                    return
                await self._rest(retry_at)
        finally:
            self.gone.set()

    async def _rest(self, until: float | None) -> None:
        """Wait for news, at most until a moment (monotonic seconds)."""
        if until is None:
            await self._wake.wait()
            return
        timer = self._world.clock.call_later(until - self._world.clock.monotonic(), self._wake.set)
        try:
            await self._wake.wait()
        finally:
            timer.cancel()

    async def _take_pass(self) -> float | None:
        """One pass, whatever becomes of it; returns when to take the next (monotonic seconds), None for no hurry."""
        clock = self._world.clock
        self._pass = asyncio.create_task(self._step(), name=f"pass-{self.pod.metadata.uid}")
        try:
            retry_at = await self._pass
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            return clock.monotonic()
        except (PassFailed, CriError, VolumeError, OSError) as error:
            log.info("pod not as wanted pod=%s state=%s error=%s", self._name(), self.state.value, error)
            return clock.monotonic() + self._backoff.next()
        except Exception:
            # One pod's bug is not to end the others.
            log.exception("pass failed pod=%s state=%s", self._name(), self.state.value)
            return clock.monotonic() + self._backoff.next()
        finally:
            self._pass = None
        self._backoff.reset()
        return retry_at

    def _name(self) -> str:
        meta = self.pod.metadata
        return f"{meta.namespace}/{meta.name} uid={meta.uid}"

    async def _step(self) -> float | None:
        if self.state is State.SYNC:
            if not self._is_to_end():
                return await self._sync()
            self.state = State.TERMINATING
        if self.state is State.TERMINATING:
            await self._terminate()
        await self._clean()
        return None

    # The three passes

    def _is_to_end(self) -> bool:
        return (
            self.removed
            or self._failure is not None
            or self.pod.metadata.deletion_timestamp is not None
            or self.pod.status.phase in TERMINAL
        )

    async def _sync(self) -> float | None:
        pod = self.pod
        if not self.admitted:
            refusal = await self._admit(pod)
            if refusal is not None:
                return self._refuse(pod, refusal)
            self.admitted = True
        verdict = await self._syncer.sync(pod, self.memory)
        if verdict.failure is not None:
            self._world.recorder.event(pod, "Normal", verdict.failure.reason, verdict.failure.message)
            self._failure = verdict.failure
        if verdict.ended or verdict.failure is not None:
            self.state = State.TERMINATING
            return self._world.clock.monotonic()
        if self._refresh:
            await self._refresh_files(pod)
        return verdict.retry_at

    async def _refresh_files(self, pod: core.Pod) -> None:
        self._refresh = False  # first, so that what changes meanwhile is for the next pass
        try:
            await self._world.volumes.refresh(pod)
        except VolumeError as error:
            self._refresh = True
            for message in error.messages:
                self._world.recorder.event(pod, "Warning", error.reason, message)
            raise
        except BaseException:
            self._refresh = True
            raise

    def _refuse(self, pod: core.Pod, refusal: Failure) -> float:
        """Nothing was done for the pod, so nothing is to be undone."""
        clock = self._world.clock
        self._world.recorder.event(pod, "Warning", refusal.reason, refusal.message)
        self.memory.record.note("refused", clock.now()).outcome = f"{refusal.reason}: {refusal.message}"
        self.memory.status = rejected(pod, refusal, clock.now())
        self._world.statuses.set(pod, self.memory.status)
        self.state = State.TERMINATED
        return clock.monotonic()

    async def _terminate(self) -> None:
        grace = grace_period(self.pod, self._override)
        if self._end is None:
            self._end = End(grace, self._world.clock.monotonic() + grace, self._failure)
        elif grace < self._end.grace:
            sooner = self._world.clock.monotonic() + grace
            self._end = End(grace, min(sooner, self._end.deadline), self._failure)
        await self._ender.terminate(self.pod, self.memory, self._end)
        self.state = State.TERMINATED

    async def _clean(self) -> None:
        deleted = self.pod.metadata.deletion_timestamp is not None or self.removed
        wanted = (True, deleted)
        if self._cleaned_as in (wanted, (True, True)):
            return
        await self._ender.clean(self.pod, self.memory, forget=deleted)
        self._cleaned_as = wanted
