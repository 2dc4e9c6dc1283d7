"""Who may take whom: claims over every combination of owner, selector and reference."""

import pytest

from api import core_v1 as core
from api import errors
from api import meta_v1 as meta
from api.apps_v1 import ReplicaSet
from api.owners import controller_of, new_controller_ref
from api.selectors import from_struct, parse_label_selector
from api.times import Time
from client.fake import FakeApiServer
from client.informer import Informer
from controlplane.controllers.own_writes import OwnWrites
from controlplane.controllers.ownership import claim, plan_claims
from tests.unit.controlplane.controllers.small_cluster import replica_set

LATER = Time("2026-01-01T00:00:00Z")
SELECTOR = parse_label_selector("app=web")


def _owner(uid: str = "me", *, going: bool = False) -> ReplicaSet:
    owner = replica_set()
    owner.metadata.uid = uid
    owner.metadata.deletion_timestamp = LATER if going else None
    return owner


def _pod(owner: str | None, app: str, *, going: bool = False) -> core.Pod:
    data = meta.ObjectMeta(name="p", uid="p", labels={"app": app}, deletion_timestamp=LATER if going else None)
    if owner is not None:
        data.owner_references = [new_controller_ref(_owner(owner))]
    return core.Pod(metadata=data)


@pytest.mark.parametrize(
    ("pod", "owner_goes", "verdict"),
    [
        (_pod("me", "web"), False, "owned"),
        (_pod("me", "web", going=True), False, "owned"),
        (_pod("me", "web"), True, "owned"),
        (_pod("me", "other"), False, "release"),
        (_pod("me", "other"), True, "nothing"),
        (_pod(None, "web"), False, "adopt"),
        (_pod(None, "web"), True, "nothing"),
        (_pod(None, "web", going=True), False, "nothing"),
        (_pod(None, "other"), False, "nothing"),
        (_pod("another", "web"), False, "nothing"),
    ],
)
def test_a_candidate_is_claimed_as_the_rules_say(pod: core.Pod, owner_goes: bool, verdict: str) -> None:
    claims = plan_claims(_owner(going=owner_goes), SELECTOR, [pod])
    found = {"owned": claims.owned, "adopt": claims.adopt, "release": claims.release}
    assert [name for name, pods in found.items() if pods] == ([verdict] if verdict != "nothing" else [])


async def test_a_stale_owner_adopts_nothing(server: FakeApiServer) -> None:
    """Its successor of the same name, or the user who deleted it, is to have the pod."""
    client = server.client()
    stale = server.create(replica_set())
    server.delete(ReplicaSet, "web", "default")
    server.create(replica_set())
    pod = server.create(core.Pod(metadata=meta.ObjectMeta(name="p", namespace="default", labels={"app": "web"})))
    writes = OwnWrites(Informer(client, core.Pod, clock=server.clock), server.clock)
    assert await claim(client, stale, from_struct(stale.spec.selector), [pod], writes) == []
    assert controller_of(server.get(core.Pod, "p", "default")) is None


async def test_a_pod_that_another_adopted_meanwhile_is_left_to_it(server: FakeApiServer) -> None:
    client = server.client()
    owner = server.create(replica_set())
    pod = server.create(core.Pod(metadata=meta.ObjectMeta(name="p", namespace="default", labels={"app": "web"})))
    refusal = errors.invalid("Pod", "p", [])
    server.faults.fail(refusal, verb="patch", resource="pods")
    writes = OwnWrites(Informer(client, core.Pod, clock=server.clock), server.clock)
    assert await claim(client, owner, from_struct(owner.spec.selector), [pod], writes) == []
