"""Dialogues under review over HTTP: turns as their file has them, decisions as their journal has them."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, Field, StringConstraints

from viewfinder.data.chatsearch import Role, Subtask
from viewfinder.data.review import Verdict
from viewfinder.server.schemas.sessions import NO_NUL, Name, Strict, Text

Words = Annotated[str, StringConstraints(min_length=1, max_length=10_000, pattern=NO_NUL)]
Path = Annotated[str, StringConstraints(min_length=1, max_length=4096, pattern=NO_NUL)]


class TextItem(Strict):
    """Words of a turn."""

    text: Words


class ImageItem(Strict):
    """A picture of a turn: its path in the folder of pictures."""

    image: Path


class ChatTurn(Strict):
    """What one side said and showed, in order."""

    role: Role
    content: Annotated[list[TextItem | ImageItem], Field(min_length=1, max_length=100)]


class Line(BaseModel):
    """A dialogue in the list. `pipeline`: which one made it, as far as it says so."""

    id: str
    subtask: Subtask
    pipeline: str
    verdict: Verdict | None = Field(description="null: nobody has decided yet")


class Overview(BaseModel):
    """All dialogues of the file, in its order."""

    file: str = Field(description="its last name")
    dialogues: list[Line]


class Decision(BaseModel):
    """What a person decided; `turns` of a rewritten dialogue are what it says now."""

    verdict: Verdict
    turns: list[ChatTurn]
    note: str
    by: str


class Dialogue(BaseModel):
    """A dialogue as it was made, the picture that is meant, how it was made, and what was decided."""

    id: str
    subtask: Subtask
    turns: list[ChatTurn]
    target: str
    source: dict[str, Any]
    review: Decision | None


class DecisionIn(Strict):
    """A decision. `turns` only with the verdict rewritten: the same speakers and pictures, other words.

    `before`: what had been decided when the person looked; where that is another by now, nothing is noted (409).
    """

    verdict: Verdict
    turns: Annotated[list[ChatTurn], Field(max_length=200)] = Field(default_factory=list)
    note: Text = ""
    by: Name = ""
    before: Verdict | None
