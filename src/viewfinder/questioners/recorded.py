"""Asks what was asked once: the questions of the recorded dialogue that began with the same words.

Whatever is answered, the next question is the recorded one: this is how the questions of people, of language models and
of trained pairs of bots are replayed against another answerer. A recording that repeats itself is repeated.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from viewfinder.conversation import Answer, Question, Say
from viewfinder.data.dialogues import Dialogue, read_dialogues, read_visdial
from viewfinder.errors import BadInput
from viewfinder.questioners.answers import find_choices
from viewfinder.questioners.base import Candidates

VISDIAL = "visdial_1.0_"


@dataclass(frozen=True)
class RecordedQuestioner:
    """The questioner; `questions` by the folded caption with which their dialogue begins."""

    questions: Mapping[str, tuple[str, ...]]
    name: str = "recorded"

    def ask(self, view: Candidates) -> Question | None:
        """The first question of the dialogue that was not asked yet (or not as often); None where none is left.

        None too where no recorded dialogue begins with the first thing that was said.
        """
        first = view.turns[0] if view.turns else None
        recorded = self.questions.get(fold_text(first.text) if isinstance(first, Say) else "", ())
        # A question that was answered without being asked (in a script) counts as asked.
        past = Counter(fold_text(question.text) for question in view.asked)
        past |= Counter(fold_text(turn.question.text) for turn in view.turns if isinstance(turn, Answer))
        for number, text in enumerate(recorded, start=1):
            past[fold_text(text)] -= 1
            if past[fold_text(text)] < 0:
                why = f"question {number} of the {len(recorded)} that were recorded for this description"
                return Question(text, find_choices(text), self.name, why)
        return None


def fold_text(text: str) -> str:
    """A text without capitals and with single blanks, for comparing.

    >>> fold_text(" A dog  on a Sofa")
    'a dog on a sofa'
    """
    return " ".join(text.split()).casefold()


def load_recorded(source: str) -> RecordedQuestioner:
    """The questioner over a file of dialogues (ChatIR's form, or VisDial's) or a folder of them.

    PlugIR's rewritten dialogues hold no questions: they are passed over.

    Raises:
        BadInput: nothing is there, a file is damaged, or there is no question in it.
    """
    files = _files(Path(source))
    questions = _read(tuple((file, file.stat().st_mtime_ns) for file in files))
    if not questions:
        raise BadInput(f"{source}: no question in it; give dialogues as ChatIR writes them, not rewritten ones")
    return RecordedQuestioner(questions)


def _files(source: Path) -> tuple[Path, ...]:
    if source.is_file():
        return (source,)
    if not source.is_dir():
        raise BadInput(f"{source}: no such file or folder of dialogues; give one that `viewfinder dialogues` wrote")
    files = sorted((source / "dialogues").glob("*.json")) or sorted(source.glob("*.json"))
    if not files:
        raise BadInput(f"{source}: no dialogues/*.json here; give a file or folder of dialogues as ChatIR writes them")
    return tuple(files)


@lru_cache(maxsize=4)
def _read(files: tuple[tuple[Path, int], ...]) -> dict[str, tuple[str, ...]]:
    """The questions of the first dialogue of each folded caption, in some files as they were last written.

    Kept, as every conversation loads its own questioner.
    """
    dialogues: list[Dialogue] = []
    for file, _ in files:
        if file.stem.startswith(VISDIAL):
            dialogues += read_visdial(file.parent, file.stem.removeprefix(VISDIAL))[0]
        else:
            dialogues += read_dialogues(file)[0]
    found: dict[str, tuple[str, ...]] = {}
    for dialogue in dialogues:
        asked = tuple(turn.question for turn in dialogue.rounds if any(map(str.isalnum, turn.question)))
        if asked:
            found.setdefault(fold_text(dialogue.caption), asked)
    return found
