"""Where pods go, and the words for why they go nowhere."""

from typing import Any

import pytest

from api import core_v1 as core
from api import meta_v1 as meta
from api.quantity import Quantity
from controlplane.scheduler.cluster import Cluster
from controlplane.scheduler.demand import DemandReader
from controlplane.scheduler.failures import Failure
from controlplane.scheduler.planning import Placement, schedule

HOST = "kubernetes.io/hostname"


def node(
    name: str,
    labels: dict[str, str] | None = None,
    taints: tuple[core.Taint, ...] = (),
    unschedulable: bool = False,
    **allocatable: str,
) -> core.Node:
    offered = {"cpu": "4", "memory": "8Gi", "pods": "10", "ephemeral-storage": "10Gi"} | allocatable
    return core.Node(
        metadata=meta.ObjectMeta(name=name, labels={HOST: name} | (labels or {})),
        spec=core.NodeSpec(taints=list(taints), unschedulable=unschedulable),
        status=core.NodeStatus(allocatable={key: Quantity(value) for key, value in offered.items()}),
    )


def pod(
    name: str = "web",
    labels: dict[str, str] | None = None,
    requests: dict[str, str] | None = None,
    ports: tuple[core.ContainerPort, ...] = (),
    namespace: str = "default",
    **spec: Any,
) -> core.Pod:
    resources = core.ResourceRequirements(requests={key: Quantity(text) for key, text in (requests or {}).items()})
    return core.Pod(
        metadata=meta.ObjectMeta(name=name, namespace=namespace, uid=f"uid-{name}", labels=labels or {}),
        spec=core.PodSpec(containers=[core.Container(name="app", resources=resources, ports=list(ports))], **spec),
    )


class Stage:
    """A cluster, with pods placed by hand."""

    def __init__(self, *nodes: core.Node) -> None:
        self.cluster = Cluster()
        self.reader = DemandReader()
        for one in nodes:
            self.cluster.put_node(one)

    def place(self, placed: core.Pod, on: str) -> None:
        self.cluster.put_pod(self.reader.read(placed), on)

    def decide(self, wanted: core.Pod) -> Placement | Failure:
        return schedule(self.cluster, self.reader.read(wanted))

    def where(self, wanted: core.Pod) -> str:
        decision = self.decide(wanted)
        assert isinstance(decision, Placement), decision.message
        return decision.node

    def why_not(self, wanted: core.Pod) -> str:
        decision = self.decide(wanted)
        assert isinstance(decision, Failure), decision
        return decision.message


def terms(*alternatives: list[tuple[str, str, list[str]]], field: bool = False) -> core.Affinity:
    """Required node affinity: alternatives of requirements (key, operator, values)."""
    selector_terms = []
    for alternative in alternatives:
        requirements = [core.NodeSelectorRequirement(key=k, operator=o, values=v) for k, o, v in alternative]
        selector_terms.append(
            core.NodeSelectorTerm(match_fields=requirements)
            if field
            else core.NodeSelectorTerm(match_expressions=requirements)
        )
    required = core.NodeSelector(node_selector_terms=selector_terms)
    return core.Affinity(node_affinity=core.NodeAffinity(required_during_scheduling_ignored_during_execution=required))


def near(*, apart: bool = False, key: str = HOST, app: str, **more: Any) -> core.Affinity:
    term = core.PodAffinityTerm(topology_key=key, label_selector=meta.LabelSelector(match_labels={"app": app}), **more)
    if apart:
        return core.Affinity(
            pod_anti_affinity=core.PodAntiAffinity(required_during_scheduling_ignored_during_execution=[term])
        )
    return core.Affinity(pod_affinity=core.PodAffinity(required_during_scheduling_ignored_during_execution=[term]))


def spread(key: str, app: str, *, skew: int = 1, hard: bool = True, **more: Any) -> core.TopologySpreadConstraint:
    return core.TopologySpreadConstraint(
        max_skew=skew,
        topology_key=key,
        when_unsatisfiable="DoNotSchedule" if hard else "ScheduleAnyway",
        label_selector=meta.LabelSelector(match_labels={"app": app}),
        **more,
    )


NO_SCHEDULE = core.Taint(key="dedicated", value="gpu", effect="NoSchedule")
AFTER = "no new claims to deallocate, preemption: "


# Messages, to the letter


def test_without_nodes() -> None:
    assert Stage().why_not(pod()) == "no nodes available to schedule pods"


def test_too_little_cpu_now() -> None:
    stage = Stage(node("n1"))
    stage.place(pod("big", requests={"cpu": "3"}), on="n1")
    assert stage.why_not(pod(requests={"cpu": "2"})) == (
        f"0/1 nodes are available: 1 Insufficient cpu. {AFTER}"
        "0/1 nodes are available: 1 No preemption victims found for incoming pod."
    )


def test_more_cpu_than_any_node_has() -> None:
    assert Stage(node("n1")).why_not(pod(requests={"cpu": "64"})) == (
        f"0/1 nodes are available: 1 Insufficient cpu. {AFTER}"
        "0/1 nodes are available: 1 Preemption is not helpful for scheduling."
    )


def test_a_node_stands_under_each_resource_it_lacks() -> None:
    stage = Stage(node("n1", pods="1"), node("n2"))
    stage.place(pod("a", requests={"cpu": "3", "memory": "7Gi"}), on="n1")
    stage.place(pod("b", requests={"memory": "7Gi"}), on="n2")
    assert stage.why_not(pod(requests={"cpu": "2", "memory": "2Gi"})) == (
        f"0/2 nodes are available: 1 Insufficient cpu, 1 Too many pods, 2 Insufficient memory. {AFTER}"
        "0/2 nodes are available: 2 No preemption victims found for incoming pod."
    )


def test_each_node_is_counted_under_the_first_filter_that_rejects_it() -> None:
    stage = Stage(
        node("cordoned", unschedulable=True, taints=(NO_SCHEDULE,)),
        node("tainted", taints=(NO_SCHEDULE,), cpu="0"),
        node("mismatched", cpu="0"),
        node("full", {"disk": "ssd"}, cpu="1"),
    )
    stage.place(pod("x", requests={"cpu": "1"}), on="full")
    assert stage.why_not(pod(requests={"cpu": "1"}, node_selector={"disk": "ssd"})) == (
        "0/4 nodes are available: 1 Insufficient cpu, 1 node(s) didn't match Pod's node affinity/selector, "
        f"1 node(s) had untolerated taint(s), 1 node(s) were unschedulable. {AFTER}"
        "0/4 nodes are available: 1 No preemption victims found for incoming pod, "
        "3 Preemption is not helpful for scheduling."
    )


def test_counts_are_sorted_as_text() -> None:
    nodes = [node(f"full{n}", pods="0") for n in range(2)] + [node(f"t{n}", taints=(NO_SCHEDULE,)) for n in range(10)]
    message = Stage(*nodes).why_not(pod())
    assert message.startswith("0/12 nodes are available: 10 node(s) had untolerated taint(s), 2 Too many pods.")


def test_an_extended_resource_that_no_node_offers() -> None:
    message = Stage(node("n1")).why_not(pod(requests={"example.org/gpu": "1"}))
    assert message.startswith("0/1 nodes are available: 1 Insufficient example.org/gpu. ")


def test_host_ports() -> None:
    stage = Stage(node("n1"))
    stage.place(pod("x", ports=(core.ContainerPort(container_port=80, host_port=8080),)), on="n1")
    assert stage.why_not(pod(ports=(core.ContainerPort(container_port=1, host_port=8080),))) == (
        f"0/1 nodes are available: 1 node(s) didn't have free ports for the requested pod ports. {AFTER}"
        "0/1 nodes are available: 1 No preemption victims found for incoming pod."
    )


def test_pods_bound_to_one_node_by_name() -> None:
    stage = Stage(node("n1", cpu="1"), node("n2"), node("n3"))
    wanted = pod(requests={"cpu": "2"}, affinity=terms([("metadata.name", "In", ["n1"])], field=True))
    assert stage.why_not(wanted) == (
        f"0/3 nodes are available: 1 Insufficient cpu, 2 node(s) didn't satisfy plugin(s) [NodeAffinity]. {AFTER}"
        "0/3 nodes are available: 3 Preemption is not helpful for scheduling."
    )


def test_a_pod_that_does_not_preempt() -> None:
    stage = Stage(node("n1", cpu="1"))
    assert stage.why_not(pod(requests={"cpu": "2"}, preemption_policy="Never", priority=10)) == (
        f"0/1 nodes are available: 1 Insufficient cpu. {AFTER}not eligible due to preemptionPolicy=Never."
    )


def test_victims_that_we_cannot_evict_yet_are_admitted_to() -> None:
    stage = Stage(node("n1"))
    stage.place(pod("small", requests={"cpu": "3"}, priority=1), on="n1")
    assert stage.why_not(pod(requests={"cpu": "2"}, priority=100)).endswith(
        "preemption: 0/1 nodes are available: 1 Preemption is not available yet."
    )


def test_neighbours() -> None:
    stage = Stage(node("n1", {"zone": "a"}), node("n2"))
    stage.place(pod("x", {"app": "db"}), on="n1")
    assert stage.why_not(pod(affinity=near(app="cache"))).startswith(
        "0/2 nodes are available: 2 node(s) didn't match pod affinity rules. "
    )
    stage.place(pod("y", {"app": "db"}), on="n2")
    assert stage.why_not(pod(affinity=near(apart=True, app="db"))).startswith(
        "0/2 nodes are available: 2 node(s) didn't match pod anti-affinity rules. "
    )
    lonely = Stage(node("n1"))
    lonely.place(pod("x", {"app": "db"}, affinity=near(apart=True, app="web")), on="n1")
    assert lonely.why_not(pod(labels={"app": "web"})).startswith(
        "0/1 nodes are available: 1 node(s) didn't satisfy existing pods anti-affinity rules. "
    )


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        (
            {
                "volumes": [
                    core.Volume(
                        name="data",
                        persistent_volume_claim=core.PersistentVolumeClaimVolumeSource(claim_name="data"),
                    )
                ]
            },
            "0/1 nodes are available: persistent volume claims are not supported by this scheduler yet.",
        ),
        (
            {"resource_claims": [core.PodResourceClaim(name="gpu", resource_claim_name="gpu")]},
            "0/1 nodes are available: resource claims are not supported by this scheduler yet.",
        ),
    ],
)
def test_what_is_not_built_yet_is_said_and_not_ignored(spec: dict[str, Any], words: str) -> None:
    assert Stage(node("n1")).why_not(pod(**spec)) == words


# Node affinity


@pytest.mark.parametrize(
    ("requirement", "matching"),
    [
        (("disk", "In", ["ssd", "nvme"]), {"n1", "n2"}),
        (("disk", "NotIn", ["ssd"]), {"n2", "n3", "n4"}),
        (("disk", "Exists", []), {"n1", "n2", "n3"}),
        (("disk", "DoesNotExist", []), {"n4"}),
        (("cores", "Gt", ["8"]), {"n2"}),
        (("cores", "Lt", ["9"]), {"n1"}),
        (("cores", "Gt", ["many"]), set()),
        (("nobody", "In", ["x"]), set()),
        (("nobody", "NotIn", ["x"]), {"n1", "n2", "n3", "n4"}),
        (("disk", "Bogus", ["ssd"]), set()),
    ],
)
def test_operators(requirement: tuple[str, str, list[str]], matching: set[str]) -> None:
    stage = Stage(
        node("n1", {"disk": "ssd", "cores": "8"}),
        node("n2", {"disk": "nvme", "cores": "16"}),
        node("n3", {"disk": "", "cores": "many"}),
        node("n4"),
    )
    decision = stage.decide(pod(affinity=terms([requirement])))
    found = decision.feasible if isinstance(decision, Placement) else 0
    assert found == len(matching)
    for name in matching:
        only = pod(affinity=terms([requirement]), node_selector={HOST: name})
        assert stage.where(only) == name


def test_terms_are_alternatives_and_requirements_all_hold() -> None:
    stage = Stage(node("n1", {"a": "1"}), node("n2", {"a": "1", "b": "1"}), node("n3", {"c": "1"}))
    both = terms([("a", "Exists", []), ("b", "Exists", [])])
    assert stage.where(pod(affinity=both)) == "n2"
    either = stage.decide(pod(affinity=terms([("b", "Exists", [])], [("c", "Exists", [])])))
    assert isinstance(either, Placement)
    assert either.feasible == 2
    assert isinstance(stage.decide(pod(affinity=terms([]))), Failure)


def test_preferences_weigh() -> None:
    stage = Stage(node("n1", {"disk": "ssd"}), node("n2", {"disk": "hdd", "zone": "a"}), node("n3"))
    preferred = [
        core.PreferredSchedulingTerm(
            weight=weight,
            preference=core.NodeSelectorTerm(
                match_expressions=[core.NodeSelectorRequirement(key=key, operator="In", values=[value])]
            ),
        )
        for weight, key, value in ((1, "disk", "ssd"), (10, "zone", "a"))
    ]
    affinity = core.Affinity(
        node_affinity=core.NodeAffinity(preferred_during_scheduling_ignored_during_execution=preferred)
    )
    assert stage.where(pod(affinity=affinity)) == "n2"


def test_changed_labels_and_taints_count_from_the_next_decision_on() -> None:
    stage = Stage(node("n1"))
    wanted = pod(node_selector={"disk": "ssd"})
    assert isinstance(stage.decide(wanted), Failure)
    assert stage.cluster.put_node(node("n1", {"disk": "ssd"}))
    assert stage.where(wanted) == "n1"
    assert not stage.cluster.put_node(node("n1", {"disk": "ssd"}))
    stage.cluster.put_node(node("n1", {"disk": "ssd"}, taints=(NO_SCHEDULE,)))
    assert isinstance(stage.decide(wanted), Failure)


# Taints


@pytest.mark.parametrize(
    ("toleration", "tolerated"),
    [
        (core.Toleration(key="dedicated", operator="Equal", value="gpu", effect="NoSchedule"), True),
        (core.Toleration(key="dedicated", value="gpu"), True),
        (core.Toleration(key="dedicated", operator="Exists"), True),
        (core.Toleration(operator="Exists"), True),
        (core.Toleration(key="dedicated", value="cpu"), False),
        (core.Toleration(key="dedicated", value="gpu", effect="NoExecute"), False),
        (core.Toleration(key="other", operator="Exists"), False),
    ],
)
def test_tolerations(toleration: core.Toleration, tolerated: bool) -> None:
    decision = Stage(node("n1", taints=(NO_SCHEDULE,))).decide(pod(tolerations=[toleration]))
    assert isinstance(decision, Placement) is tolerated


def test_a_cordoned_node_takes_only_pods_that_tolerate_it() -> None:
    stage = Stage(node("n1", unschedulable=True))
    assert isinstance(stage.decide(pod()), Failure)
    toleration = core.Toleration(key="node.kubernetes.io/unschedulable", operator="Exists", effect="NoSchedule")
    assert stage.where(pod(tolerations=[toleration])) == "n1"


def test_soft_taints_are_avoided_but_do_not_forbid() -> None:
    soft = core.Taint(key="busy", effect="PreferNoSchedule")
    stage = Stage(node("n1", taints=(soft,)), node("n2"))
    stage.place(pod("x", requests={"cpu": "2"}), on="n2")
    assert stage.where(pod()) == "n2"
    assert Stage(node("n1", taints=(soft,))).where(pod()) == "n1"


# Resources


def test_what_was_taken_is_free_again() -> None:
    stage = Stage(node("n1"))
    stage.place(pod("x", requests={"cpu": "4"}), on="n1")
    assert isinstance(stage.decide(pod(requests={"cpu": "1"})), Failure)
    stage.cluster.remove_pod("uid-x")
    assert stage.where(pod(requests={"cpu": "1"})) == "n1"


def test_init_containers_and_overhead_count() -> None:
    stage = Stage(node("n1"))
    wanted = pod(requests={"cpu": "1"}, overhead={"cpu": Quantity("500m")})
    wanted.spec.init_containers = [
        core.Container(name="init", resources=core.ResourceRequirements(requests={"cpu": Quantity("3600m")}))
    ]
    assert isinstance(stage.decide(wanted), Failure)
    wanted.spec.init_containers[0].resources.requests["cpu"] = Quantity("3500m")
    assert stage.where(wanted) == "n1"


def test_pods_spread_over_equal_nodes() -> None:
    stage = Stage(*(node(f"n{n}") for n in range(4)))
    for number in range(8):
        wanted = pod(f"p{number}", requests={"cpu": "500m", "memory": "512Mi"})
        stage.place(wanted, on=stage.where(wanted))
    assert all(stage.cluster.nodes.requested("pods") == 2)  # type: ignore[arg-type]


def test_a_pod_goes_where_cpu_and_memory_stay_balanced() -> None:
    stage = Stage(node("cpu-heavy"), node("memory-heavy"))
    stage.place(pod("a", requests={"cpu": "2", "memory": "1Gi"}), on="cpu-heavy")
    stage.place(pod("b", requests={"cpu": "500m", "memory": "4Gi"}), on="memory-heavy")
    assert stage.where(pod(requests={"cpu": "1", "memory": "100Mi"})) == "memory-heavy"


def test_pods_without_requests_do_not_pile_up() -> None:
    stage = Stage(node("n1"), node("n2"))
    for number in range(6):
        wanted = pod(f"p{number}")
        stage.place(wanted, on=stage.where(wanted))
    assert list(stage.cluster.nodes.requested("pods")) == [3, 3]  # type: ignore[arg-type]


# Host ports


@pytest.mark.parametrize(
    ("mine", "theirs", "clash"),
    [
        (("TCP", "", 80), ("TCP", "", 80), True),
        (("TCP", "", 80), ("UDP", "", 80), False),
        (("TCP", "10.0.0.1", 80), ("TCP", "10.0.0.2", 80), False),
        (("TCP", "10.0.0.1", 80), ("TCP", "10.0.0.1", 80), True),
        (("TCP", "0.0.0.0", 80), ("TCP", "10.0.0.2", 80), True),
        (("TCP", "10.0.0.1", 80), ("TCP", "", 80), True),
        (("TCP", "", 80), ("TCP", "", 81), False),
    ],
)
def test_ports_clash(mine: tuple[str, str, int], theirs: tuple[str, str, int], clash: bool) -> None:
    def port(spec: tuple[str, str, int]) -> tuple[core.ContainerPort, ...]:
        return (core.ContainerPort(container_port=1, protocol=spec[0], host_ip=spec[1], host_port=spec[2]),)

    stage = Stage(node("n1"))
    stage.place(pod("x", ports=port(theirs)), on="n1")
    assert isinstance(stage.decide(pod(ports=port(mine))), Failure) is clash
    stage.cluster.remove_pod("uid-x")
    assert stage.where(pod(ports=port(mine))) == "n1"


# Other pods


def test_a_pod_goes_where_its_friends_are_in_the_whole_domain() -> None:
    stage = Stage(node("n1", {"zone": "a"}), node("n2", {"zone": "a"}), node("n3", {"zone": "b"}), node("n4"))
    stage.place(pod("x", {"app": "db"}), on="n1")
    decision = stage.decide(pod(affinity=near(app="db", key="zone")))
    assert isinstance(decision, Placement)
    assert decision.feasible == 2
    assert stage.where(pod(affinity=near(app="db"))) == "n1"


def test_the_first_of_a_group_may_go_anywhere_that_has_the_topology() -> None:
    stage = Stage(node("n1"), node("n2", {"zone": "a"}))
    assert stage.where(pod(labels={"app": "db"}, affinity=near(app="db", key="zone"))) == "n2"
    assert isinstance(stage.decide(pod(affinity=near(app="db", key="zone"))), Failure)


def test_replicas_stay_apart() -> None:
    stage = Stage(node("n1"), node("n2"))
    for number in range(2):
        replica = pod(f"r{number}", {"app": "db"}, affinity=near(apart=True, app="db"))
        stage.place(replica, on=stage.where(replica))
    assert isinstance(stage.decide(pod("r3", {"app": "db"}, affinity=near(apart=True, app="db"))), Failure)
    stage.cluster.remove_pod("uid-r0")
    assert isinstance(stage.decide(pod("r3", {"app": "db"}, affinity=near(apart=True, app="db"))), Placement)


def test_terms_look_at_their_namespaces() -> None:
    stage = Stage(node("n1"), node("n2"))
    stage.cluster.put_namespace("prod", {"team": "x"})
    stage.place(pod("x", {"app": "db"}, namespace="prod"), on="n1")
    assert isinstance(stage.decide(pod(affinity=near(app="db"))), Failure)
    assert stage.where(pod(affinity=near(app="db", namespaces=["prod"]))) == "n1"
    by_label = meta.LabelSelector(match_labels={"team": "x"})
    assert stage.where(pod(affinity=near(app="db", namespace_selector=by_label))) == "n1"
    everywhere = meta.LabelSelector()
    assert stage.where(pod(affinity=near(app="db", namespace_selector=everywhere))) == "n1"


def test_preferred_neighbours_attract_and_repel() -> None:
    stage = Stage(node("n1"), node("n2"))
    stage.place(pod("x", {"app": "db"}), on="n1")
    term = near(app="db").pod_affinity
    assert term is not None
    weighted = [
        core.WeightedPodAffinityTerm(
            weight=100, pod_affinity_term=term.required_during_scheduling_ignored_during_execution[0]
        )
    ]
    attract = core.PodAffinity(preferred_during_scheduling_ignored_during_execution=weighted)
    repel = core.PodAntiAffinity(preferred_during_scheduling_ignored_during_execution=weighted)
    assert stage.where(pod(affinity=core.Affinity(pod_affinity=attract))) == "n1"
    assert stage.where(pod(affinity=core.Affinity(pod_anti_affinity=repel))) == "n2"
    # The other way round: a running pod's wish counts for the one that comes.
    wishing = Stage(node("n1"), node("n2"))
    wishing.place(pod("x", affinity=core.Affinity(pod_affinity=attract)), on="n1")
    assert wishing.where(pod(labels={"app": "db"})) == "n1"


# Spread


def test_domains_stay_even() -> None:
    stage = Stage(*(node(f"n{n}", {"zone": zone}) for n, zone in enumerate("aabb")), node("n4"))
    counts = {"a": 0, "b": 0}
    for number in range(6):
        replica = pod(f"r{number}", {"app": "db"}, topology_spread_constraints=[spread("zone", "db")])
        chosen = stage.where(replica)
        assert chosen != "n4"
        stage.place(replica, on=chosen)
        counts["a" if chosen in ("n0", "n1") else "b"] += 1
        assert abs(counts["a"] - counts["b"]) <= 1


def test_a_missing_label_and_a_skew_are_told_apart() -> None:
    stage = Stage(node("n1", {"zone": "a"}, cpu="1"), node("n2", {"zone": "b"}, pods="0"), node("n3"))
    stage.place(pod("x", {"app": "db"}), on="n1")
    replica = pod("r", {"app": "db"}, topology_spread_constraints=[spread("zone", "db")])
    assert stage.why_not(replica).startswith(
        "0/3 nodes are available: 1 Too many pods, "
        "1 node(s) didn't match pod topology spread constraints, "
        "1 node(s) didn't match pod topology spread constraints (missing required label). "
    )


def test_nodes_a_pod_cannot_go_to_do_not_count_as_empty_domains() -> None:
    stage = Stage(node("n1", {"zone": "a", "disk": "ssd"}), node("n2", {"zone": "b"}))
    stage.place(pod("x", {"app": "db"}), on="n1")
    constraint = spread("zone", "db")
    wanted = pod("r", {"app": "db"}, node_selector={"disk": "ssd"}, topology_spread_constraints=[constraint])
    assert stage.where(wanted) == "n1"
    ignoring = spread("zone", "db", node_affinity_policy="Ignore")
    wanted = pod("r", {"app": "db"}, node_selector={"disk": "ssd"}, topology_spread_constraints=[ignoring])
    assert isinstance(stage.decide(wanted), Failure)


def test_too_few_domains_count_as_an_empty_one() -> None:
    stage = Stage(node("n1", {"zone": "a"}))
    stage.place(pod("x", {"app": "db"}), on="n1")
    assert stage.where(pod("r", {"app": "db"}, topology_spread_constraints=[spread("zone", "db")])) == "n1"
    wanting = spread("zone", "db", min_domains=2)
    assert isinstance(stage.decide(pod("r", {"app": "db"}, topology_spread_constraints=[wanting])), Failure)


def test_revisions_of_a_workload_are_spread_apart_from_each_other() -> None:
    stage = Stage(node("n1"), node("n2"))
    stage.place(pod("old", {"app": "db", "pod-template-hash": "1"}), on="n1")
    constraint = spread(HOST, "db", match_label_keys=["pod-template-hash"])
    first = pod("r1", {"app": "db", "pod-template-hash": "2"}, topology_spread_constraints=[constraint])
    decision = stage.decide(first)
    assert isinstance(decision, Placement)
    assert decision.feasible == 2


def test_soft_constraints_prefer_emptier_domains() -> None:
    stage = Stage(node("n1", {"zone": "a"}), node("n2", {"zone": "a"}), node("n3", {"zone": "b"}))
    stage.place(pod("x", {"app": "db"}), on="n1")
    # The other zone is preferred although its node is busier.
    stage.place(pod("y", requests={"cpu": "1", "memory": "2Gi"}), on="n3")
    wanted = pod("r", {"app": "db"}, topology_spread_constraints=[spread("zone", "db", hard=False)])
    assert stage.where(wanted) == "n3"


# Purity


def test_the_same_question_has_the_same_answer() -> None:
    stage = Stage(*(node(f"n{n}") for n in range(20)))
    assert len({stage.where(pod("same")) for _ in range(5)}) == 1
    assert len({stage.where(pod(f"p{n}")) for n in range(50)}) > 5
