"""Deleting and finalizing namespaces, which end in two requests: one marks them, the controller's ends them."""

from __future__ import annotations

from typing import Any

from api import codec, errors
from api import meta_v1 as meta
from controlplane.apiserver import replies
from controlplane.apiserver.exchange import Exchange, Reply
from controlplane.apiserver.registry.namespaces import TERMINATING, prepare_finalize
from controlplane.apiserver.registry.registry import Registry
from controlplane.apiserver.verbs import delete
from controlplane.apiserver.verbs.environment import Environment
from controlplane.apiserver.verbs.update import ATTEMPTS, Part, update
from controlplane.store.errors import Conflict


async def delete_namespace(registry: Registry, environment: Environment, exchange: Exchange) -> Reply:
    """Answer a DELETE: mark the namespace as terminating, or, once nothing keeps it, remove it."""
    output = replies.output_of(exchange)
    wanted = await delete.read_options(exchange)
    name = exchange.info.name
    dry_run = bool(wanted.dry_run)
    for _ in range(ATTEMPTS):
        entry = registry.find("", name)
        namespace = registry.decode(entry)
        delete.check_preconditions(registry, namespace, wanted)
        await environment.admit(delete.OPERATION, exchange, registry, None, namespace, dry_run=dry_run)
        if namespace.metadata.deletion_timestamp is not None:
            break
        namespace.metadata.deletion_timestamp = environment.stamp()
        namespace.status.phase = TERMINATING
        try:
            value = registry.encode(namespace)
            served = entry.raw if dry_run else await registry.replace(entry, value)
        except Conflict:
            continue
        return replies.object_reply(exchange, output, served)
    else:
        raise errors.conflict(registry.group_resource, name)
    if namespace.spec.finalizers:
        return replies.object_reply(exchange, output, entry.raw)
    outcome = await delete.delete_object(registry, environment, exchange, "", name, wanted)
    if not outcome.gone:
        return replies.object_reply(exchange, output, outcome.served)
    details = meta.StatusDetails(name=name, kind="namespaces", uid=outcome.uid)
    return replies.reply(exchange, output, codec.encode(meta.Status(status="Success", details=details)))


async def finalize_namespace(registry: Registry, environment: Environment, exchange: Exchange) -> Reply:
    """Answer a PUT to /finalize."""
    return await update(registry, environment, exchange, _FINALIZE)


def _prepare(registry: Registry, new: Any, old: Any, write: object) -> None:
    prepare_finalize(new, old)


_FINALIZE = Part(_prepare, lambda new, old: [])
