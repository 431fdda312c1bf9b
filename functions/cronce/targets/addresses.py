"""Which addresses an `http` target may have. The tables are explicit: what the standard library
calls private or global has changed between Python versions."""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_address,
)

from cronce.targets.kinds import Network

_REFUSED_V4 = {
    IPv4Network(net): why
    for net, why in (
        ("0.0.0.0/8", "unspecified"),
        ("10.0.0.0/8", "private"),
        ("100.64.0.0/10", "shared (carrier-grade NAT)"),
        ("127.0.0.0/8", "loopback"),
        ("169.254.0.0/16", "link-local"),
        ("172.16.0.0/12", "private"),
        ("192.0.0.0/24", "reserved"),
        ("192.0.2.0/24", "reserved"),
        ("192.88.99.0/24", "reserved"),
        ("192.168.0.0/16", "private"),
        ("198.18.0.0/15", "reserved"),
        ("198.51.100.0/24", "reserved"),
        ("203.0.113.0/24", "reserved"),
        ("224.0.0.0/4", "multicast"),
        ("240.0.0.0/4", "reserved"),
    )
}
_REFUSED_V6 = {
    IPv6Network(net): why
    for net, why in (
        ("::/128", "unspecified"),
        ("::1/128", "loopback"),
        ("::ffff:0:0/96", "IPv4-mapped"),
        ("::/96", "IPv4-compatible"),
        ("fe80::/10", "link-local"),
        ("fc00::/7", "private"),
        ("ff00::/8", "multicast"),
        ("2001::/32", "Teredo"),
        ("2001::/23", "reserved"),
        ("2001:db8::/32", "reserved"),
        ("2002::/16", "6to4"),
        ("3fff::/20", "reserved"),
    )
}
_GLOBAL_V6 = IPv6Network("2000::/3")
_NAT64 = IPv6Network("64:ff9b::/96")


def is_address(host: str) -> bool:
    """Whether a host is an address and no name."""
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def why_refused(address: str, allowed: Iterable[Network] = ()) -> str | None:
    """The reason to refuse an address, None if it may be called.

    What lies in a network of `allowed` is accepted; what cannot be read is refused. An address
    of the NAT64 prefix is judged by the IPv4 address inside it.

    >>> why_refused("169.254.169.254"), why_refused("93.184.216.34")
    ('link-local', None)
    """
    try:
        ip = ip_address(address)
    except ValueError:
        return "unreadable"
    if any(ip.version == net.version and ip in net for net in allowed):
        return None
    return _v4(ip) if isinstance(ip, IPv4Address) else _v6(ip)


def _v4(ip: IPv4Address) -> str | None:
    return next((why for net, why in _REFUSED_V4.items() if ip in net), None)


def _v6(ip: IPv6Address) -> str | None:
    if ip in _NAT64:
        return _v4(IPv4Address(int(ip) & 0xFFFF_FFFF))
    named = next((why for net, why in _REFUSED_V6.items() if ip in net), None)
    return named or (None if ip in _GLOBAL_V6 else "reserved")
