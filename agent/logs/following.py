"""Reading a log while it is written, over rotations, until its container has ended.

Nothing is lost and nothing comes twice: the reader holds the file it reads open, so that a rename does not matter, and
leaves it only when the next file has been begun *and written to*. A runtime opens the new file first and lets go of the
old one after, so what it writes in between still goes to the old file, which is read to its end once more.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import ExitStack
from typing import BinaryIO

import asyncinotify

from agent.logs import generations
from agent.logs.options import LogOptions
from agent.logs.reading import Lines, Rendering, seek_tail

# A container's end is no event of its log file, so while somebody waits at its end the container is asked after. The
# same period serves where the kernel gives no more inotify instances (fs.inotify.max_user_instances).
GLANCE = 1.0
SEND = 32 * 1024


async def read_log(
    file: BinaryIO, options: LogOptions, running: Callable[[], Awaitable[bool]]
) -> AsyncGenerator[bytes, None]:
    """What the reader of a log sees, in pieces. `file` is the log, opened at the path where its runtime writes it.

    `running` says whether the container still runs. Raises OSError.
    """
    path, inode = file.name, os.fstat(file.fileno()).st_ino
    rendering = Rendering(options)
    if options.tail is not None:
        seek_tail(file, options.tail)
    with ExitStack() as opened:
        watch: _Watch | None = None
        lines = Lines(file)
        asked, begun_at, ended_at = -GLANCE, 0.0, 0.0
        while True:
            async for piece in _render(lines, rendering):
                yield piece
            if rendering.exhausted or not options.follow:
                return
            watch = watch or opened.enter_context(_Watch(path))
            now = time.monotonic()
            following = generations.successor(path, inode)
            if following is not None and (ended_at or _begun(following)):
                begun_at = begun_at or now
                if inode in watch.closed or now - begun_at >= GLANCE:
                    async for piece in _render(lines, rendering):
                        yield piece
                    file.close()
                    file = opened.enter_context(open(following, "rb"))
                    inode, begun_at = os.fstat(file.fileno()).st_ino, 0.0
                    lines = Lines(file)
                    continue
            # What a container said last may still be on its way through the runtime when it has ended.
            elif ended_at and (inode in watch.closed or now - ended_at >= GLANCE):
                return
            quiet = not await watch.changed(GLANCE)
            # Events of the folder may come without end: from the log of the container that was started after ours.
            if not ended_at and (quiet or now - asked >= GLANCE):
                asked = now
                ended_at = 0.0 if await running() else time.monotonic()


async def _render(lines: Lines, rendering: Rendering) -> AsyncIterator[bytes]:
    """What there is to see by now, in pieces worth sending."""
    pieces: list[bytes] = []
    size = seen = 0
    for line in lines.take():
        shown = rendering.show(line)
        if shown:
            pieces.append(shown)
            size += len(shown)
        if size >= SEND:
            yield b"".join(pieces)
            pieces, size = [], 0
        if rendering.exhausted:
            break
        seen += len(line)
        if seen >= SEND:
            seen = 0
            await asyncio.sleep(0)  # a long log of which nothing is to be seen must not hold up everybody else
    if pieces:
        yield b"".join(pieces)


def _begun(path: str) -> bool:
    try:
        return os.stat(path).st_size > 0
    except FileNotFoundError:
        return False


class _Watch:
    """Waits for something to happen in a log's folder: by inotify, or by the clock where there is none left."""

    def __init__(self, path: str) -> None:
        self._folder = os.path.dirname(path)
        self._inotify: asyncinotify.Inotify | None = None
        self._glanced = False
        self.closed: set[int] = set()
        """Inodes of files that whoever wrote them has closed."""

    def __enter__(self) -> _Watch:
        mask = (
            asyncinotify.Mask.MODIFY
            | asyncinotify.Mask.CREATE
            | asyncinotify.Mask.MOVED_TO
            | asyncinotify.Mask.CLOSE_WRITE
        )
        try:
            self._inotify = asyncinotify.Inotify()
            self._inotify.add_watch(self._folder, mask)
        except OSError:
            self._close()
        return self

    def __exit__(self, *_: object) -> None:
        self._close()

    def _close(self) -> None:
        if self._inotify is not None:
            self._inotify.close()
            self._inotify = None

    async def changed(self, within: float) -> bool:
        """True as soon as something may have changed, False when `within` seconds passed without a sign."""
        if not self._glanced:
            self._glanced = True  # what changed before the watch was set up gave no event
            return True
        if self._inotify is None:
            await asyncio.sleep(within)
            return False
        try:
            async with asyncio.timeout(within):
                event = await self._inotify.get()
        except TimeoutError:
            return False
        if event.mask & asyncinotify.Mask.CLOSE_WRITE and event.name is not None:
            inode = generations.inode_of(os.path.join(self._folder, event.name))
            if inode is not None:
                self.closed.add(inode)
        return True
