"""containerd's configuration: valid TOML that keeps to our own folders and heeds what this machine lacks."""

from __future__ import annotations

import subprocess
import tomllib
from pathlib import Path

import pytest

from cli.capabilities import has_capability
from cli.containerd import CAP_SYS_RESOURCE, ContainerdError, configuration, wait_until_it_answers
from cli.layout import Layout

LAYOUT = Layout(Path("/a/data"), Path("/a/config"), Path("/a/run"))
CRI = "io.containerd.grpc.v1.cri"


def strings(value: object) -> list[str]:
    if isinstance(value, dict):
        return [text for child in value.values() for text in strings(child)]
    if isinstance(value, list):
        return [text for child in value for text in strings(child)]
    return [value] if isinstance(value, str) else []


def test_every_path_is_one_of_ours() -> None:
    config = tomllib.loads(configuration(LAYOUT, restrict_oom_score=False))
    paths = [text for text in strings(config) if text.startswith("/")]
    assert len(paths) >= 7
    assert all(path.startswith(("/a/data/", "/a/run/", "/a/config/")) for path in paths)


@pytest.mark.parametrize("restricted", [True, False])
def test_a_negative_oom_score_is_not_asked_for_where_the_kernel_would_refuse(restricted: bool) -> None:
    config = tomllib.loads(configuration(LAYOUT, restrict_oom_score=restricted))
    assert config["plugins"][CRI]["restrict_oom_score_adj"] is restricted


@pytest.mark.parametrize(
    ("mask", "expected"), [("000001ffffffffff", True), ("000001fffeffffff", False), ("0000000001000000", True)]
)
def test_capabilities_are_read_from_the_effective_set(mask: str, expected: bool) -> None:
    status = f"Name:\tx\nCapInh:\t0000000000000000\nCapPrm:\t000001ffffffffff\nCapEff:\t{mask}\nCapBnd:\tffff\n"
    assert has_capability(CAP_SYS_RESOURCE, status) is expected


def test_a_containerd_that_ends_at_once_is_not_waited_for(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with log.open("wb") as output:
        process = subprocess.Popen(["sh", "-c", "echo first; echo read-only file system; exit 3"], stdout=output)
        with pytest.raises(ContainerdError, match="start containerd: it ended with 3: read-only file system"):
            wait_until_it_answers(Layout(run=tmp_path), process, log)
