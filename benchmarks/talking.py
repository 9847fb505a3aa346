"""ChatSearcher talks about photographs: does it look, and does it tell a question from a search? results/talking.json.

    python benchmarks/talking.py DATA --work runs/shipped      # DATA: the folder of the captioned photographs

The photographs of `report` (photographs.py), of which nothing was learnt. Questions and answers are made of their
captions (tuning/dialogues.py): as many are answered no as otherwise.

asked     a photograph is shown and asked about, question by question (`evaluate --protocol visual`)
talks     conversations in a library of all of them: a caption; a question, which is about the first result; another
          caption, or a few words of it. What the captions of the first result answer is what should have been said.
"""

from __future__ import annotations

import argparse
import random
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from machine import describe_host
from photographs import LEARN, make_folders
from rows import estimate_mean, overlap_flags, write_results

import viewfinder
from viewfinder.data.captions import CaptionedPicture, read_captioned
from viewfinder.data.dialogues import write_dialogues
from viewfinder.data.splits import Split
from viewfinder.encoders import load_encoder
from viewfinder.evaluation import Plan
from viewfinder.evaluation.visual_conversation import answer_questions, normalize_answer
from viewfinder.retrievers import load_retriever
from viewfinder.retrievers.base import Retriever
from viewfinder.session.session import Session
from viewfinder.tuning.dialogues import PhotoQuestion, captioned_dialogues, read_photo_questions
from viewfinder.users.photographs import make_fragment

SYSTEM, SEARCHED = "chatsearcher", "photographs"
ASKED, TALKS = 400, 300
FIGURES = ("accuracy", "text only", "majority", "majority by kind", "above text only", "above majority by kind")
NO = "no"


def main() -> None:
    """Measure both."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--work", type=Path, default=Path("runs/shipped"), help="the photographs and their vectors")
    parser.add_argument("--weights", type=Path, help="other weights than the shipped ones")
    given = parser.parse_args()
    make_folders(given.data.resolve(), given.work)
    retriever = load_retriever(SYSTEM, given.weights)
    result = {
        "asked": measure_questions(given.work, given.weights),
        "talks": measure_talks(given.work / SEARCHED, retriever),
        "machine": describe_host(),
    }
    write_results("talking", result)


def measure_questions(work: Path, weights: Path | None) -> dict[str, Any]:
    """Questions about photographs that are shown."""
    splits: tuple[tuple[Split, str], ...] = (("train", LEARN), ("test", SEARCHED))
    with tempfile.TemporaryDirectory() as home:
        (Path(home) / "images").symlink_to((work / SEARCHED / "images").resolve())
        (Path(home) / "dialogues").mkdir()
        for split, part in splits:
            asked = captioned_dialogues(work / part, split, balanced=True)
            write_dialogues(Path(home) / "dialogues" / f"photographs_{split}.json", asked)
        plan = Plan(
            system=SYSTEM, data=Path(home), protocol="visual", split="test", checkpoint=weights, limit=ASKED,
            features=work / "features" / SEARCHED,
        )  # fmt: skip
        [task] = answer_questions(plan, load_encoder("starter"), Path(home) / "out").run.tasks
    found = {name: np.asarray(value_s) for name, value_s in task.asked.items()}
    kinds = [name.partition(": ")[2] for name in found if name.startswith("accuracy: ")]
    by_kind = {
        kind: {name: mean_of(found[f"{name}: {kind}"]) for name in ("accuracy", "text only", "majority by kind")}
        for kind in kinds
    }
    return {
        "of": task.figures[0].name.gallery,
        **{name: mean_of(found[name]) for name in FIGURES},
        "by kind": by_kind,
        "flags": overlap_flags([task]),
    }


def mean_of(value_s: np.ndarray) -> dict[str, float]:
    """The mean of known values, with its interval over pictures."""
    return estimate_mean(value_s[None, ~np.isnan(value_s)])


def measure_talks(folder: Path, retriever: Retriever[Any]) -> dict[str, Any]:
    """Conversations of three turns in a library of all photographs."""
    pictures = [picture for picture in read_captioned(folder)[0] if len(picture.captions) > 1]
    with tempfile.TemporaryDirectory() as home:
        library = viewfinder.open(Path(home) / "library.vf")
        library.add(folder / "images")
        rng = random.Random("viewfinder/talking")
        captions = {picture.path.name: picture.captions for picture in pictures}
        talks = [
            dict(hold_talk(library.chat(retriever=retriever, questioner=None), one, captions, rng))
            for one in rng.sample(pictures, TALKS)
        ]
    names = tuple(dict.fromkeys(name for one in talks for name in one))
    return {name: mean_of(np.array([one.get(name, np.nan) for one in talks])) for name in names} | {"talks": TALKS}


def hold_talk(
    session: Session, wanted: CaptionedPicture, captions: Mapping[str, tuple[str, ...]], rng: random.Random
) -> Iterator[tuple[str, float]]:
    """Which steps of a conversation about a photograph went right; answers count if words were written at all."""
    first, second = rng.sample(wanted.captions, 2)
    hits = session.say(first)
    yield "first search shows pictures", float(session.answered_with == "pictures")
    if hits and (known := answerable(captions.get(Path(hits[0].path).name, ()), rng)):
        question, answer = known
        session.say(question.text)
        said = "".join(session.reply() or ()) if session.answered_with == "words" else ""
        yield "question answered in words", float(bool(said))
        if said:
            yield "answer right of result 1", float(normalize_answer(said) == normalize_answer(answer))
            yield "right answer is no", float(normalize_answer(answer) == NO)
        session.say(make_fragment(second, random.Random(second)))
        yield "few words after it show pictures", float(session.answered_with == "pictures")
        session.back_to(2)
    session.say(second)
    yield "next search shows pictures", float(session.answered_with == "pictures")


def answerable(captions: tuple[str, ...], rng: random.Random) -> tuple[PhotoQuestion, str] | None:
    """A question that captions answer: with no as often as otherwise."""
    known = [(question, answer) for question in read_photo_questions() if (answer := question.answer(captions))]
    kinds = [[one for one in known if (one[1] == NO) == is_no] for is_no in (True, False)]
    chosen = rng.choice([kind for kind in kinds if kind] or [[]])
    return rng.choice(chosen) if chosen and captions else None


if __name__ == "__main__":
    main()
