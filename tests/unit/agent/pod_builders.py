"""Pods and runtime views for tests, in as few words as a table can bear."""

from __future__ import annotations

from typing import Any

from agent.pods.observed import ContainerState, ObservedContainer, ObservedPod, ObservedSandbox, observed_pod
from api import core_v1 as core
from api import meta_v1 as meta
from api.codec import from_builtins

UID = "11111111-2222-3333-4444-555555555555"


def pod(
    *containers: str | dict[str, Any],
    init: list[str | dict[str, Any]] | None = None,
    restart: str = "Always",
    name: str = "web",
    uid: str = UID,
    **spec: Any,
) -> core.Pod:
    """A pod of containers given by name, or by name and fields as in JSON."""
    data = {
        "containers": [_container(one) for one in containers or ("app",)],
        "initContainers": [_container(one) for one in init or []],
        "restartPolicy": restart,
        "terminationGracePeriodSeconds": 30,
        "nodeName": "node",
        **spec,
    }
    made = core.Pod(metadata=meta.ObjectMeta(name=name, namespace="default", uid=uid, generation=1))
    made.spec = from_builtins(data, core.PodSpec)
    made.status.phase = "Pending"
    return made


def _container(one: str | dict[str, Any]) -> dict[str, Any]:
    fields: dict[str, Any] = {"name": one} if isinstance(one, str) else dict(one)
    fields.setdefault("image", "img")
    fields.setdefault("imagePullPolicy", "IfNotPresent")
    return fields


def sidecar(name: str, **fields: Any) -> dict[str, Any]:
    return {"name": name, "restartPolicy": "Always", **fields}


def sandbox(
    attempt: int = 0, *, ready: bool = True, ip: str = "10.42.0.5", host_network: bool = False
) -> ObservedSandbox:
    ips = (ip,) if ip and ready else ()
    return ObservedSandbox(f"sb{attempt}", ready, attempt, 1000.0 + attempt, ips, host_network)


def running(name: str, attempt: int = 0, *, box: str = "sb0", hash_: str = "") -> ObservedContainer:
    return ObservedContainer(
        f"{name}-{attempt}", name, box, ContainerState.RUNNING, attempt, started_at=1010.0, hash=hash_
    )


def exited(
    name: str, code: int = 0, attempt: int = 0, *, box: str = "sb0", reason: str = "", message: str = ""
) -> ObservedContainer:
    return ObservedContainer(
        f"{name}-{attempt}",
        name,
        box,
        ContainerState.EXITED,
        attempt,
        started_at=1010.0,
        finished_at=1020.0,
        exit_code=code,
        reason=reason,
        message=message,
    )


def in_state(name: str, state: ContainerState, attempt: int = 0, *, box: str = "sb0") -> ObservedContainer:
    return ObservedContainer(f"{name}-{attempt}", name, box, state, attempt)


def seen(*parts: ObservedContainer | ObservedSandbox) -> ObservedPod:
    """What the runtime has; a ready sandbox unless one is given."""
    sandboxes = [one for one in parts if isinstance(one, ObservedSandbox)]
    containers = [one for one in parts if isinstance(one, ObservedContainer)]
    return observed_pod(UID, "web", "default", sandboxes or [sandbox()], containers)


def nothing() -> ObservedPod:
    return observed_pod(UID, "", "", [], [])
