"""Warnings of pods and of what makes pods."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from api import apps_v1 as apps
from api import batch_v1 as batch
from api import core_v1 as core
from api.names import dns1123_label
from api.warnings.claims import claim_warnings
from api.warnings.pods import pod_warnings, template_warnings

_TEMPLATE = "spec.template"
_JOB_TEMPLATE = "spec.jobTemplate.spec"

# Above both, the indexes of failed pods may not fit into a job's status any more.
_MANY_COMPLETIONS = 100_000
_MANY_AT_ONCE = 10_000


def _name(name: str, used: str) -> list[str]:
    problems = dns1123_label(name)
    if not problems:
        return []
    listed = " ".join(problems)
    consequence = "which can result in surprising behavior; a DNS label is recommended"
    return [f"metadata.name: this is used in {used}, {consequence}: [{listed}]"]


def _pod(pod: core.Pod) -> list[str]:
    metadata = pod.metadata
    named = [] if metadata.generate_name else _name(metadata.name, "the Pod's hostname")
    return named + pod_warnings(pod)


def _template(workload: Any) -> list[str]:
    template = workload.spec.template
    return [] if template is None else template_warnings(template, _TEMPLATE)


def _replicated(workload: Any) -> list[str]:
    return _name(workload.metadata.name, "Pod names and hostnames") + _template(workload)


def _stateful_set(workload: apps.StatefulSet) -> list[str]:
    return _template(workload) + _stateful(workload, "")


def _changed_stateful_set(new: apps.StatefulSet, old: apps.StatefulSet) -> list[str]:
    # Upstream names the claims' specs in updates only, and so.
    return _changed_template(new, old) + _stateful(new, ".Spec")


def _stateful(workload: apps.StatefulSet, part: str) -> list[str]:
    found: list[str] = []
    for index, claim in enumerate(workload.spec.volume_claim_templates):
        found += claim_warnings(claim.spec, f"spec.volumeClaimTemplates[{index}]{part}")
    limit = workload.spec.revision_history_limit
    if limit is not None and limit < 0:
        advice = "a negative value retains all historical revisions; a value >= 0 is recommended"
        found.append(f"spec.revisionHistoryLimit: {advice}")
    return found


def _job_spec(spec: batch.JobSpec, path: str) -> list[str]:
    found = []
    many = (spec.completions or 0) > _MANY_COMPLETIONS and (spec.parallelism or 0) > _MANY_AT_ONCE
    if spec.completion_mode == "Indexed" and many:
        found.append(
            f"{path}: In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4"
            ", Kubernetes might not be able to track completedIndexes when a big number of indexes fail"
        )
    return found + template_warnings(spec.template, f"{path}.template")


def _job(job: batch.Job) -> list[str]:
    return _name(job.metadata.name, "Pod names and hostnames") + _job_spec(job.spec, "spec")


def _cron_job(job: batch.CronJob) -> list[str]:
    return _name(job.metadata.name, "Pod names and hostnames") + _job_spec(job.spec.job_template.spec, _JOB_TEMPLATE)


def _changed(new: Any, old: Any) -> bool:
    return bool(new.metadata.generation != old.metadata.generation)


def _changed_template(new: Any, old: Any) -> list[str]:
    return _template(new) if _changed(new, old) else []


CREATE: dict[type, Callable[[Any], list[str]]] = {
    core.Pod: _pod,
    core.PodTemplate: lambda kept: template_warnings(kept.template, "template"),
    core.ReplicationController: _replicated,
    apps.ReplicaSet: _replicated,
    apps.Deployment: _replicated,
    apps.DaemonSet: _template,
    apps.StatefulSet: _stateful_set,
    batch.Job: _job,
    batch.CronJob: _cron_job,
}

#: Pods are left out: nearly all who change them are programs.
UPDATE: dict[type, Callable[[Any, Any], list[str]]] = {
    core.PodTemplate: lambda new, old: template_warnings(new.template, "template") if _changed(new, old) else [],
    core.ReplicationController: _changed_template,
    apps.ReplicaSet: _changed_template,
    apps.Deployment: _changed_template,
    apps.DaemonSet: lambda new, old: _template(new) if new.spec.template != old.spec.template else [],
    apps.StatefulSet: _changed_stateful_set,
    batch.Job: lambda new, old: _job_spec(new.spec, "spec") if _changed(new, old) else [],
    batch.CronJob: lambda new, old: _job_spec(new.spec.job_template.spec, _JOB_TEMPLATE) if _changed(new, old) else [],
}
