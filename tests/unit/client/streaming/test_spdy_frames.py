"""SPDY frames as bytes: both directions agree, and garbage is refused in one way only."""

import itertools
import struct
import zlib
from collections.abc import Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from client.streaming.frames import (
    DICTIONARY,
    MAX_HEADERS,
    Control,
    Data,
    Frame,
    FrameReader,
    FrameWriter,
    Kind,
    SpdyError,
)

NUMBERS = st.integers(1, (1 << 31) - 1)
HEADERS = st.dictionaries(st.text("abcxyz-/1", max_size=9), st.text(max_size=20), max_size=3)


def read(data: bytes) -> list[Frame]:
    return list(FrameReader().feed(data))


def test_the_dictionary_is_the_one_that_the_draft_prints() -> None:
    # Compressors name the dictionary they start from by this checksum; it stands in every SPDY/3 capture.
    assert zlib.adler32(DICTIONARY) == 0xE3C6A7C2
    assert len(DICTIONARY) == 1423


def test_every_frame_comes_out_as_it_went_in() -> None:
    writer = FrameWriter()
    sent = [
        writer.open_stream(1, {"streamType": "stdin"}),
        writer.open_stream(3, {"streamtype": "stdout", "empty": ""}, fin=True),
        writer.reply(1, {}),
        writer.ping(7),
        writer.reset(3, 5),
        writer.go_away(3),
        writer.data(1, b"payload"),
        writer.data(1, b"", fin=True),
    ]
    assert read(b"".join(sent)) == [
        Control(Kind.SYN_STREAM, 1, headers={"streamtype": "stdin"}),
        Control(Kind.SYN_STREAM, 3, fin=True, headers={"streamtype": "stdout", "empty": ""}),
        Control(Kind.SYN_REPLY, 1),
        Control(Kind.PING, 7),
        Control(Kind.RST_STREAM, 3, code=5),
        Control(Kind.GOAWAY, 3),
        Data(1, b"payload"),
        Data(1, b"", fin=True),
    ]


def test_bytes_are_laid_out_as_the_draft_draws_them() -> None:
    writer = FrameWriter()
    assert writer.data(5, b"ab", fin=True) == bytes.fromhex("00000005 01 000002") + b"ab"
    assert writer.ping(2) == bytes.fromhex("80030006 00 000004 00000002")
    assert writer.reset(1, 3) == bytes.fromhex("80030003 00 000008 00000001 00000003")
    opened = writer.open_stream(1, {})
    assert opened[:4] == bytes.fromhex("80030001")
    assert opened[8:18] == bytes.fromhex("00000001 00000000 0000")
    assert opened[20:24] == bytes.fromhex("e3c6a7c2")  # zlib's head, of two bytes, names the dictionary


@given(
    st.lists(st.tuples(NUMBERS, HEADERS, st.binary(max_size=60), st.booleans()), max_size=4),
    st.lists(st.integers(1, 40), min_size=1, max_size=8),
)
@settings(deadline=None)
def test_frames_survive_any_cut_of_the_bytes(
    streams: list[tuple[int, dict[str, str], bytes, bool]], cuts: list[int]
) -> None:
    writer, expected, sent = FrameWriter(), [], b""
    for number, headers, payload, fin in streams:
        sent += writer.open_stream(number, headers) + writer.data(number, payload, fin=fin)
        expected += [Control(Kind.SYN_STREAM, number, headers=headers), Data(number, payload, fin)]
    reader, seen = FrameReader(), []
    sizes = itertools.cycle(cuts)
    while sent:
        size = next(sizes)
        seen += list(reader.feed(sent[:size]))
        sent = sent[size:]
    assert seen == expected


def test_what_is_not_used_is_passed_over() -> None:
    settings_frame = bytes.fromhex("80030004 00 00000c 00000001 00000004 00000064")
    credential = bytes.fromhex("8003000a 00 000002 0000")  # a kind that no side here knows
    window = bytes.fromhex("80030009 00 000008 00000001 00010000")
    frames = read(settings_frame + credential + window + FrameWriter().ping(1))
    assert frames == [Control(Kind.WINDOW_UPDATE, 1, code=0x10000), Control(Kind.PING, 1)]


def block(headers: Iterable[tuple[bytes, bytes]], *, count: int | None = None) -> bytes:
    pairs = [struct.pack(">I", len(text)) + text for pair in headers for text in pair]
    plain = struct.pack(">I", len(pairs) // 2 if count is None else count) + b"".join(pairs)
    deflate = zlib.compressobj(zdict=DICTIONARY)
    return deflate.compress(plain) + deflate.flush(zlib.Z_SYNC_FLUSH)


def syn_reply(body: bytes) -> bytes:
    whole = struct.pack(">I", 1) + body
    return struct.pack(">HHB", 0x8003, 2, 0) + len(whole).to_bytes(3, "big") + whole


@pytest.mark.parametrize(
    "data",
    [
        bytes.fromhex("80020006 00 000004 00000001"),  # version 2
        bytes.fromhex("80030006 00 000002 0000"),  # too short a body
        bytes.fromhex("80030001 00 000000"),
        syn_reply(b"no zlib"),
        syn_reply(block([], count=3)),  # fewer headers than promised
        syn_reply(block([(b"\xff", b"x")])),  # no UTF-8
        syn_reply(block([(b"bomb", bytes(MAX_HEADERS))])),
    ],
    ids=["version", "short", "empty", "no zlib", "missing", "encoding", "bomb"],
)
def test_malformed_frames_are_refused(data: bytes) -> None:
    with pytest.raises(SpdyError):
        read(data)


@given(st.binary(max_size=400))
@settings(max_examples=300, deadline=None)
def test_garbage_gives_frames_or_a_spdy_error_and_nothing_else(data: bytes) -> None:
    try:
        read(data)
    except SpdyError:
        pass


@given(st.sampled_from(list(Kind)), st.binary(max_size=60), st.integers(0, 255))
@settings(deadline=None)
def test_garbage_in_well_framed_frames_is_no_different(kind: Kind, body: bytes, flags: int) -> None:
    head = struct.pack(">HHB", 0x8003, kind, flags) + len(body).to_bytes(3, "big")
    try:
        read(head + body)
    except SpdyError:
        pass
