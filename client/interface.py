"""The surface of an API client: what agent, scheduler, controllers and commands are written against.

`client.rest.ApiClient` speaks it over HTTPS, `client.fake.FakeClient` in memory. One small generic surface,
parametrised by the class of the object: there is no code per resource anywhere in this room.
"""

from __future__ import annotations

import enum
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from api import meta_v1 as meta

T = TypeVar("T", bound=meta.Object)
R = TypeVar("R")


class PatchKind(enum.Enum):
    """How a patch is to be read; the value is its media type."""

    JSON = "application/json-patch+json"
    MERGE = "application/merge-patch+json"
    STRATEGIC = "application/strategic-merge-patch+json"


class EventType(enum.Enum):
    """What a watch event tells. ERROR never reaches a caller: it is raised as StatusError."""

    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"
    BOOKMARK = "BOOKMARK"


@dataclass(frozen=True, slots=True)
class WatchEvent(Generic[T]):
    """One line of a watch. Of a BOOKMARK's object only `metadata.resource_version` means anything."""

    type: EventType
    object: T


@dataclass(frozen=True, slots=True)
class ObjectList(Generic[T]):
    """One page of a list: its items, the revision it is a snapshot of, and the token for the next page ("" at the
    end).
    """

    items: list[T]
    resource_version: str
    continue_: str = ""


class Client(Protocol):
    """The verbs of the Kubernetes API.

    Every call has a deadline and raises `api.errors.StatusError` when the server refuses, `client.errors.Unreachable`
    when there is no answer. Objects that come back belong to the caller; the namespace of an object that is sent is
    read from its metadata, where `namespace` does not say otherwise.
    """

    async def get(self, cls: type[T], name: str, namespace: str = "") -> T:
        """Read one object."""

    async def list(
        self,
        cls: type[T],
        namespace: str = "",
        *,
        label_selector: str = "",
        field_selector: str = "",
        limit: int = 0,
        continue_: str = "",
        resource_version: str | None = None,
    ) -> ObjectList[T]:
        """Read many: all namespaces unless one is named, all at once unless `limit` is set."""

    async def create(self, obj: T, namespace: str = "", *, dry_run: bool = False) -> T:
        """Create an object; `generate_name` is honoured."""

    async def update(self, obj: T, *, dry_run: bool = False) -> T:
        """Replace an object but for its status. A resource version in it must be the current one (else 409)."""

    async def update_status(self, obj: T) -> T:
        """Replace the status alone."""

    async def update_subresource(self, obj: T, subresource: str) -> T:
        """Replace what a subresource governs, sending the whole object: namespaces/finalize, pods/resize."""

    async def patch(
        self,
        cls: type[T],
        name: str,
        patch: object,
        namespace: str = "",
        *,
        kind: PatchKind = PatchKind.STRATEGIC,
        subresource: str = "",
        dry_run: bool = False,
    ) -> T:
        """Change a part; `patch` is the plain JSON document (dicts and lists) or a struct of the wire's shape."""

    async def delete(
        self,
        cls: type[T],
        name: str,
        namespace: str = "",
        *,
        uid: str = "",
        resource_version: str = "",
        grace_period: int | None = None,
        propagation: str | None = None,
    ) -> None:
        """Ask for deletion; `uid` and `resource_version` are preconditions, `grace_period` is in seconds."""

    async def delete_collection(
        self,
        cls: type[T],
        namespace: str = "",
        *,
        label_selector: str = "",
        field_selector: str = "",
        grace_period: int | None = None,
        propagation: str | None = None,
    ) -> None:
        """Ask for the deletion of all that match."""

    async def create_subresource(
        self, cls: type[T], name: str, namespace: str, subresource: str, body: Any, into: type[R]
    ) -> R:
        """Post to a subresource: pods/binding, pods/eviction, serviceaccounts/token."""

    async def post_review(self, obj: T) -> T:
        """Post a review (TokenReview, SubjectAccessReview and their kin) and get it back with its verdict."""

    def watch(
        self,
        cls: type[T],
        namespace: str = "",
        *,
        resource_version: str = "",
        label_selector: str = "",
        field_selector: str = "",
        timeout: float = 300.0,
    ) -> AsyncIterator[WatchEvent[T]]:
        """Changes after `resource_version`, with bookmarks, until `timeout` seconds have passed or the connection ends.

        Raises StatusError with reason Expired (410) when that revision is no longer known.
        """
