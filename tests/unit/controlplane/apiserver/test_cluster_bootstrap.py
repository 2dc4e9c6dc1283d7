"""What is there at the first start, and what happens to it at the next."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from api import core_v1 as core
from api import discovery_v1 as discovery
from api import meta_v1 as meta
from api import networking_v1 as networking
from api import rbac_v1 as rbac
from api import scheduling_v1 as scheduling
from api.codec import deepcopy
from api.scheme import SCHEME
from controlplane.apiserver.authorization.authorizer import Authorizer
from controlplane.apiserver.authorization.node import NodeAuthorizer
from controlplane.apiserver.authorization.rbac import RbacAuthorizer
from controlplane.apiserver.bootstrap import ClusterFacts, RoleAggregation, ensure, node_rules
from controlplane.apiserver.request import RequestInfo, User
from tests.unit.controlplane.apiserver.identity_doubles import Objects

FACTS = ClusterFacts("10.43.0.1", "10.43.0.0/16", "192.0.2.7", 6443, "-----BEGIN CERTIFICATE-----", 1_700_000_000.0)
AUTHENTICATED = ("system:authenticated",)


async def cluster() -> Objects:
    objects = Objects()
    await ensure(objects, objects, FACTS)
    objects.written.clear()
    return objects


def role(objects: Objects, name: str) -> rbac.ClusterRole:
    found = objects.get(SCHEME.of(rbac.ClusterRole), "", name)
    assert isinstance(found, rbac.ClusterRole)
    return found


async def test_the_first_start_makes_everything_and_the_second_nothing() -> None:
    objects = Objects()
    assert await ensure(objects, objects, FACTS) > 60
    objects.written.clear()
    assert await ensure(objects, objects, FACTS) == 0
    assert objects.written == []


async def test_namespaces_and_priority_classes_are_there() -> None:
    objects = await cluster()
    names = {item.metadata.name for item in objects.list(SCHEME.of(core.Namespace))}
    assert names == {"default", "kube-system", "kube-public", "kube-node-lease"}
    classes = objects.list(SCHEME.of(scheduling.PriorityClass))
    values = {item.metadata.name: item.value for item in classes if isinstance(item, scheduling.PriorityClass)}
    assert values == {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}


async def test_the_range_of_the_services_is_there_and_ready() -> None:
    objects = await cluster()
    found = objects.get(SCHEME.of(networking.ServiceCIDR), "", "kubernetes")
    assert isinstance(found, networking.ServiceCIDR)
    assert found.spec.cidrs == ["10.43.0.0/16"]
    ready = found.status.conditions[0]
    assert (ready.type, ready.status, ready.message) == ("Ready", "True", "Kubernetes default Service CIDR is ready")
    assert ready.last_transition_time == "2023-11-14T22:13:20Z"


async def test_pods_find_the_server_under_its_service() -> None:
    objects = await cluster()
    service = objects.get(SCHEME.of(core.Service), "default", "kubernetes")
    assert isinstance(service, core.Service)
    assert service.spec.cluster_ip == "10.43.0.1"
    assert [(port.name, port.port, port.target_port) for port in service.spec.ports] == [("https", 443, 6443)]
    moved = replace(FACTS, advertise_address="192.0.2.8")
    assert await ensure(objects, objects, moved) == 2
    slice_ = objects.get(SCHEME.of(discovery.EndpointSlice), "default", "kubernetes")
    assert isinstance(slice_, discovery.EndpointSlice)
    assert slice_.endpoints[0].addresses == ["192.0.2.8"]


async def test_a_loopback_address_is_no_endpoint() -> None:
    objects = Objects()
    await ensure(objects, objects, replace(FACTS, advertise_address="127.0.0.1"))
    assert objects.get(SCHEME.of(core.Endpoints), "default", "kubernetes") is None


async def test_what_was_taken_away_comes_back_and_what_was_added_stays() -> None:
    objects = await cluster()
    changed = deepcopy(role(objects, "system:kube-scheduler"))
    own = rbac.PolicyRule(verbs=["get"], api_groups=["acme.com"], resources=["things"])
    changed.rules = [own, *changed.rules[1:]]
    changed.metadata.labels = {"team": "a"}
    objects.put(changed)
    assert await ensure(objects, objects, FACTS) == 1
    mended = role(objects, "system:kube-scheduler")
    assert own in mended.rules
    assert any("events" in rule.resources for rule in mended.rules)
    assert mended.metadata.labels == {"team": "a", "kubernetes.io/bootstrapping": "rbac-defaults"}


async def test_what_is_marked_is_left_alone() -> None:
    objects = await cluster()
    pinned = deepcopy(role(objects, "system:kube-scheduler"))
    pinned.rules = []
    pinned.metadata.annotations = {"rbac.authorization.kubernetes.io/autoupdate": "false"}
    objects.put(pinned)
    assert await ensure(objects, objects, FACTS) == 0


async def test_a_binding_gets_its_subjects_back_unless_it_points_elsewhere() -> None:
    objects = await cluster()
    resource = SCHEME.of(rbac.ClusterRoleBinding)
    binding = objects.get(resource, "", "system:kube-scheduler")
    assert isinstance(binding, rbac.ClusterRoleBinding)
    emptied = deepcopy(binding)
    emptied.subjects = []
    objects.put(emptied)
    assert await ensure(objects, objects, FACTS) == 1
    emptied.role_ref = rbac.RoleRef(api_group="rbac.authorization.k8s.io", kind="ClusterRole", name="view")
    objects.put(emptied)
    assert await ensure(objects, objects, FACTS) == 0


async def test_admin_is_the_sum_of_the_others_for_people_to_read() -> None:
    objects = await cluster()
    view, edit, admin = (role(objects, name) for name in ("view", "edit", "admin"))
    assert all(rule in edit.rules for rule in view.rules)
    assert all(rule in admin.rules for rule in edit.rules)
    assert len(view.rules) < len(edit.rules) < len(admin.rules)


@pytest.mark.parametrize(
    ("user", "question", "allowed"),
    [
        (User("system:kube-scheduler"), ("create", "", "pods", "binding"), True),
        (User("system:kube-scheduler"), ("create", "", "pods", ""), False),
        (User("system:kube-controller-manager"), ("create", "", "pods", ""), True),
        (User("system:kube-controller-manager"), ("update", "apps", "deployments", "status"), True),
        (User("system:kube-controller-manager"), ("update", "", "namespaces", "finalize"), True),
        (User("system:kube-controller-manager"), ("create", "", "serviceaccounts", ""), True),
        (User("system:kube-controller-manager"), ("create", "rbac.authorization.k8s.io", "roles", ""), False),
        (
            User("anybody", groups=AUTHENTICATED),
            ("create", "authorization.k8s.io", "selfsubjectaccessreviews", ""),
            True,
        ),
        (User("anybody", groups=AUTHENTICATED), ("list", "", "pods", ""), False),
    ],
)
async def test_the_parts_may_do_their_work(user: User, question: tuple[str, str, str, str], allowed: bool) -> None:
    objects = await cluster()
    authorizer = Authorizer(RbacAuthorizer(objects), NodeAuthorizer(objects, node_rules()))
    verb, group, resource, subresource = question
    info = RequestInfo(verb, group, "v1", resource, subresource, "a", "x", is_resource=True)
    assert authorizer.authorize(user, info).allowed is allowed


@pytest.mark.parametrize(
    ("path", "groups", "allowed"),
    [
        ("/version", ("system:unauthenticated",), True),
        ("/livez", ("system:unauthenticated",), True),
        ("/api", ("system:unauthenticated",), False),
        ("/apis/apps/v1", AUTHENTICATED, True),
        ("/openapi/v3", AUTHENTICATED, True),
        ("/metrics", AUTHENTICATED, False),
        ("/openid/v1/jwks", ("system:serviceaccounts",), True),
        ("/metrics", ("system:masters",), True),
    ],
)
async def test_paths_are_open_to_whom_they_concern(path: str, groups: tuple[str, ...], allowed: bool) -> None:
    objects = await cluster()
    authorizer = Authorizer(RbacAuthorizer(objects), NodeAuthorizer(objects, []))
    assert authorizer.authorize(User("x", groups=groups), RequestInfo("get", path=path)).allowed is allowed


async def test_a_new_piece_shows_up_in_the_sum() -> None:
    objects = await cluster()
    keeper = RoleAggregation(objects, objects)
    rule = rbac.PolicyRule(verbs=["get"], api_groups=["acme.com"], resources=["things"])
    labels = {"rbac.authorization.k8s.io/aggregate-to-view": "true"}
    summed = asyncio.Event()

    def look(*_: meta.Object | None) -> None:
        if all(rule in role(objects, name).rules for name in ("view", "edit", "admin")):
            summed.set()

    objects.on_change(SCHEME.of(rbac.ClusterRole), look)
    async with asyncio.TaskGroup() as group:
        task = group.create_task(keeper.run())
        objects.put(rbac.ClusterRole(metadata=meta.ObjectMeta(name="things", labels=labels), rules=[rule]))
        async with asyncio.timeout(5):
            await summed.wait()
        task.cancel()
