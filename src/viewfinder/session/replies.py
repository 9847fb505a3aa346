"""Short replies as the turns they are: "the second one" picks, "wrong" rejects, "undo" goes back, "nobody" answers.

Everything else that is said stays a description.
"""

from __future__ import annotations

import re

from viewfinder.conversation import Answer, BackTo, Conversation, Like, PictureId, Question, Reject, Say, Turn
from viewfinder.errors import BadInput, EmptyQuery
from viewfinder.wording.acts import Act, read_act
from viewfinder.wording.openings import split_opening
from viewfinder.wording.replies import (
    DONT_KNOW,
    find_choice_meant,
    find_choice_named,
    find_choices_meant,
    is_denial_alone,
    is_dont_know,
    is_yes_alone,
    list_values_offered,
)

_PICKS = ("pick", "other", "middle", "which", "several", "before")
_PLAINLY = re.compile(r"(?:yes|yeah|yep|no|nope)\b(?:$|[,.;:!].*)", re.IGNORECASE)


_EITHER = re.compile(r"(?:either|any)\b", re.IGNORECASE)


_ASKS_WHETHER = re.compile(r"\b(?:is|are) there any\b|\bcan you\b|\bdo you remember any", re.IGNORECASE)
"""An open question that "no" answers: there is nothing else."""

_MOVES = ("undo", "redo", "restart", "more", "before", "results", "turn")


def understand_turns(said: Say | Answer, conversation: Conversation, *, looks_back: bool = False) -> tuple[Turn, ...]:
    """The turns that a sentence is, one or two: "start over, a cat" begins anew, and then describes.

    An answer is one, but for "undo" or "new search: a cat" to an open question: who types while one stands need not
    answer it, and what shows it may send all that is typed as its answer.

    Raises as `understand_reply`.
    """
    if isinstance(said, Answer):
        if not (_is_open(said.question) and _is_move(said.text)):
            return (said,)
        said = Say(said.text)
    question, opening = conversation.pending, split_opening(said.text)
    if opening is None or (question is not None and find_answer(said.text, question) is not None):
        return (understand_reply(said, conversation, looks_back=looks_back),)
    act, rest = opening
    is_done = act.kind == "undo" and not conversation.path()  # nothing is left to take back
    first = None if is_done else _take_act(act, conversation)
    return (Say(rest),) if first is None else (first, Say(rest))


def understand_reply(said: Say, conversation: Conversation, *, looks_back: bool = False) -> Turn:
    """The turn that a sentence is at this point of a conversation; the sentence itself where it describes.

    `looks_back`: the retriever reads "the first" as a picture of an earlier turn, so places on the screen are left to
    it.

    Raises:
        BadInput: it names a result that is not there, or does not say which one picture it means.
        EmptyQuery: it says nothing, such as "thanks".
    """
    question, act = conversation.pending, read_act(said.text)
    is_skip = act is not None and act.kind == "skip"
    if question is not None and not is_skip and (answer := find_answer(said.text, question)) is not None:
        return Answer(question, answer)
    if question is not None and act is not None and act.kind == "several":
        return Answer(question, _find_several(said.text, question))
    if question is not None and is_yes_alone(said.text) and (_asks_whether(question) or not _is_open(question)):
        raise EmptyQuery("that describes nothing: say what there is, or give the number of a picture")
    if act is None or (looks_back and act.kind in _PICKS):
        return said
    is_place = act.kind == "which" and re.search(r"\bones?\b", said.text, re.IGNORECASE) is None
    if question is not None and is_place and _is_open(question):
        return Answer(question, said.text)  # "top left" may be where something is
    return _take_act(act, conversation) or said


def find_answer(text: str, question: Question) -> str | None:
    """The answer that a text plainly is: one of the choices in other words or by its place, "yes, two of them" where
    yes and no are offered, or that one does not know; else None."""
    choice = find_choice_meant(text, question.choices) or find_choice_named(text, question.choices)
    choice = choice or find_choices_meant(text, question.choices)
    if choice is not None:
        return choice
    is_all = text.strip(" .!").casefold() == "nothing" and _is_open(question)
    if is_all or (is_denial_alone(text) and _asks_whether(question)):
        return DONT_KNOW
    if _PLAINLY.fullmatch(text.strip()) and {"yes", "no"} <= {choice.casefold() for choice in question.choices}:
        return text
    return text if text.strip() and is_dont_know(text) else None


def _is_open(question: Question) -> bool:
    """Whether a question offers nothing to choose from but that one does not know."""
    return all(map(is_dont_know, question.choices))


def _asks_whether(question: Question) -> bool:
    """Whether an open question asks if there is more to say."""
    return _is_open(question) and _ASKS_WHETHER.search(question.text) is not None


def _is_move(text: str) -> bool:
    act = read_act(text)
    return split_opening(text) is not None or (act is not None and act.kind in _MOVES)


def _find_several(text: str, question: Question) -> str:
    """The answer of who says "both" or "either": the two values that are offered, or that it does not matter.

    Raises BadInput: there are not two.
    """
    if _EITHER.match(text.strip()):
        return DONT_KNOW
    values = list_values_offered(question.choices)
    if len(values) == 2 and {value.casefold() for value in values} != {"yes", "no"}:
        return " and ".join(values)
    few = f', such as "{values[0]} and {values[1]}"' if len(values) > 2 else ""
    raise BadInput(f"what do you mean by {text.strip()}? give the number of one picture, or answer in words{few}")


def _take_act(act: Act, conversation: Conversation) -> Turn | None:  # noqa: PLR0911, PLR0912 (one return a kind)
    """The turn that does it; None where there is nothing to do it with."""
    question, shown = conversation.pending, conversation.here.shown
    match act.kind:
        case "skip" if question is not None:
            return Answer(question, "")
        case "undo":
            path = conversation.path()
            if not path and len(conversation):
                raise BadInput('there is nothing to take back at the start: go on from a turn by its number, or "redo"')
            if act.turns > max(len(path), 1):
                raise BadInput(f"{act.turns} turns cannot be taken back: {len(path)} count now")
            return BackTo(path[-1 - act.turns].number if len(path) > act.turns else 0) if path else None
        case "before" if len(conversation):
            path = conversation.path()
            return BackTo(path[-2].number if len(path) > 1 else 0)
        case "results" | "turn" if len(conversation):
            return BackTo(_find_turn_meant(act, conversation))
        case "redo" if len(conversation):
            return BackTo(_find_undone(conversation))
        case "restart":
            return BackTo(0) if len(conversation) else None
        case "reject" | "more" if shown:
            return Reject(tuple(_find_place(place, shown) for place in act.places))
        case "accept" if shown:
            return Like(shown[0])
        case "nothing" | "skip" if act.kind == "nothing" or len(conversation):
            answer = "" if question is None else ", or answer the question"
            raise EmptyQuery(f"that describes nothing: say what is in the picture{answer}")
        case "pick" | "other" | "middle" | "which" | "several" if shown:
            return Like(_find_picture(act, conversation), act.but)
        case _:
            return None


def _find_turn_meant(act: Act, conversation: Conversation) -> int:
    """The turn whose results are meant. Raises BadInput: there is no such turn."""
    (place,), path = act.places, conversation.path()
    if act.kind == "turn":
        if place > len(conversation):
            raise BadInput(f"there is no turn {place}: the last one is {len(conversation)}")
        return place
    if place > len(path):
        raise BadInput(f"there is no search {place}: {len(path)} count now")
    # "The results before": those of the turn before the last.
    if place > 0 or len(path) > 1:
        return path[place - 1].number
    return 0


def _find_undone(conversation: Conversation) -> int:
    """The turn that was taken back last. Raises BadInput: none was, or several went on from here."""
    at = conversation.standing_at(conversation.here).number
    later = [
        node.number
        for node in conversation.nodes[1:]
        if not isinstance(node.turn, BackTo) and _resolve_parent(node.parent, conversation) == at
    ]
    if not later:
        raise BadInput("no turn was taken back that could follow here")
    if len(later) > 1:
        raise BadInput(f"several turns went on from here ({', '.join(map(str, later))}): go back to one of them")
    return later[0]


def _resolve_parent(number: int, conversation: Conversation) -> int:
    return conversation.standing_at(conversation.nodes[number]).number


def _find_picture(act: Act, conversation: Conversation) -> PictureId:
    """The one picture that is meant. Raises BadInput: it is not there, or it may be one of several."""
    shown = conversation.here.shown
    if len(act.places) > 1:
        raise BadInput('one picture at a time: say "the first one", and what the other has in words')
    if act.kind == "pick":
        return _find_place(act.places[0] if act.places else 1, shown)
    if act.kind == "middle" and len(shown) % 2:
        return shown[len(shown) // 2]
    if act.kind == "other" and len(shown) == 2:
        spoken = next((said for node in reversed(conversation.path()) if (said := _list_named(node.turn, shown))), ())
        others = [picture for picture in shown if picture not in spoken]
        if len(others) == 1:
            return others[0]
    raise BadInput('which picture? give the number of one, such as "number 2"')


def _list_named(turn: Turn | None, shown: tuple[PictureId, ...]) -> tuple[PictureId, ...]:
    """The pictures on the screen that a turn picks or rejects."""
    named = (turn.picture,) if isinstance(turn, Like) else turn.pictures if isinstance(turn, Reject) else ()
    return tuple(picture for picture in named if picture in shown)


def _find_place(place: int, shown: tuple[PictureId, ...]) -> PictureId:
    if not 1 <= abs(place) <= len(shown):
        raise BadInput(f"there is no result {place}: {len(shown)} are shown now")
    return shown[place - 1 if place > 0 else place]
