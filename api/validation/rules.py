"""How the rules of a kind are stated: its names, and what is checked when it is made, changed, and reports status."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from api import names
from api.fields import FieldErrors
from api.names import NameRule

Create = Callable[[Any, FieldErrors], None]
Update = Callable[[Any, Any, FieldErrors], None]


@dataclass(frozen=True, slots=True)
class Rules:
    """Metadata is checked for every kind; these come on top.

    `create` runs on new objects; on changed ones `update(new, old)` runs, or `create` again when there is none.
    `status` runs on changes by the status subresource. Events of the core group are the one kind whose metadata is not
    checked: they predate the rules.
    """

    name: NameRule = names.name_is_subdomain
    create: Create | None = None
    update: Update | None = None
    status: Update | None = None
    checks_metadata: bool = True
