"""How a bad value is shown inside an error message.

The reference implementation prints strings quoted as Go does, plain scalars bare, and everything else as the JSON
its internal types give. Types of meta/v1 have JSON names; the others are internal there, carry no JSON tags, and
so show Go's field names with every zero value (`{"Name":"","Protocol":"TCP",…}`). Clients match on these
texts, hence this module. It runs only when there is an error, so it need not be fast; it must not know any kind.
"""

from __future__ import annotations

import json
from typing import Any

import msgspec

_ESCAPES = {"\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v"}
_INITIALISMS = {
    "apiVersion": "APIVersion",
    "apiGroup": "APIGroup",
    "uid": "UID",
    "ip": "IP",
    "hostIP": "HostIP",
    "clientIP": "ClientIP",
    "podIP": "PodIP",
    "clusterIP": "ClusterIP",
    "tcpSocket": "TCPSocket",
    "httpGet": "HTTPGet",
    "grpc": "GRPC",
    "tty": "TTY",
    "nfs": "NFS",
    "iscsi": "ISCSI",
    "fc": "FC",
    "rbd": "RBD",
    "csi": "CSI",
    "cephfs": "CephFS",
    "downwardAPI": "DownwardAPI",
    "seLinuxOptions": "SELinuxOptions",
    "uri": "URI",
    "url": "URL",
    "caBundle": "CABundle",
    "ttlSecondsAfterFinished": "TTLSecondsAfterFinished",
    "nonResourceURLs": "NonResourceURLs",
    "apiGroups": "APIGroups",
}


def quote(text: str) -> str:
    """A string as Go's %q shows it: double quotes, escapes for what cannot be printed."""
    out = ['"']
    for char in text:
        if char in '"\\':
            out.append("\\" + char)
        elif char in _ESCAPES:
            out.append(_ESCAPES[char])
        elif char.isprintable():
            out.append(char)
        elif (code := ord(char)) < 0x80:
            out.append(f"\\x{code:02x}")
        elif code < 0x10000:
            out.append(f"\\u{code:04x}")
        else:
            out.append(f"\\U{code:08x}")
    out.append('"')
    return "".join(out)


def render(value: Any) -> str:
    """A value as an error message shows it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, str):
        return quote(value)
    return to_json(go_form(value))


def to_json(value: Any) -> str:
    """JSON as Go's encoder writes it: compact, and with <, > and & escaped."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def go_form(value: Any) -> Any:
    """The value as the reference implementation's JSON of its internal types has it."""
    if isinstance(value, msgspec.Struct):
        wire_names = type(value).__module__.rpartition(".")[2].startswith("meta")
        shown: dict[str, Any] = {}
        for field in msgspec.structs.fields(value):
            item = getattr(value, field.name)
            if wire_names:
                zero = [] if field.default_factory is list else {} if field.default_factory is dict else field.default
                if item != zero:
                    shown[field.encode_name] = go_form(item)
            else:
                shown[go_name(field.encode_name)] = go_form(None if item in ([], {}) else item)
        return shown
    if isinstance(value, dict):
        return {str(key): go_form(value[key]) for key in sorted(value, key=str)}
    if isinstance(value, list | tuple | set | frozenset):
        return [go_form(item) for item in value]
    if value is None or isinstance(value, str | bool | int | float):
        return str(value) if isinstance(value, str) else value
    if isinstance(value, bytes):
        return msgspec.to_builtins(value)
    return str(value)


def go_name(wire_name: str) -> str:
    """The Go name of a field, from its JSON name."""
    return _INITIALISMS.get(wire_name) or wire_name[:1].upper() + wire_name[1:]
