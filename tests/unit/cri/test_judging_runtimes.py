"""The judge of runtimes: the fake stands, and each of its lies is found out."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from client.clock import FakeClock
from cri.conformance.demands import LIFE
from cri.conformance.judge import Trial, judge
from cri.fake import FakeRuntime, Fault, Program
from proto import cri_pb2 as cri


def shell(config: cri.ContainerConfig) -> Program:
    """As much of a shell as the demands need."""
    command = list(config.command)
    if command[:2] == ["sh", "-c"] and command[2].startswith("exit "):
        return Program(runs_for=0.1, exit_code=int(command[2].removeprefix("exit ")))
    return Program()


@pytest.fixture
def fake() -> FakeRuntime:
    runtime = FakeRuntime(FakeClock())
    runtime.service.programs = shell
    runtime.images.add("app:1")
    return runtime


async def complaints(fake: FakeRuntime, folder: Path) -> dict[str, str]:
    verdicts = await judge(Trial(fake, "app:1", folder), LIFE)
    assert len(verdicts) == len(LIFE)
    return {one.demand: one.complaint for one in verdicts if not one.met}


async def test_the_fake_does_what_is_demanded(fake: FakeRuntime, tmp_path: Path) -> None:
    assert await complaints(fake, tmp_path) == {}
    assert fake.sandboxes == {}


def _ready_without_ip(fake: FakeRuntime) -> None:
    fake.lies.ready_without_ip = True


def _silent(fake: FakeRuntime) -> None:
    fake.lies.silent = True


def _no_network(fake: FakeRuntime) -> None:
    fake.service.network_ready = False


def _loses_codes(fake: FakeRuntime) -> None:
    fake.service.programs = lambda config: Program(runs_for=0.1) if config.command[0] == "sh" else Program()


def _refuses_repeated_removal(fake: FakeRuntime) -> None:
    fake.faults.arm("RemoveContainer", Fault(code="NotFound"), times=None, when=_of_an_absent_one(fake))


def _of_an_absent_one(fake: FakeRuntime) -> Callable[[object], bool]:
    return lambda request: request.container_id not in fake.containers  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("spoil", "found"),
    [
        (_ready_without_ip, {"gives a sandbox back as it was asked for"}),
        (_silent, {"tells what happens"}),
        (_no_network, {"says how it is"}),
        (_loses_codes, {"tells the exit code", "tells what happens"}),
        (_refuses_repeated_removal, {"stops what has ended and removes what is gone"}),
    ],
)
async def test_what_is_wrong_is_found_out(
    fake: FakeRuntime, tmp_path: Path, spoil: Callable[[FakeRuntime], None], found: set[str]
) -> None:
    spoil(fake)
    assert set(await complaints(fake, tmp_path)) == found
