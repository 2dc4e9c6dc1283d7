"""Making the executables that a container runtime calls: `orlop-cni` and `loopback`.

An executable is one small Python file that runs without site and imports two built-in modules, so that it starts in
8 ms where an import of what it does would take ten times that. It hands the call to the agent's socket, and does the
work itself when nobody answers there.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

NAMES = ("orlop-cni", "loopback")

_SOURCE = """#!{python} -IS
import posix
import sys

try:
    import _socket
except ImportError:
    _socket = None


def read_all(read):
    parts = []
    while part := read():
        parts.append(part)
    return b"".join(parts)


def ask(request):
    try:
        line = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
        line.settimeout({deadline})
        line.connect({socket!r})
        line.sendall(request)
        line.shutdown(_socket.SHUT_WR)
        return read_all(lambda: line.recv(65536))
    except (AttributeError, OSError):
        return b""


name = sys.argv[0].rpartition("/")[2]
stdin = read_all(lambda: posix.read(0, 65536))
variables = [key + b"=" + value for key, value in posix.environ.items() if key[:4] == b"CNI_"]
code, separator, output = ask(b"\\0".join([name.encode(), *variables]) + b"\\0\\0" + stdin).partition(b"\\n")
if not separator:
    sys.path += {path!r}
    from cni.bridge.alone import serve

    number, output = serve(name, stdin)
    code = b"%d" % number
while output:
    output = output[posix.write(1, output):]
posix._exit(int(code))
"""

ANSWER_DEADLINE = 60.0


def source(socket: str, python: str, path: Sequence[str]) -> str:
    """The text of the executable: asks at `socket`, and else imports from `path`."""
    return _SOURCE.format(python=python, socket=socket, path=list(path), deadline=ANSWER_DEADLINE)


def install(folder: str, socket: str) -> list[str]:
    """Write the executables into `folder`, each replaced atomically; returns their paths. Raises OSError."""
    os.makedirs(folder, exist_ok=True)
    path = [entry for entry in sys.path if entry and not entry.endswith(".zip")]
    text = source(socket, sys.executable, path)
    written = []
    for name in NAMES:
        target = os.path.join(folder, name)
        temporary = f"{target}.{os.getpid()}"
        with open(temporary, "w", encoding="utf-8") as file:
            file.write(text)
            os.fchmod(file.fileno(), 0o755)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
        written.append(target)
    return written
