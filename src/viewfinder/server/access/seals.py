"""Proofs, by a key of the database, that this server said something: codes of addresses, and the secrets of tickets."""

from __future__ import annotations

import base64
import hashlib
import hmac
import re

TICKET = "vft_"
"""How the secret of a ticket begins."""

MAC_BYTES = 16
_OF_TICKETS = "ticket"  # not the beginning of any path: no address can pass for a ticket, and no ticket for an address
_SECRET = re.compile(r"vft_([0-9a-f-]{36})\.([0-9]{1,12})\.([A-Za-z0-9_-]{22})")


def compute_mac(key: bytes, path: str, token: str, until: int) -> str:
    """The code that proves that this path was given to this token until then; no part can pass for another's."""
    said = "\n".join(("viewfinder address", token, str(until), path)).encode("utf-8", "surrogatepass")
    return base64.urlsafe_b64encode(hmac.digest(key, said, hashlib.sha256)[:MAC_BYTES]).rstrip(b"=").decode("ascii")


def write_ticket(key: bytes, visitor: str, until: int) -> str:
    """The secret of a ticket, good until then, for the visitor with this id."""
    return f"{TICKET}{visitor}.{until}.{compute_mac(key, _OF_TICKETS, visitor, until)}"


def read_ticket(key: bytes, secret: str) -> tuple[str, int] | None:
    """The visitor's id and until when the ticket is good; None: no server with this key made it."""
    found = _SECRET.fullmatch(secret)
    if found is None:
        return None
    visitor, until, mac = found[1], int(found[2]), found[3]
    good = hmac.compare_digest(mac, compute_mac(key, _OF_TICKETS, visitor, until))
    return (visitor, until) if good else None
