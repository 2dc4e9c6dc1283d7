"""What a disruption budget says of an eviction. Pure: what is spent is written by the caller.

Source: pkg/registry/core/pod/storage/eviction.go; KEP-3017 for pods that are not ready.
"""

from __future__ import annotations

from api import core_v1 as core
from api import errors, pods
from api import meta_v1 as meta
from api import policy_v1 as policy
from api.times import Time

ALLOWED = "DisruptionAllowed"

#: Evictions that the controller has not seen yet; more would mean that it is not there.
_UNCONFIRMED_LIMIT = 2000

_REFUSAL = "Cannot evict pod as it would violate the pod's disruption budget."
_RESOURCE = errors.GroupName("policy", "poddisruptionbudget")


def is_free(budget: policy.PodDisruptionBudget, pod: core.Pod) -> bool:
    """Whether the pod may go at no cost: it is not ready, so that nobody misses it."""
    if pods.is_ready(pod):
        return False
    if budget.spec.unhealthy_pod_eviction_policy == "AlwaysAllow":
        return True
    status = budget.status
    return 0 < status.desired_healthy <= status.current_healthy


def spend(budget: policy.PodDisruptionBudget, pod: str, now: Time) -> None:
    """Take one disruption for the named pod, so that the next eviction knows of it before the controller does.

    Raises StatusError (TooManyRequests, Forbidden).
    """
    name, status = budget.metadata.name, budget.status
    if status.observed_generation < budget.metadata.generation:
        raise unprocessed(name)
    if status.disruptions_allowed < 0:
        raise errors.forbidden(_RESOURCE, name, "pdb disruptions allowed is negative")
    if len(status.disrupted_pods) > _UNCONFIRMED_LIMIT:
        cause = "DisruptedPods map too big - too many evictions not confirmed by PDB controller"
        raise errors.forbidden(_RESOURCE, name, cause)
    if status.disruptions_allowed == 0:
        raise _refused(_why_not(budget), 0)
    status.disruptions_allowed -= 1
    if status.disruptions_allowed == 0:
        none_left = meta.Condition(
            type=ALLOWED,
            status="False",
            reason="InsufficientPods",
            observed_generation=status.observed_generation,
            last_transition_time=now,
        )
        pods.set_condition(status.conditions, none_left)
    status.disrupted_pods = {**status.disrupted_pods, pod: now}


def unprocessed(name: str) -> errors.StatusError:
    """The budget's numbers are not those of now; the client is to try again."""
    return _refused(f"The disruption budget {name} is still being processed by the server.", 10)


def _why_not(budget: policy.PodDisruptionBudget) -> str:
    name, status = budget.metadata.name, budget.status
    condition = pods.get_condition(status.conditions, ALLOWED)
    said = condition if condition is not None and condition.status == "False" and condition.message else None
    if said is not None and said.reason == "SyncFailed":
        # The numbers are those of before.
        return (
            f"The disruption budget {name} does not allow evicting pods currently because it failed sync: "
            f"{said.message}"
        )
    if status.current_healthy <= status.desired_healthy:
        needed, healthy = status.desired_healthy, status.current_healthy
        return f"The disruption budget {name} needs {needed} healthy pods and has {healthy} currently"
    why = f" ({said.reason}): {said.message}" if said is not None else ""
    return f"The disruption budget {name} does not allow evicting pods currently{why}"


def _refused(message: str, retry_after: int) -> errors.StatusError:
    error = errors.too_many_requests(_REFUSAL, retry_after)
    if error.status.details is not None:
        error.status.details.causes = [meta.StatusCause(reason="DisruptionBudget", message=message)]
    return error


def ambiguous() -> errors.StatusError:
    """Two budgets cover the pod, which nothing can sort out."""
    text = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
    return errors.StatusError(meta.Status(status="Failure", code=500, message=text))
