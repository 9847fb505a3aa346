"""The fixture `database`: a new, empty database, once in SQLite and once in PostgreSQL; `model`: a language model;
`save_fashioniq`: weights of a retriever that reads attributes."""

from __future__ import annotations

import itertools
import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import asdict
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.hostile.postgres import Postgres
from viewfinder.server.database.engine import Database

_NUMBERS = itertools.count(1)


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """A PostgreSQL server of our own."""
    try:
        server = Postgres()
    except RuntimeError as error:
        pytest.skip(str(error))
    yield server
    server.close()


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of a database that nobody has opened yet."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/server/viewfinder.db"
    server: Postgres = request.getfixturevalue("postgres")
    return server.make_database(f"test_{next(_NUMBERS)}")


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    """A new, empty database at the newest schema."""
    opened = Database.open(database_url)
    yield opened
    opened.close()


class Model(ThreadingHTTPServer):
    """A language model behind an endpoint: it says the next of `says`, the last again and again, or keeps silent."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Completions)
        self.says = ["What is it made of?"]
        self.asked = 0
        self.speaks = threading.Event()
        self.speaks.set()
        self.is_asked = threading.Event()

    @property
    def source(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1#tiny"

    def answer(self) -> str:
        self.is_asked.set()
        self.speaks.wait(60)
        self.asked += 1
        return self.says.pop(0) if len(self.says) > 1 else self.says[0]


class _Completions(BaseHTTPRequestHandler):
    server: Model

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        body = json.dumps({"choices": [{"message": {"role": "assistant", "content": self.server.answer()}}]}).encode()
        try:
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
        except OSError:
            self.close_connection = True  # who asked waits no more

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: the output of tests is for what went wrong."""


def _served() -> Iterator[Model]:
    served = Model()
    thread = threading.Thread(target=served.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    yield served
    served.speaks.set()
    served.shutdown()
    served.server_close()
    thread.join()


@pytest.fixture
def model() -> Iterator[Model]:
    """A language model on this machine, which a test may silence (`model.speaks.clear()`)."""
    yield from _served()


@pytest.fixture(scope="session")
def shared_model() -> Iterator[Model]:
    """The same for all tests: a server was told of it when it was started."""
    yield from _served()


ATTRIBUTES = (
    "boots", "casual", "collar", "cotton", "dotted", "floral", "formal", "hooded", "long sleeves", "plain", "striped",
    "summer", "wool",
)  # fmt: skip
VOCABULARY = ("darker", "has", "is", "longer", "red", "sleeves")


@pytest.fixture(scope="session")
def save_fashioniq() -> Callable[[Path, str, int], Path]:
    """Saves a fashioniq of random numbers, for raw vectors of a version and width: it reads 8 of 13 attributes."""

    def save(file: Path, raw_version: str, raw_width: int) -> Path:
        import torch

        from viewfinder.retrievers.fashioniq.network import TransformerRetriever
        from viewfinder.retrievers.fashioniq.settings import TransformerModel
        from viewfinder.retrievers.shared.network import WordVectors
        from viewfinder.training import Card, save_network
        from viewfinder.training.layers import AttributeHead

        torch.manual_seed(5)
        model = TransformerModel(
            width=8, layers=1, heads=2, hidden=8, image="standardised", words="learned", word_width=6,
            history="incremental", padding_mask=True, compare="cosine",
        )  # fmt: skip
        words = WordVectors(model, None, len(VOCABULARY))
        network = TransformerRetriever(model, raw_width, words, len(ATTRIBUTES))
        network.attributes = AttributeHead(len(ATTRIBUTES), raw_width)
        network.attributes.get_buffer("weight").normal_().div_(raw_width**0.5)
        known = {
            "model": asdict(model), "loss": {"kind": "contrastive"}, "labels": list(ATTRIBUTES),
            "vocabulary": list(VOCABULARY), "sentences_version": "", "kinds": [], "exclude_shown": False,
        }  # fmt: skip
        save_network(file, network, Card(system="fashioniq", preset="", encoder=raw_version, settings=known))
        return file

    return save
