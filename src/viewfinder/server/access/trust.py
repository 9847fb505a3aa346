"""Who sends a request, and whether it may do everything without a token: only if it is certainly this machine's user.

A program on this machine says nothing of itself, and a proxy may be as silent. So each sign of a proxy or of another
page ends the trust: an address beyond loopback, a header in which proxies speak, HTTP/1.0, a Host that is no loopback
name, an Origin that is not the Host, a page of another site, and a connection that belongs to an account of the
system (as nginx, Caddy and HAProxy run under). A proxy that runs as a person and says nothing is not recognised:
`VIEWFINDER_TOKENS_ALWAYS=1` is for those.
"""

from __future__ import annotations

import ipaddress
import os
import re
import struct
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from starlette.types import Scope

# -- the head of a request


_LOOPBACK = re.compile(r"(localhost|127(\.[0-9]{1,3}){3}|\[::1\])(:[0-9]{1,5})?", re.IGNORECASE)


def is_loopback_name(host: str) -> bool:
    """Whether a Host header (with or without a port) names this machine.

    >>> [is_loopback_name(host) for host in ("localhost:8008", "127.0.0.1", "[::1]:80", "evil.example")]
    [True, True, True, False]
    """
    return _LOOPBACK.fullmatch(host) is not None


_FORWARDING = re.compile(
    r"forwarded.*|x-forwarded.*|x-original-.*|via|cdn-loop|x-real-ip|x-(remote|originating|cluster-client|client)-ip"
    r"|x-forward-.*|x_forwarded.*|x-(envoy|azure|appengine|nginx)-.*|front-end-https|x-scheme|tailscale-.*|remote-user"
    r"|x-remote-addr|x-client|x-proxy.*|(true-client|client|cf-connecting|fly-client|fastly-client)-ip|cf-ray"
)
"""Headers in which a proxy may say that it is one, whatever they hold."""


@dataclass(frozen=True)
class RequestHead:
    """The head of a request, as far as it tells of its sender; read once, when the request comes in.

    `address`: where it comes from, "" for a socket of the file system. `site`: Sec-Fetch-Site, which the browser itself
    says and no script can set. `bearer`: the token sent; what a proxy's Basic login adds is none. `is_forwarded`:
    whether it comes through a proxy.
    """

    address: str
    host_count: int
    host: str
    origin: str | None
    site: str | None
    bearer: str | None
    cookies: str | None
    is_forwarded: bool


def read_head(scope: Scope) -> RequestHead:
    """Reads the headers of a request; of several with one name the first counts."""
    said = {name.decode("latin-1"): value.decode("latin-1") for name, value in reversed(scope["headers"])}
    scheme, _, secret = said.get("authorization", "").partition(" ")
    client = scope.get("client")
    return RequestHead(
        address=str(client[0]) if client else "",
        host_count=sum(name == b"host" for name, _ in scope["headers"]),
        host=said.get("host", ""),
        origin=said.get("origin"),
        site=said.get("sec-fetch-site"),
        bearer=secret.strip() if scheme.lower() == "bearer" else None,
        cookies=said.get("cookie"),
        # nginx up to 1.29.6 speaks HTTP/1.0 if it is told nothing, and says nothing else; no browser does.
        is_forwarded=scope.get("http_version") == "1.0" or any(map(_FORWARDING.fullmatch, said)),
    )


def is_own_page(head: RequestHead) -> bool:
    """Whether a request comes from a page of this server, or from no page: programs send none of these headers."""
    return _has_own_origin(head) if head.site is None else head.site in ("same-origin", "none")


def _has_own_origin(head: RequestHead) -> bool:
    return head.origin is None or head.origin.partition("://")[1:] == ("://", head.host)


def is_local(head: RequestHead) -> bool:
    """Whether nothing in a request speaks against its being this machine's own, as far as it says.

    A browser behind a proxy that says nothing tells of it: its Origin is the name that the proxy goes by, and the
    Host that of this server.
    """
    return (
        _is_loopback_address(head.address)
        and not head.is_forwarded
        and is_loopback_name(head.host)
        and is_own_page(head)
        and _has_own_origin(head)
    )


@lru_cache(maxsize=1024)
def _is_loopback_address(client: str) -> bool:
    try:
        address = ipaddress.ip_address(client)
    except ValueError:
        return False
    return (getattr(address, "ipv4_mapped", None) or address).is_loopback


# -- who holds the other end of a connection


PEOPLE = range(1000, 60_001)
"""Users that are persons, on Linux (UID_MIN and UID_MAX of login.defs); others are accounts of the system."""

_TABLES = {8 + 5: Path("/proc/net/tcp"), 32 + 5: Path("/proc/net/tcp6")}
"""The tables of connections, by how many letters an address and port have in it."""


def is_own_user(scope: Scope) -> bool:
    """Whether the connection of a request is held by this process's user, by root or by a person. Reads a file.

    True if that is not known: on other systems than Linux, and once the connection is closed.
    """
    client, server = scope.get("client"), scope.get("server")
    if not client or not server or server[1] is None:
        return True
    user = find_user((str(client[0]), int(client[1])), (str(server[0]), int(server[1])))
    return user is None or user in (0, os.geteuid()) or user in PEOPLE


def find_user(client: tuple[str, int], server: tuple[str, int]) -> int | None:
    """Finds the user of the process on this machine that has connected `client` to `server`; None: it is not known."""
    try:
        ends = [_write_end(client), _write_end(server)]
        with _TABLES[len(ends[0])].open(encoding="ascii") as table:
            return next((int(fields[7]) for line in table if (fields := line.split())[1:3] == ends), None)
    except (OSError, ValueError, LookupError):
        return None


def _write_end(end: tuple[str, int]) -> str:
    """Writes an address and port as Linux does in its tables: words of 32 bits, as numbers of this machine."""
    address = ipaddress.ip_address(end[0])
    packed = (getattr(address, "ipv4_mapped", None) or address).packed
    words = struct.unpack(f"={len(packed) // 4}I", packed)
    return "".join(f"{word:08X}" for word in words) + f":{end[1]:04X}"
