"""Jobs and CronJobs: what they may ask for, and what of it may change."""

from typing import Any

import pytest

from api import batch_v1 as batch
from api import codec
from api import core_v1 as core
from api.defaults import set_defaults
from api.validation import validate_create, validate_update

UID = "1d5bcd5a-0000-4000-8000-000000000000"
LABELS = {
    "controller-uid": UID,
    "job-name": "x",
    "batch.kubernetes.io/controller-uid": UID,
    "batch.kubernetes.io/job-name": "x",
}
INDEXED = {"completionMode": "Indexed", "completions": 4}


def job(name: str = "x", labels: dict[str, str] | None = None, pod: dict[str, Any] | None = None, **spec: Any) -> Any:
    """A job as the server has it once it has made the selector."""
    containers = [{"name": "main", "image": "i"}]
    template = {
        "metadata": {"labels": LABELS | {"job-name": name, "batch.kubernetes.io/job-name": name} | (labels or {})},
        "spec": {"restartPolicy": "Never", "containers": containers} | (pod or {}),
    }
    selector = {"matchLabels": {"batch.kubernetes.io/controller-uid": UID}}
    made = {
        "metadata": {"name": name, "namespace": "default", "uid": UID, "resourceVersion": "1"},
        "spec": {"selector": selector, "template": template, **spec},
    }
    obj = codec.from_builtins(made, batch.Job)
    set_defaults(obj)
    return obj


def cron(schedule: str = "0 4 * * *", **spec: Any) -> Any:
    template = {"spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "m", "image": "i"}]}}}}
    made = {
        "metadata": {"name": "x", "namespace": "default", "resourceVersion": "1"},
        "spec": {"schedule": schedule, "jobTemplate": template, **spec},
    }
    obj = codec.from_builtins(made, batch.CronJob)
    set_defaults(obj)
    return obj


def texts(errors: list[Any]) -> list[str]:
    return [str(error) for error in errors]


@pytest.mark.parametrize(
    "spec",
    [
        {},
        {**INDEXED, "backoffLimitPerIndex": 1, "maxFailedIndexes": 4},
        {**INDEXED, "successPolicy": {"rules": [{"succeededIndexes": "0,2-3", "succeededCount": 3}]}},
        {"managedBy": "example.com/queue"},
        {"podFailurePolicy": {"rules": [{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}]}},
        {
            "podFailurePolicy": {
                "rules": [{"action": "FailJob", "onExitCodes": {"operator": "In", "values": [3, 42]}}],
            }
        },
    ],
)
def test_sound_jobs(spec: dict[str, Any]) -> None:
    assert validate_create(job(**spec)) == []


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (
            {"managedBy": "queue"},
            ['spec.managedBy: Invalid value: "queue": must be a domain-prefixed path (such as "acme.io/foo")'],
        ),
        (
            {"backoffLimitPerIndex": 1},
            ["spec.backoffLimitPerIndex: Invalid value: 1: requires indexed completion mode"],
        ),
        (
            {**INDEXED, "backoffLimitPerIndex": 1, "maxFailedIndexes": 5},
            ["spec.maxFailedIndexes: Invalid value: 5: must be less than or equal to completions"],
        ),
        (
            {**INDEXED, "completions": 100_001, "backoffLimitPerIndex": 1, "parallelism": 10_001},
            [
                "spec.maxFailedIndexes: Required value: must be specified when completions is above 100000",
                "spec.parallelism: Invalid value: 10001: must be less than or equal to 10000 when completions are "
                "above 100000 and used with backoff limit per index",
            ],
        ),
        (
            {**INDEXED, "successPolicy": {"rules": [{}]}},
            [
                "spec.successPolicy.rules[0]: Required value: at least one of succeededCount or succeededIndexes must "
                "be specified"
            ],
        ),
        (
            {**INDEXED, "successPolicy": {"rules": [{"succeededIndexes": "0-1", "succeededCount": 3}]}},
            [
                "spec.successPolicy.rules[0].succeededCount: Invalid value: 3: must be less than or equal to 2 (the "
                "number of indexes in the specified succeededIndexes field)"
            ],
        ),
        (
            {**INDEXED, "successPolicy": {"rules": [{"succeededIndexes": "1,4"}]}},
            [
                'spec.successPolicy.rules[0].succeededIndexes: Invalid value: "1,4": error parsing succeededIndexes: '
                'too large index: "4"'
            ],
        ),
        (
            {**INDEXED, "successPolicy": {"rules": [{"succeededIndexes": "1-3,2"}]}},
            [
                'spec.successPolicy.rules[0].succeededIndexes: Invalid value: "1-3,2": error parsing succeededIndexes: '
                "non-increasing order, previous: 3, current: 2"
            ],
        ),
        (
            {"podFailurePolicy": {"rules": [{"action": "Retry", "onExitCodes": {"operator": "In", "values": [2, 0]}}]}},
            [
                'spec.podFailurePolicy.rules[0].action: Unsupported value: "Retry": supported values: "Count", '
                '"FailIndex", "FailJob", "Ignore"',
                "spec.podFailurePolicy.rules[0].onExitCodes.values[1]: Invalid value: 0: must not be 0 for the In "
                "operator",
                "spec.podFailurePolicy.rules[0].onExitCodes.values: Invalid value: [2,0]: must be ordered",
            ],
        ),
        (
            {
                "podFailurePolicy": {
                    "rules": [
                        {"action": "FailIndex"},
                        {"action": "", "onExitCodes": {"operator": "NotIn", "values": [1], "containerName": "other"}},
                    ]
                }
            },
            [
                'spec.podFailurePolicy.rules[0].action: Invalid value: "FailIndex": requires the backoffLimitPerIndex '
                "to be set",
                "spec.podFailurePolicy.rules[0]: Invalid value: specifying one of OnExitCodes and OnPodConditions is "
                "required",
                "spec.podFailurePolicy.rules[1].action: Required value: valid values: "
                '["Count" "FailIndex" "FailJob" "Ignore"]',
                'spec.podFailurePolicy.rules[1].onExitCodes.containerName: Invalid value: "other": must be one of the '
                "container or initContainer names in the pod template",
            ],
        ),
        (
            {"podFailurePolicy": {"rules": []}, "podReplacementPolicy": "TerminatingOrFailed"},
            ['spec.podReplacementPolicy: Unsupported value: "TerminatingOrFailed": supported values: "Failed"'],
        ),
        (
            {"podFailurePolicy": {"rules": []}, "pod": {"restartPolicy": "OnFailure"}},
            [
                'spec.template.spec.restartPolicy: Invalid value: "OnFailure": only "Never" is supported when '
                "podFailurePolicy is specified"
            ],
        ),
        (
            {**INDEXED, "name": "n" * 62},
            [
                f'metadata.name: Invalid value: "{"n" * 62}": will not able to create pod with invalid DNS label: '
                f"{'n' * 62}-3"
            ],
        ),
    ],
)  # fmt: skip
def test_jobs_that_cannot_be(spec: dict[str, Any], expected: list[str]) -> None:
    assert texts(validate_create(job(**spec))) == expected


def test_the_success_policy_wants_indexes() -> None:
    errors = validate_create(job(successPolicy={"rules": [{"succeededCount": 1}]}))
    assert [error.path for error in errors] == ["spec.successPolicy"]
    assert errors[0].detail == "requires indexed completion mode"


def test_a_job_knows_its_pods_by_labels_of_the_servers_making() -> None:
    found = texts(validate_create(job(labels={"job-name": "other"})))
    assert len(found) == 1
    assert found[0].startswith("spec.template.metadata.labels[job-name]: Invalid value: ")
    assert found[0].endswith("must be 'x'")
    asked = job(labels={"a": "b"})
    asked.spec.selector.match_labels["a"] = "b"
    assert [error.detail for error in validate_create(asked)] == ["`selector` not auto-generated"]
    asked.spec.manual_selector = True
    assert validate_create(asked) == []


def test_indexes_and_those_who_work_them_off_change_together() -> None:
    old = job(**INDEXED, parallelism=4)
    assert validate_update(job(**INDEXED | {"completions": 6}, parallelism=6), old) == []
    assert texts(validate_update(job(**INDEXED | {"completions": 6}, parallelism=4), old)) == [
        "spec.completions: Invalid value: 6: can only be modified in tandem with spec.parallelism"
    ]


def test_a_suspended_job_may_be_sent_to_other_nodes_but_not_beside_other_pods() -> None:
    node = {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "preference": {"matchFields": []}}]}
    old = job(suspend=True)
    moved = job(suspend=True, pod={"nodeSelector": {"zone": "a"}})
    moved.spec.template.spec.affinity = codec.from_builtins({"nodeAffinity": node}, core.Affinity)
    errors = [error.path for error in validate_update(moved, old)]
    assert "spec.template" not in errors
    beside = job(suspend=True)
    beside.spec.template.spec.affinity = codec.from_builtins({"podAffinity": {}}, core.Affinity)
    assert [error.path for error in validate_update(beside, old)] == ["spec.template"]
    running = job(suspend=False)
    assert [error.path for error in validate_update(job(pod={"nodeSelector": {"zone": "a"}}), running)] == [
        "spec.template"
    ]


@pytest.mark.parametrize(
    "schedule",
    [
        "* * * * *", "*/5 0-23/2 1,15 jan-MAR mon-fri", "? 4 ? * SUN", "5/10 * * * *", "0 0 31 2 *", "@daily",
        "@every 1h30m", "0,30 * * * *",
    ],
)  # fmt: skip
def test_schedules(schedule: str) -> None:
    assert validate_create(cron(schedule)) == []


@pytest.mark.parametrize(
    ("schedule", "reason"),
    [
        ("hourly", "expected exactly 5 fields, found 1: [hourly]"),
        ("0 * * * * *", "expected exactly 5 fields, found 6: [0 * * * * *]"),
        ("60 * * * *", "end of range (60) above maximum (59): 60"),
        ("* * 0 * *", "beginning of range (0) below minimum (1): 0"),
        ("* 5-3 * * *", "beginning of range (5) beyond end of range (3): 5-3"),
        ("*/0 * * * *", "step of range should be a positive number: */0"),
        ("1-2-3 * * * *", "too many hyphens: 1-2-3"),
        ("1/2/3 * * * *", "too many slashes: 1/2/3"),
        ("* * * * 7", "end of range (7) above maximum (6): 7"),
        ("* * * foo *", 'failed to parse int from foo: strconv.Atoi: parsing "foo": invalid syntax'),
        ("@fortnightly", "unrecognized descriptor: @fortnightly"),
        ("@every day", 'failed to parse duration @every day: time: invalid duration "day"'),
        ("TZ=UTC 0 4 * * *", "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"),
    ],
)
def test_what_is_no_schedule(schedule: str, reason: str) -> None:
    assert texts(validate_create(cron(schedule))) == [f'spec.schedule: Invalid value: "{schedule}": {reason}']


def test_time_zones() -> None:
    for zone in ("Etc/UTC", "America/Argentina/Buenos_Aires", "Etc/GMT+5"):
        assert validate_create(cron(timeZone=zone)) == []
    for zone in ("", "../UTC", "Local", "Europe//Paris", "a b"):
        assert [error.path for error in validate_create(cron(timeZone=zone))] == ["spec.timeZone"]


def test_an_older_cron_job_may_keep_what_new_ones_may_not_have() -> None:
    old = cron("CRON_TZ=UTC 0 4 * * *")
    old.metadata.name = "n" * 60
    assert validate_update(old, old) == []
    both = cron("CRON_TZ=UTC 0 5 * * *", timeZone="Etc/UTC")
    both.metadata.name = old.metadata.name
    assert [error.detail for error in validate_update(both, old)] == [
        "cannot use both timeZone field and TZ or CRON_TZ in schedule"
    ]
