"""One exchange with an API server over HTTP: connections, deadlines, retries, and the mapping of errors.

This is the only module that knows aiohttp. It knows paths and bytes, not objects. Errors of the lower libraries
become `client.errors` here, and answers that say no become `api.errors.StatusError`; nowhere else.

What is retried: an answer that says "later" (429, or 503 with Retry-After), since the server states that it did
nothing. A connection that breaks is not retried, save for aiohttp's own second try on a kept-alive connection that
the server closed before it answered.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

import aiohttp
import msgspec

from api import codec
from api import meta_v1 as meta
from api.errors import StatusError
from client.clock import Clock, SystemClock
from client.errors import BadAnswer, DeadlineExceeded, Unreachable
from client.kubeconfig import Config, ssl_context

JSON = "application/json"
MAX_ATTEMPTS = 10
TOKEN_LIFETIME = 60.0  # seconds a token read from a file is used before it is read again
READ_BUFFER = 1 << 18


@dataclass(frozen=True, slots=True)
class Answer:
    """A complete, successful answer."""

    code: int
    headers: Mapping[str, str]
    body: bytes


class Transport:
    """A pool of connections to one API server under one identity.

    `connections` bounds the plain requests in flight; watches have a pool of their own without a bound, so that many
    informers never starve a write.
    """

    def __init__(
        self,
        config: Config,
        *,
        clock: Clock | None = None,
        connections: int = 32,
        timeout: float = 30.0,
        user_agent: str = "orlop",
    ) -> None:
        self.config = config
        self._clock = clock or SystemClock()
        self._connections = connections
        self._timeout = timeout
        self._user_agent = user_agent
        self._ssl: ssl.SSLContext | None = None
        self._requests: aiohttp.ClientSession | None = None
        self._streams: aiohttp.ClientSession | None = None
        self._token = config.token
        self._token_read = float("-inf")

    async def close(self) -> None:
        """Close all connections; the transport must not be used afterwards."""
        for session in (self._requests, self._streams):
            if session is not None:
                await session.close()

    async def exchange(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: bytes | None = None,
        content_type: str = JSON,
        accept: str = JSON,
        timeout: float | None = None,
    ) -> Answer:
        """Send one request and read the whole answer within `timeout` seconds, waits for "later" answers included."""
        what = f"{method} {path}"
        headers = self._headers(accept, content_type if body is not None else "")
        deadline = self._clock.monotonic() + (timeout or self._timeout)
        for attempt in range(1, MAX_ATTEMPTS + 1):
            answer = await self._once(what, method, path, query, headers, body, deadline)
            if answer.code < 300:
                return answer
            pause = _pause_asked_for(answer)
            if pause is None or attempt == MAX_ATTEMPTS or self._clock.monotonic() + pause >= deadline:
                raise _refusal(what, answer)
            await self._clock.sleep(pause)
        raise AssertionError("unreachable")

    @asynccontextmanager
    async def stream(
        self, path: str, *, query: Mapping[str, str] | None = None, accept: str = JSON, idle: float | None = None
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        """Open a GET whose answer keeps coming; yields its chunks as they arrive.

        The answer must begin within the transport's timeout; `idle` is how many seconds may pass without a byte
        afterwards.
        """
        what = f"GET {path}"
        session = self._session_for_streams()
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=self._timeout, sock_read=idle)
        with _mapped_errors(what):
            async with self._clock.timeout(self._timeout):
                response = await session.get(
                    self.config.server + path,
                    params=query,
                    headers=self._headers(accept, ""),
                    timeout=timeout,
                    server_hostname=self.config.tls_server_name or None,
                    proxy=self.config.proxy_url or None,
                )
        try:
            if response.status >= 300:
                with _mapped_errors(what):
                    async with self._clock.timeout(self._timeout):
                        refused = Answer(response.status, response.headers, await response.read())
                raise _refusal(what, refused)
            yield _chunks(what, response)
        finally:
            # A watch is left in mid-answer: its connection cannot be used again.
            response.close()

    async def _once(
        self,
        what: str,
        method: str,
        path: str,
        query: Mapping[str, str] | None,
        headers: dict[str, str],
        body: bytes | None,
        deadline: float,
    ) -> Answer:
        with _mapped_errors(what):
            async with (
                self._clock.timeout(deadline - self._clock.monotonic()),
                self._session_for_requests().request(
                    method,
                    self.config.server + path,
                    params=query,
                    data=body,
                    headers=headers,
                    server_hostname=self.config.tls_server_name or None,
                    proxy=self.config.proxy_url or None,
                    allow_redirects=False,
                ) as response,
            ):
                return Answer(response.status, response.headers, await response.read())

    def _headers(self, accept: str, content_type: str) -> dict[str, str]:
        # The server is on this machine or on this machine's wire: packing and unpacking would cost more than it saves.
        headers = {"Accept": accept, "Accept-Encoding": "identity", "User-Agent": self._user_agent}
        if content_type:
            headers["Content-Type"] = content_type
        if token := self._bearer():
            headers["Authorization"] = f"Bearer {token}"
        elif self.config.username:
            headers["Authorization"] = aiohttp.BasicAuth(self.config.username, self.config.password).encode()
        return headers

    def _bearer(self) -> str:
        path, now = self.config.token_file, self._clock.monotonic()
        if path and now - self._token_read >= TOKEN_LIFETIME:
            try:
                with open(path, encoding="ascii") as file:
                    self._token = file.read().strip()
            except OSError as error:
                # The old token may well be good for a while yet.
                if not self._token:
                    raise Unreachable(f"token file {path}: {error.strerror}") from error
            self._token_read = now
        return self._token

    def _session_for_requests(self) -> aiohttp.ClientSession:
        if self._requests is None:
            self._requests = self._session(self._connections)
        return self._requests

    def _session_for_streams(self) -> aiohttp.ClientSession:
        if self._streams is None:
            self._streams = self._session(0)
        return self._streams

    def _session(self, limit: int) -> aiohttp.ClientSession:
        if self._ssl is None and self.config.server.startswith("https:"):
            self._ssl = ssl_context(self.config)
        connector = aiohttp.TCPConnector(
            limit=limit, limit_per_host=limit, ssl=self._ssl or True, keepalive_timeout=90, enable_cleanup_closed=False
        )
        return aiohttp.ClientSession(
            connector=connector,
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=self._timeout),
            cookie_jar=aiohttp.DummyCookieJar(),
            read_bufsize=READ_BUFFER,
            auto_decompress=True,
            trust_env=False,
        )


class _mapped_errors:  # noqa: N801 - reads as a statement
    """Turn what aiohttp, ssl, sockets and asyncio raise into this room's errors."""

    def __init__(self, what: str) -> None:
        self._what = what

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: object) -> None:
        if isinstance(error, TimeoutError):
            raise DeadlineExceeded(f"{self._what}: no answer in time") from error
        if isinstance(error, (aiohttp.ClientPayloadError, aiohttp.InvalidURL)):
            raise BadAnswer(f"{self._what}: {error}") from error
        if isinstance(error, (aiohttp.ClientError, OSError, asyncio.IncompleteReadError)):
            raise Unreachable(f"{self._what}: {_cause(error)}") from error


async def _chunks(what: str, response: aiohttp.ClientResponse) -> AsyncIterator[bytes]:
    with _mapped_errors(what):
        async for chunk in response.content.iter_any():
            yield chunk


def _cause(error: BaseException) -> str:
    """The innermost reason, which is what a person wants to read."""
    if isinstance(error, OSError) and error.strerror and not isinstance(error, aiohttp.ClientError):
        return error.strerror
    return str(error) or type(error).__name__


def _pause_asked_for(answer: Answer) -> float | None:
    """Seconds to wait before another try is welcome; None when none is."""
    if answer.code not in (429, 503):
        return None
    value = answer.headers.get("Retry-After", "")
    if not value.isascii() or not value.isdigit():
        return 1.0 if answer.code == 429 else None
    return float(value)


def _refusal(what: str, answer: Answer) -> StatusError | BadAnswer:
    """The exception for an answer that is not a success."""
    try:
        status = codec.decode(answer.body, meta.Status)
    except (codec.DecodeError, msgspec.MsgspecError):
        status = meta.Status()
    if status.kind == "Status" and status.status == "Failure":
        return StatusError(status)
    text = answer.body[:200].decode("utf-8", "replace").strip().replace("\n", " ")
    return BadAnswer(f"{what}: status {answer.code} without a Status object: {text or 'empty body'}")
