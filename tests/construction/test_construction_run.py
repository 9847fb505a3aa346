"""Whole runs: a world by its truth, and pictures of colours by a language model behind a real endpoint."""

from __future__ import annotations

import json
import math
import re
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from pathlib import Path

import pytest

from viewfinder.construction import ConstructionOrder, ConstructionReport, construct_samples
from viewfinder.data.chatsearch import ChatSample, Review, add_review, read_chatsearch, read_galleries, review_file
from viewfinder.errors import BadInput, LanguageModelFailed, UnknownName
from viewfinder.evaluation.protocols.chatsearch import chatsearch_splits, chatsearch_tasks
from viewfinder.library import Library
from viewfinder.testing import ColourEncoder, load_colour_encoder

MakeFolder = Callable[[Path, int], Path]


def made(order: ConstructionOrder, *, stop_after: int | None = None) -> ConstructionReport:
    pictures = count(1)
    return construct_samples(
        order,
        make_encoder=ColourEncoder,
        should_stop=lambda: stop_after is not None and next(pictures) >= stop_after,
    )


@dataclass
class Writing:
    """A language model behind an endpoint: writes as it was prompted to, about the case at hand."""

    url: str = ""
    prompts: list[str] = field(default_factory=list)
    always: str | None = None

    def reply(self, prompt: str) -> str:
        if self.always is not None:
            return self.always
        self.prompts.append(prompt)
        *first, last = re.findall(r"A picture of (\w+ over \w+)\.", prompt)
        if "two steps" in prompt:
            return f"Any colours?\nFound: blue over red\nUser: I want {last} instead"
        if "First picture" in prompt:
            return f"not {first[-1]} but {last}"
        return f"User: I saw {last.split()[0]}.\nAssistant: And below?\nUser: It was {last.split()[-1]}."


@pytest.fixture
def writing() -> Iterator[Writing]:
    model = Writing()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            text = model.reply(asked["messages"][0]["content"])
            sent = json.dumps({"choices": [{"message": {"content": text}}]}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(sent)))
            self.end_headers()
            self.wfile.write(sent)

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    model.url = f"http://127.0.0.1:{server.server_address[1]}/v1#writer"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield model
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def order(tmp_path: Path, coloured: MakeFolder, writing: Writing) -> ConstructionOrder:
    """Six pictures of colours, about which the model writes."""
    data = coloured(tmp_path / "data", 6)
    return ConstructionOrder(
        data=data, out=tmp_path / "out", split="all", generator=writing.url, threshold=-1.0, features=tmp_path / "f"
    )


def test_a_world_becomes_samples_that_the_protocol_reads(scenes: Path, tmp_path: Path) -> None:
    done = made(ConstructionOrder(data=scenes, out=tmp_path, split="test", threshold=0.0))
    assert done.ended and (done.generator, done.captioner, done.asked) == ("world", "captions", 0)
    assert done.pictures == 4  # of 40: 1, 21, 30, 39
    assert done.made == {"text": 4, "mdc-i": 4, "mdc-t": 4, "mdc-t-single": 4, "merge": 4}
    galleries = read_galleries(tmp_path / "chatsearch")
    for subtask, samples_made in {"tChat": 4, "iChat": 8, "mChat": 8}.items():
        file = tmp_path / "chatsearch" / f"{subtask}_test.jsonl"
        samples, _ = read_chatsearch(file, galleries=galleries)
        assert len(samples) == samples_made
        assert all(are_there(sample, tmp_path) for sample in samples)
    assert chatsearch_splits(tmp_path) == ("test",)
    assert sorted(len(task.dialogues) for task in chatsearch_tasks(tmp_path, "test")) == [4, 8, 8]
    assert (tmp_path / galleries["tChat"][0]).samefile(scenes / galleries["tChat"][0])


def test_the_same_order_makes_the_same_files(scenes: Path, tmp_path: Path) -> None:
    orders = [
        ConstructionOrder(data=scenes, out=tmp_path / name, split="test", at_once=at)
        for name, at in (("a", 1), ("b", 3))
    ]
    files = [{file: (order.out / file).read_bytes() for file in made(order).files} for order in orders]
    assert files[0] == files[1]
    assert made(orders[0]).made["text"] == 4  # again, over its own files


def test_a_model_writes_what_pictures_are_found_for(order: ConstructionOrder, writing: Writing) -> None:
    done = made(order)
    assert done.made == {"text": 6, "mdc-i": 6, "mdc-t": 6, "mdc-t-single": 6, "merge": 6}
    assert (done.generator, done.asked, len(writing.prompts)) == ("writer", 18, 18)
    for sample in read_all(order, "iChat"):
        [reference] = sample.images()
        top, bottom = Path(sample.target).stem.split("-")[1:]
        assert f"{top} over {bottom}" in str(sample.turns[0].content[1])
        assert reference != sample.target


def test_what_a_model_wrote_is_never_asked_again(order: ConstructionOrder, writing: Writing) -> None:
    stopped = made(order, stop_after=2)
    assert (stopped.ended, stopped.pictures, stopped.files) == (False, 2, ())
    assert not (order.out / "chatsearch").exists()
    assert made(order).asked == 12
    again = made(replace(order, pipelines=("text", "mdc-t")))
    assert (again.asked, again.made) == (0, {"text": 6, "mdc-t": 6})
    assert len(writing.prompts) == len(set(writing.prompts)) == 18
    assert len((order.out / "construct" / "journal.jsonl").read_text().splitlines()) == 18


def test_a_model_that_says_nothing_any_more_ends_the_run(order: ConstructionOrder, writing: Writing) -> None:
    writing.always = ""
    with pytest.raises(LanguageModelFailed, match=r"writer said nothing; given up after 5 pictures in a row \(4 are"):
        made(order)
    writing.always = None
    assert made(order).ended


def test_texts_that_cannot_be_read_are_counted_by_their_reason(order: ConstructionOrder, writing: Writing) -> None:
    writing.always = "Sorry."
    done = made(replace(order, pipelines=("text", "merge")))
    assert done.made == {"text": 0, "merge": 0}
    assert done.dropped["text"] == {"no dialogue of two rounds": 6}
    record = json.loads((order.out / "construct" / "all.json").read_text())
    assert record["dropped"]["text"] == {"no dialogue of two rounds": 6}
    assert str(order.data) not in json.dumps(record)


def test_a_threshold_that_nothing_reaches_drops_every_picture(order: ConstructionOrder) -> None:
    done = made(replace(order, pipelines=("mdc-i",), threshold=0.97))
    assert done.made == {"mdc-i": 0}
    assert sum(done.dropped["mdc-i"].values()) == 6


def test_pictures_of_another_folder_are_found_and_linked(
    order: ConstructionOrder, tmp_path: Path, coloured: MakeFolder
) -> None:
    other = coloured(tmp_path / "other", 9)
    done = made(replace(order, gallery=other, pipelines=("mdc-i", "mdc-t"), only_targets=True))
    assert done.made == {"mdc-i": 6, "mdc-t": 6}
    for subtask in ("iChat", "mChat"):
        samples = read_all(order, subtask)
        found = [sample.target if subtask == "iChat" else sample.images()[0] for sample in samples]
        assert len(found) == 6 and all(name.startswith("images/gallery/") for name in found)
    listed = set(read_galleries(order.out / "chatsearch")["iChat"])
    assert listed == {name for sample in read_all(order, "iChat") for name in (sample.target, *sample.images())}


def read_all(order: ConstructionOrder, subtask: str) -> list[ChatSample]:
    samples, _ = read_chatsearch(order.out / "chatsearch" / f"{subtask}_all.jsonl")
    assert all(are_there(sample, order.out) for sample in samples)
    return samples


def are_there(sample: ChatSample, folder: Path) -> bool:
    return all((folder / name).is_file() for name in (*sample.images(), sample.target))


def test_a_library_serves_as_a_gallery(
    order: ConstructionOrder, tmp_path: Path, coloured: MakeFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("viewfinder.library.load_encoder", load_colour_encoder)
    other = coloured(tmp_path / "other", 7)
    library = Library.open(tmp_path / "library")
    library.add(other / "images", captions=other / "captions.csv", workers=1)
    done = made(replace(order, gallery=tmp_path / "library", pipelines=("mdc-i",)))
    assert done.made == {"mdc-i": 6}
    assert all(sample.source["caption_target"] for sample in read_all(order, "iChat"))


def test_samples_can_lie_with_their_data(order: ConstructionOrder) -> None:
    done = made(replace(order, out=order.data, pipelines=("text",)))
    assert done.files == ("chatsearch/gallery_tChat.txt", "chatsearch/tChat_all.jsonl")
    assert len(read_galleries(order.data / "chatsearch")["tChat"]) == 6


def test_files_of_others_and_reviewed_ones_are_left_alone(order: ConstructionOrder) -> None:
    order = replace(order, pipelines=("text",))
    file = order.out / "chatsearch" / "tChat_all.jsonl"
    file.parent.mkdir(parents=True)
    file.write_text("somebody's")
    with pytest.raises(BadInput, match="there already, and not by this verb"):
        made(order)
    file.unlink()
    made(order)
    add_review(review_file(file), Review("text-000000", "accepted"))
    with pytest.raises(BadInput, match="a person has reviewed it already"):
        made(order)


@pytest.mark.parametrize(
    ("changed", "error", "complaint"),
    [
        (lambda order: replace(order, pipelines=()), UnknownName, "no pipeline is called"),
        (lambda order: replace(order, threshold=0.99), BadInput, "not below the --ceiling of 0.98"),
        (lambda order: replace(order, threshold=math.nan), BadInput, "nan: not below the --ceiling of 0.98"),
        (lambda order: replace(order, ceiling=math.nan), BadInput, "not below the --ceiling of nan"),
        (lambda order: replace(order, out=order.data, gallery=order.data), BadInput, "would be put into the data"),
        (lambda order: replace(order, data=order.data / "nowhere"), BadInput, "no captions here"),
        (lambda order: replace(order, gallery=order.data / "images"), BadInput, "name a model with --captioner"),
        (lambda order: replace(order, generator="world"), BadInput, "so this is no world"),
    ],
)
def test_what_does_not_go_together_is_said(
    order: ConstructionOrder,
    changed: Callable[[ConstructionOrder], ConstructionOrder],
    error: type[Exception],
    complaint: str,
) -> None:
    with pytest.raises(error, match=re.escape(complaint)):
        made(changed(order))
