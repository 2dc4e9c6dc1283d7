"""A pod that has nothing to do with what happens around it, and notices if it is touched."""

from __future__ import annotations

import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager

from tests.node.cluster.kubectl import Kubectl
from tests.node.cluster.manifests import container, pod, shell

NAME = "bystander"
LONGEST_SILENCE = 2.0


class Bystander:
    """An HTTP server in a pod, asked all the time."""

    def __init__(self, kubectl: Kubectl) -> None:
        self._kubectl = kubectl
        serve = "mkdir /www; echo here > /www/index.html; exec httpd -f -p 8080 -h /www"
        probe = {"tcpSocket": {"port": 8080}, "periodSeconds": 1}
        kubectl.start_pod(pod(NAME, container(command=shell(serve), readinessProbe=probe, livenessProbe=probe)))
        self._identity = self._look()
        self._address = kubectl.field(f"pod/{NAME}", ".status.podIP")
        self._stop = threading.Event()
        self._silence = 0.0
        self._answers = 0
        self._asker = threading.Thread(target=self._ask, daemon=True)
        self._asker.start()

    def _look(self) -> tuple[str, str, int, str]:
        status = self._kubectl.get("pod", NAME)["status"]
        (one,) = status["containerStatuses"]
        return status["podIP"], one["containerID"], one["restartCount"], one["state"]["running"]["startedAt"]

    def _ask(self) -> None:
        last = time.monotonic()
        while not self._stop.is_set():
            try:
                with urllib.request.urlopen(f"http://{self._address}:8080/", timeout=1) as answer:
                    if answer.read() == b"here\n":
                        self._answers += 1
                        last = time.monotonic()
            except OSError:
                pass  # counted by the time that has gone by without an answer
            self._silence = max(self._silence, time.monotonic() - last)
            self._stop.wait(0.05)

    def stop(self) -> None:
        self._stop.set()
        self._asker.join(10)

    def check_untouched(self) -> None:
        """Its container is the same as ever, and it has answered all the while."""
        assert self._look() == self._identity
        assert self._answers
        assert self._silence < LONGEST_SILENCE, f"no answer for {self._silence:.1f} s"


@contextmanager
def bystander(kubectl: Kubectl) -> Iterator[Bystander]:
    """A bystander for as long as the block lasts; it must be untouched at its end."""
    one = Bystander(kubectl)
    try:
        yield one
        one.check_untouched()
    finally:
        one.stop()
