"""A fresh server in memory for each test."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from controlplane.apiserver.config import ServerConfig
from tests.unit.controlplane.apiserver.server_harness import Harness, start


@pytest.fixture
def config(tmp_path: Path) -> ServerConfig:
    return ServerConfig(data_dir=tmp_path, config_dir=tmp_path / "config", node_ips=("192.0.2.1",))


@pytest.fixture
async def api(config: ServerConfig) -> AsyncIterator[Harness]:
    harness = await start(config)
    yield harness
    harness.server.close_watches()
    await harness.server.store.close()
