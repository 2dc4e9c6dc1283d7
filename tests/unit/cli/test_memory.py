"""Giving freed memory back, in a process of its own: what pytest has strewn over its heap would blur the figures."""

from __future__ import annotations

import json
import subprocess
import sys

SCRIPT = """
import asyncio, json
from cli.memory import keep_giving_back

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096

async def main():
    many = [bytes(2000) for _ in range(50_000)]
    full = resident()
    few = many[::100]  # lives on, all over the heap
    del many
    freed = resident()
    keep_giving_back(asyncio.get_running_loop(), 0.01)
    await asyncio.sleep(0.1)
    print(json.dumps([full, freed, resident(), len(few)]))

asyncio.run(main())
"""


def test_what_was_freed_between_things_that_live_on_is_given_back() -> None:
    said = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, check=True, timeout=60).stdout
    full, freed, after, _ = json.loads(said)
    assert full - freed < 10_000_000, "glibc gave it back by itself: there is nothing to see"
    assert freed - after > 80_000_000
