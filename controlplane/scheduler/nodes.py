"""Nodes as columns: one array per fact, one row per node.

A filter over a thousand nodes is then one vector operation of a few microseconds. Labels and taints are interned: a
label column holds for each node the number of its value (0: the label is absent), and the taints column the number of
the node's set of taints, of which a cluster has few.

Rows are reused after a node has gone; whoever holds a row number must not keep it beyond the next change. This module
knows nodes, and amounts that are taken from them, but no pods.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from api import core_v1 as core
from api.quantity import Quantity

Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float64]

CPU = "cpu"
MEMORY = "memory"
STORAGE = "ephemeral-storage"
PODS = "pods"

_FIRST_CAPACITY = 64

Scalar = TypeVar("Scalar", bound=np.generic)


TaintSet = tuple[tuple[str, str, str], ...]  # key, value, effect


class Amounts:
    """One resource over all nodes: what can be taken and what is, in millis for CPU and in whole units for all else."""

    def __init__(self, capacity: int) -> None:
        self.allocatable: Ints = np.zeros(capacity, np.int64)
        self.requested: Ints = np.zeros(capacity, np.int64)

    def grow(self, capacity: int) -> None:
        self.allocatable = _grown(self.allocatable, capacity)
        self.requested = _grown(self.requested, capacity)


class LabelColumn:
    """One label over all nodes, by number of value; 0 where a node does not have it."""

    def __init__(self, capacity: int) -> None:
        self.numbers: Numbers = np.zeros(capacity, np.int32)
        self.values: list[str] = [""]
        self._number_of: dict[str, int] = {}

    def grow(self, capacity: int) -> None:
        self.numbers = _grown(self.numbers, capacity)

    def number(self, value: str) -> int:
        """The number of a value, or -1 when no node ever had it."""
        return self._number_of.get(value, -1)

    def intern(self, value: str) -> int:
        number = self._number_of.get(value)
        if number is None:
            number = self._number_of[value] = len(self.values)
            self.values.append(value)
        return number


class NodeColumns:
    """All nodes.

    `version` goes up whenever a fact other than an amount changes, for those who cache what follows from them.
    """

    def __init__(self) -> None:
        self.version = 0
        self.count = 0  # nodes there are
        self.rows = 0  # rows in use, live or not
        self.names: list[str] = []
        self.taint_sets: list[tuple[core.Taint, ...]] = [()]
        self._capacity = _FIRST_CAPACITY
        self._row_of: dict[str, int] = {}
        self._free: list[int] = []
        self._taint_set_of: dict[TaintSet, int] = {(): 0}
        self._live: Bools = np.zeros(self._capacity, np.bool_)
        self._unschedulable: Bools = np.zeros(self._capacity, np.bool_)
        self._taints: Numbers = np.zeros(self._capacity, np.int32)
        self._floor_cpu: Ints = np.zeros(self._capacity, np.int64)
        self._floor_memory: Ints = np.zeros(self._capacity, np.int64)
        self._labels: dict[str, LabelColumn] = {}
        self._amounts: dict[str, Amounts] = {name: Amounts(self._capacity) for name in (CPU, MEMORY, STORAGE, PODS)}
        self._facts: dict[str, tuple[Mapping[str, str], TaintSet, bool]] = {}

    # Columns, cut to the rows in use. They are views: do not write to them, do not keep them.

    @property
    def live(self) -> Bools:
        return self._live[: self.rows]

    @property
    def unschedulable(self) -> Bools:
        return self._unschedulable[: self.rows]

    @property
    def taints(self) -> Numbers:
        """The number of each node's set of taints in `taint_sets`."""
        return self._taints[: self.rows]

    def allocatable(self, resource: str) -> Ints | None:
        """What nodes offer of a resource; None when no node ever offered any."""
        amounts = self._amounts.get(resource)
        return amounts.allocatable[: self.rows] if amounts is not None else None

    def requested(self, resource: str) -> Ints | None:
        """What is taken of a resource."""
        amounts = self._amounts.get(resource)
        return amounts.requested[: self.rows] if amounts is not None else None

    @property
    def floor_cpu(self) -> Ints:
        """CPU taken, in millis, where every container counts for something (scores alone look at this)."""
        return self._floor_cpu[: self.rows]

    @property
    def floor_memory(self) -> Ints:
        """Memory taken, in bytes, counted likewise."""
        return self._floor_memory[: self.rows]

    def label(self, key: str) -> LabelColumn | None:
        """The values of a label; None when no node ever had it. `domains` tells which node has which."""
        return self._labels.get(key)

    def domains(self, key: str) -> Numbers:
        """Each node's value of a label, by number; all 0 when no node has it."""
        column = self._labels.get(key)
        return np.zeros(self.rows, np.int32) if column is None else column.numbers[: self.rows]

    def marked(self, names: Iterable[str]) -> Bools:
        """The rows of the named nodes; names that are not known are passed over."""
        marks = np.zeros(self.rows, np.bool_)
        for name in names:
            row = self._row_of.get(name)
            if row is not None:
                marks[row] = True
        return marks

    # Changes

    def row(self, name: str) -> int | None:
        """The row of a node, or None when it is not known."""
        return self._row_of.get(name)

    def put(self, node: core.Node) -> bool:
        """Add or change a node; returns whether anything that matters for scheduling is different now."""
        name = node.metadata.name
        row = self._row_of.get(name)
        fresh = row is None
        if row is None:
            row = self._take_row(name)
        changed = self._put_allocatable(row, node.status.allocatable) or fresh
        facts = (node.metadata.labels, _taints_of(node), node.spec.unschedulable)
        if self._facts.get(name) != facts:
            self._put_facts(row, *facts)
            self._facts[name] = facts
            self.version += 1
            changed = True
        return changed

    def remove(self, name: str) -> None:
        """Forget a node; whoever took amounts from it need not give them back."""
        row = self._row_of.pop(name, None)
        if row is None:
            return
        self._put_facts(row, {}, (), False)
        del self._facts[name]
        for amounts in self._amounts.values():
            amounts.allocatable[row] = amounts.requested[row] = 0
        self._floor_cpu[row] = self._floor_memory[row] = 0
        self._live[row] = False
        self.names[row] = ""
        self._free.append(row)
        self.count -= 1
        self.version += 1

    def take(self, row: int, requests: Mapping[str, int], floor_cpu: int, floor_memory: int, sign: int = 1) -> None:
        """Take amounts from a node, and one pod; `sign` -1 gives them back."""
        for resource, amount in requests.items():
            self._amounts_of(resource).requested[row] += sign * amount
        self._amounts[PODS].requested[row] += sign
        self._floor_cpu[row] += sign * floor_cpu
        self._floor_memory[row] += sign * floor_memory

    def _take_row(self, name: str) -> int:
        if self._free:
            row = self._free.pop()
            self.names[row] = name
        else:
            row = self.rows
            if row == self._capacity:
                self._grow()
            self.rows += 1
            self.names.append(name)
        self._row_of[name] = row
        self._live[row] = True
        self.count += 1
        return row

    def _put_allocatable(self, row: int, offered: Mapping[str, Quantity]) -> bool:
        changed = False
        amounts_now = amounts_of(offered)
        for resource in amounts_now:
            self._amounts_of(resource)
        for resource, amounts in self._amounts.items():
            amount = amounts_now.get(resource, 0)
            if amounts.allocatable[row] != amount:
                amounts.allocatable[row] = amount
                changed = True
        return changed

    def _put_facts(self, row: int, labels: Mapping[str, str], taints: TaintSet, unschedulable: bool) -> None:
        for key in labels:
            if key not in self._labels:
                self._labels[key] = LabelColumn(self._capacity)
        for key, column in self._labels.items():
            value = labels.get(key)
            column.numbers[row] = 0 if value is None else column.intern(value)
        number = self._taint_set_of.get(taints)
        if number is None:
            number = self._taint_set_of[taints] = len(self.taint_sets)
            self.taint_sets.append(
                tuple(core.Taint(key=key, value=value, effect=effect) for key, value, effect in taints)
            )
        self._taints[row] = number
        self._unschedulable[row] = unschedulable

    def _amounts_of(self, resource: str) -> Amounts:
        amounts = self._amounts.get(resource)
        if amounts is None:
            amounts = self._amounts[resource] = Amounts(self._capacity)
        return amounts

    def _grow(self) -> None:
        self._capacity *= 2
        for amounts in self._amounts.values():
            amounts.grow(self._capacity)
        for column in self._labels.values():
            column.grow(self._capacity)
        self._live = _grown(self._live, self._capacity)
        self._unschedulable = _grown(self._unschedulable, self._capacity)
        self._taints = _grown(self._taints, self._capacity)
        self._floor_cpu = _grown(self._floor_cpu, self._capacity)
        self._floor_memory = _grown(self._floor_memory, self._capacity)


def amounts_of(quantities: Mapping[str, Quantity]) -> dict[str, int]:
    """Quantities by resource as whole numbers: CPU in millis, all else in its own unit, rounded up."""
    return {name: quantity.milli() if name == CPU else quantity.value() for name, quantity in quantities.items()}


def _taints_of(node: core.Node) -> TaintSet:
    return tuple((taint.key, taint.value, taint.effect) for taint in node.spec.taints)


def _grown(column: npt.NDArray[Scalar], capacity: int) -> npt.NDArray[Scalar]:
    grown = np.zeros(capacity, column.dtype)
    grown[: len(column)] = column
    return grown
