"""Writes the table of resources that ``api.scheme`` reads: what is served under which name, with which verbs.

The groups under /apis come from the recorded discovery document, core/v1 from the recorded paths; only versions that
are generally available are kept. Both records lie in the folder ``shared`` beside the repository.
"""

import json
import pathlib
import re
import textwrap
from collections.abc import Iterator
from typing import Any

from api.generator import facts

_GENERALLY_AVAILABLE = re.compile(r"v[0-9]+")
_VERBS = {"get": "get", "post": "create", "put": "update", "patch": "patch", "delete": "delete"}
_ALL = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"]
_CHANGE = ["get", "patch", "update"]
_HEAD = '''"""What is served: one line a resource, written by api.generator.

``groupVersion plural singular Kind scope``, then what differs from the usual: ``short=``, ``categories=``, ``verbs=``
(all eight if not given), and subresources as ``name=Kind:verbs`` (the resource's own kind and get, patch, update if
not given). Indented lines continue the one before.
"""

TABLE = """
'''


def module(shared: pathlib.Path) -> str:
    """The text of ``api/resources.py``."""
    lines = [*_core(shared), *_groups(shared)]
    wrapped = (
        textwrap.fill(line, 118, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False)
        for line in lines
    )
    return _HEAD + "\n".join(wrapped) + '\n"""\n'


def _groups(shared: pathlib.Path) -> Iterator[str]:
    document = json.loads((shared / "data" / "discovery-1.36.json").read_text(encoding="utf-8"))
    for group in document["items"]:
        for version in group["versions"]:
            if not _GENERALLY_AVAILABLE.fullmatch(version["version"]):
                continue
            for resource in version["resources"]:
                yield _line(
                    f"{group['metadata']['name']}/{version['version']}",
                    resource["resource"],
                    resource["singularResource"],
                    resource["responseKind"]["kind"],
                    resource["scope"],
                    resource.get("shortNames", []),
                    resource.get("categories", []),
                    resource["verbs"],
                    [
                        (item["subresource"], _kind(item["responseKind"]), item["verbs"])
                        for item in resource.get("subresources", [])
                    ],
                )


def _kind(kind: dict[str, str]) -> str:
    group_version = "/".join(part for part in (kind["group"], kind["version"]) if part)
    return f"{group_version}.{kind['kind']}" if group_version else kind["kind"]


def _core(shared: pathlib.Path) -> Iterator[str]:
    paths = json.loads((shared / "data" / "openapi-v2-1.36.json").read_text(encoding="utf-8"))["paths"]
    for plural, singular, *more in facts.core_resources():
        namespaced = f"/api/v1/namespaces/{{namespace}}/{plural}" in paths
        root = f"/api/v1/namespaces/{{namespace}}/{plural}" if namespaced else f"/api/v1/{plural}"
        own = {
            path.removeprefix(root): operations
            for path, operations in paths.items()
            if path == root or path.startswith(root + "/{name}")
        }
        collection = _operations(own[""])
        item = _operations(own.get("/{name}", {}))
        verbs = {verb for verb, _ in collection + item}
        if "list" in verbs and plural != "componentstatuses":
            verbs.add("watch")
        (kind,) = {kind for _, kind in collection}
        subresources: dict[str, list[tuple[str, str]]] = {}
        for rest, operations in own.items():
            if rest.count("/") == 2:
                subresources[rest.rpartition("/")[2]] = _operations(operations)
        yield _line(
            "v1",
            plural,
            singular,
            kind,
            "Namespaced" if namespaced else "Cluster",
            more[:1],
            more[1:],
            sorted(verbs),
            [(name, pairs[0][1], sorted({verb for verb, _ in pairs})) for name, pairs in sorted(subresources.items())],
        )


def _operations(operations: dict[str, Any]) -> list[tuple[str, str]]:
    """(verb, kind) of each operation of one path."""
    found = []
    for method, operation in operations.items():
        if method not in _VERBS:
            continue
        action = operation["x-kubernetes-action"]
        kind = operation["x-kubernetes-group-version-kind"]
        verb = action if action in ("list", "deletecollection") else _VERBS[method]
        found.append(
            (verb, _kind({**kind, "group": kind["group"], "version": kind["version"] if kind["group"] else ""}))
        )
    return found


def _line(
    group_version: str,
    plural: str,
    singular: str,
    kind: str,
    scope: str,
    short_names: list[str],
    categories: list[str],
    verbs: list[str],
    subresources: list[tuple[str, str, list[str]]],
) -> str:
    words = [group_version, plural, singular, kind, scope]
    if short_names:
        words.append(f"short={','.join(short_names)}")
    if categories:
        words.append(f"categories={','.join(categories)}")
    if sorted(verbs) != _ALL:
        words.append(f"verbs={','.join(verbs)}")
    for name, subresource_kind, subresource_verbs in subresources:
        word = name
        if subresource_kind != kind or subresource_verbs != _CHANGE:
            word += f"={subresource_kind}:{','.join(subresource_verbs)}"
        words.append(word)
    return " ".join(words)
