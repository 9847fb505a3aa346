"""A talk as texts: what its rounds come to, and the whole as the one string that a text encoder reads.

Training and search call the same functions, so that a network meets what it was trained on. No torch here.

How texts become the vector of a talk: by frozen sentence vectors in numpy, or by a text encoder in torch.

ChatIR as a retriever: a turn adds what was asked and answered, and the whole talk is one vector.

Numpy only where sentence vectors are read. A turn that is no description and no answer goes through the adapters of
`blocks.spoken`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import ClassVar, Literal, NamedTuple, Protocol, TypeVar, runtime_checkable

import numpy as np
from jaxtyping import Float32

from viewfinder.conversation import Answer, PictureId, Reject, is_dont_know
from viewfinder.errors import EncoderMismatch
from viewfinder.retrievers.base import Part, Query, RawPictures, RegionSpace, ResolvedTurn, SentenceEncoder
from viewfinder.retrievers.chatir.numpy_network import encode_caption, encode_dialogue, encode_round
from viewfinder.retrievers.chatir.settings import PROBE, ModelSettings
from viewfinder.retrievers.shared.boxed import load_system_weights
from viewfinder.retrievers.shared.forward import Arrays, check_sentences, numpy_project_regions
from viewfinder.retrievers.shared.spoken import VerbalizedTurn, verbalize_turn
from viewfinder.training.presets import build_settings
from viewfinder.training.weights import Weights

Item = TypeVar("Item")

Separator = Literal["comma", "sep"]
"""Between elements: ", " between rounds and a blank inside one (published code), or the encoder's own mark (paper)."""


class RoundText(NamedTuple):
    """A round as it is read; what was said without being asked has no question."""

    question: str
    answer: str

    def __str__(self) -> str:
        return " ".join(part for part in self if part)


def with_question_mark(question: str) -> str:
    """A question with its "?", which VisDial's lack.

    >>> asked("is it big"), asked("Tell me more."), asked("")
    ('is it big?', 'Tell me more.', '')
    """
    plain = " ".join(question.split())
    return plain if not plain or plain[-1] in "?.!" else f"{plain}?"


def informative_rounds(rounds: Iterable[tuple[str, str]]) -> tuple[RoundText, ...]:
    """The rounds that say something: without those that were skipped, or answered by "don't know".

    >>> told([("is it big", "no"), ("is it old?", "can't tell"), ("", "a red boat")])
    (Said(question='is it big?', answer='no'), Said(question='', answer='a red boat'))
    """
    return tuple(
        RoundText(with_question_mark(question), " ".join(answer.split()))
        for question, answer in rounds
        if not is_dont_know(answer)
    )


def negated_round(sentence: str) -> RoundText:
    """What is not there, as dialogues say it: a question and no. `sentence` is one of `blocks.spoken`.

    >>> str(refused("there is no dog and no cat")), str(refused("there are no people"))
    ('is there a dog or a cat? no', 'are there any people? no')
    """
    verb, _, things = sentence.removeprefix("there ").partition(" no ")
    wanted = " or ".join(_with_article(thing, verb) for thing in things.split(" and no "))
    return RoundText(with_question_mark(f"{verb} there {wanted}"), "no")


def _with_article(thing: str, verb: str) -> str:
    if verb == "are":
        return f"any {thing}"
    return f"{'an' if thing[:1].lower() in {*'aeiou'} else 'a'} {thing}"


def last_rounds(rounds: Sequence[Item], most: int) -> tuple[Item, ...]:
    """The last `most` rounds, in order; the caption stands for the talk's beginning."""
    return tuple(rounds[max(len(rounds) - most, 0) :])


def join_dialogue(
    caption: str, rounds: Iterable[tuple[str, str]], separator: Separator = "comma", mark: str = "[SEP]"
) -> str:
    """The talk as one string; what is empty (a caption that was hidden, a question masked) goes with its separator.

    >>> joined("a dog", [("is it big?", "no"), ("", "it runs")])
    'a dog, is it big? no, it runs'
    >>> joined("a dog", [("is it big?", "no"), ("", "it runs")], "sep")
    'a dog [SEP] is it big? [SEP] no [SEP] it runs'
    """
    if separator == "comma":
        return ", ".join(piece for piece in (caption, *(str(RoundText(*item)) for item in rounds)) if piece)
    return f" {mark} ".join(piece for piece in (caption, *(part for item in rounds for part in item)) if piece)


def fit_dialogue(
    caption: str,
    rounds: Sequence[tuple[str, str]],
    count: Callable[[str], int],
    most: int,
    separator: Separator = "comma",
    mark: str = "[SEP]",
) -> str:
    """`joined`, without the oldest rounds that make it too long. The caption and the newest round always stay.

    `count` says how many tokens a text has (those at its ends included), `most` how many are read; if even the two
    that stay are longer, the reader cuts off the end.
    """
    for first in range(len(rounds)):
        text = join_dialogue(caption, rounds[first:], separator, mark)
        if count(text) <= most:
            return text
    return join_dialogue(caption, rounds[-1:], separator, mark)


PartKind = Literal["caption", "round"]


@dataclass(frozen=True, eq=False)
class DialoguePart:
    """A piece of a talk: its texts, and what the transformer reads of them (None where it reads the whole text)."""

    said: RoundText
    token_w: Float32[np.ndarray, " w"] | None = None


@runtime_checkable
class Reader(Protocol):
    """Reads a talk piece by piece."""

    def piece(self, said: RoundText, kind: PartKind, sentences: SentenceEncoder | None) -> DialoguePart:
        """A piece of the talk, encoded as far as it can be on its own."""
        ...

    def vector(self, caption: DialoguePart | None, rounds: Sequence[DialoguePart]) -> Float32[np.ndarray, " d"]:
        """The unit vector of a talk, of whose rounds the oldest may be left out."""
        ...


def build_reader(weights: Weights, settings: ModelSettings) -> Reader:
    """What reads talks with these weights."""
    if settings.reads == "tokens":
        return TokenReader(weights, settings)
    return SentenceReader(weights.arrays, settings, weights.card.settings["sentences_version"])


class SentenceReader:
    """Reads the frozen vectors of caption, questions and answers: each is encoded once, when it is said."""

    def __init__(self, arrays: Arrays, settings: ModelSettings, version: str) -> None:
        self._arrays, self._settings, self._version = arrays, settings, version

    def piece(self, said: RoundText, kind: PartKind, sentences: SentenceEncoder | None) -> DialoguePart:
        """A piece and its token.

        Raises:
            EncoderMismatch: the session's sentence vectors are of another version.
        """
        known = check_sentences(sentences, self._version)
        answer_s = known.encode([said.answer])[0]
        if kind == "caption":
            return DialoguePart(said, encode_caption(self._arrays, answer_s))
        question_s = known.encode([said.question])[0] if said.question else np.zeros_like(answer_s)
        return DialoguePart(said, encode_round(self._arrays, question_s, answer_s))

    def vector(self, caption: DialoguePart | None, rounds: Sequence[DialoguePart]) -> Float32[np.ndarray, " d"]:
        """The caption and the last rounds, as many as the network has places for."""
        tokens = [piece.token_w for piece in last_rounds(rounds, self._settings.rounds) if piece.token_w is not None]
        return encode_dialogue(self._arrays, self._settings, caption.token_w if caption else None, tokens)


class TokenReader:
    """Reads the talk as one text, from its beginning at every turn: the published way.

    The weights hold the text encoder, and their card under "text" what `text_model.TextModel.record` says. torch
    and transformers are imported when they are loaded.
    """

    def __init__(self, weights: Weights, settings: ModelSettings) -> None:
        import torch
        from tokenizers import Tokenizer

        from viewfinder.retrievers.chatir.network import TokenDialogueEncoder, build_text_encoder

        text = weights.card.settings["text"]
        self._settings, self._mark = settings, str(text["mark"])
        self._tokenizer = Tokenizer.from_str(text["tokenizer"])
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        self._network = TokenDialogueEncoder(
            settings, len(weights.arrays.get("whole_mean", ())), build_text_encoder(text["config"])
        )
        self._network.load_state_dict({name: torch.from_numpy(array) for name, array in weights.arrays.items()})
        self._network.eval()

    def piece(self, said: RoundText, kind: PartKind, sentences: SentenceEncoder | None) -> DialoguePart:
        """A piece as it was said: tokens are read in their context only."""
        return DialoguePart(said)

    def vector(self, caption: DialoguePart | None, rounds: Sequence[DialoguePart]) -> Float32[np.ndarray, " d"]:
        """The caption and the last rounds, as many as there are tokens for."""
        import torch

        said = [piece.said for piece in last_rounds(rounds, self._settings.rounds)]
        most, separator = self._settings.most_tokens, self._settings.separator
        text = fit_dialogue(caption.said.answer if caption else "", said, self._count, most, separator, self._mark)
        ids = self._tokenizer.encode(text).ids
        ids_1l = torch.tensor([ids if len(ids) <= most else [*ids[: most - 1], ids[-1]]])
        with torch.no_grad():
            vector_1d = self._network.read(ids_1l, torch.ones_like(ids_1l, dtype=torch.bool))
        return np.asarray(vector_1d[0].numpy(), np.float32)

    def _count(self, text: str) -> int:
        return len(self._tokenizer.encode(text).ids)


SYSTEM = "chatir"
SHIPPED = Path(__file__).with_name("lab.safetensors")

SAME = 0.999
"""Likeness of two spaces' vectors of `PROBE` from which on the spaces are one: processors round differently."""


@dataclass(frozen=True, eq=False)
class Turned:
    """A turn that said something: what, and the vector of the whole talk after it."""

    turn: int
    label: str
    vector_d: Float32[np.ndarray, " d"]


@dataclass(frozen=True, eq=False)
class ChatirState:
    """What was first said unasked, the rounds, and the turns that said something."""

    caption: DialoguePart | None = None
    rounds: tuple[DialoguePart, ...] = ()
    turns: tuple[Turned, ...] = ()
    excluded: frozenset[PictureId] = frozenset()
    adapters: tuple[str, ...] = ()


class Chatir:
    """A trained dialogue encoder at work.

    `fingerprint` changes with every number of the weights.
    """

    name: ClassVar[str] = SYSTEM
    needs: ClassVar[tuple[str, ...]] = ("global",)

    def __init__(self, weights: Weights) -> None:
        card = weights.card
        self.settings = build_settings(ModelSettings, card.settings["model"])
        self.fingerprint = weights.fingerprint
        self.encoder = card.encoder
        self._probe_d = weights.arrays.get("shared_probe")
        self._reader = build_reader(weights, self.settings)
        self._sharpness = contrastive_sharpness(weights)
        self._kind: Literal["words", "regions"] = "words"
        self.space: Literal["global"] | RegionSpace = "global"
        if self.settings.image != "shared":
            self._kind = "regions"
            self.space = RegionSpace(
                name=f"{SYSTEM}-{weights.fingerprint}",
                raw_version=card.encoder,
                project=partial(_projected, picture_arrays(weights.arrays)),
                regions=1,
                width=self.settings.image_width,
                temperature=1.0,
                reads_regions=False,
                has_whole=True,
            )

    def begin(self) -> ChatirState:
        """Nothing said."""
        return ChatirState()

    def step(self, state: ChatirState, turn: ResolvedTurn) -> ChatirState:
        """The state with what the turn says; only that is encoded.

        Raises:
            EncoderMismatch: the session's vectors are not those that the weights were trained on.
        """
        self._check_space(state, turn)
        heard, pieces = parse_turn(turn)
        state = replace(state, excluded=heard.after(state.excluded), adapters=(*state.adapters, *heard.adapters))
        caption, rounds = state.caption, state.rounds
        for said in pieces:
            state = self._with(state, said, turn.sentences)
        if state.caption is caption and state.rounds is rounds:
            return state
        vector_d = self._reader.vector(state.caption, state.rounds)
        return replace(state, turns=(*state.turns, Turned(turn.number, "; ".join(map(str, pieces)), vector_d)))

    def query(self, state: ChatirState) -> Query:
        """A part a turn: by how much it moved the vector of the talk, so that all parts add up to that vector.

        Of one vector a picture, a score is the mean of the parts' dot products; hence the factor.
        """
        vectors = [turned.vector_d for turned in state.turns]
        before = [np.zeros_like(vector_d) for vector_d in vectors[:1]] + vectors[:-1]
        moved = [len(vectors) * (after_d - before_d) for after_d, before_d in zip(vectors, before, strict=True)]
        return Query(
            tuple(Part(self._kind, on.turn, on.label, 1.0, x_d) for on, x_d in zip(state.turns, moved, strict=True)),
            self.space,
            "dot" if self.space == "global" else "late_interaction",
            state.excluded,
            state.adapters,
            self._sharpness,
        )

    # -- inside

    def _with(self, state: ChatirState, said: RoundText, sentences: SentenceEncoder | None) -> ChatirState:
        """The state with one more piece: what is first said unasked is the caption."""
        if state.caption is None and not said.question:
            return replace(state, caption=self._reader.piece(said, "caption", sentences))
        if not self.settings.rounds:
            line = f'drop: these weights read the caption only, not "{said}"'
            return replace(state, adapters=(*state.adapters, line))
        return replace(state, rounds=(*state.rounds, self._reader.piece(said, "round", sentences)))

    def _check_space(self, state: ChatirState, turn: ResolvedTurn) -> None:
        """Where the encoder's own space is looked in: that it is the one of the training; once a talk."""
        if self._probe_d is None or state.turns:
            return
        found_d = turn.words([PROBE])[0]
        if found_d.shape != self._probe_d.shape or found_d @ self._probe_d < SAME:
            raise EncoderMismatch(
                f"{SYSTEM}: these weights look for pictures in the space of {self.encoder!r}, and this library has "
                "another one (another encoder, or a head of its own): train with image 'whitened', or without that head"
            )


def parse_turn(turn: ResolvedTurn) -> tuple[VerbalizedTurn, tuple[RoundText, ...]]:
    """A turn through the adapters, and as pieces: an answer with its question, anything else as what was said.

    An answer that tells nothing is no piece, so it changes nothing. What is not wanted is a question answered by no:
    that is how dialogues speak of what is not there.
    """
    heard = verbalize_turn(turn)
    match turn.turn:
        case Answer(question, text):
            return heard, informative_rounds([(question.text, text)] * bool(heard.sentences))
        case Reject():
            pieces = tuple(map(negated_round, heard.sentences))
            return replace(heard, adapters=_renamed(heard.adapters, heard.sentences, pieces)), pieces
        case _:
            return heard, tuple(RoundText("", sentence) for sentence in heard.sentences)


def _renamed(lines: tuple[str, ...], sentences: tuple[str, ...], pieces: tuple[RoundText, ...]) -> tuple[str, ...]:
    """What adapters told, with the pieces in place of the sentences."""
    for sentence, piece in zip(sentences, pieces, strict=True):
        lines = tuple(line.replace(f'"{sentence}"', f'"{piece}"') for line in lines)
    return lines


def picture_arrays(arrays: Arrays) -> Arrays:
    """The arrays that pictures are seen by: principal components are a linear map too."""
    if "components" not in arrays:
        return arrays
    components_gd = arrays["components"]
    return {
        **arrays,
        "project.weight": np.ascontiguousarray(components_gd.T),
        "project.bias": np.zeros(components_gd.shape[1], np.float32),
    }


def _projected(arrays: Arrays, raw: RawPictures) -> Float32[np.ndarray, "n 1 d"]:
    return numpy_project_regions(arrays, "project", raw.whole_ng[:, None], scaled_by="whole")


def contrastive_sharpness(weights: Weights) -> float:
    """What the contrastive loss multiplied scores by; what is usual where another loss was minimised."""
    loss = weights.card.settings.get("loss", {})
    if loss.get("kind") != "contrastive":
        return Query(()).sharpness
    return min(math.exp(float(weights.arrays["log_scale"])), float(loss["most_scale"]))


def load(checkpoint: Path | None = None) -> Chatir:
    """The retriever with these weights; None: those in the box.

    Raises:
        BadInput: as `weights_of`.
    """
    return Chatir(load_system_weights(SYSTEM, checkpoint, SHIPPED))
