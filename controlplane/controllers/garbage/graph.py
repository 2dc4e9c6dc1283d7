"""Who owns whom: a graph of all objects by UID, and what follows from each change to it.

Pure data: changes go in, UIDs that deserve a look come out. An owner that is referred to before it is seen, or after it
is gone, stands in the graph as a virtual node until that is known. Only what decides is kept of an object: some hundred
bytes each.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from api import meta_v1 as meta
from api.scheme import Resource

ORPHAN = "orphan"
FOREGROUND = "foregroundDeletion"


@dataclass(slots=True, eq=False)
class Node:
    """One object. `observed` tells whether it was really seen, or is only known from a reference to it."""

    uid: str
    api_version: str
    kind: str
    namespace: str
    name: str
    resource: Resource | None = None
    observed: bool = False
    owners: tuple[meta.OwnerReference, ...] = ()
    dependents: set[str] = field(default_factory=set)
    being_deleted: bool = False
    deletes_dependents: bool = False  # it is being deleted in the foreground: its dependents go first
    orphans_dependents: bool = False  # it is being deleted, and lets its dependents go free first

    def reference_to(self, owner: str) -> meta.OwnerReference | None:
        """Its reference to the owner with a UID."""
        return next((reference for reference in self.owners if reference.uid == owner), None)

    def is_meant_by(self, reference: meta.OwnerReference) -> bool:
        """Whether a reference names this object as it is, not only by its UID."""
        return (reference.api_version, reference.kind, reference.name) == (self.api_version, self.kind, self.name)


@dataclass(slots=True)
class Work:
    """UIDs to look at: whether they are to be deleted, and whether their dependents are to be set free. `misplaced`
    are (dependent, owner) where the owner lives in another namespace, which no reference can mean.
    """

    attempt: list[str] = field(default_factory=list)
    orphan: list[str] = field(default_factory=list)
    misplaced: list[tuple[str, str]] = field(default_factory=list)


class Graph:
    """All nodes. Every method that changes it returns the work that follows."""

    def __init__(self) -> None:
        self._nodes: dict[str, Node] = {}

    def __len__(self) -> int:
        return len(self._nodes)

    def get(self, uid: str) -> Node | None:
        return self._nodes.get(uid)

    def dependents(self, node: Node) -> list[Node]:
        return [self._nodes[uid] for uid in node.dependents]

    def blocking(self, node: Node) -> list[Node]:
        """The dependents whose references hold a foreground deletion up."""
        return [
            dependent
            for dependent in self.dependents(node)
            if (reference := dependent.reference_to(node.uid)) is not None and reference.block_owner_deletion
        ]

    def see(self, resource: Resource, data: meta.ObjectMeta) -> Work:
        """An object appeared or changed."""
        work = Work()
        node = self._nodes.get(data.uid)
        if node is None:
            node = self._nodes[data.uid] = Node(
                data.uid, resource.api_version, resource.kind, data.namespace, data.name
            )
        if not node.observed:
            self._observe(node, resource, data, work)
        self._relink(node, tuple(data.owner_references), work)
        self._mark(node, data, work)
        return work

    def forget(self, uid: str) -> Work:
        """An object is gone (or a virtual one proved not to exist): whoever depends on it is to be looked at."""
        work = Work()
        node = self._nodes.pop(uid, None)
        if node is None:
            return work
        work.attempt.extend(node.dependents)
        self._unlink(node, node.owners, work)
        return work

    def _observe(self, node: Node, resource: Resource, data: meta.ObjectMeta, work: Work) -> None:
        node.observed = True
        node.resource = resource
        if (node.api_version, node.kind) != (resource.api_version, resource.kind) and node.kind != resource.kind:
            node.api_version, node.kind = resource.api_version, resource.kind
        node.namespace, node.name = data.namespace, data.name
        # Some may have meant something else by this UID.
        for dependent in self.dependents(node):
            reference = dependent.reference_to(node.uid)
            self._check(dependent, node, reference, work)

    def _relink(self, node: Node, owners: tuple[meta.OwnerReference, ...], work: Work) -> None:
        if owners == node.owners:
            return
        before = {reference.uid: reference for reference in node.owners}
        after = {reference.uid: reference for reference in owners}
        node.owners = owners
        gone = [reference for uid, reference in before.items() if uid not in after]
        self._unlink(node, gone, work)
        for uid, reference in after.items():
            owner = self._nodes.get(uid)
            if owner is None:
                owner = self._nodes[uid] = Node(
                    uid, reference.api_version, reference.kind, node.namespace, reference.name
                )
                # It may be long gone: ask.
                work.attempt.append(uid)
            owner.dependents.add(node.uid)
            old = before.get(uid)
            if old is None:
                self._check(node, owner, reference, work)
            elif old.block_owner_deletion and not reference.block_owner_deletion and owner.deletes_dependents:
                work.attempt.append(uid)

    def _unlink(self, node: Node, references: Iterable[meta.OwnerReference], work: Work) -> None:
        for reference in references:
            owner = self._nodes.get(reference.uid)
            if owner is None:
                continue
            owner.dependents.discard(node.uid)
            if owner.deletes_dependents:
                work.attempt.append(owner.uid)
            if not owner.observed and not owner.dependents:
                del self._nodes[owner.uid]

    def _check(self, dependent: Node, owner: Node, reference: meta.OwnerReference | None, work: Work) -> None:
        """A reference that cannot mean the owner it names by UID makes its holder suspect."""
        if reference is None or not owner.observed:
            return
        elsewhere = bool(owner.namespace) and owner.namespace != dependent.namespace
        if elsewhere:
            work.misplaced.append((dependent.uid, owner.uid))
        if elsewhere or not owner.is_meant_by(reference):
            work.attempt.append(dependent.uid)

    def _mark(self, node: Node, data: meta.ObjectMeta, work: Work) -> None:
        """Deletion in one of the two ways that begin with the dependents."""
        node.being_deleted = data.deletion_timestamp is not None
        foreground = node.being_deleted and FOREGROUND in data.finalizers
        orphan = node.being_deleted and ORPHAN in data.finalizers
        if orphan and not node.orphans_dependents:
            work.orphan.append(node.uid)
        if foreground and not node.deletes_dependents:
            work.attempt.extend((*node.dependents, node.uid))
        node.deletes_dependents, node.orphans_dependents = foreground, orphan
