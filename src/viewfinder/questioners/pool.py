"""Questions that people have asked: `pool` asks the likeliest next one, `recorded` those of one recorded dialogue.

The pool learnt by imitation which question follows which dialogue (ChatIR's "pool" is such a classifier over a closed
pool), and sees no pictures. Unlike the published one it asks nothing twice and nothing whose subject was not mentioned;
as `pool=FILE?repeat` it does both, which is what the published figures on repetition are about.

`recorded` asks what was asked once, of the dialogue that began with the same words. Whatever is answered, the next
question is the recorded one: this is how the questions of people, of language models and of trained pairs of bots are
replayed against another answerer. A recording that repeats itself is repeated.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from jaxtyping import Float

from viewfinder.conversation import Answer, Question, Say, Turn
from viewfinder.data.dialogues import Dialogue, read_dialogues, read_visdial
from viewfinder.errors import BadInput
from viewfinder.questioners.base import Candidates, Lookup
from viewfinder.questioners.so_far import ConversationSoFar
from viewfinder.questioners.trained import PoolQuestion, TrainedQuestions
from viewfinder.wording.choices import YES_NO_CHOICES, find_choices
from viewfinder.wording.replies import DONT_KNOW, SOMETHING_ELSE, is_dont_know

REPEAT_SUFFIX = "?repeat"
"""At the end of a source it allows any question, also one that was asked before."""

MAX_CHOICES = 6


@dataclass(frozen=True, eq=False)
class PoolQuestioner:
    """The questioner; `may_repeat` leaves everything to the trained selector."""

    trained: TrainedQuestions
    may_repeat: bool = False
    name: str = "pool"

    @property
    def trained_on(self) -> str:
        """The list of the pictures that the dialogues were about; "": unknown."""
        return self.trained.card.trained_on

    def ask(self, view: Candidates) -> Question | None:
        """The likeliest question that is new and needs nothing unsaid; None where there is none left.

        Raises:
            EncoderMismatch: trained on the sentence vectors of another encoder.
        """
        if view.lookup is None:
            return None
        self.trained.check(view.lookup)
        chance_q = self.trained.predict_next(*dialogue_vectors(view.turns, view.lookup))
        so_far = ConversationSoFar.of(view)
        allowed = frozenset(() if self.may_repeat else self.trained.select_askable(so_far))
        for q in np.argsort(-chance_q, kind="stable").tolist():
            question = self.trained.questions[q]
            if self.may_repeat or (q in allowed and so_far.is_new(question.text)):
                often = f"{chance_q[q]:.0%} of people would ask this next in a conversation like this one"
                why = often if chance_q[q] >= 0.005 else "people ask this in conversations like this one"
                return Question(question.text, _offer_choices(question), self.name, why)
        return None


def dialogue_vectors(
    turns: tuple[Turn, ...], lookup: Lookup
) -> tuple[Float[np.ndarray, " s"], Float[np.ndarray, "r s"], Float[np.ndarray, "r s"]]:
    """A conversation as input of a selector: sentence vectors of the caption, of the questions, and of the answers.

    The caption is what was said at first (zeros if nothing was); what is said later has no question, which is zeros
    too. Turns without words are passed over.
    """
    said = [turn for turn in turns if isinstance(turn, Answer) or (isinstance(turn, Say) and turn.text)]
    caption = said[0].text if said and isinstance(said[0], Say) else ""
    texts = ["", caption]
    for turn in said[1:] if caption else said:
        if isinstance(turn, Say):
            texts += ["", turn.text]
        else:
            texts += [turn.question.text.casefold(), DONT_KNOW if is_dont_know(turn.text) else turn.text]
    read_ns = np.array(lookup.sentences(texts), np.float32)
    read_ns[[not text for text in texts]] = 0
    return read_ns[1], read_ns[2::2], read_ns[3::2]


def _offer_choices(question: PoolQuestion) -> tuple[str, ...]:
    """The answers that people give most, where nearly all give one of a few, and "don't know"."""
    if {*question.answers} == {"yes", "no"}:
        return YES_NO_CHOICES
    if not question.predicted:
        return find_choices(question.text)
    # "daytime" says no more than "day".
    short = [
        answer
        for answer in question.answers
        if " " in answer or not any(answer != other and answer.startswith(other) for other in question.answers)
    ]
    more = (SOMETHING_ELSE,) if len(short) > MAX_CHOICES else ()
    return (*short[:MAX_CHOICES], *more, DONT_KNOW)


@dataclass(frozen=True, eq=False)
class PooledQuestions:
    """Questions of a trained pool that people are likeliest to ask after the caption."""

    pool: TrainedQuestions
    name: str

    def questions(self, caption: str, lookup: Lookup | None) -> Iterator[str]:
        """Questions that take nothing for granted that the caption does not say, the likeliest first, one a meaning.

        Raises:
            EncoderMismatch: the pool was trained on other sentence vectors.
            BadInput: there is nothing that makes sentence vectors.
        """
        if lookup is None:
            raise BadInput(f"{self.name} needs sentence vectors, and these candidates come without")
        self.pool.check(lookup)
        none_rs = np.zeros((0, len(caption_s := lookup.sentences([caption])[0])), caption_s.dtype)
        chance_q = self.pool.predict_next(caption_s, none_rs, none_rs)
        meanings: set[int] = set()
        for q in sorted(self.pool.select_askable(ConversationSoFar([caption])), key=lambda q: -chance_q[q]):
            question = self.pool.questions[q]
            if question.meaning not in meanings:
                meanings.add(question.meaning)
                yield question.text


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
