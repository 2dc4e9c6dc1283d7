"""Calls to containerd's native API, on the socket that serves CRI too.

For what CRI does not tell: how downloads fare, and why CRI is missing from a daemon that runs. With any other runtime
these calls are `Unimplemented`, and whoever makes them does without.
"""

from __future__ import annotations

from dataclasses import dataclass

from cri.errors import CriError, Unimplemented
from cri.transport import Call, Transport
from proto.containerd import content_pb2, introspection_pb2

NAMESPACE = "k8s.io"
"""The namespace the CRI plugin keeps its things in."""

_SECONDS = 10.0
_HEADERS = (("containerd-namespace", NAMESPACE),)
_STATUSES = Call("containerd.services.content.v1.Content", "ListStatuses", "list downloads", metadata=_HEADERS)
_PLUGINS = Call("containerd.services.introspection.v1.Introspection", "Plugins", "list plugins", metadata=_HEADERS)


@dataclass(frozen=True, slots=True)
class Download:
    """A blob on its way into the content store."""

    ref: str
    offset: int
    """Bytes that are here."""


async def downloads(transport: Transport) -> frozenset[Download]:
    """What is being downloaded now. Raises CriError."""
    reply = await transport.unary(
        _STATUSES, content_pb2.ListStatusesRequest(), content_pb2.ListStatusesResponse, _SECONDS
    )
    return frozenset(Download(one.ref, one.offset) for one in reply.statuses)


async def explained(transport: Transport, error: CriError) -> str:
    """An error in words, with the reason why CRI is missing where that is what it comes to."""
    if not isinstance(error, Unimplemented):
        return str(error)
    try:
        reason = await cri_plugin_error(transport)
    except CriError:
        return str(error)  # not containerd: nothing to add
    return f"{error}: the CRI plugin of containerd was not loaded: {reason or 'it is switched off'}"


async def cri_plugin_error(transport: Transport) -> str:
    """Why the CRI plugin was not loaded, in containerd's words; "" when it was, or is not there. Raises CriError.

    The usual reasons are a plugin that is switched off in the configuration, a folder of network configurations that
    cannot be watched (fs.inotify.max_user_instances), and a snapshotter that the file system does not bear.
    """
    reply = await transport.unary(
        _PLUGINS, introspection_pb2.PluginsRequest(), introspection_pb2.PluginsResponse, _SECONDS
    )
    for plugin in reply.plugins:
        if plugin.id == "cri" or plugin.type.startswith("io.containerd.cri."):
            message: str = plugin.init_err.message
            if message:
                return message
    return ""
