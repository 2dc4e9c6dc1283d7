"""From the bytes of a watch to its events.

A watch is one JSON document a line. Lines may be of any length (a ConfigMap of 1 MiB makes one of more than that) and
come in pieces of any size, so the framing here neither limits a line nor looks at a byte twice.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TypeVar

import msgspec

from api import codec
from api import meta_v1 as meta
from api.errors import StatusError
from client.errors import BadAnswer
from client.interface import EventType, WatchEvent

T = TypeVar("T", bound=meta.Object)


class _Frame(msgspec.Struct):
    type: str
    object: msgspec.Raw


_frames = msgspec.json.Decoder(_Frame)
_types = {kind.value: kind for kind in EventType}


async def lines(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Cut a stream of chunks into lines, without their ends. A last line without an end was cut off: it is dropped."""
    pending: list[bytes] = []
    async for chunk in chunks:
        first, *rest = chunk.split(b"\n")
        pending.append(first)
        if not rest:
            continue
        complete = [b"".join(pending), *rest[:-1]]
        pending = [rest[-1]]
        for line in complete:
            if line.strip():
                yield line


async def events(framed: AsyncIterator[bytes], cls: type[T]) -> AsyncIterator[WatchEvent[T]]:
    """Decode lines; raises StatusError for an ERROR event, BadAnswer for what is not a watch event."""
    async for line in framed:
        yield decode_event(line, cls)


def decode_event(line: bytes, cls: type[T]) -> WatchEvent[T]:
    """Decode one line of a watch. Raises as `events` does."""
    try:
        frame = _frames.decode(line)
        raw = bytes(frame.object)
        if frame.type == "ERROR":
            raise StatusError(codec.decode(raw, meta.Status))
        return WatchEvent(_types[frame.type], codec.decode(raw, cls))
    except (msgspec.MsgspecError, codec.DecodeError) as error:
        raise BadAnswer(f"watch {cls.__name__}: {error}") from error
    except KeyError as error:
        raise BadAnswer(f"watch {cls.__name__}: unknown event type {error}") from error
