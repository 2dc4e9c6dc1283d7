"""Asking the API server about this node, for a person who waits."""

from __future__ import annotations

import base64
import http.client
import json
import os
import ssl
import tempfile
import time
from datetime import datetime
from pathlib import Path
from typing import Any

import yaml

DEADLINE = 5.0


class NotYet(Exception):
    """The node is not ready yet; the text says what is awaited."""


class NodeApi:
    """The API server behind an admin kubeconfig."""

    def __init__(self, kubeconfig: Path) -> None:
        self._kubeconfig = kubeconfig

    def _connect(self) -> http.client.HTTPSConnection:
        config = yaml.safe_load(self._kubeconfig.read_text(encoding="utf-8"))
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        context = ssl.create_default_context(cadata=base64.b64decode(cluster["certificate-authority-data"]).decode())
        with tempfile.NamedTemporaryFile() as pair:
            os.fchmod(pair.fileno(), 0o600)
            pair.write(base64.b64decode(user["client-certificate-data"]) + base64.b64decode(user["client-key-data"]))
            pair.flush()
            context.load_cert_chain(pair.name)
        return http.client.HTTPSConnection(
            cluster["server"].removeprefix("https://"), timeout=DEADLINE, context=context
        )

    def get(self, path: str) -> Any:
        """The decoded answer. Raises NotYet with the reason when there is none."""
        if not self._kubeconfig.exists():
            raise NotYet("the API server has not made its keys")
        connection = self._connect()
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            body = answer.read()
        except OSError as error:
            raise NotYet(f"the API server does not answer: {error}") from error
        finally:
            connection.close()
        if answer.status != 200:
            raise NotYet(f"the API server answers {answer.status}: {body[:200].decode(errors='replace').strip()}")
        return json.loads(body)

    def check_ready(self, node: str, since: float) -> None:
        """Return if the node is Ready and new pods can be made. Raises NotYet.

        `since` is a time of the wall clock. What was said before it was said by an agent that is gone: a node that
        comes back after a power cut is Ready in the store until somebody looks.
        """
        conditions = self.get(f"/api/v1/nodes/{node}").get("status", {}).get("conditions", [])
        ready = next((each for each in conditions if each["type"] == "Ready"), None)
        if ready is None or ready["status"] != "True":
            raise NotYet(f"node {node}: {ready['message'] if ready else 'no status yet'}")
        if datetime.fromisoformat(ready["lastHeartbeatTime"]).timestamp() < int(since):
            raise NotYet(f"node {node}: no status since it was started")
        self.get("/api/v1/namespaces/default/serviceaccounts/default")

    def wait_ready(self, node: str, deadline: float, alive: Any) -> None:
        """Return once the node says it is Ready, from now on.

        Raises NotYet after `deadline` seconds, or as soon as `alive()` is false.
        """
        since, until = time.time(), time.monotonic() + deadline
        while True:
            try:
                self.check_ready(node, since)
                return
            except NotYet:
                if time.monotonic() > until or not alive():
                    raise
            time.sleep(0.1)
