"""What an admission plugin is."""

from __future__ import annotations

from api.errors import GroupName
from controlplane.apiserver.admission.attributes import Attributes


class Plugin:
    """One rule about writes. It may change the object (`mutate`), then judge it (`validate`); either raises
    StatusError.

    All plugins have changed the object before the first one judges it.
    """

    def applies(self, operation: str, resource: GroupName, subresource: str) -> bool:
        """Whether the plugin has anything to do with such writes; asked once for each kind of them."""
        raise NotImplementedError

    async def mutate(self, attributes: Attributes) -> None:
        """Change `attributes.new` in place, or refuse the write."""

    async def validate(self, attributes: Attributes) -> None:
        """Refuse the write, or let it pass."""
