"""Settings that no node could start with are refused before anything starts, by the option's name."""

from __future__ import annotations

import os
import socket
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cli import lock
from cli.layout import Layout
from cli.main import main, parser, settings_of
from cli.options import misfits, ports_in_use
from cli.settings import Settings

USUAL = Settings(node_name="node", node_ip="127.0.0.1")


def test_the_usual_settings_are_in_order() -> None:
    assert misfits(USUAL) == []


@pytest.mark.parametrize(
    ("wrong", "complaint"),
    [
        ({"node_name": "Node_1"}, "--node-name Node_1: a lowercase RFC 1123 subdomain must consist of"),
        ({"node_ip": "localhost"}, "--node-ip localhost: not an IPv4 address"),
        ({"node_ip": "192.0.2.77"}, "--node-ip 192.0.2.77: no interface of this machine has this address"),
        ({"max_pods": 0}, "--max-pods 0: must be at least 1"),
        ({"api_port": 0}, "--api-port 0: must be between 1 and 65535"),
        ({"agent_port": 70000}, "--agent-port 70000: must be between 1 and 65535"),
        ({"api_port": 10250}, "--api-port and --agent-port: both are 10250"),
        ({"pod_cidr": "nonsense"}, "--pod-cidr nonsense: not an IPv4 range"),
        ({"pod_cidr": "10.42.0.1/24"}, "--pod-cidr 10.42.0.1/24: not an IPv4 range: 10.42.0.1/24 has host bits set"),
        ({"pod_cidr": "10.42.0.0/30"}, "--pod-cidr 10.42.0.0/30: must have at least 8 addresses"),
        ({"pod_cidr": "10.1.0.0/24"}, "--pod-cidr 10.1.0.0/24: must be part of --cluster-cidr 10.42.0.0/16"),
        ({"service_cidr": "10.43.0.0/29"}, "--service-cidr 10.43.0.0/29: must have at least 16 addresses"),
        ({"service_cidr": "10.40.0.0/13"}, "--service-cidr 10.40.0.0/13: overlaps the pods' range 10.42.0.0/16"),
        ({"bridge": "a-very-long-name"}, "--bridge a-very-long-name: must be 1 to 15 bytes"),
        ({"cgroup_root": "pods/../x"}, "--cgroup-root pods/../x: not a path below the root"),
        ({"runtime_endpoint": "tcp://192.0.2.1"}, "--container-runtime-endpoint tcp://192.0.2.1: must be unix://"),
    ],
)
def test_what_cannot_be_is_refused_by_its_option(wrong: dict[str, Any], complaint: str) -> None:
    (only,) = misfits(replace(USUAL, **wrong))
    assert only.startswith(complaint)


def test_a_folder_for_sockets_has_to_leave_room_for_their_names() -> None:
    fits = Path("/" + "r" * 84)
    assert misfits(replace(USUAL, layout=Layout(run=fits))) == []
    (only,) = misfits(replace(USUAL, layout=Layout(run=Path(f"{fits}x"))))
    assert only == f"--run-dir {fits}x: must not be longer than 85 bytes, for the sockets in it"


def test_a_port_that_is_taken_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        found = ports_in_use(replace(USUAL, api_port=port, agent_port=port), patience=0)
    assert found == [
        f"port {port} of 127.0.0.1 is in use: end what listens there, or choose another by --api-port",
        f"port {port} of 127.0.0.1 is in use: end what listens there, or choose another by --agent-port",
    ]
    assert ports_in_use(replace(USUAL, api_port=port, agent_port=port), patience=0) == []


def test_folders_are_found_again_from_elsewhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    settings = settings_of(parser().parse_args(["up", "--data-dir=data", "--run-dir=../run"]))
    assert settings.layout.data == tmp_path / "data"
    assert settings.layout.run.is_absolute()


def test_a_folder_that_cannot_be_made_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("cli.up.complaints", lambda settings: [])
    (tmp_path / "file").write_text("")
    assert main(["up", "--node-ip=127.0.0.1", f"--data-dir={tmp_path}/file/data"]) == 1
    assert capsys.readouterr().err == f"orlop up: {tmp_path}/file/data: {os.strerror(20)}\n"


def test_a_folder_that_cannot_be_written_to_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("cli.up.complaints", lambda settings: [])
    # As on a file system that is mounted read-only, which stops root, too.
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != tmp_path / "config")
    places = [f"--{name}-dir={tmp_path}/{name}" for name in ("data", "config", "run")]
    assert main(["up", "--node-ip=127.0.0.1", *places]) == 1
    assert capsys.readouterr().err == f"orlop up: {tmp_path}/config: cannot be written to\n"


def test_a_node_that_runs_is_told_of_before_its_ports_are(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("cli.up.complaints", lambda settings: [])
    places = [f"--{name}-dir={tmp_path}/{name}" for name in ("data", "config", "run")]
    held = lock.take(tmp_path / "run" / "supervisor.pid")
    try:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
            assert main(["up", "--node-ip=127.0.0.1", f"--api-port={port}", *places]) == 1
    finally:
        os.close(held)
    assert capsys.readouterr().err == f"orlop up: orlop is running already (process {os.getpid()})\n"
