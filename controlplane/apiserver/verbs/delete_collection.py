"""deletecollection: delete all that a list would show, one after the other, and answer with that list."""

from __future__ import annotations

import asyncio

import msgspec

from api import errors
from controlplane.apiserver import options, replies
from controlplane.apiserver.caching.encoding import list_body
from controlplane.apiserver.exchange import Exchange, Reply
from controlplane.apiserver.registry.registry import Registry
from controlplane.apiserver.verbs.delete import delete_object, read_options
from controlplane.apiserver.verbs.environment import Environment
from controlplane.apiserver.verbs.listing import page_of
from controlplane.apiserver.verbs.selecting import selection

#: Deletes under way at once: enough to share a commit, few enough to leave room for others.
_AT_ONCE = 16


async def delete_collection(registry: Registry, environment: Environment, exchange: Exchange) -> Reply:
    """Answer a DELETE of a collection."""
    output = replies.output_of(exchange)
    wanted = options.list_options(exchange.query, delete=True)
    selected = selection(registry, exchange, wanted)
    deletion = await read_options(exchange)
    page = await page_of(registry, selected, wanted)
    room = asyncio.Semaphore(_AT_ONCE)

    async def end(namespace: str, name: str) -> None:
        async with room:
            try:
                # Each object has its own copy: what one delete learns must not change the next.
                own = msgspec.structs.replace(deletion)
                await delete_object(registry, environment, exchange, namespace, name, own)
            except errors.StatusError as error:
                if not errors.is_not_found(error):
                    raise

    try:
        async with asyncio.TaskGroup() as group:
            for entry in page.entries:
                group.create_task(end(entry.namespace, entry.name))
    except ExceptionGroup as failures:
        raise failures.exceptions[0] from None
    return replies.reply(exchange, output, list_body(registry.cache.shape, page))
