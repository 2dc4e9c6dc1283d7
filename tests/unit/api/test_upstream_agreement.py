"""The declarations agree with the OpenAPI of 1.36 as recorded: every type, field by field, and every operation."""

import importlib
import json
import os
import pathlib
import pkgutil
from functools import cache
from typing import Any

import pytest

import api
from api.declarations import Struct
from api.openapi import v2_document
from api.openapi.schemas import V2, schemas

_ROOT = pathlib.Path(__file__).parents[3]
_SHARED = pathlib.Path(os.environ.get("ORLOP_SHARED") or _ROOT.parent / "shared")

# Served by upstream beside the resources; not part of the scheme.
_OTHER_PATHS = {
    "/.well-known/openid-configuration/",
    "/apis/internal.apiserver.k8s.io/",
    "/apis/storagemigration.k8s.io/",
    "/logs/",
    "/logs/{logpath}",
    "/openid/v1/jwks/",
}


@cache
def _recorded() -> dict[str, Any]:
    document: dict[str, Any] = json.loads((_SHARED / "data" / "openapi-v2-1.36.json").read_text(encoding="utf-8"))
    return document


def _is_stable(name: str) -> bool:
    return "alpha" not in name and "beta" not in name


def _bare(value: Any) -> Any:
    """Without descriptions."""
    if isinstance(value, dict):
        return {k: _bare(v) for k, v in value.items() if not (k == "description" and isinstance(v, str))}
    return [_bare(item) for item in value] if isinstance(value, list) else value


def _comparable(definition: dict[str, Any]) -> dict[str, Any]:
    """The group-versions of a definition as a set, without those that are not served here."""
    kinds = definition.get("x-kubernetes-group-version-kind")
    if kinds is None:
        return definition
    served = {
        (kind["group"], kind["version"], kind["kind"])
        for kind in kinds
        if _is_stable(kind["version"]) and kind["group"] not in ("admission.k8s.io", "imagepolicy.k8s.io")
    }
    return {**definition, "x-kubernetes-group-version-kind": served}


@cache
def _declared() -> dict[str, Any]:
    roots: list[type[Struct]] = []
    for module_info in pkgutil.iter_modules(api.__path__):
        if module_info.name == "version" or module_info.name.rpartition("_v")[2].isdigit():
            module = importlib.import_module(f"api.{module_info.name}")
            roots += [item for item in vars(module).values() if isinstance(item, type) and issubclass(item, Struct)]
    return dict(schemas(V2, [root for root in roots if root is not Struct]))


_DEFINITIONS = sorted(name for name in _recorded()["definitions"] if _is_stable(name)) if _SHARED.exists() else []


def test_the_record_is_there() -> None:
    assert len(_DEFINITIONS) > 500, (
        f"no recorded OpenAPI under {_SHARED}; set ORLOP_SHARED to the folder that holds data/"
    )


@pytest.mark.parametrize("name", _DEFINITIONS)
def test_definition(name: str) -> None:
    recorded = _comparable(_bare(_recorded()["definitions"][name]))
    declared = _comparable(_declared()[name])
    properties, fields = recorded.pop("properties", {}), declared.pop("properties", {})
    assert sorted(fields) == sorted(properties)
    for field, schema in properties.items():
        assert fields[field] == schema, field
    assert sorted(declared.pop("required", [])) == sorted(recorded.pop("required", []))
    assert declared == recorded


def _parameters(item: dict[str, Any], operation: dict[str, Any]) -> set[tuple[str, str, str | None, bool]]:
    found = set()
    for parameter in [*item.get("parameters", []), *operation.get("parameters", [])]:
        if "$ref" in parameter:
            parameter = _recorded()["parameters"][parameter["$ref"].rpartition("/")[2]]
        found.add((parameter["name"], parameter["in"], parameter.get("type"), parameter.get("required", False)))
    return found


def _said(operation: dict[str, Any]) -> dict[str, Any]:
    keys = ("operationId", "tags", "x-kubernetes-action", "x-kubernetes-group-version-kind")
    return {
        **{key: operation.get(key) for key in keys},
        "responses": {code: answer.get("schema") for code, answer in operation["responses"].items()},
    }


def test_operations() -> None:
    ours = json.loads(v2_document().body)["paths"]
    compared = 0
    for path, item in _recorded()["paths"].items():
        if not _is_stable(path) or "/watch/" in path or path in _OTHER_PATHS:
            continue
        for method, operation in item.items():
            if method == "parameters":
                continue
            assert _said(ours[path][method]) == _said(operation), f"{method} {path}"
            assert _parameters(ours[path], ours[path][method]) == _parameters(item, operation), f"{method} {path}"
            compared += 1
    assert compared > 600
    assert set(ours) <= set(_recorded()["paths"])


def test_scheme_agrees_with_recorded_discovery() -> None:
    from api.scheme import SCHEME

    document = json.loads((_SHARED / "data" / "discovery-1.36.json").read_text(encoding="utf-8"))
    recorded = {}
    for group in document["items"]:
        for version in group["versions"]:
            for resource in version["resources"] if _is_stable(version["version"]) else ():
                recorded[group["metadata"]["name"], version["version"], resource["resource"]] = (
                    resource["responseKind"]["kind"],
                    resource["singularResource"],
                    resource["scope"] == "Namespaced",
                    tuple(resource.get("shortNames", ())),
                    tuple(resource.get("categories", ())),
                    tuple(resource["verbs"]),
                    {item["subresource"]: tuple(item["verbs"]) for item in resource.get("subresources", ())},
                )
    ours = {
        (resource.group, resource.version, resource.plural): (
            resource.kind,
            resource.singular,
            resource.namespaced,
            resource.short_names,
            resource.categories,
            resource.verbs,
            {item.name: item.verbs for item in resource.subresources},
        )
        for resource in SCHEME.resources()
        if resource.group
    }
    assert ours == recorded
