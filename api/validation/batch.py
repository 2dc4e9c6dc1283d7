"""Jobs and CronJobs: counts, the selector the server makes, schedules."""

from __future__ import annotations

from collections.abc import Mapping

from api import batch_v1 as batch
from api import core_v1 as core
from api import meta_v1 as meta
from api import names, selectors
from api.codec import deepcopy
from api.fields import FieldErrors, invalid, not_supported, required, too_long
from api.validation.checks import domain_prefixed_path, immutable, non_negative, one_of
from api.validation.job_policies import validate_failure_policy, validate_success_policy
from api.validation.metadata import validate_label_selector
from api.validation.podspec import validate_template
from api.validation.rules import Rules
from api.validation.schedules import validate_schedule, validate_zone

CRON_NAME_LIMIT = 52
_INDEXES_LIMIT = 100_000
_LIMIT_OF_MANY = 10_000
_MANAGER_LIMIT = 63
_NEEDS_INDEXES = "requires indexed completion mode"
_CONCURRENCY = ("Allow", "Forbid", "Replace")
_COMPLETION_MODES = ("NonIndexed", "Indexed")
_REPLACEMENT = ("Failed", "TerminatingOrFailed")


def validate_job(job: batch.Job, out: FieldErrors) -> None:
    if not job.spec.manual_selector:
        _validate_generated(job, out)
    _validate_selecting(job.spec, out)
    completions = job.spec.completions or 0
    if job.spec.completion_mode == "Indexed" and completions > 0:
        # The pod of an index is named after it, its host name, too.
        longest = f"{job.metadata.name}-{completions - 1}"
        if names.dns1123_label(longest):
            detail = f"will not able to create pod with invalid DNS label: {longest}"
            out.append(invalid("metadata.name", job.metadata.name, detail))


def _validate_generated(job: batch.Job, out: FieldErrors) -> None:
    """The labels by which a job knows its pods; users may not give them other values."""
    if job.spec.selector is None:
        return  # complained about below
    uid, name = job.metadata.uid, job.metadata.name
    if not uid:
        out.append(required("metadata.uid"))
    generated = {
        "controller-uid": uid,
        "job-name": name,
        "batch.kubernetes.io/controller-uid": uid,
        "batch.kubernetes.io/job-name": name,
    }
    labels = job.spec.template.metadata.labels
    for key, value in generated.items():
        where = f"spec.template.metadata.labels[{key}]"
        if key not in labels:
            out.append(required(where, f"must be '{value}'"))
        elif labels[key] != value:
            out.append(invalid(where, labels, f"must be '{value}'"))
    if _selects(job.spec.selector, generated) is False:
        out.append(invalid("spec.selector", job.spec.selector, "`selector` not auto-generated"))


def _validate_selecting(spec: batch.JobSpec, out: FieldErrors) -> None:
    _validate_spec(spec, "spec", out)
    if spec.selector is None:
        out.append(required("spec.selector"))
        return
    validate_label_selector(spec.selector, "spec.selector", out)
    labels = spec.template.metadata.labels
    if _selects(spec.selector, labels) is False:
        detail = "`selector` does not match template `labels`"
        out.append(invalid("spec.template.metadata.labels", labels or None, detail))


def _selects(selector: meta.LabelSelector, labels: Mapping[str, str]) -> bool | None:
    """None for a selector that is none: validation says so elsewhere."""
    try:
        return selectors.from_struct(selector).matches(labels)
    except selectors.SelectorError:
        return None


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
    if spec.max_failed_indexes is not None and spec.backoff_limit_per_index is None:
        out.append(required(f"{path}.backoffLimitPerIndex", "when maxFailedIndexes is specified"))
    if spec.managed_by is not None:
        domain_prefixed_path(spec.managed_by, f"{path}.managedBy", out)
        if len(spec.managed_by) > _MANAGER_LIMIT:
            out.append(too_long(f"{path}.managedBy", _MANAGER_LIMIT))
    if spec.completion_mode is not None:
        one_of(spec.completion_mode, _COMPLETION_MODES, f"{path}.completionMode", out, ordered=True)
    if spec.completion_mode == "Indexed":
        _validate_indexed(spec, path, out)
    elif spec.completion_mode in (None, "NonIndexed"):
        for limit, wire in (
            (spec.backoff_limit_per_index, "backoffLimitPerIndex"),
            (spec.max_failed_indexes, "maxFailedIndexes"),
        ):
            if limit is not None:
                out.append(invalid(f"{path}.{wire}", limit, _NEEDS_INDEXES))
    if spec.pod_failure_policy is not None:
        validate_failure_policy(spec, spec.pod_failure_policy, f"{path}.podFailurePolicy", out)
    if spec.success_policy is not None:
        where = f"{path}.successPolicy"
        if spec.completion_mode != "Indexed":
            out.append(invalid(where, spec.success_policy, _NEEDS_INDEXES))
        elif spec.completions is not None:
            validate_success_policy(spec.success_policy, spec.completions, where, out)
    if spec.pod_replacement_policy is not None:
        supported = _REPLACEMENT if spec.pod_failure_policy is None else ("Failed",)
        one_of(spec.pod_replacement_policy, supported, f"{path}.podReplacementPolicy", out, ordered=True)
    validate_template(spec.template, f"{path}.template", out)
    _validate_restart_policy(spec, f"{path}.template.spec.restartPolicy", out)


def _validate_indexed(spec: batch.JobSpec, path: str, out: FieldErrors) -> None:
    """Indexes are counted in the job's status, which is to stay of a size."""
    completions, parallelism, failed = spec.completions, spec.parallelism, spec.max_failed_indexes
    if completions is None:
        out.append(required(f"{path}.completions", "when completion mode is Indexed"))
    if parallelism is not None and parallelism > _INDEXES_LIMIT:
        detail = f"must be less than or equal to {_INDEXES_LIMIT} when completion mode is Indexed"
        out.append(invalid(f"{path}.parallelism", parallelism, detail))
    if failed is not None:
        if completions is not None and failed > completions:
            out.append(invalid(f"{path}.maxFailedIndexes", failed, "must be less than or equal to completions"))
        if failed > _INDEXES_LIMIT:
            out.append(invalid(f"{path}.maxFailedIndexes", failed, f"must be less than or equal to {_INDEXES_LIMIT}"))
    if completions is None or completions <= _INDEXES_LIMIT or spec.backoff_limit_per_index is None:
        return
    if failed is None:
        detail = f"must be specified when completions is above {_INDEXES_LIMIT}"
        out.append(required(f"{path}.maxFailedIndexes", detail))
    for number, wire in ((parallelism, "parallelism"), (failed, "maxFailedIndexes")):
        if number is not None and number > _LIMIT_OF_MANY:
            detail = (
                f"must be less than or equal to {_LIMIT_OF_MANY} when completions are above {_INDEXES_LIMIT} and used "
                "with backoff limit per index"
            )
            out.append(invalid(f"{path}.{wire}", number, detail))


def _validate_restart_policy(spec: batch.JobSpec, path: str, out: FieldErrors) -> None:
    policy = spec.template.spec.restart_policy
    if policy in ("Always", ""):  # the default of pods, which no job can do with
        out.append(required(path, 'valid values: "OnFailure", "Never"'))
    elif policy not in ("OnFailure", "Never"):
        out.append(not_supported(path, policy, ("OnFailure", "Never")))
    elif spec.pod_failure_policy is not None and policy != "Never":
        out.append(invalid(path, policy, 'only "Never" is supported when podFailurePolicy is specified'))


def validate_job_update(new: batch.Job, old: batch.Job, out: FieldErrors) -> None:
    """A job's work is fixed; how fast it is done may change, and where, while it is suspended and unstarted."""
    _validate_selecting(new.spec, out)
    if new.spec.completion_mode != "Indexed":
        immutable(new.spec.completions, old.spec.completions, "spec.completions", out)
    elif new.spec.completions not in (None, old.spec.completions, new.spec.parallelism):
        detail = "can only be modified in tandem with spec.parallelism"
        out.append(invalid("spec.completions", new.spec.completions, detail))
    immutable(new.spec.selector, old.spec.selector, "spec.selector", out)
    template = old.spec.template
    if old.spec.suspend and old.status.start_time is None:
        template = _moved(old.spec.template, new.spec.template)
    immutable(new.spec.template, template, "spec.template", out)
    immutable(new.spec.completion_mode, old.spec.completion_mode, "spec.completionMode", out)
    immutable(new.spec.pod_failure_policy, old.spec.pod_failure_policy, "spec.podFailurePolicy", out)
    immutable(new.spec.backoff_limit_per_index, old.spec.backoff_limit_per_index, "spec.backoffLimitPerIndex", out)
    immutable(new.spec.managed_by, old.spec.managed_by, "spec.managedBy", out)
    immutable(new.spec.success_policy, old.spec.success_policy, "spec.successPolicy", out)


def _moved(old: core.PodTemplateSpec, new: core.PodTemplateSpec) -> core.PodTemplateSpec:
    """The old template with what of the new one says where its pods go (KEP-2926)."""
    template = deepcopy(old)
    template.metadata.annotations = new.metadata.annotations
    template.metadata.labels = new.metadata.labels
    template.spec.node_selector = new.spec.node_selector
    template.spec.tolerations = new.spec.tolerations
    template.spec.scheduling_gates = new.spec.scheduling_gates
    wanted = new.spec.affinity
    affinity = template.spec.affinity or core.Affinity()
    affinity.node_affinity = wanted.node_affinity if wanted is not None else None
    template.spec.affinity = None if wanted is None and affinity == core.Affinity() else affinity
    return template


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
    _validate_cron_spec(cron.spec, None, out)
    if len(cron.metadata.name) > CRON_NAME_LIMIT:
        out.append(invalid("metadata.name", cron.metadata.name, "must be no more than 52 characters"))


def validate_cron_job_update(new: batch.CronJob, old: batch.CronJob, out: FieldErrors) -> None:
    _validate_cron_spec(new.spec, old.spec, out)


def _validate_cron_spec(spec: batch.CronJobSpec, old: batch.CronJobSpec | None, out: FieldErrors) -> None:
    if not spec.schedule:
        out.append(required("spec.schedule"))
    else:
        zone_inside = old is not None and "TZ" in old.schedule
        validate_schedule(spec.schedule, "spec.schedule", out, zone=spec.time_zone, zone_inside=zone_inside)
    if spec.starting_deadline_seconds is not None:
        non_negative(spec.starting_deadline_seconds, "spec.startingDeadlineSeconds", out)
    if old is None or spec.time_zone != old.time_zone:
        validate_zone(spec.time_zone, "spec.timeZone", out)
    if not spec.concurrency_policy:
        out.append(required("spec.concurrencyPolicy"))
    else:
        one_of(spec.concurrency_policy, _CONCURRENCY, "spec.concurrencyPolicy", out, ordered=True)
    template = spec.job_template.spec
    _validate_spec(template, "spec.jobTemplate.spec", out)
    if template.selector is not None:
        detail = "`selector` will be auto-generated"
        out.append(invalid("spec.jobTemplate.spec.selector", template.selector, detail))
    if template.manual_selector:
        out.append(not_supported("spec.jobTemplate.spec.manualSelector", True, ("nil", "false")))
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
    "CronJob": Rules(create=validate_cron_job, update=validate_cron_job_update),
}
