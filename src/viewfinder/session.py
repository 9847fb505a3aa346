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
from viewfinder.errors import BadInput, EmptyQuery, UnknownName
from viewfinder.gallery import Gallery, Match, Scores, Verdict, explained, match_of, verdict_of
from viewfinder.pictures import decode_one
from viewfinder.questioners import Candidates, Questioner, load_questioner, values_meant
from viewfinder.retrievers import Change, Picture, Query, ResolvedTurn, Retriever
from viewfinder.retrievers.changes import Family, named_changes

CANDIDATES = 1000
"""The likeliest pictures, which a question is about."""

SHARPNESS = 20.0
"""Turns scores into chances for questions: a lead of 0.05 makes a picture e times as likely."""

FACTS = frozenset({"format", "year", "month", "camera", "folder"})
"""Columns that the files themselves fill; nobody means them by a "but ..."."""

MOST_VALUES = 64
"""Values of a catalogue column above which they are names rather than kinds."""

EXCLUSIVE_TAGS = frozenset({"colour"})
"""Groups of tags of which a thing has one, so that asking for one denies the others."""

TIE = 1e-6
"""Scores that differ by less are equal: a matrix product gives equal vectors scores a few float32 steps apart."""

KEPT_FROM = 5
"""Pictures from the top of the screen whose attribute `Keep` keeps, when none was picked there."""


@dataclass(frozen=True)
class Hit:
    """One result: `rank` from 1, `path` the first file that exists, `why` each turn's share of the score."""

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
        scores = gallery.scores(query)
        hits = self._hits(gallery, query, scores)
        # Going back brings back what was asked there, not the next best question.
        question = talk.pending if isinstance(turn, BackTo) else self._ask(talk, gallery, scores) if hits else None
        self.last_query = query
        self.conversation = talk.recorded(shown=tuple(hit.id for hit in hits), asked=question)
        return Hits(hits, _verdict(query, hits, scores), (time.perf_counter() - started) * 1000)

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
        gallery = self._gallery_now()
        row = gallery.row(_id(picture))
        scores = gallery.scores(self._retriever.query(self._state(self.conversation, self.conversation.here, gallery)))
        open_n = ~scores.excluded_n
        if not open_n[row]:
            return len(gallery) - 1
        return int((scores.total_n[open_n] >= scores.total_n[row] - TIE).sum()) - 1

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
            resolved = self._resolve(talk, node, talk.node(node.parent), gallery)
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
        return self._retriever.name, gallery.encoder.version, str(snapshot.folder), snapshot.generation, node.key

    def _resolve(self, talk: Conversation, node: Node, parent: Node, gallery: Gallery) -> ResolvedTurn:
        turn = node.turn
        assert turn is not None
        pictures: tuple[Picture, ...] = ()
        text = getattr(turn, "text", "")
        values: dict[str, tuple[str, ...]] = {}
        changes: tuple[Change, ...] = ()
        match turn:
            case Like(picture):
                pictures = (gallery.picture(picture),)
            case Show(pixels_ref):
                pictures = (_own_picture(pixels_ref, gallery),)
            case Reject(named):
                pictures = tuple(gallery.picture(picture) for picture in named)
            case Keep(attribute, at):
                pictures = _on_screen(talk.node(at), talk, gallery)
                values, text = _kept(attribute, pictures, gallery)
            case Answer(question, answer):
                values, text = _answered(question, answer, gallery)
        shown = tuple(
            gallery.picture(picture) for picture in parent.shown if gallery.snapshot.row_of(picture) is not None
        )
        if isinstance(turn, Like | Show) and gallery.encoder.vocabulary is not None:
            changes, text = named_changes(text, _families(gallery))
        vocabulary = gallery.encoder.vocabulary
        return ResolvedTurn(
            turn,
            node.number,
            gallery.encoder.words,
            text,
            pictures,
            shown,
            values,
            changes,
            vocabulary.words if vocabulary is not None else (),
        )

    def _hits(self, gallery: Gallery, query: Query, scores: Scores) -> list[Hit]:
        if not query.parts:
            return []
        rows_k = gallery.best(scores, self._n, self._allowed(gallery))
        shares_kp = gallery.shares(query, rows_k)
        return [
            Hit(
                rank=rank,
                id=gallery.snapshot.ids[row],
                path=_existing(gallery.snapshot.paths(row)),
                score=round(float(scores.total_n[row]), 4),
                match=match_of(scores.chance_of(float(scores.total_n[row]))),
                why=explained(query, shares_p),
            )
            for rank, (row, shares_p) in enumerate(zip(rows_k.tolist(), shares_kp, strict=True), start=1)
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


def _check_says_something(turn: Turn) -> None:
    if isinstance(turn, Say) and not turn.text.strip():
        raise EmptyQuery("nothing was said: describe the picture in a few words")


def _own_picture(file: str, gallery: Gallery) -> Picture:
    path = Path(file)
    if not path.is_file():
        raise BadInput(f"no such image: {path}")
    raw_1r = gallery.encoder.pictures([decode_one(path, gallery.encoder.fit).pixels]).global_bd
    return Picture(None, gallery.vectors_of(gallery.encoder.project(raw_1r)[0]))


def _on_screen(node: Node, talk: Conversation, gallery: Gallery) -> tuple[Picture, ...]:
    """What the user means by "what was there after that turn": the picture picked, else the top of the results."""
    while isinstance(node.turn, BackTo):
        node = talk.node(node.parent)
    if isinstance(node.turn, Show):
        return (_own_picture(node.turn.pixels_ref, gallery),)
    ids = (node.turn.picture,) if isinstance(node.turn, Like) else node.shown[:KEPT_FROM]
    if not ids:
        raise BadInput(f"nothing was on the screen after turn {node.number}: keep something of a later turn")
    return tuple(gallery.picture(picture) for picture in ids)


def _kept(attribute: str, pictures: tuple[Picture, ...], gallery: Gallery) -> tuple[dict[str, tuple[str, ...]], str]:
    """The value most of the pictures share: by the catalogue if it has such a column, else by zero-shot tags."""
    columns = gallery.snapshot.columns()
    column = attribute_named(attribute, columns)
    if column is not None:
        votes = [value for picture in pictures for value in picture.attributes.get(column, ())]
        if not votes:
            raise BadInput(f"the catalogue says nothing of {column} for the pictures of that turn")
        value = max(dict.fromkeys(votes), key=votes.count)
        return {column: (value,)}, value
    groups = tuple(group.name for group in gallery.tags.groups)
    group = attribute_named(attribute, groups)
    if group is None:
        raise UnknownName(f"no attribute is called {attribute!r}; there are: {', '.join((*columns, *groups))}")
    vectors_kd = np.stack([picture.vectors["global"] for picture in pictures])
    mean_t = gallery.tags.probabilities(vectors_kd)[group].mean(axis=0)
    return {}, gallery.tags.group(group).tags[int(mean_t.argmax())].phrase


def attribute_named(wanted: str, names: Sequence[str]) -> str | None:
    """The attribute a user means: the same letters, else the one name that contains them (colour -> baseColour)."""
    plain = {name: name.casefold().replace("color", "colour").replace("_", "").replace(" ", "") for name in names}
    asked = wanted.casefold().replace("color", "colour").replace("_", "").replace(" ", "")
    exact = [name for name, letters in plain.items() if letters == asked]
    inside = [name for name, letters in plain.items() if asked and asked in letters]
    return exact[0] if exact else inside[0] if len(inside) == 1 else None


def _answered(question: Question, answer: str, gallery: Gallery) -> tuple[dict[str, tuple[str, ...]], str]:
    """What an answer comes to in the catalogue, and in words."""
    if question.attribute is None or is_dont_know(answer):
        return {}, answer
    if question.attribute in gallery.snapshot.columns():
        values = values_meant(question, answer, gallery.snapshot.column(question.attribute).values)
        return ({question.attribute: values} if values else {}), answer
    known = {group.name: group for group in gallery.tags.groups}
    if question.attribute in known:
        group = known[question.attribute]
        meant = values_meant(question, answer, group.answers)
        phrases = [tag.phrase for tag in group.tags if tag.name in meant]
        return {}, ", ".join(phrases) if phrases else "" if group.none in meant else answer
    return {}, answer


def _families(gallery: Gallery) -> tuple[Family, ...]:
    """Values that exclude one another: those of catalogue columns, then colours and the like among the tags."""
    columns = [gallery.snapshot.column(name) for name in gallery.snapshot.columns() if name not in FACTS]
    known = [Family(column.values, column.name) for column in columns if 1 < len(column.values) <= MOST_VALUES]
    tagged = [
        Family(tuple(name for tag in group.tags for name in (tag.name, *tag.also)))
        for group in gallery.tags.groups
        if group.name in EXCLUSIVE_TAGS
    ]
    return (*known, *tagged)


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


def _verdict(query: Query, hits: Sequence[Hit], scores: Scores) -> Verdict:
    return verdict_of(scores.chance_of(hits[0].score) if hits else None)
