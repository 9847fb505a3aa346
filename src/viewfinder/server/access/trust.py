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
import shutil
import struct
import sys
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

    `address`: where it comes from, "" for a socket of the file system. `bearer`: the token sent; what a proxy's Basic
    login adds is none. `is_forwarded`: whether it comes through a proxy. `names_this_machine`: whether its Host does.
    `is_of_own_page`: whether it comes from a page of this server, or from no page: programs say nothing of one.
    `is_local`: whether nothing in it speaks against its being this machine's own, as far as it says.
    """

    address: str
    host_count: int
    origin: str | None
    bearer: str | None
    cookies: str | None
    is_forwarded: bool
    names_this_machine: bool
    is_of_own_page: bool
    is_local: bool


def read_head(scope: Scope) -> RequestHead:
    """Reads the headers of a request; of several with one name the first counts."""
    said = {name.decode("latin-1"): value.decode("latin-1") for name, value in reversed(scope["headers"])}
    client, host, origin = scope.get("client"), said.get("host", ""), said.get("origin")
    address = str(client[0]) if client else ""
    scheme, _, secret = said.get("authorization", "").partition(" ")
    # nginx up to 1.29.6 speaks HTTP/1.0 if it is told nothing, and says nothing else; no browser does.
    is_forwarded = scope.get("http_version") == "1.0" or any(map(_FORWARDING.fullmatch, said))
    has_own_origin = origin is None or origin.partition("://")[1:] == ("://", host)
    site = said.get("sec-fetch-site")  # said by the browser itself, no script can set it
    is_of_own_page = has_own_origin if site is None else site in ("same-origin", "none")
    names_this_machine = is_loopback_name(host)
    return RequestHead(
        address=address,
        host_count=sum(name == b"host" for name, _ in scope["headers"]),
        origin=origin,
        bearer=secret.strip() if scheme.lower() == "bearer" else None,
        cookies=said.get("cookie"),
        is_forwarded=is_forwarded,
        names_this_machine=names_this_machine,
        is_of_own_page=is_of_own_page,
        # Behind a proxy that says nothing, a browser sends the Origin of the proxy, and the Host of this server.
        is_local=names_this_machine
        and not is_forwarded
        and is_of_own_page
        and has_own_origin
        and _is_loopback_address(address),
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


def has_desktop() -> bool:
    """Whether this machine has a desktop on which files can be opened, as far as the server's surroundings tell."""
    if sys.platform in ("darwin", "win32"):
        return "SSH_CONNECTION" not in os.environ
    shown = os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    return bool(shown) and shutil.which("xdg-open") is not None


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
