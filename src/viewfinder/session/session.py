"""A live search: a gallery, a retriever, a questioner and the conversation so far.

The path of a turn: `take` appends it to the conversation, `resolve_turn` looks up what it refers to, the retriever
makes one step, the gallery scores the query and a `Ranking` orders it, the questioner looks at the likeliest
candidates, and the conversation records what was shown and asked. `search` returns the results of a turn at once,
`follow_up` the question after it, `reply` the words of a retriever that answers in words.
"""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import partial
from numbers import Integral, Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar

from viewfinder.byte_cache import ByteCache
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
    check_turn,
)
from viewfinder.errors import BadInput, EmptyQuery, check_type
from viewfinder.pictures import AtMost, is_file, picture_id
from viewfinder.processors import use_one_blas_thread
from viewfinder.query import Operation
from viewfinder.questioners import Questioner, QuestionerChoice, find_questioner
from viewfinder.questioners.base import check_question
from viewfinder.retrievers import AnsweringRetriever, Retriever, RevisingRetriever
from viewfinder.retrievers.replies import check_query, check_reads, check_state
from viewfinder.search.gallery import Gallery
from viewfinder.search.hits import Hit, Hits
from viewfinder.search.picture_reading import predict_attributes
from viewfinder.search.ranking import Ranking
from viewfinder.session.candidates import select_candidates
from viewfinder.session.evidence import find_evidence, is_evidence_alone
from viewfinder.session.reading import Read, read_plainly
from viewfinder.session.resolve import ImageFile, resolve_turn
from viewfinder.session.said import find_revision_of, match_words, texts_said
from viewfinder.session.states import MEMO
from viewfinder.stopping import stop_if_asked
from viewfinder.store.rows import PictureRow

if TYPE_CHECKING:
    import numpy as np
    from PIL.Image import Image as PillowImage
    from typing_extensions import TypeIs

    OwnImage = str | Path | bytes | PillowImage | np.ndarray[Any, np.dtype[np.uint8]]
    """An image of the user's own: a file, what a file holds, a PIL image, or uint8 (h, w, 3), (h, w, 4) or (h, w)."""


Note = TypeVar("Note")
Answered = Literal["pictures", "words"]

Picture = Hit | PictureRow | PictureId
"""A picture of the collection: a result, a row of a library, or its id."""


class GallerySource(Protocol):
    """Something that has the pictures as they are now, for example a library that grows."""

    def gallery(self) -> Gallery:
        """The pictures as they are now; the same object until they change."""
        ...


class TurnMethods(ABC):
    """One method for each kind of turn, for sessions here and on a server (`client`)."""

    @abstractmethod
    def take(self, turn: Turn) -> Hits:
        """Takes one turn of any kind; returns what it finds."""

    @property
    @abstractmethod
    def question(self) -> Question | None:
        """The question that waits for an answer, if any."""

    @abstractmethod
    def _name_image(self, image: OwnImage) -> str:
        """The name of an image in a `Show`. Raises BadInput: it is not an image."""

    def say(self, text: str) -> Hits:
        """Describe the picture, or go on describing it."""
        return self.take(Say(text))

    def like(
        self,
        picture: Picture | OwnImage,
        but: str = "",
        turn: int | None = None,
        attributes: Sequence[str] | None = None,
    ) -> Hits:
        """Pick a picture; `but` says how the wanted one differs, `turn` goes on from what was shown at that turn.

        An image of your own (anything but a result, a row or an id) is taken as by `show`. `attributes`: the attributes
        of the picture that count, in place of its `attributes_of`.
        """
        if isinstance(picture, Picture):
            return self.take(Like(id_of(picture), but, turn, _check_attributes(attributes)))
        if turn is not None:
            raise BadInput("turn: an image of your own was not shown in an earlier turn, leave it out")
        return self.show(picture, but, attributes)

    def show(self, image: OwnImage, but: str = "", attributes: Sequence[str] | None = None) -> Hits:
        """Show an image of your own: a file, what one holds, a PIL image, or uint8 (h, w, 3), (h, w, 4) or (h, w).

        An image without a file is kept by this session only: a saved conversation has its name, not its pixels.
        """
        return self.take(Show(self._name_image(image), but, _check_attributes(attributes)))

    def answer(self, text: str) -> Hits:
        """Answer the pending question; "don't know" is an answer too."""
        return self.take(Answer(self._open_question("answer"), text))

    def skip(self) -> Hits:
        """Skip the pending question: the retriever hears nothing, and something else is asked."""
        return self.take(Answer(self._open_question("skip"), ""))

    def keep(self, attribute: str, turn: int) -> Hits:
        """Keep an attribute of what was on the screen after `turn`."""
        return self.take(Keep(attribute, turn))

    def reject(self, *pictures: Picture, text: str = "") -> Hits:
        """Reject pictures, or what `text` says; with neither, everything shown."""
        return self.take(Reject(tuple(id_of(picture) for picture in pictures), text))

    def back_to(self, turn: int) -> Hits:
        """Go on from an earlier turn; 0 is the start."""
        return self.take(BackTo(turn))

    def undo(self) -> Hits:
        """Take back the last turn that counts: go on from the one before it. Raises BadInput: nothing was said."""
        counting = self._list_counting()
        if not counting:
            raise BadInput("there is nothing to take back: nothing was said yet")
        return self.back_to(counting[-2].number if len(counting) > 1 else 0)

    @abstractmethod
    def _list_counting(self) -> Sequence[Node]:
        """The turns that count where this session stands, the first of them first."""

    def _open_question(self, verb: str) -> Question:
        if self.question is None:
            raise BadInput(f"there is no question to {verb}: say what you are looking for instead")
        return self.question


@dataclass(frozen=True, eq=False)
class TurnResult:
    """The result of one turn. It holds a number for every picture, so use it at once and do not keep it."""

    ranking: Ranking  # the collection as it is ordered now; has the query, and what could not be taken as given
    rows: list[int]  # where the pictures that it shows stand in the gallery
    started: float  # when it came, a `time.perf_counter()`

    def hits(self, *, explained: bool = False) -> Hits:
        """The pictures that it shows, with the verdict on all that was said; with their reasons only if `explained`."""
        ranking, hits = self.ranking, self.ranking.hits(len(self.rows), explained=explained)
        elapsed_ms = (time.perf_counter() - self.started) * 1000
        return Hits(hits, ranking.verdict, elapsed_ms, ranking.missing, ranking.unheard, ranking.reading)


def check_search(n: int, where: Mapping[str, str] | None) -> None:
    """Raises BadInput: a number of results or filters that are none."""
    check_type("n", n, Integral)
    check_type("where", where, Mapping, type(None))
    if n < 1:
        raise BadInput(f"n: {n} results are asked for, give 1 or more")
    for column, value in (where or {}).items():
        check_type("a column of where", column, str)
        check_type(f"where {column}", value, str)


class Session(TurnMethods):
    """One conversation, for one thread at a time.

    Args:
        pictures: those to search, or their source, which is asked once per turn so that a library may grow.
        retriever: reads the conversation into a query.
        questioner: asks back; a name, an object or its class; None or "none": no questions.
        n: how many results each turn has.
        where: catalogue columns to filter by.
        conversation: an earlier one to continue.
        memo: the cache of the retriever's states.
        image_file: finds the file of an image that a `Show` names.
        whose: who may see what `image_file` finds; states are shared only with sessions of the same owner.
        picture_bias: how much a retriever that speaks leans to pictures; None: its own default.
        today: the day on which "last summer" is said.
        fold: show one picture of each product, which names the others (see `Hit`).

    Attributes:
        adapters: the turns so far that the retriever could not take as given, and what was done instead.
    """

    def __init__(
        self,
        pictures: Gallery | GallerySource,
        retriever: Retriever[Any],
        questioner: QuestionerChoice,
        *,
        n: int = 10,
        where: Mapping[str, str] | None = None,
        conversation: Conversation | None = None,
        memo: ByteCache = MEMO,
        image_file: ImageFile = Path,
        whose: str = "",
        picture_bias: float | None = None,
        today: Callable[[], date] = date.today,
        fold: bool = False,
    ) -> None:
        check_search(n, where)
        check_type("conversation", conversation, Conversation, type(None))
        self._pictures = pictures
        self._whose = whose
        self._use_retriever(retriever if picture_bias is None else _set_bias(retriever, picture_bias))
        self._asks = questioner is not None and questioner != "none"
        self._make_questioner = find_questioner(questioner)
        self._questioner: Questioner | None = None
        self._n = n
        self._where = dict(where or {})
        self._fold = fold
        self._memo = memo
        self._today = today
        self.conversation = conversation or Conversation()
        # A retriever of another package that gives no query is reported now, not after the first turn.
        check_query(self._retriever, self._retriever.query(self._begun))
        self.adapters: tuple[str, ...] = ()
        self._image_file = image_file
        self._images: dict[str, bytes] = {}
        self._to_ask_about: Ranking | None = None
        if self._where:
            self._find_gallery().snapshot.where(self._where)  # report an unknown column now, not after the first turn

    # -- turns

    def _list_counting(self) -> Sequence[Node]:
        return self.conversation.path()

    def take(self, turn: Turn) -> Hits:
        """Takes one turn of any kind; if it cannot be taken, the conversation stays as it was.

        Raises:
            BadInput: it refers to a turn, picture, attribute or file that does not exist, or says nothing.
            EncoderMismatch: the retriever was trained on vectors of another encoder.
        """
        result = self.take_turn(turn)
        hits = result.hits(explained=True)
        self.follow_up()
        return hits

    def search(self, turn: Turn) -> Hits:
        """Takes one turn and returns its results at once: without reasons (`ranking` gives them), and nothing is asked
        before `follow_up`. Raises as `take`.
        """
        return self.take_turn(turn).hits()

    def take_turn(self, turn: Turn) -> TurnResult:
        """Takes one turn and returns all that came of it, not yet judged; nothing is asked before `follow_up`.

        Raises as `take`.
        """
        started = time.perf_counter()
        try:
            turn = check_turn(turn)
            if isinstance(turn, Say) and not turn.text.strip():
                raise EmptyQuery("nothing was said: describe the picture in a few words")
            conversation, day = self.conversation, self._today().isoformat()
            if isinstance(turn, Say | Answer) and self._speaker is None and self._find_gallery().matches_words:
                from viewfinder.session.replies import understand_turns

                *first, turn = understand_turns(turn, conversation, looks_back=self._looks_back)
                for done in first:  # "start over, a cat": of the first of two turns nothing is shown
                    conversation = conversation.then(done, day)
            conversation = conversation.then(turn, day)
        except (TypeError, ValueError) as error:
            raise BadInput(str(error)) from error
        ranking = self._rank_at(conversation, conversation.here, new=True)
        ids, rows = ranking.gallery.snapshot.ids, ranking.best(self._n).tolist()
        shown = tuple([ids[row] for row in rows])
        # Going back restores what was asked there, not the next best question.
        goes_back = isinstance(turn, BackTo)
        asked = conversation.pending if goes_back else None
        self.conversation = conversation.recorded(shown=shown, asked=asked)
        self.adapters = ranking.adapters
        # Nothing is asked after words either: the system does not speak twice in a row.
        due = shown and not goes_back and self._asks
        self._to_ask_about = ranking if due and (self._speaker is None or self.answered_with != "words") else None
        return TurnResult(ranking, rows, started)

    def follow_up(self) -> Question | None:
        """Chooses what to ask after the newest turn, once; returns the question that is now open."""
        choose = self.question_choice()
        if choose is not None:
            self.record_question(choose())
        return self.question

    @property
    def question_due(self) -> bool:
        """Whether what to ask after the newest turn is still to be chosen (the choice may be: nothing)."""
        return self._to_ask_about is not None

    def question_choice(self) -> Callable[[], Question | None] | None:
        """The call with which `follow_up` chooses a question; None if none is due.

        It changes nothing, so another thread may run it while the conversation goes on. Its result is for
        `record_question`, unless another turn was taken meanwhile.
        """
        about = self._to_ask_about
        return None if about is None else partial(self._choose_question, self.conversation, about)

    def reopen_question(self) -> None:
        """Makes a question due after the newest turn, for a conversation that continues with other settings."""
        due = self._asks and self.answered_with != "words"
        self._to_ask_about = self.ranking() if due else None

    def record_question(self, question: Question | None) -> None:
        """Records what was asked after the newest turn; then none is due any more."""
        self._to_ask_about = None
        self.conversation = self.conversation.recorded(shown=self.conversation.here.shown, asked=question)

    def ranking(self, number: int | None = None) -> Ranking:
        """The collection as a node orders it now (default: the present node). Raises ValueError: no such node."""
        node = self.conversation.here if number is None else self.conversation.node(number)
        return self._rank_at(self.conversation, node)

    @property
    def is_remembered(self) -> bool:
        """Whether the retriever's present state is in the memo, so that the next turn costs one step."""
        node = self.conversation.standing_at(self.conversation.here)
        key = (*self._make_key(self._find_gallery()), node.key)
        return node.turn is None or self._memo.get(key) is not None

    def operations(self, number: int | None = None) -> dict[int, tuple[Operation, ...]]:
        """The references of the turns up to a node (default: the present one) to earlier ones, by number of the turn.

        Raises ValueError: there is no such node.
        """
        gallery, lost = self._find_gallery(), dict[int, str]()
        node, read = (
            self.conversation.here if number is None else self.conversation.node(number),
            self._make_reader(gallery, self.conversation),
        )

        def find_operations(node: Node, state: Any) -> tuple[Operation, ...]:
            # Otherwise the retriever was not told of the turn: the operations are those of a turn before it.
            is_told = node.number not in lost and not is_evidence_alone(node.turn, gallery, read)
            return self._retriever.query(state).operations if is_told else ()

        return dict(self._note_turns("operations", find_operations, self.conversation, node, gallery, lost))

    # -- answers of retrievers that speak

    @property
    def answered_with(self) -> Answered | None:
        """Whether the newest turn is answered with pictures or in words; in words, its results are the previous ones.

        None if nothing was said yet, and from retrievers that do not speak: they answer with pictures only.
        """
        return self.answered_at(self.conversation.here.number)

    def answered_at(self, number: int) -> Answered | None:
        """`answered_with` for any node of the conversation. Raises ValueError: there is no such node."""
        state = self._find_answering_state(number)
        if state is None or self._speaker is None:
            return None
        return "pictures" if self._speaker.shows(state) else "words"

    def reply(self, number: int | None = None) -> Iterator[str]:
        """The words with which a turn (default: the newest) is answered, piece by piece as they are written.

        Join them without a separator; another thread may do so. Raises ValueError: there is no such node.
        """
        state = self._find_answering_state(self.conversation.here.number if number is None else number)
        return iter(()) if state is None or self._speaker is None else self._speaker.reply(state)

    @property
    def picture_bias(self) -> float | None:
        """How much the retriever leans to pictures when it chooses how to answer; None: it does not speak.

        Setting it rereads the whole conversation: what was answered one way may then be answered the other. With
        infinity every answer is pictures, with minus infinity words.

        Raises:
            BadInput: it is set, and the retriever does not speak; or it is not a number.
        """
        return None if self._speaker is None else self._speaker.picture_bias

    @picture_bias.setter
    def picture_bias(self, pictures: float) -> None:
        self._use_retriever(_set_bias(self._retriever, pictures))
        if self.question_due:
            self.reopen_question()

    # -- the present

    @property
    def question(self) -> Question | None:
        """The question that waits for an answer, if any."""
        return self.conversation.pending

    def attributes_of(self, picture: Picture) -> tuple[str, ...]:
        """The attributes that the retriever reads of a picked picture, the likeliest first. Raises UnknownName."""
        return tuple(self.attribute_chances(picture))

    def attribute_chances(self, picture: Picture) -> dict[str, float]:
        """The `attributes_of` a picture, and how likely each is."""
        gallery, predictor = self._find_gallery(), self._reads.predictor
        row = gallery.row(id_of(picture))
        space = self._reads.space
        version = None if space is None else space.raw_version
        return {} if predictor is None else predict_attributes(gallery, [row], predictor, self._reads.count, version)[0]

    def rank_of(self, picture: Picture) -> int:
        """0-based rank of a picture in the whole collection after this turn, pessimistic on ties.

        As in the papers' measures, 0 is the best: the first result, whose `Hit.rank` is 1, has `rank_of` 0. Rejected
        pictures, and those that a "but ..." went on from, rank last.
        """
        return self.rank_bounds(picture)[1]

    def rank_bounds(self, picture: Picture) -> tuple[int, int]:
        """The 0-based rank of a picture, at best and at worst where scores tie."""
        return self.ranking().rank_bounds(id_of(picture))

    # -- inside

    def _use_retriever(self, retriever: Retriever[Any]) -> None:
        self._retriever = retriever
        self._reads = check_reads(retriever)
        self._begun = check_state(retriever, retriever.begin(), "begin")
        self._speaker = retriever if isinstance(retriever, AnsweringRetriever) else None
        self._looks_back = bool(getattr(retriever, "looks_back", False))
        # Tells apart retrievers of one name with different weights, whose states must not be mixed.
        weights = getattr(retriever, "fingerprint", None)
        if not isinstance(weights, str):
            weights = "global" if retriever.reads.space is None else retriever.reads.space.name
        self._retriever_key = (retriever.name, weights, str(self.picture_bias), self._whose)

    def _find_gallery(self) -> Gallery:
        """The pictures as they are now."""
        return self._pictures if isinstance(self._pictures, Gallery) else self._pictures.gallery()

    def _name_image(self, image: OwnImage) -> str:
        if isinstance(image, str | Path):
            return str(image)
        from viewfinder.pictures.decode import MAX_PACKED_SIDE, pack_image

        if isinstance(image, bytes):
            from viewfinder.pictures.sandbox import decode_content

            image = decode_content(image, AtMost(MAX_PACKED_SIDE)).pixels
        packed = pack_image(image)
        name = f"pixels:{picture_id(packed)}"
        self._images[name] = packed
        return name

    def _find_image(self, name: str) -> Path | bytes:
        return self._images.get(name) or self._image_file(name)

    @use_one_blas_thread()
    def _rank_at(self, conversation: Conversation, node: Node, *, new: bool = False) -> Ranking:
        """`new`: the node's turn was just said, so what it names must exist."""
        gallery, lost = self._find_gallery(), dict[int, str]()
        state = self._compute_state(conversation, node, gallery, lost, new=new)
        query = check_query(self._retriever, self._retriever.query(state), gallery.widths(self._reads.space))
        stop_if_asked()
        path = conversation.path(node.number)
        unread = [
            f"drop: the attributes in turn {said.number}: {self._retriever.name} reads none"
            for said in (path if self._reads.predictor is None else ())
            if isinstance(said.turn, Like | Show) and said.turn.attributes is not None
        ]
        allowed_n = gallery.snapshot.where(self._where) if self._where else None
        adapters = (*query.adapters, *lost.values(), *unread)
        asks_for = path
        if (speaker := self._speaker) is not None:  # an answer in words needs no pictures
            shows = self._note_turns("shows", lambda _, state: speaker.shows(state), conversation, node, gallery, lost)
            with_pictures = {number for number, _ in shows}
            asks_for = tuple(it for it in path if conversation.standing_at(it).number in with_pictures)
        read = self._make_reader(gallery, conversation)
        evidence, matches = find_evidence(path, gallery, read), match_words(asks_for, gallery, read)
        query = replace(query, evidence=evidence, word_matches=matches)
        from viewfinder.session.facts import describe_turn_reading

        settled = frozenset(self._where)
        if any(":" in getattr(said.turn, "text", "") for said in path):
            from viewfinder.session.filters import add_filters, apply_filters  # few conversations have any

            filters = apply_filters(path, gallery, read, newest=node if new else None)
            if filters.allowed_n is not None:
                allowed_n = filters.allowed_n if allowed_n is None else allowed_n & filters.allowed_n
                query = replace(query, evidence=add_filters(query, filters, gallery))
            adapters, settled = (*adapters, *filters.lost.values()), settled | filters.columns
        reading = describe_turn_reading(path[-1].turn, read, gallery) if path else None
        return Ranking(
            gallery, query, allowed_n, adapters, texts_said(asks_for, read), reading, fold=self._fold, settled=settled
        )

    @property
    def reader(self) -> Read:
        """Reads what is said for the pictures as they are now."""
        return self._make_reader(self._find_gallery(), self.conversation)

    def _make_reader(self, gallery: Gallery, conversation: Conversation) -> Read:
        """Reads what is said for these pictures, each sentence on the day on which it was said; a retriever that speaks
        or looks back reads it itself."""
        today = self._today()
        if self._speaker is not None or self._looks_back:
            from viewfinder.session.sentences import read_filters

            return (lambda text: read_filters(text, gallery, today)) if gallery.matches_words else read_plainly
        from viewfinder.session.sentences import read_sentence

        # What was said today is read as of today, also if it was said before.
        said_on = {getattr(node.turn, "text", ""): node.day for node in conversation.nodes if node.day}
        then = {text: date.fromisoformat(day) for text, day in said_on.items() if day != today.isoformat()}
        return lambda text: read_sentence(text, gallery, then.get(text, today))

    def _make_key(self, gallery: Gallery) -> tuple[str, ...]:
        """All that the meaning of turns depends on besides the turns."""
        return (*self._retriever_key, *gallery.key, self._today().isoformat())

    def _compute_state(
        self, conversation: Conversation, node: Node, gallery: Gallery, lost: dict[int, str], *, new: bool = False
    ) -> Any:
        """The retriever's state at a node: from the memo, or by one step from each node after the last in it.

        `lost` collects turns that could not be taken, by their number. What a turn means may depend on the catalogue,
        so another state of the library is another state here.
        """
        newest, read, key = node if new else None, self._make_reader(gallery, conversation), self._make_key(gallery)
        state, ahead = self._recall(key, conversation, node)
        state = self._begun if state is None else state
        for later in reversed(ahead):
            stop_if_asked()
            is_heard = not is_evidence_alone(later.turn, gallery, read)
            if is_heard or find_revision_of(later, read) is not None:
                try:
                    resolved = resolve_turn(conversation, later, gallery, self._find_image, self._reads, read)
                except BadInput as error:
                    if later is newest:
                        raise
                    # It was taken when it was said, but what it named has gone since; the rest counts without it.
                    lost[later.number] = f"drop: turn {later.number}: {error}"
                    continue
                if is_heard:
                    state = check_state(self._retriever, self._retriever.step(state, resolved), "step")
                elif isinstance(self._retriever, RevisingRetriever):
                    state = check_state(self._retriever, self._retriever.take_back(state, resolved), "take_back")
            if not lost:  # a memoised state would hide the loss
                self._memo.put((*key, later.key), state)
        return state

    def _recall(self, key: tuple[str, ...], conversation: Conversation, node: Node) -> tuple[Any | None, list[Node]]:
        """The newest memoised value on the way to a node (None: there is none), and the nodes after it, newest first.

        Nodes that only move or skip a question are left out.
        """
        ahead: list[Node] = []
        while (node := conversation.standing_at(node)).turn is not None:
            if (known := self._memo.get((*key, node.key))) is not None:
                return known, ahead
            ahead.append(node)
            node = conversation.nodes[node.parent]
        return None, ahead

    def _note_turns(
        self,
        name: str,
        note: Callable[[Node, Any], Note],
        conversation: Conversation,
        node: Node,
        gallery: Gallery,
        lost: dict[int, str],
    ) -> tuple[tuple[int, Note], ...]:
        """The results of `note` for the turns up to a node and the states after them, by number, without empty ones.

        In the memo the newest turn has all of it, so that each turn is looked at once and only one entry stays in use.
        """
        key = (*self._make_key(gallery), name)
        known, ahead = self._recall(key, conversation, node)
        noted: tuple[tuple[int, Note], ...] = () if known is None else known
        for later in reversed(ahead):
            stop_if_asked()
            said = note(later, self._compute_state(conversation, later, gallery, lost))
            noted = (*noted, (later.number, said)) if said else noted
            if not lost:
                self._memo.put((*key, later.key), noted)
        return noted

    def _find_answering_state(self, number: int) -> Any | None:
        """The state that gives the answer at a node; None if nothing was said, or nothing is left of it."""
        if self._speaker is None:
            return None
        node = self.conversation.standing_at(self.conversation.node(number))
        if node.turn is None:
            return None
        lost: dict[int, str] = {}
        state = self._compute_state(self.conversation, node, self._find_gallery(), lost)
        return None if node.number in lost else state

    @use_one_blas_thread()
    def _choose_question(self, conversation: Conversation, ranking: Ranking) -> Question | None:
        if self._questioner is None:
            self._questioner = self._make_questioner(ranking.gallery.tags)
        asked = self._questioner.ask(select_candidates(ranking, conversation, settled=ranking.settled))
        return check_question(self._questioner, asked)


def id_of(picture: Picture) -> PictureId:
    """The id of a picture. Raises BadInput: it is not a picture."""
    check_type("picture", picture, Hit, PictureRow, str)
    return picture if isinstance(picture, str) else picture.id


def is_known(picture: Picture | OwnImage, library: Container[Picture]) -> TypeIs[Picture]:
    """Whether a picture of a library is meant, and not an image of one's own: a text is an id if it is no file's."""
    if isinstance(picture, str):
        return not is_file(picture) and picture in library
    return isinstance(picture, Picture)


def _check_attributes(attributes: Sequence[str] | None) -> tuple[str, ...] | None:
    check_type("attributes", attributes, list, tuple, type(None))
    return None if attributes is None else tuple(attributes)


def _set_bias(retriever: Retriever[Any], pictures: float) -> Retriever[Any]:
    if not isinstance(retriever, AnsweringRetriever):
        raise BadInput(f"{retriever.name} answers with pictures alone: leave the leaning out")
    check_type("picture_bias", pictures, Real)
    if math.isnan(pictures):
        raise BadInput("a leaning is a number: above 0 for pictures, below 0 for words")
    return retriever.with_picture_bias(pictures)
