"""What a field means when it is not set: `set_defaults` fills an object in place, as the reference implementation does.

Defaults are part of the API: objects are stored with them, and clients compare what they sent with what they read. One
module holds the defaults of a group, imported when an object of the group is first seen. Setting defaults twice changes
nothing. This package knows no other objects and no clock.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import cache
from typing import Any

from api import meta_v1 as meta

__all__ = ["set_defaults"]

_MODULES = {
    "v1": "core",
    "admissionregistration.k8s.io/v1": "admission",
    "apiextensions.k8s.io/v1": "extensions",
    "apiregistration.k8s.io/v1": "extensions",
    "apps/v1": "workloads",
    "autoscaling/v1": "autoscaling",
    "autoscaling/v2": "autoscaling",
    "batch/v1": "batch",
    "discovery.k8s.io/v1": "networking",
    "flowcontrol.apiserver.k8s.io/v1": "flowcontrol",
    "networking.k8s.io/v1": "networking",
    "rbac.authorization.k8s.io/v1": "rbac",
    "resource.k8s.io/v1": "devices",
    "scheduling.k8s.io/v1": "scheduling",
    "storage.k8s.io/v1": "storage",
}

Defaulter = Callable[[Any], None]


@cache
def _defaulter(api_version: str, kind: str) -> Defaulter | None:
    module = _MODULES.get(api_version)
    if module is None:
        return None
    table: dict[tuple[str, str], Defaulter] = importlib.import_module(f"api.defaults.{module}").DEFAULTS
    return table.get((api_version, kind))


def set_defaults(obj: meta.TypeMeta) -> None:
    """Fills in what the object leaves open. Kinds without defaults, and unknown ones, stay as they are."""
    defaulter = _defaulter(obj.api_version, obj.kind)
    if defaulter is not None:
        defaulter(obj)
