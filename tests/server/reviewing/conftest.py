"""A file of six dialogues about drawings, and the app that serves it, in this process or on a port."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest
import uvicorn

from viewfinder.data.chatsearch import ChatSample, ChatTurn, ImageItem, Subtask, TextItem, write_chatsearch
from viewfinder.server.settings import ServerSettings
from viewfinder.studies.reviewing.app import create_app
from viewfinder.testing import tiny_pictures

Serve = Callable[[Path], AbstractContextManager[str]]


def sample(name: str, subtask: Subtask, pipeline: str, pictures: list[str]) -> ChatSample:
    """A round of both sides, the assistant's with the first picture; the second is meant."""
    turns = (
        ChatTurn("user", (TextItem(f"{name}: something red"),)),
        ChatTurn("assistant", (TextItem("like this?"), ImageItem(pictures[0]))),
        ChatTurn("user", (TextItem("but blue below"),)),
    )
    return ChatSample(name, subtask, turns, pictures[1], {"pipeline": pipeline, "caption_target": "red over blue"})


@pytest.fixture
def dialogues(tmp_path: Path) -> Path:
    """DATA/chatsearch/made_train.jsonl, with pictures in DATA/images."""
    pictures = tiny_pictures(tmp_path / "data" / "images", 6)
    names = [f"images/{picture.path.name}" for picture in pictures]
    file = tmp_path / "data" / "chatsearch" / "made_train.jsonl"
    file.parent.mkdir()
    made: list[tuple[str, Subtask, str]] = [
        ("m-1", "mChat", "merge"), ("m-2", "mChat", "mdc-t"), ("m-3", "mChat", "merge"),
        ("t-1", "tChat", "text"), ("t-2", "tChat", "text"), ("i/1", "iChat", "mdc-i"),
    ]  # fmt: skip
    write_chatsearch(file, (sample(*each, names[at:] + names[:at]) for at, each in enumerate(made)))
    return file


@pytest.fixture
def serve(tmp_path: Path) -> Serve:
    """Serves a file until the block ends; gives the address."""

    @contextmanager
    def serving(file: Path) -> Iterator[str]:
        app = create_app(file, None, ServerSettings(_env_file=None), tmp_path / "library")
        server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=0, log_level="warning"))
        thread = threading.Thread(target=server.run, daemon=True)
        thread.start()
        while not server.started:
            assert thread.is_alive(), "the server ended before it began"
            time.sleep(0.02)
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
        server.should_exit = True
        thread.join(20)

    return serving


@pytest.fixture
def address(serve: Serve, dialogues: Path) -> Iterator[str]:
    """Where the dialogues are served."""
    with serve(dialogues) as started:
        yield started
