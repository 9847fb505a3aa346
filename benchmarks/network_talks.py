"""Fashion IQ's dialogues of five turns as a network over turns reads them, with the simulated user that the test has.

The composer leads them, and so does the network in the package, which shows pictures of the kind that a network will
have to do with. When the talks of the shipped network were recorded, that was one that had learnt from single turns and
read the last turn alone, and when those among products of all kinds were, one that had learnt among one kind at a time;
recorded again, they are led by the shipped one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from fusion_talks import TALKS_COLUMN, Alone, Hall, Heard, Lead, hold, open_halls
from jaxtyping import Float32
from network_data import Recorder, Talks
from turn_reader import TurnReader

from viewfinder.retrievers import Retriever
from viewfinder.retrievers.one.gates import COMPOSER
from viewfinder.retrievers.one.retriever import NETWORK_SYSTEM, SHIPPED_NETWORK
from viewfinder.retrievers.one.turn_network import TurnNetwork
from viewfinder.weights import load_system_weights


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


def record_talks(fusion: Path, part: Literal["train", "val"], name: str = TALKS_COLUMN) -> Iterator[Talks]:
    """The dialogues about every kind of garment, with every lead."""
    shipped = TurnNetwork.of(load_system_weights(NETWORK_SYSTEM, None, SHIPPED_NETWORK))
    leads: tuple[Lead, ...] = (Alone(COMPOSER), NetworkAlone(TurnReader(shipped)))
    for hall in open_halls(name, fusion, part, (COMPOSER,)):
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
            recorder.note(number, heard.turns[-1], (), turn, target, query, nats_n)
    return recorder.talks()
