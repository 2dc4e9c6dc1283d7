"""`kubectl logs` in all its forms, and what it must not lose when a log is rotated under it."""

from __future__ import annotations

import asyncio
import gzip
import os
from pathlib import Path

import pytest

from agent.logs import generations
from agent.logs.following import read_log
from agent.logs.options import InvalidOptions, LogOptions, OptionsError, UndecodableOptions, parse_options
from agent.logs.records import Record, padded_stamp, parse_record
from agent.logs.rotating import LogRotator, plan_rotation
from client.clock import SystemClock

STAMP = b"2026-01-02T03:04:%02d.%09dZ"


def record(number: int, text: str = "", stream: str = "stdout", tag: str = "F") -> bytes:
    return STAMP % (number // 10 % 60, number) + f" {stream} {tag} {text or f'line {number}'}\n".encode()


async def everything(path: Path, options: LogOptions, running: bool = False) -> bytes:
    async def still_running() -> bool:
        return running

    with path.open("rb") as file:
        return b"".join([piece async for piece in read_log(file, options, still_running)])


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "0.log"
    path.write_bytes(b"".join(record(number) for number in range(100)))
    return path


async def test_everything_is_shown_in_order(log: Path) -> None:
    assert await everything(log, LogOptions()) == b"".join(b"line %d\n" % n for n in range(100))


@pytest.mark.parametrize("count", [0, 1, 7, 99, 100, 1000])
async def test_tail_shows_the_last_lines(log: Path, count: int) -> None:
    shown = (await everything(log, LogOptions(tail=count))).splitlines()
    assert shown == [b"line %d" % n for n in range(max(0, 100 - count), 100)]


async def test_tail_of_a_log_of_many_blocks(tmp_path: Path) -> None:
    path = tmp_path / "0.log"
    path.write_bytes(b"".join(record(number, "x" * (number % 900)) for number in range(1000)))
    shown = (await everything(path, LogOptions(tail=500))).splitlines()
    assert [len(line) for line in shown] == [n % 900 or len(f"line {n}") for n in range(500, 1000)]


async def test_timestamps_have_nine_digits_and_only_whole_lines_get_one(tmp_path: Path) -> None:
    path = tmp_path / "0.log"
    path.write_bytes(
        b"2026-01-02T03:04:05.12Z stdout P first \n2026-01-02T03:04:05.2Z stdout F half\n"
        b"2026-01-02T03:04:06Z stderr F b\n"
    )
    assert await everything(path, LogOptions(timestamps=True)) == (
        b"2026-01-02T03:04:05.120000000Z first half\n2026-01-02T03:04:06.000000000Z b\n"
    )


async def test_since_limit_and_stream(log: Path) -> None:
    log.write_bytes(log.read_bytes() + record(100, "complaint", "stderr"))
    assert await everything(log, LogOptions(stream=b"stderr")) == b"complaint\n"
    assert await everything(log, LogOptions(limit=10)) == b"line 0\nlin"
    since = padded_stamp(STAMP % (9, 95))
    assert (await everything(log, LogOptions(since=since))).splitlines()[0] == b"line 95"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (b"t stdout F text\n", Record(b"t", b"stdout", b"text\n", False)),
        (b"t stderr P text\n", Record(b"t", b"stderr", b"text", True)),
        (b"t stdout P:x text\n", Record(b"t", b"stdout", b"text", True)),
        (b"t stdout F \n", Record(b"t", b"stdout", b"\n", False)),
        (b"t stdout F\n", Record(b"t", b"stdout", b"\n", False)),
        (b"t stdout F a  b\n", Record(b"t", b"stdout", b"a  b\n", False)),
        (b'{"log":"a b\\n","stream":"stderr","time":"t"}\n', Record(b"t", b"stderr", b"a b\n", False)),
        (b'{"log":"half","stream":"stdout","time":"t"}\n', Record(b"t", b"stdout", b"half", True)),
        (b"{no json\n", None),
        (b"\n", None),
        (b"garbage without sense\n", None),
    ],
)
def test_records(line: bytes, expected: Record | None) -> None:
    assert parse_record(line) == expected


async def test_an_unfinished_last_line_is_left_for_later(tmp_path: Path) -> None:
    path = tmp_path / "0.log"
    path.write_bytes(record(1) + record(2)[:-4])
    assert await everything(path, LogOptions()) == b"line 1\n"


class Writer:
    """A container that writes numbered lines, in a log that is rotated like a runtime does it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.file = path.open("ab", buffering=0)
        self.written = 0
        self.running = True

    def write(self, count: int = 1) -> None:
        for _ in range(count):
            self.file.write(record(self.written))
            self.written += 1

    def reopen(self) -> None:
        old, self.file = self.file, self.path.open("ab", buffering=0)
        old.write(record(self.written))  # what was under way when the new file was opened
        self.written += 1
        old.close()

    async def is_running(self) -> bool:
        return self.running

    def expected(self) -> bytes:
        return b"".join(b"line %d\n" % number for number in range(self.written))


class Reader:
    """Follows a log in the background."""

    def __init__(self, group: asyncio.TaskGroup, writer: Writer, options: LogOptions) -> None:
        self.seen = b""
        self.changed = asyncio.Event()
        self.task = group.create_task(self._follow(writer, options))

    async def _follow(self, writer: Writer, options: LogOptions) -> None:
        with writer.path.open("rb") as file:
            async for piece in read_log(file, options, writer.is_running):
                self.seen += piece
                self.changed.set()

    async def until(self, size: int) -> None:
        async with asyncio.timeout(20):
            while len(self.seen) < size:
                self.changed.clear()
                await self.changed.wait()


async def test_following_goes_on_over_rotations_without_loss_or_repetition(tmp_path: Path) -> None:
    writer = Writer(tmp_path / "0.log")

    async def logs() -> dict[str, str]:
        return {"c": str(writer.path)}

    async def reopen(_container: str) -> None:
        writer.reopen()

    rotator = LogRotator(logs, reopen, SystemClock(), max_size=2000, max_files=4)
    async with asyncio.TaskGroup() as group:
        reader = Reader(group, writer, LogOptions(follow=True))
        writer.write()
        await reader.until(1)
        for _ in range(12):
            writer.write(60)
            await rotator.rotate_all()
            writer.write(3)
            await reader.until(len(writer.expected()))
        writer.running = False
    writer.file.close()
    assert reader.seen == writer.expected()
    files = generations.rotated(str(writer.path))
    assert len(files) == 3
    assert [file.endswith(".gz") for file in files] == [True, True, False]


async def test_a_follower_that_is_behind_by_several_rotations_reads_them_all(tmp_path: Path) -> None:
    writer = Writer(tmp_path / "0.log")
    gate, begun = asyncio.Event(), asyncio.Event()
    seen = []

    async def follow() -> None:
        with writer.path.open("rb") as file:
            async for piece in read_log(file, LogOptions(follow=True), writer.is_running):
                seen.append(piece)
                begun.set()
                await gate.wait()

    async with asyncio.TaskGroup() as group:
        writer.write(5)
        group.create_task(follow())
        await begun.wait()
        for number in range(3):
            os.rename(writer.path, f"{writer.path}.2026010{number}-000000")
            writer.reopen()
            writer.write(5)
        writer.running = False
        gate.set()
    writer.file.close()
    assert b"".join(seen) == writer.expected()


async def test_following_ends_with_the_container(tmp_path: Path) -> None:
    writer = Writer(tmp_path / "0.log")
    writer.write(3)
    async with asyncio.timeout(20), asyncio.TaskGroup() as group:
        reader = Reader(group, writer, LogOptions(follow=True, tail=1))
        await reader.until(1)
        writer.write(2)
        writer.running = False
    writer.file.close()
    assert reader.seen == b"line 2\nline 3\nline 4\n"


async def test_following_works_without_inotify(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def exhausted() -> None:
        raise OSError(24, "Too many open files")

    monkeypatch.setattr("agent.logs.following.asyncinotify.Inotify", exhausted)
    writer = Writer(tmp_path / "0.log")
    async with asyncio.TaskGroup() as group:
        reader = Reader(group, writer, LogOptions(follow=True))
        writer.write(3)
        await reader.until(len(writer.expected()))
        writer.running = False
    writer.file.close()
    assert reader.seen == writer.expected()


async def test_a_log_the_runtime_cannot_reopen_keeps_its_name(log: Path) -> None:
    async def logs() -> dict[str, str]:
        return {"c": str(log)}

    async def refuse(_container: str) -> None:
        raise OSError("the runtime is away")

    before = log.read_bytes()
    await LogRotator(logs, refuse, SystemClock(), max_size=1).rotate_all()
    assert log.read_bytes() == before
    assert generations.rotated(str(log)) == []


async def test_rotated_logs_are_compressed_whole(log: Path) -> None:
    async def logs() -> dict[str, str]:
        return {"c": str(log)}

    async def reopen(_container: str) -> None:
        log.write_bytes(b"new")

    before = log.read_bytes()
    rotator = LogRotator(logs, reopen, SystemClock(), max_size=1)
    await rotator.rotate_all()
    await rotator.rotate_all()
    oldest, newest = generations.rotated(str(log))
    assert gzip.decompress(Path(oldest).read_bytes()) == before
    assert Path(newest).read_bytes() == b"new"


def test_the_plan_of_a_rotation() -> None:
    older = ["l.0001.gz", "l.0002.gz", "l.0003.gz", "l.0004"]
    plan = plan_rotation("l", older, 0, 5)
    assert plan.remove == ["l.0001.gz"]
    assert plan.compress == ["l.0004"]
    assert plan.rename_to == "l.19700101-000000"
    assert plan_rotation("l", ["l.19700101-000000.gz"], 0, 5).rename_to == "l.19700101-000000-1"
    assert plan_rotation("l", ["l.2100"], 0, 5).rename_to == "l.2100-1"
    assert plan_rotation("l", older, 0, 2).remove == older


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({}, LogOptions()),
        (
            {"follow": "true", "timestamps": "1", "previous": ""},
            LogOptions(follow=True, timestamps=True, previous=True),
        ),
        ({"follow": "false"}, LogOptions()),
        ({"tailLines": "5", "limitBytes": "7"}, LogOptions(tail=5, limit=7)),
        ({"tail": "all"}, LogOptions()),
        ({"sinceSeconds": "10"}, LogOptions(since=b"1970-01-01T00:01:30.000000000Z")),
        ({"sinceTime": "2026-01-02T03:04:05+01:00"}, LogOptions(since=b"2026-01-02T02:04:05.000000000Z")),
        ({"stream": "Stderr"}, LogOptions(stream=b"stderr")),
    ],
)
def test_queries(query: dict[str, str], expected: LogOptions) -> None:
    assert parse_options(query, now=100) == expected


@pytest.mark.parametrize(
    ("query", "error"),
    [
        ({"tailLines": "x"}, UndecodableOptions),
        ({"limitBytes": "9223372036854775808"}, UndecodableOptions),
        ({"sinceTime": "yesterday"}, UndecodableOptions),
        ({"sinceTime": "2026-01-02T03:04:05"}, UndecodableOptions),
        ({"tailLines": "-1"}, InvalidOptions),
        ({"limitBytes": "0"}, InvalidOptions),
        ({"sinceSeconds": "0"}, InvalidOptions),
        ({"stream": "other"}, InvalidOptions),
        ({"stream": "Stdout", "tailLines": "3"}, InvalidOptions),
        ({"sinceSeconds": "1", "sinceTime": "2026-01-02T03:04:05Z"}, InvalidOptions),
    ],
)
def test_bad_queries_are_refused(query: dict[str, str], error: type[OptionsError]) -> None:
    with pytest.raises(error):
        parse_options(query, now=100)


def test_a_span_longer_than_time_itself_is_everything() -> None:
    since = parse_options({"sinceSeconds": "9223372036854775807"}, now=100).since
    assert since == b"1970-01-01T00:00:00.000000000Z"


def test_the_older_name_of_tail_goes_first() -> None:
    assert parse_options({"tail": "3", "tailLines": "5"}, now=0).tail == 3
    assert parse_options({"tail": "all", "tailLines": "5"}, now=0).tail is None
