"""Types of batch/v1, written by api.generator; api.declarations says how to read them."""

from typing import Annotated

from api import core_v1 as core
from api import meta_v1 as meta
from api.declarations import Atomic, Int32, Int64, ListType, Merge, Required, SetOf, Struct, always, constant, none
from api.times import Time

DEFINITIONS = "io.k8s.api.batch.v1"


class PodFailurePolicyOnExitCodesRequirement(Struct):
    container_name: str | None = None
    operator: Required[str] = always(str)
    values: Required[SetOf[list[Int32]]] = always(list)


class PodFailurePolicyOnPodConditionsPattern(Struct):
    type: Required[str] = always(str)
    status: str = always(str)


class PodFailurePolicyRule(Struct):
    action: Required[str] = always(str)
    on_exit_codes: PodFailurePolicyOnExitCodesRequirement | None = None
    on_pod_conditions: Atomic[list[PodFailurePolicyOnPodConditionsPattern]] = []


class PodFailurePolicy(Struct):
    rules: Required[Atomic[list[PodFailurePolicyRule]]] = always(list)


class SuccessPolicyRule(Struct):
    succeeded_indexes: str | None = None
    succeeded_count: Int32 | None = None


class SuccessPolicy(Struct):
    rules: Required[Atomic[list[SuccessPolicyRule]]] = always(list)


class JobSpec(Struct):
    parallelism: Int32 | None = None
    completions: Int32 | None = None
    active_deadline_seconds: Int64 | None = None
    pod_failure_policy: PodFailurePolicy | None = None
    success_policy: SuccessPolicy | None = None
    backoff_limit: Int32 | None = None
    backoff_limit_per_index: Int32 | None = None
    max_failed_indexes: Int32 | None = None
    selector: meta.LabelSelector | None = None
    manual_selector: bool | None = None
    template: Required[core.PodTemplateSpec] = always(core.PodTemplateSpec)
    ttl_seconds_after_finished: Int32 | None = None
    completion_mode: str | None = None
    suspend: bool | None = None
    pod_replacement_policy: str | None = None
    managed_by: str | None = None


class JobCondition(Struct):
    type: Required[str] = always(str)
    status: Required[str] = always(str)
    last_probe_time: Time | None = always(none)
    last_transition_time: Time | None = always(none)
    reason: str = ""
    message: str = ""


class UncountedTerminatedPods(Struct):
    succeeded: SetOf[list[str]] = []
    failed: SetOf[list[str]] = []


class JobStatus(Struct):
    conditions: Annotated[list[JobCondition], ListType("atomic"), Merge("type")] = []
    start_time: Time | None = None
    completion_time: Time | None = None
    active: Int32 = 0
    succeeded: Int32 = 0
    failed: Int32 = 0
    terminating: Int32 | None = None
    completed_indexes: str = ""
    failed_indexes: str | None = None
    uncounted_terminated_pods: UncountedTerminatedPods | None = None
    ready: Int32 | None = None


class Job(meta.Object):
    api_version: str = constant("batch/v1")
    kind: str = constant("Job")
    spec: JobSpec = always(JobSpec)
    status: JobStatus = always(JobStatus)


class JobList(meta.ObjectList):
    api_version: str = constant("batch/v1")
    kind: str = constant("JobList")
    items: Required[list[Job]] = always(list)


class JobTemplateSpec(Struct):
    metadata: meta.ObjectMeta = always(meta.ObjectMeta)
    spec: JobSpec = always(JobSpec)


class CronJobSpec(Struct):
    schedule: Required[str] = always(str)
    time_zone: str | None = None
    starting_deadline_seconds: Int64 | None = None
    concurrency_policy: str = ""
    suspend: bool | None = None
    job_template: Required[JobTemplateSpec] = always(JobTemplateSpec)
    successful_jobs_history_limit: Int32 | None = None
    failed_jobs_history_limit: Int32 | None = None


class CronJobStatus(Struct):
    active: Atomic[list[core.ObjectReference]] = []
    last_schedule_time: Time | None = None
    last_successful_time: Time | None = None


class CronJob(meta.Object):
    api_version: str = constant("batch/v1")
    kind: str = constant("CronJob")
    spec: Required[CronJobSpec] = always(CronJobSpec)
    status: CronJobStatus = always(CronJobStatus)


class CronJobList(meta.ObjectList):
    api_version: str = constant("batch/v1")
    kind: str = constant("CronJobList")
    items: Required[list[CronJob]] = always(list)
