"""One write as admission sees it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from api import errors
from api.scheme import Resource
from controlplane.apiserver.request import RequestInfo, User

CREATE, UPDATE, DELETE, CONNECT = "CREATE", "UPDATE", "DELETE", "CONNECT"


@dataclass(slots=True)
class Attributes:
    """What is to be written, over what, by whom.

    `new` is the object to be stored, or for subresources the one that was posted; plugins change it in place. It is
    None for deletions, as `old` is for creations. `operation` is CREATE, UPDATE, DELETE or CONNECT.
    """

    operation: str
    info: RequestInfo
    resource: Resource
    new: Any
    old: Any
    user: User
    dry_run: bool = False

    @property
    def subresource(self) -> str:
        return self.info.subresource

    @property
    def namespace(self) -> str:
        """The namespace that is written to, "" for cluster-scoped resources."""
        return self.info.namespace if self.resource.namespaced else ""

    @property
    def name(self) -> str:
        """The object's name as the request gives it: "" when it is to be created."""
        if self.info.name:
            return self.info.name
        # A collection is deleted object by object, under one request.
        return self.old.metadata.name if self.old is not None else ""

    def forbidden(self, cause: str) -> errors.StatusError:
        """A refusal by admission: 403 with *cause*."""
        return errors.forbidden(errors.GroupName(self.resource.group, self.resource.plural), self._shown_name(), cause)

    def _shown_name(self) -> str:
        if self.name:
            return self.name
        metadata = getattr(self.new, "metadata", None)
        if metadata is None:
            return "Unknown"
        return metadata.name or metadata.generate_name or "Unknown"
