"""Settings of MAI: what cannot be is told in one line that names it."""

from __future__ import annotations

from typing import Any

import pytest

from viewfinder.errors import BadInput
from viewfinder.retrievers.mai.settings import EVERY_TERM, Iteration, MaiLossSettings, MaiPreset, Model
from viewfinder.training import TrainingSettings


def preset(**known: Any) -> MaiPreset:
    return MaiPreset(model=Model(), training=TrainingSettings(learning_rate=1e-3, steps=1), **known)


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"tokens": 0}, "tokens is 0; it must be at least 1"),
        ({"width": 63}, "a width of 63 must be a multiple of 2 heads"),
        ({"dropout": 1.5}, "dropout is 1.5; it must be from 0 to 1"),
        ({"components": -1}, "components"),
        ({"words": "glove"}, "set both or neither"),
        ({"glove": "vectors.txt"}, "set both or neither"),
        ({"words": "pieces"}, "set both or neither"),
        ({"tokeniser": "bert"}, "set both or neither"),
        ({"qformer": "blip2"}, "set it to 'pieces'"),
        ({"stages": "one"}, "stages is 'one': set captions to false"),
        ({"stages": "sprc", "targets": "official"}, "captions to false"),
        ({"targets": "official", "captions": False}, "stages to 'sprc'"),
        ({"combination": "official_fc", "memory": "none"}, "memory to 'mio'"),
        ({"combination": "official_fiq", "recall": "pictures"}, "recall to 'captions'"),
        ({"stages": "sprc", "captions": False, "query": "fused"}, "queries by 'cls'"),
    ],
    ids=str,
)
def test_a_model_that_cannot_be_is_refused(options: dict[str, Any], what: str) -> None:
    with pytest.raises(BadInput, match=what) as told:
        Model(**options)
    assert "\n" not in str(told.value)


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"scale": 0.0}, "scale is 0.0; it must be above 0"),
        ({"sprc_weights": (1.0, -0.4)}, "at least 0"),
        ({"terms": ()}, "one at least"),
        ({"terms": ("query_target", "query_target")}, "once at most"),
    ],
    ids=str,
)
def test_a_loss_that_cannot_be_is_refused(options: dict[str, Any], what: str) -> None:
    with pytest.raises(BadInput, match=what):
        MaiLossSettings(**options)


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"batch": 0}, "batch is 0"),
        ({"caption_dropout": 1.2}, "caption_dropout is 1.2; it must be from 0 to 1"),
        ({"described": -0.2}, "described is -0.2"),
        ({"clauses": 2.0}, "clauses is 2.0"),
        ({"selects": "bare_recall"}, "set caption_dropout above 0"),
    ],
    ids=str,
)
def test_a_preset_that_cannot_be_is_refused(options: dict[str, Any], what: str) -> None:
    with pytest.raises(BadInput, match=what):
        preset(**options)


def test_half_of_the_tokens_are_kept_so_half_of_them_may_be_dropped() -> None:
    assert Iteration(drop=0.5).drop == 0.5
    for options in ({"drop": 0.51}, {"drop": -0.1}, {"neighbours": 0}):
        with pytest.raises(BadInput, match=next(iter(options))):
            Iteration(**options)


def test_what_is_not_set_is_all_of_the_paper() -> None:
    model, loss, iteration = Model(), MaiLossSettings(), Iteration()
    assert (model.stages, model.memory, model.captions, model.query, model.rollback, model.tokens) == (
        "two", "mio", True, "cls", "replace", 32,
    )  # fmt: skip
    assert loss.terms == EVERY_TERM and loss.noise == "" and len(EVERY_TERM) == 4
    # Where the published code has something else, it is asked for: the shipped weights were learnt without.
    assert (model.targets, model.combination, iteration.detach_earlier) == ("text", "seen", False)
    assert (loss.alignment, loss.sprc_weights) == ("read", (1.0, 1.0))
    assert (iteration.density, iteration.distance, iteration.neighbours, iteration.drop) == ("tcformer", "denser", 5, 0)


def test_a_token_of_a_picture_is_as_wide_as_the_model_unless_it_is_set() -> None:
    assert (Model(width=32).read_width, Model(width=32, image_width=48).read_width) == (32, 48)
