"""Between the API and a session: turns come in, and their results go out, a page at a time, with beliefs.

Beliefs are what the system takes the user to want now, as chips that can be taken back one by one: the parts of the
present query, each under the turn it came from, the answers that count as evidence, and the rejected pictures. A value
of the catalogue and the words for it are one chip, and so is an answer that is also read as words. If a system puts
several turns into one part, each of them is a chip (`Part.holds`).
"""

from __future__ import annotations

import json
import re
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from viewfinder.conversation import (
    Answer,
    BackTo,
    Conversation,
    Keep,
    Like,
    Node,
    Question,
    Reject,
    Say,
    Show,
    Turn,
    turn_to_json,
)
from viewfinder.errors import BadInput, EmptyQuery
from viewfinder.query import Part, Query
from viewfinder.search.columns import find_hits, parse_order
from viewfinder.search.gallery import Gallery
from viewfinder.search.listing import list_hits, order_by_date
from viewfinder.search.ranking import Ranking
from viewfinder.server.conversations import schemas
from viewfinder.server.conversations.moved_on import find_meant, tell_node
from viewfinder.server.conversations.pools import RetrieverPool, choose_picture_bias
from viewfinder.server.conversations.schemas import Belief, SearchIn, SearchResults
from viewfinder.server.database import SessionRow
from viewfinder.server.database.said_words import find_words
from viewfinder.server.pictures.library import make_hits, next_cursor, parse_cursor
from viewfinder.session.reading import Read, Reading, read_plainly
from viewfinder.session.resolve import ImageFile
from viewfinder.session.session import Session
from viewfinder.store.snapshot import Snapshot
from viewfinder.wording.clauses import Clauses, split_clauses

if TYPE_CHECKING:
    from viewfinder.server.access.signatures import Signer
    from viewfinder.server.access.tokens import Caller
    from viewfinder.server.pictures.uploads import Uploads

MAX_MATCHES, MAX_MATCH = 3, 160
"""Turns that a conversation in a list shows of a search, and characters of each."""

_WORD = re.compile(r"\S+")

MAX_IMPORTED = 2000
"""The most turns of an imported conversation."""

MAX_NODES = 10_000
"""The most turns of any conversation, with all its branches: all are read again whenever the conversation is."""


def parse_turn(given: schemas.TurnIn, pending: Question | None) -> Turn:  # noqa: PLR0911 (one line a kind of turn)
    """The turn in a request; `pending` is the question that an answer without one answers.

    Raises:
        BadInput: an answer to nothing.
    """
    match given:
        case schemas.SayTurn(say=text):
            return Say(text)
        case schemas.LikeTurn(like=picture, but=text, turn=at, attributes=attributes):
            return Like(picture, text, at, None if attributes is None else tuple(attributes))
        case schemas.ShowTurn(show=upload, but=text, attributes=attributes):
            return Show(upload, text, None if attributes is None else tuple(attributes))
        case schemas.RejectTurn(reject=pictures, text=text):
            return Reject(tuple(pictures), text)
        case schemas.KeepTurn(keep=attribute, turn=number):
            return Keep(attribute, number)
        case schemas.BackToTurn(back_to=number):
            return BackTo(number)
        case schemas.AnswerTurn(question=asked) | schemas.SkipTurn(question=asked):
            verb, text = ("answer", given.answer) if isinstance(given, schemas.AnswerTurn) else ("skip", "")
            question = pending if asked is None else question_from_api(asked)
            if question is None:
                raise BadInput(f"there is no question to {verb}: say what you are looking for instead")
            return Answer(question, text)


def answers_open_question(given: schemas.TurnIn) -> bool:
    """Whether a turn is about the open question, without naming it."""
    return isinstance(given, schemas.AnswerTurn | schemas.SkipTurn) and given.question is None


def question_to_api(question: Question | None) -> schemas.Question | None:
    """A question as the API has it; unchecked, as the limits are for the questions of clients."""
    if question is None:
        return None
    return schemas.Question.model_construct(
        text=question.text,
        choices=list(question.choices),
        by=question.by,
        why=question.why,
        attribute=question.attribute,
        examples=list(question.examples),
    )


def question_from_api(asked: schemas.Question) -> Question:
    """A question that a client gives with its answer."""
    choices, examples = tuple(asked.choices), tuple(asked.examples)
    return Question(asked.text, choices, asked.by, asked.why, asked.attribute, examples)


def parse_conversation(document: Mapping[str, Any]) -> Conversation:
    """The conversation in an imported document.

    Raises:
        BadInput: it is none, has too many turns, or text that no database keeps.
    """
    turns = document.get("turns")
    if isinstance(turns, list) and len(turns) > MAX_IMPORTED:
        raise BadInput(f"this conversation has {len(turns)} turns: at most {MAX_IMPORTED} can be imported")
    try:
        if b"\0" in json.dumps(document, ensure_ascii=False).encode().replace(b"\\u0000", b"\0"):
            raise BadInput("this conversation has characters that are no text (NUL): take them out")
        return Conversation.from_json(document)
    except UnicodeEncodeError as error:
        raise BadInput(
            "this conversation has characters that are no text (half of a surrogate pair): take them out"
        ) from error
    except ValueError as error:
        raise BadInput(str(error)) from error


def check_length(turns: int) -> None:
    """Checks that a conversation may have so many turns.

    Raises:
        BadInput: it would have too many.
    """
    if turns > MAX_NODES:
        raise BadInput(f"a conversation has at most {MAX_NODES:,} turns, with all its branches: begin another one")


def session_to_api(row: SessionRow) -> schemas.Session:
    """A conversation as the API has it; the retriever that a study compares stays hidden."""
    return schemas.Session.model_validate({**vars(row), "retriever": None if row.hidden else row.retriever})


def list_to_api(row: SessionRow, matches: Sequence[tuple[int, str]], sought: Sequence[str]) -> schemas.ListedSession:
    """A conversation in a list, with turns that say what was sought, up to `MAX_MATCHES`."""
    told = [schemas.SaidMatch(turn=turn, text=shorten_around(text, sought)) for turn, text in matches[:MAX_MATCHES]]
    return schemas.ListedSession.model_validate({**session_to_api(row).model_dump(), "matches": told})


def shorten_around(text: str, sought: Sequence[str], most: int = MAX_MATCH) -> str:
    """A text of at most so many characters, and dots where it was cut, with the first word that was sought.

    >>> shorten_around("a long way to the snow on the hills", ["snow"], 16)
    '… the snow on the …'
    """
    if len(text) <= most:
        return text
    starts = tuple(sought)
    places = (
        found.start() for found in _WORD.finditer(text) if any(word.startswith(starts) for word in find_words(found[0]))
    )
    start = max(0, min(next(places, 0) - most // 3, len(text) - most))
    return ("… " if start else "") + text[start : start + most].strip() + (" …" if start + most < len(text) else "")


def tree_to_api(row: SessionRow, conversation: Conversation, times: dict[int, float]) -> schemas.SessionTree:
    """A conversation with all its branches."""
    nodes = [_node_to_api(node, conversation, times) for node in conversation.nodes]
    path = [node.number for node in conversation.path()]
    known = session_to_api(row).model_dump(exclude={"turns"})
    return schemas.SessionTree(**known, turns=len(conversation), tree=nodes, path=path)


def news_to_api(conversation: Conversation, after: int, times: dict[int, float]) -> schemas.News:
    """The turns since turn `after`."""
    since = [_node_to_api(node, conversation, times) for node in conversation.nodes[after + 1 :]]
    stands_at = find_meant(conversation, len(conversation)).number
    return schemas.News(newest=len(conversation), stands_at=stands_at, turns=since)


def _node_to_api(node: Node, conversation: Conversation, times: dict[int, float]) -> schemas.TreeNode:
    return schemas.TreeNode(
        number=node.number,
        parent=node.parent,
        turn=None if node.turn is None else turn_to_json(node.turn),
        told=tell_node(conversation, node),
        shown=len(node.shown),
        first=node.shown[0] if node.shown else None,
        asked=question_to_api(node.asked),
        at=datetime.fromtimestamp(times[node.number], UTC) if node.number in times else None,
    )


@dataclass(frozen=True)
class Wanted:
    """What results are to have with them (`fields`, columns of the catalogue), and their order (`sort`, as `Order`).

    `signer`: signs addresses, for callers who need them.
    """

    fields: Sequence[str] = ()
    sort: str = ""
    signer: Signer | None = None


AS_THEY_RANK = Wanted()


def read_page(
    ranking: Ranking, n: int, start: int, wanted: Wanted = AS_THEY_RANK, *, why: bool = False
) -> dict[str, Any]:
    """The `n` results of a ranking after the first `start`, as the fields that `Results` and `SearchResults` share.

    Raises UnknownName: `wanted` names a column that does not exist.
    """
    snapshot = ranking.gallery.snapshot
    order = parse_order(snapshot, wanted.sort)
    found = find_hits(ranking, order, n, start)
    reasons = ranking.why([hit.id for hit in found]) if why else None
    rows = ranking.best(start + n)[start:].tolist() if order is None else None
    total = ranking.total
    likely, maybe = ranking.count_matches()
    return {
        "verdict": ranking.verdict,
        "results": make_hits(snapshot, found, reasons, rows=rows, fields=wanted.fields, signer=wanted.signer),
        "total": total,
        "likely": likely,
        "maybe": maybe,
        "next": next_cursor(start + len(found), total),
        "adapters": list(ranking.adapters),
        "missing": ranking.missing,
        "unheard": list(ranking.unheard),
        "reading": None if ranking.reading is None else ranking.reading.to_json(),
    }


@dataclass(frozen=True)
class SeenSession:
    """A conversation as it was when it was read, with a session that only its reader uses.

    `asking`: the turn after which a question is still being chosen, None: it is not. `replies`: answers in words that
    were written, by number of turn.
    """

    row: SessionRow
    session: Session
    asking: int | None
    replies: dict[int, str]


def results_to_api(
    seen: SeenSession,
    number: int,
    ranking: Ranking,
    started: float,
    wanted: Wanted = AS_THEY_RANK,
    *,
    n: int | None = None,
    start: int = 0,
) -> schemas.Results:
    """The results of a turn as the API has them: `n` (by default, as many as the conversation has) from `start` on."""
    session, hidden = seen.session, seen.row.hidden
    conversation, answer = session.conversation, None
    page = read_page(ranking, n or seen.row.n, start, wanted)
    if hidden:
        page["adapters"] = []  # they would name the retriever, which a study compares
    elif (kind := session.answered_at(number)) is not None:
        answer = schemas.Answered(kind=kind, text=seen.replies.get(number) if kind == "words" else None)
    done = {} if hidden else session.operations(number)
    here = f"/api/v1/sessions/{seen.row.id}/turns/{number}"
    return schemas.Results(
        **page,
        turn=number,
        beliefs=find_beliefs(ranking.query, conversation, conversation.path(number), session.reader),
        operations=[schemas.Operation(said=said, **asdict(each)) for said, some in done.items() for each in some],
        question=question_to_api(conversation.nodes[number].asked),
        asking=seen.asking == number,
        answer=answer,
        events=wanted.signer and wanted.signer.sign(f"{here}/events"),
        reply_events=wanted.signer and wanted.signer.sign(f"{here}/reply/events"),
        elapsed_ms=milliseconds_since(started),
    )


def milliseconds_since(started: float) -> float:
    """Milliseconds since a `time.perf_counter()`, to hundredths."""
    return round((time.perf_counter() - started) * 1000, 2)


def search_once(
    retrievers: RetrieverPool, uploads: Uploads, caller: Caller, given: SearchIn, signer: Signer | None = None
) -> SearchResults:
    """One search without a session: a conversation of one or two turns that is not kept.

    Raises:
        EmptyQuery, UnknownName, BadInput: nothing is asked for; or something that is not there.
        Problem: the retriever has yet to be prepared.
    """
    started = time.perf_counter()
    retriever, gallery = retrievers.retriever(given.retriever), retrievers.gallery(given.retriever)
    if given.where and given.like is None and given.show is None and not (given.text.strip() or given.without.strip()):
        return _list_by_date(gallery.snapshot, given, started, signer)
    conversation = Conversation()
    image_file = partial(uploads.find, may_see=caller.may_see)
    for turn in _parse_search(given, gallery, image_file):
        conversation = conversation.then(turn)
    session = Session(
        gallery,
        retriever,
        None,
        where=given.where,
        conversation=conversation,
        image_file=image_file,
        whose=caller.token or "",
        picture_bias=choose_picture_bias(retriever, None, pictures_alone=True),
        fold=given.fold,
    )
    wanted = Wanted(given.fields, given.sort, signer)
    page = read_page(session.ranking(), given.n, parse_cursor(given.cursor), wanted, why=given.why)
    return SearchResults(**page, elapsed_ms=milliseconds_since(started))


def _list_by_date(snapshot: Snapshot, given: SearchIn, started: float, signer: Signer | None) -> SearchResults:
    """Pictures that meet the filters of a search for nothing else, the newest first if it gives no other order."""
    rows, start = order_by_date(snapshot, given.where), parse_cursor(given.cursor)
    if order := parse_order(snapshot, given.sort):
        rows = [rows[place] for place in order.arrange(snapshot, rows)]
    shown = rows[start : start + given.n]
    hits = list_hits(snapshot, shown, start)
    return SearchResults(
        verdict="found" if rows else "nothing",
        results=make_hits(
            snapshot,
            hits,
            {hit.id: hit.why for hit in hits} if given.why else None,
            rows=shown,
            fields=given.fields,
            signer=signer,
        ),
        total=len(rows),
        likely=len(rows),
        next=next_cursor(start + len(hits), len(rows)),
        adapters=[],
        elapsed_ms=milliseconds_since(started),
    )


def _parse_search(given: SearchIn, gallery: Gallery, image_file: ImageFile) -> list[Turn]:
    """The turns that make a search. Raises UnknownName: a picture or upload that they name does not exist."""
    if given.like is not None and given.show is not None:
        raise BadInput("a search goes on from one picture: give `like` or `show`, not both")
    first: Turn
    attributes = None if given.attributes is None else tuple(given.attributes)
    if given.like is not None:
        gallery.row(given.like)
        first = Like(given.like, given.text, attributes=attributes)
    elif given.show is not None:
        image_file(given.show)
        first = Show(given.show, given.text, attributes)
    elif given.text.strip():
        first = Say(given.text)
    else:
        raise EmptyQuery("nothing to look for: give a few words, a picture, or filters alone")
    return [first, *([Reject(text=given.without)] if given.without.strip() else [])]


# -- beliefs

FACT = "fact"
PICTURE_KINDS = frozenset({"picture", "vocabulary"})


@dataclass(frozen=True)
class Chip:
    """A belief before it is known how to take it back; `column_value` is the value it names in the catalogue."""

    turn: int
    label: str
    kind: str
    weight: float
    column_value: str | None = None


def find_beliefs(
    query: Query, conversation: Conversation, path: Sequence[Node], read: Read = read_plainly
) -> list[Belief]:
    """Chips in the order of their turns; `path` leads to the node whose query this is, `read` reads what was said."""
    nodes = {node.number: node for node in path}
    found = []
    for part in query.parts:
        value = None if part.value is None else part.value[1].casefold()
        if part.kind in PICTURE_KINDS and not _is_rejection(part):
            found.append(Chip(part.turn, "this picture", part.kind, part.weight))
        elif part.kind not in PICTURE_KINDS:
            pieces = [(part.turn, part.label)] if part.holds is None else part.holds
            found += [Chip(turn, text, part.kind, part.weight, value) for turn, text in pieces]
    in_parts = {chip.turn for chip in found}
    found += [
        Chip(known.turn, known.short, FACT if known.is_fact else "answer", 1.0)
        for known in query.evidence
        # A fact that no picture has does not count, so it is nothing that is believed.
        if (known.ratios() is not None if known.is_fact else known.turn not in in_parts)
    ]
    chips = [*_merge_chips(found), *_list_rejections(query, conversation, path)]
    chips.sort(key=lambda chip: chip.turn)  # stable: within a turn in the retriever's order
    in_words = Counter(chip.turn for chip in chips if _is_in_words(chip))
    return [
        Belief(
            turn=chip.turn,
            label=tidy_commas(chip.label),
            kind=chip.kind,
            weight=round(chip.weight, 4),
            without=_turn_without(nodes[chip.turn], chip, in_words[chip.turn], read) if chip.turn in nodes else None,
        )
        for chip in chips
    ]


def remove_belief(reading: Reading, chip: Chip) -> str | None:
    """What was said without one belief: a fact, or a clause of the description; None if that cannot be said exactly."""
    from viewfinder.wording.taking_away import say_again

    if chip.kind == FACT:
        kept = [fact.words for fact in reading.facts if fact.words != chip.label]
        return say_again(reading.text, reading.content, kept)
    rest = remove_clause(reading.content, chip.label)
    return None if rest is None else say_again(reading.text, rest, [fact.words for fact in reading.facts])


def remove_clause(text: str, label: str) -> str | None:
    """A text without one of its clauses, given the label of its part; None if that cannot be said exactly.

    >>> remove_clause("a dog without a collar, no people", "not collar")
    'a dog, no people'
    """
    clauses = split_clauses(text)
    piece = label.removeprefix("not ")
    kept = (
        Clauses("", clauses.unwanted)
        if label == clauses.wanted
        else Clauses(clauses.wanted, tuple(other for other in clauses.unwanted if other != piece))
    )
    if kept == clauses:
        return None
    wanted = tidy_commas(kept.wanted)
    said = ", ".join([wanted] * bool(wanted) + [f"no {other}" for other in kept.unwanted])
    return said if split_clauses(said) == Clauses(wanted, kept.unwanted) else None


def tidy_commas(text: str) -> str:
    """The text without the spaces before commas that a removed clause leaves.

    >>> tidy_commas("a dog , in the snow")
    'a dog, in the snow'
    """
    return re.sub(r"\s+,", ",", text)


def _merge_chips(known: Sequence[Chip]) -> list[Chip]:
    """One chip for one label of a turn, joined by words and contrasts that a catalogue value of the turn names."""
    merged: dict[tuple[int, str], Chip] = {}
    named = {(chip.turn, chip.column_value): chip.label for chip in known if chip.column_value is not None}
    for chip in known:
        key = (chip.turn, named.get((chip.turn, chip.label.casefold()), chip.label))
        other = merged.get(key)
        if other is None:
            merged[key] = replace(chip, label=key[1])
        else:
            kind = "value" if "value" in (chip.kind, other.kind) else other.kind
            merged[key] = replace(other, kind=kind, weight=other.weight + chip.weight)
    return list(merged.values())


def _is_rejection(part: Part) -> bool:
    return part.kind == "picture" and part.weight < 0


def _list_rejections(query: Query, conversation: Conversation, path: Sequence[Node]) -> list[Chip]:
    """A chip for each turn that rejected pictures, if any of them is still excluded."""
    chips = []
    for node in path:
        if not isinstance(node.turn, Reject):
            continue
        pictures = node.turn.pictures or (() if node.turn.text else conversation.node(node.parent).shown)
        if query.excluded.intersection(pictures):
            weight = sum(part.weight for part in query.parts if part.turn == node.number and _is_rejection(part))
            label = "not this picture" if len(pictures) == 1 else f"not these {len(pictures)} pictures"
            chips.append(Chip(node.number, label, "rejected", float(weight)))
    return chips


def _turn_without(node: Node, chip: Chip, in_words: int, read: Read) -> dict[str, Any] | None:
    """The turn without this belief, one of so many `in_words`; None if nothing would remain of it, or no turn says
    exactly that."""
    match node.turn:
        case Say(text):
            rest = None if in_words == 1 else remove_belief(read(text), chip)
            return {"say": rest} if rest else None
        case Like(text=text) | Show(text=text) if not _is_in_words(chip):
            return {"say": text} if text.strip() else None
        case Like(text=text) | Show(text=text):
            rest = "" if in_words == 1 else remove_belief(read(text), chip)
            return None if rest is None else turn_to_json(replace(node.turn, text=rest))
        case Reject(pictures, text) if not _is_in_words(chip):
            return {"reject": [], "text": text} if pictures and text.strip() else None
        case Reject(pictures, text):
            rest = "" if in_words == 1 else remove_belief(read(text), chip)
            return turn_to_json(Reject(pictures, rest)) if rest or (pictures and rest is not None) else None
        case _:
            return None


def _is_in_words(chip: Chip) -> bool:
    return chip.kind not in PICTURE_KINDS and chip.kind != "rejected"
