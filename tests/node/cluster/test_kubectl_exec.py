"""`kubectl exec`, `attach`, `cp` and `port-forward`: streams through API server, agent and runtime."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.node.cluster.kubectl import Kubectl
from tests.node.cluster.manifests import container, pod, shell

pytestmark = pytest.mark.node
both_protocols = pytest.mark.parametrize("protocol", ["websocket", "spdy"])


@both_protocols
def test_commands_and_their_codes(kubectl: Kubectl, protocol: str) -> None:
    kubectl = kubectl.speaking(protocol)
    kubectl.start_pod(pod("box", container("main"), container("other")))
    assert kubectl("exec", "box", "-c", "main", "--", "echo", "out") == "out\n"
    done = kubectl.run("exec", "box", "-c", "main", "--", "sh", "-c", "echo out; echo err >&2; exit 7")
    assert (done.returncode, done.stdout) == (7, "out\n")
    assert done.stderr == "err\ncommand terminated with exit code 7\n"
    done = kubectl.run("exec", "box", "--", "hostname")
    assert done.stdout == "box\n"
    assert done.stderr == 'Defaulted container "main" out of: main, other\n'
    assert kubectl("exec", "-i", "box", "-c", "other", "--", "wc", "-c", text="x" * 300_000) == "300000\n"
    missing = kubectl.run("exec", "box", "-c", "main", "--", "no-such-program")
    assert missing.returncode != 0
    assert 'exec: "no-such-program": executable file not found in $PATH' in missing.stderr
    said = kubectl.refused("exec", "box", "-c", "none", "--", "true")
    assert said == "Error from server (BadRequest): container none is not valid for pod box\n"


@both_protocols
def test_a_lot_of_output_arrives_whole(kubectl: Kubectl, protocol: str) -> None:
    kubectl = kubectl.speaking(protocol)
    kubectl.start_pod(pod("box"))
    said = kubectl("exec", "box", "--", "sh", "-c", "seq 1 200000").split()
    assert len(said) == 200_000
    assert all(word == str(number) for number, word in enumerate(said, 1))


@both_protocols
def test_a_shell_at_a_terminal(kubectl: Kubectl, protocol: str) -> None:
    kubectl = kubectl.speaking(protocol)
    kubectl.start_pod(pod("box"))
    with kubectl.at_terminal("exec", "-it", "box", "--", "sh", rows=30, columns=100) as terminal:
        terminal.expect("# ")
        terminal.type("tty; stty size\n")
        terminal.expect("/dev/pts/")
        terminal.expect("30 100\n")
        terminal.resize(40, 120)
        terminal.expect("# ")
        terminal.type("sleep 0.5; stty size\n")
        terminal.expect("40 120\n")
        terminal.expect("# ")
        terminal.type("echo asleep; sleep 100\n")
        terminal.expect("asleep\n")
        terminal.type("\x03")
        terminal.expect("# ")
        terminal.type("exit 5\n")
        assert terminal.end() == 5
    assert "command terminated with exit code 5" in terminal.screen


def test_many_at_once(kubectl: Kubectl) -> None:
    kubectl.start_pod(pod("box"))
    with ThreadPoolExecutor(8) as pool:
        said = list(pool.map(lambda number: kubectl("exec", "box", "--", "echo", str(number)), range(16)))
    assert said == [f"{number}\n" for number in range(16)]


@both_protocols
def test_attaching(kubectl: Kubectl, protocol: str) -> None:
    kubectl = kubectl.speaking(protocol)
    echo = "while read line; do echo heard $line; done; echo end of input; sleep infinity"
    kubectl.start_pod(pod("listens", container(command=shell(echo), stdin=True)))
    with kubectl.background("attach", "-i", "listens", stdin=subprocess.PIPE) as attached:
        assert attached.process.stdin is not None
        attached.process.stdin.write(b"hello\n")
        attached.process.stdin.flush()
        attached.expect("heard hello\n")


def test_attaching_at_a_terminal(kubectl: Kubectl) -> None:
    kubectl.start_pod(pod("shell", container(command=["sh"], stdin=True, tty=True)))
    with kubectl.at_terminal("attach", "-it", "shell") as terminal:
        terminal.expect("If you don't see a command prompt, try pressing enter.")
        terminal.type("\n")
        terminal.expect("# ")
        terminal.type("echo $((6 * 7))\n")
        terminal.expect("42\n")


def test_running_a_pod_and_staying_with_it(kubectl: Kubectl) -> None:
    image = container()["image"]
    options = (f"--image={image}", "--restart=Never", "--rm", "-i")
    said = kubectl("run", "errand", *options, "--", "sh", "-c", "sleep 1; cat", text="through and through\n")
    assert "through and through\n" in said
    assert 'pod "errand" deleted' in said


@both_protocols
def test_copying_both_ways(kubectl: Kubectl, protocol: str, tmp_path: Path) -> None:
    kubectl = kubectl.speaking(protocol)
    kubectl.start_pod(pod("box"))
    folder = tmp_path / "there"
    (folder / "deep").mkdir(parents=True)
    (folder / "deep" / "random").write_bytes(os.urandom(3_000_000))
    (folder / "empty").touch()
    (folder / "script").write_text("#!/bin/sh\necho ran\n")
    (folder / "script").chmod(0o755)
    kubectl("cp", str(folder), "box:/tmp/copy")
    assert kubectl("exec", "box", "--", "/tmp/copy/script") == "ran\n"
    kubectl("cp", "box:/tmp/copy", str(tmp_path / "back"))
    for name in ("deep/random", "empty", "script"):
        assert (tmp_path / "back" / name).read_bytes() == (folder / name).read_bytes()


@both_protocols
def test_forwarding_ports(kubectl: Kubectl, protocol: str) -> None:
    kubectl = kubectl.speaking(protocol)
    make = "mkdir /www; echo forwarded > /www/index.html; head -c 2000000 /dev/zero > /www/big"
    serve = f"{make}; exec httpd -f -p 8080 -h /www"
    kubectl.start_pod(
        pod(
            "web",
            container(
                command=shell(serve),
                readinessProbe={"tcpSocket": {"port": 8080}, "periodSeconds": 1},
            ),
        )
    )
    with kubectl.background("port-forward", "pod/web", ":8080", ":81") as forwarding:
        forwarding.expect("-> 81\n")
        eighty, closed = (int(port) for port in re.findall(r"127\.0\.0\.1:(\d+) ->", forwarding.output))
        assert _fetch(eighty) == b"forwarded\n"
        with ThreadPoolExecutor(4) as pool:
            for body in pool.map(lambda _: _fetch(eighty, "/big"), range(8)):
                assert len(body) == 2_000_000
        # A port at which nobody listens; kubectl itself then gives up.
        with socket.create_connection(("127.0.0.1", closed), 5) as connection:
            connection.settimeout(10)
            assert connection.recv(1) == b""
        forwarding.expect("error forwarding port 81 to pod")


def _fetch(port: int, path: str = "/") -> bytes:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=20) as answer:
        body: bytes = answer.read()
        return body
