"""Bytes of rtnetlink: messages, attributes, answers (rtnetlink(7), linux/rtnetlink.h, linux/if_link.h).

Only what a pod network needs, without a library: the one for Python takes 188 ms to import and 18 ms for a pod's
network, which is the whole budget of an ADD many times over. Pure: no sockets here.
"""

from __future__ import annotations

import errno
import os
import socket
import struct
from collections.abc import Iterator
from dataclasses import dataclass

NLMSG_ERROR, NLMSG_DONE = 2, 3
RTM_NEWLINK, RTM_DELLINK, RTM_GETLINK, RTM_SETLINK = 16, 17, 18, 19
RTM_NEWADDR, RTM_DELADDR, RTM_GETADDR = 20, 21, 22
RTM_NEWROUTE, RTM_DELROUTE, RTM_GETROUTE = 24, 25, 26

NLM_F_REQUEST, NLM_F_ACK, NLM_F_DUMP = 0x1, 0x4, 0x300
NLM_F_REPLACE, NLM_F_EXCL, NLM_F_CREATE = 0x100, 0x200, 0x400

IFLA_ADDRESS, IFLA_IFNAME, IFLA_MTU, IFLA_LINK, IFLA_MASTER, IFLA_LINKINFO = 1, 3, 4, 5, 10, 18
IFLA_NET_NS_FD, IFLA_ALT_IFNAME = 28, 53
IFLA_PROTINFO = 12
IFLA_INFO_KIND, IFLA_INFO_DATA, VETH_INFO_PEER = 1, 2, 1
IFLA_BRPORT_MODE = 4  # hairpin
IFA_ADDRESS, IFA_LOCAL = 1, 2
RTA_DST, RTA_OIF, RTA_GATEWAY, RTA_TABLE = 1, 4, 5, 15
IFF_UP = 1
RT_TABLE_MAIN, RTPROT_STATIC, RT_SCOPE_UNIVERSE, RT_SCOPE_LINK, RTN_UNICAST = 254, 4, 0, 253, 1
NLA_F_NESTED = 0x8000

_HEADER = struct.Struct("=LHHLL")
_LINK = struct.Struct("=BxHiII")
_ADDRESS = struct.Struct("=BBBBi")
_ROUTE = struct.Struct("=BBBBBBBBI")
_ATTRIBUTE = struct.Struct("=HH")


class NetlinkError(OSError):
    """The kernel refused a request; `errno` says why."""


@dataclass(frozen=True, slots=True)
class Answer:
    """One message of the kernel's answer."""

    kind: int
    body: bytes


def attribute(kind: int, value: bytes | str | int) -> bytes:
    """One attribute: text is ended with a NUL, numbers are 32 bits in host order."""
    if isinstance(value, str):
        value = value.encode() + b"\0"
    elif isinstance(value, int):
        value = struct.pack("=I", value)
    length = len(value) + 4
    return _ATTRIBUTE.pack(length, kind) + value + bytes(-length & 3)


def nested(kind: int, *inner: bytes) -> bytes:
    """An attribute made of attributes."""
    return attribute(kind | NLA_F_NESTED, b"".join(inner))


def request(kind: int, flags: int, sequence: int, body: bytes) -> bytes:
    """A whole message, ready to send."""
    return _HEADER.pack(len(body) + 16, kind, flags | NLM_F_REQUEST, sequence, 0) + body


def link_body(index: int = 0, *attributes: bytes, up: bool | None = None, family: int = 0) -> bytes:
    """The body of a link message; `up` of None leaves the flag as it is."""
    flags, change = (0, 0) if up is None else (IFF_UP if up else 0, IFF_UP)
    return _LINK.pack(family, 0, index, flags, change) + b"".join(attributes)


def address_body(index: int, address: str, prefix: int, *, scope: int = 0) -> bytes:
    """The body of an address message for an IPv4 or IPv6 address on link `index`."""
    family, packed = packed_address(address)
    body = _ADDRESS.pack(family, prefix, 0, scope, index) + attribute(IFA_LOCAL, packed)
    return body + attribute(IFA_ADDRESS, packed)


def route_body(destination: str, prefix: int, index: int, gateway: str = "") -> bytes:
    """The body of a route message; a default route is one with prefix 0."""
    family, packed = packed_address(destination)
    scope = RT_SCOPE_UNIVERSE if gateway else RT_SCOPE_LINK
    body = _ROUTE.pack(family, prefix, 0, 0, RT_TABLE_MAIN, RTPROT_STATIC, scope, RTN_UNICAST, 0)
    if prefix:
        body += attribute(RTA_DST, packed)
    if gateway:
        body += attribute(RTA_GATEWAY, packed_address(gateway)[1])
    return body + attribute(RTA_OIF, index)


def packed_address(address: str) -> tuple[int, bytes]:
    """Address family and network-order bytes. Raises OSError for text that is no address."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    return family, socket.inet_pton(family, address)


def unpacked_address(packed: bytes) -> str:
    """The text of 4 or 16 bytes of address."""
    return socket.inet_ntop(socket.AF_INET6 if len(packed) == 16 else socket.AF_INET, packed)


def answers(data: bytes, sequence: int) -> Iterator[Answer]:
    """The messages in one datagram that answer `sequence`; raises NetlinkError for a refusal."""
    offset = 0
    while offset + 16 <= len(data):
        length, kind, _flags, number, _pid = _HEADER.unpack_from(data, offset)
        if length < 16:
            raise NetlinkError(errno.EBADMSG, "netlink: truncated message")
        body = data[offset + 16 : offset + length]
        offset += (length + 3) & ~3
        if number != sequence:
            continue  # the late answer to a request that was given up
        if kind == NLMSG_ERROR:
            code = -struct.unpack_from("=i", body)[0]
            if code:
                raise NetlinkError(code, os.strerror(code))
            yield Answer(NLMSG_DONE, b"")
        else:
            yield Answer(kind, body)


def attributes(data: bytes) -> dict[int, bytes]:
    """The attributes in `data` by number; of repeated ones the last."""
    found: dict[int, bytes] = {}
    offset = 0
    while offset + 4 <= len(data):
        length, kind = _ATTRIBUTE.unpack_from(data, offset)
        if length < 4:
            break
        found[kind & 0x3FFF] = data[offset + 4 : offset + length]
        offset += (length + 3) & ~3
    return found


@dataclass(frozen=True, slots=True)
class Link:
    """A network interface as the kernel describes it."""

    index: int
    name: str
    up: bool
    mac: str = ""
    mtu: int = 0
    master: int = 0
    kind: str = ""


def parse_link(body: bytes) -> Link:
    """A link from the body of an RTM_NEWLINK message."""
    _family, _type, index, flags, _change = _LINK.unpack_from(body)
    found = attributes(body[16:])
    info = attributes(found.get(IFLA_LINKINFO, b""))
    return Link(
        index=index,
        name=found.get(IFLA_IFNAME, b"").rstrip(b"\0").decode(),
        up=bool(flags & IFF_UP),
        mac=found.get(IFLA_ADDRESS, b"").hex(":"),
        mtu=struct.unpack("=I", found[IFLA_MTU])[0] if IFLA_MTU in found else 0,
        master=struct.unpack("=I", found[IFLA_MASTER])[0] if IFLA_MASTER in found else 0,
        kind=info.get(IFLA_INFO_KIND, b"").rstrip(b"\0").decode(),
    )


def parse_address(body: bytes) -> tuple[int, str, int]:
    """Link index, address and prefix length from the body of an RTM_NEWADDR message."""
    _family, prefix, _flags, _scope, index = _ADDRESS.unpack_from(body)
    found = attributes(body[8:])
    return index, unpacked_address(found.get(IFA_LOCAL) or found[IFA_ADDRESS]), prefix


def parse_route(body: bytes) -> tuple[str, int, int, str]:
    """Destination, prefix length, link index and gateway from the body of an RTM_NEWROUTE message; "" for none."""
    family, prefix = _ROUTE.unpack_from(body)[:2]
    found = attributes(body[12:])
    any_address = "::" if family == socket.AF_INET6 else "0.0.0.0"
    destination = unpacked_address(found[RTA_DST]) if RTA_DST in found else any_address
    gateway = unpacked_address(found[RTA_GATEWAY]) if RTA_GATEWAY in found else ""
    index = struct.unpack("=I", found[RTA_OIF])[0] if RTA_OIF in found else 0
    return destination, prefix, index, gateway
