"""A live search: a gallery, a retriever, a questioner and the conversation so far.

The way of a turn: `take` appends it to the conversation, `_resolve` looks up what it refers to, the retriever
makes one step, the gallery scores the query, the questioner looks at the likeliest candidates, and what was
shown and asked is recorded in the conversation.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, overload

import numpy as np
from jaxtyping import Bool

from viewfinder.conversation import (
    Answer,
    BackTo,
    Conversation,
    Keep,
    Like,
    Node,
    PictureId,
    Question,
    Reject,
    Say,
    Show,
    Turn,
    is_dont_know,
)
from viewfinder.errors import BadInput, EmptyQuery
from viewfinder.gallery import Gallery, Match, Scores, Verdict, match_of, verdict_of
from viewfinder.questioners import Candidates, Questioner, load_questioner
from viewfinder.resolving import resolve
from viewfinder.retrievers import Query, RegionSpace, Retriever

CANDIDATES = 1000
"""The likeliest pictures, which a question is about."""

SHARPNESS = 20.0
"""Turns scores into chances for questions: a lead of 0.05 makes a picture e times as likely."""

TIE = 1e-6
"""Scores that differ by less are equal: a matrix product gives equal vectors scores a few float32 steps apart."""


@dataclass(frozen=True)
class Hit:
    """One result: `rank` from 1, `path` the first file that exists, `why` the score comes to this, as JSON.

        {"turns": [{"turn": 1, "parts": ["a red car"], "adds": 0.31, "share": 1.0}],
         "regions": {"boxes": [[0.0, 0.0, 0.167, 0.167], ...],
                     "slots": [{"said": "a red car", "turn": 1, "weights": [0.004, ...], "adds": 0.31}]}}

    `turns`: what each turn adds to the score, and its share of all that is added or taken away.

    `regions`, from retrievers that compare with many vectors a picture (`RegionSpace`): `boxes` are where these
    lie, [x0, y0, x1, y1] as shares of width and height (an empty list where that is not known), and each of `slots`
    is one vector of the query: what it holds in words, the turn that was last written into it, how much it looks at
    each box (the weights add up to 1), and what it adds to the score.
    """

    rank: int
    id: PictureId
    path: str
    score: float
    match: Match
    why: dict[str, Any] = field(default_factory=dict, compare=False)


class Hits(Sequence[Hit]):
    """Results, best first, with the verdict on the whole: is what was asked for here at all?"""

    def __init__(self, hits: Sequence[Hit], verdict: Verdict, elapsed_ms: float) -> None:
        self._hits = tuple(hits)
        self.verdict = verdict
        self.elapsed_ms = elapsed_ms

    @overload
    def __getitem__(self, index: int) -> Hit: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Hit, ...]: ...
    def __getitem__(self, index: int | slice) -> Hit | tuple[Hit, ...]:
        return self._hits[index]

    def __len__(self) -> int:
        return len(self._hits)

    def __repr__(self) -> str:
        return f"Hits({self.verdict}, {list(self._hits)!r})"

    def to_json(self) -> dict[str, Any]:
        """Verdict, results and time, as the command line prints them."""
        return {
            "verdict": self.verdict,
            "results": [asdict(hit) for hit in self._hits],
            "elapsed_ms": round(self.elapsed_ms, 2),
        }


class StepMemo:
    """States after turns, by retriever and node key; the least recently used go first. For all threads."""

    def __init__(self, size: int = 4096) -> None:
        self._size = size
        self._states: OrderedDict[tuple[str, ...], Any] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: tuple[str, ...]) -> Any | None:
        """The state, or None where it must be computed."""
        with self._lock:
            if key in self._states:
                self._states.move_to_end(key)
            return self._states.get(key)

    def put(self, key: tuple[str, ...], state: Any) -> None:
        """Keeps a state."""
        with self._lock:
            self._states[key] = state
            self._states.move_to_end(key)
            while len(self._states) > self._size:
                self._states.popitem(last=False)


MEMO = StepMemo()
"""The one cache of the process: a turn costs one step however long the talk, and going back costs nothing."""


class Session:
    """One talk. `gallery` is asked at every turn, so that a library that grows is seen."""

    def __init__(
        self,
        gallery: Callable[[], Gallery],
        retriever: Retriever[Any],
        questioner: str | None,
        *,
        n: int = 10,
        where: Mapping[str, str] | None = None,
        conversation: Conversation | None = None,
        memo: StepMemo = MEMO,
    ) -> None:
        self._gallery_now = gallery
        self._retriever = retriever
        self._weights = _weights_of(retriever)
        self._questioner_name = questioner
        self._questioner: Questioner | None = None
        self._n = n
        self._where = dict(where or {})
        self._memo = memo
        self.conversation = conversation or Conversation()
        self.last_query = Query(())
        self._lost: dict[int, str] = {}
        if self._where:
            gallery().snapshot.where(self._where)  # an unknown column is better said now than after the first turn

    # -- turns

    def say(self, text: str) -> Hits:
        """Describe the picture, or go on describing it."""
        return self.take(Say(text))

    def like(self, picture: Hit | PictureId, but: str = "", turn: int | None = None) -> Hits:
        """Pick a picture; `but` says how the wanted one differs, `turn` goes on from what was shown back then."""
        return self.take(Like(_id(picture), but, turn))

    def show(self, image: str | Path, but: str = "") -> Hits:
        """Show an image of your own."""
        return self.take(Show(str(image), but))

    def answer(self, text: str) -> Hits:
        """Answer the pending question; "don't know" is an answer too."""
        question = self.question
        if question is None:
            raise BadInput("there is no question to answer: say what you are looking for instead")
        return self.take(Answer(question, text))

    def keep(self, attribute: str, turn: int) -> Hits:
        """Keep an attribute of what was on the screen after `turn`."""
        return self.take(Keep(attribute, turn))

    def reject(self, *pictures: Hit | PictureId, text: str = "") -> Hits:
        """Reject pictures, or what `text` says; with neither, everything that is shown."""
        return self.take(Reject(tuple(_id(picture) for picture in pictures), text))

    def back_to(self, turn: int) -> Hits:
        """Go on from an earlier turn; 0 is the start."""
        return self.take(BackTo(turn))

    def take(self, turn: Turn) -> Hits:
        """One turn of any kind; if it cannot be taken, the conversation stays as it was.

        Raises:
            BadInput: it refers to a turn, picture, attribute or file that does not exist, or says nothing.
            EncoderMismatch: the retriever was trained on vectors of another encoder.
        """
        started = time.perf_counter()
        _check_says_something(turn)
        try:
            talk = self.conversation.then(turn)
        except ValueError as error:
            raise BadInput(str(error)) from error
        gallery = self._gallery_now()
        self._lost = {}
        query = self._retriever.query(self._state(talk, talk.here, gallery))
        scores = gallery.scores(query, allowed_n=self._allowed(gallery))
        hits = self._hits(gallery, query, scores)
        # Going back brings back what was asked there, not the next best question.
        question = talk.pending if isinstance(turn, BackTo) else self._ask(talk, gallery, scores) if hits else None
        self.last_query = query
        self.conversation = talk.recorded(shown=tuple(hit.id for hit in hits), asked=question)
        return Hits(
            hits, verdict_of(scores.chance_of(hits[0].score) if hits else None), (time.perf_counter() - started) * 1000
        )

    # -- the present

    @property
    def question(self) -> Question | None:
        """The question that waits for an answer, if any."""
        return self.conversation.pending

    @property
    def adapters(self) -> tuple[str, ...]:
        """Which turns the retriever could not take as given, and what was done instead."""
        return (*self.last_query.adapters, *self._lost.values())

    def rank_of(self, picture: Hit | PictureId) -> int:
        """0-based rank of a picture in the whole collection after this turn, pessimistic on ties.

        Rejected pictures, and those that a "but ..." went on from, rank last.
        """
        return self.rank_bounds(picture)[1]

    def rank_bounds(self, picture: Hit | PictureId) -> tuple[int, int]:
        """The 0-based rank of a picture, at best and at worst where scores tie."""
        gallery = self._gallery_now()
        row = gallery.row(_id(picture))
        query = self._retriever.query(self._state(self.conversation, self.conversation.here, gallery))
        scores = gallery.scores(query, exact=True)
        open_n = ~scores.excluded_n
        if not open_n[row]:
            return len(gallery) - 1, len(gallery) - 1
        lead_k = scores.total_n[open_n] - scores.total_n[row]
        return int((lead_k > TIE).sum()), int((lead_k >= -TIE).sum()) - 1

    # -- inside

    def _state(self, talk: Conversation, node: Node, gallery: Gallery) -> Any:
        """The retriever's state at a node: from the memo, or by one step from each node after the last in it."""
        ahead: list[Node] = []
        state = None
        while state is None:
            while isinstance(node.turn, BackTo):
                node = talk.node(node.parent)
            state = self._retriever.begin() if node.turn is None else self._memo.get(self._memo_key(node, gallery))
            if state is None:
                ahead.append(node)
                node = talk.node(node.parent)
        for later in reversed(ahead):
            state = self._stepped(state, talk, later, gallery)
        return state

    def _stepped(self, before: Any, talk: Conversation, node: Node, gallery: Gallery) -> Any:
        try:
            resolved = resolve(talk, node, gallery)
        except BadInput as error:
            if node is talk.here:
                raise
            # It was taken when it was said: what it named has gone since, and the talk goes on without it.
            self._lost[node.number] = f"drop: turn {node.number}: {error}"
            return before
        state = self._retriever.step(before, resolved)
        if not self._lost:  # a memoised state would hide the loss
            self._memo.put(self._memo_key(node, gallery), state)
        return state

    def _memo_key(self, node: Node, gallery: Gallery) -> tuple[str, ...]:
        """What a turn comes to may depend on the catalogue, so another state of the library is another state here."""
        snapshot = gallery.snapshot
        library = (gallery.encoder.version, str(snapshot.folder), snapshot.generation)
        return self._retriever.name, self._weights, *library, node.key

    def _hits(self, gallery: Gallery, query: Query, scores: Scores) -> list[Hit]:
        if not query.parts:
            return []
        rows_k = gallery.best(scores, self._n, self._allowed(gallery))
        return [
            Hit(
                rank=rank,
                id=gallery.snapshot.ids[row],
                path=_existing(gallery.snapshot.paths(row)),
                score=round(float(scores.total_n[row]), 4),
                match=match_of(scores.chance_of(float(scores.total_n[row]))),
                why=why,
            )
            for rank, (row, why) in enumerate(
                zip(rows_k.tolist(), gallery.why(query, rows_k, scores), strict=True), start=1
            )
        ]

    def _allowed(self, gallery: Gallery) -> Bool[np.ndarray, " n"] | None:
        return gallery.snapshot.where(self._where) if self._where else None

    def _ask(self, talk: Conversation, gallery: Gallery, scores: Scores) -> Question | None:
        if self._questioner_name is None:
            return None
        if self._questioner is None:
            self._questioner = load_questioner(self._questioner_name, tags=gallery.tags)
        rows_c = gallery.best(scores, CANDIDATES, self._allowed(gallery))
        logits_c = SHARPNESS * (scores.total_n[rows_c] - scores.total_n[rows_c].max())
        chances_c = np.exp(logits_c.astype(np.float64))
        columns = (gallery.snapshot.column(name) for name in gallery.snapshot.columns())
        path = talk.path()
        return self._questioner.ask(
            Candidates(
                probabilities_c=chances_c / chances_c.sum(),
                vectors_cd=gallery.snapshot.matrix_nd[rows_c],
                columns={column.name: (column.values, column.first_codes_n[rows_c]) for column in columns},
                said=tuple(text for node in path if (text := getattr(node.turn, "text", ""))),
                asked=tuple(node.asked for node in path if node.asked is not None),
                settled=frozenset(self._where) | _settled(path),
            )
        )


def _id(picture: Hit | PictureId) -> PictureId:
    return picture.id if isinstance(picture, Hit) else picture


def _weights_of(retriever: Retriever[Any]) -> str:
    """Tells retrievers of one name and different weights apart: their states are not each other's."""
    space = retriever.query(retriever.begin()).space
    return space.name if isinstance(space, RegionSpace) else space


def _check_says_something(turn: Turn) -> None:
    if isinstance(turn, Say) and not turn.text.strip():
        raise EmptyQuery("nothing was said: describe the picture in a few words")


def _settled(path: Sequence[Node]) -> frozenset[str]:
    names: set[str] = set()
    for node in path:
        match node.turn:
            case Keep(attribute):
                names.add(attribute)
            case Answer(question, text) if question.attribute is not None and not is_dont_know(text):
                names.add(question.attribute)
            case _:
                pass
    return frozenset(names)


def _existing(paths: Sequence[str]) -> str:
    return next((path for path in paths if Path(path).exists()), paths[0])
