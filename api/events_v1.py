"""Types of events/v1, written by api.generator; api.declarations says how to read them."""

from api import core_v1 as core
from api import meta_v1 as meta
from api.declarations import Int32, Required, Struct, always, constant, none
from api.times import MicroTime, Time

DEFINITIONS = "io.k8s.api.events.v1"


class EventSeries(Struct):
    count: Required[Int32] = always(int)
    last_observed_time: Required[MicroTime | None] = always(none)


class Event(meta.Object):
    api_version: str = constant("events.k8s.io/v1")
    kind: str = constant("Event")
    event_time: Required[MicroTime | None] = always(none)
    series: EventSeries | None = None
    reporting_controller: str = ""
    reporting_instance: str = ""
    action: str = ""
    reason: str = ""
    regarding: core.ObjectReference = always(core.ObjectReference)
    related: core.ObjectReference | None = None
    note: str = ""
    type: str = ""
    deprecated_source: core.EventSource = always(core.EventSource)
    deprecated_first_timestamp: Time | None = always(none)
    deprecated_last_timestamp: Time | None = always(none)
    deprecated_count: Int32 = 0


class EventList(meta.ObjectList):
    api_version: str = constant("events.k8s.io/v1")
    kind: str = constant("EventList")
    items: Required[list[Event]] = always(list)
