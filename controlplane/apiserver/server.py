"""The API server as a process: keys, store, sockets; started, run until told to stop, and stopped in order.

Stopping: no new connections, watches end, running requests are finished, then the store is closed. Whatever is cut
off nevertheless was not acknowledged; what was acknowledged is on disk.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import ssl

from client.clock import Clock, SystemClock
from client.tls import server_context
from controlplane.apiserver.assembly import ApiServer, Trust
from controlplane.apiserver.config import ServerConfig
from controlplane.apiserver.http import HttpServer, bind_addresses
from controlplane.pki.ensuring import ensure_pki
from controlplane.pki.paths import Pki
from controlplane.store.interface import Store
from controlplane.store.sqlite.store import open_store

logger = logging.getLogger(__name__)


async def run(config: ServerConfig, stop: asyncio.Event) -> None:
    """Serve until `stop` is set. Raises OSError when a port is taken, StoreError when the store cannot be opened."""
    clock = SystemClock()
    pki = await asyncio.to_thread(_ensure_keys, config, clock)
    config.store_file.parent.mkdir(parents=True, exist_ok=True)
    store = await open_store(config.store_file, clock=clock)
    try:
        await _serve(config, store, pki, clock, stop)
    finally:
        await store.close()


async def _serve(config: ServerConfig, store: Store, pki: Pki, clock: Clock, stop: asyncio.Event) -> None:
    server = ApiServer(config, store, read_trust(pki), clock)
    await server.start()
    http = HttpServer(server.handle)
    tls = server_context(str(pki.apiserver.certificate), str(pki.apiserver.key), str(pki.ca.certificate))
    async with asyncio.TaskGroup() as group:
        work = group.create_task(server.run())
        ports = await http.listen(bind_addresses(config.bind_addresses), config.port, tls)
        # What has been made so far lives as long as the process: keep the collector from looking at it again. What is
        # made from now on is freed by reference counts nearly always, so looking for cycles seldom is enough.
        gc.collect()
        gc.freeze()
        gc.set_threshold(20_000, 20, 50)
        logger.info("api server listens addresses=%s port=%s", ",".join(config.bind_addresses), ports[0])
        try:
            await stop.wait()
        finally:
            logger.info("api server stops connections=%d", http.connections)
            http.stop_accepting()
            server.close_watches()
            await server.idle(config.shutdown_grace)
            await http.shutdown(1.0)
            work.cancel()


def read_trust(pki: Pki) -> Trust:
    """Read the keys the server works with; raises OSError or ssl.SSLError."""
    kubelet_tls = ssl.create_default_context(ssl.Purpose.SERVER_AUTH, cafile=str(pki.ca.certificate))
    pair = pki.apiserver_kubelet_client
    kubelet_tls.load_cert_chain(str(pair.certificate), str(pair.key))
    kubelet_tls.set_alpn_protocols(["http/1.1"])
    return Trust(pki.ca.certificate.read_bytes(), pki.service_account_key.read_bytes(), kubelet_tls)


def _ensure_keys(config: ServerConfig, clock: Clock) -> Pki:
    address = config.node_ips[0] if config.node_ips else "127.0.0.1"
    return ensure_pki(
        config.data_dir,
        config.config_dir,
        config.node_name,
        config.node_ips,
        str(config.service_network),
        clock,
        server=config.server_url or f"https://{address}:{config.port}",
    )
