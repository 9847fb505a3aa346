"""Frozen sentence vectors of a training's many texts, computed once and kept in files.

    said = SentenceVectors.of(described.texts(), encoder, folder, notify)
    vectors_ts = said.matrix_ns[said.rows(described.dialogue(0))]

    <folder>/<version>/<hash of its texts>.safetensors      vectors of up to 512 texts, and the texts

A file exists complete or not at all, so an interrupted call resumes where it stopped; another set of texts adds only
what is missing.
"""

from __future__ import annotations

import hashlib
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from multiprocessing.connection import Connection
from pathlib import Path
from queue import SimpleQueue

import numpy as np
from jaxtyping import Float16, Int

from viewfinder.encoders.base import Encoder, to_file_name
from viewfinder.errors import UnknownName, ViewfinderError
from viewfinder.whole_files import write_file

MAX_TEXTS = 512
"""Texts acknowledged together: a few seconds of work."""

FEW_TEXTS = 2 * MAX_TEXTS
"""For at most this many texts no process is started."""

Notify = Callable[[str], None]
Rows = Float16[np.ndarray, "n s"]
Read = Callable[[Sequence[str]], Rows]


@dataclass(frozen=True, eq=False)
class SentenceVectors:
    """Texts, sorted, each once; row i is the unit vector of `texts[i]`; `version` identifies the numbers."""

    texts: tuple[str, ...]
    matrix_ns: Float16[np.ndarray, "n s"]
    version: str

    @staticmethod
    def of(
        texts: Sequence[str],
        encoder: Encoder,
        folder: Path,
        notify: Notify = lambda line: None,
        *,
        processes: int | None = None,
    ) -> SentenceVectors:
        """The vectors of `texts` as `encoder.sentences` gives them: read from `folder`, or computed.

        `processes` work at the same time: by default one per core for many texts and the starter, which uses one core;
        transformers models use all cores by themselves.

        Raises:
            ViewfinderError: an encoding process has ended; what was done is kept.
        """
        wanted = tuple(sorted(set(texts)))
        place = folder / to_file_name(encoder.sentences_version)
        place.mkdir(parents=True, exist_ok=True)
        known = _read_known(place)
        missing = [text for text in wanted if text not in known]
        if missing:
            many = encoder.name == "starter" and len(missing) > FEW_TEXTS
            count = processes or (os.cpu_count() or 1 if many else 1)
            known |= _compute_missing(missing, encoder, place, notify, count)
        return SentenceVectors(wanted, np.stack([known[text] for text in wanted]), encoder.sentences_version)

    def __len__(self) -> int:
        return len(self.texts)

    def rows(self, texts: Sequence[str]) -> Int[np.ndarray, " t"]:
        """The rows of some texts; UnknownName if one of them is not among those that were encoded."""
        try:
            return np.fromiter((self._row_of[text] for text in texts), np.intp, len(texts))
        except KeyError as error:
            raise UnknownName(f"no sentence vector was made of {error.args[0]!r}") from None

    @cached_property
    def _row_of(self) -> dict[str, int]:
        return {text: row for row, text in enumerate(self.texts)}


def _read_known(place: Path) -> dict[str, Float16[np.ndarray, " s"]]:
    """Reads the vectors in the files; a damaged file is removed, and so made again."""
    from safetensors import SafetensorError, safe_open

    found: dict[str, Float16[np.ndarray, " s"]] = {}
    for file in sorted(place.glob("*.safetensors")):
        try:
            with safe_open(file, framework="np") as chunk:
                texts, rows_ns = json.loads(chunk.metadata()["texts"]), chunk.get_tensor("sentences")
        except (OSError, SafetensorError, KeyError, TypeError, ValueError):
            file.unlink(missing_ok=True)
            continue
        found |= dict(zip(texts, rows_ns, strict=True))
    return found


def _compute_missing(
    missing: Sequence[str], encoder: Encoder, place: Path, notify: Notify, processes: int
) -> dict[str, Float16[np.ndarray, " s"]]:
    """Encodes what is missing, chunk by chunk, and writes it; `notify` is told of every tenth."""
    chunks = [missing[at : at + MAX_TEXTS] for at in range(0, len(missing), MAX_TEXTS)]
    found: dict[str, Float16[np.ndarray, " s"]] = {}
    tenth = -1
    with _start_readers(encoder, min(processes, len(chunks))) as read, ThreadPoolExecutor(processes) as pool:
        for texts, rows_ns in zip(chunks, pool.map(partial(_encode_and_write, read, place), chunks), strict=True):
            found |= dict(zip(texts, rows_ns, strict=True))
            if 10 * len(found) // len(missing) > tenth:
                tenth = 10 * len(found) // len(missing)
                notify(f"sentence vectors: {len(found):,} of {len(missing):,}")
    return found


def _encode_and_write(read: Read, place: Path, texts: Sequence[str]) -> Rows:
    """The vectors of a chunk, once they are on disk."""
    from safetensors.numpy import save

    rows_ns = read(texts)
    mark = hashlib.blake2b("\n".join(texts).encode(), digest_size=16).hexdigest()
    content = save({"sentences": rows_ns}, metadata={"texts": json.dumps(list(texts), ensure_ascii=False)})
    write_file(place / f"{mark}.safetensors", content, lasting=True)
    return rows_ns


@contextmanager
def _start_readers(encoder: Encoder, processes: int) -> Iterator[Read]:
    """Encodes a chunk: the encoder here, or a free one of several processes that have their own."""
    if processes == 1:
        yield partial(_encode_texts, encoder)
        return
    with ExitStack() as stack:
        free: SimpleQueue[Connection] = SimpleQueue()
        for _ in range(processes):
            free.put(stack.enter_context(_start_process(encoder)))

        def read(texts: Sequence[str]) -> Rows:
            pipe = free.get()
            try:
                pipe.send_bytes(json.dumps(list(texts)).encode())
                return np.frombuffer(pipe.recv_bytes(), np.float16).reshape(len(texts), -1)
            except (EOFError, OSError) as error:
                ended = "a process that reads sentences has ended; repeat the command, it goes on"
                raise ViewfinderError(ended) from error
            finally:
                free.put(pipe)

        yield read


@contextmanager
def _start_process(encoder: Encoder) -> Iterator[Connection]:
    """A process that encodes sentences, and the pipe to it.

    It is started with exec, not by `multiprocessing`, which would run the user's own script a second time.
    """
    ours, theirs = socket.socketpair()
    with theirs:
        command = (
            "import json, sys; sys.path[:] = json.loads(sys.argv[1]);"
            "from viewfinder.encoders.features.sentences import serve; serve(int(sys.argv[2]), sys.argv[3])"
        )
        arguments = [json.dumps(sys.path), str(theirs.fileno()), encoder.name]
        process = subprocess.Popen(
            [sys.executable, "-c", command, *arguments],
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,  # the parent reports what matters
        )
    with process, Connection(ours.detach()) as pipe:
        try:
            yield pipe
        finally:
            process.kill()


def serve(descriptor: int, name: str) -> None:
    """The main function of an encoding process: answers texts with vectors until the other end is closed."""
    from viewfinder.encoders import load_encoder

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides about Ctrl-C
    encoder = load_encoder(name)
    with Connection(descriptor) as pipe:
        while True:
            try:
                texts = json.loads(pipe.recv_bytes())
            except (EOFError, OSError):
                return
            pipe.send_bytes(_encode_texts(encoder, texts).tobytes())


def _encode_texts(encoder: Encoder, texts: Sequence[str]) -> Rows:
    return np.ascontiguousarray(encoder.sentences(texts), np.float16)
