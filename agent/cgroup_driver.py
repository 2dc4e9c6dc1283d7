"""Which way the runtime names cgroups: the agent must do the same, or every pod fails for a reason nobody finds.

CRI's RuntimeConfig tells; containerd before 2.0 does not have it, but shows its configuration in the verbose status.
"""

from __future__ import annotations

import json
from typing import Any

from agent.resources.names import Driver
from cri.client import RuntimeClient
from cri.errors import Unimplemented
from proto import cri_pb2 as cri


async def cgroup_driver(client: RuntimeClient) -> Driver:
    """The driver the runtime uses. Raises CriError."""
    try:
        answer = await client.runtime_config()
    except Unimplemented:
        status = await client.status(verbose=True)
        return _from_configuration(status.info.get("config", ""))
    return Driver.SYSTEMD if answer.linux.cgroup_driver == cri.SYSTEMD else Driver.CGROUPFS


def _from_configuration(text: str) -> Driver:
    """From containerd's CRI configuration, as its verbose status shows it; what does not say otherwise is cgroupfs."""
    try:
        configuration: Any = json.loads(text)
        containerd = configuration["containerd"]
        runtime = containerd["runtimes"][containerd["defaultRuntimeName"]]
        systemd = bool(runtime["options"]["SystemdCgroup"])
    except (ValueError, KeyError, TypeError):
        return Driver.CGROUPFS
    return Driver.SYSTEMD if systemd else Driver.CGROUPFS
