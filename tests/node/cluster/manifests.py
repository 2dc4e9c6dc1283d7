"""Manifests of pods and what they come with, as short as the tests want them."""

from __future__ import annotations

from typing import Any

from images.system import TOOLBOX

Manifest = dict[str, Any]
FOREVER = ["sleep", "infinity"]


def shell(script: str) -> list[str]:
    return ["sh", "-c", script]


def container(name: str = "main", command: list[str] | None = None, **more: Any) -> Manifest:
    """A container of the toolbox image that runs for ever unless told otherwise."""
    return {
        "name": name,
        "image": TOOLBOX,
        "imagePullPolicy": "IfNotPresent",
        "command": FOREVER if command is None else command,
    } | more


def pod(name: str, *containers: Manifest, labels: dict[str, str] | None = None, **spec: Any) -> Manifest:
    """A pod that is given one second to end; with `container()` alone unless told otherwise.

    Not none: the API server would let go of it before the node has.
    """
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": labels or {"app": name}},
        "spec": {"terminationGracePeriodSeconds": 1, "containers": list(containers) or [container()]} | spec,
    }


def once(name: str, script: str, **more: Any) -> Manifest:
    """A pod that runs a script to its end."""
    in_spec = {"volumes", "securityContext", "initContainers", "dnsPolicy", "dnsConfig", "hostAliases", "hostname"}
    spec = {key: value for key, value in more.items() if key in in_spec}
    rest = {key: value for key, value in more.items() if key not in in_spec}
    return pod(name, container(command=shell(script), **rest), restartPolicy="Never", **spec)


def deployment(name: str, replicas: int, *containers: Manifest, **spec: Any) -> Manifest:
    template = pod(name, *containers)
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "labels": {"app": name}},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "template": {"metadata": {"labels": {"app": name}}, "spec": template["spec"]},
        }
        | spec,
    }


def config_map(name: str, **data: str) -> Manifest:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def secret(name: str, **data: str) -> Manifest:
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "stringData": data}
