"""The node as the agent's API sees it: its pods, the way to their containers, its health and figures.

Fits `agent.server.host.Host`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agent.agent import Agent
from agent.config import AgentConfig
from agent.pods.phases import RUNNING
from api import core_v1 as core
from api.pods import container_statuses
from cri.client import RuntimeClient
from proto import cri_pb2 as cri


class NodeHost:
    """One node's."""

    def __init__(self, config: AgentConfig, agent: Agent, client: RuntimeClient) -> None:
        self._config = config
        self._agent = agent
        self._client = client

    def pod(self, namespace: str, name: str) -> core.Pod | None:
        return self._agent.find(namespace, name)

    def pods(self) -> list[core.Pod]:
        return self._agent.pods()

    async def log_path(self, container_id: str) -> str:
        return (await self._client.container_status(container_id)).status.log_path

    async def container_running(self, container_id: str) -> bool:
        # As the agent knows it from the runtime's events: who follows a log asks every second, and goes on following
        # while the runtime restarts.
        workers = self._agent.workers
        pods = workers.running() if workers is not None else ()
        return any(one.id == container_id for _, containers in pods for one in containers)

    async def exec_url(
        self, container_id: str, command: Sequence[str], *, stdin: bool, stdout: bool, stderr: bool, tty: bool
    ) -> str:
        return await self._client.exec(
            cri.ExecRequest(container_id=container_id, cmd=command, stdin=stdin, stdout=stdout, stderr=stderr, tty=tty)
        )

    async def attach_url(self, container_id: str, *, stdin: bool, stdout: bool, stderr: bool, tty: bool) -> str:
        request = cri.AttachRequest(container_id=container_id, stdin=stdin, stdout=stdout, stderr=stderr, tty=tty)
        return await self._client.attach(request)

    async def port_forward_url(self, pod: core.Pod, ports: Sequence[int]) -> str:
        sandbox_id = self._agent.sandbox_of(pod.metadata.uid)
        if not sandbox_id:
            raise LookupError(f"pod {pod.metadata.namespace}/{pod.metadata.name}: no sandbox of it runs")
        return await self._client.port_forward(cri.PortForwardRequest(pod_sandbox_id=sandbox_id, port=ports))

    def health(self) -> Mapping[str, str]:
        return {"ping": "", "syncloop": self._agent.problem()}

    def configuration(self) -> Mapping[str, Any]:
        config = self._config
        return {
            "kind": "KubeletConfiguration",
            "apiVersion": "kubelet.config.k8s.io/v1beta1",
            "staticPodPath": config.manifests,
            "port": config.port,
            "authentication": {"anonymous": {"enabled": False}, "webhook": {"enabled": True}},
            "authorization": {"mode": "Webhook"},
            "clusterDomain": config.cluster_domain,
            "clusterDNS": list(config.cluster_dns),
            "nodeStatusUpdateFrequency": "10s",
            "nodeStatusReportFrequency": "5m0s",
            "nodeLeaseDurationSeconds": 40,
            "maxPods": config.max_pods,
            "podCIDR": config.pod_cidr,
            "resolvConf": config.resolv_conf,
            "containerRuntimeEndpoint": config.runtime_endpoint,
            "podLogsDir": config.pod_logs,
        }

    def metrics(self) -> str:
        pods = self._agent.pods()
        running = sum(1 for one in pods if one.status.phase == RUNNING)
        containers: dict[str, int] = {"running": 0, "exited": 0, "created": 0}
        for pod in pods:
            for status in container_statuses(pod.status):
                if status.state.running is not None:
                    containers["running"] += 1
                elif status.state.terminated is not None:
                    containers["exited"] += 1
                elif status.container_id:
                    containers["created"] += 1
        lines = [
            "# HELP kubelet_node_name The node's name. The count is always 1.",
            "# TYPE kubelet_node_name gauge",
            f'kubelet_node_name{{node="{self._config.node_name}"}} 1',
            "# HELP kubelet_running_pods Number of pods that run here.",
            "# TYPE kubelet_running_pods gauge",
            f"kubelet_running_pods {running}",
            "# HELP kubelet_running_containers Number of containers by state.",
            "# TYPE kubelet_running_containers gauge",
            *(
                f'kubelet_running_containers{{container_state="{state}"}} {count}'
                for state, count in containers.items()
            ),
        ]
        return "\n".join(lines) + "\n"

    def debug(self) -> object:
        return self._agent.explain()
