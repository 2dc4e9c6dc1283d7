"""Keep the sums in aggregated ClusterRoles up to date, for people to read.

The authorizer adds up by itself and needs none of this; but ``kubectl describe clusterrole edit`` shows what is
stored. Upstream has a controller for it.
"""

from __future__ import annotations

import asyncio
import logging

from api import errors
from api import rbac_v1 as rbac
from api.codec import deepcopy
from api.meta_v1 import Object
from controlplane.apiserver.authorization.aggregation import effective_rules
from controlplane.apiserver.authorization.rbac import CLUSTER_ROLES
from controlplane.apiserver.request import ObjectReader, ObjectWriter

logger = logging.getLogger(__name__)


async def write_sums(reader: ObjectReader, writer: ObjectWriter) -> int:
    """Bring the rules of every aggregated role in line; returns the number of writes. Raises StatusError."""
    every = [item for item in reader.list(CLUSTER_ROLES) if isinstance(item, rbac.ClusterRole)]
    writes = 0
    for item in every:
        rules = effective_rules(item, every)
        if rules != item.rules:
            changed = deepcopy(item)
            changed.rules = [deepcopy(rule) for rule in rules]
            await writer.update(CLUSTER_ROLES, changed)
            writes += 1
    return writes


class RoleAggregation:
    """Writes the sums anew after each change of a ClusterRole."""

    def __init__(self, reader: ObjectReader, writer: ObjectWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._changed = asyncio.Event()
        reader.on_change(CLUSTER_ROLES, self._on_change)

    async def run(self) -> None:
        """Work until cancelled."""
        while True:
            await self._changed.wait()
            self._changed.clear()
            try:
                await write_sums(self._reader, self._writer)
            except errors.StatusError as error:
                # Somebody wrote the role meanwhile, and that change has set the event again; anything else concerns a
                # text for people and is not worth the server.
                logger.info("could not write the rules of an aggregated role error=%s", error)

    def _on_change(self, old: Object | None, new: Object | None) -> None:
        self._changed.set()
