"""Is this object allowed to be? Checks of whole objects, with the reference implementation's paths and words.

`validate_create`, `validate_update` and `validate_status_update` return every error there is, none when the object is
fine. Metadata is checked for each kind; what a kind adds stands in the modules of this package, one for a group of
kinds, imported when an object of theirs is first seen. Checks are pure: they read objects, never change them, know no
other objects and no clock.
"""

from __future__ import annotations

import importlib
from functools import cache

from api import meta_v1 as meta
from api.fields import FieldErrors
from api.scheme import SCHEME
from api.validation.metadata import validate_meta, validate_meta_update
from api.validation.rules import Rules

__all__ = ["validate_create", "validate_status_update", "validate_update"]

_MODULES = {
    "v1": "core",
    "apiextensions.k8s.io/v1": "extensions",
    "apiregistration.k8s.io/v1": "extensions",
    "apps/v1": "workloads",
    "autoscaling/v1": "autoscaling",
    "autoscaling/v2": "autoscaling",
    "batch/v1": "batch",
    "certificates.k8s.io/v1": "certificates",
    "coordination.k8s.io/v1": "leases",
    "discovery.k8s.io/v1": "endpoints",
    "events.k8s.io/v1": "events",
    "networking.k8s.io/v1": "networking",
    "node.k8s.io/v1": "runtime_classes",
    "policy/v1": "policies",
    "rbac.authorization.k8s.io/v1": "rbac",
    "scheduling.k8s.io/v1": "priorities",
    "storage.k8s.io/v1": "storage",
}


@cache
def _rules(api_version: str, kind: str) -> Rules:
    module = _MODULES.get(api_version)
    if module is None:
        return Rules()
    rules: dict[str, Rules] = importlib.import_module(f"api.validation.{module}").RULES
    return rules.get(kind) or Rules()


@cache
def _namespaced(api_version: str, kind: str) -> bool:
    resource = SCHEME.by_kind(api_version, kind)
    return resource is None or resource.namespaced


def validate_create(obj: meta.Object) -> FieldErrors:
    """What is wrong with a new object, defaulted and named."""
    out: FieldErrors = []
    rules = _rules(obj.api_version, obj.kind)
    if rules.checks_metadata:
        validate_meta(obj.metadata, _namespaced(obj.api_version, obj.kind), rules.name, out)
    if rules.create is not None:
        rules.create(obj, out)
    return out


def validate_update(new: meta.Object, old: meta.Object) -> FieldErrors:
    """What is wrong with a changed object: by itself, and as a change of the old one."""
    out: FieldErrors = []
    rules = _rules(new.api_version, new.kind)
    if rules.checks_metadata:
        validate_meta_update(new.metadata, old.metadata, out)
    if rules.update is not None:
        rules.update(new, old, out)
    elif rules.create is not None:
        rules.create(new, out)
    return out


def validate_status_update(new: meta.Object, old: meta.Object) -> FieldErrors:
    """What is wrong with a new status; the caller has kept the old spec."""
    out: FieldErrors = []
    rules = _rules(new.api_version, new.kind)
    if rules.checks_metadata:
        validate_meta_update(new.metadata, old.metadata, out)
    if rules.status is not None:
        rules.status(new, old, out)
    return out
