"""Signed addresses: links to one picture or one stream of events, for what cannot send a token.

The img and the EventSource of a page of another origin send no header. So whoever came with a bearer token gets
addresses with a `signature`: whose token it is, until when it holds, and an HMAC of both and of the path, by a
key of the database. All servers of that know the key; with another key (`Tokens.end_signatures`) all addresses end.

An address opens its path to reading and nothing else, and only as long as its token is good, which is looked up every
time. It holds until a full multiple of `STEP_S`: for hours its text stays the same, so that a browser's cache finds it.
"""

from __future__ import annotations

import hmac
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, quote

from viewfinder.server.access.seals import compute_mac

if TYPE_CHECKING:
    from viewfinder.server.access.tokens import Caller, Tokens

STEP_S = 6 * 3600
"""An address is good for at least this long, and for less than twice as long."""

PARAMETER, SIGNED = "signature", b"signature="
_SIGNATURE = re.compile(r"([0-9A-Za-z-]{1,36})\.([0-9]{1,12})\.([A-Za-z0-9_-]{22})")


class Signer:
    """Signs addresses for a caller with a token. The key is read from the database for the first of them."""

    def __init__(self, tokens: Tokens, caller: Caller) -> None:
        self._tokens, self._token = tokens, caller.token or ""
        self._key: bytes | None = None
        self.until = (int(tokens.read_clock()) // STEP_S + 2) * STEP_S
        """Seconds since 1970 until which the addresses hold."""

    def sign(self, path: str) -> str:
        """The address of a path of this server."""
        if self._key is None:
            self._key = self._tokens.find_signing_key()
        signature = f"{self._token}.{self.until}.{compute_mac(self._key, path, self._token, self.until)}"
        return f"{quote(path)}?{PARAMETER}={signature}"

    def sign_thumbnail(self, picture: str) -> str:
        """The address of a picture's small copies; `&size=` may be added."""
        return self.sign(f"/api/v1/pictures/{picture}/thumbnail")


@dataclass(frozen=True)
class Opened:
    """Who was given an address that is good, and for how many seconds it still is."""

    caller: Caller
    left_s: int


class ForgedAddress(Exception):
    """A signature that this server never gave: it counts as a guess."""


def open_address(tokens: Tokens, path: str, query: bytes) -> Opened | None:
    """Whose address this is; None if it has expired, its token has ended, or the query has no signature.

    Raises ForgedAddress: the signature is none for this path. Reads the database.
    """
    given = parse_qs(query.decode("latin-1")).get(PARAMETER)
    if not given:
        return None
    found = _SIGNATURE.fullmatch(given[0])
    if found is None:
        raise ForgedAddress
    token, until, mac = found[1], int(found[2]), found[3]
    if not hmac.compare_digest(mac, compute_mac(tokens.find_signing_key(), path, token, until)):
        raise ForgedAddress
    left_s = int(until - tokens.read_clock())
    caller = tokens.find_good(token) if left_s > 0 else None
    return None if caller is None else Opened(caller, left_s)
