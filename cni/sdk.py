"""Writing a CNI plugin in a page of Python: functions for the commands, everything else is done here.

::

    from cni.sdk import Request, main

    def add(request: Request) -> dict:
        ...                       # request.call.netns, request.config["…"], request.previous
        return request.previous

    main(add=add, delete=lambda request: None)

A command that is not given succeeds without doing anything, ADD excepted. What a function raises as CniError is
reported with its code; anything else as code 5 with its text.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from cni.environment import Call, parse_environment
from cni.errors import CniError, DecodingFailure, IncompatibleVersion, InvalidEnvironment, IOFailure

VERSIONS = ("0.3.0", "0.3.1", "0.4.0", "1.0.0", "1.1.0")
Handler = Callable[["Request"], "dict[str, Any] | None"]


@dataclass(frozen=True, slots=True)
class Request:
    """One call: the parameters of the environment and the configuration of standard input."""

    call: Call
    config: Mapping[str, Any]

    @property
    def version(self) -> str:
        return str(self.config.get("cniVersion") or "0.1.0")

    @property
    def previous(self) -> dict[str, Any]:
        """What the plugin before this one gave; without one, a result in which there is nothing yet."""
        return dict(self.config.get("prevResult") or {"cniVersion": self.version})

    @property
    def valid_attachments(self) -> list[tuple[str, str]]:
        """For GC: container and interface of what is still there."""
        listed = self.config.get("cni.dev/valid-attachments") or ()
        return [(str(item["containerID"]), str(item["ifname"])) for item in listed]


def serve(
    handlers: Mapping[str, Handler],
    environment: Mapping[str, str],
    stdin: bytes,
    *,
    versions: Sequence[str] = VERSIONS,
) -> tuple[int, bytes]:
    """Answer one call; returns exit code and standard output. Never raises an ordinary exception."""
    version = versions[-1]
    try:
        call = parse_environment(environment)
        config = _decode(stdin)
        version = str(config.get("cniVersion") or version)
        if call.command == "VERSION":
            answer: dict[str, Any] | None = {"cniVersion": version, "supportedVersions": list(versions)}
        else:
            answer = _dispatch(handlers, Request(call, config), versions)
    except CniError as error:
        return 1, _failure(version, error)
    except Exception as error:  # noqa: BLE001 - the runtime must get an answer it can read, whatever went wrong
        return 1, _failure(version, IOFailure(type(error).__name__, str(error)))
    return 0, b"" if answer is None else json.dumps(answer).encode()


def _decode(stdin: bytes) -> dict[str, Any]:
    try:
        config = json.loads(stdin)
    except ValueError as error:
        raise DecodingFailure("failed to decode network configuration", str(error)) from error
    if not isinstance(config, dict):
        raise DecodingFailure("failed to decode network configuration", "expected an object")
    return config


def _dispatch(handlers: Mapping[str, Handler], request: Request, versions: Sequence[str]) -> dict[str, Any] | None:
    if request.version not in versions:
        raise IncompatibleVersion(
            "incompatible CNI versions", f'config is "{request.version}", plugin supports {list(versions)}'
        )
    handler = handlers.get(request.call.command)
    if handler is None:
        if request.call.command == "ADD":
            raise InvalidEnvironment("this plugin does not implement ADD")
        return None
    answer = handler(request)
    return answer if request.call.command == "ADD" else None


def _failure(version: str, error: CniError) -> bytes:
    body: dict[str, Any] = {"cniVersion": version, "code": error.code, "msg": error.msg}
    if error.details:
        body["details"] = error.details
    return json.dumps(body).encode()


def main(
    *,
    add: Handler,
    delete: Handler,
    check: Handler | None = None,
    collect: Handler | None = None,
    status: Handler | None = None,
    versions: Sequence[str] = VERSIONS,
) -> NoReturn:
    """Be the plugin that this process was started as, and leave with its exit code."""
    given = {"ADD": add, "DEL": delete, "CHECK": check, "GC": collect, "STATUS": status}
    handlers = {command: handler for command, handler in given.items() if handler is not None}
    code, output = serve(handlers, os.environ, sys.stdin.buffer.read(), versions=versions)
    sys.stdout.buffer.write(output)
    sys.stdout.flush()
    sys.exit(code)
