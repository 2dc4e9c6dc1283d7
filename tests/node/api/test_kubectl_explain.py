"""The real kubectl reads our OpenAPI v3: explain walks the schemas, create checks whether fieldValidation is known."""

import json
import os
import pathlib
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from api.openapi import v3_document, v3_index
from api.scheme import SCHEME

pytestmark = pytest.mark.node


class _Discovery(BaseHTTPRequestHandler):
    """As much of an API server as kubectl needs to explain a type."""

    def do_GET(self) -> None:
        path = self.path.partition("?")[0].strip("/")
        body = _answer(path)
        self.send_response(200 if body else 404)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name is the base class's
        """Keeps the test's output clean."""


def _answer(path: str) -> bytes:
    if path == "openapi/v3":
        return v3_index().body
    if path.startswith("openapi/v3/"):
        document = v3_document(path.removeprefix("openapi/v3/"))
        return document.body if document else b""
    if path == "api":
        return json.dumps({"kind": "APIVersions", "versions": ["v1"]}).encode()
    if path == "apis":
        versions = [{"groupVersion": "apps/v1", "version": "v1"}]
        group = {"name": "apps", "versions": versions, "preferredVersion": versions[0]}
        return json.dumps({"kind": "APIGroupList", "apiVersion": "v1", "groups": [group]}).encode()
    if path in ("api/v1", "apis/apps/v1"):
        group_version = path.partition("/")[2]
        resources = [
            {
                "name": resource.plural,
                "singularName": resource.singular,
                "namespaced": resource.namespaced,
                "kind": resource.kind,
                "verbs": list(resource.verbs),
            }
            for resource in SCHEME.resources()
            if resource.api_version == group_version
        ]
        found = {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": group_version, "resources": resources}
        return json.dumps(found).encode()
    return b""


@pytest.fixture
def server() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Discovery) as listening:
        thread = threading.Thread(target=listening.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{listening.server_port}"
        listening.shutdown()
        thread.join()


def _kubectl(server: str, home: pathlib.Path, *arguments: str) -> str:
    done = subprocess.run(
        [os.environ.get("KUBECTL") or "kubectl", "--server", server, *arguments],
        env={"HOME": str(home), "PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_explains_a_field(server: str, tmp_path: pathlib.Path) -> None:
    shown = _kubectl(server, tmp_path, "explain", "pod.spec.containers")
    assert "KIND:       Pod" in shown
    assert "FIELD: containers <[]Container>" in shown
    assert "name\t<string> -required-" in shown
    assert "env\t<[]EnvVar>" in shown


def test_explains_a_kind_of_a_group(server: str, tmp_path: pathlib.Path) -> None:
    shown = _kubectl(server, tmp_path, "explain", "deployment.spec", "--recursive")
    assert "GROUP:      apps" in shown
    assert "template\t<PodTemplateSpec> -required-" in shown
    assert "maxSurge\t<IntOrString>" in shown
