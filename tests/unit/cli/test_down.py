"""Stopping pods by way of a runtime that has just been started again."""

from __future__ import annotations

import pytest

from cli.down import sandboxes_known
from cri.errors import CriError
from cri.fake import FakeRuntime, Fault
from proto import cri_pb2 as cri

NOT_YET = Fault(code="Unknown", message="server is not initialized yet")


async def test_a_runtime_is_given_time_to_find_what_there_is() -> None:
    runtime = FakeRuntime()
    sandbox = await runtime.run_pod_sandbox(cri.PodSandboxConfig(metadata=cri.PodSandboxMetadata(name="web", uid="u")))
    runtime.faults.arm("ListPodSandbox", NOT_YET, times=3)
    assert [each.id for each in await sandboxes_known(runtime)] == [sandbox]


async def test_one_that_never_does_is_reported() -> None:
    runtime = FakeRuntime()
    runtime.faults.arm("ListPodSandbox", NOT_YET, times=None)
    with pytest.raises(CriError, match="not initialized"):
        await sandboxes_known(runtime, deadline=0.1)
