"""delete: end an object, at once or in two steps.

An object with finalizers, or one whose kind ends gracefully, is first marked with a deletionTimestamp; it goes when the
last finalizer has been taken and its grace period is over. Propagation to dependents is the garbage collector's work:
here it only becomes a finalizer (source: k8s.io/apiserver, registry.Store.Delete and rest.BeforeDelete).
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from api import codec, errors, fields
from api import meta_v1 as meta
from api.times import Time
from controlplane.apiserver import bodies, negotiation, options, replies
from controlplane.apiserver.caching.entries import Entry
from controlplane.apiserver.caching.splicing import splice
from controlplane.apiserver.exchange import Exchange, Reply
from controlplane.apiserver.registry.registry import Registry
from controlplane.apiserver.verbs.environment import Environment
from controlplane.apiserver.verbs.update import ATTEMPTS
from controlplane.store.errors import Conflict

OPERATION = "DELETE"

ORPHAN = "orphan"
FOREGROUND = "foregroundDeletion"

_POLICIES = ("Foreground", "Background", "Orphan")


class Step(enum.Enum):
    """What a delete does to the object."""

    REMOVE = enum.auto()
    MARK = enum.auto()
    NOTHING = enum.auto()


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one object: its bytes as last served, and whether it is gone."""

    served: bytes
    gone: bool
    uid: str


async def delete(registry: Registry, environment: Environment, exchange: Exchange) -> Reply:
    """Answer a DELETE of one object."""
    output = replies.output_of(exchange)
    wanted = await read_options(exchange)
    info = exchange.info
    outcome = await delete_object(registry, environment, exchange, info.namespace, info.name, wanted)
    status = 202 if not outcome.gone and wanted.orphan_dependents is False else 200
    if not outcome.gone or registry.strategy.facts.returns_deleted:
        return replies.object_reply(exchange, output, outcome.served, status)
    group, plural = registry.group_resource
    details = meta.StatusDetails(name=info.name, group=group, kind=plural, uid=outcome.uid)
    return replies.reply(exchange, output, codec.encode(meta.Status(status="Success", details=details)), status)


async def read_options(exchange: Exchange) -> meta.DeleteOptions:
    """DeleteOptions from the body, or from the query when there is none; raises StatusError (BadRequest, Invalid)."""
    body = await exchange.read_body()
    if body:
        media_type = negotiation.input_type(exchange.headers.get("Content-Type", ""))
        wanted = _from_body(exchange, body, media_type)
    elif exchange.query:
        wanted = _from_query(exchange)
    else:
        return meta.DeleteOptions()
    problems = _problems(wanted)
    if problems:
        raise errors.invalid(errors.GroupName("meta.k8s.io", "DeleteOptions"), "", problems)
    return wanted


async def delete_object(
    registry: Registry,
    environment: Environment,
    exchange: Exchange,
    namespace: str,
    name: str,
    wanted: meta.DeleteOptions,
    mark: Callable[[Any], None] | None = None,
) -> Outcome:
    """Delete one object; raises StatusError (NotFound, Conflict, and whatever admission raises).

    `mark` changes an object that is to stay for a while, in the same write that marks it as being deleted.
    """
    if not registry.resource.namespaced:
        namespace = ""
    dry_run = bool(wanted.dry_run)
    for _ in range(ATTEMPTS):
        entry = registry.find(namespace, name)
        obj = registry.decode(entry)
        check_preconditions(registry, obj, wanted)
        await environment.admit(OPERATION, exchange, registry, None, obj, dry_run=dry_run)
        if mark is not None:
            mark(obj)
        step = plan(registry, obj, wanted, environment.now())
        uid = obj.metadata.uid
        try:
            if step is Step.NOTHING:
                return Outcome(entry.raw, False, uid)
            if step is Step.MARK:
                value = registry.encode(obj)
                served = splice(value, entry.mod_revision)
                # What is held by its finalizers may be deleted again and again: that is no news to its watchers.
                if not dry_run and served != entry.raw:
                    served = await registry.replace(entry, value)
                return Outcome(served, False, uid)
            return await _remove(registry, entry, obj, dry_run=dry_run)
        except Conflict:
            continue
    raise errors.conflict(registry.group_resource, name)


def plan(registry: Registry, obj: Any, wanted: meta.DeleteOptions, now: float) -> Step:
    """Decide, and mark `obj` as it is to be stored: timestamps, grace period, generation, finalizers."""
    strategy = registry.strategy
    metadata = obj.metadata
    marked = False
    if strategy.graceful:
        marked, pending = _begin_grace(strategy.grace_period(obj, wanted.grace_period_seconds), metadata, wanted, now)
        if pending:
            return Step.NOTHING
    if strategy.facts.collects_garbage:
        metadata.finalizers = _finalizers(metadata.finalizers, wanted, orphans=strategy.facts.orphans_by_default)
    if metadata.finalizers:
        if not marked:
            _mark_at_once(metadata, now)
        return Step.MARK
    if marked and metadata.deletion_grace_period_seconds:
        return Step.MARK
    return Step.REMOVE


def _begin_grace(period: int, metadata: meta.ObjectMeta, wanted: meta.DeleteOptions, now: float) -> tuple[bool, bool]:
    """Start or shorten the grace period: (marked just now, already under way and not to be changed)."""
    if period < 0:
        period = 1
    previous = metadata.deletion_grace_period_seconds
    if metadata.deletion_timestamp is not None:
        if not previous:
            return False, False
        if wanted.grace_period_seconds is None:
            return False, True
        asked = 1 if wanted.grace_period_seconds < 0 else wanted.grace_period_seconds
        if asked >= previous:
            return False, True
        # Counted from when the deletion began, but never into the past.
        ends = metadata.deletion_timestamp.timestamp() - previous + asked
        if ends < now:
            ends = now
            asked = min(asked, 1)
        metadata.deletion_timestamp = Time.from_timestamp(ends)
        metadata.deletion_grace_period_seconds = asked
        return True, False
    metadata.deletion_timestamp = Time.from_timestamp(now + period)
    metadata.deletion_grace_period_seconds = period
    if metadata.generation:
        metadata.generation += 1
    return True, False


def _mark_at_once(metadata: meta.ObjectMeta, now: float) -> None:
    """Mark an object that waits for nothing but its finalizers."""
    if metadata.deletion_timestamp is None and metadata.generation:
        metadata.generation += 1
    if metadata.deletion_timestamp is None or metadata.deletion_timestamp.timestamp() > now:
        metadata.deletion_timestamp = Time.from_timestamp(now)
    metadata.deletion_grace_period_seconds = 0


def _finalizers(present: list[str], wanted: meta.DeleteOptions, *, orphans: bool) -> list[str]:
    """The object's finalizers with those that tell the garbage collector what to do with dependents."""
    kept = [name for name in present if name not in (ORPHAN, FOREGROUND)]
    policy = wanted.propagation_policy
    if wanted.orphan_dependents is not None:
        policy = "Orphan" if wanted.orphan_dependents else "Background"
    if policy is None:
        known = next((name for name in present if name in (ORPHAN, FOREGROUND)), "")
        policy = {ORPHAN: "Orphan", FOREGROUND: "Foreground"}.get(known) or ("Orphan" if orphans else "Background")
    if policy == "Orphan":
        kept.append(ORPHAN)
    elif policy == "Foreground":
        kept.append(FOREGROUND)
    return present if set(kept) == set(present) else kept


async def _remove(registry: Registry, entry: Entry, obj: Any, *, dry_run: bool) -> Outcome:
    uid = obj.metadata.uid
    if dry_run:
        return Outcome(splice(registry.encode(obj), entry.mod_revision), True, uid)
    gone = await registry.remove(entry)
    if registry.strategy.graceful:
        # What is shown is the object as it was marked, though that was never stored: one write instead of two.
        return Outcome(splice(registry.encode(obj), gone.mod_revision), True, uid)
    return Outcome(gone.raw, True, uid)


def check_preconditions(registry: Registry, obj: Any, wanted: meta.DeleteOptions) -> None:
    """Raises StatusError (Conflict) when the object is not the one the client meant."""
    required = wanted.preconditions
    if required is None:
        return
    metadata = obj.metadata
    resource = errors.GroupName(registry.resource.group, registry.resource.kind)
    if required.uid is not None and required.uid != metadata.uid:
        raise errors.conflict(
            resource,
            metadata.name,
            f"the UID in the precondition ({required.uid}) does not match the UID in record ({metadata.uid}). "
            "The object might have been deleted and then recreated",
        )
    version = required.resource_version
    if version is not None and version != metadata.resource_version:
        raise errors.conflict(
            resource,
            metadata.name,
            f"the ResourceVersion in the precondition ({version}) does not match the ResourceVersion in record "
            f"({metadata.resource_version}). The object might have been modified",
        )


def _from_body(exchange: Exchange, body: bytes, media_type: str) -> meta.DeleteOptions:
    # Older clients name the group of the object here; whatever version is said, there is one form.
    return bodies.decode_any_version(exchange, body, media_type, meta.DeleteOptions, "DeleteOptions")


def _from_query(exchange: Exchange) -> meta.DeleteOptions:
    query = exchange.query
    return meta.DeleteOptions(
        grace_period_seconds=query.optional_integer("gracePeriodSeconds"),
        orphan_dependents=query.optional_flag("orphanDependents"),
        propagation_policy=query.first("propagationPolicy") if "propagationPolicy" in query else None,
        dry_run=list(query.get("dryRun", [])),
    )


def _problems(wanted: meta.DeleteOptions) -> fields.FieldErrors:
    problems: fields.FieldErrors = []
    policy = wanted.propagation_policy
    if wanted.orphan_dependents is not None and policy is not None:
        detail = "orphanDependents and deletionPropagation cannot be both set"
        problems.append(fields.invalid("propagationPolicy", policy, detail))
    if policy is not None and policy not in _POLICIES:
        problems.append(fields.not_supported("propagationPolicy", policy, (*_POLICIES, "nil")))
    return problems + options.dry_run_errors(wanted.dry_run)
