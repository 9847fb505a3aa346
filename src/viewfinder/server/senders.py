"""Who sends a request and from where, as the log says it: nothing else of what was sent."""

from __future__ import annotations

import ipaddress

from starlette.types import Scope

THIS_MACHINE = "this machine"
"""Who needs no token. No token has a blank in its name, so nobody else is called that."""

WHO, FROM = "who", "from"


def describe_sender(scope: Scope) -> dict[str, str | None]:
    """The name of the token (None: there is none, or it is not good) and the address of the client, for the log.

    The address is what uvicorn found: that which a proxy tells, if it is one of those in FORWARDED_ALLOW_IPS, else that
    of the other end of the connection. What is no address is none: a proxy may hand on what its client wrote.
    """
    caller, client = scope.get("state", {}).get("caller"), scope.get("client")
    who = None if caller is None else THIS_MACHINE if caller.token is None else caller.name
    return {WHO: who, FROM: _write_address(str(client[0])) if client else None}


def _write_address(text: str) -> str | None:
    """An address in its one way of being written, without the zone, which may be any text.

    >>> _write_address("::1"), _write_address("fe80::1%eth0"), _write_address('1.2.3.4", "who": "ada')
    ('::1', 'fe80::1', None)
    """
    try:
        address = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return None
    return str(getattr(address, "ipv4_mapped", None) or address)
