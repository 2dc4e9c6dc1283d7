"""What tests on a real node share: one containerd for the session, a client of it for each test."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from cri.client import RuntimeClient
from tests.node.containerd import Containerd, remove_sandbox


@pytest.fixture(scope="session")
def containerd() -> Iterator[Containerd]:
    """A containerd with the system images, whose end is checked for leftovers."""
    # Not tmp_path: a socket's path is limited to 107 characters.
    daemon = Containerd(Path(tempfile.mkdtemp(prefix="orlop-ct-")))
    daemon.start()
    daemon.import_images()
    yield daemon
    daemon.stop()


@pytest.fixture
async def runtime(containerd: Containerd) -> AsyncIterator[RuntimeClient]:
    """A client of the session's containerd; sandboxes a test leaves are removed after it."""
    client = RuntimeClient(containerd.endpoint)
    yield client
    for sandbox in await client.list_pod_sandbox():
        await remove_sandbox(client, sandbox.id)
    await client.close()
