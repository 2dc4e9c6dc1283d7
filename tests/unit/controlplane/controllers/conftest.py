"""The API double, on a clock that jumps, for all tests of controllers."""

import pytest

from client.clock import FakeClock
from client.fake import FakeApiServer


@pytest.fixture
def server() -> FakeApiServer:
    return FakeApiServer(clock=FakeClock())
