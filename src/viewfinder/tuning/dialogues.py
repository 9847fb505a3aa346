"""Dialogues that questions are learnt from, from one or several data sets, and the pictures they are about.

Dialogues are made from captioned photos: our own questions (photo_questions.toml), answered from what people wrote.
"""

from __future__ import annotations

import random
import tomllib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from jaxtyping import Float16, Int

from viewfinder.data.captions import CaptionedPicture, has_captions, read_captioned
from viewfinder.data.dialogues import Dialogue, Round, make_dialogue, read_dialogues, read_visdial
from viewfinder.data.splits import SPLITS, Split, name_pictures, split_of, split_reader
from viewfinder.encoders.features import Features, features
from viewfinder.errors import BadInput, UnknownName
from viewfinder.retrievers.shared.train_plan import TrainPlan
from viewfinder.wording.stems import stems

QUESTIONS = Path(__file__).with_name("photo_questions.toml")
MAX_DIALOGUE_ROUNDS = 10
"""Questions per dialogue; a photo has as many dialogues as everything known of it fills."""

MAX_AGAINST = 2000
"""Pictures of another kind that are used from each folder."""


@dataclass(frozen=True)
class PhotoQuestion:
    """A question, and the words in captions that answer it.

    Attributes:
        text: the question.
        answers: by answer, phrases as stems; the one that most captions have is the answer.
        otherwise: the answer if no caption has any of them; None: it is then unknown.
        needs: phrases of which captions must have one for the question to make sense; () if it always does.
    """

    text: str
    answers: Mapping[str, tuple[tuple[str, ...], ...]]
    otherwise: str | None
    needs: tuple[tuple[str, ...], ...] = ()

    def answer(self, captions: Sequence[str]) -> str | None:
        """The answer that most captions give; None if they give none, or two of them equally often."""
        lines = [f" {' '.join(stems(caption))} " for caption in captions]
        if self.needs and not _count_votes(lines, self.needs):
            return None
        votes = {answer: _count_votes(lines, phrases) for answer, phrases in self.answers.items()}
        first, *others = sorted(votes, key=lambda answer: -votes[answer])
        if not votes[first]:
            return self.otherwise
        return first if not others or votes[first] > votes[others[0]] else None


def _count_votes(lines: Sequence[str], phrases: Sequence[tuple[str, ...]]) -> int:
    """How many captions have one of the phrases."""
    return sum(any(f" {' '.join(phrase)} " in line for phrase in phrases) for line in lines)


def read_photo_questions(file: Path = QUESTIONS) -> tuple[PhotoQuestion, ...]:
    """Our questions."""
    found = []
    for record in tomllib.loads(file.read_text(encoding="utf-8"))["question"]:
        phrases = record.get("answers") or {"yes": record["yes"]}
        answers = {answer: tuple(map(stems, words)) for answer, words in phrases.items()}
        needs = tuple(map(stems, record.get("needs", ())))
        found.append(PhotoQuestion(record["text"], answers, "no" if "yes" in record else None, needs))
    return tuple(found)


def photo_dialogues(
    pictures: Sequence[CaptionedPicture],
    questions: Sequence[PhotoQuestion],
    *,
    balanced: bool = False,
    longest: int = MAX_DIALOGUE_ROUNDS,
) -> list[Dialogue]:
    """All that captions answer, as dialogues that begin with one of the captions; deterministic.

    `balanced`: every question is answered no at most as often as otherwise, so that it does not give its answer away.
    """
    answers = {question.text: [question.answer(picture.captions) for picture in pictures] for question in questions}
    if balanced:
        answers = {question: _balance_answers(question, found) for question, found in answers.items()}
    dialogues: list[Dialogue] = []
    for picture, *found in zip(pictures, *answers.values(), strict=True):
        rounds = [Round(text, answer) for text, answer in zip(answers, found, strict=True) if answer is not None]
        random.Random(picture.path.name).shuffle(rounds)
        for number, at in enumerate(range(0, len(rounds), longest)):
            caption = picture.captions[number % len(picture.captions)]
            dialogues.append(make_dialogue(str(picture.path), caption, rounds[at : at + longest]))
    return dialogues


def _balance_answers(question: str, answers: Sequence[str | None]) -> list[str | None]:
    """One question's answers about all pictures, without those that say no beyond as many as say anything else."""
    denied = [at for at, answer in enumerate(answers) if answer == "no"]
    others = sum(answer is not None for answer in answers) - len(denied)
    left_out = {*denied} - {*random.Random(question).sample(denied, min(len(denied), others))}
    return [None if at in left_out else answer for at, answer in enumerate(answers)]


@dataclass(frozen=True, eq=False)
class QuestionDialogues:
    """Dialogues, and the raw vectors of their pictures: dialogue i has row `rows_n[i]`, -1 if it has no picture.

    `names` are those of the pictures that the dialogues are about (`data.splits.name_pictures`).
    """

    dialogues: tuple[Dialogue, ...]
    raw_mg: Float16[np.ndarray, "m g"]
    rows_n: Int[np.ndarray, " n"]
    names: frozenset[str] = frozenset()

    def __len__(self) -> int:
        return len(self.dialogues)

    @property
    def texts(self) -> tuple[str, ...]:
        """Everything that was said, once each."""
        found = dict[str, None]()
        for dialogue in self.dialogues:
            found[dialogue.caption] = None
            found |= dict.fromkeys(text for said in dialogue.rounds for text in (said.question, said.answer))
        return tuple(found)


@dataclass(frozen=True, eq=False)
class DialogueSplits:
    """Dialogues to learn from and dialogues held out; `raw_version` None: they have no pictures."""

    train: QuestionDialogues
    val: QuestionDialogues
    raw_version: str | None


def read_dialogue_splits(plan: TrainPlan) -> DialogueSplits:
    """The dialogues of a plan's data sets, each a folder or one dialogue file.

    A folder has `dialogues/*.json`, VisDial's files, or captions, from which our own questions are answered. Files
    called `..._train` and `..._val` are the splits; others are split by picture (`data.splits`), so that two dialogues
    about one picture are never on both sides. Rewritten dialogues have no questions and are left out.

    Raises:
        BadInput: no dialogues, or damaged ones; or none for training or for validation.
    """
    parts = [_read_place(plan, place) for place in plan.data]
    train, val = (_join_sets([part[at] for part in parts]) for at in range(2))
    for name, dialogues in (("training", train), ("validation", val)):
        if not dialogues.dialogues:
            few = f"no dialogues for {name}; a few dozen are needed, about 13 pictures or more"
            raise BadInput(f"{plan.data[0]}: {few}")
    seen = bool(len(train.raw_mg)) and bool(len(val.raw_mg))
    return DialogueSplits(train, val, plan.encoder.raw_version if seen else None)


def read_unfamiliar_pictures(
    plan: TrainPlan, folders: Sequence[Path]
) -> tuple[Float16[np.ndarray, "m g"], frozenset[str]]:
    """Raw vectors of pictures of another kind, some from each folder, evenly spaced; and the names of these."""
    blocks, names = [], set[str]()
    for folder in folders:
        found = features(folder, plan.encoder, out=plan.features and plan.features / folder.resolve().name)
        rows = np.unique(np.linspace(0, len(found) - 1, min(len(found), MAX_AGAINST)).astype(int))
        blocks.append(found.raw_nd[rows].astype(np.float16))
        names.update(*name_pictures(folder, [found.keys[row] for row in rows.tolist()]).values())
    return np.concatenate(blocks), frozenset(names)


def _read_place(plan: TrainPlan, place: Path) -> tuple[QuestionDialogues, QuestionDialogues]:
    """The dialogues of a folder or file to learn from, and those held out."""
    train, val = _list_dialogues(place)
    plan.notify(f"{place}: {len(train):,} dialogues to learn from, {len(val):,} held out")
    home = place if place.is_dir() else place.parent
    if not any((home / dialogue.image).is_file() for dialogue in (*train[:50], *val[:50])):
        return _attach_vectors(home, train, None), _attach_vectors(home, val, None)
    found = features(home, plan.encoder, out=plan.features_of(place))
    return _attach_vectors(home, train, found), _attach_vectors(home, val, found)


def _list_dialogues(place: Path) -> tuple[list[Dialogue], list[Dialogue]]:
    if place.is_file():
        return _split_by_picture(read_dialogues(place)[0])
    files = sorted((place / "dialogues").glob("*.json"))
    named = {split: [file for file in files if file.stem.endswith(f"_{split}")] for split in SPLITS}
    if named["train"] and named["val"]:
        return _read_asked(named["train"]), _read_asked(named["val"])
    if files:
        return _split_by_picture(_read_asked(files))
    if any(place.glob("**/visdial_1.0_*.json")):
        return read_visdial(place, "train")[0], read_visdial(place, "val")[0]
    if has_captions(place):
        train, val = (captioned_dialogues(place, split) for split in ("train", "val"))
        return train, val
    raise BadInput(
        f"{place}: no dialogues here; needed is dialogues/*.json as ChatIR's, VisDial's visdial_1.0_*.json, or "
        "captions (captions.csv beside images/, or annotations/captions_*.json as COCO's)"
    )


def captioned_dialogues(
    folder: Path, split: Split, *, balanced: bool = False, rounds: int = MAX_DIALOGUE_ROUNDS
) -> list[Dialogue]:
    """`photo_dialogues` with our own questions about the captioned photos of a split; names are within the folder."""
    inside = [replace(picture, path=picture.path.relative_to(folder)) for picture in read_captioned(folder)[0]]
    reads = split_reader(folder)
    chosen = [one for one in inside if reads(one.path) == split]
    return photo_dialogues(chosen, read_photo_questions(), balanced=balanced, longest=rounds)


def _read_asked(files: Sequence[Path]) -> list[Dialogue]:
    """Those that have questions: rewritten dialogues have none."""
    return [dialogue for file in files for dialogue in read_dialogues(file)[0] if not dialogue.rewritten]


def _split_by_picture(dialogues: Sequence[Dialogue]) -> tuple[list[Dialogue], list[Dialogue]]:
    train, val = ([one for one in dialogues if split_of(one.image) == split] for split in ("train", "val"))
    return train, val


def _attach_vectors(home: Path, dialogues: Sequence[Dialogue], found: Features | None) -> QuestionDialogues:
    """Dialogues with the vectors of their pictures, each picture once."""
    names = frozenset[str]().union(*name_pictures(home, {dialogue.image for dialogue in dialogues}).values())
    if found is None:
        return QuestionDialogues(tuple(dialogues), np.zeros((0, 0), np.float16), np.full(len(dialogues), -1), names)
    all_n = np.full(len(dialogues), -1)
    for number, dialogue in enumerate(dialogues):
        with suppress(UnknownName):
            all_n[number] = found.row_of(dialogue.image)
    used_m, inverse_n = np.unique(all_n[all_n >= 0], return_inverse=True)
    rows_n = np.full(len(dialogues), -1)
    rows_n[all_n >= 0] = inverse_n
    return QuestionDialogues(tuple(dialogues), found.raw_nd[used_m].astype(np.float16), rows_n, names)


def _join_sets(parts: Sequence[QuestionDialogues]) -> QuestionDialogues:
    """Joins several sets into one."""
    blocks = [part.raw_mg for part in parts if len(part.raw_mg)]
    starts = np.cumsum([0, *(len(part.raw_mg) for part in parts)])
    rows = [np.where(part.rows_n >= 0, part.rows_n + at, -1) for part, at in zip(parts, starts, strict=False)]
    return QuestionDialogues(
        tuple(dialogue for part in parts for dialogue in part.dialogues),
        np.concatenate(blocks) if blocks else np.zeros((0, 0), np.float16),
        np.concatenate(rows).astype(np.intp),
        frozenset[str]().union(*(part.names for part in parts)),
    )
