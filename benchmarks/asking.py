"""Measures how long choosing a question among 50,000 pictures takes. Prints the figures and writes results/asking.json.

    python benchmarks/asking.py DATA [--features DIR] [--questions FILE] [--checkpoint FILE] [--talks 20]

DATA holds pictures and ChatIR dialogues (a world of scenes). Their raw vectors are repeated up to the size, each time
with a little noise, so that no two pictures are alike. Every talk begins with a recorded caption; each question gets
an answer recorded for another question, so that sentences are new to the encoder, as in live use. The script measures
`Session.follow_up`: the candidates, and the question about them. Run it on an idle machine.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from freshness import RESULTS
from measuring import time_call, write_figures

from viewfinder.conversation import Answer, Say
from viewfinder.data.dialogues import Dialogue, read_dialogues
from viewfinder.encoders import load_encoder
from viewfinder.encoders.features import Features, features
from viewfinder.evaluation.pictures import Pictures
from viewfinder.retrievers import load_retriever
from viewfinder.search.gallery import Gallery
from viewfinder.session.session import Session

SIZE = 50_000
ROUNDS = 5
WARM = 2
"""Talks before any time is taken: what is made of all pictures is made at the first."""

NOISE = 0.05
"""Noise of a number, as a share of its deviation over the pictures."""


def main() -> None:
    """Measure every retriever, with the learnt questions and without."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--features", type=Path, help="where the vectors of DATA are kept")
    parser.add_argument("--questions", type=Path, help="learnt questions; else those in the box")
    parser.add_argument("--checkpoint", type=Path, help="of chatir; else the one in the box")
    parser.add_argument("--size", type=int, default=SIZE)
    parser.add_argument("--talks", type=int, default=20)
    parser.add_argument("--out", type=Path, default=RESULTS / "asking.json")
    given = parser.parse_args()
    gallery = grow_gallery(given.data, given.features, given.size)
    dialogues = read_dialogues_of(given.data)
    rows = []
    for system, checkpoint in (("composer", None), ("chatir", given.checkpoint)):
        retriever = load_retriever(system, checkpoint)
        for questioner in ("information_gain", *([f"information_gain={given.questions}"] if given.questions else [])):
            asking = measure_questions(gallery, retriever, questioner, dialogues, given.talks)
            rows.append({"retriever": system, "questions": "learnt" if "=" in questioner else "in the box", **asking})
            print(json.dumps(rows[-1]), flush=True)
    write_figures("asking", {"pictures": given.size, "rows": rows}, given.out)


def grow_gallery(data: Path, kept: Path | None, size: int) -> Gallery:
    """A gallery of `size` pictures, each a picture of the data set with a little noise."""
    encoder = load_encoder("starter")
    found = features(data, encoder, out=kept)
    known_nd = np.asarray(found.raw_nd, np.float32)
    rng = np.random.default_rng(0)
    raw_nd = known_nd[np.arange(size) % len(known_nd)]
    scale_d = NOISE * known_nd.std(axis=0)
    for start in range(0, size, 1000):
        part_nd = raw_nd[start : start + 1000]
        part_nd += scale_d * rng.standard_normal(part_nd.shape, np.float32)
    keys = tuple(f"{row:06}.jpg" for row in range(size))
    vectors_nd = np.concatenate([encoder.project(raw_nd[at : at + 1000]) for at in range(0, size, 1000)])
    raw = Features(keys, raw_nd, encoder.raw_version)
    return Pictures(keys, vectors_nd.astype(np.float32), encoder, raw=raw).gallery()


def read_dialogues_of(data: Path) -> list[Dialogue]:
    """All dialogues of the validation split, or of whatever is there."""
    files = sorted((data / "dialogues").glob("*.json"))
    chosen = [file for file in files if file.stem.endswith("_val")] or files
    return [dialogue for file in chosen for dialogue in read_dialogues(file)[0]]


@dataclass
class Spent:
    """Milliseconds of each question, and how many rounds had none."""

    question_ms: list[float] = field(default_factory=list)
    unasked: int = 0


def measure_questions(
    gallery: Gallery, retriever: Any, questioner: str, dialogues: Sequence[Dialogue], talks: int
) -> dict[str, Any]:
    """Median and 95th percentile of the milliseconds a question takes, over the rounds of some talks."""
    answers = repeat_answers(dialogues)
    spent = Spent()
    for number in range(WARM + talks):
        if number == WARM:
            spent = Spent()
        talk(Session(gallery, retriever, questioner), dialogues[number].caption, answers, spent)
    return {
        "questions_measured": len(spent.question_ms),
        "rounds_without_a_question": spent.unasked,
        "p50_ms": round(float(np.percentile(spent.question_ms, 50)), 2),
        "p95_ms": round(float(np.percentile(spent.question_ms, 95)), 2),
    }


def talk(session: Session, caption: str, answers: Iterator[str], spent: Spent) -> None:
    """A caption, then a question and an answer a round, until nothing is asked."""
    session.search(Say(caption))
    for _ in range(ROUNDS):
        question, taken = time_call(session.follow_up)
        if question is None:
            spent.unasked += 1
            return
        spent.question_ms.append(taken)
        likely = [choice for choice in question.choices if choice != "don't know"]
        session.search(Answer(question, likely[0] if likely else next(answers)))


def repeat_answers(dialogues: Sequence[Dialogue]) -> Iterator[str]:
    """Recorded answers, over and over."""
    while True:
        yield from (turn.answer for dialogue in dialogues for turn in dialogue.rounds if turn.answer)


if __name__ == "__main__":
    main()
