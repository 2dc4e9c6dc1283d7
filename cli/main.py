"""The command line of `orlop`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from cli.layout import Layout
from cli.settings import Settings


def parser() -> argparse.ArgumentParser:
    """All commands and their options."""
    top = argparse.ArgumentParser(prog="orlop", description="A Kubernetes node you can read.")
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")

    places = argparse.ArgumentParser(add_help=False)
    usual = Settings()
    layout = usual.layout
    places.add_argument(
        "--data-dir", type=Path, default=layout.data, help="what survives a reboot (default: %(default)s)"
    )
    places.add_argument(
        "--config-dir", type=Path, default=layout.config, help="the operator's files (default: %(default)s)"
    )
    places.add_argument("--run-dir", type=Path, default=layout.run, help="sockets and locks (default: %(default)s)")
    places.add_argument("--bridge", default=usual.bridge, help="the pods' bridge (default: %(default)s)")
    places.add_argument("--cgroup-root", default=usual.cgroup_root, help="the pods' cgroup (default: %(default)s)")
    places.add_argument(
        "--container-runtime-endpoint",
        default="",
        metavar="URL",
        help="an existing CRI runtime instead of our containerd",
    )

    start = commands.add_parser("up", parents=[places], help="start a one-node cluster on this machine")
    start.add_argument("--detach", action="store_true", help="return once the node is Ready, and leave it running")
    start.add_argument("--node-name", help="default: the host's name")
    start.add_argument("--node-ip", help="default: the address of the route to the outside")
    start.add_argument("--api-port", type=int, default=usual.api_port, help="default: %(default)s")
    start.add_argument("--agent-port", type=int, default=usual.agent_port, help="default: %(default)s")
    start.add_argument("--pod-cidr", default=usual.pod_cidr, help="this node's pods (default: %(default)s)")
    start.add_argument("--cluster-cidr", default=usual.cluster_cidr, help="all pods (default: %(default)s)")
    start.add_argument("--service-cidr", default=usual.service_cidr, help="default: %(default)s")
    start.add_argument("--max-pods", type=int, default=usual.max_pods, help="default: %(default)s")
    start.add_argument(
        "--no-network-plugin", action="store_true", help="configure no pod network: you bring a CNI plugin of your own"
    )

    stop = commands.add_parser("down", parents=[places], help="stop the node and all of its pods, and clean up")
    stop.add_argument("--purge", action="store_true", help="remove the data and configuration folders too")
    return top


def settings_of(arguments: argparse.Namespace) -> Settings:
    """The settings that a command line asks for."""
    given = {
        # Absolute: a node in the background is at home in the root folder.
        "layout": Layout(*(path.absolute() for path in (arguments.data_dir, arguments.config_dir, arguments.run_dir))),
        "bridge": arguments.bridge,
        "cgroup_root": arguments.cgroup_root,
        "runtime_endpoint": arguments.container_runtime_endpoint,
    }
    if arguments.command == "up":
        names = (
            "node_name",
            "node_ip",
            "api_port",
            "agent_port",
            "pod_cidr",
            "cluster_cidr",
            "service_cidr",
            "max_pods",
        )
        given |= {name: value for name in names if (value := getattr(arguments, name)) is not None}
        given["own_network"] = not arguments.no_network_plugin
    return Settings(**given)


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit code."""
    arguments = parser().parse_args(argv)
    settings = settings_of(arguments)
    if arguments.command == "up":
        from cli.up import up

        return up(settings, detach=arguments.detach)
    from cli.down import down

    return down(settings, purge=arguments.purge)


if __name__ == "__main__":
    sys.exit(main())
