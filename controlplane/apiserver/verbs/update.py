"""update: put an object in place of the one there is; and the loop every change of a stored object goes through.

Changes are optimistic: read, change, write on condition that nobody wrote in between, else begin again. Whether a
client's resourceVersion must be the newest is upstream's rule: always if it is given, and for some kinds it must be.
A change that changes nothing is not written, so that it wakes nobody.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from api import codec, errors, fields
from api.defaults import set_defaults
from api.validation import validate_status_update, validate_update
from controlplane.apiserver import bodies, options, replies
from controlplane.apiserver.authorization.decisions import forbidden
from controlplane.apiserver.caching.entries import Entry
from controlplane.apiserver.caching.splicing import splice
from controlplane.apiserver.exchange import Exchange, Reply
from controlplane.apiserver.options import WriteOptions
from controlplane.apiserver.registry.registry import Registry
from controlplane.apiserver.registry.reservation import reserved
from controlplane.apiserver.request import RequestInfo
from controlplane.apiserver.verbs import create, metadata
from controlplane.apiserver.verbs.environment import Environment
from controlplane.store.errors import Conflict

OPERATION = "UPDATE"

#: How often a change is tried because somebody else wrote in between. Each round one of those who compete wins, so
#: this many may change one object at once.
ATTEMPTS = 64

#: Makes the new object from the current one, which it must leave as it is.
Change = Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class Part:
    """Which part of an object an endpoint writes: how the rest is kept, and how the result is checked.

    `prepare(registry, new, old, write)` keeps the rest; `validate(new, old)` gives the errors.
    """

    prepare: Callable[..., None]
    validate: Callable[[Any, Any], fields.FieldErrors]
    #: Whether this is the object itself, for which common stocks may have to be drawn on.
    whole: bool = False


WHOLE = Part(lambda registry, new, old, write: registry.strategy.prepare_update(new, old, write), validate_update, True)
STATUS = Part(
    lambda registry, new, old, write: registry.strategy.prepare_status_update(new, old, write), validate_status_update
)


async def update(registry: Registry, environment: Environment, exchange: Exchange, part: Part = WHOLE) -> Reply:
    """Answer a PUT of an object or of one of its parts."""
    output = replies.output_of(exchange)
    info = exchange.info
    wanted = options.write_options(exchange.query, "UpdateOptions")
    obj = await bodies.read_object(exchange, registry.resource, wanted.field_validation)
    set_defaults(obj)
    namespace = info.namespace if registry.resource.namespaced else ""
    metadata.check_namespace(obj.metadata, namespace)
    metadata.check_name(obj.metadata, info.name, namespace)
    metadata.deduplicate_owners(obj.metadata, exchange.warn)
    if part.whole and registry.strategy.facts.create_on_update and registry.cache.get(namespace, info.name) is None:
        served = await _create_instead(registry, environment, exchange, obj, wanted)
        return replies.object_reply(exchange, output, served, 201)
    # A second attempt must not start from what the first one made of the object.
    pristine = codec.encode(obj)
    copies = iter([obj])

    def change(_: Any) -> Any:
        return next(copies, None) or codec.decode(pristine, registry.type)

    served = await change_object(registry, environment, exchange, change, wanted, part)
    return replies.object_reply(exchange, output, served)


async def change_object(
    registry: Registry,
    environment: Environment,
    exchange: Exchange,
    change: Change,
    wanted: WriteOptions,
    part: Part = WHOLE,
    *,
    admit: bool = True,
) -> bytes:
    """Change the object the request names; returns it as served.

    Raises StatusError (NotFound, Conflict, Invalid, and whatever `change` or admission raise).
    """
    info = exchange.info
    namespace = info.namespace if registry.resource.namespaced else ""
    for _ in range(ATTEMPTS):
        entry = registry.find(namespace, info.name)
        old = registry.decode(entry)
        new = change(old)
        check_version(registry, new, entry)
        if admit:
            await environment.admit(OPERATION, exchange, registry, new, old, dry_run=wanted.dry_run)
        try:
            return await _apply(registry, environment, exchange, entry, new, old, wanted, part)
        except Conflict:
            continue  # a version that the client insists on is refused by the check above
    raise errors.conflict(registry.group_resource, info.name)


def check_version(registry: Registry, new: Any, entry: Entry) -> None:
    """Hold the client's resourceVersion and UID against the stored object.

    Raises StatusError (Conflict, Invalid).
    """
    meta = new.metadata
    if meta.uid and b'"uid":"%b"' % meta.uid.encode() not in entry.raw:
        cause = (
            f"StorageError: invalid object, Code: 4, Key: {entry.key}, ResourceVersion: 0, AdditionalErrorMsg: "
            f"Precondition failed: UID in precondition: {meta.uid}, UID in object meta: {_uid(registry, entry)}"
        )
        raise errors.conflict(registry.group_resource, entry.name, cause)
    if not meta.resource_version or meta.resource_version == "0":
        if not registry.strategy.facts.unconditional_update:
            problem = fields.invalid("metadata.resourceVersion", 0, "must be specified for an update")
            raise errors.invalid(registry.group_resource, entry.name, [problem])
    elif meta.resource_version != str(entry.mod_revision):
        raise errors.conflict(registry.group_resource, entry.name)


def _uid(registry: Registry, entry: Entry) -> str:
    uid: str = registry.cache.object(entry).metadata.uid
    return uid


async def _apply(
    registry: Registry,
    environment: Environment,
    exchange: Exchange,
    entry: Entry,
    new: Any,
    old: Any,
    wanted: WriteOptions,
    part: Part,
) -> bytes:
    strategy = registry.strategy
    meta = new.metadata
    meta.generation = old.metadata.generation
    # The version has been judged; an update that named none is now one of the newest.
    meta.resource_version = old.metadata.resource_version
    write = environment.write(exchange, dry_run=wanted.dry_run)
    with reserved(strategy.reserve_update(new, old, write) if part.whole else None):
        part.prepare(registry, new, old, write)
        metadata.keep_system_fields(meta, old.metadata)
        problems = part.validate(new, old) + strategy.extra_validation(new, old)
        if problems:
            raise errors.invalid(registry.group_kind, meta.name, problems)
        if part.whole:
            strategy.warn_update(new, old, write)
        if ends_now(registry, new, old):
            return await _end(registry, entry, new, wanted)
        if new == old:
            return entry.raw
        value = registry.encode(new)
        # A dry run answers with the version it started from: `kubectl diff` shows what else would change.
        return splice(value, entry.mod_revision) if wanted.dry_run else await registry.replace(entry, value)


def ends_now(registry: Registry, new: Any, old: Any) -> bool:
    """Whether this update takes the last finalizer of an object whose deletion has been asked for."""
    before = old.metadata
    if new.metadata.finalizers or before.deletion_timestamp is None:
        return False
    if before.deletion_grace_period_seconds:
        return False
    return registry.strategy.deletes_during_update(new, old)


async def _end(registry: Registry, entry: Entry, new: Any, wanted: WriteOptions) -> bytes:
    served = splice(registry.encode(new), entry.mod_revision)
    if not wanted.dry_run:
        await registry.remove(entry)
    return served


async def _create_instead(
    registry: Registry, environment: Environment, exchange: Exchange, obj: Any, wanted: WriteOptions
) -> bytes:
    """An update of what is not there, for kinds whose updates may create; the user must be allowed to create, too."""
    info = exchange.info
    asked = RequestInfo(
        "create", info.group, info.version, info.resource, "", info.namespace, info.name, info.path, True
    )
    decision = environment.authorizer.authorize(exchange.user, asked)
    if not decision.allowed:
        raise forbidden(exchange.user, asked, decision.reason)
    if obj.metadata.uid:
        cause = f"uid mismatch: the provided object specified uid {obj.metadata.uid}, and no existing object was found"
        raise errors.conflict(registry.group_resource, info.name, cause)
    obj.metadata.resource_version = ""
    return await create.create_object(registry, environment, exchange, obj, wanted)
