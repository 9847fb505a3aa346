"""The program of a worker process: read a file, name it, read what it says of itself, decode it, send the pixels back.

Requests and replies are JSON and raw bytes, never pickles: a worker that a hostile file has taken over can
send its parent wrong pixels, not code.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import stat
import struct
import sys
import threading
from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from multiprocessing.connection import Connection
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from PIL import AvifImagePlugin

from viewfinder.errors import PictureError
from viewfinder.pictures import formats
from viewfinder.pictures.decode import Limits, decode, explain_too_hungry, explain_too_large
from viewfinder.pictures.facts.model import Fact, find_value
from viewfinder.pictures.fits import AtMost, Fit, Stretch, picture_id

READY = b"ready"

MAX_FACTS_BYTES = 900_000
"""Room for the facts in a reply's header; those that are longest are left out beyond it."""

_LENGTH = struct.Struct("!i")  # precedes every message of a `Connection`
_GRACE = 5.0  # seconds beyond the limit after which a worker whose parent has gone ends itself


def pack_request(
    path: str, fit: Fit, limits: Limits, *, sidecars: Sequence[str] | None = None, pixels: bool = True
) -> bytes:
    """One request: a path (any bytes), what to make of the picture, what it may cost.

    `sidecars` are the paths of the files that tell of it; None: its facts are not wanted. `pixels`: whether it is to be
    decoded.
    """
    asked = {"path": path, "fit": asdict(fit), "limits": asdict(limits), "sidecars": sidecars, "pixels": pixels}
    return json.dumps(asked).encode()


def serve(descriptor: int) -> None:
    """Answers requests on a socket, in order, until its other end is closed. Does not return."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent to decide on
    AvifImagePlugin.DEFAULT_MAX_THREADS = 1  # workers are parallel already
    from viewfinder.pictures import hdr, identity  # noqa: F401 (before the limit of memory is set)
    from viewfinder.pictures.facts import reader  # noqa: F401

    pipe, replies = Connection(descriptor), _Replies(descriptor)
    replies.send(READY)
    base = read_address_space()
    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, sys.stderr.fileno())  # C libraries chatter about odd files; reasons travel in replies
    while True:
        try:
            asked = json.loads(pipe.recv_bytes())
        except (EOFError, OSError):
            os._exit(0)
        limits = Limits(**asked["limits"])
        limit_memory(base, limits.memory_bytes)
        signal.setitimer(signal.ITIMER_REAL, limits.seconds + _GRACE)
        fit = Stretch(**asked["fit"]) if "side" in asked["fit"] else AtMost(**asked["fit"])
        reply = _make_reply(asked["path"], fit, limits, asked["sidecars"], is_decoded=asked["pixels"])
        signal.setitimer(signal.ITIMER_REAL, 0)
        replies.send(*reply)


def _make_reply(
    path: str, fit: Fit, limits: Limits, sidecars: Sequence[str] | None, *, is_decoded: bool
) -> tuple[bytes, ...]:
    """A header and, if all went well and they are wanted, the pixels."""
    from viewfinder.pictures.identity import hash_pixels

    header: dict[str, Any] = {"size": 0, "mtime_ns": 0}
    try:
        data = _read_content(path, limits, header)
        decoded = decode(data, limits=limits, fit=fit) if is_decoded else None
        announced = _detect_format(data)
        known = [] if sidecars is None else _read_known(data, announced, path, sidecars)
        header |= {
            "id": picture_id(data), "pixel_hash": hash_pixels(data, announced),
            "known": [[fact.name, fact.values, fact.source] for fact in known],
        }  # fmt: skip
        if decoded is None:
            return (json.dumps(header).encode(),)
        facts = decoded.facts
        if sidecars is not None:
            facts = replace(facts, captured=find_value(known, "captured"), camera=find_value(known, "camera"))
        header |= {"facts": asdict(facts), "shape": decoded.pixels.shape}
        return json.dumps(header).encode(), decoded.pixels.tobytes()
    except PictureError as error:
        header["reason"] = str(error)
    except OSError as error:
        header["reason"] = (error.strerror or str(error)).lower()
    except MemoryError:
        header["reason"] = explain_too_hungry(limits)
    return (json.dumps(header).encode(),)


def _detect_format(data: bytes) -> str:
    """What a file announces itself as: Pillow's name, "RAW" for what cameras write as a kind of TIFF, "" if unknown."""
    announced = formats.detect_format(data) or ""
    return "RAW" if announced == "TIFF" and formats.is_camera_raw(data) else announced


def _read_known(data: bytes, announced: str, path: str, sidecars: Sequence[str]) -> list[Fact]:
    """All that is known of a file's picture; nothing if its reader fails, since the picture itself is good."""
    from viewfinder.pictures.facts.reader import read_facts

    try:
        known = read_facts(data, announced, Path(path), [Path(name) for name in sidecars])
    except Exception:  # what odd metadata makes of a reader must not cost the picture
        return []
    return _shorten_facts(known)


def _shorten_facts(facts: Iterable[Fact]) -> list[Fact]:
    """The facts without the longest ones, where a header has no room for all of them."""
    kept = list(facts)
    sizes = [len(json.dumps([fact.name, fact.values, fact.source])) for fact in kept]
    while sum(sizes) > MAX_FACTS_BYTES:
        longest = sizes.index(max(sizes))
        del kept[longest], sizes[longest]
    return kept


def _read_content(path: str, limits: Limits, header: dict[str, Any]) -> bytes:
    """A file's bytes; its size and time of change, as they were when it was opened, go into `header`."""
    with Path(path).open("rb") as file:
        status = os.fstat(file.fileno())
        header |= {"size": status.st_size, "mtime_ns": status.st_mtime_ns}
        if status.st_size > limits.max_bytes:
            raise PictureError(explain_too_large(status.st_size, limits))
        # Room is set aside for all that is asked for, and what is no regular file may have no end.
        return file.read((status.st_size if stat.S_ISREG(status.st_mode) else limits.max_bytes) + 1)


class _Replies:
    """Sends what a `Connection` receives: at once as far as there is room, the rest by a thread while decoding goes on.

    All by the thread would be simpler, but handing the interpreter to and fro costs a third of a small picture.
    """

    def __init__(self, descriptor: int) -> None:
        self._socket = socket.socket(fileno=descriptor)
        self._left: SimpleQueue[bytes] = SimpleQueue()
        self._handed = self._sent = 0  # how often the thread was given something, and has sent it
        threading.Thread(target=self._send_left, daemon=True).start()

    def send(self, *messages: bytes) -> None:
        """Sends messages, or queues them. Ends the process if the other end is closed."""
        pieces = [piece for message in messages for piece in (_LENGTH.pack(len(message)), message)]
        sent = 0
        if self._handed == self._sent:
            try:
                sent = self._socket.sendmsg(pieces, (), socket.MSG_DONTWAIT)
            except BlockingIOError:
                pass
            except OSError:
                os._exit(0)
        if sent < sum(map(len, pieces)):
            self._handed += 1
            self._left.put(b"".join(pieces)[sent:])

    def _send_left(self) -> None:
        while True:
            try:
                self._socket.sendall(self._left.get())
            except OSError:
                os._exit(0)
            self._sent += 1


def read_address_space() -> int | None:
    """Bytes of address space in use now; None where the system does not say."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return None


def limit_memory(base: int | None, allowed: int) -> None:
    """Lets the process grow by `allowed` bytes beyond `base`; does nothing where that is unknown."""
    if base is None:
        return
    import resource

    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    soft = base + allowed if hard == resource.RLIM_INFINITY else min(base + allowed, hard)
    resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
