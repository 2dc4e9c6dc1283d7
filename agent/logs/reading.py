"""Records out of a log file, chosen and shown as a reader wants them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import BinaryIO

from agent.logs.options import LogOptions
from agent.logs.records import padded_stamp, parse_record

BLOCK = 64 * 1024
LONGEST_RECORD = 1 << 20  # runtimes cut at 16 KiB; what is longer than this is no record


class Rendering:
    """Turns lines of the file into what the reader sees, and knows when they have seen enough."""

    def __init__(self, options: LogOptions) -> None:
        self._options = options
        self._left = options.limit
        self._fresh = True
        self._since = options.since

    @property
    def exhausted(self) -> bool:
        """Whether the limit of bytes is reached."""
        return self._left == 0

    def show(self, line: bytes) -> bytes:
        """What the reader sees of a line of the file; b"" for nothing."""
        record = parse_record(line)
        if record is None or (self._options.stream not in (None, record.stream)):
            return b""
        if self._since is not None and padded_stamp(record.stamp) < self._since:
            return b""
        text = record.text
        if self._options.timestamps and self._fresh:
            text = padded_stamp(record.stamp) + b" " + text
        self._fresh = not record.partial
        if self._left is not None:
            text = text[: self._left]
            self._left -= len(text)
        return text


class Lines:
    """The whole lines of a file that may still be written; a last line without its newline is kept for later."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._rest = b""

    def take(self) -> Iterator[bytes]:
        """The lines that are complete by now."""
        while block := self._file.read(BLOCK):
            lines = (self._rest + block).splitlines(keepends=True)
            self._rest = lines.pop() if not lines[-1].endswith(b"\n") else b""
            if len(self._rest) > LONGEST_RECORD:
                self._rest = b""
            yield from lines


def seek_tail(file: BinaryIO, count: int) -> None:
    """Position `file` at the start of its last `count` lines."""
    size = file.seek(0, os.SEEK_END)
    if count == 0:
        return
    wanted, position = count + 1, size  # the newline that ends the line before the first that is wanted
    while position > 0:
        start = max(0, position - BLOCK)
        file.seek(start)
        block = file.read(position - start)
        if position == size and not block.endswith(b"\n"):
            wanted -= 1  # the last line is unfinished and ends without one
        found = block.count(b"\n")
        if found >= wanted:
            at = len(block)
            for _ in range(wanted):
                at = block.rindex(b"\n", 0, at)
            file.seek(start + at + 1)
            return
        wanted -= found
        position = start
    file.seek(0)
