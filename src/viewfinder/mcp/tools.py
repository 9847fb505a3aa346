"""The tools of an assistant: what each says of itself, takes, answers and needs, and the function that does it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from viewfinder.conversation import Question
from viewfinder.mcp import schemas
from viewfinder.mcp.albums import change_album, list_albums, mark, open_album, read_kept
from viewfinder.mcp.looking import draw_hits, read_picture
from viewfinder.mcp.visit import URI, Output, Visit
from viewfinder.server.conversations import schemas as api
from viewfinder.server.conversations.answers import answers_open_question, question_to_api
from viewfinder.server.pictures.library import count_facets, describe_picture, summarize_collection
from viewfinder.server.problems import Problem

if TYPE_CHECKING:
    from viewfinder.server.access.tokens import Scope

QUESTION_S = 10.0
"""How long an answer waits for the question after it; usually that takes a tenth of a second."""

SKIP = frozenset({"skip", "skip it", "another question"})


@dataclass(frozen=True)
class Tool:
    """A tool. `changes`: it alters what is kept; `destroys`: it may also take something away."""

    name: str
    title: str
    description: str
    takes: type[BaseModel]
    answers: type[BaseModel]
    scopes: tuple[Scope, ...]
    call: Callable[[Visit, Any], Awaitable[Output]]
    changes: bool = False
    destroys: bool = False


# -- searching and talking


async def search(visit: Visit, given: schemas.SearchIn) -> Output:
    """Begins a conversation with these words."""
    conversations, caller = visit.services.conversations, visit.caller
    begun = await visit.run(conversations.create, caller, api.SessionIn(where=given.where))
    try:
        return await _take(visit, begun.id, api.SayTurn(say=given.words), given.n, sheet=given.sheet)
    except BaseException:
        with suppress(Problem):  # what was said could not be taken: no empty conversation stays
            await visit.run(conversations.delete, caller, begun.id)
        raise


async def continue_conversation(visit: Visit, given: schemas.ContinueIn) -> Output:
    """Takes the turn that is given."""
    return await _take(visit, given.conversation, _parse_turn(given), given.n, sheet=given.sheet)


def _parse_turn(given: schemas.ContinueIn) -> api.TurnIn:
    if given.say is not None:
        return api.SayTurn(say=given.say)
    if given.like is not None:
        return api.LikeTurn(like=given.like, but=given.but)
    if given.back_to is not None:
        return api.BackToTurn(back_to=given.back_to)
    return api.RejectTurn(reject=given.reject or [], text=given.not_wanted or "")


async def answer(visit: Visit, given: schemas.AnswerIn) -> Output:
    """Answers the question that is open, or skips it."""
    skips = given.answer.strip().casefold() in SKIP
    turn: api.TurnIn = api.SkipTurn(skip=True) if skips else api.AnswerTurn(answer=given.answer)
    return await _take(visit, given.conversation, turn, given.n, sheet=given.sheet)


async def results(visit: Visit, given: schemas.ResultsIn) -> Output:
    """The results of a turn in the collection as it is now, and the question after it."""
    conversations, id = visit.services.conversations, given.conversation
    tree = await visit.run_in(id, conversations.tree, visit.caller, id)
    turn = tree.turns if given.turn is None else given.turn
    found = await visit.run_in(id, conversations.results, visit.caller, id, turn, n=given.n, cursor=given.after)
    told = [f"turn {node.number}: {node.told}" for node in tree.tree if node.number in tree.path and node.told]
    question = await _await_question(visit, id, turn) if turn == tree.turns else found.question
    return await _answer(visit, found, given.n, sheet=given.sheet, id=id, question=question, notes=told)


async def list_conversations(visit: Visit, given: schemas.ConversationsIn) -> Output:
    """The caller's conversations."""
    page = await visit.run(visit.services.conversations.page, visit.caller, given.n, None)
    told = [
        schemas.Told(
            id=it.id, name=it.name, turns=it.turns, updated=it.updated.isoformat(timespec="seconds"),
            page=visit.page_of(it.id),
        )
        for it in page.sessions
    ]  # fmt: skip
    return schemas.ConversationList(conversations=told), ()


async def note_found(visit: Visit, given: schemas.FoundIn) -> Output:
    """Notes the picture that was meant."""
    noted = await visit.run_in(
        given.conversation,
        visit.services.conversations.note_found,
        visit.caller,
        given.conversation,
        api.Found(picture=given.picture),
        public=True,
    )
    return schemas.FoundNoted(picture=noted.picture, rank=noted.rank), ()


async def _take(visit: Visit, id: str, turn: api.TurnIn, n: int, *, sheet: bool) -> Output:
    conversations, caller = visit.services.conversations, visit.caller
    if answers_open_question(turn):
        await _wait(await visit.run_in(id, conversations.open_question, caller, id, public=True))
    found = await visit.run_in(id, conversations.take, caller, id, turn, public=True)
    question = await _await_question(visit, id, found.turn)
    return await _answer(visit, found, n, sheet=sheet, id=id, question=question)


async def _wait(chosen: Future[Question | None]) -> Question | None:
    """Waits without a thread; that this wait ends does not end the choice, which others may wait for."""
    return await asyncio.shield(asyncio.wrap_future(chosen))


STILL_ASKING = api.Question(text="", choices=[], examples=[])
"""In the place of a question that has not been chosen in time."""


async def _await_question(visit: Visit, id: str, turn: int) -> api.Question | None:
    """The question after a turn, if it comes in time."""
    chosen = await visit.run_in(id, visit.services.conversations.choose_question, id, turn)
    try:
        async with asyncio.timeout(QUESTION_S):
            return question_to_api(await _wait(chosen))
    except TimeoutError:
        return STILL_ASKING


async def _answer(
    visit: Visit,
    found: api.Results,
    n: int,
    *,
    sheet: bool,
    id: str,
    question: api.Question | None,
    notes: Sequence[str] = (),
) -> Output:
    """The best `n` results as an assistant reads them, and their sheet."""
    hits, cut = found.results[:n], len(found.results) > n
    asking = question is STILL_ASKING
    made = schemas.Answer(
        conversation=id,
        turn=found.turn,
        verdict=found.verdict,
        total=found.total,
        pictures=[
            schemas.Shown(number=hit.rank, id=hit.id, name=hit.name, caption=hit.caption, match=hit.match)
            for hit in hits
        ],
        more=_cursor_after(hits) if cut else found.next,
        understood=[belief.label for belief in found.beliefs],
        notes=[*notes, *_note(found)],
        question=None if question is None or asking else schemas.Asked(text=question.text, choices=question.choices),
        asking=asking,
        page=visit.page_of(id, found.turn),
    )
    return made, await draw_hits(visit, hits) if sheet else ()


def _note(found: api.Results) -> list[str]:
    """How the words were read, where not just as they stand, and what could not be done."""
    notes = list(found.adapters)
    if found.reading is not None:
        notes += [f"read {it.typed!r} as {it.read!r}" for it in found.reading.corrections]
        notes += [f"{it.words!r} was taken as a {it.kind}: {it.pictures} pictures" for it in found.reading.facts]
    if found.unheard:
        notes.append(f"not understood: {', '.join(found.unheard)}")
    if found.missing:
        notes.append(f"{found.missing} pictures could not be searched")
    return notes


def _cursor_after(hits: Sequence[api.Hit]) -> str | None:
    return str(hits[-1].rank) if hits else None


# -- pictures


async def show(visit: Visit, given: schemas.PictureIn) -> Output:
    """A picture, and what is known of it."""
    facts = await _describe(visit, given.picture)
    return facts, (await read_picture(visit, given.picture),)


async def tell_facts(visit: Visit, given: schemas.PictureIn) -> Output:
    """What is known of a picture, without the picture."""
    return await _describe(visit, given.picture), ()


async def _describe(visit: Visit, picture: str) -> schemas.PictureFacts:
    services = visit.services
    known = await services.pool.run(describe_picture, services.library, picture, originals=services.settings.originals)
    marked, albums = await services.pool.run(read_kept, visit, picture)
    facts = known.facts
    own = {"format": facts.format, "captured": facts.captured, "camera": facts.camera, "folder": facts.folder}
    return schemas.PictureFacts(
        id=picture,
        uri=URI + picture,
        names=known.names,
        width=facts.width,
        height=facts.height,
        captions=known.captions,
        facts=[
            *(schemas.Fact(name=name, values=[value], source="the file") for name, value in own.items() if value),
            *(schemas.Fact(name=name, values=values, source="catalogue") for name, values in known.attributes.items()),
            *(
                schemas.Fact(name=it.name, values=it.values, source=it.source, by_machine=it.machine)
                for it in known.known
                if it.name != "text boxes"  # where lines of text stand: long, and of use to a screen only
            ),
        ],
        looks={group: f"{tag} ({chance:.0%})" for group, (tag, chance) in known.tags.items()},
        favourite=marked.favourite,
        stars=marked.stars,
        albums=albums,
    )


async def list_filters(visit: Visit, given: schemas.FiltersIn) -> Output:
    """Columns to filter by, with counts."""
    services = visit.services
    counted = await visit.run(count_facets, services.library, given.where)
    at_a_glance = await services.pool.run(
        summarize_collection, services.library, services.settings, jobs=0, originals=False
    )
    columns = [
        schemas.FilterColumn(
            column=facet.column,
            values=[schemas.FilterValue(value=it.value, pictures=it.count) for it in facet.values],
            more_values=facet.more,
            low=None if facet.range is None else facet.range.low,
            high=None if facet.range is None else facet.range.high,
        )
        for facet in counted.facets
        if given.column is None or facet.column.casefold() == given.column.strip().casefold()
    ]
    listed = {facet.column for facet in counted.facets}
    others = [name for name in at_a_glance.columns if name not in listed]
    if given.column is not None and not columns:
        there = ", ".join([*sorted(listed), *others]) or "none"
        raise Problem(422, "unknown-name", f"no values to list of a column {given.column!r}; columns: {there}")
    return schemas.FilterList(
        pictures=counted.total,
        columns=columns,
        other_columns=[] if given.column else others,
        examples=[] if given.column else at_a_glance.examples,
    ), ()


# -- all of them


_RESULTS = (
    "The answer has the best pictures (with ids), how well each matches, what was understood, and usually one question "
    "whose answer would help most: put it to the user, or answer it from what they already said, with `answer`."
)

TOOLS = (
    Tool(
        "search",
        "Search pictures",
        "Find pictures in the user's own library by describing them in plain words. Understands facts too, such as "
        "dates, places, cameras and people, where files have them. Begins a conversation. " + _RESULTS + " Only claim "
        "that a picture was found if you saw it (on the sheet, or with `show`) or its match is 'likely'.",
        schemas.SearchIn, schemas.Answer, ("read",), search, changes=True,
    ),
    Tool(
        "continue",
        "Go on with a search",
        "Say something more in a conversation that `search` began: `say` more words; or `like` a picture, with `but` "
        "for how the wanted one differs; or `reject` wrong pictures; or say what is `not_wanted`; or go `back_to` an "
        "earlier turn. Better than a new search, as all that was said before still counts. " + _RESULTS,
        schemas.ContinueIn, schemas.Answer, ("read",), continue_conversation, changes=True,
    ),
    Tool(
        "answer",
        "Answer the question",
        "Answer the question that the last answer of this conversation asked: one of its choices, own words, "
        "\"don't know\", or 'skip' for another question. " + _RESULTS,
        schemas.AnswerIn, schemas.Answer, ("read",), answer, changes=True,
    ),
    Tool(
        "results",
        "Read results",
        "The results of a conversation as it stands (or of an earlier turn), what was said so far, and further "
        "results: give the `more` of an answer as `after`.",
        schemas.ResultsIn, schemas.Answer, ("read",), results,
    ),
    Tool(
        "conversations",
        "List conversations",
        "The conversations with this library, the last used first, also those that a person began on the page: each "
        "can be read with `results` and gone on with.",
        schemas.ConversationsIn, schemas.ConversationList, ("read",), list_conversations,
    ),
    Tool(
        "found",
        "Note the picture that was meant",
        "Call this when the user confirms that a picture is the one they were looking for: it is kept with the "
        "conversation, as data to learn from.",
        schemas.FoundIn, schemas.FoundNoted, ("read",), note_found, changes=True,
    ),
    Tool(
        "show",
        "Show a picture",
        "One picture as an image, with its name, its captions and all that is known of it.",
        schemas.PictureIn, schemas.PictureFacts, ("read",), show,
    ),
    Tool(
        "facts",
        "Facts of a picture",
        "All that is known of a picture and from where (the file, a catalogue, keywords, a model), without the image.",
        schemas.PictureIn, schemas.PictureFacts, ("read",), tell_facts,
    ),
    Tool(
        "filters",
        "What there is to filter by",
        "How many pictures the library has, the columns that `search` takes in `where`, and their values with counts. "
        "Look here before using a filter.",
        schemas.FiltersIn, schemas.FilterList, ("read",), list_filters,
    ),
    Tool(
        "albums",
        "List albums",
        "The user's albums, with how many pictures each holds. `search` keeps to one with `where`: {\"album\": "
        "its id}.",
        schemas.AlbumsIn, schemas.AlbumList, ("read",), list_albums,
    ),
    Tool(
        "album",
        "Look into an album",
        "The pictures of an album, given by its name or id, in their order, with a sheet of them.",
        schemas.AlbumIn, schemas.AlbumPictures, ("read",), open_album,
    ),
    Tool(
        "change_album",
        "Put pictures into an album, or take them out",
        "Add pictures to an album, take pictures out of it, or both; with `make`, an album that is not there is made. "
        "No picture is deleted. Do it when the user asks for it, and only with pictures that they or you have seen.",
        schemas.AlbumChangeIn, schemas.AlbumChanged, ("read", "write"), change_album, changes=True, destroys=True,
    ),
    Tool(
        "mark",
        "Mark pictures",
        "Make pictures favourites (or no longer), or give them 1 to 5 stars (0 takes them away), when the user asks "
        "for it. `search` keeps to such with `where`: {\"favourite\": \"yes\"} or {\"stars\": \"4\"} (at least).",
        schemas.MarkIn, schemas.Marked, ("read", "write"), mark, changes=True,
    ),
)  # fmt: skip
