"""Defaults of Jobs and CronJobs."""

from __future__ import annotations

from api import batch_v1 as batch
from api.defaults.pods import default_template

BACKOFF_LIMIT = 6
_NO_LIMIT = 2**31 - 1
"""With a limit for each index, the job as a whole has none."""


def default_job(job: batch.Job) -> None:
    default_job_spec(job.spec)
    labels = job.spec.template.metadata.labels
    if labels and not job.metadata.labels:
        job.metadata.labels = dict(labels)
    _default_failure_policy(job.spec)


def default_job_spec(spec: batch.JobSpec) -> None:
    default_template(spec.template)
    # One pod that succeeds, unless the job says how many, or works off a queue.
    if spec.completions is None and spec.parallelism is None:
        spec.completions = 1
    if spec.parallelism is None:
        spec.parallelism = 1
    if spec.backoff_limit is None:
        spec.backoff_limit = BACKOFF_LIMIT if spec.backoff_limit_per_index is None else _NO_LIMIT
    if spec.completion_mode is None:
        spec.completion_mode = "NonIndexed"
    if spec.suspend is None:
        spec.suspend = False
    if spec.manual_selector is None:
        spec.manual_selector = False
    if spec.pod_replacement_policy is None:
        spec.pod_replacement_policy = "TerminatingOrFailed" if spec.pod_failure_policy is None else "Failed"


def _default_failure_policy(spec: batch.JobSpec) -> None:
    if spec.pod_failure_policy is None:
        return
    for rule in spec.pod_failure_policy.rules:
        for pattern in rule.on_pod_conditions:
            pattern.status = pattern.status or "True"


def default_cron_job(cron: batch.CronJob) -> None:
    spec = cron.spec
    default_template(spec.job_template.spec.template)
    _default_failure_policy(spec.job_template.spec)
    if not spec.concurrency_policy:
        spec.concurrency_policy = "Allow"
    if spec.suspend is None:
        spec.suspend = False
    if spec.successful_jobs_history_limit is None:
        spec.successful_jobs_history_limit = 3
    if spec.failed_jobs_history_limit is None:
        spec.failed_jobs_history_limit = 1


DEFAULTS = {
    ("batch/v1", "Job"): default_job,
    ("batch/v1", "CronJob"): default_cron_job,
}
