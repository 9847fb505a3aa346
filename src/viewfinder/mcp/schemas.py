"""What tools take and answer. Answers are short: an assistant reads all of them."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from viewfinder.server.conversations.schemas import Filters as _Filters
from viewfinder.server.conversations.schemas import Id, Name, Text
from viewfinder.server.taking.schemas import AlbumName, Stars

MAX_SHOWN = 24
"""Results of one answer: as many as fit on one sheet of pictures."""


def _read_json_text(given: Any) -> Any:
    """A list or object that came as its JSON text, as some assistants send them."""
    if isinstance(given, str) and given.lstrip()[:1] in ("[", "{"):
        try:
            return json.loads(given)
        except (ValueError, RecursionError):
            return given
    return given


_AS_JSON = BeforeValidator(_read_json_text)

Filters = Annotated[_Filters, _AS_JSON]
Ids = Annotated[list[Id], Field(max_length=200), _AS_JSON]


class Given(BaseModel):
    """What a tool takes. Fields that it does not have are refused rather than ignored, so that a slip is noticed."""

    model_config = ConfigDict(extra="forbid", coerce_numbers_to_str=True)


SHEET = Field(True, description="send one image with all results, numbered as in `pictures`")
COUNT = Field(8, ge=1, le=MAX_SHOWN, description="how many results")


class SearchIn(Given):
    """A search."""

    words: Text = Field(description="what the picture shows, in plain words, and facts: 'a dog in the snow, 2019'")
    where: Filters = Field(
        default_factory=dict,
        description="filters by column, as the tool `filters` lists them: VALUE, VALUE|VALUE, 10..50, 2019-07..2020",
    )
    n: int = COUNT
    sheet: bool = SHEET


class ContinueIn(Given):
    """A turn: exactly one of `say`, `like`, `reject`, `not_wanted`, `back_to`."""

    conversation: Id = Field(description="the id that `search` answered")
    say: Text | None = Field(None, description="more about the wanted picture: 'at night', 'without people'")
    like: Id | None = Field(None, description="the id of a picture that is close to the wanted one")
    but: Text = Field("", description="with `like`: how the wanted picture differs: 'in blue', 'with two dogs'")
    reject: Ids | None = Field(None, description="ids of pictures that are wrong; an empty list rejects all shown now")
    not_wanted: Text | None = Field(None, description="what the wanted picture does not have: 'snow'")
    back_to: int | None = Field(
        None, ge=0, le=1_000_000, description="go on from an earlier turn of this conversation; 0 is the start"
    )
    n: int = COUNT
    sheet: bool = SHEET

    @model_validator(mode="after")
    def _check_one(self) -> ContinueIn:
        given = [name for name in ("say", "like", "reject", "not_wanted", "back_to") if getattr(self, name) is not None]
        if len(given) != 1:
            told = f"not {' and '.join(given)}" if given else "none was given"
            raise ValueError(f"give exactly one of say, like, reject, not_wanted and back_to: {told}")
        if self.but and self.like is None:
            raise ValueError("`but` belongs to `like`: give the picture that is close, or use `say`")
        return self


class AnswerIn(Given):
    """An answer to the question that is open."""

    conversation: Id
    answer: Text = Field(description="one of the question's choices, own words, 'don't know', or 'skip' for another")
    n: int = COUNT
    sheet: bool = SHEET


class ResultsIn(Given):
    """Results to read again, or further ones."""

    conversation: Id
    turn: int | None = Field(None, ge=0, le=1_000_000, description="which turn; by default the newest")
    after: str | None = Field(None, max_length=200, description="the `more` of an answer, for the results after those")
    n: int = COUNT
    sheet: bool = SHEET


class ConversationsIn(Given):
    """Which conversations."""

    n: int = Field(20, ge=1, le=100)


class FoundIn(Given):
    """The picture that was meant."""

    conversation: Id
    picture: Id


class PictureIn(Given):
    """One picture."""

    picture: Id = Field(description="the id of a picture, as results have it")


class FiltersIn(Given):
    """Filters to list."""

    where: Filters = Field(default_factory=dict, description="count only pictures that meet these filters")
    column: Name | None = Field(None, description="only this column")


class AlbumsIn(Given):
    """Nothing: all albums are listed."""


class AlbumIn(Given):
    """An album to look into."""

    album: AlbumName = Field(description="its name or id")
    after: str | None = Field(None, max_length=200, description="the `more` of an answer, for the pictures after those")
    n: int = COUNT
    sheet: bool = SHEET


class AlbumChangeIn(Given):
    """Pictures to put into an album, and to take out of it."""

    album: AlbumName = Field(description="its name or id")
    make: bool = Field(False, description="make an album of this name if there is none")
    add: Ids = Field(default_factory=list, description="ids of pictures to put in")
    remove: Ids = Field(default_factory=list, description="ids of pictures to take out")

    @model_validator(mode="after")
    def _check_some(self) -> AlbumChangeIn:
        if not (self.add or self.remove or self.make):
            raise ValueError("say what to `add` or to `remove`, or to `make` the album")
        return self


class MarkIn(Given):
    """Pictures, and how they are marked; what is left out stays as it is."""

    pictures: Annotated[Ids, Field(min_length=1)] = Field(description="ids of pictures")
    favourite: bool | None = None
    stars: Stars | None = Field(None, description="1 to 5; 0 takes them away")


# -- answers


class Shown(BaseModel):
    """A result. `number`: its place, also on the sheet of pictures."""

    number: int
    id: str
    name: str = Field(description="of its file")
    caption: str | None = None
    match: Literal["likely", "maybe", "unlikely"]


class Asked(BaseModel):
    """A question to put to the user, or to answer from what they said."""

    text: str
    choices: list[str] = []


class Answer(BaseModel):
    """Results of a turn.

    `verdict`: found, unsure, or nothing. `understood`: what the search goes by now. `question`: would help most next;
    give its answer to the tool `answer`. `page`: where a person sees the same.
    """

    conversation: str
    turn: int
    verdict: Literal["found", "unsure", "nothing"]
    total: int = Field(description="pictures that were ranked, the best are in `pictures`")
    pictures: list[Shown]
    more: str | None = Field(None, description="give it as `after` to the tool `results` for further pictures")
    understood: list[str] = []
    notes: list[str] = Field([], description="how words were read, what could not be taken as given, what was said")
    question: Asked | None = None
    asking: bool = Field(False, description="a question is still being chosen: the tool `results` has it later")
    page: str | None = None


class Told(BaseModel):
    """A conversation in short."""

    id: str
    name: str
    turns: int
    updated: str
    page: str | None = None


class ConversationList(BaseModel):
    """Conversations, the last used first."""

    conversations: list[Told]


class Fact(BaseModel):
    """Something known of a picture, and where it is known from."""

    name: str
    values: list[str]
    source: str
    by_machine: bool = Field(False, description="a model says so, no person")


class PictureFacts(BaseModel):
    """All that is known of a picture. `looks`: what the search itself sees in it, with its chance."""

    id: str
    uri: str = Field(description="the picture as a resource")
    names: list[str]
    width: int
    height: int
    captions: list[str] = []
    facts: list[Fact] = []
    looks: dict[str, str] = {}
    favourite: bool = False
    stars: int = 0
    albums: list[str] = Field([], description="names of the user's albums in which it is")


class FilterValue(BaseModel):
    """A value, and how many pictures have it."""

    value: str
    pictures: int


class FilterColumn(BaseModel):
    """A column to filter by: its most frequent values, or the range of its numbers."""

    column: str
    values: list[FilterValue]
    more_values: int = 0
    low: float | None = None
    high: float | None = None


class FilterList(BaseModel):
    """What there is to filter by."""

    pictures: int = Field(description="how many meet the filters given")
    columns: list[FilterColumn]
    other_columns: list[str] = Field([], description="can be filtered by as well, their values are too many to list")
    examples: list[str] = Field([], description="descriptions that fit pictures of this library")


class FoundNoted(BaseModel):
    """A picture that was noted as the one that was meant; `rank` is its place in the results then."""

    picture: str
    rank: int


class AlbumTold(BaseModel):
    """An album in short."""

    id: str
    name: str
    pictures: int = Field(description="how many it holds")
    updated: str


class AlbumList(BaseModel):
    """Albums, the last changed first."""

    albums: list[AlbumTold]


class Held(BaseModel):
    """A picture of an album. `number`: its place, also on the sheet of pictures."""

    number: int
    id: str
    name: str = Field(description="of its file")
    caption: str | None = None


class AlbumPictures(AlbumTold):
    """An album, with some of its pictures."""

    shown: list[Held]
    more: str | None = Field(None, description="give it as `after` for further pictures")


class AlbumChanged(AlbumTold):
    """An album after a change. `unknown`: ids that are not in the library, and were not put in."""

    made: bool = False
    added: int
    removed: int
    unknown: list[str] = []


class Mark(BaseModel):
    """What the user thinks of a picture. `stars`: 0 is none."""

    favourite: bool
    stars: int


class Marked(BaseModel):
    """The marks of pictures now, by their ids. `unknown`: ids that are not in the library."""

    marks: dict[str, Mark]
    unknown: list[str] = []
