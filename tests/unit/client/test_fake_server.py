"""The API double behaves as the real server does where clients can tell."""

import asyncio

import pytest

from api import core_v1 as core
from api import errors
from api import meta_v1 as meta
from api.errors import StatusError
from client.clock import FakeClock
from client.errors import Unreachable
from client.fake import FakeApiServer, FakeClient
from client.interface import EventType, PatchKind, WatchEvent


@pytest.fixture
def server() -> FakeApiServer:
    return FakeApiServer(clock=FakeClock())


@pytest.fixture
def client(server: FakeApiServer) -> FakeClient:
    return server.client()


def _pod(name: str = "web", **spec: object) -> core.Pod:
    return core.Pod(
        metadata=meta.ObjectMeta(name=name, namespace="default", labels={"app": name}),
        spec=core.PodSpec(containers=[core.Container(name="app", image="hello")], **spec),  # type: ignore[arg-type]
    )


def _config(name: str, **data: str) -> core.ConfigMap:
    return core.ConfigMap(metadata=meta.ObjectMeta(name=name, namespace="default"), data=data)


async def _refused(awaitable: object) -> tuple[int, str]:
    with pytest.raises(StatusError) as raised:
        await awaitable  # type: ignore[misc]
    return raised.value.code, raised.value.reason


async def test_what_is_created_is_stamped_and_starts_without_status(client: FakeClient) -> None:
    pod = _pod()
    pod.status.phase = "Running"
    created = await client.create(pod)
    assert created.metadata.uid
    assert created.metadata.creation_timestamp is not None
    assert created.metadata.generation == 1
    assert created.status.phase == "Pending"
    assert await client.get(core.Pod, "web", "default") == created
    assert await _refused(client.create(_pod())) == (409, "AlreadyExists")
    assert await _refused(client.get(core.Pod, "other", "default")) == (404, "NotFound")


async def test_names_are_generated(client: FakeClient) -> None:
    pods = [_pod(""), _pod("")]
    for pod in pods:
        pod.metadata.generate_name = "web-"
    names = {(await client.create(pod)).metadata.name for pod in pods}
    assert len(names) == 2
    assert all(name.startswith("web-") and len(name) == 9 for name in names)


async def test_a_stale_version_is_a_conflict_and_none_is_not(client: FakeClient) -> None:
    old = await client.create(_config("a", x="1"))
    newer = await client.get(core.ConfigMap, "a", "default")
    newer.data["x"] = "2"
    await client.update(newer)
    old.data["x"] = "3"
    assert await _refused(client.update(old)) == (409, "Conflict")
    old.metadata.resource_version = ""
    assert (await client.update(old)).data == {"x": "3"}


async def test_an_update_that_changes_nothing_writes_nothing(server: FakeApiServer, client: FakeClient) -> None:
    created = await client.create(_config("a", x="1"))
    before = server.revision
    assert await client.update(created) == created
    assert server.revision == before


async def test_spec_and_status_are_written_apart(client: FakeClient) -> None:
    pod = await client.create(_pod())
    pod.status.phase = "Running"
    pod.metadata.labels["new"] = "label"
    updated = await client.update(pod)
    assert (updated.status.phase, updated.metadata.labels["new"]) == ("Pending", "label")
    updated.status.phase = "Running"
    updated.metadata.labels["new"] = "changed"
    updated.spec.node_name = "n1"
    reported = await client.update_status(updated)
    assert (reported.status.phase, reported.metadata.labels["new"], reported.spec.node_name) == ("Running", "label", "")


async def test_generation_counts_changes_of_spec_alone(client: FakeClient) -> None:
    pod = await client.create(_pod())
    pod.metadata.labels["a"] = "b"
    pod = await client.update(pod)
    assert pod.metadata.generation == 1
    pod.spec.active_deadline_seconds = 5
    assert (await client.update(pod)).metadata.generation == 2


async def test_all_three_patches_are_understood(client: FakeClient) -> None:
    await client.create(_pod())
    strategic = {"spec": {"containers": [{"name": "app", "image": "hello:2"}]}}
    patched = await client.patch(core.Pod, "web", strategic, "default")
    assert [(c.name, c.image) for c in patched.spec.containers] == [("app", "hello:2")]
    merge = {"metadata": {"labels": {"app": None, "tier": "front"}}}
    patched = await client.patch(core.Pod, "web", merge, "default", kind=PatchKind.MERGE)
    assert patched.metadata.labels == {"tier": "front"}
    operations = [{"op": "replace", "path": "/metadata/labels/tier", "value": "back"}]
    patched = await client.patch(core.Pod, "web", operations, "default", kind=PatchKind.JSON)
    assert patched.metadata.labels == {"tier": "back"}


async def test_a_patch_with_another_uid_or_version_is_a_conflict(client: FakeClient) -> None:
    await client.create(_pod())
    for metadata in ({"uid": "other"}, {"resourceVersion": "1"}):
        assert await _refused(client.patch(core.Pod, "web", {"metadata": metadata}, "default")) == (409, "Conflict")


async def test_a_running_pod_has_its_grace_period_and_ends_with_the_second_deletion(client: FakeClient) -> None:
    pod = await client.create(_pod(node_name="n1", termination_grace_period_seconds=20))
    await client.delete(core.Pod, "web", "default")
    ending = await client.get(core.Pod, "web", "default")
    assert ending.metadata.deletion_grace_period_seconds == 20
    assert ending.metadata.deletion_timestamp is not None
    assert pod.metadata.creation_timestamp is not None
    assert ending.metadata.deletion_timestamp.timestamp() == pod.metadata.creation_timestamp.timestamp() + 20
    await client.delete(core.Pod, "web", "default", grace_period=60)
    assert (await client.get(core.Pod, "web", "default")).metadata.deletion_grace_period_seconds == 20
    await client.delete(core.Pod, "web", "default", grace_period=0)
    assert await _refused(client.get(core.Pod, "web", "default")) == (404, "NotFound")


async def test_a_pod_that_no_node_runs_is_gone_at_once(client: FakeClient) -> None:
    await client.create(_pod())
    await client.delete(core.Pod, "web", "default")
    assert await _refused(client.get(core.Pod, "web", "default")) == (404, "NotFound")


async def test_finalizers_hold_an_object_until_they_are_gone(client: FakeClient) -> None:
    config = _config("a")
    config.metadata.finalizers = ["example.org/hold"]
    await client.create(config)
    await client.delete(core.ConfigMap, "a", "default")
    held = await client.get(core.ConfigMap, "a", "default")
    assert held.metadata.deletion_timestamp is not None
    held.metadata.finalizers = []
    await client.update(held)
    assert await _refused(client.get(core.ConfigMap, "a", "default")) == (404, "NotFound")


@pytest.mark.parametrize(("propagation", "finalizer"), [("Orphan", "orphan"), ("Foreground", "foregroundDeletion")])
async def test_propagation_leaves_its_finalizer(client: FakeClient, propagation: str, finalizer: str) -> None:
    await client.create(_config("a"))
    await client.delete(core.ConfigMap, "a", "default", propagation=propagation)
    assert (await client.get(core.ConfigMap, "a", "default")).metadata.finalizers == [finalizer]


async def test_a_namespace_terminates_until_it_is_finalized(client: FakeClient) -> None:
    await client.create(core.Namespace(metadata=meta.ObjectMeta(name="web")))
    await client.delete(core.Namespace, "web")
    namespace = await client.get(core.Namespace, "web")
    assert (namespace.status.phase, namespace.spec.finalizers) == ("Terminating", ["kubernetes"])
    namespace.spec.finalizers = []
    await client.update(namespace)
    namespace = await client.get(core.Namespace, "web")
    namespace.spec.finalizers = []
    await client.update_subresource(namespace, "finalize")
    assert await _refused(client.get(core.Namespace, "web")) == (404, "NotFound")


async def test_preconditions_of_a_deletion_are_checked(client: FakeClient) -> None:
    created = await client.create(_config("a"))
    assert await _refused(client.delete(core.ConfigMap, "a", "default", uid="other")) == (409, "Conflict")
    version = created.metadata.resource_version
    await client.delete(core.ConfigMap, "a", "default", uid=created.metadata.uid, resource_version=version)


async def test_lists_are_selected_sorted_and_cut_into_pages(client: FakeClient) -> None:
    for name in ("c", "a", "b"):
        await client.create(_pod(name))
    page = await client.list(core.Pod, "default", limit=2)
    assert [pod.metadata.name for pod in page.items] == ["a", "b"]
    await client.create(_pod("d"))
    rest = await client.list(core.Pod, "default", limit=2, continue_=page.continue_)
    assert [pod.metadata.name for pod in rest.items] == ["c"]
    assert rest.continue_ == ""
    assert rest.resource_version == page.resource_version
    chosen = await client.list(core.Pod, label_selector="app in (a,d)")
    assert [pod.metadata.name for pod in chosen.items] == ["a", "d"]
    chosen = await client.list(core.Pod, field_selector="metadata.name=b")
    assert [pod.metadata.name for pod in chosen.items] == ["b"]
    assert (await client.list(core.Pod, "elsewhere")).items == []


async def test_a_page_token_expires_with_its_revision(server: FakeApiServer, client: FakeClient) -> None:
    for name in ("a", "b"):
        await client.create(_pod(name))
    page = await client.list(core.Pod, limit=1)
    await client.create(_pod("c"))
    server.compact()
    assert await _refused(client.list(core.Pod, limit=1, continue_=page.continue_)) == (410, "Expired")


async def _watched(client: FakeClient, version: str, **selection: str) -> list[tuple[EventType, str]]:
    watch = client.watch(core.Pod, resource_version=version, timeout=5, **selection)
    return [(event.type, event.object.metadata.name) async for event in watch]


async def test_a_watch_resumes_after_its_revision_and_ends_with_a_bookmark(client: FakeClient) -> None:
    first = await client.create(_pod("a"))
    await client.create(_pod("b"))
    await client.delete(core.Pod, "a", "default")
    seen = await _watched(client, first.metadata.resource_version)
    assert seen == [(EventType.ADDED, "b"), (EventType.DELETED, "a"), (EventType.BOOKMARK, "")]


async def test_an_object_that_stops_matching_is_gone_for_that_watch(client: FakeClient) -> None:
    pod = await client.create(_pod("a"))
    version = pod.metadata.resource_version
    for label in ("a", "x", "x", "a"):
        pod.metadata.labels = {"app": label, "turn": pod.metadata.resource_version}
        pod = await client.update(pod)
    seen = await _watched(client, version, label_selector="app=a")
    kinds = [kind for kind, _ in seen]
    assert kinds == [EventType.MODIFIED, EventType.DELETED, EventType.ADDED, EventType.BOOKMARK]


async def test_a_watch_from_before_the_history_is_told_to_list_again(server: FakeApiServer, client: FakeClient) -> None:
    created = await client.create(_pod("a"))
    await client.create(_pod("b"))
    server.compact()
    assert await _refused(_watched(client, created.metadata.resource_version)) == (410, "Expired")


async def test_the_history_is_as_long_as_was_asked_for() -> None:
    server = FakeApiServer(clock=FakeClock(), history=3)
    client = server.client()
    versions = [(await client.create(_pod(f"p{n}"))).metadata.resource_version for n in range(5)]
    assert len(await _watched(client, versions[1])) == 4
    assert await _refused(_watched(client, versions[0])) == (410, "Expired")


async def test_a_pod_is_bound_once(client: FakeClient) -> None:
    pod = await client.create(_pod())

    def binding(node: str, uid: str) -> core.Binding:
        target = core.ObjectReference(kind="Node", name=node)
        return core.Binding(metadata=meta.ObjectMeta(name="web", namespace="default", uid=uid), target=target)

    async def bind(node: str, uid: str = "") -> None:
        await client.create_subresource(core.Pod, "web", "default", "binding", binding(node, uid), meta.Status)

    assert await _refused(bind("n1", "another")) == (409, "Conflict")
    await bind("n1", pod.metadata.uid)
    bound = await client.get(core.Pod, "web", "default")
    assert bound.spec.node_name == "n1"
    assert [(c.type, c.status) for c in bound.status.conditions] == [("PodScheduled", "True")]
    assert await _refused(bind("n2")) == (409, "Conflict")


async def test_dry_runs_leave_no_trace(server: FakeApiServer, client: FakeClient) -> None:
    before = server.revision
    assert (await client.create(_config("a"), dry_run=True)).metadata.uid
    assert server.revision == before


# Faults


async def test_the_nth_call_fails_and_no_other(server: FakeApiServer, client: FakeClient) -> None:
    server.faults.fail(errors.too_many_requests("slow down", 1), verb="create", resource="configmaps", skip=1)
    await client.create(_config("a"))
    assert await _refused(client.create(_config("b"))) == (429, "TooManyRequests")
    await client.create(_config("b"))
    await client.create(_pod())


async def test_a_lost_answer_has_its_effect(server: FakeApiServer, client: FakeClient) -> None:
    server.faults.lose_answer(verb="create", resource="configmaps")
    with pytest.raises(Unreachable):
        await client.create(_config("a"))
    assert await client.get(core.ConfigMap, "a", "default")


async def test_a_delay_is_of_the_clock(server: FakeApiServer, client: FakeClient) -> None:
    server.faults.delay(30, verb="list")
    await client.list(core.Pod)
    assert server.clock.monotonic() == 30


async def test_offline_refuses_and_comes_back(server: FakeApiServer, client: FakeClient) -> None:
    server.faults.offline = True
    with pytest.raises(Unreachable):
        await client.list(core.Pod)
    server.faults.clear()
    await client.list(core.Pod)


async def test_stale_lists_show_the_past(server: FakeApiServer, client: FakeClient) -> None:
    await client.create(_pod("a"))
    await client.create(_pod("b"))
    server.faults.serve_stale_lists("pods", 1)
    stale = await client.list(core.Pod)
    assert [pod.metadata.name for pod in stale.items] == ["a"]
    assert int(stale.resource_version) == server.revision - 1


async def test_a_cut_watch_ends_without_a_word(server: FakeApiServer, client: FakeClient) -> None:
    async def follow() -> list[WatchEvent[core.Pod]]:
        return [event async for event in client.watch(core.Pod, resource_version="1")]

    following = asyncio.ensure_future(follow())
    assert isinstance(server.clock, FakeClock)
    await server.clock.settle()
    assert server.faults.drop_watches("pods") == 1
    server.create(_pod())
    assert await following == []


async def test_the_same_seed_gives_the_same_names() -> None:
    def names(seed: int) -> tuple[str, str]:
        pod = _pod("")
        pod.metadata.generate_name = "x-"
        created = FakeApiServer(clock=FakeClock(), seed=seed).create(pod)
        return created.metadata.name, created.metadata.uid

    assert names(1) == names(1)
    assert names(1) != names(2)
