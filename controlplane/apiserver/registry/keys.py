"""Where each resource lies in the store: upstream's layout, so that either server can read what the other wrote.

Built-in resources lie directly under /registry by their plural; a few have kept the names they had in the beginning.
The groups whose server upstream keeps apart (custom resource definitions, API services) lie under their group.
"""

from __future__ import annotations

from api.errors import GroupName

ROOT = "/registry"

_SPECIAL = {
    GroupName("", "replicationcontrollers"): "controllers",
    GroupName("", "endpoints"): "services/endpoints",
    GroupName("", "nodes"): "minions",
    GroupName("", "services"): "services/specs",
    GroupName("networking.k8s.io", "ingresses"): "ingress",
}
_BY_GROUP = ("apiextensions.k8s.io", "apiregistration.k8s.io")


def prefix(group_resource: GroupName) -> str:
    """The prefix of all keys of a resource, with its closing slash."""
    group, plural = group_resource
    if group in _BY_GROUP:
        return f"{ROOT}/{group}/{plural}/"
    return f"{ROOT}/{_SPECIAL.get(group_resource, plural)}/"
