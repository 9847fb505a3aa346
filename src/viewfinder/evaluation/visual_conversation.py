"""Visual conversation: a system is shown a picture, is asked about it, and answers in words.

accuracy            share of a picture's questions answered as in the data (`normalize_answer` of both are equal)
text only           the same system, asked without the picture: what the question alone gives away
majority            the most frequent answer of the training split; "by kind": to its questions of the same kind
above ...           accuracy minus another figure, picture by picture: what seeing is worth

A value is a picture's mean over its questions, so intervals are over pictures. Kinds of questions have their own
figures ("accuracy: colour").
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from viewfinder.conversation import Answer, Like, Question, Say, Turn
from viewfinder.data.dialogues import Dialogue, Round, read_dialogues, read_visdial
from viewfinder.data.files import need_folder
from viewfinder.encoders import Encoder
from viewfinder.errors import BadInput, UnknownName
from viewfinder.evaluation.overlap import count_seen_pictures, list_parts, refuse_seen
from viewfinder.evaluation.pictures import load_pictures
from viewfinder.evaluation.plan import Notify, Plan, choose_by_title, load_system, pick_evenly, silent
from viewfinder.evaluation.replay import WORDS_ALONE, Speaker, reply_to_last, with_picture_bias
from viewfinder.evaluation.results import MeasuredRun, TaskResult, check_options, make_run, result_of_values
from viewfinder.search.gallery import Gallery
from viewfinder.training.progress import report_tenths
from viewfinder.wording.numbers import NUMBERS
from viewfinder.worlds.kinds import COLOURS
from viewfinder.worlds.words import (
    COLOUR_FAMILIES,
    COLOUR_WORDS,
    PATTERN_ADJECTIVES,
    PATTERN_NOUNS,
    PLACE_NOUNS,
    SIZE_WORDS,
    WHERE,
    drop_lead,
)

PROTOCOL, ANSWERS = "visual", "answers.jsonl"
HISTORY = "history"
ACCURACY, TEXT_ONLY, MAJORITY, BY_KIND = "accuracy", "text only", "majority", "majority by kind"
SPLITS = ("test", "val")
"""If none is named, the first that exists."""

VISDIAL = "visdial"


@dataclass(frozen=True)
class VisualQuestion:
    """A question about a picture (a key), the answer in the data, and what else was answered.

    `said` is the system's answer, `blind` the same without the picture; `majority` and `by_kind` are what was
    answered most often in training, "" where there is none.
    """

    picture: str
    question: str
    kind: str
    answer: str
    said: str = ""
    blind: str = ""
    majority: str = ""
    by_kind: str = ""

    @property
    def right(self) -> dict[str, float]:
        """Whether each of these is right, by the name of its figure; 1 or 0."""
        known = {ACCURACY: self.said, TEXT_ONLY: self.blind}
        known |= {MAJORITY: self.majority, BY_KIND: self.by_kind} if self.majority else {}
        return {name: float(normalize_answer(said) == normalize_answer(self.answer)) for name, said in known.items()}


def answer_questions(plan: Plan, encoder: Encoder, out: Path, notify: Notify = silent) -> MeasuredRun[VisualQuestion]:
    """Asks a system about the pictures of a split; nothing is written.

    Questions are those of `dialogues/*_<split>.json`, one task per file, or else of VisDial in `visdial/`. Each is
    asked on its own; the manner "history" puts so many rounds before it, with the answers in the data.

    From the plan it uses system, checkpoint, data, split, task, limit (pictures per task), features, manners and seed.

    Raises:
        UnknownName, BadInput: no such system, split, task or manner; a system that does not answer; no questions.
        EncoderMismatch: the system was trained on other vectors than the encoder gives.
    """
    check_options(plan, (HISTORY,), PROTOCOL)
    history = plan.options.get(HISTORY, 0)
    if not isinstance(history, int) or history < 0:
        raise BadInput(f"--manner {HISTORY}={history}: a number of rounds is needed, 0 or more")
    speaker = with_picture_bias(load_system(plan.system, plan.seed, plan.checkpoint), WORDS_ALONE)
    notify(f"reading {plan.data}")
    split, talks_of = _chosen(plan)
    pictures = load_pictures(plan, encoder, speaker, notify=notify)
    names = pictures.named(sorted({dialogue.image for dialogues in talks_of.values() for dialogue in dialogues}))
    tasks: list[TaskResult] = []
    asked: list[VisualQuestion] = []
    for name, dialogues in talks_of.items():
        here = [replace(dialogue, image=names[dialogue.image]) for dialogue in dialogues if dialogue.image in names]
        if not (chosen := pick_evenly(here, plan.limit)):
            continue
        title = f"{PROTOCOL}, {name}, {split}"
        notify(f"{title}: {sum(len(dialogue.rounds) for dialogue in chosen):,} questions")
        gallery = pictures.gallery(sorted({dialogue.image for dialogue in chosen}))
        answered = list(_answered(chosen, gallery, speaker, history, notify))
        answered = add_majorities(answered, read_question_dialogues(plan.data, "train").get(name, []))
        lost = f"{len(dialogues) - len(here):,} of {len(dialogues):,} pictures are not here"
        ids = list(dict.fromkeys(one.picture for one in answered))
        of = f"{name}, {split}, {len(answered):,} questions about {len(ids):,} pictures"
        overlap = refuse_seen(title, count_seen_pictures(ids, plan.data, list_parts(speaker, encoder)), plan)
        task = result_of_values(
            title, accuracy_values(answered), ids, of=of, split=split, pictures=len(ids), at="one question",
            seed=plan.seed, left_out=(lost,) if len(here) < len(dialogues) else (), overlap=overlap,
        )  # fmt: skip
        tasks.append(task)
        asked += answered
    if not tasks:
        raise BadInput(f"{plan.data}: no picture of {split!r} that is asked about is here; name another --data")
    return MeasuredRun(make_run(plan, encoder, out, tasks), tuple(asked), ANSWERS)


def read_question_dialogues(folder: Path, split: str) -> dict[str, list[Dialogue]]:
    """Dialogues of a split with questions and answers, by the name of their file without the split."""
    files = sorted((need_folder(folder) / "dialogues").glob(f"*_{split}.json"))
    found = {file.stem.removesuffix(f"_{split}"): _complete(read_dialogues(file)[0]) for file in files}
    if not any(found.values()):
        for home in (folder, folder / VISDIAL):
            if any((home / inner / f"visdial_1.0_{split}.json").is_file() for inner in (".", split)):
                found[VISDIAL] = _complete(read_visdial(home, split)[0])
    return {name: dialogues for name, dialogues in found.items() if dialogues}


def _complete(dialogues: Sequence[Dialogue]) -> list[Dialogue]:
    """The dialogues with only the rounds that have both a question and an answer, if any are left."""
    whole = (replace(one, rounds=tuple(it for it in one.rounds if it.question and it.answer)) for one in dialogues)
    return [dialogue for dialogue in whole if dialogue.rounds]


def _chosen(plan: Plan) -> tuple[str, dict[str, list[Dialogue]]]:
    """The split, and the dialogues of it that the plan wants."""
    for split in (plan.split,) if plan.split is not None else SPLITS:
        if found := read_question_dialogues(plan.data, split):
            chosen = choose_by_title([(f"{PROTOCOL}, {name}, {split}", name) for name in found], plan.task)
            return split, {name: found[name] for name in chosen}
    if plan.split is not None:
        raise UnknownName(f"{plan.data}: no dialogues/*_{plan.split}.json with questions here; name another --split")
    raise BadInput(f"{plan.data}: no dialogues/*_test.json with questions here, and no visdial/; name another --data")


def question_turns(rounds: Sequence[Round], picture: str | None) -> tuple[Turn, ...]:
    """Rounds up to a question as a user's turns, about their own picture or none; the last answer is left open.

    The data's answer stands where the system's own would: what the user says next is an `Answer` to it.
    """
    first = rounds[0].question
    opening: Turn = Say(first) if picture is None else Like(picture, first)
    later = (Answer(Question(one.answer, by="recorded"), other.question) for one, other in pairwise(rounds))
    return (opening, *later)


def _answered(
    dialogues: Sequence[Dialogue], gallery: Gallery, speaker: Speaker[Any], history: int, notify: Notify
) -> Iterator[VisualQuestion]:
    blindly: dict[tuple[Round, ...], str] = {}
    progress = report_tenths(notify, things="questions")
    total, done = sum(len(dialogue.rounds) for dialogue in dialogues), 0
    for dialogue in dialogues:
        for at, one in enumerate(dialogue.rounds):
            rounds = dialogue.rounds[max(at - history, 0) : at + 1]
            before = (*rounds[:-1], Round(one.question, ""))
            if before not in blindly:
                blindly[before] = reply_to_last(question_turns(before, None), gallery, speaker)
            said = reply_to_last(question_turns(before, dialogue.image), gallery, speaker)
            kind = classify_question(one.question)
            yield VisualQuestion(dialogue.image, one.question, kind, one.answer, said, blindly[before])
            progress(done := done + 1, total)


def add_majorities(asked: Sequence[VisualQuestion], training: Sequence[Dialogue]) -> list[VisualQuestion]:
    """The same with the most frequent answers in training, to all questions and to those of each kind.

    Kinds that were not asked in training get the answer for all; without training data there is none.
    """
    counts: dict[str, Counter[str]] = {}
    for dialogue in training:
        for one in dialogue.rounds:
            for kind in ("", classify_question(one.question)):
                counts.setdefault(kind, Counter())[normalize_answer(one.answer)] += 1
    most = {kind: count.most_common(1)[0][0] for kind, count in counts.items()}
    return [replace(one, majority=most.get("", ""), by_kind=most.get(one.kind, most.get("", ""))) for one in asked]


def accuracy_values(asked: Sequence[VisualQuestion]) -> dict[str, Float[np.ndarray, " s"]]:
    """The value of every figure for every picture, in the order of their first questions; NaN: none of the kind."""
    rows = {picture: row for row, picture in enumerate(dict.fromkeys(one.picture for one in asked))}
    row_q = np.array([rows[one.picture] for one in asked])
    right = {name: np.array([one.right[name] for one in asked]) for name in asked[0].right}
    every_q = np.ones(len(asked), bool)
    found = {name: _means(row_q, right_q, every_q, len(rows)) for name, right_q in right.items()}
    found |= {f"above {name}": found[ACCURACY] - found[name] for name in right if name != ACCURACY}
    kind_q = np.array([one.kind for one in asked])
    kinds = [kind for kind, _ in Counter(kind_q.tolist()).most_common()]
    for name, right_q in right.items():
        if name != MAJORITY:
            found |= {f"{name}: {kind}": _means(row_q, right_q, kind_q == kind, len(rows)) for kind in kinds}
    return found


def _means(
    row_q: np.ndarray, right_q: Float[np.ndarray, " q"], counted_q: np.ndarray, rows: int
) -> Float[np.ndarray, " s"]:
    """For each picture, the mean over its counted questions; NaN if there are none."""
    counts_s = np.bincount(row_q[counted_q], minlength=rows)
    sums_s = np.bincount(row_q[counted_q], weights=right_q[counted_q], minlength=rows)
    return np.where(counts_s > 0, sums_s / np.maximum(counts_s, 1), np.nan)


UNKNOWN, NOTHING = "can't tell", "nothing"

_WORD = re.compile(r"[a-z0-9]+(?:['-][a-z0-9]+)*")
_SHRUG = re.compile(r"\b(?:can't|cannot|can not) (?:tell|say|see)|\bhard to (?:say|tell)|\bnot sure|\bdon't know")
_DENIAL = re.compile(r"^(?:(?:i )?(?:don't|do not) see|there (?:is|are) no\b)")
_NOTHING = re.compile(r"^(?:nothing|none|that's all|that is all)\b")
_YES, _NO = frozenset({"yes", "yeah", "yep", "yup"}), frozenset({"no", "nope", "nah"})

_SMALL = frozenset(
    {"a", "an", "the", "it", "its", "it's", "is", "are", "be", "there", "there's", "they", "i", "i'd", "i'll", "see"}
    | {"say", "just", "only", "has", "have", "having", "faces", "to", "on", "in", "at", "by", "of", "near", "from"}
    | {"this", "that", "side", "corner", "colour", "color", "please"}
)
"""Words that do not change what an answer says."""


def normalize_answer(text: str) -> str:
    """An answer without what does not matter in it: two answers are the same if their normal forms are.

    Case, punctuation, articles and small words are removed; numbers become digits. What begins with yes or no becomes
    just that. All doubts are one answer, and so are words that a world treats as synonyms ("by the sea", "a beach").

    >>> [normalize_answer(said) for said in ("Yes, there is one.", "I don't see any dogs", "hard to say")]
    ['yes', 'no', "can't tell"]
    >>> [normalize_answer(said) for said in ("there are three", "it's navy blue", "on a sandy beach")]
    ['3', 'navy blue', 'beach']
    """
    lowered = text.lower().replace("’", "'").strip()
    if _SHRUG.search(lowered):
        return UNKNOWN
    words: list[str] = _WORD.findall(lowered)
    if words and words[0] in _YES | _NO:
        return "yes" if words[0] in _YES else "no"
    if _DENIAL.match(lowered):
        return "no"
    if _NOTHING.match(lowered):
        return NOTHING
    said = _bare(words)
    return _same_words().get(said, said)


def _bare(words: Iterable[str]) -> str:
    digits = {word: str(number) for number, word in NUMBERS.items()}
    return " ".join(digits.get(word, word) for word in words if word not in _SMALL)


@cache
def _same_words() -> dict[str, str]:
    """Maps ways to say a thing, as bare words, to the one that stands for all."""
    alike: list[tuple[str, Iterable[str]]] = [
        ("indoors", ("indoors", "inside")),
        ("outdoors", ("outdoors", "outside")),
        ("day", ("day", "daytime", "by day", "daylight")),
        ("night", ("night", "night-time")),
        ("sunset", ("sunset", "evening", "dusk")),
        ("middle", ("in the middle", "neither, in the middle", "in the centre of the picture", "centre")),
        ("bottom", ("at the bottom", "near the lower edge")),
        *COLOUR_WORDS.items(),
        *SIZE_WORDS.items(),
        (NOTHING, ("plain", "single-coloured")),
    ]
    for pattern, words in PATTERN_ADJECTIVES.items():
        alike.append((PATTERN_NOUNS.get(pattern, pattern), (*words, PATTERN_NOUNS.get(pattern, pattern))))
    alike += [(place, (place, *words, *WHERE[place])) for place, words in PLACE_NOUNS.items()]
    table: dict[str, str] = {}
    for name, phrases in alike:
        for phrase in phrases:
            table.setdefault(_bare(_WORD.findall(phrase)), name)
    return table


def _any(words: Iterable[str]) -> str:
    return "|".join(sorted(map(re.escape, words), key=len, reverse=True))


_SHADES = _any({*COLOURS, *COLOUR_FAMILIES, *COLOUR_FAMILIES.values(), "grey", "gray", "multicoloured", "metallic"})
_LOOKS = _any(word for words in PATTERN_ADJECTIVES.values() for word in words)
_SIZES = _any(word for words in SIZE_WORDS.values() for word in words)

KINDS: dict[str, re.Pattern[str]] = {
    "number": re.compile(r"^how many|\bonly one\b|^what number"),
    "more": re.compile(r"\belse\b"),
    "presence": re.compile(r"^(?:is|are) there\b|^(?:can|do) you see\b"),
    "colour": re.compile(rf"colou?r|^(?:is|are) .*\b(?:{_SHADES})$"),
    "pattern": re.compile(rf"\bpatterns?\b|^(?:is|are) .*\b(?:{_LOOKS})$"),
    "comparison": re.compile(r"\b(?:bigger|larger|smaller|taller)\b"),
    "size": re.compile(rf"^how (?:big|large|small|tall)|\bbig or small|^(?:is|are) .*\b(?:{_SIZES})$"),
    "facing": re.compile(r"\b(?:face|facing)\b"),
    "light": re.compile(r"\btime of day|\bday or night|\bthe light\b|\bdark$|\b(?:sunny|daytime|night ?time)\b"),
    "place": re.compile(
        r"^where (?:is|was) (?:this|it taken)|\bbackground\b|kind of place|look like a|indoors|outside|inside"
    ),
    "position": re.compile(r"^where\b|on the left or\b"),
    "relation": re.compile(
        r"\b(?:left|right) of\b|\bnext to\b|\bbeside\b|\bclose to\b|\bin front of\b|\bbehind\b|\babove\b|\bover\b"
        r"|\bbelow\b|\bbeneath\b|\bunderneath\b|\bpartly\b"
    ),
    "hidden": re.compile(r"^how old\b|^who owns\b|\b(?:new|expensive)$"),
    "place guessed": re.compile(r"^(?:is|was|does) (?:it|this)\b"),
}
"""Kinds of questions; the first that fits counts, and every question of a world fits one."""

OTHER = "other"


def classify_question(question: str) -> str:
    """What a question is about.

    >>> [classify_question(one) for one in ("How many dogs are there?", "is it navy blue?", "where was this taken?")]
    ['number', 'colour', 'place']
    """
    said = drop_lead(question.lower().strip(" ?."))
    return next((kind for kind, pattern in KINDS.items() if pattern.search(said)), OTHER)
