"""eviction: a delete that asks the disruption budgets first (policy/v1)."""

from __future__ import annotations

from typing import Any

from api import codec, errors, pods
from api import core_v1 as core
from api import meta_v1 as meta
from api import policy_v1 as policy
from api.selectors import from_struct
from controlplane.apiserver import bodies, negotiation, options, replies
from controlplane.apiserver.exchange import Exchange, Reply
from controlplane.apiserver.registry.registry import Registry
from controlplane.apiserver.verbs import create, metadata
from controlplane.apiserver.verbs.delete import delete_object
from controlplane.apiserver.verbs.environment import Environment
from controlplane.apiserver.verbs.update import ATTEMPTS
from controlplane.store.errors import Conflict

_SUCCESS = codec.encode(meta.Status(status="Success", code=201))


async def evict(registry: Registry, budgets: Registry, environment: Environment, exchange: Exchange) -> Reply:
    """Answer a POST to pods/<name>/eviction."""
    output = replies.output_of(exchange, transforms=negotiation.METADATA_ONLY)
    wanted = options.write_options(exchange.query, "CreateOptions")
    eviction = await bodies.read_struct(exchange, policy.Eviction, "policy/v1", "Eviction", wanted.field_validation)
    info = exchange.info
    metadata.check_namespace(eviction.metadata, info.namespace)
    if eviction.metadata.name != info.name:
        raise errors.bad_request("name in URL does not match name in Eviction object")
    await environment.admit(create.OPERATION, exchange, registry, eviction, None, dry_run=wanted.dry_run)
    deletion = eviction.delete_options or meta.DeleteOptions()
    if wanted.dry_run:
        deletion.dry_run = ["All"]
    pod: core.Pod = registry.decode(registry.find(info.namespace, info.name))
    if _counts(pod):
        await _spend(budgets, environment, pod, dry_run=bool(deletion.dry_run))

    def mark(evicted: core.Pod) -> None:
        _tell(evicted, environment)

    await delete_object(registry, environment, exchange, info.namespace, info.name, deletion, mark)
    return replies.reply(exchange, output, _SUCCESS, 201)


def _tell(pod: core.Pod, environment: Environment) -> None:
    """Let whoever made the pod see that its end is not its own fault (KEP-3329)."""
    pods.set_condition(
        pod.status.conditions,
        core.PodCondition(
            type="DisruptionTarget",
            observed_generation=pod.metadata.generation,
            status="True",
            reason="EvictionByEvictionAPI",
            message="Eviction API: evicting",
            last_transition_time=environment.stamp(),
        ),
    )


def _counts(pod: core.Pod) -> bool:
    """Whether budgets have a say: not for pods that are over, or that run nowhere yet."""
    return not pods.is_terminal(pod) and pod.status.phase != "Pending" and pod.metadata.deletion_timestamp is None


async def _spend(budgets: Registry, environment: Environment, pod: core.Pod, *, dry_run: bool) -> None:
    """Take one disruption from the budget that covers the pod; raises StatusError (TooManyRequests)."""
    for _ in range(ATTEMPTS):
        covering = [
            entry
            for entry in budgets.cache.entries(pod.metadata.namespace)
            if _selects(budgets.cache.object(entry), pod)
        ]
        if not covering:
            return
        if len(covering) > 1:
            raise errors.internal(
                "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
            )
        budget: Any = budgets.decode(covering[0])
        if not pods.is_ready(pod) and budget.spec.unhealthy_pod_eviction_policy == "AlwaysAllow":
            return
        _check(budget)
        budget.status.disruptions_allowed -= 1
        budget.status.disrupted_pods = {**budget.status.disrupted_pods, pod.metadata.name: environment.stamp()}
        if dry_run:
            return
        try:
            await budgets.replace(covering[0], budgets.encode(budget))
            return
        except Conflict:
            continue
    raise errors.too_many_requests("Cannot evict pod as it would violate the pod's disruption budget.", 10)


def _check(budget: policy.PodDisruptionBudget) -> None:
    name = budget.metadata.name
    if budget.status.observed_generation < budget.metadata.generation:
        raise _refused(name, f"The disruption budget {name} is still being processed by the server.", 10)
    if budget.status.disruptions_allowed < 1:
        healthy, needed = budget.status.current_healthy, budget.status.desired_healthy
        raise _refused(name, f"The disruption budget {name} needs {needed} healthy pods and has {healthy} currently", 0)


def _selects(budget: policy.PodDisruptionBudget, pod: core.Pod) -> bool:
    return budget.spec.selector is not None and from_struct(budget.spec.selector).matches(pod.metadata.labels)


def _refused(name: str, message: str, retry_after: int) -> errors.StatusError:
    error = errors.too_many_requests("Cannot evict pod as it would violate the pod's disruption budget.", retry_after)
    if error.status.details is not None:
        error.status.details.causes = [meta.StatusCause(reason="DisruptionBudget", message=message)]
    return error
