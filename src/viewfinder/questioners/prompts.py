"""What language models are asked for questions with, and how questions are read from what they reply.

ChatIR (Levy et al., "Chatting Makes Perfect", NeurIPS 2023) gives an instruction and a few partial dialogues, each with
its next question. The words and the dialogues here are our own, and short: a small model on a processor reads some
hundred words a second.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from viewfinder.conversation import Answer, Like, Say, Show, Turn, is_dont_know
from viewfinder.questioners.answers import DONT_KNOW

SHORTEST = 3
LONGEST = 20
"""Words of a question; what is longer is a speech."""

LONGEST_WORD = 24
MOST_OF_ONE_WORD = 3
LETTERS = 0.85
"""The share of letters among the signs of a question, blanks aside."""

PROMPTED_ROUNDS = 10
"""The newest questions and answers that a model is told."""

_NEXT = """\
Somebody has one photograph in mind. Ask a new question about it that helps to find it in a large collection.

Photograph: a man rides a horse on a beach
Question: What colour is the horse?
Answer: brown
Question: Is the man wearing a hat?

Photograph: two children play in a garden
Question: Are the children boys or girls?

Photograph: a plate of food on a table
Question: Is there a person at the table?
Answer: no
Question: What kind of food is on the plate?
Answer: pasta
Question: Is there a glass on the table?

"""

_TEN = """\
Ten short questions about a photograph that help to find it in a large collection.

Photograph: a man rides a horse on a beach
1. What colour is the horse?
2. Is the man wearing a hat?
3. Are there other people?
4. Is the horse in the water?
5. Is it sunny?
6. Is the man young or old?
7. Are there any boats?
8. What is the man wearing?
9. Is the horse running?
10. Are there trees in the background?

Photograph: {caption}
"""

_OPENER_WORDS = """
what what's which who who's whose whom where where's when why how is are was were am do does did can could has have
had will would should may might isn't aren't wasn't weren't doesn't don't didn't hasn't haven't
"""
_OPENERS = frozenset(_OPENER_WORDS.split())
_LABEL = re.compile(
    r"^(?:(?:next|new)?\s*question\s*\d*\s*:|q\s*\d*\s*[:.)]|\d{1,2}\s*[.):]|[-*•\"'“”‘`]+)\s*", re.IGNORECASE
)
_ITEM = re.compile(r"^[ \t]*[-*•][ \t]+|(?:^|(?<=\s))(?:q\s*)?\d{1,2}\s*[.):](?=\s)", re.IGNORECASE | re.MULTILINE)


def write_next_question_prompt(turns: Sequence[Turn]) -> str | None:
    """The prompt for the next question of a talk; None where nothing was said in words yet."""
    description = join_descriptions(turns)
    if not description:
        return None
    rounds = [turn for turn in turns if isinstance(turn, Answer)][-PROMPTED_ROUNDS:]
    said = (f"Question: {_line(turn.question.text)}\nAnswer: {_answer(turn.text)}\n" for turn in rounds)
    return f"{_NEXT}Photograph: {description}\n{''.join(said)}Question:"


def write_ten_questions_prompt(caption: str, listed: Sequence[str] = ()) -> str:
    """The prompt for ten questions at once, of which some are listed already; the reply goes on after the number."""
    lines = (f"{n}. {question}\n" for n, question in enumerate(listed, start=1))
    return f"{_TEN.format(caption=_line(caption))}{''.join(lines)}{len(listed) + 1}."


def join_descriptions(turns: Sequence[Turn]) -> str:
    """What was said of the picture besides answers, as one line; "" if nothing.

    >>> described([Say("A dog."), Show("my.jpg"), Say("in the\\n snow")])
    'A dog; in the snow'
    """
    told = (_line(turn.text) for turn in turns if isinstance(turn, Say | Show | Like))
    return "; ".join(text for text in told if text)


def parse_question(reply: str) -> str | None:
    """The question that a reply begins with, up to its "?"; None where that is no question, or nonsense.

    >>> question_in(" Question: is the dog black? Answer: yes"), question_in("A dog, on a beach.")
    ('Is the dog black?', None)
    """
    asked, mark, _ = reply.strip().partition("?")
    asked = _unlabelled(" ".join(asked.split()))
    if not mark or not _is_sensible(asked):
        return None
    return f"{asked[0].upper()}{asked[1:]}?"


def parse_questions(reply: str) -> tuple[str, ...]:
    """All questions of a reply that lists them: by line, by number, or one after the other.

    Hyphens and commas part nothing. A numbered question whose "?" was forgotten counts if it begins as one.

    >>> questions_in("1. Is the black-and-white dog, on the left, big? 2. Where is it now?\\n3. what does it wear")
    ('Is the black-and-white dog, on the left, big?', 'Where is it now?', 'What does it wear?')
    """
    return tuple(question for item in _items(reply) if (question := parse_question(item)) is not None)


def _items(reply: str) -> Iterator[str]:
    for item in _ITEM.split(f"\n{reply}"):
        for line in item.splitlines():
            *asked, rest = line.split("?")
            yield from (f"{text}?" for text in asked)
            if not asked and rest.strip() and _words(_unlabelled(rest))[0] in _OPENERS:
                yield f"{rest.rstrip(' .!')}?"


def _is_sensible(asked: str) -> bool:
    """Whether words, few enough and not too few, stand in a row as in a question."""
    words = _words(asked)
    signs = asked.replace(" ", "")
    return (
        SHORTEST <= len(words) <= LONGEST
        and sum(map(str.isalpha, signs)) >= LETTERS * len(signs)
        and max(map(len, words)) <= LONGEST_WORD
        and max(map(words.count, words)) <= MOST_OF_ONE_WORD
        and any(word in _OPENERS for word in words)
        and not re.search(r"[.!:;](?:\s|$)", asked)
    )


def _words(text: str) -> list[str]:
    return [word.strip(",;:.!\"'()“”") for word in text.lower().replace("’", "'").split()] or [""]


def _unlabelled(text: str) -> str:
    while (shorter := _LABEL.sub("", text.strip())) != text:
        text = shorter
    return text


def _line(text: str) -> str:
    return " ".join(text.split()).rstrip(" .")


def _answer(text: str) -> str:
    return DONT_KNOW if is_dont_know(text) else _line(text)
