"""create: a new object, named by the client or by us.

The order is upstream's, and clients can tell: defaults, admission, the strategy's preparations, validation with all
errors at once, then the store.
"""

from __future__ import annotations

from typing import Any

from api import codec, errors
from api.defaults import set_defaults
from api.validation import validate_create
from controlplane.apiserver import bodies, options, replies
from controlplane.apiserver.exchange import Exchange, Reply
from controlplane.apiserver.options import WriteOptions
from controlplane.apiserver.registry.registry import Registry
from controlplane.apiserver.registry.reservation import reserved
from controlplane.apiserver.verbs import metadata
from controlplane.apiserver.verbs.environment import GENERATE_ATTEMPTS, Environment

OPERATION = "CREATE"


async def create(registry: Registry, environment: Environment, exchange: Exchange) -> Reply:
    """Answer a POST to a collection."""
    output = replies.output_of(exchange)
    wanted = options.write_options(exchange.query, "CreateOptions")
    obj = await bodies.read_object(exchange, registry.resource, wanted.field_validation)
    set_defaults(obj)
    served = await create_object(registry, environment, exchange, obj, wanted)
    return replies.object_reply(exchange, output, served, 201)


async def create_object(
    registry: Registry, environment: Environment, exchange: Exchange, obj: Any, wanted: WriteOptions
) -> bytes:
    """Admit, validate and store a decoded and defaulted object; returns it as served."""
    meta = obj.metadata
    namespace = exchange.info.namespace if registry.resource.namespaced else ""
    metadata.wipe_system_fields(meta)
    metadata.check_namespace(meta, namespace)
    if meta.resource_version:
        raise errors.bad_request("resourceVersion should not be set on objects to be created")
    metadata.deduplicate_owners(meta, exchange.warn)
    await environment.admit(OPERATION, exchange, registry, obj, None, dry_run=wanted.dry_run)
    meta = obj.metadata
    if meta.name or not meta.generate_name:
        return await _store(registry, environment, exchange, obj, wanted)
    pristine = codec.encode(obj)
    for attempt in range(GENERATE_ATTEMPTS):
        meta = obj.metadata
        meta.name = environment.generate_name(meta.generate_name)
        try:
            return await _store(registry, environment, exchange, obj, wanted)
        except errors.StatusError as error:
            if not errors.is_already_exists(error):
                raise
            if attempt == GENERATE_ATTEMPTS - 1:
                raise errors.generate_name_conflict(registry.group_resource, meta.name, 1) from None
            obj = codec.decode(pristine, type(obj))
    raise AssertionError("unreachable: the last attempt returns or raises")


async def _store(
    registry: Registry, environment: Environment, exchange: Exchange, obj: Any, wanted: WriteOptions
) -> bytes:
    strategy = registry.strategy
    meta = obj.metadata
    meta.uid = environment.uid()
    meta.creation_timestamp = environment.stamp()
    write = environment.write(exchange, dry_run=wanted.dry_run)
    with reserved(strategy.reserve_create(obj, write)):
        strategy.prepare_create(obj, write)
        problems = validate_create(obj) + strategy.extra_validation(obj, None)
        if problems:
            raise errors.invalid(registry.group_kind, meta.name, problems)
        strategy.warn_create(obj, write)
        value = registry.encode(obj)
        if wanted.dry_run:
            if registry.cache.get(meta.namespace, meta.name) is not None:
                raise errors.already_exists(registry.group_resource, meta.name)
            return value
        return await registry.create(meta.namespace, meta.name, value)
