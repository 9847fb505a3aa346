"""Dialogues of several turns about products, for network_products.py to learn from and to be stopped on.

    python benchmarks/network_talks.py DATA [--work FOLDER] [--fusion FOLDER]      # what is there is skipped

Fashion IQ's dialogues of five turns, with the simulated user that the test has, about training products: the composer
leads them, and the network in the package does, whose pictures are those that a network will have to do with. And MAI's
sessions, which are recorded. Validation dialogues are kept beside those of the other columns.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from fusion_data import Part
from fusion_talks import TALKS_COLUMN, Alone, Hall, Heard, Lead, hold, open_halls
from jaxtyping import Float32
from network_columns import keep, read_training_tasks
from network_data import BatchingEncoder, Recorder, Talks, record, record_column
from network_products import KEPT, TurnReader
from side_by_side import folder_name

from viewfinder.evaluation.pictures import match_pictures
from viewfinder.retrievers import Retriever
from viewfinder.retrievers.one.gates import COMPOSER
from viewfinder.retrievers.one.retriever import NETWORK_SYSTEM, SHIPPED_NETWORK
from viewfinder.retrievers.one.turn_network import TurnNetwork
from viewfinder.weights import load_system_weights

SESSIONS_COLUMN = "mai: sessions"


def main() -> None:
    """Records what is not there."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--work", type=Path, default=Path("runs/network"), help="that of network.py")
    parser.add_argument("--fusion", type=Path, default=Path("runs/fusion"), help="that of fusion.py, which is made")
    given = parser.parse_args()
    record_sessions(given.work, given.fusion, given.data.resolve())
    parts: dict[str, Literal["train", "val"]] = {KEPT: "train", "val": "val"}
    for folder, part in parts.items():
        if not (home := given.work / "talks" / folder / folder_name(TALKS_COLUMN)).is_dir():
            keep(home, list(record_talks(given.fusion, part)))


def record_sessions(work: Path, fusion: Path, data: Path) -> None:
    """MAI's sessions, of training and of validation."""
    encoder, name = BatchingEncoder({}), folder_name(SESSIONS_COLUMN)
    if not (home := work / "talks" / KEPT / name).is_dir():
        pictures, tasks = read_training_tasks(SESSIONS_COLUMN, fusion, encoder)
        known = [match_pictures(task, pictures, None) for task in tasks]
        keep(home, [record(task, pictures.gallery(tuple(task.pictures()))) for task in known])
        print("learnt", [(len(task.dialogues), len(task.gallery)) for task in known], flush=True)
    if not (home := work / "talks" / "val" / name).is_dir():
        part: Part = "val"
        keep(home, list(record_column(SESSIONS_COLUMN, part, fusion, data, encoder)))


@dataclass(frozen=True, eq=False)
class NetworkAlone:
    """A turn network leads, among what the composer does not exclude."""

    reader: TurnReader

    @property
    def mark(self) -> str:
        """Its name."""
        return self.reader.name

    @property
    def systems(self) -> tuple[str, ...]:
        """The composer, and itself."""
        return (COMPOSER, self.reader.name)

    @property
    def readers(self) -> Mapping[str, Retriever[Any]]:
        """Itself."""
        return {self.reader.name: self.reader}

    def total(self, heard: Heard, hall: Hall) -> Float32[np.ndarray, " n"]:
        """Its scores."""
        return heard.scores[self.reader.name]


def record_talks(fusion: Path, part: Literal["train", "val"]) -> Iterator[Talks]:
    """The dialogues about every kind of garment, with every lead."""
    shipped = TurnNetwork.of(load_system_weights(NETWORK_SYSTEM, None, SHIPPED_NETWORK))
    leads: tuple[Lead, ...] = (Alone(COMPOSER), NetworkAlone(TurnReader(shipped)))
    for hall in open_halls(TALKS_COLUMN, fusion, part, (COMPOSER,)):
        for lead in leads:
            talks = record_led(hall, lead)
            ends_q = talks.turn_q == talks.turn_q.max()
            wanted_q1 = np.take_along_axis(talks.scores_qn, talks.target_q[:, None], axis=1)
            found = float(((talks.scores_qn > wanted_q1).sum(axis=1) < 10)[ends_q].mean())
            print(
                part, hall.task.name, lead.mark, len(hall.task.dialogues), f"the composer finds {found:.3f}", flush=True
            )
            yield talks


def record_led(hall: Hall, lead: Lead) -> Talks:
    """The dialogues of a hall that a lead leads, as the network reads them."""
    recorder = Recorder(hall.gallery)
    for number, dialogue in enumerate(hall.task.dialogues):
        target = hall.gallery.row(dialogue.target)
        for turn, moment in enumerate(hold(hall, dialogue, lead)):
            heard, query = moment.heard, moment.heard.queries[COMPOSER]
            nats_n = heard.scores[COMPOSER] * np.float32(query.sharpness)
            nats_n = np.where(heard.outs[COMPOSER], np.float32(-np.inf), nats_n)
            recorder.note(number, heard.turns[-1], moment.seen, turn, target, query, nats_n)
    return recorder.talks()


if __name__ == "__main__":
    main()
