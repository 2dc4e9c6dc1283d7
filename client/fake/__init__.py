"""An API server in memory, for tests and simulations.

`FakeApiServer` holds the objects and behaves as the real one does where clients can tell: optimistic locking,
revisions, watches with a limited history (410 when it is too short), finalizers and graceful deletion,
`generateName`, separate status, selectors, paging. `FakeClient` is the surface of `client.interface` on it.
`server.faults` makes it slow, failing, forgetful or lying. With a seed and a FakeClock the same run takes the same
course.

It neither authorizes nor validates, and it runs no controller: what it stores is what it was given, with defaults.

::

    server = FakeApiServer(clock=FakeClock())
    client = server.client()
    await client.create(core.Pod(metadata=meta.ObjectMeta(name="web", namespace="default")))
    server.faults.fail(errors.too_many_requests("slow down", 1), verb="update", resource="pods", times=2)
"""

from client.fake.client import FakeClient
from client.fake.faults import Call, Faults
from client.fake.server import FakeApiServer

__all__ = ["Call", "FakeApiServer", "FakeClient", "Faults"]
