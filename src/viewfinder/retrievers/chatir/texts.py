"""A talk as texts: what its rounds come to, and the whole as the one string that a text encoder reads.

Training and search call the same functions, so that a network meets what it was trained on. No torch here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Literal, NamedTuple, TypeVar

from viewfinder.conversation import is_dont_know

Item = TypeVar("Item")

Separator = Literal["comma", "sep"]
"""Between elements: ", " between rounds and a blank inside one (published code), or the encoder's own mark (paper)."""


PROBE = "a picture"
"""What an encoder makes of these words tells its space from others: kept in weights that look for pictures there."""


class RoundText(NamedTuple):
    """A round as it is read; what was said without being asked has no question."""

    question: str
    answer: str

    def __str__(self) -> str:
        return " ".join(part for part in self if part)


def with_question_mark(question: str) -> str:
    """A question with its "?", which VisDial's lack.

    >>> asked("is it big"), asked("Tell me more."), asked("")
    ('is it big?', 'Tell me more.', '')
    """
    plain = " ".join(question.split())
    return plain if not plain or plain[-1] in "?.!" else f"{plain}?"


def informative_rounds(rounds: Iterable[tuple[str, str]]) -> tuple[RoundText, ...]:
    """The rounds that say something: without those that were skipped, or answered by "don't know".

    >>> told([("is it big", "no"), ("is it old?", "can't tell"), ("", "a red boat")])
    (Said(question='is it big?', answer='no'), Said(question='', answer='a red boat'))
    """
    return tuple(
        RoundText(with_question_mark(question), " ".join(answer.split()))
        for question, answer in rounds
        if not is_dont_know(answer)
    )


def negated_round(sentence: str) -> RoundText:
    """What is not there, as dialogues say it: a question and no. `sentence` is one of `blocks.spoken`.

    >>> str(refused("there is no dog and no cat")), str(refused("there are no people"))
    ('is there a dog or a cat? no', 'are there any people? no')
    """
    verb, _, things = sentence.removeprefix("there ").partition(" no ")
    wanted = " or ".join(_with_article(thing, verb) for thing in things.split(" and no "))
    return RoundText(with_question_mark(f"{verb} there {wanted}"), "no")


def _with_article(thing: str, verb: str) -> str:
    if verb == "are":
        return f"any {thing}"
    return f"{'an' if thing[:1].lower() in {*'aeiou'} else 'a'} {thing}"


def last_rounds(rounds: Sequence[Item], most: int) -> tuple[Item, ...]:
    """The last `most` rounds, in order; the caption stands for the talk's beginning."""
    return tuple(rounds[max(len(rounds) - most, 0) :])


def join_dialogue(
    caption: str, rounds: Iterable[tuple[str, str]], separator: Separator = "comma", mark: str = "[SEP]"
) -> str:
    """The talk as one string; what is empty (a caption that was hidden, a question masked) goes with its separator.

    >>> joined("a dog", [("is it big?", "no"), ("", "it runs")])
    'a dog, is it big? no, it runs'
    >>> joined("a dog", [("is it big?", "no"), ("", "it runs")], "sep")
    'a dog [SEP] is it big? [SEP] no [SEP] it runs'
    """
    if separator == "comma":
        return ", ".join(piece for piece in (caption, *(str(RoundText(*item)) for item in rounds)) if piece)
    return f" {mark} ".join(piece for piece in (caption, *(part for item in rounds for part in item)) if piece)


def fit_dialogue(
    caption: str,
    rounds: Sequence[tuple[str, str]],
    count: Callable[[str], int],
    most: int,
    separator: Separator = "comma",
    mark: str = "[SEP]",
) -> str:
    """`joined`, without the oldest rounds that make it too long. The caption and the newest round always stay.

    `count` says how many tokens a text has (those at its ends included), `most` how many are read; if even the two
    that stay are longer, the reader cuts off the end.
    """
    for first in range(len(rounds)):
        text = join_dialogue(caption, rounds[first:], separator, mark)
        if count(text) <= most:
            return text
    return join_dialogue(caption, rounds[-1:], separator, mark)
