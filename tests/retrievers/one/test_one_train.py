"""The turn network trained on another encoder's vectors: what is read, what is learnt, and what it is in a search."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import viewfinder
from tests.wide import WIDTH, WideColours
from viewfinder.conversation import Like, Say, Turn
from viewfinder.data.cirr import CirrPair, write_cirr
from viewfinder.data.fashion_iq import FashionPair, Reference, ShopSession, write_fashion_iq, write_sessions
from viewfinder.data.fashionmt import Transaction, write_transactions
from viewfinder.errors import BadInput, EncoderMismatch
from viewfinder.library import Library
from viewfinder.query import Part, Query
from viewfinder.retrievers import load_retriever
from viewfinder.retrievers.one.network import MAX_TURNS, TorchTurnNetwork
from viewfinder.retrievers.one.picks import Moment, RecordedTask, list_tasks, read_picks
from viewfinder.retrievers.one.retriever import NETWORK_SYSTEM, One
from viewfinder.retrievers.one.settings import TurnNetworkSettings
from viewfinder.retrievers.one.train import make_batch, make_whole_batch
from viewfinder.retrievers.one.turn_network import KINDS, NAME, Tokens, TurnNetwork, sum_vectors
from viewfinder.retrievers.shared.train_plan import TrainPlan
from viewfinder.retrievers.trainers import train_system
from viewfinder.session.session import Session
from viewfinder.testing import tiny_pictures
from viewfinder.training import save_network
from viewfinder.tuning.picks import record, train_one
from viewfinder.weights import Card, TrainingList, read_card

pytestmark = pytest.mark.slow

SMALL = TurnNetworkSettings(width=16, heads=2, layers=2)
OVERRIDES = (
    "batch=8", "model.width=16", "model.heads=2", "training.steps=30", "training.validate_steps=10",
    "training.learning_rate=3e-3", "training.schedule.warmup=2",
)  # fmt: skip
TURNS: tuple[Turn, ...] = (Say("red"), Like("p003", "green"))


def draw_tokens(random: np.random.Generator, kinds: str) -> Tokens:
    """Tokens of these kinds, by their first letters, with random vectors."""
    names = {name[0]: name for name in KINDS}
    return tuple((names[kind], random.standard_normal(WIDTH).astype(np.float32)) for kind in kinds)


def numpy_of(network: TorchTurnNetwork, settings: TurnNetworkSettings = SMALL) -> TurnNetwork:
    """The same numbers as a search has them."""
    arrays = {name: value.numpy() for name, value in network.state_dict().items()}
    return TurnNetwork(arrays, WideColours.version, settings.layers, settings.heads, 2.4)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pictures of one colour over another, and what people say of one to be shown another, in all layouts."""
    folder = tmp_path_factory.mktemp("picks")
    pictures = tiny_pictures(folder / "images", 52)
    for split, some in (("train", pictures[:32]), ("val", pictures[32:])):
        keys = [one.path.stem for one in some]
        steps = list(pairwise(some))
        pairs = [
            FashionPair(one.path.stem, before.path.stem, (f"is {one.top}", f"is {one.bottom} below"))
            for before, one in steps
        ]
        write_fashion_iq(folder, "flags", split, pairs, keys, {})
        sessions = [
            ShopSession((Reference(a, ("is red",)), Reference(b, ("is blue", "not green"))), c)
            for a, b, c in zip(keys, keys[1:], keys[2:], strict=False)
        ]
        write_sessions(folder, "all", split, sessions[:9], keys, {})
        names = [one.path.name for one in some]
        queries = [
            CirrPair(at, before.path.stem, f"{one.top} instead", one.path.stem, tuple(keys), {})
            for at, (before, one) in enumerate(steps)
        ]
        write_cirr(folder / "cirr", split, queries[:7], dict(zip(keys, names, strict=True)))
        talk = Transaction(
            names[0], tuple(names[1:4]), ("1. is red", "1. is blue", "I prefer the FIRST, and 1. is red")
        )
        write_transactions(folder, "back", split, [talk], names)
    return folder


Plans = Callable[..., TrainPlan]


@pytest.fixture
def plan_of(data: Path, tmp_path: Path) -> Plans:
    """A plan of a short training on that data."""

    def make(**known: Any) -> TrainPlan:
        given: dict[str, Any] = {
            "system": "one", "preset": "lab", "data": (data,), "out": tmp_path / "mine", "encoder": WideColours(),
            "overrides": OVERRIDES, "shown": False, "tensorboard": False, "features": tmp_path / "vectors",
        }  # fmt: skip
        return TrainPlan(**(given | known))

    return make


@pytest.fixture(scope="module")
def trained(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of a trained network."""
    folder = tmp_path_factory.mktemp("trained")
    plan = TrainPlan(
        system="one", preset="lab", data=(data,), out=folder / "mine", encoder=WideColours(), overrides=OVERRIDES,
        shown=False, tensorboard=False, features=folder / "vectors",
    )  # fmt: skip
    return train_one(plan).best


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Library:
    """Twelve pictures with vectors of that encoder."""
    folder = tmp_path_factory.mktemp("wide")
    tiny_pictures(folder / "pictures", 12)
    made: Library = viewfinder.open(folder / "wide.vf", encoder=WideColours.name)
    made.add(folder / "pictures", without_starter=True)
    return made


# -- the network


def test_before_its_first_step_it_is_the_composer_to_six_digits(plan_of: Plans) -> None:
    plan = plan_of()
    [read] = read_picks(plan, "val")
    for task in record(read, encoder=plan.encoder, notify=plan.notify):
        batch = make_whole_batch(task)
        random = torch.randn(batch.vectors_bld.shape, generator=torch.Generator().manual_seed(0))
        network = TorchTurnNetwork(SMALL, WIDTH).eval()
        with torch.no_grad():
            for given in (batch, batch._replace(vectors_bld=random)):
                torch.testing.assert_close(network(given), batch.composed_bk, atol=1e-6, rtol=0)


def test_before_its_first_step_a_search_finds_what_the_composer_finds() -> None:
    random = np.random.default_rng(0)
    vectors_nd = random.standard_normal((50, WIDTH)).astype(np.float32)
    composed = Query((Part("words", 1, "red", 2.0, random.standard_normal(WIDTH).astype(np.float32)),))
    heard = numpy_of(TorchTurnNetwork(SMALL, WIDTH)).hear([draw_tokens(random, "pbuc")], composed, 1)
    assert heard.sharpness == pytest.approx(composed.sharpness, abs=1e-6)
    found = [vectors_nd @ np.asarray(sum_vectors(one)) for one in (heard, composed)]
    np.testing.assert_allclose(found[0], found[1], atol=1e-6)
    assert len(heard.parts) == 1


@pytest.mark.parametrize("turns", [("pbc",), ("pbuc", "pc"), ("pbc",) * (MAX_TURNS + 1)])
def test_a_search_reads_what_the_trained_network_reads(turns: tuple[str, ...]) -> None:
    torch.manual_seed(1)
    network = TorchTurnNetwork(SMALL, WIDTH).eval()
    with torch.no_grad():
        for value in network.parameters():
            value.add_(0.1 * torch.randn_like(value))
    random = np.random.default_rng(1)
    said = tuple(draw_tokens(random, kinds) for kinds in turns)
    other = replace(make_moment(said[:1]), wanted=1)  # shorter: the rest of its row is padding
    batch = make_batch(make_task(), [make_moment(said), other], np.arange(3))
    with torch.no_grad():
        gate_b1, added_bd = network.read(batch)
    gate, added_d = numpy_of(network).read(said)
    assert gate == pytest.approx(gate_b1[0].item(), abs=1e-4)
    np.testing.assert_allclose(added_d, added_bd[0].numpy(), atol=2e-4)
    alone_gate, alone_d = numpy_of(network).read(said[:1])
    assert alone_gate == pytest.approx(gate_b1[1].item(), abs=1e-4)
    np.testing.assert_allclose(alone_d, added_bd[1].numpy(), atol=2e-4)


def make_moment(turns: tuple[Tokens, ...]) -> Moment:
    return Moment(turns, 0, np.zeros(0, int), lambda rows_r: np.zeros(len(rows_r), np.float32))


def make_task() -> RecordedTask:
    return RecordedTask("", np.zeros((3, WIDTH), np.float32), np.arange(3), ())


# -- what it learns from


def test_all_layouts_are_read_and_turns_that_go_back_are_not(data: Path, plan_of: Plans) -> None:
    tasks = {task.name: task for task in list_tasks(data, "train")}
    assert {name: len(task.dialogues) for name, task in tasks.items()} == {
        "flags": 31, "cirr": 7, "sessions, all": 9, "back": 1,
    }  # fmt: skip
    assert tasks["flags"].dialogues[0].turns[0].text.startswith("Is ")
    plan = plan_of()
    [read] = read_picks(plan, "train")
    recorded = {task.name: task for task in record(read, encoder=plan.encoder, notify=plan.notify)}
    assert {name: len(task.moments) for name, task in recorded.items()} == {
        "flags": 31, "cirr": 7, "sessions, all": 18, "back": 2,
    }  # fmt: skip
    assert [len(moment.turns) for moment in recorded["sessions, all"].moments[:2]] == [1, 2]
    assert plan.seen  # a list of these pictures goes with the weights


def test_scores_are_those_of_a_session_with_the_composer(data: Path, plan_of: Plans) -> None:
    plan = plan_of()
    [read] = read_picks(plan, "val")
    [task, *_] = record(read, encoder=plan.encoder, notify=plan.notify)
    moment, said = task.moments[0], read.tasks[0].dialogues[0]
    gallery = moment.nats.args[0]  # type: ignore[attr-defined]
    session = Session(gallery, load_retriever("composer"), None, n=5)
    hits = session.take(said.turns[0])
    rows = np.array([gallery.row(hit.id) for hit in hits])
    sharpness = session.ranking().query.sharpness
    np.testing.assert_allclose(moment.nats(rows), [sharpness * hit.score for hit in hits], atol=2e-3)
    assert [read.keys[row] for row in moment.out_k] == [said.turns[0].picture]
    assert read.keys[moment.wanted] == said.targets[0]


def test_data_without_picks_is_refused_in_one_line(plan_of: Plans, tmp_path: Path) -> None:
    tiny_pictures(tmp_path / "other" / "images", 3)
    with pytest.raises(BadInput, match="no picture is picked with words for 'train'") as said:
        train_one(plan_of(data=(tmp_path / "other",)))
    assert "\n" not in str(said.value)


# -- a training


def test_a_training_leaves_a_network_with_its_card(trained: Path) -> None:
    card = read_card(trained)
    assert (card.system, card.encoder) == (NETWORK_SYSTEM, WideColours.raw_version)
    assert card.settings["encoder_version"] == WideColours.version
    assert (card.settings["layers"], card.settings["heads"]) == (1, 2)
    assert {"nats", "alone", "composer", "recall"} <= set(card.figures)
    assert card.figures["recall"] >= card.figures["composer"]
    assert len(TrainingList.decode(card.trained_on)) == 32


def test_a_training_that_was_stopped_goes_on_and_ends_as_if_it_had_not_been(trained: Path, plan_of: Plans) -> None:
    def stops() -> Iterator[bool]:
        yield from [False] * 11
        while True:
            yield True

    asked = stops()
    stopped = train_one(plan_of(should_stop=lambda: next(asked)))
    assert (stopped.ended, stopped.step) == ("asked", 12)
    assert train_one(plan_of(resume=True)).step == 30
    found, expected = (load_one(file).network for file in (plan_of().out / "best.safetensors", trained))
    for name, array in expected.arrays.items():
        np.testing.assert_allclose(found.arrays[name], array, atol=1e-6)
    assert found.nats == expected.nats


def test_a_training_begins_with_given_weights_of_the_same_encoder_alone(
    trained: Path, plan_of: Plans, tmp_path: Path
) -> None:
    again = train_one(plan_of(start=trained, overrides=(*OVERRIDES, "training.steps=1")))
    assert again.step == 1
    other = WideColours()
    other.version = "wide-2"
    with pytest.raises(EncoderMismatch, match="reads vectors of 'wide-1', and this encoder's are 'wide-2'"):
        train_one(plan_of(start=trained, encoder=other, out=tmp_path / "second"))
    gates = Path(viewfinder.__file__).parent / "retrievers" / "one" / "gates.safetensors"
    with pytest.raises(BadInput, match="a network of one, not of one-products"):
        train_one(plan_of(start=gates, out=tmp_path / "third"))


def test_it_is_no_system_that_is_trained_without_a_search(plan_of: Plans) -> None:
    plan = plan_of(overrides=(*OVERRIDES, "training.steps=1"))
    with pytest.raises(BadInput, match="because its training asks a search"):
        train_system(plan)
    assert train_system(plan, train_one).step == 1


# -- in a conversation


def load_one(checkpoint: Path | None) -> One:
    one = load_retriever("one", checkpoint)
    assert isinstance(one, One)
    return one


def ask(library: Library, checkpoint: Path | None, turns: tuple[Turn, ...]) -> Query:
    """The query after these turns; pictures are named by their place in the library."""
    ids = sorted(library.gallery().snapshot.ids)
    session = Session(library.gallery(), load_retriever("one", checkpoint), None)
    for turn in turns:
        session.take(replace(turn, picture=ids[int(turn.picture[1:])]) if isinstance(turn, Like) else turn)
    return session.ranking().query


def save(file: Path, **settings: Any) -> Path:
    """A network that was never trained."""
    card = Card(
        system=NETWORK_SYSTEM, preset="lab", encoder=WideColours.raw_version,
        settings={"encoder_version": WideColours.version, "layers": 2, "heads": 2, "nats": 1.6} | settings,
    )  # fmt: skip
    save_network(file, TorchTurnNetwork(SMALL, WIDTH), card)
    return file


def test_in_a_library_of_its_encoder_it_adds_its_opinion_to_the_composers(
    library: Library, trained: Path, tmp_path: Path
) -> None:
    plain, own = ask(library, None, TURNS), ask(library, save(tmp_path / "own.safetensors"), TURNS)
    assert plain.opinions == ()
    [opinion] = own.opinions
    assert (opinion.system, opinion.turn, opinion.nats) == (NAME, 2, 1.6)
    assert own.sharpness == plain.sharpness
    assert [part.label for part in own.parts] == [part.label for part in plain.parts]
    assert ask(library, trained, TURNS[:1]).opinions == ()  # nothing is picked
    silent = save(tmp_path / "silent.safetensors", nats=0.0)
    assert ask(library, silent, TURNS).opinions == ()


def test_a_chat_uses_it_and_says_so(library: Library, tmp_path: Path) -> None:
    chat = library.chat("one", questioner="none", checkpoint=save(tmp_path / "own.safetensors"), n=3)
    found = chat.like(chat.say("red over blue")[0], "is green")
    assert len(found) == 3
    for hit in found:
        assert f"what {NAME} makes of all that was said" in hit.why["turns"][-1]["parts"]
        assert sum(turn["adds"] for turn in hit.why["turns"]) == pytest.approx(hit.score, abs=1e-3)


def test_a_library_of_another_encoder_is_refused_in_one_line(library: Library, tmp_path: Path) -> None:
    checkpoint = save(tmp_path / "own.safetensors", encoder_version="wide-2")
    with pytest.raises(EncoderMismatch, match="vectors of 'wide-2', and these pictures have those of 'wide-1'") as said:
        library.chat("one", questioner="none", checkpoint=checkpoint).say("red")
    assert "\n" not in str(said.value) and "viewfinder train one --encoder" in str(said.value)


def test_its_fingerprint_and_list_are_those_of_the_checkpoint(trained: Path, tmp_path: Path) -> None:
    shipped, own, other = map(load_one, (None, trained, save(tmp_path / "own.safetensors")))
    assert len({one.fingerprint for one in (shipped, own, other)}) == 3
    listed = TrainingList.decode(own.trained_on or "")
    learnt = TrainingList.decode(read_card(trained).trained_on)
    assert np.isin(learnt.hashes_n, listed.hashes_n).all()
    assert other.trained_on == ""  # nobody knows what that one has learnt from


def test_weights_of_another_system_are_refused(tmp_path: Path) -> None:
    shipped = Path(viewfinder.__file__).parent / "retrievers" / "drilldown" / "modern.safetensors"
    with pytest.raises(BadInput, match="a network of drilldown, not of one"):
        load_retriever("one", shipped)
