"""ChatSearcher as a retriever: it continues reading where it stopped, and answers with pictures or in words.

Numpy only; `network` is what was trained. A state ends where an answer begins: the outcome of the answer (the picked
picture, or the words written) is read at the beginning of the next turn, so that a turn costs only its own positions.
What cannot be taken as given goes through a named adapter (`shared.verbalize`).
"""

from __future__ import annotations

import copy
import math
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import ClassVar

import numpy as np
from jaxtyping import Float32

from viewfinder.conversation import Answer, Like, PictureId, Say, Show
from viewfinder.data.chatsearch import ImageItem, TextItem
from viewfinder.query import Picture, Query, RawPictures, Reads, RegionSpace, ResolvedTurn, SentenceEncoder
from viewfinder.retrievers.chatsearcher import numpy_network
from viewfinder.retrievers.chatsearcher.sequence import Item, SequenceCodec, TokenizerRecord, TokenSequence
from viewfinder.retrievers.chatsearcher.settings import MIN_TEMPERATURE, ChatSearcherSettings
from viewfinder.retrievers.shared.numpy_network import check_sentences
from viewfinder.retrievers.shared.turn_parts import TurnVector, turn_parts
from viewfinder.retrievers.shared.verbalize import VerbalizedTurn, verbalize_turn
from viewfinder.training.presets import read_card_settings
from viewfinder.weights import Weights, load_system_weights

SYSTEM = "chatsearcher"
SHIPPED = Path(__file__).with_name("modern.safetensors")

MAX_PIECES = 32
"""The most pieces of an answer in words."""

LEFT = 0.75
"""How full a sequence may be once its oldest turns were dropped: one rereading then serves many turns."""

A_PICTURE = ImageItem("")
"""Stands for any picture: positions do not say which."""

LIKE_IT = "one like this"
"""The words for a picture that comes without any."""

BROKEN = "\N{REPLACEMENT CHARACTER}"
"""Stands for a character of which a piece has only a part."""


@dataclass(frozen=True, eq=False)
class UserMessage:
    """A turn of the user, as it is read.

    `brought` is the user's own picture, which stands before the words; `picked` the one picked among those shown, and
    `asked` the question to the user: these become the answer. `ruled`: the pictures ruled out and readmitted.
    """

    text: str = ""
    brought: Picture | None = None
    picked: Picture | None = None
    asked: str = ""
    adapters: tuple[str, ...] = ()
    ruled: VerbalizedTurn = field(default_factory=VerbalizedTurn)


def read_message(turn: ResolvedTurn, *, shown: bool) -> UserMessage:
    """A turn as it is read; one without words says nothing, and only rules out pictures.

    `shown`: whether the previous answer was pictures, so that one may be picked.
    """
    match turn.turn:
        case Say(text):
            return UserMessage(_join_lines(text))
        case Answer(question, text):
            return UserMessage(_join_lines(text), asked=_join_lines(question.text))
        case Like(text=words) | Show(text=words):
            # Words said of a picture rule it out; without words it may be the target, whatever ruled it out before.
            picture, text, lines = turn.pictures[0], _join_lines(words), []
            own = frozenset() if picture.id is None else frozenset({picture.id})
            ruled = VerbalizedTurn(excluded=own) if text else VerbalizedTurn(readmitted=own)
            if not text:
                lines.append(f'verbalise: the picture alone is said as "{LIKE_IT}"')
            since = turn.turn.turn if isinstance(turn.turn, Like) else None
            if since is not None:
                lines.append(f"drop: what was said after turn {since} stays, words cannot be taken back")
            picks = shown and isinstance(turn.turn, Like)
            brought, picked = (None, picture) if picks else (picture, None)
            return UserMessage(text or LIKE_IT, brought, picked, adapters=tuple(lines), ruled=ruled)
        case _:
            said = verbalize_turn(turn)
            return UserMessage(". ".join(said.sentences), adapters=said.adapters, ruled=said)


def _join_lines(text: str) -> str:
    return " ".join(text.split())


class LazyPieces:
    """Numbers computed once, on first use, and kept; thread-safe."""

    def __init__(self, numbers: Iterable[int] = ()) -> None:
        self._known: list[int] = []
        self._more = iter(numbers)
        self._lock = threading.Lock()

    def __iter__(self) -> Iterator[int]:
        for at in count():
            with self._lock:
                if at == len(self._known) and (number := next(self._more, None)) is not None:
                    self._known.append(number)
            if at == len(self._known):
                return
            yield self._known[at]


def stream_text(numbers: Iterable[int], text_of: Callable[[list[int]], str]) -> Iterator[str]:
    """The words of pieces, as whole characters; joined they are the text of all pieces.

    An incomplete character at the very end is left out.
    """
    known: list[int] = []
    told = 0
    for number in numbers:
        known.append(number)
        text = text_of(known)
        if len(text) > told and not text.endswith(BROKEN):
            yield text[told:]
            told = len(text)


@dataclass(frozen=True, eq=False)
class OpenAnswer:
    """An answer begun: pictures, perhaps after some words, or words alone."""

    shows: bool
    words: LazyPieces


@dataclass(frozen=True, eq=False)
class Reading:
    """Positions as they are read, and those of them that a query can point back at."""

    places_lh: Float32[np.ndarray, "l h"]
    pointed: numpy_network.Pointed

    def followed_by(self, other: Reading) -> Reading:
        """Both."""
        places_lh = np.concatenate([self.places_lh, other.places_lh])
        return Reading(places_lh, numpy_network.Pointed.join([self.pointed, other.pointed]))


@dataclass(frozen=True, eq=False)
class ReadRound:
    """The positions read of a turn, and of its answer once that is closed."""

    turn: int
    reading: Reading


@dataclass(frozen=True, eq=False)
class ChatState:
    """The dialogue as it was read so far, and its results.

    Attributes:
        excluded, adapters: as in `Query`.
    """

    cache: numpy_network.KeyValueCache  # of all rounds
    rounds: tuple[ReadRound, ...] = ()  # the rounds it was read from
    forgot: bool = False  # whether older rounds were dropped
    seen: Picture | None = None  # the last picture that was read
    open: OpenAnswer | None = None  # the answer to the last turn that said something; None: nothing was said
    silent: bool = False  # whether the last turn said nothing, and is answered with the standing query
    turns: tuple[TurnVector, ...] = ()  # the turns answered with pictures
    forced: TurnVector | None = None  # the query of the last turn, if no turn was answered with pictures
    excluded: frozenset[PictureId] = frozenset()
    adapters: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class ReadTurn:
    """The state after a turn was read, the answer begun, and its query; `asks_best`: it is about the best result."""

    state: ChatState
    open: OpenAnswer
    query_d: Float32[np.ndarray, " d"]
    asks_best: bool = False


class ChatSearcher:
    """A trained network of ChatSearcher at work.

    `fingerprint` changes with every number of the weights, not with `picture_bias` (see `AnsweringRetriever`).
    """

    name: ClassVar[str] = SYSTEM

    def __init__(self, weights: Weights) -> None:
        known = weights.card.settings
        self.settings = settings = read_card_settings(ChatSearcherSettings, weights.card)
        self.fingerprint, self.trained_on = weights.fingerprint, weights.card.trained_on
        self.picture_bias = float(known["leaning"])
        self._image_first = bool(known["image_first"])
        self._asks_best = bool(known.get("asks_best", False))
        self._sentences_version = str(known["sentences_version"])
        self._codec = SequenceCodec(TokenizerRecord(**known["tokeniser"]), settings.tokens, says=settings.says)
        self._language = numpy_network.build_language_model(
            weights.arrays, numpy_network.LanguageShape(**known["language"]), settings.lora
        )
        apart = ("language.layers.", "queue.")  # held in `_language`, or for training only
        self._arrays = {name: array for name, array in weights.arrays.items() if not name.startswith(apart)}
        self._sharpness = 1 / max(math.exp(float(weights.arrays["log_temperature"])), MIN_TEMPERATURE)
        self._img_1h = self._embed_tokens(np.array([self._codec.img])).places_lh
        self._begin_1h = self._embed_tokens(self._codec.begin().numbers_l).places_lh
        self._begun = numpy_network.read_places(self._language, self._begin_1h)[1]
        name, raw_version = f"{SYSTEM}-{weights.fingerprint}", weights.card.encoder
        self.space = RegionSpace.of_wholes(name, raw_version, self._project_pictures, settings.retrieval, SYSTEM)
        self.reads = Reads(self.space, "raw", named_regions=settings.tokens > 0, words=False)

    def with_picture_bias(self, pictures: float) -> ChatSearcher:
        """See `AnsweringRetriever`; the weights are shared."""
        other = copy.copy(self)
        other.picture_bias = pictures
        return other

    def begin(self) -> ChatState:
        """Nothing said."""
        return ChatState(self._begun)

    def step(self, state: ChatState, turn: ResolvedTurn) -> ChatState:
        """The state after one more turn. Raises as `Retriever.step`."""
        message = read_message(turn, shown=state.open is not None and state.open.shows)
        excluded, lines = message.ruled.after(state.excluded), (*state.adapters, *message.adapters)
        if not message.text:
            return replace(state, silent=True, excluded=excluded, adapters=lines)
        said, cut = self._encode_message(message, turn.number)
        read = self._read_turn(state, message, turn, said)
        if read.asks_best:
            lines = (*lines, f'picture: "{message.text}" is taken as asked of result 1, as no picture was picked')
        if not read.open.shows and isinstance(turn.turn, Like | Show):  # asked about it, so it is not ruled out
            excluded = state.excluded
        forced = TurnVector(turn.number, message.text, read.query_d)
        return replace(
            read.state,
            open=read.open,
            silent=False,
            turns=(*state.turns, forced) if read.open.shows else state.turns,
            forced=forced,
            excluded=excluded,
            adapters=(*lines, *cut),
        )

    def query(self, state: ChatState) -> Query:
        """One part a turn: how far it moved the query. Turns that are answered in words have none."""
        lines = state.adapters
        if state.forgot:
            line = f"drop: what was said before turn {state.rounds[0].turn} is too long ago to be read"
            lines = (*lines, line)
        return Query(
            turn_parts(state.turns or (() if state.forced is None else (state.forced,)), "regions"),
            self.space,
            "late_interaction",
            state.excluded,
            lines,
            self._sharpness,
        )

    def shows(self, state: ChatState) -> bool:
        """See `AnsweringRetriever`."""
        return state.open is None or state.open.shows or state.silent

    def reply(self, state: ChatState) -> Iterator[str]:
        """See `AnsweringRetriever`; the written words are kept with the state."""
        if state.open is not None and not self.shows(state):
            yield from stream_text(state.open.words, self._codec.decode)

    # -- reading

    def _read_turn(self, state: ChatState, message: UserMessage, turn: ResolvedTurn, said: TokenSequence) -> ReadTurn:
        """A turn after the outcome of the open answer, and the answer to it.

        With `asks_best`, what is typed after a search is first read as said of the best picture found. If words answer
        that, so it stays; else it goes on with the search, and that picture is no part of the dialogue.
        """
        shows = state.open is not None and state.open.shows
        best = turn.shown[:1] if shows else ()
        if message.picked is not None:
            return self._read_after([message.picked], state, message, turn, said)
        decides = best and self._asks_best and isinstance(turn.turn, Say) and self.picture_bias != np.inf
        if decides and not (asked := self._read_after(best, state, message, turn, said)).open.shows:
            return replace(asked, asks_best=True)
        read = self._read_after((), state, message, turn, said)
        return replace(read, open=OpenAnswer(True, LazyPieces())) if decides and not read.open.shows else read

    def _read_after(
        self,
        pictures: Sequence[Picture],
        state: ChatState,
        message: UserMessage,
        turn: ResolvedTurn,
        said: TokenSequence,
    ) -> ReadTurn:
        """A turn after an answer that showed these pictures."""
        brought = [] if message.brought is None else [message.brought]
        seen = next(reversed([*pictures, *brought]), state.seen)
        read = self._embed_tokens(said.numbers_l, brought, said.said, turn.sentences, seen)
        ended = self._embed_answer(state, message, pictures)
        after, states_2h = self._read_on(state, ended, ReadRound(turn.number, read))
        return ReadTurn(replace(after, seen=seen), *self._begin_answer(after, states_2h))

    def _embed_answer(self, state: ChatState, message: UserMessage, pictures: Sequence[Picture]) -> Reading:
        """The outcome of the open answer: pictures, the question, or what was written."""
        if state.open is None:
            return self._embed_tokens(np.zeros(0, int))
        items: list[Item] = [*([A_PICTURE] * len(pictures)), *([TextItem(message.asked)] if message.asked else [])]
        own = () if message.asked else state.open.words
        return self._embed_tokens(np.array([*own, *self._codec.encode_answer(items).numbers_l.tolist()]), pictures)

    def _encode_message(self, message: UserMessage, turn: int) -> tuple[TokenSequence, tuple[str, ...]]:
        """The user's words as tokens, and a line for `adapters` if they are too long to be read whole."""
        shown = [] if message.brought is None else [A_PICTURE]
        found, lines = self._codec.encode_user([*shown, TextItem(message.text)]), tuple[str, ...]()
        # Beside it stand the beginning and the [IMG] of the answer.
        if (over := len(found) + 2 - self.settings.longest) > 0:
            pieces = self._codec.tokenizer.encode(message.text)
            kept = self._codec.decode(pieces[: max(len(pieces) - over, 1)])
            found = self._codec.encode_user([*shown, TextItem(kept)])
            lines = (f"drop: turn {turn} is too long, its end is not read",)
        return found, lines

    def _read_on(
        self, state: ChatState, ended: Reading, said: ReadRound
    ) -> tuple[ChatState, Float32[np.ndarray, "2 h"]]:
        """The state with another round, and the network's states where the answer begins, and at [IMG] there.

        [IMG] is read at once, as most answers begin with it, but is not kept. If the dialogue is too long, its oldest
        rounds are dropped and the others reread.
        """
        rounds = (*state.rounds, said)
        if state.rounds:
            *before, last = state.rounds
            rounds = (*before, replace(last, reading=last.reading.followed_by(ended)), said)
        new_lh = np.concatenate([ended.places_lh, said.reading.places_lh, self._img_1h])
        cache, forgot = state.cache, state.forgot
        if len(cache) + len(new_lh) > self.settings.longest:
            most = int(LEFT * self.settings.longest)
            while len(rounds) > 1 and 2 + sum(len(one.reading.places_lh) for one in rounds) > most:
                rounds, forgot = rounds[1:], True
            cache = numpy_network.EMPTY_CACHE
            new_lh = np.concatenate([self._begin_1h, *(one.reading.places_lh for one in rounds), self._img_1h])
        states_lh, cache = numpy_network.read_places(self._language, new_lh, cache)
        return replace(state, cache=cache.shorter(1), rounds=rounds, forgot=forgot), states_lh[-2:]

    def _embed_tokens(
        self,
        numbers_l: np.ndarray,
        pictures: Sequence[Picture] = (),
        said: Sequence[str] = (),
        sentences: SentenceEncoder | None = None,
        seen: Picture | None = None,
    ) -> Reading:
        """Positions as they are read; `seen`: the last picture before the texts that are `said`."""
        shown = [
            numpy_network.embed_picture(
                self._arrays, self.settings, picture.vectors["raw"], picture.vectors.get("raw regions")
            )
            for picture in pictures
        ]
        said_ks = check_sentences(sentences, self._sentences_version).encode(list(said)) if said else None
        before_g = None if seen is None else seen.vectors["raw"]
        places_lh = numpy_network.embed_places(self._arrays, self.settings, numbers_l, shown, said_ks, before_g)
        whole_ng = [picture.vectors["raw"] for picture in pictures]
        return Reading(places_lh, numpy_network.point_at(self._arrays, self.settings, whole_ng, said_ks))

    # -- answering

    def _begin_answer(
        self, after: ChatState, states_2h: Float32[np.ndarray, "2 h"]
    ) -> tuple[OpenAnswer, Float32[np.ndarray, " d"]]:
        """The beginning of the answer, and its query if it shows pictures."""
        first, cache = self._next_piece(states_2h[0], pictures=True, first=True), after.cache
        pointed = numpy_network.Pointed.join([one.reading.pointed for one in after.rounds])
        query_d = numpy_network.encode_query(self._arrays, states_2h[1], pointed)
        if first == self._codec.img:
            return OpenAnswer(True, LazyPieces()), query_d
        if self._image_first:  # pictures would have come at once: words are written only if the reply is read
            return OpenAnswer(False, LazyPieces(self._write_words(cache, first, pictures=False))), query_d
        words = list(self._write_words(cache, first, pictures=True))
        if words[-1] != self._codec.img:
            return OpenAnswer(False, LazyPieces(words)), query_d
        states_lh, _ = numpy_network.read_places(self._language, self._embed_tokens(np.array(words)).places_lh, cache)
        return OpenAnswer(True, LazyPieces(words[:-1])), numpy_network.encode_query(
            self._arrays, states_lh[-1], pointed
        )

    def _write_words(self, cache: numpy_network.KeyValueCache, piece: int, *, pictures: bool) -> Iterator[int]:
        """An answer from its first piece on, without its end; with `pictures`, [IMG] is allowed and also ends it."""
        for _ in range(MAX_PIECES):
            yield piece
            if piece == self._codec.img:
                return
            states_1h, cache = numpy_network.read_places(
                self._language, self._embed_tokens(np.array([piece])).places_lh, cache
            )
            piece = self._next_piece(states_1h[0], pictures=pictures)
            if piece == self._codec.tokenizer.end:
                return

    def _next_piece(self, state_h: Float32[np.ndarray, " h"], *, pictures: bool, first: bool = False) -> int:
        """The likeliest piece: never [/IMG], and not the end at once; [IMG] with the picture bias."""
        scores_v = numpy_network.score_pieces(self._arrays, state_h)
        img = float(scores_v[self._codec.img]) + self.picture_bias
        scores_v[[self._codec.img, self._codec.end]] = -np.inf
        if first:
            scores_v[self._codec.tokenizer.end] = -np.inf
        best = int(scores_v.argmax())
        return self._codec.img if pictures and img >= scores_v[best] else best

    def _project_pictures(self, raw: RawPictures) -> Float32[np.ndarray, "n 1 d"]:
        return numpy_network.encode_pictures(self._arrays, raw.whole_ng)[:, None]


def load(checkpoint: Path | None = None) -> ChatSearcher:
    """The retriever with these weights; None: the shipped ones. Raises BadInput: as `load_system_weights`."""
    return ChatSearcher(load_system_weights(SYSTEM, checkpoint, SHIPPED))
