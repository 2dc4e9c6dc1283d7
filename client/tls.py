"""The TLS side of a listener: protocol floor, ALPN, and client certificates that never fail a handshake.

Why this exists: a client that shows a foreign, expired or not yet valid certificate must be told so by a ``401``
Status it can print, and not by a TLS alert it cannot explain (upstream asks for certificates with Go's
``tls.RequestClientCert`` for the same reason). OpenSSL, as the ``ssl`` module drives it, offers only "ignore" or
"verify and abort". So the verification step of the server's context is replaced by one that accepts whatever is
shown, and the real check is made once per certificate by `client.certificates`.

The hook is ``SSL_CTX_set_cert_verify_callback(3)``, reached through the very libssl that the ``_ssl`` extension is
linked with. It is used only if an in-memory handshake with a stranger's certificate proves that it works here;
otherwise the context falls back to ``CERT_OPTIONAL`` against the cluster CA, which is just as safe and merely less
polite.

This module must not know what a user is.
"""

from __future__ import annotations

import ctypes
import datetime
import logging
import os
import ssl
import sys
import tempfile
from collections.abc import Callable
from typing import Any, Final

logger = logging.getLogger(__name__)

# CPython versions whose PySSLContext is known to begin with the SSL_CTX pointer right after the object header.
_KNOWN_LAYOUTS: Final = ((3, 11), (3, 12), (3, 13), (3, 14))
_HEADER_SIZE: Final = object.__basicsize__

_VerifyCallback = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)


def _accept_any(_store: int | None, _argument: int | None) -> int:
    return 1


# One trampoline for the life of the process: OpenSSL keeps the bare pointer.
_ACCEPT_ANY: Final = _VerifyCallback(_accept_any)


def server_context(
    certificate_file: str, key_file: str, client_ca_file: str, *, postpone_verification: bool = True
) -> ssl.SSLContext:
    """A server context with TLS 1.2 or newer and ALPN ``http/1.1``, asking clients for a certificate without
    demanding one.

    The files are PEM. With *postpone_verification* the client's certificate is **not** verified by the handshake: the
    caller must judge the DER bytes itself before believing them. Check `verification_is_postponed` for what came out:
    where the hook is not available, the handshake verifies against *client_ca_file* and strangers are cut off.

    Raises `ssl.SSLError` or `OSError` when a file is missing or unusable.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    # Renegotiation is the one cheap way to make a TLS 1.2 server burn CPU; no client of ours needs it.
    context.options |= ssl.OP_NO_RENEGOTIATION | ssl.OP_NO_COMPRESSION
    context.set_alpn_protocols(["http/1.1"])
    context.load_cert_chain(certificate_file, key_file)
    context.load_verify_locations(client_ca_file)
    context.verify_mode = ssl.CERT_OPTIONAL
    if postpone_verification and not postpone_client_verification(context):
        logger.warning("client certificates are verified in the handshake: strangers get a TLS alert, not a 401")
    return context


_postponed: bool | None = None


def verification_is_postponed() -> bool:
    """Whether contexts made here let any client certificate through the handshake (proved once per process)."""
    global _postponed
    if _postponed is None:
        _postponed = _self_test()
    return _postponed


def postpone_client_verification(context: ssl.SSLContext) -> bool:
    """Make *context* accept any client certificate, if this interpreter and libssl are seen to allow it."""
    return verification_is_postponed() and _install(context)


def _install(context: ssl.SSLContext) -> bool:
    """Hang the accepting callback on *context*; False where the interpreter or library is not one we know."""
    library = _libssl()
    if library is None:
        return False
    pointer = ctypes.c_void_p.from_address(id(context) + _HEADER_SIZE).value
    if not pointer:
        return False
    # A wrong pointer would most likely not carry the options the context reports.
    if library.options(pointer) != context.options & 0xFFFF_FFFF_FFFF_FFFF:
        return False
    library.set_callback(pointer, _ACCEPT_ANY, None)
    return True


class _Libssl:
    """The two functions of libssl that are needed, resolved through ``_ssl`` itself."""

    def __init__(self, handle: ctypes.CDLL) -> None:
        options: Any = handle.SSL_CTX_get_options
        options.restype = ctypes.c_uint64
        options.argtypes = [ctypes.c_void_p]
        set_callback: Any = handle.SSL_CTX_set_cert_verify_callback
        set_callback.restype = None
        set_callback.argtypes = [ctypes.c_void_p, _VerifyCallback, ctypes.c_void_p]
        self.options: Callable[[int], int] = options
        self.set_callback: Callable[[int, object, None], None] = set_callback


def _libssl() -> _Libssl | None:
    if sys.implementation.name != "cpython" or sys.version_info[:2] not in _KNOWN_LAYOUTS or sys.abiflags:
        return None
    # SSL_CTX_get_options returns 64 bits only from OpenSSL 3.0 on.
    if ssl.OPENSSL_VERSION_INFO < (3, 0) or not ssl.OPENSSL_VERSION.startswith("OpenSSL"):
        return None
    import _ssl

    path = getattr(_ssl, "__file__", None)
    if path is None:  # built into the interpreter: the symbols may be hidden or another library's
        return None
    try:
        # dlsym on this handle also searches what _ssl was linked with, so no second libssl can be picked up.
        return _Libssl(ctypes.CDLL(path))
    except (OSError, AttributeError) as error:
        logger.info("libssl is out of reach: %s", error)
        return None


def _self_test() -> bool:
    """Shake hands in memory, as a client with a certificate of an unknown CA that has also expired."""
    with tempfile.TemporaryDirectory(prefix="orlop-tls-") as directory:
        pem = os.path.join(directory, "stranger.pem")
        with open(os.open(pem, os.O_WRONLY | os.O_CREAT, 0o600), "wb") as file:
            file.write(_stranger())
        server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        server.load_cert_chain(pem)
        server.verify_mode = ssl.CERT_OPTIONAL
        if not _install(server):
            return False
        client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        client.check_hostname = False
        client.verify_mode = ssl.CERT_NONE
        client.load_cert_chain(pem)
        try:
            shown = _handshake(server, client)
        except ssl.SSLError as error:
            logger.info("the handshake self-test failed: %s", error)
            return False
        with open(pem) as file:
            return shown == ssl.PEM_cert_to_DER_cert(file.read().partition("-----BEGIN PRIVATE KEY-----")[0])


def _handshake(server: ssl.SSLContext, client: ssl.SSLContext) -> bytes | None:
    """Run a whole handshake through memory; the certificate the server saw, in DER."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    server_side = server.wrap_bio(to_server, to_client, server_side=True)
    client_side = client.wrap_bio(to_client, to_server)
    waiting = [client_side, server_side]
    for _ in range(10):  # TLS 1.3 needs two flights a side; ten rounds can only mean a deadlock
        for side in tuple(waiting):
            try:
                side.do_handshake()
            except ssl.SSLWantReadError:
                continue
            waiting.remove(side)
        if not waiting:
            return server_side.getpeercert(binary_form=True)
    return None


def _stranger() -> bytes:
    """A self-signed certificate that expired long ago, with its key, as one PEM file."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "stranger")])
    day = datetime.timedelta(days=1)
    long_ago = datetime.datetime(2001, 1, 1, tzinfo=datetime.UTC)
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number(), long_ago, long_ago + day)
    ).sign(key, hashes.SHA256())
    return certificate.public_bytes(serialization.Encoding.PEM) + key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
