"""ChatIR as a retriever: a turn adds what was asked and answered, and the whole dialogue is one vector.

Numpy only where sentence vectors are read. A turn that is no description and no answer goes through the adapters of
`shared.wording`. Training calls the same functions on texts, so that a network meets what it was trained on.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar, Literal, NamedTuple

import numpy as np
from jaxtyping import Float32

from viewfinder.conversation import Answer, PictureId, Reject, is_dont_know
from viewfinder.errors import EncoderMismatch
from viewfinder.retrievers.base import Query, RawPictures, Reads, RegionSpace, ResolvedTurn, SentenceEncoder
from viewfinder.retrievers.chatir.numpy_network import encode_dialogue, feed_forward
from viewfinder.retrievers.chatir.settings import MOST_SCALE, PROBE, ModelSettings
from viewfinder.retrievers.shared.numpy_network import Arrays, check_sentences, numpy_project_regions
from viewfinder.retrievers.shared.turn_vectors import TurnVector, turn_parts
from viewfinder.retrievers.shared.wording import VerbalizedTurn, verbalize_turn
from viewfinder.training.presets import read_card_settings
from viewfinder.training.weights import Weights, load_system_weights

SYSTEM = "chatir"
SHIPPED = Path(__file__).with_name("lab.safetensors")

SAME = 0.999
"""Likeness of two spaces' vectors of `PROBE` from which on the spaces are one: processors round differently."""

Separator = Literal["comma", "sep"]
"""Between elements: ", " between rounds and a blank inside one (published code), or the encoder's own mark (paper)."""


# -- a dialogue as texts


class RoundText(NamedTuple):
    """A round as it is read; what was said without being asked has no question."""

    question: str
    answer: str

    def __str__(self) -> str:
        return " ".join(part for part in self if part)


def with_question_mark(question: str) -> str:
    """A question with its "?", which VisDial's lack.

    >>> with_question_mark("is it big"), with_question_mark("Tell me more."), with_question_mark("")
    ('is it big?', 'Tell me more.', '')
    """
    plain = " ".join(question.split())
    return plain if not plain or plain[-1] in "?.!" else f"{plain}?"


def informative_rounds(rounds: Iterable[tuple[str, str]]) -> tuple[RoundText, ...]:
    """The rounds that say something: without those that were skipped, or answered by "don't know" (ours).

    >>> informative_rounds([("is it big", "no"), ("is it old?", "can't tell"), ("", "a red boat")])
    (RoundText(question='is it big?', answer='no'), RoundText(question='', answer='a red boat'))
    """
    return tuple(
        RoundText(with_question_mark(question), " ".join(answer.split()))
        for question, answer in rounds
        if not is_dont_know(answer)
    )


def negated_round(sentence: str) -> RoundText:
    """What is not there, as dialogues say it: a question and no. `sentence` is one of `verbalize_turn`.

    >>> str(negated_round("there is no dog and no cat")), str(negated_round("there are no people"))
    ('is there a dog or a cat? no', 'are there any people? no')
    """
    verb, _, things = sentence.removeprefix("there ").partition(" no ")
    wanted = [
        f"any {thing}" if verb == "are" else f"{'an' if thing[:1].lower() in {*'aeiou'} else 'a'} {thing}"
        for thing in things.split(" and no ")
    ]
    return RoundText(f"{verb} there {' or '.join(wanted)}?", "no")


def join_dialogue(
    caption: str, rounds: Iterable[tuple[str, str]], separator: Separator = "comma", mark: str = "[SEP]"
) -> str:
    """The dialogue as one string; what is empty (a question that nobody asked) goes with its separator.

    >>> join_dialogue("a dog", [("is it big?", "no"), ("", "it runs")])
    'a dog, is it big? no, it runs'
    >>> join_dialogue("a dog", [("is it big?", "no"), ("", "it runs")], "sep")
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
    """`join_dialogue` without the oldest rounds that make it too long; the caption and the newest round always stay.

    `count` says how many tokens a text has (those at its ends included), `most` how many are read; if even the two
    that stay are longer, the reader cuts off the end.
    """
    for first in range(len(rounds)):
        text = join_dialogue(caption, rounds[first:], separator, mark)
        if count(text) <= most:
            return text
    return join_dialogue(caption, rounds[-1:], separator, mark)


def parse_turn(turn: ResolvedTurn) -> tuple[VerbalizedTurn, tuple[RoundText, ...]]:
    """A turn through the adapters, and as rounds: an answer with its question, anything else as what was said.

    An answer that tells nothing is no round, so it changes nothing. What is not wanted is a question answered by no:
    that is how dialogues speak of what is not there.
    """
    heard = verbalize_turn(turn)
    match turn.turn:
        case Answer(question, text):
            return heard, informative_rounds([(question.text, text)] * bool(heard.sentences))
        case Reject():
            rounds = tuple(map(negated_round, heard.sentences))
            lines = heard.adapters
            for sentence, said in zip(heard.sentences, rounds, strict=True):
                lines = tuple(line.replace(f'"{sentence}"', f'"{said}"') for line in lines)
            return replace(heard, adapters=lines), rounds
        case _:
            return heard, tuple(RoundText("", sentence) for sentence in heard.sentences)


# -- texts to the vector of a dialogue


@dataclass(frozen=True, eq=False)
class DialoguePart:
    """The caption or a round, and what the transformer reads of it (None where it reads the whole text)."""

    said: RoundText
    token_w: Float32[np.ndarray, " w"] | None = None


class SentenceReader:
    """Reads the frozen vectors of caption, questions and answers: each is encoded once, when it is said."""

    def __init__(self, weights: Weights, settings: ModelSettings) -> None:
        self._arrays, self._settings = weights.arrays, settings
        self._version = weights.card.settings["sentences_version"]

    def read_part(
        self, said: RoundText, kind: Literal["caption", "round"], sentences: SentenceEncoder | None
    ) -> DialoguePart:
        """What was said, and its token.

        Raises:
            EncoderMismatch: the session's sentence vectors are of another version.
        """
        known = check_sentences(sentences, self._version)
        vector_s = known.encode([said.answer])[0]
        if kind == "round":
            question_s = known.encode([said.question])[0] if said.question else np.zeros_like(vector_s)
            vector_s = np.concatenate([question_s, vector_s])
        return DialoguePart(said, np.asarray(feed_forward(self._arrays, kind, vector_s), np.float32))

    def encode(self, caption: DialoguePart | None, rounds: Sequence[DialoguePart]) -> Float32[np.ndarray, " d"]:
        """The unit vector of a dialogue, of whose rounds there are at most as many as the network has places for."""
        tokens = [part.token_w for part in rounds if part.token_w is not None]
        return encode_dialogue(self._arrays, self._settings, caption.token_w if caption else None, tokens)


class TokenReader:
    """Reads the dialogue as one text, from its beginning at every turn: the published way.

    The weights hold the text encoder, and their card under "text" what `network.TextModel.record` says. torch and
    transformers are imported when they are loaded.
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
        raw_width = len(weights.arrays.get("whole_mean", ()))
        self._network = TokenDialogueEncoder(settings, raw_width, build_text_encoder(text["config"]))
        self._network.load_state_dict({name: torch.from_numpy(array) for name, array in weights.arrays.items()})
        self._network.eval()

    def read_part(
        self, said: RoundText, kind: Literal["caption", "round"], sentences: SentenceEncoder | None
    ) -> DialoguePart:
        """What was said, as it is: tokens are read in their context only."""
        return DialoguePart(said)

    def encode(self, caption: DialoguePart | None, rounds: Sequence[DialoguePart]) -> Float32[np.ndarray, " d"]:
        """The unit vector of a dialogue, without the oldest rounds that are too long to be read."""
        import torch

        most, separator = self._settings.most_tokens, self._settings.separator
        text = fit_dialogue(
            caption.said.answer if caption else "",
            [part.said for part in rounds],
            lambda text: len(self._tokenizer.encode(text).ids),
            most,
            separator,
            self._mark,
        )
        ids = self._tokenizer.encode(text).ids
        ids_1l = torch.tensor([ids if len(ids) <= most else [*ids[: most - 1], ids[-1]]])
        with torch.no_grad():
            vector_1d = self._network.encode_dialogues(ids_1l, torch.ones_like(ids_1l, dtype=torch.bool))
        return np.asarray(vector_1d[0].numpy(), np.float32)


# -- the retriever


@dataclass(frozen=True, eq=False)
class ChatirState:
    """What was first said unasked, the rounds, and the turns that said something."""

    caption: DialoguePart | None = None
    rounds: tuple[DialoguePart, ...] = ()
    turns: tuple[TurnVector, ...] = ()
    excluded: frozenset[PictureId] = frozenset()
    adapters: tuple[str, ...] = ()


class Chatir:
    """A trained dialogue encoder at work; `fingerprint` changes with every number of the weights."""

    name: ClassVar[str] = SYSTEM

    def __init__(self, weights: Weights) -> None:
        self.settings = read_card_settings(ModelSettings, weights.card)
        self.fingerprint = weights.fingerprint
        self.encoder = weights.card.encoder
        self._probe_d = weights.arrays.get("shared_probe")
        reader = TokenReader if self.settings.reads == "tokens" else SentenceReader
        self._reader = reader(weights, self.settings)
        self._sharpness = Query(()).sharpness
        loss = weights.card.settings.get("loss", {})
        if loss.get("kind") == "contrastive":  # old cards name a bound of their own
            self._sharpness = min(math.exp(float(weights.arrays["log_scale"])), loss.get("most_scale", MOST_SCALE))
        self._pictures = _picture_arrays(weights.arrays)
        self.reads = Reads()
        if self.settings.image != "shared":
            space = RegionSpace(
                name=f"{SYSTEM}-{weights.fingerprint}",
                raw_version=self.encoder,
                project=self._project,
                regions=1,
                width=self.settings.image_width,
                temperature=1.0,
                reads_regions=False,
                has_whole=True,
            )
            self.reads = Reads(space)

    def begin(self) -> ChatirState:
        """Nothing said."""
        return ChatirState()

    def step(self, state: ChatirState, turn: ResolvedTurn) -> ChatirState:
        """The state with what the turn says; only that is encoded.

        Raises:
            EncoderMismatch: the session's vectors are not those that the weights were trained on.
        """
        if self._probe_d is not None and not state.turns:
            self._check_space(turn)
        heard, said = parse_turn(turn)
        caption, rounds, lines = state.caption, state.rounds, (*state.adapters, *heard.adapters)
        for one in said:
            if caption is None and not one.question:  # what is first said unasked
                caption = self._reader.read_part(one, "caption", turn.sentences)
            elif self.settings.rounds:
                rounds = (*rounds, self._reader.read_part(one, "round", turn.sentences))
            else:
                lines = (*lines, f'drop: these weights read the caption only, not "{one}"')
        turns = state.turns
        if caption is not state.caption or rounds is not state.rounds:
            newest = rounds[max(len(rounds) - self.settings.rounds, 0) :]
            turns = (*turns, TurnVector(turn.number, "; ".join(map(str, said)), self._reader.encode(caption, newest)))
        return ChatirState(caption, rounds, turns, heard.after(state.excluded), lines)

    def query(self, state: ChatirState) -> Query:
        """What each turn added to the vector of the dialogue."""
        is_global = self.reads.space is None
        return Query(
            turn_parts(state.turns, "words" if is_global else "regions"),
            self.reads.space or "global",
            "dot" if is_global else "late_interaction",
            state.excluded,
            state.adapters,
            self._sharpness,
        )

    def _check_space(self, turn: ResolvedTurn) -> None:
        """Where the encoder's own space is looked in: that it is the one of the training."""
        assert self._probe_d is not None
        found_d = turn.words([PROBE])[0]
        if found_d.shape != self._probe_d.shape or found_d @ self._probe_d < SAME:
            raise EncoderMismatch(
                f"{SYSTEM}: these weights look for pictures in the space of {self.encoder!r}, and this library has "
                "another one (another encoder, or a head of its own): train with image 'whitened', or without that head"
            )

    def _project(self, raw: RawPictures) -> Float32[np.ndarray, "n 1 d"]:
        return numpy_project_regions(self._pictures, "project", raw.whole_ng[:, None], scaled_by="whole")


def _picture_arrays(arrays: Arrays) -> Arrays:
    """The arrays that pictures are seen by: principal components are a linear map too."""
    if "components" not in arrays:
        return arrays
    components_gd = arrays["components"]
    return {
        **arrays,
        "project.weight": np.ascontiguousarray(components_gd.T),
        "project.bias": np.zeros(components_gd.shape[1], np.float32),
    }


def load(checkpoint: Path | None = None) -> Chatir:
    """The retriever with these weights; None: those shipped with the package.

    Raises:
        BadInput: as `load_system_weights`.
    """
    return Chatir(load_system_weights(SYSTEM, checkpoint, SHIPPED))
