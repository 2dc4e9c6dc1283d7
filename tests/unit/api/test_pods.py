"""Facts about pods: requests, QoS, readiness, conditions, ports, taints, owners."""

from typing import Any

import pytest

from api import apps_v1 as apps
from api import codec, owners, pod_resources, pods
from api import core_v1 as core
from api import meta_v1 as meta
from api.times import Time


def spec(**fields: Any) -> core.PodSpec:
    return codec.from_builtins(fields, core.PodSpec)


def container(
    requests: dict[str, str] | None = None, limits: dict[str, str] | None = None, **rest: Any
) -> dict[str, Any]:
    return {"name": "c", "resources": {"requests": requests or {}, "limits": limits or {}}, **rest}


def shown(amounts: dict[str, Any]) -> dict[str, str]:
    return {name: str(amount) for name, amount in amounts.items()}


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        (
            {"containers": [container({"cpu": "1"}), container({"cpu": "500m", "memory": "1Mi"})]},
            {"cpu": "1500m", "memory": "1Mi"},
        ),
        # The biggest init container runs alone.
        (
            {
                "containers": [container({"cpu": "1"})],
                "initContainers": [container({"cpu": "3"}), container({"cpu": "2"})],
            },
            {"cpu": "3"},
        ),
        # A sidecar runs beside what comes after it.
        (
            {
                "containers": [container({"cpu": "1"})],
                "initContainers": [
                    container({"cpu": "1"}, restartPolicy="Always"),
                    container({"cpu": "3"}),
                ],
            },
            {"cpu": "4"},
        ),
        # But not beside what came before it.
        (
            {
                "containers": [container({"cpu": "1"})],
                "initContainers": [
                    container({"cpu": "3"}),
                    container({"cpu": "1"}, restartPolicy="Always"),
                ],
            },
            {"cpu": "3"},
        ),
        ({"containers": [container({"cpu": "1"})], "overhead": {"cpu": "250m"}}, {"cpu": "1250m"}),
        ({"containers": [container({"cpu": "1"})], "resources": {"requests": {"cpu": "2"}}}, {"cpu": "2"}),
    ],
)
def test_requests(fields, expected):
    assert shown(pod_resources.pod_requests(spec(**fields))) == expected


def test_limits_get_overhead_only_where_there_is_a_limit():
    made = spec(containers=[container(limits={"cpu": "1"})], overhead={"cpu": "1", "memory": "1Mi"})
    assert shown(pod_resources.pod_limits(made)) == {"cpu": "2"}


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"containers": [container()]}, "BestEffort"),
        ({"containers": [container({"cpu": "1"})]}, "Burstable"),
        ({"containers": [container({"cpu": "0"})]}, "BestEffort"),
        ({"containers": [container({"cpu": "1", "memory": "1Mi"}, {"cpu": "1", "memory": "1Mi"})]}, "Guaranteed"),
        ({"containers": [container({"cpu": "1", "memory": "1Mi"}, {"cpu": "1", "memory": "2Mi"})]}, "Burstable"),
        (
            {"containers": [container({"cpu": "1", "memory": "1Mi"}, {"cpu": "1", "memory": "1Mi"}), container()]},
            "Burstable",
        ),
        ({"containers": [container()], "initContainers": [container({"cpu": "1"})]}, "Burstable"),
        ({"containers": [container({"example.com/gpu": "1"}, {"example.com/gpu": "1"})]}, "BestEffort"),
        (
            {
                "containers": [container()],
                "resources": {"requests": {"cpu": "1", "memory": "1Mi"}, "limits": {"cpu": "1", "memory": "1Mi"}},
            },
            "Guaranteed",
        ),
    ],
)
def test_qos_class(fields, expected):
    assert pod_resources.compute_qos_class(spec(**fields)) == expected


def test_host_ports():
    made = spec(
        containers=[{"name": "a", "ports": [{"containerPort": 1, "hostPort": 80}, {"containerPort": 2}]}],
        initContainers=[
            {
                "name": "b",
                "ports": [{"containerPort": 3, "hostPort": 81, "protocol": "UDP", "hostIP": "10.0.0.1"}],
                "restartPolicy": "Always",
            },
            {"name": "c", "ports": [{"containerPort": 3, "hostPort": 82}]},
        ],
    )
    assert pods.host_ports(made) == [("UDP", "10.0.0.1", 81), ("TCP", "0.0.0.0", 80)]


def ready(status: str, since: str) -> core.PodCondition:
    return core.PodCondition(type="Ready", status=status, last_transition_time=Time(since))


def test_availability_needs_time():
    pod = core.Pod(status=core.PodStatus(conditions=[ready("True", "2024-01-01T00:00:00Z")]))
    start = Time("2024-01-01T00:00:00Z").timestamp()
    assert pods.is_ready(pod)
    assert pods.is_available(pod, 0, start)
    assert not pods.is_available(pod, 10, start + 9)
    assert pods.is_available(pod, 10, start + 10)
    pod.status.conditions = [ready("False", "2024-01-01T00:00:00Z")]
    assert not pods.is_available(pod, 0, start)


def test_conditions_keep_the_time_of_their_status():
    conditions = [ready("True", "2024-01-01T00:00:00Z")]
    assert not pods.set_condition(conditions, ready("True", "2024-02-01T00:00:00Z"))
    assert conditions[0].last_transition_time == "2024-01-01T00:00:00Z"
    changed = core.PodCondition(
        type="Ready", status="True", reason="New", last_transition_time=Time("2024-02-01T00:00:00Z")
    )
    assert pods.set_condition(conditions, changed)
    assert conditions[0].last_transition_time == "2024-01-01T00:00:00Z"
    assert pods.set_condition(conditions, ready("False", "2024-02-01T00:00:00Z"))
    assert conditions[0].last_transition_time == "2024-02-01T00:00:00Z"
    assert pods.set_condition(conditions, core.PodCondition(type="Initialized", status="True"))
    assert [condition.type for condition in conditions] == ["Ready", "Initialized"]


@pytest.mark.parametrize(
    ("toleration", "taint", "bears"),
    [
        ({"operator": "Exists"}, {"key": "a", "effect": "NoSchedule"}, True),
        ({"key": "a", "operator": "Exists"}, {"key": "b", "effect": "NoSchedule"}, False),
        ({"key": "a", "value": "x"}, {"key": "a", "value": "x", "effect": "NoExecute"}, True),
        ({"key": "a", "value": "x"}, {"key": "a", "value": "y", "effect": "NoExecute"}, False),
        ({"key": "a", "operator": "Exists", "effect": "NoSchedule"}, {"key": "a", "effect": "NoExecute"}, False),
    ],
)
def test_tolerations(toleration, taint, bears):
    made = codec.from_builtins(toleration, core.Toleration)
    against = codec.from_builtins(taint, core.Taint)
    assert pods.tolerates(made, against) is bears
    assert (pods.untolerated_taint([against], [made], ("NoSchedule", "NoExecute")) is None) is bears
    assert pods.untolerated_taint([against], [], ()) is None


def test_origin():
    static = core.Pod(metadata=meta.ObjectMeta(annotations={"kubernetes.io/config.source": "file"}))
    mirror = core.Pod(metadata=meta.ObjectMeta(annotations={"kubernetes.io/config.mirror": "x"}))
    assert pods.is_static(static) and not pods.is_mirror(static)
    assert pods.is_mirror(mirror) and not pods.is_static(mirror)
    assert pods.is_critical(core.Pod(spec=core.PodSpec(priority=2 * 10**9)))
    assert not pods.is_critical(core.Pod())


def test_owners():
    owner = apps.ReplicaSet(metadata=meta.ObjectMeta(name="r", uid="u"))
    pod = core.Pod(metadata=meta.ObjectMeta(owner_references=[owners.new_controller_ref(owner)]))
    assert codec.to_builtins(pod.metadata.owner_references[0]) == {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "name": "r",
        "uid": "u",
        "controller": True,
        "blockOwnerDeletion": True,
    }
    assert owners.controller_of(pod).name == "r"
    assert owners.is_controlled_by(pod, owner) and owners.is_owned_by(pod, owner)
    assert not owners.is_controlled_by(pod, apps.ReplicaSet(metadata=meta.ObjectMeta(name="r", uid="v")))
    assert owners.controller_of(core.Pod()) is None
