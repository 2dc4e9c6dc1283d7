"""Images from a real registry on loopback, and what pods say while they have none."""

from __future__ import annotations

import re
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from images.oci import write_archive
from images.system import toolbox_image
from tests.node.cluster.installation import free_ports
from tests.node.cluster.kubectl import Kubectl, rows
from tests.node.cluster.manifests import container, once, pod
from tests.node.cluster.waiting import eventually

pytestmark = pytest.mark.node


class Registry:
    """A docker-registry; images are pushed to it by skopeo."""

    def __init__(self, folder: Path) -> None:
        (self.port,) = free_ports(1)
        self.name = f"localhost:{self.port}"
        self._folder = folder
        config = folder / "config.yml"
        config.write_text(
            "version: 0.1\n"
            f"storage:\n  filesystem:\n    rootdirectory: {folder}/store\n"
            f"http:\n  addr: 127.0.0.1:{self.port}\n"
        )
        self._log = (folder / "registry.log").open("wb")
        self._process = subprocess.Popen(["docker-registry", "serve", str(config)], stdout=self._log, stderr=self._log)
        eventually(self._answers, "an answer of the registry", 30)

    def _answers(self) -> bool:
        try:
            with urllib.request.urlopen(f"http://{self.name}/v2/", timeout=5):
                return True
        except OSError:
            return False

    def push(self, name: str, archive: Path) -> str:
        """Push the one image of an archive; returns its digest."""
        digest = self._folder / "digest"
        command = ["skopeo", "copy", "--dest-tls-verify=false", f"--digestfile={digest}", f"oci-archive:{archive}"]
        done = subprocess.run(
            [*command, f"docker://{self.name}/{name}"], capture_output=True, text=True, timeout=60, check=False
        )
        assert done.returncode == 0, done.stderr
        return digest.read_text().strip()

    def close(self) -> None:
        self._process.terminate()
        self._process.wait(10)
        self._log.close()


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Registry]:
    one = Registry(tmp_path_factory.mktemp("registry"))
    try:
        yield one
    finally:
        one.close()


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("image") / "app.tar"
    write_archive(path, [toolbox_image()])
    return path


def test_an_image_is_pulled_when_it_is_not_there(kubectl: Kubectl, registry: Registry, archive: Path) -> None:
    digest = registry.push("app:1", archive)
    image = f"{registry.name}/app:1"
    assert kubectl.run_pod(once("first", "echo pulled", image=image)) == "pulled\n"
    kubectl.expect_event("first", "Pulling", f'Pulling image "{image}"')
    text = kubectl.expect_event("first", "Pulled", f'Successfully pulled image "{image}" in ')
    assert re.search(r"in [\d.]+m?s \([\d.]+m?s including waiting\)\. Image size: \d+ bytes\.$", text)
    (one,) = kubectl.get("pod", "first")["status"]["containerStatuses"]
    assert one["imageID"] == f"{registry.name}/app@{digest}"

    kubectl.run_pod(once("second", "true", image=image))
    kubectl.expect_event("second", "Pulled", f'Container image "{image}" already present on machine')
    kubectl.run_pod(once("third", "true", image=image, imagePullPolicy="Always"))
    kubectl.expect_event("third", "Pulled", f'Successfully pulled image "{image}" in ')
    kubectl.run_pod(once("exact", "true", image=f"{registry.name}/app@{digest}"))


def test_pulls_that_fail_are_tried_ever_more_slowly(kubectl: Kubectl, registry: Registry, archive: Path) -> None:
    image = f"{registry.name}/late:1"
    kubectl.apply(pod("waits", container(image=image)))
    text = kubectl.expect_event("waits", "Failed", f'Failed to pull image "{image}": ')
    assert "not found" in text
    kubectl.expect_event("waits", "Failed", "Error: ErrImagePull")
    kubectl.wait("pod/waits", "jsonpath={.status.containerStatuses[0].state.waiting.reason}=ImagePullBackOff")
    kubectl.expect_event("waits", "BackOff", f'Back-off pulling image "{image}"')
    assert rows(kubectl("get", "pod", "waits"))[0][1:3] == ["0/1", "ImagePullBackOff"]
    message = kubectl.field("pod/waits", ".status.containerStatuses[0].state.waiting.message")
    assert message.startswith(f'Back-off pulling image "{image}"')
    registry.push("late:1", archive)
    begun = time.monotonic()
    kubectl.wait("pod/waits", "condition=Ready", 60)
    assert time.monotonic() - begun < 40


def test_images_that_may_not_be_pulled(kubectl: Kubectl, registry: Registry) -> None:
    image = f"{registry.name}/never:1"
    kubectl.apply(
        pod("never", container(image=image, imagePullPolicy="Never")), pod("odd", container(image="Not A Name"))
    )
    kubectl.wait("pod/never", "jsonpath={.status.containerStatuses[0].state.waiting.reason}=ErrImageNeverPull")
    message = f'Container image "{image}" is not present with pull policy of Never'
    kubectl.expect_event("never", "ErrImageNeverPull", message)
    kubectl.expect_event("never", "Failed", "Error: ErrImageNeverPull")
    kubectl.wait("pod/odd", "jsonpath={.status.containerStatuses[0].state.waiting.reason}=InvalidImageName")
    kubectl.expect_event("odd", "InspectFailed", 'Failed to apply default image tag "Not A Name"')
