"""What netlink tells of tables that were removed from the packet filter."""

from __future__ import annotations

import struct

from cni.kernel.messages import attribute
from cni.kernel.tables import DELTABLE, NFTA_TABLE_NAME, removed_tables

NEWTABLE, NEWGEN = 10 << 8 | 0, 10 << 8 | 15


def message(kind: int, name: str) -> bytes:
    body = struct.pack("=BBH", 2, 0, 0) + attribute(NFTA_TABLE_NAME, name)
    return struct.pack("=LHHLL", 16 + len(body), kind, 0, 1, 1) + body


def test_names_of_removed_tables_are_found_among_other_news() -> None:
    news = message(NEWTABLE, "made") + message(DELTABLE, "filter") + message(DELTABLE, "orlop-orlop0")
    assert removed_tables(news + message(NEWGEN, "")) == {"filter", "orlop-orlop0"}


def test_what_is_cut_short_ends_the_reading() -> None:
    assert removed_tables(message(DELTABLE, "whole") + message(DELTABLE, "cut")[:10]) == {"whole"}
    assert removed_tables(b"\0" * 16) == set()
