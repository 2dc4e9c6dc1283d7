"""Refusals of the API server that mean there is nothing left to do.

A controller acts on a copy of the world that may be a moment old. What it is told then (someone made the object
already, the object or its namespace is going) is no failure, and must be told apart from failures in one way
everywhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from api.errors import Reason, StatusError

NAMESPACE_TERMINATING = "NamespaceTerminating"


def namespace_is_going(error: StatusError) -> bool:
    """Whether a creation was refused because its namespace is being deleted, or is gone."""
    if error.has_cause(NAMESPACE_TERMINATING):
        return True
    details = error.status.details
    return error.reason == Reason.NOT_FOUND and details is not None and details.kind == "namespaces"


@contextmanager
def unless_exists_or_going() -> Iterator[None]:
    """Create what may have been made by another meanwhile, or whose namespace may be going."""
    try:
        yield
    except StatusError as error:
        if error.reason != Reason.ALREADY_EXISTS and not namespace_is_going(error):
            raise


@contextmanager
def unless_gone() -> Iterator[None]:
    """Change or delete what may be gone, or replaced by another of its name, meanwhile."""
    try:
        yield
    except StatusError as error:
        if error.reason != Reason.NOT_FOUND:
            raise
