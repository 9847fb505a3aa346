"""What a language model wrote, made into turns; or the reason why it cannot be.

Models number lines, quote them, write labels in bold, forget the first label, go on with a case of their own.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from itertools import pairwise

from viewfinder.construction.parts import SampleNotMade, TwoRounds
from viewfinder.data.chatsearch import ChatTurn, Role, TextItem

LONGEST = 300
"""Characters of a line."""

_LABEL = re.compile(r"^[\s*#>\-\d.)]*(user|assistant|found|caption|(?:first |second )?picture)[\s*]*:[\s*]*", re.I)
_MARKS = " \t*\"'`“”‘’"
_WORD = re.compile(r"[a-z0-9]+")


def split_labelled_lines(text: str, first: str, ends: Collection[str]) -> list[tuple[str, str]]:
    """The lines of an answer with their labels in lower case; a line without one goes on with the line before.

    Args:
        text: what was written after `first` and its colon.
        first: the label that the answer begins with, which the model may have written again.
        ends: labels in lower case that begin another case.

    >>> labelled("A dog?\\nassistant: Which one?\\n\\nPicture: a cat", "User", {"picture"})
    [('user', 'A dog?'), ('assistant', 'Which one?')]
    """
    found: list[tuple[str, str]] = []
    for line in text.splitlines():
        match = _LABEL.match(line)
        label, rest = (match[1].lower(), line[match.end() :]) if match else ("", line)
        if label in ends:
            break
        words = rest.strip(_MARKS)
        if label or not found:
            found.append((label or first.lower(), words))
        elif words:
            found[-1] = (found[-1][0], f"{found[-1][1]} {words}".strip())
    return [(label, words) for label, words in found if words]


def parse_dialogue(text: str, caption: str, known: Collection[str]) -> tuple[ChatTurn, ...]:
    """A dialogue of two user's turns or more; what the assistant says after the last one is left out.

    Raises:
        NotMade: it is none.
    """
    lines = split_labelled_lines(text, "User", {"picture"})
    while lines and lines[-1][0] != "user":
        lines.pop()
    if sum(label == "user" for label, _ in lines) < 2:
        raise SampleNotMade("no dialogue of two rounds")
    if any(a == b for (a, _), (b, _) in pairwise(lines)) or lines[0][0] != "user":
        raise SampleNotMade("the two sides do not take turns")
    if len({said.lower() for _, said in lines}) < len(lines):
        raise SampleNotMade("a line is said twice")
    for _, said in lines:
        _check(said, (caption,), known)
    return tuple(ChatTurn(_role(label), (TextItem(said),)) for label, said in lines)


def parse_instruction(text: str, captions: Collection[str], known: Collection[str]) -> str:
    """One sentence of the user's: the first line.

    Raises:
        NotMade: it is none, or repeats what a picture shows.
    """
    lines = split_labelled_lines(text.strip().partition("\n")[0], "User", ())
    if not lines:
        raise SampleNotMade("nothing was said")
    return _check(lines[0][1], captions, known)


def parse_two_rounds(text: str, caption: str, known: Collection[str]) -> TwoRounds:
    """A request, the caption of what is found, and a change.

    Raises:
        NotMade: it is something else.
    """
    lines = split_labelled_lines(text, "User", ())
    if [label for label, _ in lines[:3]] not in (["user", name, "user"] for name in ("found", "caption", "assistant")):
        raise SampleNotMade("not a request, a caption and a change")
    asked, found, change = (said for _, said in lines[:3])
    if _words(found) == _words(caption):
        raise SampleNotMade("the first answer is the target already")
    return TwoRounds(_check(asked, (caption,), known), _check(found, (), known), _check(change, (caption,), known))


def _check(said: str, captions: Collection[str], known: Collection[str]) -> str:
    """What was said, if somebody could have said it.

    Raises:
        NotMade: it is too short or too long, quotes a caption, or repeats an example.
    """
    words = _words(said)
    if len(words) < 2:
        raise SampleNotMade("a line of one word")
    if len(said) > LONGEST:
        raise SampleNotMade(f"a line of more than {LONGEST} characters")
    if any(" ".join(_words(caption)) in " ".join(words) for caption in captions):
        raise SampleNotMade("a caption is quoted as it is")
    if said.lower() in known:
        raise SampleNotMade("an example was repeated")
    return said


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())


def _role(label: str) -> Role:
    return "user" if label == "user" else "assistant"
