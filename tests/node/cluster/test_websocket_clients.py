"""What dashboards in a browser do: logs and watches by WebSocket, with a client that is not kubectl."""

from __future__ import annotations

import asyncio
import json

import aiohttp
import pytest

from client.kubeconfig import load, ssl_context
from tests.node.cluster.kubectl import Kubectl
from tests.node.cluster.manifests import container, pod, shell

pytestmark = pytest.mark.node
LINES = 20_000


async def test_logs_and_events_of_a_pod(kubectl: Kubectl) -> None:
    kubeconfig = load(kubectl.kubeconfig)
    place = f"{kubeconfig.server}/api/v1/namespaces/{kubectl.namespace}/pods"
    script = f"seq 1 {LINES}; sleep 1; echo last"
    connector = aiohttp.TCPConnector(ssl=ssl_context(kubeconfig))
    async with aiohttp.ClientSession(connector=connector) as session, asyncio.timeout(60):
        async with session.ws_connect(f"{place}?watch=true&fieldSelector=metadata.name%3Dtalker") as watch:
            kubectl.apply(pod("talker", container(command=shell(script)), restartPolicy="Never"))
            phases = []
            async for message in watch:
                event = json.loads(message.data)
                phases.append(event["object"]["status"]["phase"])
                if phases[-1] == "Running":
                    break
            assert phases[0] == "Pending"
        url = f"{place}/talker/log?follow=true&container=main"
        async with session.ws_connect(url, protocols=["binary.k8s.io"]) as log:
            said = b"".join([message.data async for message in log])
            assert log.close_code == 1000
    assert said.split() == [*(b"%d" % number for number in range(1, LINES + 1)), b"last"]
