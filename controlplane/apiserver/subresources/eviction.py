"""eviction: a delete that asks the disruption budgets first (policy/v1)."""

from __future__ import annotations

from api import codec, errors, pods
from api import core_v1 as core
from api import meta_v1 as meta
from api import policy_v1 as policy
from api.selectors import from_struct
from controlplane.apiserver import bodies, negotiation, options, replies
from controlplane.apiserver.exchange import Exchange, Reply
from controlplane.apiserver.registry.registry import Registry
from controlplane.apiserver.subresources.budgets import ambiguous, is_free, spend, unprocessed
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
    free = await _ask(budgets, environment, pod, dry_run=bool(deletion.dry_run)) if _counts(pod) else ""
    guarded = bool(free) and _guard(deletion, pod)

    def mark(evicted: core.Pod) -> None:
        _tell(evicted, environment)

    try:
        await delete_object(registry, environment, exchange, info.namespace, info.name, deletion, mark)
    except errors.StatusError as error:
        if guarded and errors.is_conflict(error):
            raise unprocessed(free) from None
        raise
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


def _guard(deletion: meta.DeleteOptions, pod: core.Pod) -> bool:
    """Hold the deletion to the pod as it was judged: it may be ready by now. False if the client does so itself."""
    asked = deletion.preconditions or meta.Preconditions()
    if asked.resource_version is not None:
        return False
    asked.resource_version = pod.metadata.resource_version
    deletion.preconditions = asked
    return True


async def _ask(budgets: Registry, environment: Environment, pod: core.Pod, *, dry_run: bool) -> str:
    """Take one disruption from the budget that covers the pod; the budget's name if it let the pod go for nothing.

    Raises StatusError (TooManyRequests, Forbidden, InternalError).
    """
    for _ in range(ATTEMPTS):
        covering = [
            entry
            for entry in budgets.cache.entries(pod.metadata.namespace)
            if _selects(budgets.cache.object(entry), pod)
        ]
        if not covering:
            return ""
        if len(covering) > 1:
            raise ambiguous()
        budget: policy.PodDisruptionBudget = budgets.decode(covering[0])
        if is_free(budget, pod):
            return budget.metadata.name
        spend(budget, pod.metadata.name, environment.stamp())
        if dry_run:
            return ""
        try:
            await budgets.replace(covering[0], budgets.encode(budget))
            return ""
        except Conflict:
            continue
    raise unprocessed(covering[0].name)


def _selects(budget: policy.PodDisruptionBudget, pod: core.Pod) -> bool:
    return budget.spec.selector is not None and from_struct(budget.spec.selector).matches(pod.metadata.labels)
