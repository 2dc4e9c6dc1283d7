"""Namespaces that are being deleted: in which order, how far, and what is said of it."""

from collections import Counter

from api import apps_v1 as apps
from api import core_v1 as core
from api import errors
from api import meta_v1 as meta
from api.errors import StatusError
from api.pods import get_condition
from client.fake import Call, FakeApiServer
from controlplane.controllers.namespaces.conditions import Leftovers, conditions_of
from controlplane.controllers.namespaces.contents import deletable_resources
from tests.unit.controlplane.controllers.small_cluster import Kubelet, controllers, deployment

NOW = 1_767_225_600.0


def _furnished(server: FakeApiServer) -> None:
    server.create(core.Namespace(metadata=meta.ObjectMeta(name="default")))
    server.create(deployment())
    server.create(core.ConfigMap(metadata=meta.ObjectMeta(name="settings", namespace="default")))
    server.create(core.Secret(metadata=meta.ObjectMeta(name="key", namespace="default")))

    async def guard(call: Call) -> None:
        """As the admission plugin NamespaceLifecycle does."""
        try:
            going = server.get(core.Namespace, call.namespace).metadata.deletion_timestamp is not None
        except StatusError:
            going = True
        if call.namespace == "default" and not call.subresource and going:
            refusal = errors.forbidden(call.resource, call.name, "because it is being terminated")
            assert refusal.status.details is not None
            refusal.status.details.causes = [meta.StatusCause(reason="NamespaceTerminating")]
            raise refusal

    server.faults.hook(guard, verb="create")


def _exists(server: FakeApiServer) -> bool:
    return any(namespace.metadata.name == "default" for namespace in server.list(core.Namespace).items)


def _condition(server: FakeApiServer, type_: str) -> tuple[str, str, str]:
    condition = get_condition(server.get(core.Namespace, "default").status.conditions, type_)
    assert condition is not None
    return condition.status, condition.reason, condition.message


async def test_a_namespace_goes_with_all_it_holds(server: FakeApiServer) -> None:
    _furnished(server)
    async with controllers(server, kubelet=Kubelet(server)):
        await server.clock.sleep(10)
        server.delete(core.Namespace, "default")
        await server.clock.sleep(10)
        assert not _exists(server)
        for cls in (core.Pod, core.ConfigMap, core.Secret, core.ServiceAccount, apps.Deployment, apps.ReplicaSet):
            assert server.list(cls, "default").items == []


async def test_pods_end_before_what_they_use_is_taken_from_them(server: FakeApiServer) -> None:
    _furnished(server)
    async with controllers(server, kubelet=Kubelet(server, stop_delay=20)):
        await server.clock.sleep(10)
        server.delete(core.Namespace, "default")
        await server.clock.sleep(10)
        assert len(server.list(core.Pod, "default").items) == 3
        assert server.get(core.Secret, "key", "default")
        assert _condition(server, "NamespaceContentRemaining") == (
            "True",
            "SomeResourcesRemain",
            "Some resources are remaining: pods. has 3 resource instances",
        )
        assert _condition(server, "NamespaceDeletionDiscoveryFailure") == (
            "False",
            "ResourcesDiscovered",
            "All resources successfully discovered",
        )
        # As soon as the last pod is gone, not when an estimate has run out.
        await server.clock.sleep(12)
        assert not _exists(server)


async def test_a_finalizer_holds_the_namespace_and_is_named(server: FakeApiServer) -> None:
    _furnished(server)
    held = server.get(core.ConfigMap, "settings", "default")
    held.metadata.finalizers = ["example.com/wait"]
    server.update(held)
    async with controllers(server):
        server.delete(core.Namespace, "default")
        await server.clock.sleep(20)
        assert _condition(server, "NamespaceFinalizersRemaining") == (
            "True",
            "SomeFinalizersRemain",
            "Some finalizers are remaining: example.com/wait in 1 resource instances",
        )
        held = server.get(core.ConfigMap, "settings", "default")
        held.metadata.finalizers = []
        server.update(held)
        await server.clock.sleep(20)
        assert not _exists(server)


async def test_a_kind_that_cannot_be_deleted_holds_up_no_other(server: FakeApiServer) -> None:
    _furnished(server)
    server.faults.fail(errors.internal("boom"), verb="deletecollection", resource="configmaps", times=4)
    async with controllers(server):
        server.delete(core.Namespace, "default")
        await server.clock.sleep(0.5)
        assert server.list(core.Secret, "default").items == []
        assert _condition(server, "NamespaceDeletionContentFailure") == (
            "True",
            "ContentDeletionFailed",
            "Failed to delete all resource types, 1 remaining: Internal error occurred: boom",
        )
        await server.clock.sleep(30)
        assert not _exists(server)


async def test_finalizers_of_others_are_left_to_them(server: FakeApiServer) -> None:
    _furnished(server)
    namespace = server.get(core.Namespace, "default")
    namespace.spec.finalizers = ["kubernetes", "example.com/other"]
    server.put(namespace)
    async with controllers(server) as client:
        server.delete(core.Namespace, "default")
        await server.clock.sleep(20)
        assert server.get(core.Namespace, "default").spec.finalizers == ["example.com/other"]
        calls = len(client.calls)
        await server.clock.sleep(200)
        assert len(client.calls) - calls < 100


def test_every_namespaced_kind_is_emptied_once_and_pods_first() -> None:
    kinds = [resource.kind for resource in deletable_resources()]
    assert kinds[0] == "Pod"
    assert {"ConfigMap", "Deployment", "Event", "RoleBinding", "HorizontalPodAutoscaler", "Lease"} <= set(kinds)
    assert max(Counter(kinds).values()) == 1
    assert "Node" not in kinds


def test_conditions_keep_their_times_while_nothing_changes() -> None:
    left = Leftovers(resources=Counter({("pods", ""): 2}))
    first = conditions_of([], left, NOW)
    assert conditions_of(first, left, NOW + 60) == first
    done = conditions_of(first, Leftovers(), NOW + 60)
    remaining = get_condition(done, "NamespaceContentRemaining")
    assert remaining is not None
    assert (remaining.status, remaining.last_transition_time) == ("False", "2026-01-01T00:01:00Z")
