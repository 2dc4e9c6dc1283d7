"""Jobs and CronJobs: counts, the selector the server makes, schedules."""

from __future__ import annotations

from api import batch_v1 as batch
from api import names, selectors
from api.codec import deepcopy
from api.fields import FieldErrors, forbidden, invalid, not_supported, required
from api.validation.checks import immutable, non_negative, one_of
from api.validation.metadata import validate_label_selector
from api.validation.podspec import validate_template
from api.validation.rules import Rules

CRON_NAME_LIMIT = 52
_INDEXED_PARALLELISM = 100_000
_CONCURRENCY = ("Allow", "Forbid", "Replace")
_COMPLETION_MODES = ("Indexed", "NonIndexed")
_REPLACEMENT = ("Failed", "TerminatingOrFailed")


def validate_job(job: batch.Job, out: FieldErrors) -> None:
    _validate_spec(job.spec, "spec", out)
    if job.spec.selector is None:
        out.append(required("spec.selector"))
        return
    validate_label_selector(job.spec.selector, "spec.selector", out)
    try:
        matches = selectors.from_struct(job.spec.selector).matches(job.spec.template.metadata.labels)
    except selectors.SelectorError:
        return  # complained about above
    if not matches:
        labels = job.spec.template.metadata.labels or None
        detail = "`selector` does not match template `labels`"
        out.append(invalid("spec.template.metadata.labels", labels, detail))


def _validate_spec(spec: batch.JobSpec, path: str, out: FieldErrors) -> None:
    numbers = (
        (spec.parallelism, "parallelism"),
        (spec.completions, "completions"),
        (spec.active_deadline_seconds, "activeDeadlineSeconds"),
        (spec.backoff_limit, "backoffLimit"),
        (spec.ttl_seconds_after_finished, "ttlSecondsAfterFinished"),
        (spec.backoff_limit_per_index, "backoffLimitPerIndex"),
        (spec.max_failed_indexes, "maxFailedIndexes"),
    )
    for number, wire in numbers:
        if number is not None:
            non_negative(number, f"{path}.{wire}", out)
    if spec.completion_mode is not None:
        one_of(spec.completion_mode, _COMPLETION_MODES, f"{path}.completionMode", out, ordered=True)
        if spec.completion_mode == "Indexed":
            if spec.completions is None:
                detail = "when completion mode is Indexed"
                out.append(required(f"{path}.completions", detail))
            if spec.parallelism is not None and spec.parallelism > _INDEXED_PARALLELISM:
                detail = f"must be less than or equal to {_INDEXED_PARALLELISM} when completion mode is Indexed"
                out.append(invalid(f"{path}.parallelism", spec.parallelism, detail))
    if spec.backoff_limit_per_index is not None and spec.completion_mode != "Indexed":
        detail = "requires indexed completion mode"
        out.append(invalid(f"{path}.backoffLimitPerIndex", spec.backoff_limit_per_index, detail))
    if spec.max_failed_indexes is not None and spec.backoff_limit_per_index is None:
        detail = "when maxFailedIndexes is specified"
        out.append(required(f"{path}.backoffLimitPerIndex", detail))
    if spec.pod_replacement_policy is not None:
        one_of(spec.pod_replacement_policy, _REPLACEMENT, f"{path}.podReplacementPolicy", out, ordered=True)
    validate_template(spec.template, f"{path}.template", out)
    policy = spec.template.spec.restart_policy
    where = f"{path}.template.spec.restartPolicy"
    if policy not in ("OnFailure", "Never"):
        if policy == "Always":
            out.append(required(where, 'valid values: "OnFailure", "Never"'))
        else:
            out.append(not_supported(where, policy, ("OnFailure", "Never")))
    elif spec.pod_failure_policy is not None and policy != "Never":
        detail = "only Never is supported when podFailurePolicy is specified"
        out.append(invalid(where, policy, detail))


def validate_job_update(new: batch.Job, old: batch.Job, out: FieldErrors) -> None:
    """A job's work is fixed; how fast it is done may change, and where, while it is suspended and unstarted."""
    _validate_spec(new.spec, "spec", out)
    elastic = new.spec.completion_mode == "Indexed" and new.spec.completions == new.spec.parallelism
    if not elastic:
        immutable(new.spec.completions, old.spec.completions, "spec.completions", out)
    immutable(new.spec.selector, old.spec.selector, "spec.selector", out)
    template = old.spec.template
    if old.spec.suspend and old.status.start_time is None:
        template = deepcopy(template)
        moved = new.spec.template
        template.metadata.annotations = moved.metadata.annotations
        template.metadata.labels = moved.metadata.labels
        template.spec.node_selector = moved.spec.node_selector
        template.spec.tolerations = moved.spec.tolerations
        template.spec.scheduling_gates = moved.spec.scheduling_gates
        template.spec.affinity = moved.spec.affinity
    immutable(new.spec.template, template, "spec.template", out)
    immutable(new.spec.completion_mode, old.spec.completion_mode, "spec.completionMode", out)
    immutable(new.spec.pod_failure_policy, old.spec.pod_failure_policy, "spec.podFailurePolicy", out)
    immutable(new.spec.backoff_limit_per_index, old.spec.backoff_limit_per_index, "spec.backoffLimitPerIndex", out)
    immutable(new.spec.managed_by, old.spec.managed_by, "spec.managedBy", out)
    immutable(new.spec.success_policy, old.spec.success_policy, "spec.successPolicy", out)


def validate_job_status_update(new: batch.Job, old: batch.Job, out: FieldErrors) -> None:
    status = new.status
    numbers = (
        (status.active, "active"),
        (status.succeeded, "succeeded"),
        (status.failed, "failed"),
        (status.ready or 0, "ready"),
        (status.terminating or 0, "terminating"),
    )
    for number, wire in numbers:
        non_negative(number, f"status.{wire}", out)


def validate_cron_job(cron: batch.CronJob, out: FieldErrors) -> None:
    if len(cron.metadata.name) > CRON_NAME_LIMIT:
        out.append(invalid("metadata.name", cron.metadata.name, "must be no more than 52 characters"))
    spec = cron.spec
    if not spec.schedule:
        out.append(required("spec.schedule"))
    elif "TZ" in spec.schedule:
        detail = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"
        out.append(invalid("spec.schedule", spec.schedule, detail))
    if spec.time_zone is not None and not spec.time_zone:
        out.append(invalid("spec.timeZone", spec.time_zone, "timeZone must be nil or non-empty string"))
    if spec.starting_deadline_seconds is not None:
        non_negative(spec.starting_deadline_seconds, "spec.startingDeadlineSeconds", out)
    if not spec.concurrency_policy:
        out.append(required("spec.concurrencyPolicy"))
    else:
        one_of(spec.concurrency_policy, _CONCURRENCY, "spec.concurrencyPolicy", out, ordered=True)
    template = spec.job_template.spec
    if template.manual_selector:
        out.append(not_supported("spec.jobTemplate.spec.manualSelector", True, ("nil", "false")))
    if template.selector is not None:
        out.append(forbidden("spec.jobTemplate.spec.selector", "`selector` will be auto-generated"))
    _validate_spec(template, "spec.jobTemplate.spec", out)
    for number, wire in (
        (spec.successful_jobs_history_limit, "successfulJobsHistoryLimit"),
        (spec.failed_jobs_history_limit, "failedJobsHistoryLimit"),
    ):
        if number is not None:
            non_negative(number, f"spec.{wire}", out)


RULES = {
    "Job": Rules(
        name=names.name_is_subdomain,
        create=validate_job,
        update=validate_job_update,
        status=validate_job_status_update,
    ),
    "CronJob": Rules(create=validate_cron_job),
}
