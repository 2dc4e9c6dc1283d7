"""`python -m agent`: the agent alone, against any API server and runtime."""

from __future__ import annotations

import argparse
import asyncio
import logging
import signal

from agent.config import AgentConfig
from agent.main import run


def parse(arguments: list[str] | None = None) -> AgentConfig:
    """Settings from the command line; flags are named as upstream's are."""
    default = AgentConfig()
    parser = argparse.ArgumentParser(prog="agent", description="Run the pods of one node.")
    parser.add_argument("--kubeconfig", default=default.kubeconfig, help="how to reach the API server")
    parser.add_argument("--hostname-override", default=default.node_name, metavar="NAME", help="the node's name")
    parser.add_argument("--node-ip", default=default.node_ip, help="the node's address; else the one that leads out")
    parser.add_argument("--root-dir", default=default.root, help="the agent's own folder")
    parser.add_argument("--pod-logs-dir", default=default.pod_logs, help="where containers' logs go")
    parser.add_argument("--pod-manifest-path", default=default.manifests, help="folder of static pods")
    parser.add_argument("--container-runtime-endpoint", default=default.runtime_endpoint, metavar="SOCKET")
    parser.add_argument("--cni-config-dir", default=default.cni_config_dir)
    parser.add_argument("--cluster-dns", default=",".join(default.cluster_dns), metavar="IP[,IP]")
    parser.add_argument("--cluster-domain", default=default.cluster_domain)
    parser.add_argument("--resolv-conf", default=default.resolv_conf)
    parser.add_argument("--pod-cidr", default=default.pod_cidr)
    parser.add_argument("--max-pods", type=int, default=default.max_pods)
    parser.add_argument("--port", type=int, default=default.port)
    parser.add_argument("--cgroup-root", default=default.cgroup_root)
    parser.add_argument("--node-labels", default="", metavar="KEY=VALUE[,…]")
    parser.add_argument("--tls-cert-file", default=default.serving_certificate, help="empty: serve no API")
    parser.add_argument("--tls-private-key-file", default=default.serving_key)
    parser.add_argument("--client-ca-file", default=default.client_ca)
    given = parser.parse_args(arguments)
    labels = dict(one.partition("=")[::2] for one in given.node_labels.split(",") if one)
    return AgentConfig(
        node_name=given.hostname_override,
        node_ip=given.node_ip,
        kubeconfig=given.kubeconfig,
        root=given.root_dir,
        pod_logs=given.pod_logs_dir,
        manifests=given.pod_manifest_path,
        runtime_endpoint=given.container_runtime_endpoint,
        cni_config_dir=given.cni_config_dir,
        cluster_dns=tuple(one for one in given.cluster_dns.split(",") if one),
        cluster_domain=given.cluster_domain,
        resolv_conf=given.resolv_conf,
        pod_cidr=given.pod_cidr,
        max_pods=given.max_pods,
        port=given.port,
        cgroup_root=given.cgroup_root,
        labels=labels,
        serving_certificate=given.tls_cert_file,
        serving_key=given.tls_private_key_file,
        client_ca=given.client_ca_file,
    )


async def main(config: AgentConfig) -> None:
    """Run until the process is told to end."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    await run(config, stop)


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    import uvloop

    uvloop.run(main(parse()))
