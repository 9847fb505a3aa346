"""Short replies as the turns they are: "the second one" picks, "wrong" rejects, "undo" goes back, "nobody" answers.

Everything else that is said stays a description.
"""

from __future__ import annotations

import re

from viewfinder.conversation import Answer, BackTo, Conversation, Like, PictureId, Question, Reject, Say, Turn
from viewfinder.errors import BadInput
from viewfinder.wording.acts import Act, read_act
from viewfinder.wording.replies import find_choice_meant, is_dont_know

_PLAINLY = re.compile(r"(?:yes|yeah|yep|no|nope)\b(?:$|[,.;:!].*)", re.IGNORECASE)


def understand_reply(said: Say, conversation: Conversation, *, looks_back: bool = False) -> Turn:
    """The turn that a sentence is at this point of a conversation; the sentence itself where it describes.

    `looks_back`: the retriever reads "the first" as a picture of an earlier turn, so places on the screen are left to
    it. Raises BadInput: it names a result that is not there.
    """
    question, act = conversation.pending, read_act(said.text)
    is_skip = act is not None and act.kind == "skip"
    if question is not None and not is_skip and (answer := find_answer(said.text, question)) is not None:
        return Answer(question, answer)
    if act is None or (looks_back and act.kind == "pick"):
        return said
    return _take_act(act, conversation) or said


def find_answer(text: str, question: Question) -> str | None:
    """The answer that a text plainly is: one of the choices in other words, "yes, two of them" where yes and no are
    offered, or that one does not know; else None."""
    choice = find_choice_meant(text, question.choices)
    if choice is not None:
        return choice
    if _PLAINLY.fullmatch(text.strip()) and {"yes", "no"} <= {choice.casefold() for choice in question.choices}:
        return text
    return text if text.strip() and is_dont_know(text) else None


def _take_act(act: Act, conversation: Conversation) -> Turn | None:  # noqa: PLR0911 (one return a kind)
    """The turn that does it; None where there is nothing to do it with."""
    question, shown = conversation.pending, conversation.here.shown
    match act.kind:
        case "skip":
            return None if question is None else Answer(question, "")
        case "undo":
            path = conversation.path()
            return BackTo(path[-2].number if len(path) > 1 else 0) if path else None
        case "restart":
            return BackTo(0) if len(conversation) else None
        case "reject" | "more" if shown:
            return Reject(tuple(_find_place(place, shown) for place in act.places))
        case "accept" if shown:
            return Like(shown[0])
        case "pick" if shown:
            [place] = act.places or (1,)
            return Like(_find_place(place, shown), act.but)
        case _:
            return None


def _find_place(place: int, shown: tuple[PictureId, ...]) -> PictureId:
    if place > len(shown):
        raise BadInput(f"there is no result {place}: {len(shown)} are shown now")
    return shown[place - 1 if place > 0 else place]
