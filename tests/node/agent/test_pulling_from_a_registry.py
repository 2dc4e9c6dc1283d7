"""Real pulls: containerd, a registry on loopback, tags, digests and what happens when there is none."""

from __future__ import annotations

import asyncio
import hashlib
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agent.images.errors import ImagePullError
from agent.images.puller import ImagePuller
from api import core_v1 as core
from client.clock import SystemClock
from cri.client import RuntimeClient
from proto import cri_pb2 as cri
from tests.node.containerd import TOOLBOX, Containerd
from tests.unit.agent.images.secrets import docker_secret
from tests.unit.agent.pod_builders import pod

pytestmark = pytest.mark.node

SECONDS = 30.0


class Heard:
    def __init__(self) -> None:
        self.events: list[tuple[str, str, str]] = []

    def event(self, obj: Any, type_: str, reason: str, message: str, *, field_path: str = "") -> None:
        self.events.append((type_, reason, message))


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


@pytest.fixture(params=["open", "locked"])
def registry(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Address of a registry that asks for a password, or does not."""
    port = _free_port()
    auth = ""
    if request.param == "locked":
        # The registry knows bcrypt only; this is the hash of "sesame".
        (tmp_path / "htpasswd").write_text("user:$2b$05$abcdefghijklmnopqrstuuKcS.CYWVYVaLiiCKrrc0A5s3mGesJ9O\n")
        auth = f"auth:\n  htpasswd:\n    realm: test\n    path: {tmp_path}/htpasswd\n"
    (tmp_path / "config.yml").write_text(
        "version: 0.1\n"
        f"storage:\n  filesystem:\n    rootdirectory: {tmp_path}/store\n"
        f"http:\n  addr: 127.0.0.1:{port}\n{auth}"
    )
    with (tmp_path / "registry.log").open("wb") as log:
        process = subprocess.Popen(["docker-registry", "serve", str(tmp_path / "config.yml")], stdout=log, stderr=log)
    try:
        _wait_for(f"http://127.0.0.1:{port}/v2/", tmp_path / "registry.log")
        yield f"localhost:{port}" if request.param == "open" else f"localhost:{port}/locked"
    finally:
        process.terminate()
        process.wait(10)


def _wait_for(url: str, log: Path) -> None:
    deadline = time.monotonic() + SECONDS
    while True:
        try:
            with urllib.request.urlopen(url, timeout=5):
                return
        except urllib.error.HTTPError:
            return  # it answers, if only to ask for a password
        except OSError:
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.05)


def push(containerd: Containerd, name: str, *, user: str = "") -> str:
    """Pushes the toolbox under a name and forgets it here; returns its digest."""
    containerd.ctr("images", "tag", "--force", TOOLBOX, name)
    credentials = ["--user", user] if user else []
    containerd.ctr("images", "push", "--plain-http", *credentials, name)
    (line,) = [one for one in containerd.ctr("images", "list", f"name=={name}").splitlines() if one.startswith(name)]
    containerd.ctr("images", "remove", name)
    return next(word for word in line.split() if word.startswith("sha256:"))


async def ensure(puller: ImagePuller, image: str, policy: str, *secrets: core.Secret) -> str:
    one = pod("app", uid=hashlib.sha256(image.encode()).hexdigest()[:8])
    return await puller.ensure(one, one.spec.containers[0], image, policy, secrets)


async def test_pulling(runtime: RuntimeClient, containerd: Containerd, registry: str) -> None:
    locked = registry.endswith("/locked")
    secrets = [docker_secret({registry.partition("/")[0]: ("user", "sesame")})] if locked else []
    name = f"{registry}/app"
    digest = await asyncio.to_thread(push, containerd, f"{name}:1", user="user:sesame" if locked else "")
    heard = Heard()
    puller = ImagePuller(runtime, heard, SystemClock())

    if locked:
        with pytest.raises(ImagePullError, match="401 Unauthorized"):
            await ensure(puller, f"{name}:1", "IfNotPresent")
        with pytest.raises(ImagePullError, match="401 Unauthorized"):
            wrong = docker_secret({registry.partition("/")[0]: ("user", "guess")})
            await ensure(ImagePuller(runtime, heard, SystemClock()), f"{name}:1", "IfNotPresent", wrong)
        heard.events.clear()
        puller = ImagePuller(runtime, heard, SystemClock())

    pulled = await ensure(puller, f"{name}:1", "IfNotPresent", *secrets)
    assert (await ensure(puller, f"{name}:1", "IfNotPresent", *secrets)) == pulled
    assert (await ensure(puller, f"{name}@{digest}", "IfNotPresent", *secrets)) == pulled
    messages = [message for _, reason, message in heard.events if reason == "Pulled"]
    assert messages[0].startswith(f'Successfully pulled image "{name}:1" in ')
    assert messages[0].endswith(" bytes.")
    assert messages[1] == f'Container image "{name}:1" already present on machine and can be accessed by the pod'
    image = await runtime.image_status(cri.ImageSpec(image=pulled))
    assert image is not None and f"{name}@{digest}" in image.repo_digests

    with pytest.raises(ImagePullError) as caught:
        await ensure(puller, f"{name}:none", "Always", *secrets)
    assert caught.value.reason == "ErrImagePull"
    assert caught.value.message.startswith("rpc error: code = NotFound desc = failed to pull and unpack image")
    # Not through CRI, which would remove the image under all of its names, the toolbox's among them.
    await asyncio.to_thread(containerd.ctr, "images", "remove", f"{name}:1", f"{name}@{digest}")
