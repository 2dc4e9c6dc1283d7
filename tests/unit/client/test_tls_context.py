"""The listener's TLS: who gets through the handshake, and who is left for the 401."""

from __future__ import annotations

import asyncio
import ssl
from pathlib import Path

import pytest
import uvloop
from cryptography.hazmat.primitives import serialization

from client import tls
from tests.unit.controlplane.apiserver.identity_doubles import Authority, key_pem


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """PEM files: ca, server, and clients of the cluster's authority and of another."""
    directory = tmp_path_factory.mktemp("tls")
    ours, theirs = Authority(), Authority("elsewhere")
    (directory / "ca.pem").write_bytes(ours.pem)
    for name, authority, start, end in (
        ("server", ours, 0.0, 4e9),
        ("good", ours, 0.0, 4e9),
        ("foreign", theirs, 0.0, 4e9),
        ("expired", ours, 0.0, 1e9),
        ("future", ours, 3e9, 4e9),
    ):
        certificate, key = authority.pair(name, start=start, end=end, usage=name != "server")
        pem = certificate.public_bytes(serialization.Encoding.PEM) + key_pem(key)
        (directory / f"{name}.pem").write_bytes(pem)
    return directory


def server(files: Path) -> ssl.SSLContext:
    pem = str(files / "server.pem")
    return tls.server_context(pem, pem, str(files / "ca.pem"))


def client(files: Path, certificate: str = "") -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=str(files / "ca.pem"))
    context.check_hostname = False
    context.set_alpn_protocols(["h2", "http/1.1"])
    if certificate:
        context.load_cert_chain(str(files / f"{certificate}.pem"))
    return context


def shake_hands(server_side: ssl.SSLContext, client_side: ssl.SSLContext) -> tuple[bytes | None, str | None]:
    """The certificate the server saw, and the protocol the client was given."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    accepted = server_side.wrap_bio(to_server, to_client, server_side=True)
    connected = client_side.wrap_bio(to_client, to_server)
    for _ in range(6):
        for side in (connected, accepted):
            try:
                side.do_handshake()
            except ssl.SSLWantReadError:
                continue
    return accepted.getpeercert(binary_form=True), connected.selected_alpn_protocol()


def test_the_hook_works_on_this_interpreter() -> None:
    assert tls.verification_is_postponed()


@pytest.mark.parametrize("name", ["good", "foreign", "expired", "future"])
def test_every_client_certificate_passes_the_handshake_and_is_seen(files: Path, name: str) -> None:
    shown, _ = shake_hands(server(files), client(files, name))
    pem = (files / f"{name}.pem").read_text()
    assert shown == ssl.PEM_cert_to_DER_cert(pem.partition("-----BEGIN PRIVATE KEY-----")[0])


def test_no_certificate_is_demanded_and_http_1_1_is_agreed_on(files: Path) -> None:
    assert shake_hands(server(files), client(files)) == (None, "http/1.1")


def test_nothing_older_than_tls_1_2_is_spoken(files: Path) -> None:
    old = client(files)
    with pytest.warns(DeprecationWarning):
        old.minimum_version = old.maximum_version = ssl.TLSVersion.TLSv1_1
    old.set_ciphers("ALL:@SECLEVEL=0")
    with pytest.raises(ssl.SSLError):
        shake_hands(server(files), old)


def test_without_the_hook_strangers_are_cut_off(files: Path) -> None:
    pem = str(files / "server.pem")
    strict = tls.server_context(pem, pem, str(files / "ca.pem"), postpone_verification=False)
    assert shake_hands(strict, client(files, "good"))[0] is not None
    with pytest.raises(ssl.SSLError):
        shake_hands(strict, client(files, "foreign"))


def test_a_stranger_is_answered_under_uvloop_and_again_on_a_resumed_session(files: Path) -> None:
    context = client(files, "expired")

    async def talk() -> list[bool]:
        seen: list[bool] = []

        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            seen.append(writer.get_extra_info("ssl_object").getpeercert(True) is not None)
            await reader.readexactly(1)
            writer.write(b"401")
            await writer.drain()
            writer.close()

        listener = await asyncio.start_server(answer, "127.0.0.1", 0, ssl=server(files))
        async with listener:
            port = listener.sockets[0].getsockname()[1]
            for _ in range(2):
                reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context)
                writer.write(b"x")
                assert await reader.read() == b"401"
                writer.close()
                await writer.wait_closed()
        return seen

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        assert runner.run(talk()) == [True, True]
