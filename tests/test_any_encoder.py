"""What benchmarks/any_encoder.py asks and counts."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

import numpy as np
from any_encoder import Shelf, ask, describe_verdicts
from report_encoders import VERDICTS, encoder_parts

from viewfinder.users import AnnotatedPhotos, PhotoNotes

NOTES = AnnotatedPhotos(
    {"set/a": PhotoNotes(("a dog with a thermometer",)), "set/b": PhotoNotes(("two boats at sea",))}
)
SHELF = Shelf(NOTES, ("set/a", "set/b"), np.zeros((2, 1), np.float16))
NOBODY = Shelf(AnnotatedPhotos({}), (), np.zeros((0, 1), np.float16))


@dataclass(frozen=True)
class Bench:
    shelf: Shelf = SHELF
    part: str = "report"


def test_what_a_caption_names_is_not_asked_for_as_absent() -> None:
    bench: Any = Bench()
    said = list(ask(bench, ["set/b"], SHELF.keys, NOBODY, random.Random(0)))
    assert [(kind, key) for kind, _, key in said[:2]] == [("sentence", "set/b"), ("fragment", "set/b")]
    absent = [text for kind, text, key in said if kind == "absent" and not key]
    assert "a jellyfish" in absent and "a thermometer" not in absent
    assert len(absent) == len(set(absent)) > 40


def test_verdicts_are_counted_where_they_could_be_right() -> None:
    marks = ["likely", "likely", "unlikely"]
    judged = [
        ("sentence", "found", 0, marks), ("sentence", "nothing", 3, marks), ("fragment", "nothing", 50, marks),
        ("absent", "found", -1, marks), ("absent", "nothing", -1, ["unlikely"]),
    ]  # fmt: skip
    found = {name: figures["mean"] for name, figures in describe_verdicts(judged).items() if "mean" in figures}
    # Two of three are among the first ten, of which one is said not to be there. Of what is not there, half is found.
    assert found["R@10"] == 0.6667
    assert found['"nothing" of what is among the first ten'] == 0.5
    assert found['"found" of what is not there'] == found['"nothing" of what is not there'] == 0.5
    assert found["likely hits a search"] == 1.0


def test_every_table_of_the_page_has_its_rows() -> None:
    spread = {"mean": 0.5, "low": 0.4, "high": 0.6, "n": 10}
    verdict = dict.fromkeys([*VERDICTS, "likely hits a search"], spread)
    lists = {"lists": 8, "looked into": 2, "recall on the card": 0.99, "recall of captions": spread}
    answers = {"all answers": spread, "questions with choices": 3, "talks": 9, "R@10 at first": spread}
    machine = dict.fromkeys(("processor", "date", "python", "numpy", "onnxruntime", "lancedb", "pillow"), "1")
    found = {
        "verdicts": {"30": {"starter": verdict}},
        "answers": {"starter": answers},
        "but": {"starter": {"first": spread}},
        "heatmaps": {"starter": {"named": spread}},
        "lists": {"pictures": 99, "sayings": lists},
        "machine": machine,
    }
    found = {
        "verdicts": {"30": {"starter": verdict}},
        "answers": {"starter": answers},
        "but": {"starter": {"first": spread}},
        "heatmaps": {"starter": {"named": spread}},
        "lists": {"pictures": 99, "sayings": lists},
        "machine": machine,
    }
    parts = encoder_parts(found)
    assert parts["encoder-verdicts"][-1] == "| 30 | starter |" + " 50.0 (40.0 to 60.0) |" * 4 + " 0.50 |"
    assert parts["encoder-answers"][-1].startswith("| starter | +0.50 (+0.40 to +0.60) | 10 | 3 in 9 talks |")
    assert parts["encoder-lists"][-1] == "| sayings | 2 of 8 | 99.0 | 50.0 (40.0 to 60.0) |"
    assert len(parts["encoder-but"]) == len(parts["encoder-heatmaps"]) == 3
