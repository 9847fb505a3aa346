"""Captions measured, on pairs of pictures of one colour over another and a network that was never trained."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import asdict, replace
from functools import partial
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from viewfinder.data.fashion_iq import SPECIAL_WORDS, FashionPair, write_fashion_iq, write_shuffled
from viewfinder.errors import BadInput, EncoderMismatch, UnknownName
from viewfinder.evaluation import Plan, compare_runs, evaluate, read_run
from viewfinder.evaluation.captioning import (
    CAPTION_FILE,
    PairCaption,
    bleu_interval,
    caption_pairs,
)
from viewfinder.evaluation.overlap import USER, WEIGHTS, Overlap
from viewfinder.evaluation.plan import Task
from viewfinder.evaluation.report import write_caption_page, write_report
from viewfinder.evaluation.results import MeasuredRun, write_measured_run, write_run
from viewfinder.metrics import bleu, cider_d, rouge_l
from viewfinder.testing import ColourEncoder, tiny_pictures
from viewfinder.training import Card, save_network
from viewfinder.users.captioner.network import make_captioner
from viewfinder.users.captioner.settings import RecurrentCaptioner
from viewfinder.weights import TrainingList, write_list_beside

ENCODER = ColourEncoder()
WORDS = (*SPECIAL_WORDS, "is", "red", "blue", "<b>")


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two kinds of six pictures each; the test split of one of them keeps its targets secret."""
    folder = tmp_path_factory.mktemp("pairs")
    pictures = [one.path.stem for one in tiny_pictures(folder / "images", 12)]
    for kind, own in (("flags", pictures[:6]), ("signs", pictures[6:])):
        known = [
            FashionPair(wanted, shown, (f"is red {number}", "is blue & small"))
            for number, (shown, wanted) in enumerate(pairwise(own))
        ]
        write_fashion_iq(folder, kind, "val", known, own, {})
        write_fashion_iq(folder, kind, "test", [replace(one, target=None) for one in known], own, {})
        write_shuffled(folder, kind, "val", [5, 4, 3, 2, 1, 0])
    return folder


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Callable[[int], Path]:
    """The file of a captioner that was drawn with a seed."""
    folder = tmp_path_factory.mktemp("weights")

    def drawn(seed: int) -> Path:
        torch.manual_seed(seed)
        model = RecurrentCaptioner(width=8, attributes=0, most_words=4, dropout=0.0)
        known = {"model": asdict(model), "vocabulary": list(WORDS), "labels": []}
        card = Card(system="captioner", preset="lab", encoder=ENCODER.raw_version, settings=known)
        save_network(folder / f"{seed}.safetensors", make_captioner(model, 48, len(WORDS), 0), card)
        return folder / f"{seed}.safetensors"

    return drawn


def captioned(folder: Path, weights: Path, out: Path, **plan: Any) -> MeasuredRun[PairCaption]:
    whole = Plan(system="captioner", data=folder, checkpoint=weights, features=folder / "vectors", **plan)
    return caption_pairs(whole, ENCODER, out)


sentences = st.lists(st.sampled_from("abcd"), min_size=1, max_size=7).map(" ".join)
corpora = st.lists(st.tuples(sentences, st.lists(sentences, min_size=1, max_size=3)), min_size=1, max_size=5)


@settings(max_examples=40, deadline=None)
@given(corpora)
def test_bleu_of_a_drawn_corpus_is_bleu_of_its_sentences(corpus: list[tuple[str, list[str]]]) -> None:
    said, people = [one for one, _ in corpus], [several for _, several in corpus]
    found = bleu_interval(said, people, resamples=1, seed=3)
    size = len(corpus)
    times = np.random.default_rng(3).multinomial(size, np.full(size, 1 / size), 1)[0].tolist()
    drawn = [row for row, count in enumerate(times) for _ in range(count)]
    again = bleu([said[row] for row in drawn], [people[row] for row in drawn])[3]
    assert found.low == found.high == pytest.approx(again, abs=1e-9)
    assert found.mean == pytest.approx(bleu(said, people)[3])


def test_the_figures_are_those_of_what_was_said(pairs: Path, weights: Callable[[int], Path], tmp_path: Path) -> None:
    found = captioned(pairs, weights(0), tmp_path)
    assert [task.title for task in found.run.tasks] == [
        "captioner, all kinds, val", "captioner, flags, val", "captioner, signs, val",
    ]  # fmt: skip
    signs = [one for one in found.things if one.kind == "signs"]
    said, people = [one.said for one in signs], [one.people for one in signs]
    means = [figure.measure.interval.mean for figure in found.run.tasks[2].figures]
    assert means == pytest.approx([bleu(said, people)[3], rouge_l(said, people).mean(), cider_d(said, people).mean()])


def test_every_caption_is_written_with_its_pair(pairs: Path, weights: Callable[[int], Path], tmp_path: Path) -> None:
    found = captioned(pairs, weights(0), tmp_path / "run", limit=3)
    write_measured_run(found)
    lines = [json.loads(line) for line in (tmp_path / "run" / CAPTION_FILE).read_text().splitlines()]
    assert len(lines) == 6  # three of each kind, the first and the last among them
    assert lines[0]["people"] == ["is red 0", "is blue & small"]
    assert lines[2]["people"][0] == "is red 4"
    whole = read_run(tmp_path / "run").tasks[0]
    assert np.mean([line["ROUGE-L"] for line in lines]) == pytest.approx(whole.figures[1].measure.interval.mean)
    assert np.mean([line["CIDEr-D"] for line in lines]) == pytest.approx(whole.figures[2].measure.interval.mean)


def test_pictures_that_the_captioner_learnt_from_are_counted_and_refused(
    pairs: Path, weights: Callable[[int], Path], tmp_path: Path
) -> None:
    unknown = captioned(pairs, weights(0), tmp_path).run.tasks[0].overlap
    assert unknown == Overlap(12, {WEIGHTS: None})
    seen = sorted(one.stem for one in (pairs / "images").iterdir())[:3]
    listed = tmp_path / "listed.safetensors"
    listed.write_bytes(weights(0).read_bytes())
    write_list_beside(listed, TrainingList.of(seen))
    assert captioned(pairs, listed, tmp_path).run.tasks[0].overlap == Overlap(12, {WEIGHTS: 3})
    with pytest.raises(BadInput, match="25 % of targets were training pictures of the weights"):
        captioned(pairs, listed, tmp_path, refuse_overlap=True)


def test_two_captioners_are_compared_pair_by_pair(pairs: Path, weights: Callable[[int], Path], tmp_path: Path) -> None:
    for seed in (0, 1):
        write_measured_run(captioned(pairs, weights(seed), tmp_path / str(seed)))
    rows = compare_runs([read_run(tmp_path / "0"), read_run(tmp_path / "1")])
    assert {(row.title, row.metric) for row in rows} == {
        (f"captioner, {kind}, val", metric)
        for kind, metric in product(("all kinds", "flags", "signs"), ("ROUGE-L", "CIDEr-D"))
    }
    assert all(row.dialogues == (10 if "all" in row.title else 5) for row in rows)


def test_a_prefix_stands_before_all_captions_that_are_compared(
    pairs: Path, weights: Callable[[int], Path], tmp_path: Path
) -> None:
    found = captioned(pairs, weights(0), tmp_path, options={"prefix": "it "})
    said = [f"it {one.said}" for one in found.things]
    people = [[f"it {text}" for text in one.people] for one in found.things]
    assert found.run.tasks[0].figures[1].measure.interval.mean == pytest.approx(rouge_l(said, people).mean())
    assert all(not one.said.startswith("it ") for one in found.things)


def test_what_cannot_be_captioned_is_said(pairs: Path, weights: Callable[[int], Path], tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="have no target"):
        captioned(pairs, weights(0), tmp_path, split="test")
    with pytest.raises(UnknownName, match="test, val"):
        captioned(pairs, weights(0), tmp_path, split="train")
    with pytest.raises(UnknownName, match="decoding, prefix"):
        captioned(pairs, weights(0), tmp_path, options={"noise": 0.1})
    with pytest.raises(BadInput, match=r"cap\.<kind>\.<split>\.json"):
        captioned(tmp_path, weights(0), tmp_path)
    with pytest.raises(BadInput, match="nowhere: no such folder"):
        captioned(tmp_path / "nowhere", weights(0), tmp_path)
    other = ColourEncoder(raw_version="colours-raw-2")
    with pytest.raises(EncoderMismatch, match="colours-raw-1"):
        caption_pairs(Plan(system="captioner", data=pairs, checkpoint=weights(0)), other, tmp_path)


def test_pairs_whose_pictures_are_lost_are_left_out_and_told(weights: Callable[[int], Path], tmp_path: Path) -> None:
    names = [one.path.stem for one in tiny_pictures(tmp_path / "images", 3)]
    known = [FashionPair(names[1], names[0], ("is red",)), FashionPair("gone", names[2], ("is blue",))]
    write_fashion_iq(tmp_path, "flags", "val", known, [*names, "gone"], {})
    found = captioned(tmp_path, weights(0), tmp_path / "run")
    assert [one.wanted for one in found.things] == [f"images/{names[1]}.png"]
    assert found.run.tasks[0].left_out == ("flags: 1 of 2 pairs name pictures that are not here",)


def test_the_page_has_every_pair_beside_what_was_said_of_it(
    pairs: Path, weights: Callable[[int], Path], tmp_path: Path
) -> None:
    found = captioned(pairs, weights(0), tmp_path)
    first, *others = found.things
    text = write_caption_page(replace(found, things=(replace(first, said="is <b> red"), *others))).read_text()
    assert text.count('<li class="pair">') == 10
    assert text.count('alt="the shown picture') == text.count('alt="the wanted picture') == 10
    assert "is &lt;b&gt; red" in text
    assert "is blue &amp; small" in text
    assert "captioner, signs, val" in text


# -- the captioner as a user of retrievers


def dialogues(folder: Path, weights: Path, out: Path, **plan: Any) -> Any:
    whole = Plan(
        system="composer", data=folder, protocol="fashioniq", split="val", user="captioner", task="flags dialogue",
        features=folder / "vectors", **({"options": {"model": str(weights), "decoding": "greedy"}} | plan),
    )  # fmt: skip
    return evaluate(whole, ENCODER, out, make_encoder=ColourEncoder)


def test_a_retriever_is_told_what_the_captioner_says_of_what_it_shows(
    pairs: Path, weights: Callable[[int], Path], tmp_path: Path
) -> None:
    found = dialogues(pairs, weights(0), tmp_path)
    [task] = found.run.tasks
    assert task.title == "fashioniq, flags, dialogue, val"
    first = found.examples[0].turns[0]
    gallery = sorted(file.name for file in (pairs / "images").iterdir())[:6]
    assert Path(first.picture).name == gallery[5]  # the folder fixes that the first target begins with the last picture
    assert first.said.startswith("but ")
    assert 'alt="the picture it goes on from"' in write_report(found.run, found.examples).read_text()


def test_fashion_iq_s_dialogues_go_on_after_the_target_was_shown_so_a_later_rank_may_be_worse(
    pairs: Path, weights: Callable[[int], Path], tmp_path: Path
) -> None:
    manner = {"model": str(weights(0)), "decoding": "greedy"}
    plan = partial(dialogues, pairs, weights(0))
    on, ended = (
        plan(tmp_path, options=manner | goes_on).run.tasks[0].ranks.best_st for goes_on in ({}, {"goes_on": False})
    )
    found = ended.min(axis=1) == 0
    assert found.any()
    assert np.array_equal(ended[found, -1], np.zeros(found.sum()))  # the user stopped, and its last rank counts
    assert on[found, -1].max() > 0  # they talked on


def test_the_captioner_s_pictures_are_counted_where_it_is_the_user(
    pairs: Path, weights: Callable[[int], Path], tmp_path: Path
) -> None:
    unknown = dialogues(pairs, weights(0), tmp_path).run.tasks[0].overlap
    assert unknown.seen[USER] is None
    listed = Path(shutil.copy2(weights(0), tmp_path / "listed.safetensors"))
    target = sorted(file.stem for file in (pairs / "images").iterdir())[0]
    write_list_beside(listed, TrainingList.of([target], at_most=True))
    run = dialogues(pairs, listed, tmp_path).run
    known = run.tasks[0].overlap
    assert (known.seen[USER], known.at_most) == (1, (USER,))
    assert any(line.startswith("overlap: at most") and "the simulated user" in line for line in known.flags)
    write_run(run)
    assert read_run(tmp_path).tasks[0].overlap == known


@pytest.mark.long
def test_two_processes_hold_the_dialogues_of_one(pairs: Path, weights: Callable[[int], Path], tmp_path: Path) -> None:
    one, two = (dialogues(pairs, weights(0), tmp_path, processes=count).run.tasks[0] for count in (1, 2))
    assert np.array_equal(one.ranks.best_st, two.ranks.best_st)


def test_tasks_are_chosen_by_words_of_their_titles(pairs: Path, tmp_path: Path) -> None:
    plan = Plan(system="random", data=pairs, protocol="fashioniq", split="val", task="Signs gallery")
    run = evaluate(plan, ENCODER, tmp_path).run
    assert [task.title for task in run.tasks] == ["fashioniq, signs, split gallery, val"]
    with pytest.raises(UnknownName, match="flags, dialogue"):
        evaluate(replace(plan, task="hats"), ENCODER, tmp_path)


def test_a_dialogue_whose_first_picture_is_lost_begins_with_another(tmp_path: Path) -> None:
    from viewfinder.evaluation.pictures import load_pictures, match_pictures
    from viewfinder.evaluation.protocols.composed import fashioniq_tasks
    from viewfinder.evaluation.simulate import draw_first_pictures
    from viewfinder.retrievers import load_retriever

    names = [one.path.stem for one in tiny_pictures(tmp_path / "images", 4)]
    write_fashion_iq(tmp_path, "flags", "val", [], [*names, "gone"], {})
    write_shuffled(tmp_path, "flags", "val", [1, 4, 0, 3, 2])
    found: list[Task] = fashioniq_tasks(tmp_path, "val")
    pictures = load_pictures(Plan(system="composer", data=tmp_path), ENCODER, load_retriever("composer"))
    known = match_pictures(found[-1], pictures)
    keys = [f"images/{name}.png" for name in names]
    assert [dialogue.first for dialogue in known.dialogues] == [
        keys[1],
        "",
        keys[0],
        "",
    ]  # the fourth would begin with its target
    assert "first pictures of 1 dialogues" in str(known.reports[-1])
    begun = draw_first_pictures(known, seed=0)
    assert [dialogue.first for dialogue in begun.dialogues][::2] == [keys[1], keys[0]]
    assert all(dialogue.first in keys and dialogue.first != dialogue.target for dialogue in begun.dialogues)
