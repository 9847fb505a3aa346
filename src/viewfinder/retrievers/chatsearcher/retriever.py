"""A turn as ChatSearcher reads it: what it does to the answer that is open, and what the user says. No torch here.

What cannot be taken as it was given goes through an adapter, which is named (`blocks.spoken`).

Words as they are written, one piece after the other. No torch here.

ChatSearcher as a retriever: it reads on where it stopped, and answers with pictures or in words.

Numpy only; the network is what was trained. A state ends where an answer begins: what it came to (the picture that was
picked, what was written) is read at the beginning of the next turn, so that a turn costs its own places alone.
"""

from __future__ import annotations

import copy
import math
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import ClassVar

import numpy as np
from jaxtyping import Float32

from viewfinder.conversation import Answer, Like, PictureId, Say, Show
from viewfinder.data.chatsearch import ImageItem, TextItem
from viewfinder.retrievers.base import (
    Part,
    Picture,
    Query,
    RawPictures,
    Reads,
    RegionSpace,
    ResolvedTurn,
    SentenceEncoder,
)
from viewfinder.retrievers.chatsearcher import numpy_network
from viewfinder.retrievers.chatsearcher.numpy_network import (
    EMPTY_CACHE,
    KeyValueCache,
    LanguageShape,
    build_language_model,
    read_places,
)
from viewfinder.retrievers.chatsearcher.sequence import Item, SequenceCodec, TokenizerRecord, TokenSequence
from viewfinder.retrievers.chatsearcher.settings import LossSettings, ModelSettings
from viewfinder.retrievers.shared.numpy_network import check_sentences
from viewfinder.retrievers.shared.wording import VerbalizedTurn, verbalize_turn
from viewfinder.training.presets import build_settings
from viewfinder.training.weights import Weights, load_system_weights

LIKE_IT = "one like this"
"""What a picture says that comes without words."""


@dataclass(frozen=True, eq=False)
class UserMessage:
    """What a turn says.

    Attributes:
        text: the user's words.
        brought: a picture of the user's own, which stands before the words.
        picked: the one among those that were shown: it becomes the answer.
        asked: what the user was asked; it becomes the answer.
        adapters: what was not taken as it was given, and what became of it; a line each.
        ruled: the pictures that are ruled out and readmitted.
    """

    text: str = ""
    brought: Picture | None = None
    picked: Picture | None = None
    asked: str = ""
    adapters: tuple[str, ...] = ()
    ruled: VerbalizedTurn = field(default_factory=VerbalizedTurn)


def read_message(turn: ResolvedTurn, *, shown: bool) -> UserMessage:
    """A turn as it is read; one without words says nothing, and only rules pictures out.

    Args:
        turn: any.
        shown: whether the answer before it was pictures, so that one may be picked.
    """
    match turn.turn:
        case Say(text):
            return UserMessage(_plain(text))
        case Answer(question, text):
            return UserMessage(_plain(text), asked=_plain(question.text))
        case Like() | Show():
            return _pictured(turn, turn.turn, picks=shown and isinstance(turn.turn, Like))
        case _:
            said = verbalize_turn(turn)
            return UserMessage(". ".join(said.sentences), adapters=said.adapters, ruled=said)


def _pictured(turn: ResolvedTurn, named: Like | Show, *, picks: bool) -> UserMessage:
    """Words said of a picture rule it out; without any it may be the one, whatever ruled it out before."""
    picture, text = turn.pictures[0], _plain(named.text)
    own = frozenset() if picture.id is None else frozenset({picture.id})
    lines = [] if text else [f'verbalise: the picture alone is said as "{LIKE_IT}"']
    if isinstance(named, Like) and named.turn is not None:
        lines.append(f"drop: what was said after turn {named.turn} stays, words cannot be taken back")
    ruled = VerbalizedTurn(excluded=own) if text else VerbalizedTurn(readmitted=own)
    brought, picked = (None, picture) if picks else (picture, None)
    return UserMessage(text or LIKE_IT, brought, picked, adapters=tuple(lines), ruled=ruled)


def _plain(text: str) -> str:
    return " ".join(text.split())


BROKEN = "\N{REPLACEMENT CHARACTER}"
"""What stands for a character of which a piece has a part only."""


class LazyPieces:
    """Numbers that are worked out once, when somebody first wants them, and kept; for all threads."""

    def __init__(self, numbers: Iterable[int] = ()) -> None:
        self._known: list[int] = []
        self._more = iter(numbers)
        self._lock = threading.Lock()

    def __iter__(self) -> Iterator[int]:
        at = 0
        while self._knows(at):
            yield self._known[at]
            at += 1

    def _knows(self, at: int) -> bool:
        with self._lock:
            if at == len(self._known) and (number := next(self._more, None)) is not None:
                self._known.append(number)
            return at < len(self._known)


def stream_text(numbers: Iterable[int], text_of: Callable[[list[int]], str]) -> Iterator[str]:
    """The words that pieces make, as far as they are whole characters; joined they are the text of all pieces.

    A character of which parts are missing at the very end is left out.
    """
    known: list[int] = []
    told = 0
    for number in numbers:
        known.append(number)
        text = text_of(known)
        if len(text) > told and not text.endswith(BROKEN):
            yield text[told:]
            told = len(text)


SYSTEM = "chatsearcher"
SHIPPED = Path(__file__).with_name("modern.safetensors")

MOST_PIECES = 32
"""Pieces of an answer in words at most."""

LEFT = 0.75
"""How full a sequence that grew too long is at most, once its oldest turns are out: reading anew is for many turns."""

A_PICTURE = ImageItem("")
"""Any picture: places do not say which."""


@dataclass(frozen=True, eq=False)
class Turned:
    """A turn that is answered with pictures: what was said, and what is looked for."""

    turn: int
    label: str
    vector_d: Float32[np.ndarray, " d"]


@dataclass(frozen=True, eq=False)
class OpenAnswer:
    """The answer that has begun: pictures, perhaps after some words, or words alone."""

    shows: bool
    words: LazyPieces


@dataclass(frozen=True, eq=False)
class ReadRound:
    """What was read of a turn, and of its answer once that is closed."""

    turn: int
    places_lh: Float32[np.ndarray, "l h"]


@dataclass(frozen=True, eq=False)
class ChatState:
    """What was read so far, and what it came to.

    Attributes:
        cache: of all rounds.
        rounds: what they were read from.
        forgot: whether older rounds are out.
        open: the answer to the last turn that said something; None: nothing was said.
        silent: whether the last turn said nothing, and is answered with what is looked for anyway.
        turns: those that were answered with pictures.
        forced: what the last turn would have looked for, where none was answered with pictures.
        excluded, adapters: as `Query` has them.
    """

    cache: KeyValueCache
    rounds: tuple[ReadRound, ...] = ()
    forgot: bool = False
    open: OpenAnswer | None = None
    silent: bool = False
    turns: tuple[Turned, ...] = ()
    forced: Turned | None = None
    excluded: frozenset[PictureId] = frozenset()
    adapters: tuple[str, ...] = ()


class ChatSearcher:
    """A trained network of ChatSearcher at work.

    `fingerprint` changes with every number of the weights, not with the leaning.
    """

    name: ClassVar[str] = SYSTEM

    def __init__(self, weights: Weights) -> None:
        known = weights.card.settings
        self.settings = settings = build_settings(ModelSettings, known["model"])
        loss = build_settings(LossSettings, known["loss"])
        self.fingerprint = weights.fingerprint
        self._picture_bias = float(known["leaning"])
        self._image_first, self._unpicked = bool(known["image_first"]), bool(known.get("unpicked", False))
        self._sentences_version = str(known["sentences_version"])
        self._codec = SequenceCodec(TokenizerRecord(**known["tokeniser"]), settings.tokens, says=settings.says)
        self._language = build_language_model(weights.arrays, LanguageShape(**known["language"]), settings.lora)
        apart = ("language.layers.", "queue.")  # in `_language`, and for training
        self._arrays = {name: array for name, array in weights.arrays.items() if not name.startswith(apart)}
        temperature = max(math.exp(float(weights.arrays["log_temperature"])), loss.least_temperature)
        self._sharpness = 1 / temperature
        self._img_1h = self._embedded(np.array([self._codec.img]))
        self._begin_1h = self._embedded(self._codec.begin().numbers_l)
        self._begun = read_places(self._language, self._begin_1h)[1]
        self.space = RegionSpace(
            name=f"{SYSTEM}-{weights.fingerprint}",
            raw_version=weights.card.encoder,
            project=self._projected,
            regions=1,
            width=settings.retrieval,
            temperature=1.0,
            reads_regions=False,
            has_whole=True,
        )
        self.reads = Reads(self.space, "raw", named_regions=settings.tokens > 0, words=False)

    @property
    def picture_bias(self) -> float:
        """See `AnsweringRetriever`."""
        return self._picture_bias

    def with_picture_bias(self, pictures: float) -> ChatSearcher:
        """See `AnsweringRetriever`; the weights are shared."""
        other = copy.copy(self)
        other._picture_bias = pictures
        return other

    def begin(self) -> ChatState:
        """Nothing said."""
        return ChatState(self._begun)

    def step(self, state: ChatState, turn: ResolvedTurn) -> ChatState:
        """The state after one more turn.

        Raises:
            EncoderMismatch: the session's sentence vectors are not those that the weights read.
        """
        shown = state.open is not None and state.open.shows
        heard = read_message(turn, shown=shown)
        ruled = replace(state, excluded=heard.ruled.after(state.excluded), silent=not heard.text)
        if not heard.text:
            return _told(ruled, heard.adapters)
        ended = self._ended(state, heard, turn)
        said_lh, of_length = self._said(heard, turn)
        after, states_2h = self._read_on(ruled, ended, ReadRound(turn.number, said_lh))
        opened, query_d = self._opened(after.cache, states_2h)
        turned = Turned(turn.number, heard.text, query_d)
        turns = (*state.turns, turned) if opened.shows else state.turns
        return _told(replace(after, open=opened, turns=turns, forced=turned), (*heard.adapters, *of_length))

    def query(self, state: ChatState) -> Query:
        """A part a turn: by how much it moved the query, so that all parts add up to the query of the last one.

        A score is the mean of the parts' dot products; hence the factor. Turns that are answered in words move
        nothing.
        """
        said = state.turns or (() if state.forced is None else (state.forced,))
        vectors = [turned.vector_d for turned in said]
        before = [np.zeros_like(vector_d) for vector_d in vectors[:1]] + vectors[:-1]
        moved = [len(vectors) * (after_d - before_d) for after_d, before_d in zip(vectors, before, strict=True)]
        return Query(
            tuple(Part("regions", on.turn, on.label, 1.0, x_d) for on, x_d in zip(said, moved, strict=True)),
            self.space,
            "late_interaction",
            state.excluded,
            (*state.adapters, *_forgotten(state)),
            self._sharpness,
        )

    def shows(self, state: ChatState) -> bool:
        """See `AnsweringRetriever`."""
        return state.open is None or state.open.shows or state.silent

    def reply(self, state: ChatState) -> Iterator[str]:
        """See `AnsweringRetriever`; what is written is kept with the state."""
        if state.open is not None and not self.shows(state):
            yield from stream_text(state.open.words, self._codec.text)

    # -- reading

    def _ended(self, state: ChatState, heard: UserMessage, turn: ResolvedTurn) -> Float32[np.ndarray, "l h"]:
        """What the answer came to that was open: the picture that was picked, the question, or what was written."""
        if state.open is None:
            return self._img_1h[:0]
        pictures = [heard.picked] if heard.picked is not None else []
        if not pictures and self._unpicked and state.open.shows:
            pictures = list(turn.shown[:1])
        items: list[Item] = [*([A_PICTURE] * len(pictures)), *([TextItem(heard.asked)] if heard.asked else [])]
        own = () if heard.asked else state.open.words
        numbers = [*own, *self._codec.answer(items).numbers_l.tolist()]
        return self._embedded(np.array(numbers), pictures)

    def _said(self, heard: UserMessage, turn: ResolvedTurn) -> tuple[Float32[np.ndarray, "l h"], tuple[str, ...]]:
        """What the user says, and a line where it is too long to be read whole."""
        pictures = [] if heard.brought is None else [heard.brought]

        def placed(text: str) -> TokenSequence:
            return self._codec.user([*([A_PICTURE] * len(pictures)), TextItem(text)])

        places = placed(heard.text)
        # Beside it stand the beginning and the [IMG] of the answer.
        over = len(places) + 2 - self.settings.longest
        if over > 0:
            pieces = self._codec.pieces.numbers(heard.text)
            places = placed(self._codec.text(pieces[: max(len(pieces) - over, 1)]))
        told = (f"drop: turn {turn.number} is too long, its end is not read",) if over > 0 else ()
        return self._embedded(places.numbers_l, pictures, places.said, turn.sentences), told

    def _read_on(
        self, state: ChatState, ended_lh: Float32[np.ndarray, "_e h"], said: ReadRound
    ) -> tuple[ChatState, Float32[np.ndarray, "2 h"]]:
        """The state with another round, and what the network makes of where an answer begins, and of [IMG] there.

        [IMG] is read at once, as most answers begin with it, but is not kept. Where the talk is too long, its oldest
        rounds go out and the others are read anew.
        """
        rounds = (*_closed(state.rounds, ended_lh), said)
        new_lh = np.concatenate([ended_lh, said.places_lh, self._img_1h])
        cache, forgot = state.cache, state.forgot
        if len(cache) + len(new_lh) > self.settings.longest:
            most = int(LEFT * self.settings.longest)
            while len(rounds) > 1 and 2 + sum(len(one.places_lh) for one in rounds) > most:
                rounds, forgot = rounds[1:], True
            cache = EMPTY_CACHE
            new_lh = np.concatenate([self._begin_1h, *(one.places_lh for one in rounds), self._img_1h])
        states_lh, cache = read_places(self._language, new_lh, cache)
        return replace(state, cache=cache.shorter(1), rounds=rounds, forgot=forgot), states_lh[-2:]

    def _embedded(
        self,
        numbers_l: np.ndarray,
        pictures: Sequence[Picture] = (),
        said: Sequence[str] = (),
        sentences: SentenceEncoder | None = None,
    ) -> Float32[np.ndarray, "l h"]:
        looks = [
            numpy_network.embed_picture(
                self._arrays, self.settings, picture.vectors["raw"], picture.vectors.get("raw regions")
            )
            for picture in pictures
        ]
        said_ks = check_sentences(sentences, self._sentences_version).encode(list(said)) if said else None
        return numpy_network.embed_places(self._arrays, self.settings, numbers_l, looks, said_ks)

    # -- answering

    def _opened(
        self, cache: KeyValueCache, states_2h: Float32[np.ndarray, "2 h"]
    ) -> tuple[OpenAnswer, Float32[np.ndarray, " d"]]:
        """The answer as it begins, and what it looks for if it shows pictures."""
        first = self._next(states_2h[0], pictures=True, first=True)
        query_d = numpy_network.encode_query(self._arrays, states_2h[1])
        if first == self._codec.img:
            return OpenAnswer(True, LazyPieces()), query_d
        if self._image_first:  # pictures would have come at once: words may wait until somebody reads them
            return OpenAnswer(False, LazyPieces(self._writing(cache, first, pictures=False))), query_d
        words = list(self._writing(cache, first, pictures=True))
        if words[-1] != self._codec.img:
            return OpenAnswer(False, LazyPieces(words)), query_d
        states_lh, _ = read_places(self._language, self._embedded(np.array(words)), cache)
        return OpenAnswer(True, LazyPieces(words[:-1])), numpy_network.encode_query(self._arrays, states_lh[-1])

    def _writing(self, cache: KeyValueCache, piece: int, *, pictures: bool) -> Iterator[int]:
        """An answer from its first piece on, without its end; with `pictures`, [IMG] may come and ends it as well."""
        for _ in range(MOST_PIECES):
            yield piece
            if piece == self._codec.img:
                return
            states_1h, cache = read_places(self._language, self._embedded(np.array([piece])), cache)
            piece = self._next(states_1h[0], pictures=pictures)
            if piece == self._codec.pieces.end:
                return

    def _next(self, state_h: Float32[np.ndarray, " h"], *, pictures: bool, first: bool = False) -> int:
        """The likeliest piece: never [/IMG], and not the end at once; [IMG] by how much it leans to pictures."""
        scores_v = numpy_network.score_pieces(self._arrays, state_h)
        img = float(scores_v[self._codec.img]) + self._picture_bias
        scores_v[[self._codec.img, self._codec.end]] = -np.inf
        if first:
            scores_v[self._codec.pieces.end] = -np.inf
        best = int(scores_v.argmax())
        return self._codec.img if pictures and img >= scores_v[best] else best

    def _projected(self, raw: RawPictures) -> Float32[np.ndarray, "n 1 d"]:
        return numpy_network.encode_pictures(self._arrays, raw.whole_ng)[:, None]


def load(checkpoint: Path | None = None) -> ChatSearcher:
    """The retriever with these weights; None: those in the box.

    Raises:
        BadInput: as `weights_of`.
    """
    return ChatSearcher(load_system_weights(SYSTEM, checkpoint, SHIPPED))


def _told(state: ChatState, lines: Sequence[str]) -> ChatState:
    return replace(state, adapters=(*state.adapters, *lines))


def _forgotten(state: ChatState) -> tuple[str, ...]:
    first = f"drop: what was said before turn {state.rounds[0].turn} is too long ago to be read" if state.forgot else ""
    return (first,) if first else ()


def _closed(rounds: tuple[ReadRound, ...], ended_lh: Float32[np.ndarray, "l h"]) -> tuple[ReadRound, ...]:
    """The rounds with what the last one's answer came to."""
    if not rounds:
        return ()
    *before, last = rounds
    return (*before, replace(last, places_lh=np.concatenate([last.places_lh, ended_lh])))
