"""The graph of owners: whatever comes in whatever order, it ends up right and forgets nobody."""

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from api import core_v1 as core
from api import meta_v1 as meta
from api.scheme import SCHEME
from api.times import Time
from controlplane.controllers.garbage.graph import FOREGROUND, ORPHAN, Graph, Work
from controlplane.controllers.garbage.planning import Delete, Detach, Standing, decide
from controlplane.controllers.garbage.watching import collectable_resources

MAPS = SCHEME.of(core.ConfigMap)
LATER = Time("2026-01-01T00:00:00Z")


def _data(
    uid: str, *owners: str, blocking: bool = False, finalizer: str = "", namespace: str = "default"
) -> meta.ObjectMeta:
    references = [
        meta.OwnerReference(api_version="v1", kind="ConfigMap", name=owner, uid=owner, block_owner_deletion=blocking)
        for owner in owners
    ]
    return meta.ObjectMeta(
        name=uid,
        uid=uid,
        namespace=namespace,
        owner_references=references,
        finalizers=[finalizer] if finalizer else [],
        deletion_timestamp=LATER if finalizer else None,
    )


def test_the_end_of_an_owner_makes_its_dependents_suspect() -> None:
    graph = Graph()
    graph.see(MAPS, _data("owner"))
    graph.see(MAPS, _data("child", "owner"))
    assert graph.forget("owner").attempt == ["child"]


def test_an_owner_that_was_never_seen_is_asked_after() -> None:
    graph = Graph()
    assert graph.see(MAPS, _data("child", "owner")).attempt == ["owner"]
    node = graph.get("owner")
    assert node is not None
    assert not node.observed
    assert graph.forget("owner").attempt == ["child"]


def test_a_virtual_owner_nobody_refers_to_is_forgotten() -> None:
    graph = Graph()
    graph.see(MAPS, _data("child", "owner"))
    graph.see(MAPS, _data("child"))
    assert graph.get("owner") is None


def test_a_foreground_deletion_begins_with_the_dependents() -> None:
    graph = Graph()
    graph.see(MAPS, _data("owner"))
    graph.see(MAPS, _data("child", "owner", blocking=True))
    work = graph.see(MAPS, _data("owner", finalizer=FOREGROUND))
    assert work.attempt == ["child", "owner"]
    owner = graph.get("owner")
    assert owner is not None
    assert [node.uid for node in graph.blocking(owner)] == ["child"]
    # Said once; again only when something has changed.
    assert graph.see(MAPS, _data("owner", finalizer=FOREGROUND)) == Work()
    assert graph.see(MAPS, _data("child", "owner", blocking=False)).attempt == ["owner"]
    assert graph.forget("child").attempt == ["owner"]


def test_an_orphaning_deletion_begins_with_setting_free() -> None:
    graph = Graph()
    graph.see(MAPS, _data("owner"))
    assert graph.see(MAPS, _data("owner", finalizer=ORPHAN)).orphan == ["owner"]


def test_an_owner_in_another_namespace_is_no_owner() -> None:
    graph = Graph()
    graph.see(MAPS, _data("owner", namespace="elsewhere"))
    work = graph.see(MAPS, _data("child", "owner"))
    assert (work.misplaced, work.attempt) == ([("child", "owner")], ["child"])


@settings(max_examples=50, deadline=None)
@given(st.randoms(use_true_random=False), st.integers(2, 8))
def test_the_graph_does_not_depend_on_the_order_of_news(rng: random.Random, count: int) -> None:
    """The last state of each object decides; and no object lives on suspicion alone."""
    uids = [f"u{index}" for index in range(count)]
    graph, last = Graph(), dict[str, tuple[str, ...]]()
    for _ in range(40):
        uid = rng.choice(uids)
        if rng.random() < 0.3:
            graph.forget(uid) if uid in last else None
            last.pop(uid, None)
        else:
            owners = tuple(rng.sample([other for other in uids if other != uid], rng.randrange(min(3, count))))
            graph.see(MAPS, _data(uid, *owners))
            last[uid] = owners
    for uid, owners in last.items():
        node = graph.get(uid)
        assert node is not None
        assert node.observed
        assert {reference.uid for reference in node.owners} == set(owners)
        # Whoever is in the graph has its dependents, but for those that came before it was forgotten and came back.
        assert node.dependents <= {child for child, parents in last.items() if uid in parents}
    for uid in uids:
        if uid not in last and (node := graph.get(uid)) is not None:
            assert node.dependents


def _decide(*standings: Standing, finalizer: str = "", dependents: bool = False, circle: bool = False) -> object:
    latest = _data("child", *(f"o{index}" for index in range(len(standings))))
    latest.finalizers = [finalizer] if finalizer else []
    return decide(latest, standings, has_dependents=dependents, in_circle=circle)


def test_decisions() -> None:
    solid, absent, waiting, unknown = Standing.SOLID, Standing.ABSENT, Standing.WAITING, Standing.UNKNOWN
    assert _decide() is None
    assert _decide(solid) is None
    assert _decide(absent, unknown) is None
    assert _decide(solid, absent, waiting) == Detach(("o1", "o2"))
    assert _decide(absent) == Delete("Background")
    assert _decide(absent, finalizer=ORPHAN) == Delete("Orphan")
    assert _decide(absent, finalizer=FOREGROUND) == Delete("Foreground")
    assert _decide(waiting) == Delete("Background")
    assert _decide(waiting, absent, dependents=True) == Delete("Foreground")
    assert _decide(waiting, dependents=True, circle=True) == Delete("Foreground", unblock=True)


def test_every_kind_is_watched_once_and_events_are_not() -> None:
    names = [resource.group_resource for resource in collectable_resources()]
    assert len(names) == len(set(names))
    assert {"pods", "deployments.apps", "nodes", "customresourcedefinitions.apiextensions.k8s.io"} <= set(names)
    assert not any(name.partition(".")[0] == "events" for name in names)
