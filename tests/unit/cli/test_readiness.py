"""When `orlop up --detach` calls a node ready."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cli.node_api import NodeApi, NotYet

STARTED = 1_800_000_000.6  # 2027-01-15T08:00:00.6Z


class Told(NodeApi):
    """An API server that has these conditions of the node."""

    def __init__(self, *conditions: dict[str, str]) -> None:
        super().__init__(Path("/nonexistent"))
        self._conditions = conditions

    def get(self, path: str) -> Any:
        return {"status": {"conditions": list(self._conditions)}} if "/nodes/" in path else {}


def ready(heartbeat: str, status: str = "True") -> dict[str, str]:
    return {"type": "Ready", "status": status, "message": "network is not ready", "lastHeartbeatTime": heartbeat}


def test_a_node_that_says_so_is_ready() -> None:
    Told(ready("2027-01-15T08:00:00Z")).check_ready("node-1", STARTED)  # stamps are of whole seconds


def test_what_was_said_before_the_start_does_not_count() -> None:
    with pytest.raises(NotYet, match="no status since it was started"):
        Told(ready("2027-01-15T07:59:59Z")).check_ready("node-1", STARTED)


def test_a_node_that_is_not_ready_says_why() -> None:
    with pytest.raises(NotYet, match="network is not ready"):
        Told(ready("2027-01-15T08:00:01Z", "False")).check_ready("node-1", STARTED)


def test_a_node_without_conditions_is_not_ready() -> None:
    with pytest.raises(NotYet, match="no status yet"):
        Told().check_ready("node-1", STARTED)
