"""What can go wrong between us and an API server.

An answer that says no is `api.errors.StatusError`, which belongs to the nouns. This module holds the rest: no answer,
or one that makes no sense. The exceptions of aiohttp, ssl and asyncio are turned into these in one place
(`client.transport`), so that no caller needs to know which HTTP library is below.

::

    ClientError
    ├── ConfigError          a kubeconfig that is missing, malformed or names what is not there
    ├── Unreachable          no answer: the network, TLS, or a server that went away
    │   └── DeadlineExceeded no answer in time
    └── BadAnswer            an answer that is not what the API speaks

Whether a request took effect is unknown after `Unreachable`: callers that create must be ready for AlreadyExists.
"""

from __future__ import annotations


class ClientError(Exception):
    """Root of the errors of this room."""


class ConfigError(ClientError):
    """A kubeconfig cannot be used; the text names the file and the entry."""


class Unreachable(ClientError):
    """The server gave no answer; whether the request took effect is unknown."""


class DeadlineExceeded(Unreachable):
    """The server gave no answer in time."""


class BadAnswer(ClientError):
    """The server's answer is not what the Kubernetes API speaks (a proxy's error page, a cut body)."""
