"""What machines say of a library's pictures: kept in batches with its source, and told from people's words."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import viewfinder.library
from tests.vision_server import Reply, Vision, complete, serve_vision
from viewfinder.errors import BadInput, UnknownName
from viewfinder.language.describer import Describer
from viewfinder.library import Library
from viewfinder.pictures.facts.model import Fact
from viewfinder.pictures.facts.text_lines import TextLine, list_text_lines, make_text_facts
from viewfinder.store import describing
from viewfinder.store.describing import DESCRIBED_BY, DescribeReport, ModelTeller, Teller, renew_facts
from viewfinder.testing import load_colour_encoder, tiny_pictures

THINGS = ("zeppelin", "harpsichord", "artichoke", "sombrero", "unicycle", "catapult", "lighthouse", "accordion")


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Library:
    """Eight pictures; whatever encoder it names, it is given the one that knows colours only."""
    monkeypatch.setattr(viewfinder.library, "load_encoder", load_colour_encoder)
    tiny_pictures(tmp_path / "pictures", len(THINGS))
    made = Library.open(tmp_path / "library")
    made.add(tmp_path / "pictures", workers=1)
    return made


def say(number: int) -> dict[str, Any]:
    """What the model says of the picture that it was asked about as so maniest."""
    thing = THINGS[number % len(THINGS)]
    return {"caption": f"Somebody shows a {thing}.", "objects": [thing, "hand"], "text": [f"GATE ZK451{number}"]}


@pytest.fixture
def vision() -> Iterator[Vision]:
    with serve_vision(lambda jpeg, number: say(number)) as served:
        yield served


def teller(vision: Vision, *, at_once: int = 1, model: str = "tiny") -> ModelTeller:
    return ModelTeller(Describer(vision.url, model), at_once=at_once)


def said_of(library: Library) -> dict[str, dict[str, tuple[str, ...]]]:
    """The machine's facts of the pictures that have any, by the names of files."""
    return {row.path.name: {fact.name: fact.values for fact in row.machine} for row in library if row.machine}


def test_what_a_model_says_is_kept_with_its_source_and_found_as_a_machines_words(
    library: Library, vision: Vision
) -> None:
    report = library.describe_by(teller(vision))
    assert (report.chosen, report.described, report.with_text, report.failures) == (8, 8, 8, {})
    assert (report.tokens_read, report.tokens_written, report.stopped) == (5600, 400, False)
    gallery = library.gallery()
    for number, thing in enumerate(THINGS):
        [hit] = library.find(where={"objects": thing})
        [caption] = [fact for fact in library[hit].known if fact.name == "caption"]
        assert caption == Fact("caption", (f"Somebody shows a {thing}.",), "described by tiny")
        for text, lead in ((f"who shows a {thing}", 0.5), (f"gate ZK451{number}", 5.0)):
            ratios = gallery.weigh_machine_words(text)
            assert ratios is not None
            nats_n = ratios.at(np.arange(len(THINGS)))
            assert int(nats_n.argmax()) == gallery.row(hit.id)
            assert 0 <= np.sort(nats_n)[-2] < nats_n.max() - lead
            parts = library.find(text)[0].why["turns"][0]["parts"]
            assert f'a machine wrote of it: "{text}"' in parts
    assert gallery.written is not None and gallery.written.words is None
    assert gallery.weigh_machine_words("nothing of the kind") is None
    assert Library.open(library.folder).settings.format == 3


def test_words_of_machines_are_told_from_those_of_people_where_they_are_shown(library: Library, vision: Vision) -> None:
    library.describe_by(teller(vision), limit=1)
    [row] = [row for row in library if row.machine]
    library.describe(row.id, captions=["my aunt"])
    shown = library.show(row.id).to_json()
    told = {fact["name"]: (fact["source"], fact["machine"]) for fact in shown["facts"]}
    assert told == dict.fromkeys(("caption", "objects", "text"), ("described by tiny", True))
    assert shown["captions"] == ("my aunt",)
    assert library.status()["facts_of_files"] == ["caption", "objects", "text"]
    [found] = [row for row in library.to_arrow().to_pylist() if row["caption"]]
    assert (found["captions"], found["objects"]) == (["my aunt"], "zeppelin; hand")


def test_only_pictures_without_words_are_asked_about_unless_all_are_wanted(library: Library, vision: Vision) -> None:
    assert library.describe_by(teller(vision), limit=3).described == 3
    before = said_of(library)
    assert len(before) == 3
    assert library.describe_by(teller(vision, model="another")).chosen == 5
    assert {name: said_of(library)[name] for name in before} == before
    assert library.describe_by(teller(vision)).chosen == 0
    assert len(vision.asked) == 8
    assert library.describe_by(teller(vision), redo=True).described == 8
    assert {fact.source for row in library for fact in row.machine} == {"described by tiny"}


def test_pictures_are_chosen_by_filters_the_newest_first(library: Library, vision: Vision) -> None:
    with pytest.raises(UnknownName):
        library.describe_by(teller(vision), where={"folder": "nowhere"})
    with pytest.raises(BadInput, match="teller: Teller is needed, this is Describer"):
        library.describe_by(Describer(vision.url, "tiny"))  # type: ignore[arg-type]
    with pytest.raises(BadInput, match="limit: 0 pictures"):
        library.describe_by(teller(vision), limit=0)
    file = sorted(row.path.name for row in library)[2]
    assert library.describe_by(teller(vision), where={"file": file}).described == 1
    assert list(said_of(library)) == [file]


def test_a_dry_run_asks_about_three_keeps_nothing_and_says_what_all_would_take(
    library: Library, vision: Vision
) -> None:
    report = library.describe_by(teller(vision), dry_run=True)
    assert (len(vision.asked), said_of(library), library.settings.format) == (3, {}, 2)
    assert (report.chosen, report.described, report.estimated_tokens) == (8, 3, 6000)
    assert report.estimated_s == pytest.approx(report.seconds * 8 / 3)
    assert report.samples[0][1][0].values == ("Somebody shows a zeppelin.",)


def test_a_picture_is_sent_small_and_without_what_is_known_of_it(
    library: Library, tmp_path: Path, vision: Vision
) -> None:
    exif = Image.Exif()
    exif[0x010E] = "the secret place"
    Image.effect_noise((1600, 900), 90).convert("RGB").save(tmp_path / "pictures" / "large.jpg", exif=exif)
    library.add(tmp_path / "pictures", workers=1)
    library.describe_by(ModelTeller(Describer(vision.url, "tiny"), side=320), where={"file": "large.jpg"})
    [jpeg] = vision.pictures
    assert b"secret" not in jpeg
    (tmp_path / "sent.jpg").write_bytes(jpeg)
    with Image.open(tmp_path / "sent.jpg") as sent:
        assert (sent.format, sent.size, dict(sent.getexif())) == ("JPEG", (320, 180), {})


def test_an_answer_that_cannot_be_used_is_counted_and_never_kept(library: Library) -> None:
    def reply(jpeg: bytes, number: int) -> Reply:
        bad: list[Reply] = [
            '{"caption": "half', "no JSON at all", complete(json.dumps(say(0)), finish="length"), (500, {}, b""), None,
        ]  # fmt: skip
        return bad[number] if number < len(bad) else say(number)

    with serve_vision(reply) as vision:
        report = library.describe_by(teller(vision))
        assert (report.described, sum(report.failures.values()), report.stopped) == (3, 5, False)
        assert set(report.failures) == {
            "no JSON object in the answer", "broke off in the middle of its answer", "the server failed (HTTP 500)",
            "the connection broke (RemoteProtocolError)",
        }  # fmt: skip
        assert report.failures["no JSON object in the answer"] == 2
        assert all(len(paths) == report.failures[reason] for reason, paths in report.examples.items())
        assert len(said_of(library)) == 3
        assert library.describe_by(teller(vision)).described == 5
    assert len(said_of(library)) == 8


def test_a_model_that_never_says_anything_of_use_is_given_up(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(describing, "MAX_BAD_IN_A_ROW", 4)
    with serve_vision(lambda jpeg, number: say(0) if number == 0 else "What a nice picture!") as vision:
        report = library.describe_by(teller(vision))
    assert report.failed == "4 answers in a row could not be used, the last one because: no JSON object in the answer"
    assert (report.stopped, report.described, len(said_of(library))) == (True, 1, 1)


def test_a_busy_server_is_asked_again_about_the_same_picture_when_it_says(library: Library) -> None:
    def reply(jpeg: bytes, number: int) -> Reply:
        return (429 if number else 503, {"Retry-After": "0.1"}, b"{}") if number < 3 else say(number - 3)

    with serve_vision(reply) as vision:
        report = library.describe_by(teller(vision))
    assert (report.described, report.waits, report.failures) == (8, 3, {})
    assert len(set(vision.pictures[:4])) == 1
    assert report.seconds >= 0.3


def test_a_server_that_is_always_busy_ends_the_run(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(describing, "MAX_BUSY_IN_A_ROW", 2)
    with serve_vision(lambda jpeg, number: (429, {"Retry-After": "0.05"}, b"")) as vision:
        report = library.describe_by(teller(vision))
    assert report.failed == "the model asked to be asked later, 2 times in a row"
    assert said_of(library) == {}


def test_a_server_that_goes_away_ends_the_run_and_what_was_said_is_kept(library: Library) -> None:
    with serve_vision(lambda jpeg, number: say(number) if number < 5 else (401, {}, b"")) as vision:
        report = library.describe_by(teller(vision))
        assert (report.described, report.stopped, len(said_of(library))) == (5, True, 5)
        assert "refuses the key" in report.failed
    assert "cannot be reached" in library.describe_by(teller(vision)).failed


def test_a_run_that_keeps_nothing_leaves_the_library_to_earlier_viewfinders(library: Library) -> None:
    report = library.describe_by(ModelTeller(Describer("http://127.0.0.1:9/v1", "tiny")))
    assert report.failed == "tiny cannot be reached: check the endpoint's address"
    assert Library.open(library.folder).settings.format == 2


def test_a_run_that_is_stopped_keeps_what_is_done_and_the_next_one_goes_on(library: Library) -> None:
    released = threading.Event()

    def reply(jpeg: bytes, number: int) -> Reply:
        if number >= 3:
            released.wait(60)
        return say(number)

    reports: list[DescribeReport] = []
    with serve_vision(reply) as vision:
        report = library.describe_by(teller(vision), note=reports.append, should_stop=lambda: len(vision.asked) > 3)
        assert (report.described, report.stopped, report.failed) == (3, True, "")
        assert len(said_of(library)) == 3
        released.set()
        assert library.describe_by(teller(vision)).chosen == 5
    assert len(said_of(library)) == 8


def test_a_batch_is_kept_before_the_next_one_is_complete(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(describing, "MAX_UNSAVED", 2)
    kept: list[int] = []

    def progress(done: int, total: int) -> None:
        kept.append(len(said_of(library)))
        if done == 7:
            raise KeyboardInterrupt

    with serve_vision(lambda jpeg, number: say(number)) as vision, pytest.raises(KeyboardInterrupt):
        library.describe_by(teller(vision), progress=progress)
    assert kept == [0, 2, 2, 4, 4, 6, 6]
    assert len(said_of(library)) == 6


def test_several_pictures_are_asked_about_at_once(library: Library) -> None:
    together = threading.Barrier(3, timeout=60)

    def reply(jpeg: bytes, number: int) -> Reply:
        if number < 3:
            together.wait()
        return say(number)

    with serve_vision(reply) as vision:
        assert library.describe_by(teller(vision, at_once=3)).described == 8


def test_files_that_cannot_be_read_or_have_changed_are_left_as_they_are(
    library: Library, tmp_path: Path, vision: Vision
) -> None:
    files = sorted((tmp_path / "pictures").iterdir())
    files[0].unlink()
    files[1].write_bytes(b"no picture any more")
    files[2].write_bytes(files[3].read_bytes())
    report = library.describe_by(teller(vision))
    assert report.described == 5
    assert sorted(reason.partition(":")[0] for reason in report.failures) == [
        "cannot be read", "its file has changed", "its file is gone",
    ]  # fmt: skip
    assert report.failed == ""


def test_words_of_machines_outlive_all_that_adding_does_to_a_file_but_turning_it(
    library: Library, tmp_path: Path, vision: Vision
) -> None:
    library.describe_by(teller(vision))
    before = said_of(library)
    files = sorted((tmp_path / "pictures").iterdir())
    os.utime(files[0], (1, 1))
    (files[1].parent / f"{files[1].name}.xmp").write_text("<x/>", encoding="utf-8")
    files[2].rename(files[2].with_name("moved.png"))
    library.add(tmp_path / "pictures", workers=1)
    after = said_of(library)
    assert after.pop("moved.png") == before.pop(files[2].name)
    assert after == before
    library.add(tmp_path / "pictures", workers=1, leave_out=["text"])
    os.utime(files[0], (2, 2))
    library.add(tmp_path / "pictures", workers=1)
    assert all("text" not in facts for facts in said_of(library).values())
    assert library.describe_by(teller(vision), redo=True).described == 8
    assert {facts["text"] for facts in said_of(library).values()} == {()}
    assert library.describe_by(teller(vision)).chosen == 0


def test_two_kinds_of_machines_keep_their_words_apart() -> None:
    lines = [TextLine("GATE 7", (0.1, 0.2, 0.5, 0.3), 0.987), TextLine("GATE 7", (0.6, 0.2, 0.9, 0.3), 0.8)]
    read = make_text_facts(lines)
    described = (Fact("caption", ("A gate.",), f"{DESCRIBED_BY}a"), Fact("text", ("Gate",), f"{DESCRIBED_BY}a"))
    both = renew_facts(described, read)
    assert [fact.name for fact in both] == ["caption", "text", "text", "text boxes"]
    assert list_text_lines(both) == [replace(lines[0], confidence=0.99), lines[1]]
    again = renew_facts(both, (Fact("caption", ("Another gate.",), f"{DESCRIBED_BY}b"),))
    assert [(fact.name, fact.source) for fact in again if fact.source.startswith(DESCRIBED_BY)] == [
        ("caption", "described by b")
    ]
    assert make_text_facts([]) == (Fact("text", (), "read in the picture"),)
    assert list_text_lines(make_text_facts([TextLine("\0", (0.0, 0.0, 1.0, 1.0), 1.0), lines[1]])) == [lines[1]]


def test_a_model_is_a_teller(vision: Vision) -> None:
    kept: Teller = teller(vision)
    assert (kept.side, kept.at_once) == (768, 1)
