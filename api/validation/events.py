"""Events of both groups: the same object, with strict rules only where it was written by events.k8s.io."""

from __future__ import annotations

from dataclasses import dataclass

from api import core_v1 as core
from api import events_v1 as events
from api import names
from api.fields import FieldErrors, invalid, required
from api.times import MicroTime
from api.validation.checks import complain, dns_subdomain, immutable
from api.validation.rules import Rules

_TEXT_LIMIT = 128
_NOTE_LIMIT = 1024


@dataclass(frozen=True, slots=True)
class _Common:
    """What both forms of an event say, under one name each."""

    namespace: str
    about: core.ObjectReference
    event_time: MicroTime | None
    controller: str
    instance: str
    action: str
    reason: str
    message: str


def _validate(event: _Common, out: FieldErrors) -> None:
    if event.event_time is None:
        agrees = event.about.namespace == event.namespace or (
            not event.about.namespace and event.namespace in ("", "default")
        )
    else:
        agrees = bool(event.about.namespace) or event.namespace in ("default", "kube-system")
    if not agrees:
        out.append(invalid("involvedObject.namespace", event.about.namespace, "does not match event.namespace"))
    if event.event_time is not None:
        _validate_reporter(event, out)
    dns_subdomain(event.namespace, "namespace", out)


def _validate_reporter(event: _Common, out: FieldErrors) -> None:
    if not event.controller:
        out.append(required("reportingController"))
    if bad := names.qualified_name(event.controller):
        complain(out, "reportingController", event.controller, bad)
    texts = (
        (event.instance, "reportingInstance"),
        (event.action, "action"),
        (event.reason, "reason"),
    )
    for value, wire in texts:
        if not value:
            out.append(required(wire))
        if names.byte_length(value) > _TEXT_LIMIT:
            out.append(invalid(wire, "", f"can have at most {_TEXT_LIMIT} characters"))
    if names.byte_length(event.message) > _NOTE_LIMIT:
        out.append(invalid("message", "", f"can have at most {_NOTE_LIMIT} characters"))


def validate_core_event(event: core.Event, out: FieldErrors) -> None:
    _validate(
        _Common(
            namespace=event.metadata.namespace,
            about=event.involved_object,
            event_time=event.event_time,
            controller=event.reporting_component,
            instance=event.reporting_instance,
            action=event.action,
            reason=event.reason,
            message=event.message,
        ),
        out,
    )


def validate_core_event_update(new: core.Event, old: core.Event, out: FieldErrors) -> None:
    validate_core_event(new, out)


def validate_event(event: events.Event, out: FieldErrors) -> None:
    _validate_any(event, out)
    _validate_series(event.series, out)
    if event.event_time is None:
        out.append(required("eventTime"))
    if event.type not in ("Normal", "Warning"):
        out.append(invalid("type", "", f"has invalid value: {event.type}"))
    source = event.deprecated_source
    unset = (
        (event.deprecated_first_timestamp, "firstTimestamp"),
        (event.deprecated_last_timestamp, "lastTimestamp"),
        (event.deprecated_count, "count"),
        (source.component or source.host, "source"),
    )
    for value, wire in unset:
        if value:
            out.append(invalid(wire, "", "needs to be unset"))


def _validate_any(event: events.Event, out: FieldErrors) -> None:
    _validate(
        _Common(
            namespace=event.metadata.namespace,
            about=event.regarding,
            event_time=event.event_time,
            controller=event.reporting_controller,
            instance=event.reporting_instance,
            action=event.action,
            reason=event.reason,
            message=event.note,
        ),
        out,
    )


def _validate_series(series: events.EventSeries | None, out: FieldErrors) -> None:
    if series is None:
        return
    if series.count < 2:
        out.append(invalid("series.count", "", "should be at least 2"))
    if series.last_observed_time is None:
        out.append(required("series.lastObservedTime"))


_FIXED = (
    ("regarding", "involvedObject"),
    ("reason", "reason"),
    ("note", "message"),
    ("deprecated_source", "source"),
    ("deprecated_first_timestamp", "firstTimestamp"),
    ("deprecated_last_timestamp", "lastTimestamp"),
    ("deprecated_count", "count"),
    ("type", "type"),
    ("event_time", "eventTime"),
    ("action", "action"),
    ("related", "related"),
    ("reporting_controller", "reportingController"),
    ("reporting_instance", "reportingInstance"),
)


def validate_event_update(new: events.Event, old: events.Event, out: FieldErrors) -> None:
    """Only the series of an event grows."""
    _validate_any(new, out)
    if new.series != old.series:
        _validate_series(new.series, out)
    for attribute, wire in _FIXED:
        immutable(getattr(new, attribute), getattr(old, attribute), wire, out)


RULES = {"Event": Rules(create=validate_event, update=validate_event_update)}
