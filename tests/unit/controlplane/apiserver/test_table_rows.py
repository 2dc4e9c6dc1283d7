"""What kubectl prints: columns and cells of the kinds that have their own."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from api import apps_v1 as apps
from api import autoscaling_v2 as autoscaling
from api import batch_v1 as batch
from api import certificates_v1 as certificates
from api import codec
from api import coordination_v1 as coordination
from api import core_v1 as core
from api import discovery_v1 as discovery
from api import events_v1 as events
from api import meta_v1 as meta
from api import networking_v1 as networking
from api import policy_v1 as policy
from api import rbac_v1 as rbac
from api import scheduling_v1 as scheduling
from api import storage_v1 as storage
from api.errors import StatusError
from api.quantity import Quantity
from api.scheme import SCHEME
from api.times import MicroTime, Time
from controlplane.apiserver.tables.ages import human, since
from controlplane.apiserver.tables.rendering import PRINTERS, render

NOW = 1_800_000_000.0
MADE = Time.from_timestamp(NOW - 3600)


def named(name: str = "x", **fields: Any) -> meta.ObjectMeta:
    return meta.ObjectMeta(name=name, creation_timestamp=MADE, **fields)


def row(item: meta.Object) -> dict[str, Any]:
    """The one row of an object, by the columns as kubectl heads them."""
    table = render(type(item), [item], "None", NOW)
    headings = [column.name.upper() for column in table.column_definitions]
    return dict(zip(headings, table.rows[0].cells, strict=True))


def wide(type_: type[meta.Object]) -> list[str]:
    """All columns of a kind, those of ``-o wide`` in brackets."""
    columns = render(type_, [], "None", NOW).column_definitions
    return [f"[{column.name}]" if column.priority else column.name for column in columns]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-5, "<invalid>"),
        (-1.5, "0s"),
        (0, "0s"),
        (119, "119s"),
        (120, "2m"),
        (150, "2m30s"),
        (599, "9m59s"),
        (600, "10m"),
        (3 * 3600 - 1, "179m"),
        (3 * 3600, "3h"),
        (3 * 3600 + 60, "3h1m"),
        (8 * 3600, "8h"),
        (47 * 3600, "47h"),
        (48 * 3600, "2d"),
        (49 * 3600, "2d1h"),
        (8 * 86400, "8d"),
        (729 * 86400, "729d"),
        (730 * 86400, "2y"),
        (800 * 86400, "2y70d"),
        (9 * 365 * 86400, "9y"),
    ],
)
def test_durations_get_coarser(seconds: float, text: str) -> None:
    assert human(seconds) == text


def test_an_unknown_time_is_said_to_be_unknown() -> None:
    assert since(None, NOW) == "<unknown>"


# ---------------------------------------------------------------- pods


def running(name: str = "main", *, ready: bool = True, restarts: int = 0, **fields: Any) -> core.ContainerStatus:
    state = core.ContainerState(running=core.ContainerStateRunning())
    return core.ContainerStatus(name=name, ready=ready, restart_count=restarts, state=state, **fields)


def waiting(reason: str, name: str = "main", **fields: Any) -> core.ContainerStatus:
    state = core.ContainerState(waiting=core.ContainerStateWaiting(reason=reason))
    return core.ContainerStatus(name=name, state=state, **fields)


def ended(reason: str = "", code: int = 0, signal: int = 0, name: str = "main", **fields: Any) -> core.ContainerStatus:
    state = core.ContainerState(terminated=core.ContainerStateTerminated(reason=reason, exit_code=code, signal=signal))
    return core.ContainerStatus(name=name, state=state, **fields)


def crashed(ago: float) -> core.ContainerState:
    finished = Time.from_timestamp(NOW - ago)
    return core.ContainerState(terminated=core.ContainerStateTerminated(finished_at=finished))


def pod(
    statuses: list[core.ContainerStatus] | None = None,
    *,
    phase: str = "Running",
    init: list[core.ContainerStatus] | None = None,
    sidecars: tuple[str, ...] = (),
    conditions: tuple[str, ...] = (),
    reason: str = "",
    deleted: bool = False,
    **spec: Any,
) -> core.Pod:
    statuses, init = statuses or [], init or []
    metadata = named("web")
    if deleted:
        metadata.deletion_timestamp = Time.from_timestamp(NOW)
    return core.Pod(
        metadata=metadata,
        spec=core.PodSpec(
            containers=[core.Container(name=status.name) for status in statuses] or [core.Container(name="main")],
            init_containers=[
                core.Container(name=status.name, restart_policy="Always" if status.name in sidecars else None)
                for status in init
            ],
            **spec,
        ),
        status=core.PodStatus(
            phase=phase,
            reason=reason,
            container_statuses=statuses,
            init_container_statuses=init,
            conditions=[core.PodCondition(type=condition, status="True") for condition in conditions],
        ),
    )


GATED = core.PodCondition(type="PodScheduled", status="False", reason="SchedulingGated")


def gated() -> core.Pod:
    item = pod(phase="Pending")
    item.status.conditions = [GATED]
    return item


@pytest.mark.parametrize(
    ("item", "status", "ready"),
    [
        (pod(phase="Pending"), "Pending", "0/1"),
        (gated(), "SchedulingGated", "0/1"),
        (pod([waiting("ContainerCreating")], phase="Pending"), "ContainerCreating", "0/1"),
        (pod([running()]), "Running", "1/1"),
        (pod([running(ready=False)]), "Running", "0/1"),
        (pod([running(), waiting("CrashLoopBackOff", "side")]), "CrashLoopBackOff", "1/2"),
        (pod([waiting("ImagePullBackOff"), waiting("ErrImagePull", "side")]), "ImagePullBackOff", "0/2"),
        (pod([ended("Completed")], phase="Succeeded"), "Completed", "0/1"),
        (pod([ended("Error", 1)], phase="Failed"), "Error", "0/1"),
        (pod([ended("OOMKilled", 137)]), "OOMKilled", "0/1"),
        (pod([ended(code=3)]), "ExitCode:3", "0/1"),
        (pod([ended(signal=9)]), "Signal:9", "0/1"),
        (pod([ended("Completed"), running("side")], conditions=("Ready",)), "Running", "1/2"),
        (pod([ended("Completed"), running("side")]), "NotReady", "1/2"),
        (pod(phase="Failed", reason="Evicted"), "Evicted", "0/1"),
        (pod([running()], deleted=True), "Terminating", "1/1"),
        (pod([ended("Completed")], phase="Succeeded", deleted=True), "Completed", "0/1"),
        (pod([running()], deleted=True, reason="NodeLost"), "Unknown", "1/1"),
        (pod(init=[waiting("PodInitializing", "a"), waiting("", "b")], phase="Pending"), "Init:0/2", "0/1"),
        (pod(init=[ended("Completed", name="a"), running("b")], phase="Pending"), "Init:1/2", "0/1"),
        (pod(init=[waiting("CrashLoopBackOff", "a")], phase="Pending"), "Init:CrashLoopBackOff", "0/1"),
        (pod(init=[ended("Error", 1, name="a")], phase="Pending"), "Init:Error", "0/1"),
        (pod(init=[ended(code=2, name="a")], phase="Pending"), "Init:ExitCode:2", "0/1"),
        (pod(init=[ended(code=2, signal=15, name="a")], phase="Pending"), "Init:Signal:15", "0/1"),
        (
            pod([running()], init=[running("proxy", started=True)], sidecars=("proxy",)),
            "Running",
            "2/2",
        ),
        (
            pod(init=[running("proxy", started=True), running("setup")], sidecars=("proxy",), phase="Pending"),
            "Init:1/2",
            "1/2",
        ),
        (
            pod([running()], init=[running("proxy", ready=False, started=False)], sidecars=("proxy",)),
            "Init:0/1",
            "0/2",
        ),
    ],
)
def test_the_state_of_a_pod_is_one_word(item: core.Pod, status: str, ready: str) -> None:
    shown = row(item)
    assert (shown["STATUS"], shown["READY"]) == (status, ready)


def test_restarts_say_when() -> None:
    assert row(pod([running()]))["RESTARTS"] == "0"
    restarted = [running(restarts=2, last_state=crashed(300)), running("side", restarts=1, last_state=crashed(90))]
    assert row(pod(restarted))["RESTARTS"] == "3 (90s ago)"
    initializing = pod(init=[waiting("CrashLoopBackOff", "a", restart_count=4, last_state=crashed(60))])
    assert row(initializing)["RESTARTS"] == "4 (60s ago)"
    done = pod([running()], init=[ended(name="a", restart_count=4, last_state=crashed(60))])
    assert row(done)["RESTARTS"] == "0"


def test_wide_pods_show_where_they_are() -> None:
    assert wide(core.Pod) == [
        "Name",
        "Ready",
        "Status",
        "Restarts",
        "Age",
        "[IP]",
        "[Node]",
        "[Nominated Node]",
        "[Readiness Gates]",
    ]
    bare = row(pod([running()]))
    assert [bare[key] for key in ("IP", "NODE", "NOMINATED NODE", "READINESS GATES")] == ["<none>"] * 4
    gates = [core.PodReadinessGate(condition_type=name) for name in ("a", "b")]
    placed = pod([running()], conditions=("a",), node_name="one", readiness_gates=gates)
    placed.status.pod_ips = [core.PodIP(ip="10.42.0.7"), core.PodIP(ip="fd00::7")]
    shown = row(placed)
    assert (shown["IP"], shown["NODE"], shown["READINESS GATES"]) == ("10.42.0.7", "one", "1/2")


def test_ended_pods_are_marked_for_sorting_out() -> None:
    (done,) = render(core.Pod, [pod(phase="Succeeded")], "None", NOW).rows
    assert [(item.type, item.status, item.reason) for item in done.conditions] == [("Completed", "True", "Succeeded")]


# ---------------------------------------------------------------- other kinds

TEMPLATE = core.PodTemplateSpec(
    spec=core.PodSpec(
        containers=[core.Container(name="a", image="img:1"), core.Container(name="b", image="img:2")],
        node_selector={"disk": "ssd"},
    )
)
SELECTOR = meta.LabelSelector(match_labels={"app": "web", "a": "b"})

CASES: list[tuple[meta.Object, dict[str, Any]]] = [
    (
        apps.Deployment(
            metadata=named(),
            spec=apps.DeploymentSpec(replicas=3, selector=SELECTOR, template=TEMPLATE),
            status=apps.DeploymentStatus(ready_replicas=2, updated_replicas=1, available_replicas=2),
        ),
        {
            "NAME": "x",
            "READY": "2/3",
            "UP-TO-DATE": 1,
            "AVAILABLE": 2,
            "AGE": "60m",
            "CONTAINERS": "a,b",
            "IMAGES": "img:1,img:2",
            "SELECTOR": "a=b,app=web",
        },
    ),
    (
        apps.ReplicaSet(
            metadata=named(),
            spec=apps.ReplicaSetSpec(replicas=3, selector=SELECTOR, template=TEMPLATE),
            status=apps.ReplicaSetStatus(replicas=2, ready_replicas=1),
        ),
        {
            "NAME": "x",
            "DESIRED": 3,
            "CURRENT": 2,
            "READY": 1,
            "AGE": "60m",
            "CONTAINERS": "a,b",
            "IMAGES": "img:1,img:2",
            "SELECTOR": "a=b,app=web",
        },
    ),
    (
        apps.DaemonSet(
            metadata=named(),
            spec=apps.DaemonSetSpec(selector=SELECTOR, template=TEMPLATE),
            status=apps.DaemonSetStatus(desired_number_scheduled=2, current_number_scheduled=2, number_ready=1),
        ),
        {
            "NAME": "x",
            "DESIRED": 2,
            "CURRENT": 2,
            "READY": 1,
            "UP-TO-DATE": 0,
            "AVAILABLE": 0,
            "NODE SELECTOR": "disk=ssd",
            "AGE": "60m",
            "CONTAINERS": "a,b",
            "IMAGES": "img:1,img:2",
            "SELECTOR": "a=b,app=web",
        },
    ),
    (
        apps.StatefulSet(
            metadata=named(),
            spec=apps.StatefulSetSpec(replicas=3, template=TEMPLATE),
            status=apps.StatefulSetStatus(ready_replicas=1),
        ),
        {"NAME": "x", "READY": "1/3", "AGE": "60m", "CONTAINERS": "a,b", "IMAGES": "img:1,img:2"},
    ),
    (
        batch.Job(
            metadata=named(),
            spec=batch.JobSpec(completions=3, selector=SELECTOR, template=TEMPLATE),
            status=batch.JobStatus(succeeded=1, start_time=Time.from_timestamp(NOW - 30)),
        ),
        {
            "NAME": "x",
            "STATUS": "Running",
            "COMPLETIONS": "1/3",
            "DURATION": "30s",
            "AGE": "60m",
            "CONTAINERS": "a,b",
            "IMAGES": "img:1,img:2",
            "SELECTOR": "a=b,app=web",
        },
    ),
    (
        batch.CronJob(
            metadata=named(),
            spec=batch.CronJobSpec(
                schedule="* * * * *",
                suspend=False,
                job_template=batch.JobTemplateSpec(spec=batch.JobSpec(template=TEMPLATE)),
            ),
        ),
        {
            "NAME": "x",
            "SCHEDULE": "* * * * *",
            "TIMEZONE": "<none>",
            "SUSPEND": "False",
            "ACTIVE": 0,
            "LAST SCHEDULE": "<none>",
            "AGE": "60m",
            "CONTAINERS": "a,b",
            "IMAGES": "img:1,img:2",
            "SELECTOR": "<none>",
        },
    ),
    (
        core.Service(
            metadata=named(),
            spec=core.ServiceSpec(
                type="NodePort",
                cluster_ips=["10.43.0.9"],
                ports=[
                    core.ServicePort(port=80, node_port=30080, protocol="TCP"),
                    core.ServicePort(port=53, protocol="UDP"),
                ],
                selector={"app": "web"},
            ),
        ),
        {
            "NAME": "x",
            "TYPE": "NodePort",
            "CLUSTER-IP": "10.43.0.9",
            "EXTERNAL-IP": "<none>",
            "PORT(S)": "80:30080/TCP,53/UDP",
            "AGE": "60m",
            "SELECTOR": "app=web",
        },
    ),
    (
        core.Service(metadata=named(), spec=core.ServiceSpec(type="ExternalName", external_name="db.example.org")),
        {
            "NAME": "x",
            "TYPE": "ExternalName",
            "CLUSTER-IP": "<none>",
            "EXTERNAL-IP": "db.example.org",
            "PORT(S)": "<none>",
            "AGE": "60m",
            "SELECTOR": "<none>",
        },
    ),
    (
        core.Endpoints(
            metadata=named(),
            subsets=[
                core.EndpointSubset(
                    addresses=[core.EndpointAddress(ip=f"10.0.0.{number}") for number in range(5)],
                    ports=[core.EndpointPort(port=80)],
                )
            ],
        ),
        {"NAME": "x", "ENDPOINTS": "10.0.0.0:80,10.0.0.1:80,10.0.0.2:80 + 2 more...", "AGE": "60m"},
    ),
    (
        discovery.EndpointSlice(
            metadata=named(),
            address_type="IPv4",
            endpoints=[discovery.Endpoint(addresses=["10.0.0.1"])],
            ports=[discovery.EndpointPort(port=80), discovery.EndpointPort(name="any")],
        ),
        {"NAME": "x", "ADDRESSTYPE": "IPv4", "PORTS": "80,any", "ENDPOINTS": "10.0.0.1", "AGE": "60m"},
    ),
    (
        core.Node(
            metadata=named(labels={"node-role.kubernetes.io/control-plane": "", "kubernetes.io/role": "edge"}),
            spec=core.NodeSpec(unschedulable=True),
            status=core.NodeStatus(
                conditions=[core.NodeCondition(type="Ready", status="True")],
                addresses=[core.NodeAddress(type="InternalIP", address="10.0.0.1")],
                node_info=core.NodeSystemInfo(kubelet_version="v1.36.0", os_image="Debian", kernel_version="6.18"),
            ),
        ),
        {
            "NAME": "x",
            "STATUS": "Ready,SchedulingDisabled",
            "ROLES": "control-plane,edge",
            "AGE": "60m",
            "VERSION": "v1.36.0",
            "INTERNAL-IP": "10.0.0.1",
            "EXTERNAL-IP": "<none>",
            "OS-IMAGE": "Debian",
            "KERNEL-VERSION": "6.18",
            "CONTAINER-RUNTIME": "<unknown>",
        },
    ),
    (
        core.Namespace(metadata=named(), status=core.NamespaceStatus(phase="Active")),
        {"NAME": "x", "STATUS": "Active", "AGE": "60m"},
    ),
    (
        core.ConfigMap(metadata=named(), data={"a": "b"}, binary_data={"c": b"d"}),
        {"NAME": "x", "DATA": 2, "AGE": "60m"},
    ),
    (
        core.Secret(metadata=named(), type="Opaque", data={"a": b"b"}),
        {"NAME": "x", "TYPE": "Opaque", "DATA": 1, "AGE": "60m"},
    ),
    (core.ServiceAccount(metadata=named()), {"NAME": "x", "SECRETS": 0, "AGE": "60m"}),
    (
        coordination.Lease(metadata=named(), spec=coordination.LeaseSpec(holder_identity="me")),
        {"NAME": "x", "HOLDER": "me", "AGE": "60m"},
    ),
    (
        core.Event(
            metadata=named(),
            type="Warning",
            reason="BackOff",
            message="back-off \n",
            count=3,
            first_timestamp=Time.from_timestamp(NOW - 300),
            last_timestamp=Time.from_timestamp(NOW - 10),
            involved_object=core.ObjectReference(kind="Pod", name="web", field_path="spec.containers{a}"),
            source=core.EventSource(component="kubelet", host="one"),
        ),
        {
            "LAST SEEN": "10s",
            "TYPE": "Warning",
            "REASON": "BackOff",
            "OBJECT": "pod/web",
            "SUBOBJECT": "spec.containers{a}",
            "SOURCE": "kubelet, one",
            "MESSAGE": "back-off",
            "FIRST SEEN": "5m",
            "COUNT": 3,
            "NAME": "x",
        },
    ),
    (
        events.Event(
            metadata=named(),
            type="Normal",
            reason="Scheduled",
            note="assigned",
            event_time=MicroTime.from_timestamp(NOW - 20),
            series=events.EventSeries(count=4, last_observed_time=MicroTime.from_timestamp(NOW - 5)),
            regarding=core.ObjectReference(kind="Pod", name="web"),
            reporting_controller="scheduler",
        ),
        {
            "LAST SEEN": "5s",
            "TYPE": "Normal",
            "REASON": "Scheduled",
            "OBJECT": "pod/web",
            "SUBOBJECT": "",
            "SOURCE": "scheduler",
            "MESSAGE": "assigned",
            "FIRST SEEN": "20s",
            "COUNT": 4,
            "NAME": "x",
        },
    ),
    (rbac.Role(metadata=named()), {"NAME": "x", "CREATED AT": MADE}),
    (rbac.ClusterRole(metadata=named()), {"NAME": "x", "CREATED AT": MADE}),
    (
        rbac.RoleBinding(
            metadata=named(),
            role_ref=rbac.RoleRef(kind="Role", name="r"),
            subjects=[
                rbac.Subject(kind="User", name="u"),
                rbac.Subject(kind="User", name="v"),
                rbac.Subject(kind="Group", name="g"),
                rbac.Subject(kind="ServiceAccount", namespace="n", name="s"),
            ],
        ),
        {"NAME": "x", "ROLE": "Role/r", "AGE": "60m", "USERS": "u, v", "GROUPS": "g", "SERVICEACCOUNTS": "n/s"},
    ),
    (
        core.PersistentVolumeClaim(
            metadata=named(),
            spec=core.PersistentVolumeClaimSpec(volume_name="v", storage_class_name="fast"),
            status=core.PersistentVolumeClaimStatus(
                phase="Bound", access_modes=["ReadWriteMany", "ReadWriteOnce"], capacity={"storage": Quantity("1Gi")}
            ),
        ),
        {
            "NAME": "x",
            "STATUS": "Bound",
            "VOLUME": "v",
            "CAPACITY": "1Gi",
            "ACCESS MODES": "RWO,RWX",
            "STORAGECLASS": "fast",
            "VOLUMEATTRIBUTESCLASS": "<unset>",
            "AGE": "60m",
            "VOLUMEMODE": "<unset>",
        },
    ),
    (
        storage.StorageClass(
            metadata=named(annotations={"storageclass.kubernetes.io/is-default-class": "true"}), provisioner="p"
        ),
        {
            "NAME": "x (default)",
            "PROVISIONER": "p",
            "RECLAIMPOLICY": "Delete",
            "VOLUMEBINDINGMODE": "Immediate",
            "ALLOWVOLUMEEXPANSION": False,
            "AGE": "60m",
        },
    ),
    (
        scheduling.PriorityClass(metadata=named(), value=7),
        {"NAME": "x", "VALUE": 7, "GLOBAL-DEFAULT": False, "AGE": "60m", "PREEMPTIONPOLICY": ""},
    ),
    (
        policy.PodDisruptionBudget(metadata=named(), spec=policy.PodDisruptionBudgetSpec(max_unavailable="50%")),
        {
            "NAME": "x",
            "MIN AVAILABLE": "N/A",
            "MAX UNAVAILABLE": "50%",
            "ALLOWED DISRUPTIONS": 0,
            "AGE": "60m",
        },
    ),
    (
        autoscaling.HorizontalPodAutoscaler(
            metadata=named(),
            spec=autoscaling.HorizontalPodAutoscalerSpec(
                scale_target_ref=autoscaling.CrossVersionObjectReference(kind="Deployment", name="web"),
                max_replicas=5,
                metrics=[
                    autoscaling.MetricSpec(
                        type="Resource",
                        resource=autoscaling.ResourceMetricSource(
                            name="cpu", target=autoscaling.MetricTarget(average_utilization=60)
                        ),
                    )
                ],
            ),
        ),
        {
            "NAME": "x",
            "REFERENCE": "Deployment/web",
            "TARGETS": "cpu: <unknown>/60%",
            "MINPODS": "<unset>",
            "MAXPODS": 5,
            "REPLICAS": 0,
            "AGE": "60m",
        },
    ),
    (
        networking.Ingress(
            metadata=named(),
            spec=networking.IngressSpec(
                rules=[networking.IngressRule(host=f"{number}.example.org") for number in range(4)]
            ),
        ),
        {
            "NAME": "x",
            "CLASS": "<none>",
            "HOSTS": "0.example.org,1.example.org,2.example.org + 1 more...",
            "ADDRESS": "",
            "PORTS": "80",
            "AGE": "60m",
        },
    ),
    (
        networking.NetworkPolicy(metadata=named(), spec=networking.NetworkPolicySpec(pod_selector=SELECTOR)),
        {"NAME": "x", "POD-SELECTOR": "a=b,app=web", "AGE": "60m"},
    ),
    (
        certificates.CertificateSigningRequest(
            metadata=named(),
            spec=certificates.CertificateSigningRequestSpec(signer_name="s", username="u", expiration_seconds=3600),
            status=certificates.CertificateSigningRequestStatus(
                conditions=[certificates.CertificateSigningRequestCondition(type="Approved")], certificate=b"x"
            ),
        ),
        {
            "NAME": "x",
            "AGE": "60m",
            "SIGNERNAME": "s",
            "REQUESTOR": "u",
            "REQUESTEDDURATION": "60m",
            "CONDITION": "Approved,Issued",
        },
    ),
]


@pytest.mark.parametrize(("item", "cells"), CASES, ids=lambda value: value.kind if hasattr(value, "kind") else "")
def test_rows_look_as_against_an_upstream_cluster(item: meta.Object, cells: dict[str, Any]) -> None:
    assert row(item) == cells


@pytest.mark.parametrize("resource", SCHEME.resources(), ids=lambda resource: f"{resource.api_version}/{resource.kind}")
def test_every_kind_can_be_printed_even_when_empty(resource: Any) -> None:
    blank = resource.type()
    table = codec.encode(render(resource.type, [blank], "Object", NOW))
    decoded = msgspec.json.decode(table)
    assert len(decoded["columnDefinitions"]) == len(decoded["rows"][0]["cells"])
    assert decoded["columnDefinitions"][0]["name"] in ("Name", "Last Seen")


def test_every_printer_is_of_a_kind_that_is_served_or_returned() -> None:
    served = {resource.type for resource in SCHEME.resources()}
    assert {type_.__name__ for type_ in PRINTERS if type_ not in served} == {"Scale"}


# ---------------------------------------------------------------- the table around the rows


def test_what_goes_along_with_a_row_is_the_clients_choice() -> None:
    item = core.ConfigMap(metadata=named(resource_version="7"), data={"a": "b"})

    def included(choice: str) -> Any:
        return msgspec.json.decode(codec.encode(render(core.ConfigMap, [item], choice, NOW)))["rows"][0]["object"]

    assert included("None") is None
    metadata = {"name": "x", "creationTimestamp": MADE, "resourceVersion": "7"}
    for choice in ("", "Metadata"):
        assert included(choice) == {
            "apiVersion": "meta.k8s.io/v1",
            "kind": "PartialObjectMetadata",
            "metadata": metadata,
        }
    assert included("Object") == {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"a": "b"}}
    with pytest.raises(StatusError, match='unrecognized includeObject value: "All"'):
        render(core.ConfigMap, [item], "All", NOW)


def test_the_first_table_of_a_watch_alone_has_columns() -> None:
    item = core.ConfigMap(metadata=named(resource_version="7"))
    first = render(core.ConfigMap, [item], "None", NOW)
    later = render(core.ConfigMap, [item], "None", NOW, columns=False)
    assert len(first.column_definitions) == 3
    assert later.column_definitions == []
    assert later.metadata.resource_version == "7"
    of_list = render(core.ConfigMap, [item], "None", NOW, metadata=meta.ListMeta(resource_version="9"))
    assert of_list.metadata.resource_version == "9"
