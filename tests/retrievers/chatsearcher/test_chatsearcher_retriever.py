"""ChatSearcher at work: talks are read as in training, one turn at a time, and answered with pictures or in words."""

from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from viewfinder.conversation import Answer, Keep, Like, Question, Reject, Say, Show, Turn
from viewfinder.data.chatsearch import ImageItem, TextItem
from viewfinder.errors import BadInput, EncoderMismatch
from viewfinder.query import Picture, RawPictures, ResolvedTurn, SentenceEncoder
from viewfinder.retrievers import load_retriever
from viewfinder.retrievers.base import AnsweringRetriever
from viewfinder.retrievers.chatsearcher import sequence
from viewfinder.retrievers.chatsearcher.batches import SequenceBatch, make_batch
from viewfinder.retrievers.chatsearcher.network import ChatSearcherNetwork, PictureFeatures, read_picture_features
from viewfinder.retrievers.chatsearcher.retriever import ChatSearcher, ChatState
from viewfinder.retrievers.chatsearcher.sequence import SequenceCodec, TokenizerRecord, TokenSequence, TrainingExample
from viewfinder.retrievers.chatsearcher.settings import ChatSearcherLossSettings, ChatSearcherSettings
from viewfinder.search.gallery import Gallery
from viewfinder.search.picture_reading import read_picture
from viewfinder.search.scores import score_all
from viewfinder.testing import COLOURS, ColourEncoder, TinyRaw, tiny_snapshot
from viewfinder.training import Card, save_network
from viewfinder.weights import read_weights

ENCODER = ColourEncoder()
SENTENCES = SentenceEncoder(ENCODER.sentences_version, ENCODER.sentences)
LOOKS = [(top, bottom) for top in list(COLOURS)[:4] for bottom in COLOURS]
RAW = TinyRaw(LOOKS, batch=99)
GALLERY = Gallery(tiny_snapshot(LOOKS), ENCODER, RAW)
[(RAW_NG, REGIONS_NRE)] = RAW.batches(GALLERY.snapshot.ids, regions=True)
Made = Callable[..., ChatSearcher]


@pytest.fixture(scope="module")
def made(
    small: ChatSearcherSettings,
    tokeniser: TokenizerRecord,
    network_of: Callable[..., ChatSearcherNetwork],
    tmp_path_factory: pytest.TempPathFactory,
) -> Made:
    """A retriever over a drawn network, as its file has it; `setting` is of its card."""
    folder = tmp_path_factory.mktemp("weights")

    def retriever(
        model: ChatSearcherSettings = small,
        leaning: float = math.inf,
        *,
        file: Path = folder / "drawn.safetensors",
        **setting: Any,
    ) -> ChatSearcher:
        network = network_of(model)
        known: dict[str, Any] = {
            "model": asdict(model),
            "loss": asdict(ChatSearcherLossSettings()),
            "image_first": True,
            "leaning": leaning,
            "tokeniser": asdict(tokeniser),
            "language": network.shape,
            "sentences_version": ENCODER.sentences_version if model.says else "",
            "stage": "instruction",
        }
        card = Card(system="chatsearcher", preset="", encoder=ENCODER.raw_version, settings=known | setting)
        save_network(file, network, card)
        return ChatSearcher(read_weights(file))

    return retriever


def picture(row: int) -> Picture:
    assert REGIONS_NRE is not None
    return Picture(f"p{row:03}", {"raw": RAW_NG[row], "raw regions": REGIONS_NRE[row]})


def resolved(turn: Turn, number: int, shown: Sequence[Picture] = ()) -> ResolvedTurn:
    row = int(turn.picture[1:]) if isinstance(turn, Like) else 7
    pictures = (picture(row),) if isinstance(turn, Like | Show) else ()
    text = getattr(turn, "text", "")
    return ResolvedTurn(turn, number, ENCODER.words, text, pictures, shown, sentences=SENTENCES)


def after(retriever: ChatSearcher, *turns: Turn, state: ChatState | None = None, first: int = 1) -> ChatState:
    found = state or retriever.begin()
    for number, turn in enumerate(turns, start=first):
        found = retriever.step(found, resolved(turn, number))
    return found


def user(*items: str | int) -> sequence.TrainingTurn:
    return sequence.TrainingTurn("user", tuple(map(item_of, items)))


def assistant(*items: str | int) -> sequence.TrainingTurn:
    return sequence.TrainingTurn("assistant", tuple(map(item_of, items)))


def item_of(item: str | int) -> sequence.Item:
    return TextItem(item) if isinstance(item, str) else ImageItem(str(item))


def read_in_torch(
    network: ChatSearcherNetwork, codec: SequenceCodec, places: TokenSequence
) -> tuple[torch.Tensor, SequenceBatch, PictureFeatures]:
    """What training's network makes of a sequence, as a batch with its pictures."""
    seen = read_picture_features(network.whole_input, network.region_input, RAW_NG, REGIONS_NRE)
    batch = make_batch(codec, [places], {str(row): row for row in range(len(LOOKS))}, ENCODER.sentences)
    own = seen.select(batch.rows_c)
    with torch.no_grad():
        return network(batch, own)[0], batch, own


def states_in_torch(network: ChatSearcherNetwork, codec: SequenceCodec, places: TokenSequence) -> torch.Tensor:
    """The states alone."""
    return read_in_torch(network, codec, places)[0]


def scores_in_torch(network: ChatSearcherNetwork, codec: SequenceCodec, places: TokenSequence) -> torch.Tensor:
    """Scores of the piece that comes after a sequence."""
    with torch.no_grad():
        return network.score_pieces(states_in_torch(network, codec, places)[-1:])[0]


def sum_of(retriever: ChatSearcher, state: ChatState) -> np.ndarray:
    """What all parts of the query come to."""
    parts = retriever.query(state).parts
    return np.asarray(sum((part.vector_d for part in parts if part.vector_d is not None), np.zeros(8)) / len(parts))


DIALOGUES: dict[str, tuple[tuple[Turn, ...], tuple[sequence.TrainingTurn, ...]]] = {
    "one sentence": ((Say("red over blue"),), (user("red over blue"), assistant(0))),
    "typed where pictures were shown": (
        (Say("red"), Say("more blue")),
        (user("red"), assistant(), user("more blue"), assistant(0)),
    ),
    "picked from those shown": (
        (Say("red"), Like("p003", "more blue")),
        (user("red"), assistant(3), user("more blue"), assistant(0)),
    ),
    "brought at the beginning": ((Like("p003", "more blue"),), (user(3, "more blue"), assistant(0))),
    "an image of one's own": (
        (Say("red"), Show("mine.png", "more blue")),
        (user("red"), assistant(), user(7, "more blue"), assistant(0)),
    ),
    "an answered question": (
        (Say("red"), Answer(Question("what is it over"), "blue"), Like("p009", "more green")),
        (user("red"), assistant("what is it over"), user("blue"), assistant(9), user("more green"), assistant(0)),
    ),
    "a picture alone": ((Say("red"), Like("p003")), (user("red"), assistant(3), user("one like this"), assistant(0))),
}


@pytest.mark.parametrize("name", DIALOGUES)
@pytest.mark.parametrize(
    "own",
    [{}, {"says": True}, {"says": True, "match": 5}, {"points": True}, {"says": True, "points": True}],
    ids=str,
)
def test_a_dialogue_is_read_as_in_training(
    name: str,
    own: dict[str, Any],
    made: Made,
    small: ChatSearcherSettings,
    tokeniser: TokenizerRecord,
    network_of: Callable[..., Any],
) -> None:
    model = replace(small, **own)
    said, turns = DIALOGUES[name]
    retriever, network, codec = made(model), network_of(model), SequenceCodec(tokeniser, 2, says=model.says)
    read = read_in_torch(network, codec, codec.encode_example(TrainingExample(turns, "mchat")))
    img = torch.tensor([len(read[0]) - 6])  # before CLS, two slots, [/IMG] and </s>
    expected_d = network.search_from(read[0], img, *read[1:])[0]
    # Training keeps regions in half precision.
    np.testing.assert_allclose(sum_of(retriever, after(retriever, *said)), expected_d.detach(), atol=1e-3)


def test_without_a_perceiver_a_picture_is_its_global_token(
    made: Made, small: ChatSearcherSettings, tokeniser: TokenizerRecord, network_of: Callable[..., Any]
) -> None:
    model = replace(small, tokens=0)
    retriever, codec = made(model), SequenceCodec(tokeniser, 0)
    assert (retriever.reads.needs, made().reads.needs) == (("raw",), ("raw", "named regions"))
    network = network_of(model)
    network.region_input = None
    batch = make_batch(
        codec, [codec.encode_example(TrainingExample((user(3, "red"), assistant(0)), "ichat"))], {"3": 3, "0": 0}, None
    )
    seen = read_picture_features(network.whole_input, None, RAW_NG, None)
    with torch.no_grad():
        expected_d = network.encode_queries(network(batch, seen.select(batch.rows_c))[0, [-4]])[0]
    np.testing.assert_allclose(sum_of(retriever, after(retriever, Like("p003", "red"))), expected_d, atol=1e-5)


def test_pictures_are_those_of_the_network_and_unknown_ones_are_zeros(
    made: Made, small: ChatSearcherSettings, network_of: Callable[..., Any]
) -> None:
    network = network_of(small)
    raw_ng = np.concatenate([RAW_NG, np.zeros_like(RAW_NG[:1])])
    with torch.no_grad():
        expected_nd = network.encode_pictures(network.whole_input(torch.from_numpy(RAW_NG)))
    found_nkd = made().space.project(RawPictures(raw_ng))
    np.testing.assert_allclose(found_nkd[:-1, 0], expected_nd, atol=1e-5)
    assert not found_nkd[-1].any()


def test_a_score_is_the_cosine_over_the_temperature(made: Made) -> None:
    retriever = made()
    state = after(retriever, Say("red"), Like("p003", "more blue"), Say("green"))
    query = retriever.query(state)
    pictures_nd = retriever.space.project(RawPictures(RAW_NG))[:, 0]
    np.testing.assert_allclose(score_all(GALLERY, query).total_n, pictures_nd @ sum_of(retriever, state), atol=1e-5)
    assert [part.turn for part in query.parts] == [1, 2, 3]
    assert [part.label for part in query.parts] == ["red", "more blue", "green"]
    assert query.sharpness == pytest.approx(1 / 0.07)


def test_pictures_that_turns_name_come_with_regions_though_the_gallery_is_made_without(made: Made) -> None:
    reads = made().reads
    assert reads.named_regions and not reads.regions
    assert read_picture(GALLERY, "p003", reads).vectors["raw regions"].shape == (36, 3)


# -- answers


def test_it_speaks_and_leans_as_it_is_told_with_the_same_weights(made: Made) -> None:
    retriever = made(leaning=0.5)
    other = retriever.with_picture_bias(-math.inf)
    assert isinstance(other, AnsweringRetriever)
    assert (retriever.picture_bias, other.picture_bias) == (0.5, -math.inf)
    assert other.space is retriever.space
    assert (other.fingerprint, other.name) == (retriever.fingerprint, "chatsearcher")


def test_it_shows_pictures_from_the_leaning_on_at_which_the_special_piece_is_best(
    made: Made, small: ChatSearcherSettings, tokeniser: TokenizerRecord, network_of: Callable[..., Any]
) -> None:
    codec, network = SequenceCodec(tokeniser, 2), network_of(small)
    scores_v = scores_in_torch(network, codec, codec.encode_example(TrainingExample((user("red"),), "tchat")))
    others_v = [float(score) for at, score in enumerate(scores_v) if at not in (codec.img, codec.end, 1)]
    least = max(others_v) - float(scores_v[codec.img])
    for leaning, shows in ((least - 1e-3, False), (least + 1e-3, True)):
        retriever = made(leaning=leaning)
        state = after(retriever, Say("red"))
        assert retriever.shows(state) == shows
        assert bool("".join(retriever.reply(state))) == (not shows)


def greedy(network: ChatSearcherNetwork, codec: SequenceCodec, turns: Sequence[sequence.TrainingTurn]) -> list[int]:
    """The slow way to answer in words: everything is read again for every piece."""
    places, found = codec.encode_example(TrainingExample(tuple(turns), "visual")), list[int]()
    while len(found) < 32:
        written = TokenSequence(np.array(found, np.int64), np.zeros(len(found), bool))
        scores_v = scores_in_torch(network, codec, sequence.join_sequences([places, written]))
        scores_v[[codec.img, codec.end, *([] if found else [codec.tokenizer.end])]] = -torch.inf
        if int(scores_v.argmax()) == codec.tokenizer.end:
            break
        found.append(int(scores_v.argmax()))
    return found


@pytest.mark.parametrize("asked", ["what is it", "red over", "is it red yes"])
def test_words_are_written_greedily(
    asked: str, made: Made, small: ChatSearcherSettings, tokeniser: TokenizerRecord, network_of: Callable[..., Any]
) -> None:
    retriever, codec = made(leaning=-math.inf), SequenceCodec(tokeniser, 2)
    state = after(retriever, Like("p003", asked))
    expected = codec.decode(greedy(network_of(small), codec, [user(3, asked)]))
    pieces = list(retriever.reply(state))
    assert "".join(pieces) == expected
    assert len(pieces) > 1
    assert list(retriever.reply(state)) == pieces


def test_what_was_said_closes_the_answer_that_the_next_turn_finds(
    made: Made, small: ChatSearcherSettings, tokeniser: TokenizerRecord, network_of: Callable[..., Any]
) -> None:
    talking, codec, network = made(leaning=-math.inf), SequenceCodec(tokeniser, 2), network_of(small)
    state = after(talking, Like("p003", "is it red"))
    numbers = greedy(network, codec, [user(3, "is it red")])
    before = codec.encode_example(TrainingExample((user(3, "is it red"),), "visual"))
    words = TokenSequence(np.array(numbers), np.zeros(len(numbers), bool))
    rest = sequence.join_sequences(
        [codec.encode_answer(()), codec.encode_user([TextItem("more blue")]), codec.encode_picture("0", learnt=True)]
    )
    states_lh = states_in_torch(network, codec, sequence.join_sequences([before, words, rest]))
    showing = talking.with_picture_bias(math.inf)
    found = showing.step(state, resolved(Say("more blue"), 2))
    np.testing.assert_allclose(sum_of(showing, found), network.encode_queries(states_lh[[-5]])[0].detach(), atol=1e-4)


def test_words_leave_the_results_as_they_were(made: Made) -> None:
    showing = made()
    state = after(showing, Say("red"))
    answered = showing.with_picture_bias(-math.inf).step(state, resolved(Say("what is it"), 2))
    assert not showing.shows(answered)
    assert [part.turn for part in showing.query(answered).parts] == [1]
    np.testing.assert_array_equal(sum_of(showing, answered), sum_of(showing, state))


def test_before_any_pictures_the_query_is_what_pictures_would_have_been(made: Made) -> None:
    talking = made(leaning=-math.inf)
    first, second = after(talking, Say("red")), after(talking, Say("red"), Say("blue"))
    assert [part.turn for part in talking.query(first).parts] == [1]
    assert [part.turn for part in talking.query(second).parts] == [2]
    forced = made()
    np.testing.assert_allclose(sum_of(talking, first), sum_of(forced, after(forced, Say("red"))), atol=1e-6)


def test_a_turn_that_only_rules_pictures_out_is_answered_with_the_others(made: Made) -> None:
    talking = made(leaning=-math.inf)
    state = after(talking, Say("red"))
    gone = talking.step(state, replace(resolved(Reject(), 2), shown=(picture(3), picture(9))))
    assert talking.shows(gone) and not list(talking.reply(gone))
    assert talking.query(gone).excluded == {"p003", "p009"}
    # The answer before it is still open.
    assert gone.open is state.open


def test_words_may_come_before_pictures_where_it_was_trained_so(
    made: Made, small: ChatSearcherSettings, tokeniser: TokenizerRecord, network_of: Callable[..., Any]
) -> None:
    # At a leaning between the best margin at the first piece and a later one, pictures come after words.
    codec, network = SequenceCodec(tokeniser, 2), network_of(small)
    own = greedy(network, codec, [user("red")])
    margins = []
    for count in range(len(own)):
        words = TokenSequence(np.array(own[:count], np.int64), np.zeros(count, bool))
        places = sequence.join_sequences([codec.encode_example(TrainingExample((user("red"),), "tchat")), words])
        scores_v = scores_in_torch(network, codec, places)
        others_v = scores_v.clone()
        others_v[[codec.img, codec.end, *([] if count else [codec.tokenizer.end])]] = -torch.inf
        margins.append(float(others_v.max() - scores_v[codec.img]))
    at = int(np.argmin(margins[1:])) + 1
    assert margins[at] < margins[0], "the drawn network does not fit this test"
    retriever = made(leaning=margins[at] + 1e-4, image_first=False)
    state = after(retriever, Say("red"))
    assert retriever.shows(state) and not list(retriever.reply(state))
    assert state.open is not None and list(state.open.words) == own[:at]
    words = TokenSequence(np.array(own[:at]), np.zeros(at, bool))
    parts = [
        codec.encode_example(TrainingExample((user("red"),), "tchat")),
        words,
        codec.encode_picture("0", learnt=True),
    ]
    expected_d = network.encode_queries(states_in_torch(network, codec, sequence.join_sequences(parts))[[-5]])[0]
    np.testing.assert_allclose(sum_of(retriever, state), expected_d.detach(), atol=1e-4)


def test_a_question_after_a_search_is_asked_of_the_best_result(made: Made) -> None:
    shown = resolved(Say("how many?"), 2, shown=(picture(3), picture(9)))
    asking, talking = (made(asks_best=True).with_picture_bias(bias) for bias in (1e9, -1e9))
    found = after(asking, Say("red"))
    asked = talking.step(found, shown)
    picked = talking.step(found, resolved(Like("p003", "how many?"), 2))
    assert not talking.shows(asked) and list(talking.reply(asked)) == list(talking.reply(picked))
    assert talking.query(asked).adapters == (
        'picture: "how many?" is taken as asked of result 1, as no picture was picked',
    )
    # Further questions are about it, too: it is part of the dialogue.
    again = talking.step(asked, replace(shown, number=3))
    assert len(again.rounds) == 3 and len(talking.query(again).adapters) == 1


def test_what_pictures_answer_goes_on_with_the_search_as_if_no_picture_were_shown(made: Made) -> None:
    shown = resolved(Say("more blue"), 2, shown=(picture(3), picture(9)))
    asking, plain = (made(asks_best=asks).with_picture_bias(1e9) for asks in (True, False))
    found = asking.step(after(asking, Say("red")), shown)
    assert asking.shows(found) and not asking.query(found).adapters
    np.testing.assert_allclose(
        sum_of(asking, found), sum_of(plain, plain.step(after(plain, Say("red")), shown)), atol=1e-6
    )


def test_a_picture_that_is_asked_about_is_not_ruled_out(made: Made) -> None:
    showing, talking = (made().with_picture_bias(bias) for bias in (1e9, -1e9))
    found = after(showing, Say("red"))
    about = resolved(Like("p003", "how many?"), 2)
    assert not talking.query(talking.step(found, about)).excluded
    assert showing.query(showing.step(found, about)).excluded == {"p003"}


# -- turns that cannot be taken as they are, and talks that are too long


def test_what_is_no_part_of_a_dialogue_is_said_in_words(made: Made) -> None:
    retriever = made()
    rejected = after(retriever, Say("red"), Reject((), "green"))
    said = after(retriever, Say("red"), Say("there is no green"))
    np.testing.assert_allclose(sum_of(retriever, rejected), sum_of(retriever, said), atol=1e-6)
    assert retriever.query(rejected).adapters == ('verbalise: what is not wanted is said as "there is no green"',)
    kept = retriever.step(rejected, replace(resolved(Keep("top", 1), 3), text="red"))
    assert retriever.query(kept).adapters[-1] == 'verbalise: the top to keep is said as "red"'


def test_words_rule_the_picture_out_that_they_are_said_of_and_a_picture_alone_brings_it_back(made: Made) -> None:
    retriever = made()
    assert retriever.query(after(retriever, Like("p003", "red"))).excluded == {"p003"}
    back = after(retriever, Like("p003", "red"), Like("p003", turn=1))
    assert retriever.query(back).excluded == frozenset()
    assert retriever.query(back).adapters == (
        'verbalise: the picture alone is said as "one like this"',
        "drop: what was said after turn 1 stays, words cannot be taken back",
    )


def test_the_oldest_turns_go_out_of_a_dialogue_that_is_too_long(made: Made, small: ChatSearcherSettings) -> None:
    # <s>, then USER: red ASSISTANT: </s> a turn; [IMG] is the last: 1 + 4 n at n turns fit into 18 up to the fourth.
    # The fifth leaves 13, three quarters of 18: three turns are 1 + 4 + 4 + 3 + 1.
    retriever = made(replace(small, longest=18))
    state = after(retriever, *[Say("red")] * 4)
    assert not retriever.query(state).adapters
    long = after(retriever, Say("blue"), state=state, first=5)
    assert [one.turn for one in long.rounds] == [3, 4, 5]
    assert len(long.cache) == 12
    assert retriever.query(long).adapters == ("drop: what was said before turn 3 is too long ago to be read",)
    anew = after(retriever, Say("red"), Say("red"), Say("blue"))
    np.testing.assert_allclose(sum_of(retriever, long), sum_of(retriever, anew), atol=1e-5)
    # It goes on from there, and forgets no more than it must.
    assert (
        retriever.query(after(retriever, Say("red"), state=long, first=6))
        .adapters[0]
        .endswith("turn 3 is too long ago to be read")
    )


def test_the_end_of_a_turn_that_is_too_long_is_not_read(made: Made, small: ChatSearcherSettings) -> None:
    retriever = made(replace(small, longest=18))
    state = after(retriever, Say(" ".join(["red"] * 40)))
    assert retriever.query(state).adapters == ("drop: turn 1 is too long, its end is not read",)
    assert len(state.cache) == 17
    # <s>, USER:, ASSISTANT: and [IMG] leave fourteen words.
    short = after(retriever, Say(" ".join(["red"] * 14)))
    np.testing.assert_allclose(sum_of(retriever, state), sum_of(retriever, short), atol=1e-6)


def test_a_state_shares_what_was_read_with_the_one_before(made: Made) -> None:
    retriever = made()
    first = after(retriever, Say("red"))
    second, third = (after(retriever, Say(text), state=first, first=2) for text in ("blue", "green"))
    assert second.cache.segments[:2] == third.cache.segments[:2] == first.cache.segments
    assert len(second.cache) == len(first.cache) + 4  # </s> USER: blue ASSISTANT:


def test_sentence_vectors_must_be_those_of_the_training(made: Made, small: ChatSearcherSettings) -> None:
    retriever = made(replace(small, says=True))
    other = replace(resolved(Say("red"), 1), sentences=SentenceEncoder("others", ENCODER.sentences))
    with pytest.raises(EncoderMismatch, match="'colours-said-1'"):
        retriever.step(retriever.begin(), other)


def test_talking_needs_no_torch(made: Made, tmp_path: Path) -> None:
    file = tmp_path / "drawn.safetensors"
    made(leaning=-math.inf, file=file)
    code = f"""import sys
from pathlib import Path
from viewfinder.conversation import Say
from viewfinder.retrievers import ResolvedTurn, load_retriever
retriever = load_retriever("chatsearcher", Path({str(file)!r}))
state = retriever.step(retriever.begin(), ResolvedTurn(Say("is it red"), 1, words=None, text="is it red"))
print(len("".join(retriever.reply(state))) > 0, len(retriever.query(state).parts), "torch" in sys.modules)"""
    said = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert said.split() == ["True", "1", "False"]


def test_a_file_of_another_system_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "mai.safetensors"
    save_network(file, torch.nn.Linear(1, 1), Card(system="mai", preset="", encoder="e"))
    with pytest.raises(BadInput, match="a network of mai, not of chatsearcher"):
        load_retriever("chatsearcher", file)
