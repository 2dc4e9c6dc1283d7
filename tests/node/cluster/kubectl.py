"""The stock kubectl, as its users run it: a command and what it prints, one that goes on, or one at a terminal."""

from __future__ import annotations

import json
import os
import re
import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from tests.node.cluster.terminal import Terminal
from tests.node.cluster.waiting import eventually

SECONDS = 60.0


class KubectlFailed(AssertionError):
    """kubectl ended with another code than 0."""


class Running:
    """A kubectl that goes on; `output` is what it has printed so far."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self._heard = bytearray()
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def _listen(self) -> None:
        assert self.process.stdout is not None
        while data := self.process.stdout.read1(65536):  # type: ignore[attr-defined]
            self._heard += data

    @property
    def output(self) -> str:
        return self._heard.decode(errors="replace")

    def expect(self, text: str, seconds: float = 30.0) -> str:
        """Wait until it has printed `text`; returns all it has printed."""
        eventually(lambda: text in self.output or self.process.poll() is not None, f"{text!r} printed", seconds, 0.02)
        if text not in self.output:
            self._listener.join(5)
        assert text in self.output, f"no {text!r} in {self.output!r}"
        return self.output

    def end(self, seconds: float = SECONDS) -> int:
        """Wait until it ends by itself; returns its code."""
        code = self.process.wait(seconds)
        self._listener.join(5)
        return code


class Kubectl:
    """kubectl with one kubeconfig and one namespace; called, it returns what was printed."""

    def __init__(
        self, kubeconfig: Path, home: Path, namespace: str = "default", settings: Mapping[str, str] | None = None
    ) -> None:
        self.kubeconfig = kubeconfig
        self.home = home
        self.namespace = namespace
        self.settings = settings or {}
        """Variables of its environment beside those of every kubectl here."""

    def within(self, namespace: str) -> Kubectl:
        return Kubectl(self.kubeconfig, self.home, namespace, self.settings)

    def speaking(self, protocol: str) -> Kubectl:
        """One whose streams go over "websocket", as they do by default, or over "spdy", as they did before 1.31."""
        names = ("KUBECTL_REMOTE_COMMAND_WEBSOCKETS", "KUBECTL_PORT_FORWARD_WEBSOCKETS")
        value = str(protocol == "websocket").lower()
        return Kubectl(self.kubeconfig, self.home, self.namespace, dict.fromkeys(names, value))

    def command(self, *arguments: str) -> list[str]:
        return [os.environ.get("KUBECTL") or "kubectl", "--namespace", self.namespace, *arguments]

    @property
    def environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if name in ("PATH", "LANG", "TERM")}
        own = {"KUBECONFIG": str(self.kubeconfig), "HOME": str(self.home), "TZ": "UTC"}
        return kept | own | dict(self.settings)

    def run(
        self, *arguments: str, text: str | None = None, seconds: float = SECONDS
    ) -> subprocess.CompletedProcess[str]:
        """Run it to its end, whatever its code."""
        return subprocess.run(
            self.command(*arguments),
            input=text,
            stdin=subprocess.DEVNULL if text is None else None,
            capture_output=True,
            text=True,
            timeout=seconds,
            env=self.environment,
            check=False,
        )

    def __call__(self, *arguments: str, text: str | None = None, seconds: float = SECONDS) -> str:
        """What it prints. Raises KubectlFailed."""
        done = self.run(*arguments, text=text, seconds=seconds)
        if done.returncode:
            said = f"{done.stdout[-1000:]}{done.stderr[-1000:]}"
            raise KubectlFailed(f"kubectl {' '.join(arguments)}: {done.returncode}: {said}")
        return done.stdout

    def refused(self, *arguments: str, text: str | None = None) -> str:
        """What it says when it does not succeed."""
        done = self.run(*arguments, text=text)
        assert done.returncode != 0, f"kubectl {' '.join(arguments)} succeeded: {done.stdout}"
        return done.stderr

    def get(self, *arguments: str) -> Any:
        """The object, or list, as JSON."""
        return json.loads(self("get", *arguments, "-o", "json"))

    def items(self, *arguments: str) -> list[Any]:
        found: list[Any] = self.get(*arguments)["items"]
        return found

    def field(self, what: str, path: str) -> str:
        """One field by JSONPath, without the braces."""
        return self("get", what, "-o", f"jsonpath={{{path}}}")

    def apply(self, *objects: Mapping[str, Any]) -> str:
        return self("apply", "-f", "-", text=yaml.safe_dump_all(objects))

    def wait(self, what: str, condition: str, seconds: float = 30.0) -> None:
        """`kubectl wait --for=condition`."""
        self("wait", what, f"--for={condition}", f"--timeout={seconds:g}s", seconds=seconds + 10)

    def start_pod(self, pod: Mapping[str, Any], seconds: float = 30.0) -> str:
        """Create a pod and wait until it is ready; returns its name."""
        self.apply(pod)
        name: str = pod["metadata"]["name"]
        self.wait(f"pod/{name}", "condition=Ready", seconds)
        return name

    def run_pod(self, pod: Mapping[str, Any], phase: str = "Succeeded", seconds: float = 30.0) -> str:
        """Create a pod that ends, and wait for its end; returns what its first container printed."""
        self.apply(pod)
        name = pod["metadata"]["name"]
        self.wait(f"pod/{name}", f"jsonpath={{.status.phase}}={phase}", seconds)
        return self("logs", name)

    def events(self, name: str) -> list[tuple[str, str, str]]:
        """(type, reason, message) of an object's events, oldest first."""
        found = self.items("events", "--field-selector", f"involvedObject.name={name}")
        found.sort(key=lambda one: one["metadata"]["creationTimestamp"])
        return [(one["type"], one["reason"], one["message"]) for one in found]

    def expect_event(self, name: str, reason: str, message: str = "", seconds: float = 30.0) -> str:
        """Wait for an event with `message` in its text; returns the text."""

        def look() -> str:
            texts = [text for _, found, text in self.events(name) if found == reason]
            matching = [text for text in texts if message in text]
            assert matching, f"{self.events(name)}"
            return matching[-1]

        return eventually(look, f"event {reason} of {name}", seconds, 0.2)

    @contextmanager
    def background(self, *arguments: str, stdin: int | None = subprocess.DEVNULL) -> Iterator[Running]:
        """A kubectl that goes on until the block ends."""
        process = subprocess.Popen(
            self.command(*arguments),
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=self.environment,
        )
        running = Running(process)
        try:
            yield running
        finally:
            process.kill()
            process.wait(10)
            running._listener.join(5)
            for stream in (process.stdin, process.stdout):
                if stream is not None:
                    stream.close()

    @contextmanager
    def at_terminal(self, *arguments: str, rows: int = 24, columns: int = 80) -> Iterator[Terminal]:
        """A kubectl at a terminal of its own."""
        terminal = Terminal(self.command(*arguments), self.environment, rows, columns)
        try:
            yield terminal
        finally:
            terminal.close()


def columns(table: str) -> list[str]:
    """The column titles of what `kubectl get` prints."""
    return re.split(r"  +", table.splitlines()[0].strip())


def rows(table: str) -> Sequence[Sequence[str]]:
    """The cells of what `kubectl get` prints, titles apart."""
    return [line.split() for line in table.splitlines()[1:]]
