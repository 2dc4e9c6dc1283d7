"""A server for each test; its certificates are made once."""

from collections.abc import AsyncIterator

import pytest

from tests.unit.agent.server.agent_server_harness import NOW, Bench, Pki


@pytest.fixture(scope="session")
def pki(tmp_path_factory: pytest.TempPathFactory) -> Pki:
    return Pki.make(tmp_path_factory.mktemp("agent-pki"), NOW)


@pytest.fixture
async def bench(pki: Pki) -> AsyncIterator[Bench]:
    async with Bench(pki).running() as made:
        yield made
