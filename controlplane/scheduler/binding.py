"""Telling the API server where a pod runs, and learning what came of it.

A binding is one request, but there are three answers: it is so, it cannot be so, and none. After none the pod may
well be bound: the binder looks it up until it knows, since to place another pod on resources that are taken would be
worse than to wait.
"""

from __future__ import annotations

import enum
import logging
from dataclasses import dataclass

from api import core_v1 as core
from api import meta_v1 as meta
from api.errors import StatusError
from client.backoff import Backoff
from client.clock import Clock
from client.errors import ClientError
from client.interface import Client
from controlplane.scheduler.demand import Demand

log = logging.getLogger(__name__)

LOOK_UPS = 8


class Outcome(enum.Enum):
    """What came of a binding."""

    BOUND = enum.auto()
    LOST = enum.auto()  # the pod is gone, or someone else has bound it: not ours any more
    FAILED = enum.auto()  # it has no node: try again


@dataclass(frozen=True, slots=True)
class Result:
    """An outcome; `error` tells why, where it is not BOUND."""

    outcome: Outcome
    error: str = ""


class Binder:
    """Binds pods through pods/binding."""

    def __init__(self, client: Client, clock: Clock) -> None:
        self._client = client
        self._clock = clock

    async def bind(self, demand: Demand, node: str) -> Result:
        """Bind a pod to a node. Never raises for what a server or network may do."""
        binding = core.Binding(
            metadata=meta.ObjectMeta(name=demand.name, namespace=demand.namespace, uid=demand.uid),
            target=core.ObjectReference(kind="Node", name=node),
        )
        try:
            await self._client.create_subresource(
                core.Pod, demand.name, demand.namespace, "binding", binding, meta.Status
            )
        except StatusError as error:
            if error.code == 404:
                return Result(Outcome.LOST, str(error))
            if error.code != 409:
                return Result(Outcome.FAILED, str(error))
            # Bound already (our own answer may have been lost before), being deleted, or another pod of this name.
            return await self._look_up(demand, node, str(error))
        except ClientError as error:
            return await self._look_up(demand, node, str(error))
        return Result(Outcome.BOUND)

    async def _look_up(self, demand: Demand, node: str, cause: str) -> Result:
        backoff = Backoff(0.2, 10.0, jitter=0.5)
        for _ in range(LOOK_UPS):
            try:
                pod = await self._client.get(core.Pod, demand.name, demand.namespace)
            except StatusError as error:
                if error.code == 404:
                    return Result(Outcome.LOST, cause)
                log.info("look-up after binding refused pod=%s/%s error=%s", demand.namespace, demand.name, error)
            except ClientError as error:
                log.info("look-up after binding failed pod=%s/%s error=%s", demand.namespace, demand.name, error)
            else:
                return _judge(pod, demand, node, cause)
            await self._clock.sleep(backoff.next())
        return Result(Outcome.FAILED, cause)


def _judge(pod: core.Pod, demand: Demand, node: str, cause: str) -> Result:
    if pod.metadata.uid != demand.uid or pod.metadata.deletion_timestamp is not None:
        return Result(Outcome.LOST, cause)
    if pod.spec.node_name == node:
        return Result(Outcome.BOUND)
    return Result(Outcome.LOST if pod.spec.node_name else Outcome.FAILED, cause)
