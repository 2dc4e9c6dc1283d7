"""One step after the other: what is planned for a deployment, and what is written on its replica sets."""

import pytest

from api import apps_v1 as apps
from api import codec
from api.times import Time
from controlplane.controllers.deployments.planning import Create, Delete, Update, plan
from controlplane.controllers.deployments.revisions import (
    DESIRED_REPLICAS,
    MAX_REPLICAS,
    REVISION,
    REVISION_HISTORY,
    annotated,
)
from controlplane.controllers.deployments.templates import HASH_LABEL, new_replica_set, same_template, template_hash
from tests.unit.controlplane.controllers.small_cluster import deployment


def _stored(asked: apps.Deployment, revision: int, size: int = 0, available: int | None = None) -> apps.ReplicaSet:
    """The replica set of the deployment's template, as if made by revision and sized."""
    made = new_replica_set(asked)
    made.metadata.uid = f"uid-{revision}"
    made.metadata.creation_timestamp = Time.from_timestamp(revision)
    made.metadata.annotations = {
        REVISION: str(revision),
        DESIRED_REPLICAS: str(asked.spec.replicas),
        MAX_REPLICAS: str((asked.spec.replicas or 0) + 1),
    }
    made.spec.replicas = size
    made.status = apps.ReplicaSetStatus(
        replicas=size, available_replicas=size if available is None else available, observed_generation=1
    )
    made.metadata.generation = 1
    return made


def _asked(image: str = "one", replicas: int = 3, **spec: object) -> apps.Deployment:
    asked = deployment(replicas=replicas, image=image, **spec)
    asked.spec.strategy.rolling_update = asked.spec.strategy.rolling_update or apps.RollingUpdateDeployment(0, 1)
    return asked


def test_the_first_replica_set_has_the_whole_size() -> None:
    (step,) = plan(_asked(), [], old_pods_run=False).steps
    assert isinstance(step, Create)
    made = step.replica_set
    fingerprint = made.metadata.labels[HASH_LABEL]
    assert made.metadata.name == f"web-{fingerprint}"
    assert made.spec.replicas == 3
    assert made.spec.selector is not None
    assert made.spec.selector.match_labels == {"app": "web", HASH_LABEL: fingerprint}
    assert made.spec.template.metadata.labels[HASH_LABEL] == fingerprint
    assert made.metadata.annotations == {REVISION: "1", DESIRED_REPLICAS: "3", MAX_REPLICAS: "4"}


def test_a_new_template_gets_a_replica_set_within_the_surge() -> None:
    old = _stored(_asked("one"), 1, 3)
    planned = plan(_asked("two"), [old], old_pods_run=True)
    (step,) = planned.steps
    assert isinstance(step, Create)
    assert step.replica_set.spec.replicas == 1
    assert step.replica_set.metadata.annotations[REVISION] == "2"


def test_going_back_to_an_old_template_takes_its_replica_set_out_again() -> None:
    first, second = _stored(_asked("one"), 1, 0), _stored(_asked("two"), 2, 3)
    planned = plan(_asked("one"), [first, second], old_pods_run=True)
    (step,) = planned.steps
    assert isinstance(step, Update)
    assert step.replica_set.metadata.uid == "uid-1"
    assert step.replica_set.metadata.annotations[REVISION] == "3"
    assert step.replica_set.metadata.annotations[REVISION_HISTORY] == "1"
    assert (step.size_before, step.replica_set.spec.replicas) == (0, 1)
    assert planned.revision == 3


def test_the_cause_of_a_change_is_copied_but_not_what_kubectl_applied() -> None:
    asked = _asked()
    asked.metadata.annotations = {
        "kubernetes.io/change-cause": "an experiment",
        "kubectl.kubernetes.io/last-applied-configuration": "{}",
        REVISION: "7",
    }
    written = annotated(asked, _stored(asked, 1), 1)
    assert written.metadata.annotations["kubernetes.io/change-cause"] == "an experiment"
    assert "kubectl.kubernetes.io/last-applied-configuration" not in written.metadata.annotations
    assert written.metadata.annotations[REVISION] == "1"
    assert annotated(asked, written, 1) is written


def test_history_does_not_grow_without_end() -> None:
    asked = _asked()
    made = _stored(asked, 999)
    made.metadata.annotations[REVISION_HISTORY] = ",".join(str(number) for number in range(100, 598))
    history = annotated(asked, made, 1000).metadata.annotations[REVISION_HISTORY]
    assert len(history) <= 2000
    assert history.endswith("597,999")


def test_a_pause_stops_the_roll_out_but_not_a_change_of_size() -> None:
    old = _stored(_asked("one"), 1, 3)
    assert plan(_asked("two", paused=True), [old], old_pods_run=True).steps == ()
    (step,) = plan(_asked("two", replicas=5, paused=True), [old], old_pods_run=True).steps
    assert isinstance(step, Update)
    assert step.replica_set.spec.replicas == 5


def test_recreation_first_stops_all_then_starts_all() -> None:
    asked = _asked("two", strategy=apps.DeploymentStrategy(type="Recreate"))
    old = _stored(_asked("one"), 1, 3)
    (step,) = plan(asked, [old], old_pods_run=True).steps
    assert isinstance(step, Update)
    assert step.replica_set.spec.replicas == 0
    stopped = step.replica_set
    assert plan(asked, [stopped], old_pods_run=True).steps == ()
    (step,) = plan(asked, [stopped], old_pods_run=False).steps
    assert isinstance(step, Create)
    assert step.replica_set.spec.replicas == 3


@pytest.mark.parametrize(
    ("limit", "dropped"), [(2, {"uid-1"}), (0, {"uid-1", "uid-2", "uid-3"}), (None, set()), (9, set())]
)
def test_history_beyond_the_limit_is_dropped_oldest_first(limit: int | None, dropped: set[str]) -> None:
    asked = _asked("now", revision_history_limit=limit)
    old = [_stored(_asked(str(number)), number) for number in (1, 2, 3)]
    new = _stored(asked, 4, 3)
    asked.status = apps.DeploymentStatus(replicas=3, updated_replicas=3, available_replicas=3)
    steps = plan(asked, [*old, new], old_pods_run=False).steps
    assert all(isinstance(step, Delete) for step in steps)
    assert {step.replica_set.metadata.uid for step in steps} == dropped


def test_a_replica_set_that_still_has_pods_stays_in_history() -> None:
    asked = _asked("now", revision_history_limit=0)
    lingering = _stored(_asked("old"), 1)
    lingering.status.replicas = 1
    asked.status = apps.DeploymentStatus(replicas=3, updated_replicas=3, available_replicas=3)
    assert plan(asked, [lingering, _stored(asked, 2, 3)], old_pods_run=False).steps == ()


def test_a_deployment_that_is_being_deleted_is_left_alone() -> None:
    asked = _asked("two")
    asked.metadata.deletion_timestamp = Time("2026-01-01T00:00:00Z")
    assert plan(asked, [_stored(_asked("one"), 1, 3)], old_pods_run=True).steps == ()


def test_templates_are_compared_whole_and_hashed_to_safe_letters() -> None:
    one, two = deployment(image="one").spec.template, deployment(image="two").spec.template
    assert template_hash(one, None) == template_hash(codec.deepcopy(one), None)
    assert len({template_hash(one, None), template_hash(two, None), template_hash(one, 0), template_hash(one, 1)}) == 4
    assert set(template_hash(one, None)) <= set("bcdfghjklmnpqrstvwxz2456789")
    labelled = codec.deepcopy(one)
    labelled.metadata.labels[HASH_LABEL] = "x"
    assert same_template(one, labelled)
    assert not same_template(one, two)
