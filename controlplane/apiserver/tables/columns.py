"""What a table of one kind is made of: its columns, and how an object becomes a row.

A `Printer` is plain data, one for each kind. Columns of priority 1 are shown by ``-o wide`` alone, but always sent.
Names, order, types and priorities are upstream's, since kubectl prints what it is sent; descriptions are our own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from api import meta_v1 as meta
from api import selectors

Cell = str | int | bool
NONE = "<none>"
UNSET = "<unset>"

NAME_HELP = "Name of the object, unique among its kind in a namespace."
AGE_HELP = "Time since the object was created."


@dataclass(frozen=True, slots=True)
class Printer:
    """Columns, and the cells of one object at a time *now* (seconds since the epoch)."""

    columns: tuple[meta.TableColumnDefinition, ...]
    cells: Callable[[Any, float], list[Cell]]
    conditions: Callable[[Any], list[meta.TableRowCondition]] | None = None


def column(
    name: str, description: str = "", *, type_: str = "string", format_: str = "", wide: bool = False
) -> meta.TableColumnDefinition:
    """One column; *wide* ones have priority 1."""
    return meta.TableColumnDefinition(
        name=name, type=type_, format=format_, description=description, priority=1 if wide else 0
    )


def number(name: str, description: str = "") -> meta.TableColumnDefinition:
    return column(name, description, type_="integer")


def flag(name: str, description: str = "") -> meta.TableColumnDefinition:
    return column(name, description, type_="boolean")


NAME = column("Name", NAME_HELP, format_="name")
AGE = column("Age", AGE_HELP)
CONTAINERS = column("Containers", "Names of the containers in the template.", wide=True)
IMAGES = column("Images", "Images of the containers in the template.", wide=True)
SELECTOR = column("Selector", "Labels that choose the pods.", wide=True)


def or_none(text: str | None) -> str:
    return text or NONE


def label_map(labels: dict[str, str]) -> str:
    """Labels as ``a=1,b=2``, by key."""
    return ",".join(f"{key}={labels[key]}" for key in sorted(labels)) or NONE


def label_selector(selector: meta.LabelSelector | None) -> str:
    """A label selector in its short form."""
    try:
        return str(selectors.from_struct(selector)) or NONE
    except selectors.SelectorError:
        return "<error>"


def first_few(items: Sequence[str], limit: int = 3, separator: str = ",") -> str:
    """The first *limit* of *items*, and how many more there are."""
    shown = separator.join(items[:limit])
    return f"{shown} + {len(items) - limit} more..." if len(items) > limit else shown
