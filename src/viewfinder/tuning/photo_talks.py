"""Talks about captioned photos: our own questions (photo_questions.toml), answered from what people wrote.

talks = photo_talks(pictures, read_photo_questions())
"""

from __future__ import annotations

import random
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from viewfinder.data.captions import CaptionedPicture
from viewfinder.data.dialogues import Dialogue, Round, dialogue
from viewfinder.questioners.said import stems

QUESTIONS = Path(__file__).with_name("photo_questions.toml")
ROUNDS = 10
"""Questions of a talk; a photo has as many talks as all that is known of it fills."""


@dataclass(frozen=True)
class PhotoQuestion:
    """A question, and the words in captions that answer it.

    Attributes:
        text: the question.
        answers: by answer, phrases as stems; the one that most captions have is the answer.
        otherwise: the answer where no caption has any of them; None: it is not known then.
        needs: phrases of which captions must have one for the question to make sense; () where it always does.
    """

    text: str
    answers: Mapping[str, tuple[tuple[str, ...], ...]]
    otherwise: str | None
    needs: tuple[tuple[str, ...], ...] = ()

    def answer(self, captions: Sequence[str]) -> str | None:
        """What the captions say; None where they do not, or as many say one thing as another."""
        lines = [f" {' '.join(stems(caption))} " for caption in captions]
        if self.needs and not _votes(lines, self.needs):
            return None
        votes = {answer: _votes(lines, phrases) for answer, phrases in self.answers.items()}
        first, *others = sorted(votes, key=lambda answer: -votes[answer])
        if not votes[first]:
            return self.otherwise
        return first if not others or votes[first] > votes[others[0]] else None


def _votes(lines: Sequence[str], phrases: Sequence[tuple[str, ...]]) -> int:
    """How many captions have one of the phrases."""
    return sum(any(f" {' '.join(phrase)} " in line for phrase in phrases) for line in lines)


def read_photo_questions(file: Path = QUESTIONS) -> tuple[PhotoQuestion, ...]:
    """Our questions."""
    return tuple(_question(record) for record in tomllib.loads(file.read_text(encoding="utf-8"))["question"])


def _question(record: Mapping[str, Any]) -> PhotoQuestion:
    answers = record.get("answers") or {"yes": record["yes"]}
    return PhotoQuestion(
        record["text"],
        {answer: tuple(map(stems, phrases)) for answer, phrases in answers.items()},
        otherwise="no" if "yes" in record else None,
        needs=tuple(map(stems, record.get("needs", ()))),
    )


def photo_dialogues(pictures: Sequence[CaptionedPicture], questions: Sequence[PhotoQuestion]) -> list[Dialogue]:
    """All that captions answer, as talks of ten rounds that begin with one of the captions; the same every time."""
    talks: list[Dialogue] = []
    for picture in pictures:
        known = [(question.text, question.answer(picture.captions)) for question in questions]
        rounds = [Round(text, answer) for text, answer in known if answer is not None]
        random.Random(picture.path.name).shuffle(rounds)
        for number, at in enumerate(range(0, len(rounds), ROUNDS)):
            caption = picture.captions[number % len(picture.captions)]
            talks.append(dialogue(str(picture.path), caption, rounds[at : at + ROUNDS]))
    return talks
