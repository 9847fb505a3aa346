"""What holds for every retriever there is; a new one is tested the day it is added to `RETRIEVERS`.

Trained ones have the numbers that training starts from: what holds does not depend on what was learnt.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from viewfinder.conversation import Answer, Keep, Like, Question, Reject, Say, Show
from viewfinder.data.visual_genome.words import SPECIAL, UNKNOWN
from viewfinder.errors import LanguageModelFailed, UnknownName
from viewfinder.index import Gallery
from viewfinder.retrievers import RETRIEVERS, ResolvedTurn, Retriever, SentenceEncoder, load_retriever
from viewfinder.retrievers.baselines.settings import SYSTEMS
from viewfinder.retrievers.chatir.plugir import PlugirRetriever
from viewfinder.testing import COLOURS, ColourEncoder, ScriptedModel, TinyRaw, tiny_snapshot

LOOKS = [(top, bottom) for top in list(COLOURS)[:4] for bottom in COLOURS]
ENCODER = ColourEncoder()


def gallery_of(looks: list[tuple[str, str]]) -> Gallery:
    return Gallery(tiny_snapshot(looks, [{"top": (top,)} for top, _ in looks]), ENCODER, TinyRaw(looks))


GALLERY = gallery_of(LOOKS)


def turns_for(retriever: Retriever[Any]) -> list[ResolvedTurn]:
    """Every kind of turn, with pictures as this retriever reads them."""
    reads = retriever.reads
    p, q = GALLERY.picture("p003", reads), GALLERY.picture("p009", reads)
    turns = [
        ResolvedTurn(Say("red, no blue"), 1, ENCODER.words, "red, no blue"),
        ResolvedTurn(
            Answer(Question("Top?", attribute="top"), "red"), 2, ENCODER.words, "red", (), (p, q), {"top": ("red",)}
        ),
        ResolvedTurn(Answer(Question("Bottom?"), "don't know"), 3, ENCODER.words, "don't know"),
        ResolvedTurn(Like("p003", "green"), 4, ENCODER.words, "green", (p,)),
        ResolvedTurn(Show("mine.png"), 5, ENCODER.words, "", (q,)),
        ResolvedTurn(Keep("top", 1), 6, ENCODER.words, "red", (p,), (), {"top": ("red",)}),
        ResolvedTurn(Reject(("p009",), "blue"), 7, ENCODER.words, "blue", (q,), (p, q)),
        ResolvedTurn(Reject(), 8, ENCODER.words, "", (), (p,)),
        ResolvedTurn(Like("p009", "", 1), 9, ENCODER.words, "", (q,)),
    ]
    return [replace(turn, sentences=SentenceEncoder(ENCODER.sentences_version, ENCODER.sentences)) for turn in turns]


WORDS = [*SPECIAL, *COLOURS, "there", "is", "no", ","]

each = pytest.mark.parametrize("name", sorted(RETRIEVERS))


@pytest.fixture(scope="module")
def load(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Retriever[Any]]:
    """`load_retriever`, for trained ones with weights written to a file first."""
    folder = tmp_path_factory.mktemp("weights")

    def loaded(name: str) -> Retriever[Any]:
        if name == "plugir":
            return PlugirRetriever(ScriptedModel(unreachable))
        if name not in (*SYSTEMS, "chatir", "chatsearcher", "combiner", "drilldown", "fashioniq", "mai"):
            return load_retriever(name)
        file = folder / f"{name}.safetensors"
        if not file.exists():
            own = {
                "fashioniq": save_fashioniq,
                "combiner": save_combiner,
                "mai": save_mai,
                "chatsearcher": save_chatsearcher,
            }
            own[name](file) if name in own else save_untrained(name, file)
        return load_retriever(name, file)

    return loaded


def unreachable(prompt: str, seed: int) -> str:
    """What a language model says that cannot be reached."""
    raise LanguageModelFailed("nobody is there")


def save_untrained(name: str, file: Path) -> None:
    import torch

    from viewfinder.retrievers.baselines import network as baselines
    from viewfinder.retrievers.baselines.settings import ModelSettings as BaselineSettings
    from viewfinder.retrievers.chatir import network as chatir
    from viewfinder.retrievers.chatir.settings import ModelSettings as ChatirSettings
    from viewfinder.retrievers.drilldown import network as drilldown
    from viewfinder.retrievers.drilldown.settings import ModelSettings as DrilldownSettings
    from viewfinder.retrievers.shared.description_training import InputWidths
    from viewfinder.training import Card, save_network

    torch.manual_seed(7)
    inputs = InputWidths(regions=3, whole=48, sentences=48, words=len(WORDS))
    network: drilldown.DrilldownNetwork | baselines.BaselineNetwork | chatir.SentenceDialogueEncoder
    if name == "drilldown":
        settings = DrilldownSettings(width=8, word_width=6, choice="learned")
        network = drilldown.DrilldownNetwork(settings, inputs)
    elif name == "chatir":
        network = chatir.SentenceDialogueEncoder(
            ChatirSettings(width=8, hidden=8, image="learned", image_width=6), 48, 48
        )
    else:
        system = next(system for system in SYSTEMS if system == name)
        network = baselines.BaselineNetwork(
            system, BaselineSettings(width=8, word_width=6), inputs, SPECIAL.index(UNKNOWN)
        )
    reads = ENCODER.sentences_version if name == "chatir" else ""
    known = {"model": asdict(network.settings), "words": WORDS, "sentences_version": reads, "regions": 36}
    save_network(file, network, Card(system=name, preset="", encoder=ENCODER.raw_version, settings=known))


def save_fashioniq(file: Path) -> None:
    import torch

    from viewfinder.retrievers.fashioniq.network import TransformerRetriever
    from viewfinder.retrievers.fashioniq.settings import LossSettings, TransformerModel
    from viewfinder.retrievers.shared.network import WordVectors
    from viewfinder.training import Card, save_network
    from viewfinder.training.picture_layers import AttributeHead

    torch.manual_seed(7)
    settings = TransformerModel(width=8, layers=1, heads=2, hidden=8, padding_mask=True, words="learned", attributes=2)
    network = TransformerRetriever(settings, 48, WordVectors(settings, None, len(WORDS)), 3)
    network.attributes = AttributeHead(3, 48)
    known: dict[str, Any] = {
        "model": asdict(settings),
        "loss": asdict(LossSettings()),
        "vocabulary": WORDS,
        "sentences_version": "",
    }
    known |= {"labels": ["cotton", "long", "red"], "kinds": [], "exclude_shown": True}
    save_network(file, network, Card(system="fashioniq", preset="", encoder=ENCODER.raw_version, settings=known))


def save_combiner(file: Path) -> None:
    import torch

    from viewfinder.retrievers.combiner.network import CombinerNetwork
    from viewfinder.retrievers.combiner.retriever import PROBE
    from viewfinder.retrievers.combiner.settings import ModelSettings
    from viewfinder.training import Card, save_network

    torch.manual_seed(7)
    settings = ModelSettings(projection=8, hidden=8, memory="gru", texts="clauses", rollback="replace")
    network = CombinerNetwork(settings, 48)
    network.probe.copy_(torch.from_numpy(ENCODER.words([PROBE])[0]))
    known = {"model": asdict(settings), "scale": 100.0, "exclude_shown": False}
    save_network(file, network, Card(system="combiner", preset="", encoder=ENCODER.version, settings=known))


def save_mai(file: Path) -> None:
    import torch

    from viewfinder.retrievers.mai.network import MaiNetwork
    from viewfinder.retrievers.mai.settings import LossSettings, Model
    from viewfinder.retrievers.shared.network import WordVectors
    from viewfinder.training import Card, save_network

    torch.manual_seed(7)
    settings = Model(
        width=8,
        heads=2,
        hidden=8,
        tokens=4,
        projection=8,
        image="both",
        components=0,
        region_components=0,
        words="learned",
    )
    network = MaiNetwork(settings, 48, 3, WordVectors(settings, None, len(WORDS)))
    known: dict[str, Any] = {"model": asdict(settings), "loss": asdict(LossSettings())}
    known |= {"vocabulary": WORDS, "sentences_version": ""}
    save_network(
        file, network, Card(system="mai", preset="", encoder=ENCODER.raw_version, settings=known | {"regions": 36})
    )


def save_chatsearcher(file: Path) -> None:
    """One that always shows pictures: what it says in words changes no results."""
    import torch

    from viewfinder.retrievers.chatsearcher.language_model import draw_language_model
    from viewfinder.retrievers.chatsearcher.network import ChatSearcherNetwork, InputSizes
    from viewfinder.retrievers.chatsearcher.sequence import train_tokenizer
    from viewfinder.retrievers.chatsearcher.settings import LossSettings, ModelSettings
    from viewfinder.training import Card, save_network

    torch.manual_seed(7)
    settings = ModelSettings(
        width=16, layers=2, heads=2, key_heads=1, hidden=16, tokens=2, perceiver_width=8, perceiver_heads=2,
        perceiver_hidden=8, components=0, region_components=0, retrieval=8, says=True,
    )  # fmt: skip
    tokeniser = train_tokenizer(["USER: red, no blue ASSISTANT: there is no green"] * 2, 320)
    network = ChatSearcherNetwork(
        settings, LossSettings(queue=2), InputSizes(48, 36, 3, 48), draw_language_model(settings, tokeniser)
    )
    known: dict[str, Any] = {"model": asdict(settings), "loss": asdict(LossSettings())}
    known |= {"tokeniser": asdict(tokeniser)}
    known |= {"image_first": True, "leaning": float("inf"), "language": network.shape, "stage": "instruction"}
    known |= {"sentences_version": ENCODER.sentences_version}
    save_network(file, network, Card(system="chatsearcher", preset="", encoder=ENCODER.raw_version, settings=known))


def states(retriever: Retriever[Any]) -> list[Any]:
    """The states after 0, 1, 2 ... turns."""
    found = [retriever.begin()]
    for turn in turns_for(retriever):
        found.append(retriever.step(found[-1], turn))
    return found


def scores(retriever: Retriever[Any], state: Any, gallery: Gallery = GALLERY) -> np.ndarray:
    return np.asarray(gallery.scores(retriever.query(state)).total_n)


@each
def test_it_fulfils_the_contract_and_knows_its_name(name: str, load: Callable[[str], Retriever[Any]]) -> None:
    retriever = load(name)
    assert isinstance(retriever, Retriever)
    assert retriever.name == name
    known = {"global", "regions", "named regions", "attributes", "own", "raw", "vocabulary"}
    assert set(retriever.reads.needs) <= known
    assert retriever.query(retriever.begin()).space == (retriever.reads.space or "global")


@each
def test_every_kind_of_turn_gives_one_finite_score_a_picture(name: str, load: Callable[[str], Retriever[Any]]) -> None:
    retriever = load(name)
    for state in states(retriever):
        scores_n = scores(retriever, state)
        assert scores_n.shape == (len(LOOKS),)
        assert np.isfinite(scores_n).all()


@each
def test_the_same_turns_give_the_same_scores(name: str, load: Callable[[str], Retriever[Any]]) -> None:
    one, other = load(name), load(name)
    for first, second in zip(states(one), states(other), strict=True):
        np.testing.assert_array_equal(scores(one, first), scores(other, second))


@each
def test_a_step_leaves_every_earlier_state_alone(name: str, load: Callable[[str], Retriever[Any]]) -> None:
    retriever = load(name)
    found = states(retriever)
    before = [scores(retriever, state) for state in found]
    for state in found:
        for turn in turns_for(retriever):
            retriever.step(state, turn)
    for state, scores_n in zip(found, before, strict=True):
        np.testing.assert_array_equal(scores(retriever, state), scores_n)


@each
def test_shuffled_pictures_have_shuffled_scores(name: str, load: Callable[[str], Retriever[Any]]) -> None:
    retriever = load(name)
    order = np.random.default_rng(0).permutation(len(LOOKS))
    shuffled = gallery_of([LOOKS[row] for row in order])
    for state in states(retriever):
        expected_n = scores(retriever, state)[order]
        np.testing.assert_allclose(scores(retriever, state, shuffled), expected_n, atol=1e-5)


@each
def test_nothing_said_asks_for_nothing(name: str, load: Callable[[str], Retriever[Any]]) -> None:
    retriever = load(name)
    query = retriever.query(retriever.begin())
    assert (query.parts, query.excluded, query.adapters) == ((), frozenset(), ())


@each
def test_a_turn_is_taken_in_or_the_result_says_that_it_was_not(
    name: str, load: Callable[[str], Retriever[Any]]
) -> None:
    # "don't know" may pass in silence: there is nothing in it to take.
    retriever = load(name)
    found = states(retriever)
    for number, turn in enumerate(turns_for(retriever), start=1):
        before, after = retriever.query(found[number - 1]), retriever.query(found[number])
        used = any(part.turn == number for part in after.parts) or after.excluded != before.excluded
        silent = turn.number == 3
        assert used or silent or len(after.adapters) > len(before.adapters), f"{name} swallowed turn {number}"


def test_the_plain_encoder_on_the_caption_says_that_it_drops_what_follows() -> None:
    retriever = load_retriever("clip-caption")
    found = states(retriever)
    query = retriever.query(found[-1])
    assert [(part.turn, part.label) for part in query.parts] == [(1, "red, no blue")]
    np.testing.assert_array_equal(scores(retriever, found[-1]), scores(retriever, found[1]))
    assert query.adapters[0] == "drop: clip-caption has no use for what is said after the first"


def test_an_unknown_name_is_answered_with_those_there_are() -> None:
    with pytest.raises(
        UnknownName,
        match="no retriever is called 'clip'; there are: chatir, chatsearcher, clip-caption, clip-i, clip-t, clip-ti,",
    ):
        load_retriever("clip")
