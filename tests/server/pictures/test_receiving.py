from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.requests import Request

from viewfinder.pictures import picture_id
from viewfinder.server.access.bodies import ENVELOPE
from viewfinder.server.access.limits import ThreadPool
from viewfinder.server.pictures.uploads import FileReceiver, ReceivedFile, receive_file
from viewfinder.server.problems import Problem

FORM = "multipart/form-data; boundary=here"
CONTENT = b"\x89PNG\r\n--her\r\n--here" + bytes(range(256)) * 4


def body(
    content: bytes = CONTENT, name: str = "file", file_name: str = "a.png", end: bytes = b"\r\n--here--\r\n"
) -> bytes:
    head = f'--here\r\nContent-Disposition: form-data; name="{name}"; filename="{file_name}"\r\n\r\n'
    return head.encode() + content + end


@pytest.fixture
def pool() -> Iterator[ThreadPool]:
    threads = ThreadPool(2)
    yield threads
    threads.close()


def ask(
    pieces: Iterable[bytes | None], folder: Path, pool: ThreadPool, *, limit: int = 10_000, **headers: str
) -> ReceivedFile:
    """Receives a body that comes in these pieces; None: the client leaves."""

    async def come() -> AsyncIterator[dict[str, Any]]:
        for piece in pieces:
            if piece is None:
                yield {"type": "http.disconnect"}
                return
            yield {"type": "http.request", "body": piece, "more_body": True}
        yield {"type": "http.request", "body": b"", "more_body": False}

    given = {"content-type": FORM, **{name.replace("_", "-"): value for name, value in headers.items()}}
    raw = [(name.encode(), value.encode()) for name, value in given.items()]
    scope = {"type": "http", "method": "POST", "path": "/", "headers": raw}
    return asyncio.run(receive_file(Request(scope, come().__anext__), folder, limit, pool))


def left_in(folder: Path) -> list[Path]:
    return list(folder.iterdir()) if folder.exists() else []


def refused(status: int, pieces: Iterable[bytes | None], folder: Path, pool: ThreadPool, **how: Any) -> Problem:
    with pytest.raises(Problem) as caught:
        ask(pieces, folder, pool, **how)
    assert caught.value.status == status
    assert left_in(folder) == []
    return caught.value


# What the form says, in three places, is its boundary: a content that looks like one must come through whole.
@given(st.lists(st.integers(0, len(body(b"x" * 40 + b"\r\n--her"))), max_size=8))
def test_a_body_in_any_pieces_is_the_same_file(cuts: list[int]) -> None:
    content = b"x" * 40 + b"\r\n--her"
    whole = body(content)
    places = [0, *sorted(cuts), len(whole)]
    with TemporaryDirectory() as folder:
        receiver = FileReceiver(FORM, Path(folder), 10_000)
        for start, end in pairwise(places):
            receiver.take(whole[start:end])
        got = receiver.finish()
        assert got.path.read_bytes() == content
        assert (got.picture, got.bytes) == (picture_id(content), len(content))


def test_no_name_a_client_gives_names_a_file(tmp_path: Path, pool: ThreadPool) -> None:
    for name in ("../../etc/passwd", "/etc/passwd", "..", "C:\\\\x", "a\\0b.png", "", "x" * 3000):
        got = ask([body(b"some", file_name=name)], tmp_path / "in", pool)
        assert got.path.parent == tmp_path / "in"
        assert got.path.name.startswith(".") and got.path.name.endswith(".part")
        got.discard()
    assert left_in(tmp_path / "in") == []
    assert [item.name for item in tmp_path.iterdir()] == ["in"]


def test_a_length_that_is_too_large_is_refused_before_anything_is_read(tmp_path: Path, pool: ThreadPool) -> None:
    def never() -> Iterator[bytes]:
        raise AssertionError("the body was read")
        yield b""

    problem = refused(413, never(), tmp_path / "in", pool, content_length=str(10_001 + ENVELOPE))
    assert problem.detail == "a picture may have 0.01 MB"


def test_a_stream_is_cut_off_as_soon_as_it_is_too_large(tmp_path: Path, pool: ThreadPool) -> None:
    taken: list[int] = []

    def endless() -> Iterator[bytes]:
        yield body(b"", end=b"")
        for number in range(1000):
            taken.append(number)
            yield bytes(1000)

    refused(413, endless(), tmp_path / "in", pool)
    assert len(taken) == 11  # ten times 1,000 bytes may pass


def test_a_file_as_large_as_the_limit_is_taken(tmp_path: Path, pool: ThreadPool) -> None:
    assert ask([body(bytes(10_000))], tmp_path / "in", pool).bytes == 10_000


def test_an_endless_preamble_is_cut_off_too(tmp_path: Path, pool: ThreadPool) -> None:
    head = b'--here\r\nContent-Disposition: form-data; name="file"\r\n'
    long_headers = (b"x: " + b"y" * 4000 + b"\r\n" for _ in range(1000))
    assert refused(422, [head, *long_headers], tmp_path / "in", pool).kind == "invalid"


@pytest.mark.parametrize(
    ("sent", "why"),
    [
        (b"", "it ends too early"),
        (b"no form at all", "the body must be a form"),
        (body()[:-9], "it ends too early"),
        (body(name="photo"), "its field has another name"),
        (body(end=b"\r\n") + body(), "it has more than one field"),
        (b"--here\r\nX: y\r\n\r\nz\r\n--here--\r\n", "its field has another name"),
        (b"--here--\r\n", "the body must be a form"),
    ],
    ids=["nothing", "no form", "cut off", "another name", "two files", "no name", "no field"],
)
def test_what_is_no_form_with_one_file_is_refused(tmp_path: Path, pool: ThreadPool, sent: bytes, why: str) -> None:
    assert why in refused(422, [sent], tmp_path / "in", pool).detail


@pytest.mark.parametrize(
    "kind", ["", "application/json", "image/png", "multipart/form-data", "multipart/mixed; boundary=here"]
)
def test_another_kind_of_body_is_refused(tmp_path: Path, pool: ThreadPool, kind: str) -> None:
    refused(415, [body()], tmp_path / "in", pool, content_type=kind)


def test_a_boundary_that_is_too_long_is_refused(tmp_path: Path, pool: ThreadPool) -> None:
    refused(422, [body()], tmp_path / "in", pool, content_type=f"multipart/form-data; boundary={'x' * 5000}")


def test_a_client_that_leaves_in_the_middle_leaves_nothing(tmp_path: Path, pool: ThreadPool) -> None:
    assert refused(400, [body()[:200], None], tmp_path / "in", pool).kind == "interrupted"
