"""Whether what a node holds is what its pods need: nothing missing, nothing left over."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from cri.client import RuntimeClient
from proto import cri_pb2 as cri
from tests.node.cluster.footprint import cgroups
from tests.node.cluster.installation import Installation
from tests.node.cluster.waiting import eventually

UID = "io.kubernetes.pod.uid"


async def _sandboxes(endpoint: str) -> tuple[list[str], list[str]]:
    """Pod UIDs of the sandboxes that are ready, and of all others."""
    client = RuntimeClient(endpoint)
    try:
        found = await client.list_pod_sandbox()
    finally:
        await client.close()
    ready = [one.labels[UID] for one in found if one.state == cri.SANDBOX_READY]
    return ready, [one.labels[UID] for one in found if one.state != cri.SANDBOX_READY]


def leases(node: Installation) -> list[str]:
    """Addresses that are given out on the pod network."""
    folder = node.run / "cni" / "orlop"
    return sorted(name for name in os.listdir(folder) if name.count(",") == 2) if folder.exists() else []


def discrepancies(node: Installation) -> list[str]:
    """What the node holds beyond its pods, or lacks of them; none of them may have ended, or use the host's network.

    A pod may keep a sandbox that is dead, for the log of the container in it, but nothing of that one's network.
    """
    uids = sorted(one["metadata"]["uid"] for one in node.kubectl.items("pods", "-A"))
    ready, ended = asyncio.run(_sandboxes(node.runtime_endpoint))
    wrong = []
    if sorted(ready) != uids:
        wrong.append(f"sandboxes {sorted(ready)} of pods {uids}")
    if strangers := set(ended) - set(uids):
        wrong.append(f"ended sandboxes of {sorted(strangers)}")
    if len(leases(node)) != len(uids):
        wrong.append(f"{len(leases(node))} leases of {len(uids)} pods")
    links = list(Path(f"/sys/class/net/{node.bridge}/brif").iterdir())
    if len(links) != len(uids):
        wrong.append(f"{len(links)} links of {len(uids)} pods")
    groups = {path.name.removeprefix("pod") for group in cgroups(node.cgroup) for path in group.glob("**/pod*")}
    if groups != set(uids):
        wrong.append(f"cgroups of {sorted(groups)}")
    folders = sorted(path.name for path in (node.data / "agent" / "pods").iterdir())
    if folders != uids:
        wrong.append(f"folders of {folders}")
    return wrong


def balanced(node: Installation, seconds: float = 60.0) -> None:
    """Wait until there are no discrepancies."""

    def look() -> bool:
        wrong = discrepancies(node)
        assert not wrong, "; ".join(wrong)
        return True

    eventually(look, "a node that holds what its pods need and no more", seconds, 0.5)
