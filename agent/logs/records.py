"""One record of a container log, as CRI runtimes write it.

`2016-10-06T00:17:09.669794202Z stdout F the text`: time with nanoseconds, stream, tags, text. The tag `P` says that the
line goes on in the next record of the stream (a runtime cuts lines at 16 KiB), `F` that it ends here. Source: the CRI
log format of the container runtime interface's design document. Docker, behind its CRI adapter, writes objects of JSON
instead, one a line.
"""

from __future__ import annotations

from dataclasses import dataclass

import msgspec


@dataclass(frozen=True, slots=True)
class Record:
    """A record. `stamp` is its time as written, which sorts as text; `text` has its newline unless it is partial."""

    stamp: bytes
    stream: bytes
    text: bytes
    partial: bool


def parse_record(line: bytes) -> Record | None:
    """The record in a line of the file, given with its newline; None for a line that is no record."""
    if line.startswith(b"{"):
        return _docker_record(line)
    parts = line.split(b" ", 3)
    if len(parts) < 3 or parts[1] not in (b"stdout", b"stderr"):
        return None
    if len(parts) == 3:  # an empty line: the runtime writes no space after the tags then
        parts = [parts[0], parts[1], parts[2].rstrip(b"\n"), b"\n"]
    partial = parts[2].partition(b":")[0] == b"P"
    text = parts[3]
    if partial and text.endswith(b"\n"):
        text = text[:-1]
    return Record(parts[0], parts[1], text, partial)


class _DockerRecord(msgspec.Struct):
    log: str
    stream: str = "stdout"
    time: str = ""


_docker_decoder = msgspec.json.Decoder(_DockerRecord)


def _docker_record(line: bytes) -> Record | None:
    try:
        found = _docker_decoder.decode(line)
    except msgspec.DecodeError:
        return None
    text = found.log.encode("utf-8", "replace")
    return Record(found.time.encode(), found.stream.encode(), text, partial=not text.endswith(b"\n"))


def padded_stamp(stamp: bytes) -> bytes:
    """A record's time with all nine digits of its fraction, as readers are shown it and as it sorts."""
    head, dot, rest = stamp.partition(b".")
    if not dot:
        return head[:-1] + b".000000000Z" if head.endswith(b"Z") else head
    digits = len(rest) - len(rest.lstrip(b"0123456789"))
    return head + b"." + rest[:digits].ljust(9, b"0") + rest[digits:]
