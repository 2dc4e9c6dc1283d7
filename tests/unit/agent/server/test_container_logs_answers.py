"""`GET /containerLogs/…`: which log it is, what is wrong with the question, and following."""

import asyncio
import os
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from agent.server.containers import logged_container, running_container
from agent.server.http import Problem
from tests.unit.agent.pod_builders import pod
from tests.unit.agent.server.agent_server_harness import Bench, running_pod

STAMP = "2026-01-01T00:00:00.000000000Z"
LOG = "/containerLogs/default/web/app"


@pytest.fixture
def log(bench: Bench, tmp_path: Path) -> Path:
    """The log of the one container there is, which runs."""
    bench.host.held = [running_pod()]
    bench.host.running = {"c1"}
    path = tmp_path / "0.log"
    path.write_text("".join(f"{STAMP} stdout F line {n}\n" for n in range(3)))
    bench.host.logs = {"c1": str(path)}
    return path


async def test_a_log_is_shown(bench: Bench, log: Path) -> None:
    async with bench.session.get(LOG) as answer:
        assert answer.status == 200
        assert answer.headers["Content-Type"] == "text/plain"
        assert answer.headers["Transfer-Encoding"] == "chunked"
        assert await answer.text() == "line 0\nline 1\nline 2\n"
    assert await bench.get(f"{LOG}?tailLines=1&timestamps=true") == (200, f"{STAMP} line 2\n")
    assert await bench.get(f"{LOG}?limitBytes=8") == (200, "line 0\nl")


async def test_an_empty_log_is_an_answer(bench: Bench, log: Path) -> None:
    log.write_bytes(b"")
    assert await bench.get(LOG) == (200, "")


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (f"{LOG}?tailLines=x", (400, '{"message": "Unable to decode query."}')),
        (f"{LOG}?sinceTime=noon", (400, '{"message": "Unable to decode query."}')),
        (f"{LOG}?tailLines=-1", (422, '{"message": "Invalid request."}')),
        (f"{LOG}?limitBytes=0", (422, '{"message": "Invalid request."}')),
        (f"{LOG}?sinceSeconds=1&sinceTime=2026-01-01T00:00:00Z", (422, '{"message": "Invalid request."}')),
        ("/containerLogs/default/ghost/app", (404, 'pod "ghost" does not exist')),
        ("/containerLogs/kube-system/web/app", (404, 'pod "web" does not exist')),
        ("/containerLogs/default/web/ghost", (404, 'container "ghost" not found in pod "web"')),
        (f"{LOG}?previous=true", (400, 'previous terminated container "app" in pod "web" not found')),
    ],
)
async def test_questions_that_make_no_sense(bench: Bench, log: Path, path: str, expected: tuple[int, str]) -> None:
    assert await bench.get(path) == expected


async def test_a_log_that_is_gone(bench: Bench, log: Path) -> None:
    log.unlink()
    for query in ("", "?follow=true"):
        assert await bench.get(f"{LOG}{query}") == (
            400,
            f'failed to try resolving symlinks in path "{log}": lstat {log}: no such file or directory',
        )
    bench.host.logs.clear()
    assert await bench.get(LOG) == (400, "unable to retrieve container logs for containerd://c1")


async def test_following_ends_with_the_container(bench: Bench, log: Path) -> None:
    async with bench.session.get(f"{LOG}?follow=true") as answer:
        seen = b""
        while seen != b"line 0\nline 1\nline 2\n":
            seen += await answer.content.readany()
        with log.open("a") as file:
            file.write(f"{STAMP} stdout F more\n")
        assert await answer.content.readexactly(5) == b"more\n"
        bench.host.running.clear()
        assert await answer.content.read() == b""


async def test_following_a_log_that_is_still_empty_begins_at_once(bench: Bench, log: Path) -> None:
    log.write_bytes(b"")
    async with bench.session.get(f"{LOG}?follow=true") as answer:
        assert answer.status == 200
        with log.open("a") as file:
            file.write(f"{STAMP} stdout F first\n")
        assert await answer.content.readexactly(6) == b"first\n"


async def test_scenario_26_following_goes_on_over_a_rotation(bench: Bench, log: Path) -> None:
    async with bench.session.get(f"{LOG}?follow=true") as answer:
        await answer.content.readexactly(len("line 0\nline 1\nline 2\n"))
        os.rename(log, f"{log}.20260101-000000")
        log.write_text(f"{STAMP} stdout F after\n")
        assert await answer.content.readexactly(6) == b"after\n"


async def test_a_reader_who_leaves_lets_go_of_the_log(bench: Bench, log: Path) -> None:
    def descriptors() -> int:
        return sum(os.path.realpath(f"/proc/self/fd/{each}") == str(log) for each in os.listdir("/proc/self/fd"))

    answer = await bench.session.get(f"{LOG}?follow=true")
    await answer.content.readany()
    assert descriptors() == 1
    answer.close()
    async with asyncio.timeout(20):
        while descriptors():  # noqa: ASYNC110 - nobody tells of it
            await asyncio.sleep(0.01)


async def test_an_answer_that_breaks_off_does_not_look_whole(
    bench: Bench, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(_container: str) -> bool:
        raise OSError("the disk is gone")

    monkeypatch.setattr(bench.host, "container_running", broken)
    async with bench.session.get(f"{LOG}?follow=true") as answer:
        assert answer.status == 200
        with pytest.raises(aiohttp.ClientPayloadError):
            await answer.read()


def terminated(container: str = "") -> dict[str, Any]:
    return {"terminated": {"exitCode": 1, **({"containerID": container} if container else {})}}


@pytest.mark.parametrize(
    ("status", "found"),
    [
        ({"containerID": "cri://now", "state": {"running": {}}, "lastState": terminated("cri://was")}, "cri://now"),
        ({"state": terminated("cri://now"), "lastState": terminated("cri://was")}, "cri://now"),
        ({"state": terminated(), "lastState": terminated("cri://was")}, "cri://was"),
        ({"state": {"waiting": {"reason": "CrashLoopBackOff"}}, "lastState": terminated("cri://was")}, "cri://was"),
    ],
)
def test_the_log_is_that_of_the_latest_container(status: dict[str, Any], found: str) -> None:
    assert logged_container(running_pod(**status), "app", previous=False) == found


def test_the_previous_log_is_that_of_the_one_before() -> None:
    one = running_pod(containerID="cri://now", state={"running": {}}, lastState=terminated("cri://was"))
    assert logged_container(one, "app", previous=True) == "cri://was"


@pytest.mark.parametrize(
    ("status", "complaint"),
    [
        ({"state": {"waiting": {"reason": "ErrImagePull"}}}, "is waiting to start: image can't be pulled"),
        (
            {"state": {"waiting": {"reason": "ImagePullBackOff"}}},
            "is waiting to start: trying and failing to pull image",
        ),
        ({"state": {"waiting": {"reason": "ContainerCreating"}}}, "is waiting to start: ContainerCreating"),
        ({"state": terminated()}, "is terminated"),
        ({"state": {"waiting": {"reason": "x"}}, "lastState": terminated()}, "is terminated"),
        ({"state": {}}, "is waiting to start - no logs yet"),
    ],
)
def test_a_container_without_a_log_says_why(status: dict[str, Any], complaint: str) -> None:
    with pytest.raises(Problem) as raised:
        logged_container(running_pod(**status), "app", previous=False)
    assert (raised.value.status, raised.value.text) == (400, f'container "app" in pod "web" {complaint}')


def test_a_container_nobody_has_looked_at_yet_has_no_log() -> None:
    with pytest.raises(Problem, match='container "app" in pod "web" is not available'):
        logged_container(pod(), "app", previous=False)


def test_only_what_runs_can_be_entered() -> None:
    assert running_container(running_pod(), "app") == "c1"
    assert running_container(running_pod(containerID="cri://x", state=terminated("cri://x")), "app") == ""
    assert running_container(running_pod(), "ghost") == ""
