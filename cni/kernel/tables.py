"""News of the packet filter: the tables that somebody has removed.

A reload of the host's own rules (`nft flush ruleset`, as Debian's nftables.service does at each restart) takes every
table along; whoever wants to keep one has to hear of it. Source: linux/netfilter/nfnetlink.h and nf_tables.h.
"""

from __future__ import annotations

import errno
import socket
import struct

from cni.kernel.messages import attributes

NETLINK_NETFILTER = 12
NFTABLES_GROUP = 1 << (7 - 1)  # NFNLGRP_NFTABLES
DELTABLE = 10 << 8 | 2  # NFNL_SUBSYS_NFTABLES, NFT_MSG_DELTABLE
NFTA_TABLE_NAME = 1

_HEADER = struct.Struct("=LHHLL")
_FAMILY_BYTES = 4  # struct nfgenmsg
_LONGEST = 1 << 16


class TableRemovals:
    """A socket that is readable when the packet filter has changed. Raises OSError where there is no nftables, or no
    right to listen.
    """

    def __init__(self) -> None:
        kind = socket.SOCK_RAW | socket.SOCK_CLOEXEC | socket.SOCK_NONBLOCK
        self._socket = socket.socket(socket.AF_NETLINK, kind, NETLINK_NETFILTER)
        try:
            self._socket.bind((0, NFTABLES_GROUP))
        except OSError:
            self._socket.close()
            raise

    def fileno(self) -> int:
        return self._socket.fileno()

    def read(self) -> set[str] | None:
        """The names of the tables removed since the last call; None when news was lost, so that it may be any."""
        found: set[str] = set()
        lost = False
        while True:
            try:
                data = self._socket.recv(_LONGEST)
            except BlockingIOError:
                return None if lost else found
            except OSError as error:
                if error.errno != errno.ENOBUFS:
                    raise
                lost = True
                continue
            found |= removed_tables(data)

    def close(self) -> None:
        self._socket.close()


def removed_tables(data: bytes) -> set[str]:
    """The names of the tables whose removal a datagram of netlink tells."""
    found = set()
    while len(data) >= _HEADER.size:
        length, kind, *_ = _HEADER.unpack_from(data)
        if length < _HEADER.size:
            break
        if kind == DELTABLE:
            told = attributes(data[_HEADER.size + _FAMILY_BYTES : length])
            found.add(told.get(NFTA_TABLE_NAME, b"").rstrip(b"\0").decode())
        data = data[(length + 3) & ~3 :]
    return found
