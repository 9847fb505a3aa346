"""Conversations over HTTP: turns in, results out. The turn JSON is that of scripts; `show` names an upload, no path."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from fastapi import Query
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints, model_validator

NO_NUL = r"^[^\x00]*$"
"""PostgreSQL keeps no NUL in a text."""

MAX_LEANING = 1000.0
"""At this leaning every answer is pictures; at its negative, words."""

MAX_FIELDS = 50
"""Of any object that is sent."""

Text = Annotated[str, StringConstraints(max_length=2000, pattern=NO_NUL)]
Name = Annotated[str, StringConstraints(max_length=200, pattern=NO_NUL)]
Id = Annotated[str, StringConstraints(max_length=64, pattern=NO_NUL)]
Number = Annotated[int, Field(ge=0, le=1_000_000)]
Word = Annotated[str, StringConstraints(max_length=200, pattern=r"^[^\x00\s][^\x00]*$")]
Words = Annotated[list[Word], Field(max_length=100)]
"""Attributes of a picture; the conversation's retriever says which it knows."""
Leaning = Annotated[float, Field(ge=-MAX_LEANING, le=MAX_LEANING)]
"""How much a retriever that speaks leans to pictures, rather than words, when it decides what to answer with."""


def _check_count(given: Any) -> Any:
    """Checked first, because reporting thousands of wrong fields one by one takes seconds."""
    if isinstance(given, dict) and len(given) > MAX_FIELDS:
        raise ValueError(f"at most {MAX_FIELDS} fields")
    return given


Filters = Annotated[
    dict[Name, Name],
    Field(max_length=MAX_FIELDS, description="by column: `VALUE`, `VALUE|VALUE`, `10..50`, `2019-07..2020`"),
    BeforeValidator(_check_count),
]
"""Columns, and the condition that pictures must meet there (`AttributeColumn.mask`)."""


FieldNames = Annotated[list[Name], Field(max_length=MAX_FIELDS)]
Fields = Annotated[
    tuple[Name, ...],
    Query(
        max_length=MAX_FIELDS,
        description="columns whose values each result has with it: one or, with commas, several",
    ),
]
Sort = Annotated[
    Name,
    Query(description="a column, `-` before it for descending, or `date`: orders the results that fit"),
]


class Strict(BaseModel):
    """A body without unknown fields, whose values are not converted (`false` is not 0, "5" is not 5)."""

    model_config = ConfigDict(extra="forbid", strict=True)

    _check_count = model_validator(mode="before")(_check_count)


class Question(Strict):
    """A question, with the name of its questioner and the reason; `choices` may be empty for a free answer.

    `examples` has for each choice the id of a picture to which it applies, "" if there is none; it may be empty.
    """

    text: Text
    choices: Annotated[list[Text], Field(max_length=100, default_factory=list)]
    by: Name = ""
    why: Text = ""
    attribute: Name | None = None
    examples: Annotated[list[Id], Field(max_length=100, default_factory=list)]


class Placed(Strict):
    """A turn, and what its sender saw when it was said: what it means must not depend on what others say meanwhile."""

    parent: Number | None = Field(
        None,
        description="the newest turn that the sender knew: if the conversation stands elsewhere by now, this is refused"
        " (409, moved-on); null: it is said wherever the conversation stands",
    )
    on_conflict: Literal["refuse", "branch"] = Field(
        "refuse", description="`branch`: it is then said where the sender was, on a branch, in one step"
    )


class SayTurn(Placed):
    """Describe the picture, or go on describing it."""

    say: Text


class AnswerTurn(Placed):
    """Answer the question that is open (or the one given); "don't know" is an answer too."""

    answer: Text
    question: Question | None = None


class SkipTurn(Placed):
    """Skip the question that is open: something else is asked, and this is not asked again."""

    skip: Literal[True]
    question: Question | None = None


class LikeTurn(Placed):
    """Pick a picture; `but` says how the wanted one differs, `turn` goes on from what was shown back then.

    `attributes`: those that count, in place of those that the retriever sees in it; null: those it sees.
    """

    like: Id
    but: Text = ""
    turn: Number | None = None
    attributes: Words | None = None


class ShowTurn(Placed):
    """Show the user's own image: the id of an upload; `attributes` as in `LikeTurn`."""

    show: Id
    but: Text = ""
    attributes: Words | None = None


class RejectTurn(Placed):
    """Reject pictures, or what `text` says; with neither, all that is shown."""

    reject: Annotated[list[Id], Field(max_length=1000)]
    text: Text = ""


class KeepTurn(Placed):
    """Keep an attribute of what was on the screen after `turn`."""

    keep: Name
    turn: Number


class BackToTurn(Placed):
    """Go on from an earlier turn; 0 is the start."""

    back_to: Number


TurnIn = SayTurn | AnswerTurn | SkipTurn | LikeTurn | ShowTurn | RejectTurn | KeepTurn | BackToTurn


class SessionIn(Strict):
    """A new conversation. `leaning`: for retrievers that speak; 1000 answers with pictures alone, -1000 with words."""

    name: Name = ""
    retriever: Name = "composer"
    questioner: Name = "information_gain"
    where: Filters = Field(default_factory=dict)
    n: Annotated[int, Field(ge=1, le=500)] = 50
    leaning: Leaning | None = None


class SessionChange(Strict):
    """Settings to change from now on; those left out stay.

    With another retriever or leaning the whole conversation is read again: earlier turns may be answered differently.
    """

    name: Name | None = None
    retriever: Name | None = None
    questioner: Name | None = None
    where: Filters | None = None
    leaning: Leaning | None = None


class Session(BaseModel):
    """A conversation. In a blind study `retriever` is null."""

    id: str
    name: str
    retriever: str | None
    questioner: str
    where: dict[str, str]
    n: int
    created: datetime
    updated: datetime
    turns: int = Field(description="how many turns there are; the newest is where the conversation stands")
    leaning: float | None = Field(description="of a retriever that speaks; null: as much as it leans by itself")


class TreeNode(BaseModel):
    """One turn in the tree. `told` is the turn in a few words; `first` the best result it had."""

    number: int
    parent: int
    turn: dict[str, Any] | None = Field(description="as it was given; null for the root")
    told: str
    shown: int
    first: str | None
    asked: Question | None
    at: datetime | None


class SessionTree(Session):
    """A conversation with all branches. `tree[k]` is node k; node 0 is the empty root; `path` leads to the present."""

    tree: list[TreeNode]
    path: list[int]


class News(BaseModel):
    """The turns that were said since one. `newest`: the number of the last of all, `stands_at`: that whose results
    count now, which differs where somebody went back."""

    newest: int
    stands_at: int
    turns: list[TreeNode]


class SaidMatch(BaseModel):
    """A turn in which a word was said that was looked for."""

    turn: int
    text: str = Field(description="what was said, shortened around that word")


class ListedSession(Session):
    """A conversation in a list. `matches`: where words of a search were said first; empty if its name has them all."""

    matches: list[SaidMatch] = []


class SessionPage(BaseModel):
    """Conversations, the last one used first."""

    sessions: list[ListedSession]
    next: str | None = Field(description="give it as `cursor` for more; null: no more")


class PictureAttribute(BaseModel):
    """A word for a picture, and the chance that it applies."""

    name: str
    chance: float


class PictureAttributes(BaseModel):
    """The attributes that a retriever sees in a picture, likeliest first; both lists are empty if it reads none."""

    attributes: list[PictureAttribute]
    known: list[str] = Field(description="all attributes it knows: what a turn may say instead")


class PictureRank(BaseModel):
    """The rank of a picture, counted from 0: at best and at worst, if scores tie."""

    best: int
    worst: int


class Card(BaseModel):
    """A picture. `name` is the file's last name, `caption` a text about it (for alternative texts).

    Small copies are at /api/v1/pictures/{id}/thumbnail. `fields`: the columns that were asked for, each with the
    picture's values; null if none were. `thumbnail`: for who came with a bearer token, an address of the copies that
    needs none, for some hours (`&size=` may be added).
    """

    id: str
    name: str
    caption: str | None
    width: int
    height: int
    fields: dict[str, list[str]] | None = None
    thumbnail: str | None = None


class Hit(Card):
    """One result. `why` comes by events, or at once from `search`; `rank` is that of the search, whatever the order."""

    rank: int
    score: float
    match: Literal["likely", "maybe", "unlikely"]
    why: dict[str, Any] | None = None
    others: list[str] = Field(
        [], description="the other pictures of its product or burst, and its copies, if the search folds them"
    )


class Belief(BaseModel):
    """A wish that the system has understood. To take it back: put `without` in the place of the turn, or delete the
    turn if that is null."""

    turn: int
    label: str
    kind: str
    weight: float
    without: dict[str, Any] | None


class Operation(BaseModel):
    """A turn's reference to an earlier one, if the retriever understands that.

    `rollback` goes on from the picture of turn `turn` rather than from the last one, `keep` wants an attribute of it
    ("" is all of it).
    """

    said: int = Field(description="the turn that does it")
    kind: Literal["rollback", "keep"]
    turn: int = Field(description="the earlier turn")
    attribute: str
    words: str = Field(description="how it was said; empty where it was given as a turn, not in words")


class Answered(BaseModel):
    """The way in which a retriever that speaks answers a turn. With words, the results are the previous ones.

    `text` is null with pictures, and until the words were written: `reply/events` of the turn has them written.
    """

    kind: Literal["pictures", "words"] = Field(alias="with")
    text: str | None

    model_config = ConfigDict(populate_by_name=True)


Without = Annotated[str | None, Field(description="words to say instead; empty: nothing is left; null: none say that")]


class ReadFact(BaseModel):
    """A fact in a sentence, and how many pictures it holds for. `filter`: it was typed as one (`camera:canon`)."""

    words: str
    kind: str
    pictures: int
    filter: bool = False
    without: Without = None


class ReadWord(BaseModel):
    """A word as it was typed, and as it was read; `without`: to have it taken as it was typed."""

    typed: str
    read: str
    without: Without = None


class ContentWord(BaseModel):
    """A word of the description."""

    text: str
    without: Without = None


class Reading(BaseModel):
    """How a sentence was read: the description that is compared with pictures, words read as others, facts.

    Each part can be taken away: put the words of its `without` in the place of those of the turn, or delete the turn.
    """

    content: str
    words: list[ContentWord] = []
    corrections: list[ReadWord]
    facts: list[ReadFact]


class Results(BaseModel):
    """The results of a turn, or a later page of them.

    `question` was asked after the turn; if `asking` is true, it is still being chosen and comes by events. `answer` is
    null from retrievers that do not speak.
    """

    turn: int
    verdict: Literal["found", "unsure", "nothing"]
    results: list[Hit]
    total: int = Field(description="pictures that are ranked (filters and rejections taken out)")
    likely: int = Field(0, description="results that are likely it, all pages together; the best 1,000 are counted")
    maybe: int = Field(0, description="results that may be it, counted in the same way")
    next: str | None = Field(description="give it as `cursor` for more; null: no more")
    beliefs: list[Belief]
    adapters: list[str] = Field(description="turns that the retriever could not take as given, and what was done")
    operations: list[Operation] = Field(description="what the turns on the way do with earlier ones")
    question: Question | None
    asking: bool
    answer: Answered | None
    elapsed_ms: float
    missing: int = Field(0, description="pictures that could not be searched: a part of the cluster is away")
    unheard: list[str] = Field([], description="if nothing is found, words last said that the encoder does not know")
    reading: Reading | None = Field(None, description="how the last sentence was read, if not just as it stands")
    events: str | None = Field(None, description="an address of the turn's events that needs no token, as `thumbnail`")
    reply_events: str | None = Field(None, description="one of the events of its reply")


class Replay(BaseModel):
    """The branch that an edit made, and its results."""

    numbers: dict[int, int] = Field(description="old turn -> new turn, of all that were taken again")
    left_out: list[str] = Field(description="turns that make no sense any more, and why")
    results: Results


class Exported(Strict):
    """A conversation as a document: its settings, and its turns (schema viewfinder/conversation)."""

    schema_: Literal["viewfinder/session"] = Field("viewfinder/session", alias="schema")
    version: Literal[1] = 1
    name: Name = ""
    retriever: Name | None = None
    questioner: Name = "none"
    where: Filters = Field(default_factory=dict)
    n: Annotated[int, Field(ge=1, le=500)] = 50
    leaning: Leaning | None = None
    conversation: dict[str, Any]

    model_config = ConfigDict(populate_by_name=True)


class Found(Strict):
    """The picture that was meant. `turn`: after which turn (by default, the newest)."""

    picture: Id
    turn: Number | None = None


class FoundAnswer(BaseModel):
    """A picture that was meant, with its rank then, counted from 1."""

    id: str
    picture: str
    turn: int
    rank: int


class SearchIn(Strict):
    """One search without a conversation: words, a picture of the library (`like`), an upload (`show`), or a mixture.

    With `where` alone: the pictures that meet it, the newest first, those without a date last; `why` has the date.

    `attributes` as in `LikeTurn`. `fields`: columns whose values each result has with it. `sort`: a column, `-` before
    it for descending, or `date`: orders the results that fit, and all of a search for filters alone.
    """

    text: Text = ""
    like: Id | None = None
    show: Id | None = None
    attributes: Words | None = None
    without: Text = ""
    where: Filters = Field(default_factory=dict)
    retriever: Name = "composer"
    n: Annotated[int, Field(ge=1, le=500)] = 50
    cursor: Annotated[str, StringConstraints(max_length=200)] | None = None
    why: bool = True
    fold: bool = Field(
        False, description="of the pictures of one product, of one burst, or nearly the same, only the best is a result"
    )
    fields: FieldNames = Field(default_factory=list)
    sort: Name = ""


class SearchResults(BaseModel):
    """The best pictures."""

    verdict: Literal["found", "unsure", "nothing"]
    results: list[Hit]
    total: int
    likely: int = Field(0, description="results that are likely it, all pages together; the best 1,000 are counted")
    maybe: int = Field(0, description="results that may be it, counted in the same way")
    next: str | None
    adapters: list[str]
    elapsed_ms: float
    missing: int = Field(0, description="pictures that could not be searched")
    unheard: list[str] = Field([], description="if nothing is found, words last said that the encoder does not know")
    reading: Reading | None = Field(None, description="how the last sentence was read, if not just as it stands")


def event_stream(description: str, *names: str, data: str | None = None) -> dict[int | str, dict[str, Any]]:
    """For `responses=`: events of these names, whose data are JSON: an object, or the shape of that name."""
    content = {"type": "object"} if data is None else {"$ref": f"#/components/schemas/{data}"}
    properties = {
        "event": {"enum": list(names)},
        "data": {"type": "string", "contentMediaType": "application/json", "contentSchema": content},
        "id": {"type": "string"},  # where it may be gone on from
    }
    schema = {"type": "object", "properties": properties, "required": ["event", "data"]}
    return {200: {"description": description, "content": {"text/event-stream": {"schema": schema}}}}
