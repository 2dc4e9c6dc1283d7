"""Lines of a watch: of any length, in pieces of any size, and never a cut one."""

import json
import tracemalloc
from collections.abc import AsyncIterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api import core_v1 as core
from api.errors import StatusError
from client.errors import BadAnswer
from client.interface import EventType
from client.watching import decode_event, lines


async def _pieces(data: bytes, size: int) -> AsyncIterator[bytes]:
    for start in range(0, len(data), size):
        yield data[start : start + size]


@given(st.lists(st.binary(min_size=1).filter(lambda b: b"\n" not in b and b.strip()), max_size=8), st.integers(1, 50))
async def test_lines_come_out_whole_however_they_are_cut(wanted: list[bytes], size: int) -> None:
    data = b"".join(line + b"\n" for line in wanted)
    assert [line async for line in lines(_pieces(data, size))] == wanted


async def test_a_last_line_without_an_end_is_dropped() -> None:
    assert [line async for line in lines(_pieces(b"whole\ncut", 3))] == [b"whole"]


async def test_a_huge_line_is_read_in_linear_time_and_space() -> None:
    """8 MiB in pieces of 4 KiB: joined once, not 2,000 times."""
    line = b"x" * (8 << 20)
    tracemalloc.start()
    got = [found async for found in lines(_pieces(line + b"\n", 4096))]
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert got == [line]
    assert peak < 5 * len(line)


def _line(type_: str, obj: object) -> bytes:
    return json.dumps({"type": type_, "object": obj}).encode()


def test_an_event_carries_its_object() -> None:
    event = decode_event(_line("ADDED", {"kind": "Pod", "metadata": {"name": "web"}}), core.Pod)
    assert event.type is EventType.ADDED
    assert event.object.metadata.name == "web"


def test_an_error_event_is_raised_as_the_status_it_carries() -> None:
    status = {"kind": "Status", "status": "Failure", "code": 410, "reason": "Expired", "message": "too old"}
    with pytest.raises(StatusError) as raised:
        decode_event(_line("ERROR", status), core.Pod)
    assert (raised.value.code, raised.value.reason) == (410, "Expired")


@pytest.mark.parametrize(
    "line", [b"<html>", b"{}", b'{"type": "ADDED"}', _line("EXPLODED", {}), _line("ADDED", {"metadata": 7})]
)
def test_what_is_no_event_is_a_bad_answer(line: bytes) -> None:
    with pytest.raises(BadAnswer):
        decode_event(line, core.Pod)
