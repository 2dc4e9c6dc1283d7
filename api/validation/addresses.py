"""IP addresses and CIDRs.

Two strictnesses exist: new fields want the canonical form, fields older than that rule take any unambiguous form.
Both refuse leading zeros and IPv4-mapped IPv6 addresses, which different software reads differently (KEP-4858).
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Sequence

from api.fields import FieldErrors, invalid

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

_LEADING_ZERO = re.compile(r"(?:^|\.)0+(?=\d)")


def parse_address(value: str) -> Address | None:
    """An address, leading zeros of IPv4 octets ignored; None if it is none. Zones (`%eth0`) are refused."""
    if "%" in value:
        return None
    try:
        return ipaddress.ip_address(value)
    except ValueError:
        plain = _LEADING_ZERO.sub(lambda match: "." if match.group().startswith(".") else "", value)
    if ":" in value or plain == value:
        return None
    try:
        return ipaddress.IPv4Address(plain)
    except ValueError:
        return None


def validate_address(
    value: str, path: str, out: FieldErrors, *, canonical: bool = False, known: Sequence[str] = ()
) -> bool:
    """An IP address; `known` are values of the old object, accepted as they are. Returns whether it is fine."""
    if value in known:
        return True
    parsed = parse_address(value)
    if parsed is None:
        detail = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
        out.append(invalid(path, value, detail))
        return False
    before = len(out)
    if parsed.version == 4 and str(parsed) != value:
        out.append(invalid(path, value, "must not have leading 0s"))
    if isinstance(parsed, ipaddress.IPv6Address) and parsed.ipv4_mapped is not None:
        out.append(invalid(path, value, "must not be an IPv4-mapped IPv6 address"))
    if canonical and len(out) == before and str(parsed) != value:
        out.append(invalid(path, value, f'must be in canonical form ("{parsed}")'))
    return len(out) == before


def validate_cidr(
    value: str, path: str, out: FieldErrors, *, canonical: bool = False, known: Sequence[str] = ()
) -> bool:
    """A subnet; see `validate_address`."""
    if value in known:
        return True
    address, slash, length = value.partition("/")
    parsed = parse_address(address) if slash and length.isdigit() and length.isascii() else None
    if parsed is None or int(length) > parsed.max_prefixlen:
        detail = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"
        out.append(invalid(path, value, detail))
        return False
    network = ipaddress.ip_network(f"{parsed}/{int(length)}", strict=False)
    if str(int(length)) != length or (parsed.version == 4 and str(parsed) != address):
        out.append(invalid(path, value, "must not have leading 0s in IP or prefix length"))
    elif isinstance(parsed, ipaddress.IPv6Address) and parsed.ipv4_mapped is not None:
        out.append(invalid(path, value, "must not have an IPv4-mapped IPv6 address"))
    elif network.network_address != parsed:
        out.append(invalid(path, value, "must not have bits set beyond the prefix length"))
    elif canonical and str(network) != value:
        out.append(invalid(path, value, f'must be in canonical form ("{network}")'))
    else:
        return True
    return False


def validate_not_special(value: str, path: str, out: FieldErrors) -> None:
    """An address an endpoint may have: not unspecified, loopback or link-local (node metadata services live there)."""
    parsed = parse_address(value)
    if parsed is None:
        out.append(invalid(path, value, "must be a valid IP address"))
        return
    mapped = getattr(parsed, "ipv4_mapped", None)
    address: Address = mapped or parsed
    if address.is_unspecified:
        out.append(invalid(path, value, f"may not be unspecified ({value})"))
    if address.is_loopback:
        out.append(invalid(path, value, "may not be in the loopback range (127.0.0.0/8, ::1/128)"))
    if address.is_link_local:
        out.append(invalid(path, value, "may not be in the link-local range (169.254.0.0/16, fe80::/10)"))
    if _is_link_local_multicast(address):
        detail = "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"
        out.append(invalid(path, value, detail))


def _is_link_local_multicast(address: Address) -> bool:
    packed = address.packed
    if address.version == 4:
        return packed[:3] == b"\xe0\x00\x00"
    return packed[0] == 0xFF and packed[1] & 0x0F == 0x02


def families(values: Sequence[str]) -> set[int]:
    """The IP versions among addresses or CIDRs; unreadable ones are left out."""
    found: set[int] = set()
    for value in values:
        parsed = parse_address(value.partition("/")[0])
        if parsed is not None:
            found.add(parsed.version)
    return found
