"""The distribution's containerd before our judge."""

from __future__ import annotations

from pathlib import Path

import pytest

from cri.client import RuntimeClient
from cri.conformance.demands import LIFE, PROCESSES
from cri.conformance.judge import Trial, judge
from tests.node.containerd import TOOLBOX, Containerd

pytestmark = pytest.mark.node


@pytest.mark.timeout(300)
async def test_containerd_does_what_the_agent_rests_upon(
    runtime: RuntimeClient, containerd: Containerd, tmp_path: Path
) -> None:
    verdicts = await judge(Trial(runtime, TOOLBOX, tmp_path, containerd.cgroup_parent), [*LIFE, *PROCESSES])
    assert [one for one in verdicts if not one.met] == []
