"""The server's own counters, in Prometheus' text form under /metrics.

They are kept as plain numbers in dictionaries and rendered only when asked for: counting a request is two additions and
one binary search. Names, labels and histogram bounds are upstream's, so that the usual dashboards work.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator

_REQUEST_BOUNDS = (
    *(0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2, 3),
    *(4, 5, 6, 8, 10, 15, 20, 30, 45, 60),
)
_STORE_BOUNDS = (0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60)

Labels = tuple[str, ...]
Source = Callable[[], Iterable[str]]


class Histogram:
    """Observations of one label set."""

    __slots__ = ("bounds", "buckets", "count", "total")

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self.bounds = bounds
        self.buckets = [0] * (len(bounds) + 1)
        self.count = 0
        self.total = 0.0

    def observe(self, value: float) -> None:
        """Count one observation."""
        self.buckets[bisect_left(self.bounds, value)] += 1
        self.count += 1
        self.total += value

    def lines(self, name: str, labels: str) -> Iterator[str]:
        """The samples, cumulative as the format wants them."""
        running = 0
        for bound, bucket in zip(self.bounds, self.buckets, strict=False):
            running += bucket
            yield f'{name}_bucket{{{labels},le="{bound:g}"}} {running}'
        yield f'{name}_bucket{{{labels},le="+Inf"}} {self.count}'
        yield f"{name}_sum{{{labels}}} {self.total:.9g}"
        yield f"{name}_count{{{labels}}} {self.count}"


class Metrics:
    """All counters of one server."""

    def __init__(self) -> None:
        self.requests: dict[tuple[Labels, int], int] = {}
        self.durations: dict[Labels, Histogram] = {}
        self.store_writes: dict[Labels, Histogram] = {}
        #: Requests being handled now: those that only read, those that write.
        self.reading = 0
        self.writing = 0
        #: Watches, logs and tunnels that are open now, by (verb, group, version, resource, subresource).
        self.long_running: dict[Labels, int] = {}
        self.rejected = 0
        self._sources: list[Source] = []

    def add_source(self, source: Source) -> None:
        """Have another part of the server contribute lines of its own when metrics are read."""
        self._sources.append(source)

    def request(self, labels: Labels, code: int, seconds: float | None) -> None:
        """Count a finished request; `labels` are (verb, group, version, resource, subresource)."""
        key = (labels, code)
        self.requests[key] = self.requests.get(key, 0) + 1
        if seconds is not None:
            histogram = self.durations.get(labels)
            if histogram is None:
                histogram = self.durations[labels] = Histogram(_REQUEST_BOUNDS)
            histogram.observe(seconds)

    def store_write(self, operation: str, resource: str, seconds: float) -> None:
        """Count a write to the store and how long it took until it was durable."""
        labels = (operation, resource)
        histogram = self.store_writes.get(labels)
        if histogram is None:
            histogram = self.store_writes[labels] = Histogram(_STORE_BOUNDS)
        histogram.observe(seconds)

    def long_running_change(self, labels: Labels, step: int) -> None:
        """A watch or tunnel began (+1) or ended (-1)."""
        self.long_running[labels] = self.long_running.get(labels, 0) + step

    def render(self) -> str:
        """The page, in text format 0.0.4."""
        lines: list[str] = []
        lines += _header("apiserver_request_total", "counter", "Requests, by verb, resource and HTTP code.")
        for (labels, code), count in self.requests.items():
            lines.append(f'apiserver_request_total{{code="{code}",{_request_labels(labels)}}} {count}')
        name = "apiserver_request_duration_seconds"
        lines += _header(name, "histogram", "Time until the reply was handed to the connection, watches left out.")
        for labels, histogram in self.durations.items():
            lines += histogram.lines(name, _request_labels(labels))
        lines += _header("apiserver_current_inflight_requests", "gauge", "Requests being handled.")
        lines.append(f'apiserver_current_inflight_requests{{request_kind="readOnly"}} {self.reading}')
        lines.append(f'apiserver_current_inflight_requests{{request_kind="mutating"}} {self.writing}')
        lines += _header("apiserver_longrunning_requests", "gauge", "Open watches, logs and tunnels.")
        for labels, count in self.long_running.items():
            lines.append(f"apiserver_longrunning_requests{{{_request_labels(labels)}}} {count}")
        lines += _header("apiserver_dropped_requests_total", "counter", "Requests refused with 429.")
        lines.append(f"apiserver_dropped_requests_total {self.rejected}")
        name = "apiserver_store_write_duration_seconds"
        lines += _header(name, "histogram", "Time until a write was durable.")
        for (operation, resource), histogram in self.store_writes.items():
            lines += histogram.lines(name, f'operation="{operation}",type="{resource}"')
        for source in self._sources:
            lines += source()
        lines.append("")
        return "\n".join(lines)


def _header(name: str, kind: str, text: str) -> list[str]:
    return [f"# HELP {name} {text}", f"# TYPE {name} {kind}"]


def _request_labels(labels: Labels) -> str:
    verb, group, version, resource, subresource = labels
    return (
        f'verb="{_escape(verb.upper())}",group="{_escape(group)}",version="{_escape(version)}",'
        f'resource="{_escape(resource)}",subresource="{_escape(subresource)}"'
    )


def _escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
