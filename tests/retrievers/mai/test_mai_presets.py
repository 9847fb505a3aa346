"""The tables of presets.toml: all can be read, and say what the issue and the paper say."""

from __future__ import annotations

import tomllib

import pytest

from viewfinder.errors import BadInput
from viewfinder.retrievers.mai.settings import EVERY_TERM, MaiPreset
from viewfinder.retrievers.mai.train import PRESETS
from viewfinder.training import OneCycle, load_preset

NAMES = tuple(tomllib.loads(PRESETS.read_text(encoding="utf-8")))


def preset(name: str, *overrides: str) -> MaiPreset:
    return load_preset(PRESETS, name, MaiPreset, overrides)


@pytest.mark.parametrize("name", NAMES)
def test_every_preset_can_be_read(name: str) -> None:
    found = preset(name)
    assert found.training.optimiser == "adamw"
    assert isinstance(found.training.schedule, OneCycle)
    assert (found.training.betas, found.training.eps, found.training.weight_decay) == ((0.9, 0.98), 1e-7, 0.05)


def test_lab_is_all_of_the_paper_and_base_is_nothing_of_it() -> None:
    lab, base = preset("lab"), preset("base")
    assert (lab.model.stages, lab.model.memory, lab.model.captions, lab.loss.terms) == ("two", "mio", True, EVERY_TERM)
    assert (base.model.stages, base.model.memory, base.model.captions) == ("one", "ntm", False)
    assert base.loss.terms == ("query_target",)
    # What differs between them is what is claimed to help, and nothing else.
    assert lab.training == base.training
    assert (lab.model.width, lab.model.layers, lab.batch) == (base.model.width, base.model.layers, base.batch)


def test_paper_has_the_published_sizes() -> None:
    paper = preset("paper")
    sizes = (paper.model.width, paper.model.layers, paper.model.heads, paper.model.hidden, paper.model.cross_every)
    assert sizes == (768, 12, 12, 3072, 2)
    assert (paper.model.tokens, paper.model.prompts, paper.model.projection) == (32, 32, 256)
    assert (paper.loss.scale, paper.loss.learned_scale, paper.loss.terms) == (100.0, False, EVERY_TERM)
    assert (paper.training.learning_rate, paper.training.epochs, paper.batch) == (1e-5, 50, 32)
    assert (paper.model.iteration.density, paper.model.iteration.distance) == ("paper", "nearest")
    assert isinstance(paper.training.schedule, OneCycle)
    assert paper.training.schedule.rising * 50 == pytest.approx(1.5)  # epochs of warm-up
    assert paper.training.schedule.start_divisor == 100.0


def test_what_the_published_code_does_otherwise_is_asked_for_by_paper_and_sprc_alone() -> None:
    paper, sprc = preset("paper"), preset("sprc")
    assert (paper.model.texts, paper.model.clean_words, paper.model.combination) == ("official", 50, "official_fc")
    assert paper.model.iteration.detach_earlier
    assert (sprc.model.stages, sprc.model.targets, sprc.model.captions) == ("sprc", "official", False)
    assert (sprc.loss.alignment, sprc.loss.sprc_weights) == ("official", (1.0, 1.0))
    assert sprc.loss.scale == pytest.approx(1 / 0.07) and sprc.loss.learned_scale
    assert (sprc.training.learning_rate, sprc.training.epochs, sprc.batch) == (2e-5, 30, 128)
    for name in set(NAMES) - {"paper", "sprc"}:
        model, loss = preset(name).model, preset(name).loss
        assert (model.texts, model.clean_words, model.combination, model.targets) == ("whole", 0, "seen", "text")
        assert (loss.alignment, model.iteration.detach_earlier) == ("read", False)


def test_any_of_it_can_be_set() -> None:
    found = preset("lab", "model.memory=gru", "model.iteration.drop=0.25", "loss.terms=['query_target']", "batch=16")
    assert (found.model.memory, found.model.iteration.drop, found.batch) == ("gru", 0.25, 16)
    assert found.loss.terms == ("query_target",)


@pytest.mark.parametrize(
    ("override", "what"),
    [
        ("model.memory=elephant", "memory"),
        ("loss.terms=['query']", "terms"),
        ("model.rollback=forget", "rollback"),
        ("model.memories=gru", "model.memories: no such key"),
        ("model.tokens=many", "tokens"),
    ],
)
def test_what_cannot_be_set_is_told_in_one_line(override: str, what: str) -> None:
    with pytest.raises(BadInput, match=what) as told:
        preset("lab", override)
    assert "\n" not in str(told.value)
