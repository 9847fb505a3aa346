"""ChatIR as a retriever: a turn adds what was asked and answered, and the whole dialogue is one vector.

Numpy only if sentence vectors are read. A turn that is neither description nor answer goes through the adapters of
`shared.verbalize`. Training calls the same functions on texts, so that a network meets what it was trained on.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from jaxtyping import Float32

from viewfinder.conversation import Answer, PictureId, Reject, Say
from viewfinder.query import Query, RawPictures, Reads, RegionSpace, ResolvedTurn, SentenceEncoder
from viewfinder.retrievers.chatir.numpy_network import encode_dialogue, feed_forward
from viewfinder.retrievers.chatir.settings import MAX_SCALE, PROBE, ModelSettings
from viewfinder.retrievers.shared.numpy_network import check_sentences, check_shared_space, numpy_project_regions
from viewfinder.retrievers.shared.turn_parts import TurnVector, turn_parts
from viewfinder.retrievers.shared.verbalize import VerbalizedTurn, verbalize_turn
from viewfinder.training.presets import read_card_settings
from viewfinder.weights import Weights, load_system_weights
from viewfinder.wording.replies import is_dont_know

SYSTEM = "chatir"
SHIPPED = Path(__file__).with_name("lab.safetensors")

# -- a dialogue as texts


class RoundText(NamedTuple):
    """A round as it is read; an unasked statement has no question."""

    question: str
    answer: str

    def __str__(self) -> str:
        return " ".join(part for part in self if part)


def informative_rounds(rounds: Iterable[tuple[str, str]], *, verbatim: bool = False) -> tuple[RoundText, ...]:
    """The rounds that say something: without those that were skipped, or answered by "don't know" (ours).

    Questions get their "?", which VisDial's lack. If read `verbatim`, all rounds stay as they are (published code).

    >>> informative_rounds([("is it big", "no"), ("is it old?", "can't tell"), ("", "a red boat")])
    (RoundText(question='is it big?', answer='no'), RoundText(question='', answer='a red boat'))
    """
    if verbatim:
        return tuple(RoundText(question, answer) for question, answer in rounds if question or answer)
    plain = [(" ".join(question.split()), " ".join(answer.split())) for question, answer in rounds]
    return tuple(
        RoundText(question if not question or question[-1] in "?.!" else f"{question}?", answer)
        for question, answer in plain
        if not is_dont_know(answer)
    )


def negated_round(sentence: str) -> RoundText:
    """A refusal as dialogues have it: a question answered no. `sentence` comes from `verbalize_turn`.

    >>> str(negated_round("there is no dog and no cat")), str(negated_round("there are no people"))
    ('is there a dog or a cat? no', 'are there any people? no')
    """
    verb, _, things = sentence.removeprefix("there ").partition(" no ")
    wanted = [
        f"any {thing}" if verb == "are" else f"{'an' if thing[:1].lower() in {*'aeiou'} else 'a'} {thing}"
        for thing in things.split(" and no ")
    ]
    return RoundText(f"{verb} there {' or '.join(wanted)}?", "no")


def parse_turn(turn: ResolvedTurn, *, verbatim: bool = False) -> tuple[VerbalizedTurn, tuple[RoundText, ...]]:
    """A turn after the adapters, and as rounds: an answer with its question, anything else as a statement.

    An answer that tells nothing is no round, so it changes nothing, unless it is read `verbatim`: then descriptions and
    answers are rounds as they are. What is not wanted becomes a question answered no: this is how dialogues speak of
    what is not there.
    """
    heard = verbalize_turn(turn)
    match turn.turn:
        case Say(text) if verbatim:
            return VerbalizedTurn(), informative_rounds([("", text)], verbatim=True)
        case Answer(question, text) if verbatim:
            return VerbalizedTurn(), informative_rounds([(question.text, text)], verbatim=True)
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
    """The caption or a round, and what the transformer reads of it (None if it reads the whole text)."""

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
        """The caption or the round with the vector that the transformer reads of it.

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
        """The unit vector of a dialogue, which has at most as many rounds as the network has positions for."""
        tokens = [part.token_w for part in rounds if part.token_w is not None]
        return encode_dialogue(self._arrays, self._settings, caption.token_w if caption else None, tokens)


Tokens = Sequence[int]


class DialogueTokens:
    """Dialogues as the tokens of one text each.

    It is "caption, question? answer, ..." (published code), or has the encoder's own mark between all parts (paper).
    Texts are tokenised one by one, which for WordPiece gives the same as tokenising the whole.
    """

    def __init__(self, tokenizer: str, mark: str, settings: ModelSettings) -> None:
        """`tokenizer`: the whole tokenizer.json; `mark`: the separator of "sep" between elements."""
        from tokenizers import Tokenizer

        self.tokenizer: Any = Tokenizer.from_str(tokenizer)
        self.tokenizer.no_padding()
        self.tokenizer.no_truncation()
        whole = self.tokenizer.encode("a")  # with what is put before and after a text
        first, last = whole.special_tokens_mask.index(0), whole.special_tokens_mask[::-1].index(0)
        self._before, self._after = whole.ids[:first], whole.ids[len(whole.ids) - last :]
        self._room = settings.most_tokens - len(self._before) - len(self._after)
        self._by_rounds, self._verbatim = settings.separator == "comma", settings.verbatim
        [commas] = self.cut([","])
        self._between = commas if self._by_rounds else [self.tokenizer.token_to_id(mark)]

    def cut(self, texts: Sequence[str]) -> list[list[int]]:
        """The tokens of texts."""
        return [found.ids for found in self.tokenizer.encode_batch(list(texts), add_special_tokens=False)]

    def join(self, caption: Tokens, rounds: Sequence[Sequence[Tokens]]) -> list[int]:
        """Caption and rounds (each a question and an answer) with the separators between them.

        Empty parts (the question of an unasked statement) are dropped with their separator. If the whole is too long,
        the oldest rounds are dropped; the caption and the newest round always stay, cut if even they are too long. A
        text read verbatim is cut at its end.
        """
        for first in range(max(len(rounds), 1)):
            kept = rounds[first:]
            units = [[*chain.from_iterable(one)] for one in kept] if self._by_rounds else chain.from_iterable(kept)
            found = [unit for unit in (caption, *units) if unit]
            ids = [*chain.from_iterable([*self._between, *unit] for unit in found)][len(self._between) :]
            if self._verbatim or len(ids) <= self._room:
                break
        return [*self._before, *ids[: self._room], *self._after]


class TokenReader:
    """Reads the dialogue as one text, from its beginning at every turn: the published way.

    The weights hold the text encoder, and their card under "text" what `network.TextModel.record` says. torch and
    transformers are imported when they are loaded.
    """

    def __init__(self, weights: Weights, settings: ModelSettings) -> None:
        import torch

        from viewfinder.retrievers.chatir.network import TokenDialogueEncoder, build_text_encoder

        text = weights.card.settings["text"]
        self._tokens = DialogueTokens(text["tokenizer"], str(text["mark"]), settings)
        raw_width = len(weights.arrays.get("whole_mean", ()))
        self._network = TokenDialogueEncoder(settings, raw_width, build_text_encoder(text["config"]))
        self._network.load_state_dict({name: torch.from_numpy(array) for name, array in weights.arrays.items()})
        self._network.eval()

    def read_part(
        self, said: RoundText, kind: Literal["caption", "round"], sentences: SentenceEncoder | None
    ) -> DialoguePart:
        """The caption or the round as text: its tokens are read only in context."""
        return DialoguePart(said)

    def encode(self, caption: DialoguePart | None, rounds: Sequence[DialoguePart]) -> Float32[np.ndarray, " d"]:
        """The unit vector of a dialogue, cut to the readable length: see `DialogueTokens.join`."""
        import torch

        [first] = self._tokens.cut([caption.said.answer if caption else ""])
        ids_1l = torch.tensor([self._tokens.join(first, [self._tokens.cut(part.said) for part in rounds])])
        with torch.no_grad():
            vector_1d = self._network.encode_dialogues(ids_1l, torch.ones_like(ids_1l, dtype=torch.bool))
        return np.asarray(vector_1d[0].numpy(), np.float32)


# -- the retriever


@dataclass(frozen=True, eq=False)
class ChatirState:
    """The first unasked statement, the rounds, and the turns that said something."""

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
        self.fingerprint, self.trained_on = weights.fingerprint, weights.card.trained_on
        self.encoder = weights.card.encoder
        self._probe_d = weights.arrays.get("shared_probe")
        reader = TokenReader if self.settings.reads == "tokens" else SentenceReader
        self._reader = reader(weights, self.settings)
        self._sharpness = Query(()).sharpness
        if weights.card.settings.get("loss", {}).get("kind") == "contrastive":
            self._sharpness = min(math.exp(float(weights.arrays["log_scale"])), MAX_SCALE)
        self._pictures = dict(weights.arrays)
        if (components_gd := weights.arrays.get("components")) is not None:  # a linear map, too
            self._pictures["project.weight"] = np.ascontiguousarray(components_gd.T)
            self._pictures["project.bias"] = np.zeros(components_gd.shape[1], np.float32)
        self.reads = Reads()
        if self.settings.image != "shared":
            name, width = f"{SYSTEM}-{weights.fingerprint}", self.settings.image_width
            self.reads = Reads(RegionSpace.of_wholes(name, self.encoder, self._project_pictures, width, SYSTEM))

    def begin(self) -> ChatirState:
        """Nothing said."""
        return ChatirState()

    def step(self, state: ChatirState, turn: ResolvedTurn) -> ChatirState:
        """The state with what the turn says; only that is encoded. Raises as `Retriever.step`."""
        if self._probe_d is not None and not state.turns:
            # If the search is in the encoder's own space, it must be the space of the training.
            way_out = "train with image 'whitened', or without that head"
            check_shared_space(SYSTEM, self.encoder, turn.words([PROBE])[0], self._probe_d, way_out)
        heard, said = parse_turn(turn, verbatim=self.settings.verbatim)
        caption, rounds, lines = state.caption, state.rounds, (*state.adapters, *heard.adapters)
        for one in said:
            if caption is None and not one.question:  # the first unasked statement
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
        """One part a turn: how far it moved the vector of the dialogue."""
        is_global = self.reads.space is None
        return Query(
            turn_parts(state.turns, "words" if is_global else "regions"),
            self.reads.space or "global",
            "dot" if is_global else "late_interaction",
            state.excluded,
            state.adapters,
            self._sharpness,
        )

    def _project_pictures(self, raw: RawPictures) -> Float32[np.ndarray, "n 1 d"]:
        return numpy_project_regions(self._pictures, "project", raw.whole_ng[:, None], scaled_by="whole")


def load(checkpoint: Path | None = None) -> Chatir:
    """The retriever with these weights; None: the shipped ones. Raises BadInput: as `load_system_weights`."""
    return Chatir(load_system_weights(SYSTEM, checkpoint, SHIPPED))
