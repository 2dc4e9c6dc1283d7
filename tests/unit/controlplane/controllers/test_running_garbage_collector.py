"""Deletion in its three ways, and all that can go wrong with owners, against the API double."""

import asyncio
import random
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from api import apps_v1 as apps
from api import core_v1 as core
from api import errors
from api import meta_v1 as meta
from api import rbac_v1 as rbac
from client.clock import FakeClock
from client.fake import FakeApiServer
from tests.unit.controlplane.controllers.small_cluster import Kubelet, controllers, deployment, events, pods


def _map(
    server: FakeApiServer, name: str, *owners: meta.Object, namespace: str = "default", blocking: bool = False
) -> core.ConfigMap:
    references = [
        meta.OwnerReference(
            api_version=owner.api_version,
            kind=owner.kind,
            name=owner.metadata.name,
            uid=owner.metadata.uid,
            block_owner_deletion=blocking,
        )
        for owner in owners
    ]
    return server.create(
        core.ConfigMap(metadata=meta.ObjectMeta(name=name, namespace=namespace, owner_references=references))
    )


def _maps(server: FakeApiServer) -> set[str]:
    return {one.metadata.name for one in server.list(core.ConfigMap).items}


def _owners(server: FakeApiServer, name: str) -> set[str]:
    return {ref.name for ref in server.get(core.ConfigMap, name, "default").metadata.owner_references}


async def test_background_the_owner_goes_at_once_and_all_below_follow(server: FakeApiServer) -> None:
    server.create(deployment())
    async with controllers(server, kubelet=Kubelet(server)) as client:
        await server.clock.sleep(10)
        await client.delete(apps.Deployment, "web", "default", propagation="Background")
        assert server.list(apps.Deployment).items == []
        await server.clock.sleep(5)
        assert server.list(apps.ReplicaSet).items == []
        assert pods(server) == []


async def test_foreground_the_owner_waits_for_all_below(server: FakeApiServer) -> None:
    server.create(deployment())
    async with controllers(server, kubelet=Kubelet(server, stop_delay=10)) as client:
        await server.clock.sleep(10)
        await client.delete(apps.Deployment, "web", "default", propagation="Foreground")
        await server.clock.sleep(5)
        assert server.get(apps.Deployment, "web", "default").metadata.finalizers == ["foregroundDeletion"]
        assert len(pods(server)) == 3
        await server.clock.sleep(10)
        assert server.list(apps.Deployment).items == []
        assert server.list(apps.ReplicaSet).items == []
        assert pods(server) == []


async def test_orphan_all_below_stay_and_may_be_adopted_again(server: FakeApiServer) -> None:
    server.create(deployment())
    async with controllers(server, kubelet=Kubelet(server)) as client:
        await server.clock.sleep(10)
        before = {pod.metadata.uid for pod in pods(server)}
        await client.delete(apps.Deployment, "web", "default", propagation="Orphan")
        await server.clock.sleep(5)
        assert server.list(apps.Deployment).items == []
        (left,) = server.list(apps.ReplicaSet).items
        assert left.metadata.owner_references == []
        assert {pod.metadata.uid for pod in pods(server)} == before
        again = server.create(deployment())
        await server.clock.sleep(10)
        (adopted,) = server.list(apps.ReplicaSet).items
        assert [ref.uid for ref in adopted.metadata.owner_references] == [again.metadata.uid]
        assert {pod.metadata.uid for pod in pods(server)} == before


async def test_one_owner_is_enough(server: FakeApiServer) -> None:
    first, second = _map(server, "first"), _map(server, "second")
    _map(server, "child", first, second)
    async with controllers(server):
        await server.clock.sleep(1)
        server.delete(core.ConfigMap, "first", "default")
        await server.clock.sleep(1)
        assert _owners(server, "child") == {"second"}
        server.delete(core.ConfigMap, "second", "default")
        await server.clock.sleep(1)
        assert "child" not in _maps(server)


async def test_an_owner_that_went_before_we_came_is_noticed(server: FakeApiServer) -> None:
    _map(server, "child", _map(server, "owner"))
    server.delete(core.ConfigMap, "owner", "default")
    async with controllers(server):
        await server.clock.sleep(5)
        assert "child" not in _maps(server)


async def test_an_owner_that_came_back_under_its_name_is_another(server: FakeApiServer) -> None:
    _map(server, "child", _map(server, "owner"))
    server.delete(core.ConfigMap, "owner", "default")
    _map(server, "owner")
    async with controllers(server):
        await server.clock.sleep(5)
        assert "child" not in _maps(server)
        assert "owner" in _maps(server)


@pytest.mark.parametrize("kind", ["unknown", "clusterwide dependent"])
async def test_what_cannot_be_told_is_left_alone(server: FakeApiServer, kind: str) -> None:
    owner = _map(server, "owner")
    if kind == "unknown":
        owner.api_version, owner.kind = "example.com/v1", "Widget"
        _map(server, "child", owner)
        count: Callable[[], int] = lambda: len(_maps(server) & {"child"})  # noqa: E731 - two like it
    else:
        reference = meta.OwnerReference(api_version="v1", kind="ConfigMap", name="owner", uid=owner.metadata.uid)
        server.create(rbac.ClusterRole(metadata=meta.ObjectMeta(name="role", owner_references=[reference])))
        count = lambda: len(server.list(rbac.ClusterRole).items)  # noqa: E731
    server.delete(core.ConfigMap, "owner", "default")
    async with controllers(server):
        await server.clock.sleep(100)
        assert count() == 1


async def test_an_owner_in_another_namespace_is_reported(server: FakeApiServer) -> None:
    owner = _map(server, "owner", namespace="elsewhere")
    async with controllers(server):
        await server.clock.sleep(1)
        _map(server, "child", owner)
        await server.clock.sleep(5)
        assert "child" not in _maps(server)
    (told,) = (message for reason, message in events(server, "child") if reason == "OwnerRefInvalidNamespace")
    assert told == (
        f"ownerRef [v1/ConfigMap, namespace: default, name: owner, uid: {owner.metadata.uid}] "
        'does not exist in namespace "default"'
    )


async def test_a_clusterwide_owner_may_own_in_any_namespace(server: FakeApiServer) -> None:
    role = server.create(rbac.ClusterRole(metadata=meta.ObjectMeta(name="role")))
    _map(server, "child", role)
    async with controllers(server):
        await server.clock.sleep(60)
        assert "child" in _maps(server)
        server.delete(rbac.ClusterRole, "role")
        await server.clock.sleep(5)
        assert "child" not in _maps(server)


async def test_a_circle_that_is_deleted_in_the_foreground_ends(server: FakeApiServer) -> None:
    first = _map(server, "first")
    second = _map(server, "second", first, blocking=True)
    first.metadata.owner_references = [
        meta.OwnerReference(
            api_version="v1", kind="ConfigMap", name="second", uid=second.metadata.uid, block_owner_deletion=True
        )
    ]
    server.update(first)
    async with controllers(server) as client:
        await server.clock.sleep(1)
        await client.delete(core.ConfigMap, "first", "default", propagation="Foreground")
        await server.clock.sleep(30)
        assert _maps(server) & {"first", "second"} == set()


async def test_nothing_is_deleted_on_a_stale_view(server: FakeApiServer) -> None:
    """The object changed its owner between our look and our deletion."""
    first, second = _map(server, "first"), _map(server, "second")
    _map(server, "child", first)
    async with controllers(server):
        await server.clock.sleep(1)

        async def change_owner(call: object) -> None:
            child = server.get(core.ConfigMap, "child", "default")
            reference = meta.OwnerReference(api_version="v1", kind="ConfigMap", name="second", uid=second.metadata.uid)
            child.metadata.owner_references = [reference]
            server.update(child)

        server.faults.hook(change_owner, verb="delete", resource="configmaps", times=1)
        server.delete(core.ConfigMap, "first", "default")
        await server.clock.sleep(30)
        assert _owners(server, "child") == {"second"}


@settings(max_examples=12, deadline=None)
@given(st.integers(0, 2**32))
def test_any_forest_is_collected_in_spite_of_faults(seed: int) -> None:
    asyncio.run(_random_forest(seed))


async def _random_forest(seed: int) -> None:
    """In the end an object is there if and only if one of its owners is, or it never had any; or it was set free."""
    rng = random.Random(seed)
    server = FakeApiServer(clock=FakeClock(), seed=seed)
    async with controllers(server) as client:
        made: list[core.ConfigMap] = []
        for index in range(12):
            owners = rng.sample(made, min(len(made), rng.randrange(3)))
            made.append(_map(server, f"m{index}", *owners, blocking=rng.random() < 0.5))
        await server.clock.sleep(rng.choice([0, 5]))
        for victim in rng.sample(made, 4):
            if rng.random() < 0.3:
                server.faults.fail(errors.internal("boom"), verb=rng.choice(["get", "delete", "patch"]), times=3)
            if rng.random() < 0.3:
                server.compact()
                server.faults.drop_watches()
            try:
                await client.delete(
                    core.ConfigMap,
                    victim.metadata.name,
                    "default",
                    propagation=rng.choice(["Background", "Foreground"]),
                )
            except errors.StatusError as error:
                assert error.code in (404, 500)
            await server.clock.sleep(rng.choice([0, 0.1, 5]))
        server.faults.clear()
        await server.clock.sleep(300)
        left = {one.metadata.name: one for one in server.list(core.ConfigMap).items}
        for original in made:
            present = left.get(original.metadata.name)
            if present is not None:
                assert present.metadata.deletion_timestamp is None
                assert {ref.name for ref in present.metadata.owner_references} <= set(left)
                had = bool(original.metadata.owner_references)
                assert bool(present.metadata.owner_references) == had
