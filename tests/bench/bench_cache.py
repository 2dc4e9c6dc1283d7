"""What lists and changes cost in the cache, in CPU, with 2,000 pods of the usual size.

Run by hand: `python -m tests.bench.bench_cache`.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Mapping

from controlplane.apiserver.cache import Caches
from controlplane.apiserver.caching.encoding import list_body
from controlplane.apiserver.caching.entries import Selection, Shape
from controlplane.store.interface import Change
from controlplane.store.memory import MemoryStore

SHAPE = Shape("/registry/pods/", True, "v1", "Pod", json.loads, {"spec.nodeName": "", "status.phase": ""})
PODS = 2000


class Absent:
    """The selector app=absent."""

    def matches(self, values: Mapping[str, str], /) -> bool:
        return values.get("app") == "absent"


def pod(number: int) -> bytes:
    metadata = {"name": f"pod-{number}", "namespace": "default", "labels": {"app": f"web-{number % 50}", "tier": "x"}}
    containers = [{"name": "c", "image": "busybox", "env": [{"name": f"E{n}", "value": "v" * 30} for n in range(50)]}]
    document = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": containers}}
    return json.dumps(document, separators=(",", ":")).encode()


def timed(what: str, times: int, work: Callable[[], object], each: int = 1) -> None:
    begun = time.process_time()
    for _ in range(times):
        work()
    print(f"{what}: {(time.process_time() - begun) / times / each * 1e6:.1f} us")


async def main() -> None:
    store = MemoryStore()
    for number in range(PODS):
        await store.write(SHAPE.key("default", f"pod-{number}"), pod(number), expect=0)
    caches = Caches(store)
    cache = caches.declare(SHAPE)
    begun = time.process_time()
    await caches.start()
    print(f"start: {(time.process_time() - begun) * 1e3:.1f} ms, {len(pod(0))} bytes a pod")
    timed("list of all as bytes", 20, lambda: list_body(SHAPE, cache.list(Selection("default"))))
    by_label = Selection("default", labels=Absent())
    timed("list by label, first time", 1, lambda: cache.list(by_label))
    timed("list by label, again", 20, lambda: cache.list(by_label))
    entry = next(cache.entries())
    timed("labels and fields of one", 1000, lambda: SHAPE.attributes(entry))
    value, key = pod(5), SHAPE.key("default", "pod-5")
    timed("one change taken in", 5000, lambda: cache.apply(Change(key, value, 7, 7, store.revision)))


if __name__ == "__main__":
    asyncio.run(main())
