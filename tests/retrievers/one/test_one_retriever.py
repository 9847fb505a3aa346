"""The composer and other systems as one retriever."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from jaxtyping import Float32

import viewfinder
from viewfinder.conversation import Conversation, Like, Reject, Say, Turn
from viewfinder.query import Query
from viewfinder.retrievers import Composer, Retriever, advise_retriever, load_retriever
from viewfinder.retrievers.one.gates import ASKED, INPUTS, SYSTEMS, WORLDS
from viewfinder.retrievers.one.retriever import NETWORK_SYSTEM, OWN_WEIGHTS, SYSTEM, One
from viewfinder.retrievers.one.turn_network import NAME, Tokens, TurnNetwork
from viewfinder.search.gallery import Gallery
from viewfinder.search.scores import score_all
from viewfinder.session.resolve import resolve_turn
from viewfinder.session.session import Session
from viewfinder.testing import LOOKS, ColourEncoder, check_retriever, tiny_pictures, tiny_snapshot
from viewfinder.weights import Card, Weights

ENCODER = ColourEncoder()
GALLERY = Gallery(tiny_snapshot(LOOKS), ENCODER)
TURNS: tuple[Turn, ...] = (Say("red, no blue"), Like("p003", "green"), Reject(("p009",)), Say("yellow"))


def load_plain(name: str, checkpoint: Path | None) -> Retriever[Any]:
    """Plain systems in place of trained ones, which read the vectors of the encoder in the box."""
    return load_retriever("clip-ti" if name == "chatir" else "clip-t")


def make_one(world: str, *, level: float = 0.0, load: Any = load_plain, network: Weights | None = None) -> One:
    """Gates that know only one thing: the pictures here are like those of a world."""
    own_d = GALLERY.snapshot.matrix_nd[:].mean(axis=0)
    means_wd = np.stack([own_d if name == world else -own_d for name in WORLDS])
    arrays = {
        "means_wd": means_wd.astype(np.float32),
        "a_s": np.full(len(SYSTEMS), level, np.float32),
        "w_sx": np.zeros((len(SYSTEMS), len(INPUTS)), np.float32),
    }
    card = Card(system=SYSTEM, preset="test", encoder="", settings={"encoder_version": ENCODER.version})
    return One(Weights(arrays, card, "1"), load, network)


def ask(retriever: Retriever[Any], turns: tuple[Turn, ...] = TURNS, gallery: Gallery = GALLERY) -> Query:
    """The query after these turns, which are looked up as they are live."""
    conversation, state = Conversation(), retriever.begin()
    for turn in turns:
        conversation = conversation.then(turn)
        state = retriever.step(state, resolve_turn(conversation, conversation.here, gallery, reads=retriever.reads))
    return retriever.query(state)


def test_among_photographs_it_is_the_composer_and_loads_nobody() -> None:
    def refuse(name: str, checkpoint: Path | None) -> Retriever[Any]:
        raise AssertionError(f"{name} is not asked here")

    one, composer = ask(make_one("photographs", load=refuse)), ask(Composer())
    assert one.opinions == ()
    assert (one.sharpness, one.excluded, len(one.parts)) == (composer.sharpness, composer.excluded, len(composer.parts))
    np.testing.assert_allclose(score_all(GALLERY, one).total_n, score_all(GALLERY, composer).total_n, atol=1e-6)


def test_it_is_advised_among_pictures_like_products_alone() -> None:
    found = {world: make_one(world).finds_more_in(GALLERY.collection) for world in WORLDS}
    assert found == {"scenes": False, "products": True, "photographs": False}


def test_systems_that_have_learnt_here_come_with_those_weights_and_others_as_shipped() -> None:
    loaded: dict[str, Path | None] = {}

    def note(name: str, checkpoint: Path | None) -> Retriever[Any]:
        loaded[name] = checkpoint
        return load_plain(name, checkpoint)

    ask(make_one("scenes", load=note))
    assert set(loaded) == {*ASKED["scenes"][1:]}  # and nobody who is not asked
    ask(make_one("products", load=note))
    assert loaded == dict.fromkeys(SYSTEMS[1:]) | OWN_WEIGHTS


def test_where_all_pictures_were_removed_it_finds_nothing(tmp_path: Path) -> None:
    tiny_pictures(tmp_path / "pictures", 2)
    with viewfinder.open(tmp_path / "library") as library:
        library.add(tmp_path / "pictures")
        library.remove(*library.gallery().snapshot.ids)
        assert not library.chat(retriever="one").search(Say("a red shirt"))
        assert advise_retriever(library.gallery().collection) is None


def test_elsewhere_every_system_has_heard_every_turn_and_adds_its_opinion() -> None:
    one, composer = ask(make_one("scenes")), ask(Composer())
    weight = np.log(2)  # of level 0
    assert [(opinion.system, opinion.turn) for opinion in one.opinions] == [(name, 4) for name in ASKED["scenes"][1:]]
    assert [opinion.nats for opinion in one.opinions] == pytest.approx([weight] * len(one.opinions))
    assert one.sharpness == pytest.approx(weight * composer.sharpness)
    assert one.excluded == composer.excluded
    [plain] = [opinion.query for opinion in one.opinions if opinion.system == "chatir"]
    assert [part.kind for part in plain.parts] == ["words", "picture"]
    own_n = weight * composer.sharpness * score_all(GALLERY, composer).total_n
    for opinion in one.opinions:
        theirs_n = score_all(GALLERY, opinion.query).total_n
        own_n += weight * (theirs_n - theirs_n.mean()) / theirs_n.std()
    np.testing.assert_allclose(one.sharpness * score_all(GALLERY, one).total_n, own_n, rtol=1e-4, atol=1e-4)


def list_read(query: Query) -> list[list[str]]:
    """The words that each other system has read, and the turn that it has heard last."""
    return [[str(opinion.turn), *(part.label for part in opinion.query.parts)] for opinion in query.opinions]


def test_among_products_the_composer_alone_hears_what_words_rule_out_and_it_counts_in_full() -> None:
    said = ask(make_reader("products"), TURNS[:1])
    assert list_read(said) == list_read(ask(make_reader("products"), (Say("red"),)))
    for turn in (Reject((), "yellow"), Reject(("p003",), "yellow"), Say("without yellow")):
        turns = (*TURNS[:1], turn)
        one, composer = ask(make_reader("products", level=-2.0), turns), ask(Composer(), turns)
        assert list_read(one) == list_read(said)
        own, alone = ({part.label: part for part in query.parts} for query in (one, composer))
        assert own.keys() == alone.keys() >= {"not blue", "not yellow"}
        for label, part in own.items():
            counts = 1.0 if label.startswith("not ") else np.logaddexp(0, -2.0)
            nats = alone[label].weight * composer.sharpness * counts
            assert part.weight * one.sharpness == pytest.approx(nats, rel=1e-6)
    scenes = list_read(ask(make_one("scenes"), turns))
    assert scenes != list_read(ask(make_one("scenes"), TURNS[:1]))


@pytest.mark.parametrize(
    ("text", "heard"),
    [("but not yellow", ""), ("the same, without yellow", ""), ("is green, not yellow", "is green, not yellow")],
)
def test_among_products_words_that_pick_a_picture_and_want_nothing_are_heard_by_the_composer_alone(
    text: str, heard: str
) -> None:
    said, expected = ((*TURNS[:1], Like("p003", words)) for words in (text, heard))
    assert list_read(ask(make_one("products"), said)) == list_read(ask(make_one("products"), expected))
    assert "not yellow" in [part.label for part in ask(make_one("products"), said).parts]
    plain = (*TURNS[:1], Like("p003"))
    assert list_read(ask(make_one("scenes"), said)) != list_read(ask(make_one("scenes"), plain))


@pytest.mark.parametrize(
    ("turns", "heard"),
    [
        ((Say("red"), Say("green, not red")), (Say("green"),)),
        ((Say("red"), Say("green"), Like("p003", "but not red")), (Say("green"), Like("p003"))),
        ((Say("red"), Say("green"), Say("not red")), (Say("green"),)),
        ((Say("red"), Like("p003", "green"), Say("not green")), (Like("p003"),)),
        ((Like("p003", "green"), Say("yellow"), Say("not yellow")), (Like("p003", "green"),)),
        ((Like("p003", "green"), Say("yellow"), Like("p004", "not yellow")), (Like("p004"),)),
    ],
)
def test_among_products_the_others_begin_anew_with_what_holds_where_something_is_taken_back(
    turns: tuple[Turn, ...], heard: tuple[Turn, ...]
) -> None:
    taken, plain = (list_read(ask(make_one("products"), said)) for said in (turns, heard))
    assert [read[1:] for read in taken] == [read[1:] for read in plain]


class AlwaysBlue(TurnNetwork):
    """A network that wants what is blue, whatever is said."""

    def read(self, turns: Sequence[Tokens]) -> tuple[float, Float32[np.ndarray, " d"]]:
        """Twice the vector of blue."""
        return 0.0, (2 * GALLERY.encode_texts(["blue"])[0]).astype(np.float32)


def make_reader(world: str, version: str = ENCODER.version, *, level: float = 0.0) -> One:
    """With a network that reads vectors of this encoder."""
    one = make_one(world, level=level)
    one.network = AlwaysBlue({}, version, 0, 1, 1.5)
    return one


PICKED: tuple[Turn, ...] = (Say("red"), Like("p003", "green"))


def test_among_products_the_network_adds_its_opinion_of_a_pick_with_words() -> None:
    query, composer = ask(make_reader("products"), PICKED), ask(Composer(), PICKED)
    opinion = query.opinions[-1]
    assert (opinion.system, opinion.turn, opinion.nats) == (NAME, 2, 1.5)
    blue_n = 2 * GALLERY.snapshot.matrix_nd[:] @ GALLERY.encode_texts(["blue"])[0]
    expected_n = composer.sharpness * score_all(GALLERY, composer).total_n + blue_n
    found_n = opinion.query.sharpness * score_all(GALLERY, opinion.query).total_n
    np.testing.assert_allclose(found_n, expected_n, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(("world", "version", "turns"), [
    ("scenes", ENCODER.version, PICKED), ("photographs", ENCODER.version, PICKED), ("products", "another", PICKED),
    ("products", ENCODER.version, PICKED[:1]), ("products", ENCODER.version, (*PICKED, Say("yellow"))),
], ids=["scenes", "photographs", "another encoder", "words alone", "words after a pick"])  # fmt: skip
def test_elsewhere_and_of_other_turns_it_has_none(world: str, version: str, turns: tuple[Turn, ...]) -> None:
    assert NAME not in [opinion.system for opinion in ask(make_reader(world, version), turns).opinions]


def make_given(world: str) -> One:
    """With a network that was trained elsewhere."""
    card = Card(system=NETWORK_SYSTEM, preset="lab", encoder=ENCODER.raw_version)
    one = make_one(world, network=Weights({}, card, "2"))
    one.network = AlwaysBlue({}, ENCODER.version, 0, 1, 1.5)
    return one


@pytest.mark.parametrize("world", WORLDS)
def test_a_network_that_is_given_has_an_opinion_in_every_world_beside_those_that_are_asked_there(world: str) -> None:
    given, shipped = ask(make_given(world), PICKED), ask(make_reader(world), PICKED)
    others = [opinion for opinion in shipped.opinions if opinion.system != NAME]
    assert [one.system for one in given.opinions] == [*(one.system for one in others), NAME]
    assert [one.nats for one in given.opinions] == [*(one.nats for one in others), 1.5]
    assert given.sharpness == shipped.sharpness
    assert bool(others) == (world != "photographs")


def test_among_fewer_than_ten_pictures_a_network_that_is_given_has_none_either() -> None:
    gallery = Gallery(tiny_snapshot(LOOKS[:9]), ENCODER)
    assert ask(make_given("products"), PICKED, gallery).opinions == ()


@pytest.mark.parametrize("level", [-3.0, 0.0, 3.0])
def test_a_lead_that_is_shown_means_the_same_whatever_the_gates_give_the_composer(level: float) -> None:
    session = Session(GALLERY, make_one("scenes", level=level), None, n=9)
    for turn in TURNS:
        hits, ranking = session.take(turn), session.ranking()
        scores_k = ranking.scores.at(np.array(GALLERY.rows([hit.id for hit in hits])))
        nats_k = ranking.query.sharpness * scores_k
        np.testing.assert_allclose([20 * hit.score for hit in hits], nats_k, atol=20 * 1e-4)
        for hit in hits:
            assert sum(entry["adds"] for entry in hit.why["systems"]) == pytest.approx(hit.score, abs=1e-4)


def test_it_hears_all_picks_and_those_before_a_turn_that_one_goes_back_to() -> None:
    session, lengths = Session(GALLERY, one := make_reader("products"), None), list[int]()
    hear = one.network.hear

    def count(turns: Sequence[Tokens], composed: Query, number: int) -> Query:
        lengths.append(len(turns))
        return hear(turns, composed, number)

    object.__setattr__(one.network, "hear", count)
    for turn in (Like("p003"), Say("red"), Like("p003", "green"), Say("yellow"), Like("p009"), Like("p001", "blue")):
        session.take(turn)
    session.back_to(3)
    session.take(Like("p004", "dark"))
    assert lengths == [1, 2, 3, 2]  # the first pick has no words, and none before it


def test_why_names_the_network_and_sums_to_the_score() -> None:
    session = Session(GALLERY, make_reader("products"), None, n=3)
    session.say("red")
    for hit in session.like("p003", but="green"):
        assert sum(turn["adds"] for turn in hit.why["turns"]) == pytest.approx(hit.score, abs=1e-4)
        assert f"what {NAME} makes of all that was said" in hit.why["turns"][-1]["parts"]


@pytest.mark.parametrize("make", [make_reader, make_given])
@pytest.mark.parametrize("world", ["products", "photographs"])
def test_it_keeps_the_contract(make: Callable[[str], One], world: str) -> None:
    check_retriever(lambda: make(world), encoder=ENCODER)


def test_an_unchanged_state_is_left_alone_when_a_conversation_branches() -> None:
    session = Session(GALLERY, make_reader("products"), None)
    first = [hit.id for hit in session.say("red")]
    other = [hit.id for hit in session.say("blue")]
    assert other != first
    assert [hit.id for hit in session.back_to(1)] == first
    assert [hit.id for hit in session.say("blue")] == other


def test_a_turn_of_a_session_says_what_each_system_added() -> None:
    session = Session(GALLERY, make_reader("products"), None, n=3)
    for hit in session.say("red over blue"):
        adds = {entry["system"]: entry["adds"] for entry in hit.why["systems"]}
        assert adds.keys() == {"", *ASKED["products"][1:]}
        assert sum(adds.values()) == pytest.approx(hit.score, abs=1e-4)
        assert "what chatir makes of all that was said" in hit.why["turns"][0]["parts"]
