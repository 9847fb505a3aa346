"""What a questioner asked: how often the same, in how many words, to how many shrugs, and how long it took.

questions             how many were asked
repeated questions    how many of them had been asked before, letter by letter (ChatIR)
unique tokens         how many different words they have
don't know            share of the answers that say nothing, passing over included
by another            share of the questions that another questioner asked, because this one could not
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from viewfinder.conversation import Answer, Conversation, Say, is_dont_know
from viewfinder.data.dialogues import Dialogue, Round, make_dialogue
from viewfinder.evaluation.conversing import HeldDialogue
from viewfinder.metrics import count_repeated_questions, count_unique_tokens

REPEATED, SHRUGS, BY_ANOTHER = "repeated questions", "don't know", "by another"


def questioner_name(questioner: str) -> str:
    """What a questioner is called, without what it was told to use: "llm" of "llm=model.gguf"."""
    return questioner.partition("=")[0]


def questioner_label(questioner: str) -> str:
    """A questioner as a run names it: of what it was told to use, the file's name alone.

    >>> shown_questioner("llm=/home/me/models/smol.gguf"), shown_questioner("information_gain")
    ('llm=smol.gguf', 'information_gain')
    """
    name, equals, source = questioner.partition("=")
    return f"{name}{equals}{source.rstrip('/').rpartition('/')[2]}"


def question_values(held: Sequence[HeldDialogue], questioner: str) -> dict[str, Float[np.ndarray, " s"]]:
    """One value a talk, by the names above; NaN for shares of talks in which nothing was asked."""
    answers = [_answers(one.conversation) for one in held]
    asked = [[answer.question.text for answer in talk] for talk in answers]
    name = questioner_name(questioner)
    return {
        "questions": np.array([float(len(talk)) for talk in asked]),
        REPEATED: count_repeated_questions(asked).astype(np.float64),
        "unique tokens": count_unique_tokens(asked).astype(np.float64),
        SHRUGS: np.array([_share([is_dont_know(answer.text) for answer in talk]) for talk in answers]),
        BY_ANOTHER: np.array([_share([answer.question.by != name for answer in talk]) for talk in answers]),
    }


def question_times(held: Sequence[HeldDialogue]) -> dict[str, float]:
    """Milliseconds that it took to choose a question: median and 95th percentile; {} where none was timed."""
    taken = [ms for one in held for ms in one.asking_ms]
    if not taken:
        return {}
    return {"median_ms": round(float(np.median(taken)), 3), "p95_ms": round(float(np.percentile(taken, 95)), 3)}


def record_dialogue(image: str, conversation: Conversation) -> Dialogue:
    """A talk in ChatIR's form: what was said at first, then questions and answers."""
    first = next((node.turn.text for node in conversation.path() if isinstance(node.turn, Say)), "")
    rounds = [record_round(answer.question.text, answer.text) for answer in _answers(conversation)]
    return make_dialogue(image, " ".join(first.split()), rounds)


def record_round(question: str, answer: str) -> Round:
    """Question and answer such that a reader of "question? answer" finds the two again.

    There the last "?" ends the question, so that there can be none in the answer, and "Answer:" parts them too.

    >>> round_of("What  colour", "red? maybe")
    Round(question='What colour?', answer='red maybe')
    """
    asked = _line(question)
    if not _ASKED.search(asked):
        asked = f"{asked.rstrip(_ENDS)}?"
    return Round(asked, _line(answer.replace("?", " ")))


_ASKED = re.compile(r"\?[)\]\"'’”]*$")
_ENDS = " .!:;,"
_LEAK = re.compile(r"\bAnswer(?=\s*:)")


def _line(text: str) -> str:
    return " ".join(_LEAK.sub("answer", text).split())


def _answers(conversation: Conversation) -> list[Answer]:
    return [node.turn for node in conversation.path() if isinstance(node.turn, Answer)]


def _share(flags: Sequence[bool]) -> float:
    return float(np.mean(flags)) if flags else float("nan")
