"""The admission chain: every plugin that has to do with a write, in order, first to change and then to judge.

Which plugins these are is found once for each kind of write (operation, resource, subresource), so a write pays for
those alone that concern it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from api.errors import GroupName
from controlplane.apiserver.admission.attributes import Attributes
from controlplane.apiserver.admission.plugin import Plugin

_Step = Callable[[Attributes], Awaitable[None]]


class Admission:
    """Puts writes before a list of plugins."""

    def __init__(self, plugins: Sequence[Plugin]) -> None:
        self._plugins = tuple(plugins)
        self._steps: dict[tuple[str, GroupName, str], tuple[_Step, ...]] = {}

    async def admit(self, attributes: Attributes) -> None:
        """Let the write pass, its object changed in place, or raise StatusError."""
        resource = GroupName(attributes.resource.group, attributes.resource.plural)
        key = (attributes.operation, resource, attributes.info.subresource)
        steps = self._steps.get(key)
        if steps is None:
            steps = self._steps[key] = self._find(*key)
        for step in steps:
            await step(attributes)

    def _find(self, operation: str, resource: GroupName, subresource: str) -> tuple[_Step, ...]:
        chosen = [plugin for plugin in self._plugins if plugin.applies(operation, resource, subresource)]
        mutating = [plugin.mutate for plugin in chosen if type(plugin).mutate is not Plugin.mutate]
        validating = [plugin.validate for plugin in chosen if type(plugin).validate is not Plugin.validate]
        return (*mutating, *validating)
