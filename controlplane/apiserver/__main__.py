"""`python -m controlplane.apiserver`: the API server alone, for tests and measurements."""

from __future__ import annotations

import argparse
import asyncio
import ipaddress
import logging
import signal
import socket
from pathlib import Path

import uvloop

from controlplane.apiserver.config import ServerConfig
from controlplane.apiserver.server import run


def main() -> None:
    """Parse the command line and serve until SIGTERM or SIGINT."""
    parser = argparse.ArgumentParser(prog="python -m controlplane.apiserver", description=__doc__)
    parser.add_argument("--data-dir", type=Path, required=True, help="keys and store; made if missing")
    parser.add_argument("--config-dir", type=Path, help="where the admin kubeconfig goes (default: DATA_DIR/config)")
    parser.add_argument("--port", type=int, default=6443)
    parser.add_argument("--bind-address", action="append", help="may be given several times (default: 127.0.0.1)")
    parser.add_argument("--node-ip", action="append", help="addresses the serving certificate names")
    parser.add_argument("--node-name", default=socket.gethostname().lower())
    parser.add_argument("--service-cidr", type=ipaddress.ip_network, default=ipaddress.ip_network("10.43.0.0/16"))
    parser.add_argument("--store", type=Path, help="file of the store (default: in DATA_DIR)")
    arguments = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    config = ServerConfig(
        data_dir=arguments.data_dir,
        config_dir=arguments.config_dir or arguments.data_dir / "config",
        bind_addresses=tuple(arguments.bind_address or ("127.0.0.1",)),
        port=arguments.port,
        node_ips=tuple(arguments.node_ip or ("127.0.0.1",)),
        node_name=arguments.node_name,
        service_network=arguments.service_cidr,
        store_path=arguments.store,
    )
    uvloop.run(_main(config))


async def _main(config: ServerConfig) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    await run(config, stop)


if __name__ == "__main__":
    main()
