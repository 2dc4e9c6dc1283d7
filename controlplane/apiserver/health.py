"""/livez, /readyz, /healthz and /version: how the server is, and what it is.

Each check is a small function that raises when something is wrong. A single check has a path of its own below, and
`?exclude=` leaves checks out, as upstream's.
"""

from __future__ import annotations

import platform
import sys
from collections.abc import Callable

import msgspec

from api.release import KUBERNETES_VERSION
from controlplane.apiserver.exchange import Exchange, Reply

Check = Callable[[], None]

_TEXT = "text/plain; charset=utf-8"
_NOSNIFF = (("X-Content-Type-Options", "nosniff"),)


class Unhealthy(Exception):
    """A check failed; the text says how."""


class Health:
    """A group of checks under one path."""

    def __init__(self, name: str, checks: dict[str, Check]) -> None:
        self.name = name
        self._checks = checks

    def serve(self, exchange: Exchange) -> Reply:
        """Answer `/<name>` and `/<name>/<check>`."""
        single = exchange.path.strip("/").removeprefix(self.name).strip("/")
        if single:
            return self._one(single)
        excluded = set(exchange.query.get("exclude", []))
        lines, failed = [], []
        for name, check in self._checks.items():
            if name in excluded:
                excluded.discard(name)
                lines.append(f"[+]{name} excluded: ok")
                continue
            try:
                check()
            except Unhealthy:
                # Why is in the log: the page can be read by anybody.
                lines.append(f"[-]{name} failed: reason withheld")
                failed.append(name)
            else:
                lines.append(f"[+]{name} ok")
        if excluded:
            unknown = ", ".join(f'"{name}"' for name in sorted(excluded))
            lines.append(f"warn: some health checks cannot be excluded: no matches for {unknown}")
        if failed:
            body = "\n".join([*lines, f"{self.name} check failed\n"])
            return Reply(500, body.encode(), _TEXT, _NOSNIFF)
        if "verbose" not in exchange.query:
            return Reply(200, b"ok", _TEXT, _NOSNIFF)
        return Reply(200, "\n".join([*lines, f"{self.name} check passed\n"]).encode(), _TEXT, _NOSNIFF)

    def _one(self, name: str) -> Reply:
        check = self._checks.get(name)
        if check is None:
            return Reply(404, b"404 page not found\n", _TEXT, _NOSNIFF)
        try:
            check()
        except Unhealthy as error:
            return Reply(500, f"internal server error: {error}\n".encode(), _TEXT, _NOSNIFF)
        return Reply(200, b"ok", _TEXT, _NOSNIFF)


def serve_version(exchange: Exchange) -> Reply:
    """Answer /version."""
    return Reply(200, _VERSION)


def _version() -> dict[str, str]:
    return {
        "major": "1",
        "minor": "36",
        "emulationMajor": "1",
        "emulationMinor": "36",
        "minCompatibilityMajor": "1",
        "minCompatibilityMinor": "35",
        "gitVersion": KUBERNETES_VERSION,
        "gitCommit": "",
        "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": f"python{sys.version_info.major}.{sys.version_info.minor}.{sys.version_info.micro}",
        "compiler": platform.python_implementation(),
        "platform": f"linux/{_MACHINES.get(platform.machine(), platform.machine())}",
    }


_MACHINES = {"x86_64": "amd64", "aarch64": "arm64"}
_VERSION = msgspec.json.format(msgspec.json.encode(_version()), indent=2)
