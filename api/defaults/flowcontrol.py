"""Defaults of API priority and fairness."""

from __future__ import annotations

from api import flowcontrol_v1 as flowcontrol

MATCHING_PRECEDENCE = 1000
CONCURRENCY_SHARES = 30


def default_flow_schema(schema: flowcontrol.FlowSchema) -> None:
    if not schema.spec.matching_precedence:
        schema.spec.matching_precedence = MATCHING_PRECEDENCE


def default_priority_level(level: flowcontrol.PriorityLevelConfiguration) -> None:
    spec = level.spec
    if spec.exempt is not None:
        if spec.exempt.nominal_concurrency_shares is None:
            spec.exempt.nominal_concurrency_shares = 0
        if spec.exempt.lendable_percent is None:
            spec.exempt.lendable_percent = 0
    if spec.limited is not None:
        if spec.limited.nominal_concurrency_shares is None:
            spec.limited.nominal_concurrency_shares = CONCURRENCY_SHARES
        if spec.limited.lendable_percent is None:
            spec.limited.lendable_percent = 0
        queuing = spec.limited.limit_response.queuing
        if queuing is not None:
            queuing.hand_size = queuing.hand_size or 8
            queuing.queues = queuing.queues or 64
            queuing.queue_length_limit = queuing.queue_length_limit or 50


DEFAULTS = {
    ("flowcontrol.apiserver.k8s.io/v1", "FlowSchema"): default_flow_schema,
    ("flowcontrol.apiserver.k8s.io/v1", "PriorityLevelConfiguration"): default_priority_level,
}
