"""Stopping pods by way of a runtime that has just been started again."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.volumes.kernel import FakeMounts
from cli.down import DownError, _remove_files, sandboxes_known
from cli.layout import Layout
from cli.settings import Settings
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


def test_a_folder_that_is_a_disk_of_its_own_is_given_back_empty(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    layout = Layout(tmp_path / "data", tmp_path / "config", tmp_path / "run")
    mounts = FakeMounts()
    mounts.mount(layout.data)
    monkeypatch.setattr("cli.down.LinuxMounts", lambda: mounts)
    layout.config.mkdir()
    (layout.data / "log" / "pods").mkdir(parents=True)
    (layout.data / "link").symlink_to("log")
    settings = Settings(layout=layout, node_name="node", node_ip="127.0.0.1", runtime_endpoint="unix:///other.sock")
    _remove_files(settings, purge=True)
    assert [one.name for one in tmp_path.iterdir()] == ["data"]
    assert not list(layout.data.iterdir())
    inside = layout.data / "agent"
    inside.mkdir()
    mounts.mount(inside)
    with pytest.raises(DownError, match=f"{inside} is still mounted"):
        _remove_files(settings, purge=True)
    assert inside.exists()
