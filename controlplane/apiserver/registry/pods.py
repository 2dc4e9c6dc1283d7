"""Pods: their status belongs to the node, their placement to the scheduler, and they end gracefully."""

from __future__ import annotations

from typing import Any

import msgspec

from api import core_v1 as core
from api import meta_v1 as meta
from api import pods
from api.pod_resources import compute_qos_class
from api.times import Time
from controlplane.apiserver.registry.strategy import Strategy, Write, reset_metadata_for_status

LEAST_GRACE_PERIOD = 1
"""Seconds: what a negative period counts as."""

_GATED = "Scheduling is blocked due to non-empty scheduling gates"


class PodStrategy(Strategy):
    """Pods as the API treats them."""

    graceful = True

    def prepare_create(self, obj: Any, write: Write) -> None:
        pod: core.Pod = obj
        pod.metadata.generation = 1
        _mend_grace_period(pod.spec)
        pod.status = core.PodStatus(phase="Pending", qos_class=compute_qos_class(pod.spec))
        if pod.spec.scheduling_gates:
            pod.status.conditions.append(
                core.PodCondition(
                    type="PodScheduled",
                    status="False",
                    reason="SchedulingGated",
                    message=_GATED,
                    last_transition_time=Time.from_timestamp(write.now),
                )
            )
        _merge_label_keys(pod)

    def prepare_update(self, new: Any, old: Any, write: Write) -> None:
        _mend_grace_period(new.spec)
        super().prepare_update(new, old, write)

    def prepare_status_update(self, new: Any, old: Any, write: Write) -> None:
        new.spec = old.spec
        new.metadata.deletion_timestamp = None
        # Older kubelets wrote owner references back damaged, which broke garbage collection.
        new.metadata.owner_references = old.metadata.owner_references
        if not new.status.qos_class:
            new.status.qos_class = old.status.qos_class
        _keep_observed_generations(new.status, old.status)

    def grace_period(self, obj: Any, requested: int | None) -> int:
        pod: core.Pod = obj
        if not pod.spec.node_name or pods.is_terminal(pod):
            return 0  # nothing runs anywhere
        period = pod.spec.termination_grace_period_seconds if requested is None else requested
        return LEAST_GRACE_PERIOD if period is not None and period < 0 else period or 0

    def prepare_ephemeral(self, new: Any, old: Any, write: Write) -> None:
        """The half of `pods/ephemeralcontainers`: that list, nothing else."""
        added = new.spec.ephemeral_containers
        new.spec = msgspec.structs.replace(old.spec, ephemeral_containers=added)
        new.status = old.status
        reset_metadata_for_status(new.metadata, old.metadata)
        self.count_generation(new, old)


def _mend_grace_period(spec: core.PodSpec) -> None:
    """Less than no time at all has always been taken for a second."""
    if spec.termination_grace_period_seconds is not None and spec.termination_grace_period_seconds < 0:
        spec.termination_grace_period_seconds = LEAST_GRACE_PERIOD


def _keep_observed_generations(new: core.PodStatus, old: core.PodStatus) -> None:
    """A writer that does not know of observedGeneration must not clear it."""
    if not new.observed_generation:
        new.observed_generation = old.observed_generation
    known: dict[str, list[int]] = {}
    for condition in old.conditions:
        known.setdefault(condition.type, []).append(condition.observed_generation)
    for condition in new.conditions:
        before = known.get(condition.type)
        generation = before.pop(0) if before else 0
        if not condition.observed_generation:
            condition.observed_generation = generation


def _merge_label_keys(pod: core.Pod) -> None:
    """Turn matchLabelKeys of affinity terms and spread constraints into requirements on the pod's own labels."""
    labels = pod.metadata.labels
    for constraint in pod.spec.topology_spread_constraints:
        if constraint.label_selector is not None:
            _require(constraint.label_selector, constraint.match_label_keys, "In", labels)
    affinity = pod.spec.affinity
    if affinity is None:
        return
    for side in (affinity.pod_affinity, affinity.pod_anti_affinity):
        if side is None:
            continue
        terms = list(side.required_during_scheduling_ignored_during_execution)
        terms += [term.pod_affinity_term for term in side.preferred_during_scheduling_ignored_during_execution]
        for term in terms:
            if term.label_selector is not None:
                _require(term.label_selector, term.match_label_keys, "In", labels)
                _require(term.label_selector, term.mismatch_label_keys, "NotIn", labels)


def _require(selector: meta.LabelSelector, keys: list[str], operator: str, labels: dict[str, str]) -> None:
    for key in keys:
        if key in labels:
            selector.match_expressions.append(
                meta.LabelSelectorRequirement(key=key, operator=operator, values=[labels[key]])
            )
