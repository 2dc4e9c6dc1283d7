"""Types of coordination/v1, written by api.generator; api.declarations says how to read them."""

from api import meta_v1 as meta
from api.declarations import Int32, Required, Struct, always, constant
from api.times import MicroTime

DEFINITIONS = "io.k8s.api.coordination.v1"


class LeaseSpec(Struct):
    holder_identity: str | None = None
    lease_duration_seconds: Int32 | None = None
    acquire_time: MicroTime | None = None
    renew_time: MicroTime | None = None
    lease_transitions: Int32 | None = None
    strategy: str | None = None
    preferred_holder: str | None = None


class Lease(meta.Object):
    api_version: str = constant("coordination.k8s.io/v1")
    kind: str = constant("Lease")
    spec: LeaseSpec = always(LeaseSpec)


class LeaseList(meta.ObjectList):
    api_version: str = constant("coordination.k8s.io/v1")
    kind: str = constant("LeaseList")
    items: Required[list[Lease]] = always(list)
