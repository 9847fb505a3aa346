"""Studies with people: plans, participants and their trials."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import func, select

from viewfinder.errors import BadInput, UnknownName
from viewfinder.server.database.engine import Store, insert_rows, select_row, update_row
from viewfinder.server.database.tables import PARTICIPANTS, STUDIES, TRIALS


@dataclass(frozen=True)
class StudyRow:
    """One study; `open`: whether people may take part."""

    id: str
    name: str
    plan: Mapping[str, Any]
    open: bool
    created: float


@dataclass(frozen=True)
class ParticipantRow:
    """One who takes part: the `number` (1, 2, 3 ...) and the text that was agreed to."""

    id: str
    study: str
    number: int
    consent: str
    at: float


@dataclass(frozen=True)
class TrialRow:
    """One search for one target; `ranks`: [best, worst] after each round."""

    id: str
    participant: str
    number: int
    arm: int
    target: str
    session: str | None = None
    outcome: str | None = None
    chosen: str | None = None
    started: float | None = None
    ended: float | None = None
    ranks: Sequence[Sequence[int]] = ()


class StudyRows(Store[StudyRow]):
    """The studies in a database, with participants and trials."""

    table, row = STUDIES, StudyRow

    def all(self) -> list[StudyRow]:
        """All studies, newest first."""
        return self._database.rows(StudyRow, select(STUDIES).order_by(STUDIES.c.created.desc(), STUDIES.c.id.desc()))

    def close(self, id: str) -> bool:
        """Lets nobody else take part; whether there is such a study."""
        with self._database.writing() as connection:
            return connection.execute(STUDIES.update().where(STUDIES.c.id == id).values(open=False)).rowcount > 0

    def add_participant(self, study: str, consent: str, at: float) -> ParticipantRow:
        """One more, with the next number: none is left out or given twice, however many come at once.

        Raises:
            UnknownName: there is no such study.
            BadInput: the study is closed.
        """
        with self._database.writing() as connection:
            # Holds the study's row, so that those who come at the same time are numbered one after another.
            is_open = connection.scalar(select(STUDIES.c.open).where(STUDIES.c.id == study).with_for_update())
            if is_open is None:
                raise UnknownName(f"there is no study {study}")
            if not is_open:
                raise BadInput("this study is closed: nobody else can take part")
            so_far = connection.scalar(select(func.count()).where(PARTICIPANTS.c.study == study)) or 0
            row = ParticipantRow(str(uuid.uuid4()), study, so_far + 1, consent, at)
            insert_rows(connection, PARTICIPANTS, row)
        return row

    def participant(self, id: str) -> ParticipantRow | None:
        """One who takes part."""
        return self._database.row(ParticipantRow, select(PARTICIPANTS).where(PARTICIPANTS.c.id == id))

    def participants(self, study: str) -> list[ParticipantRow]:
        """All who take part, by number."""
        query = select(PARTICIPANTS).where(PARTICIPANTS.c.study == study).order_by(PARTICIPANTS.c.number)
        return self._database.rows(ParticipantRow, query)

    def add_trials(self, trials: Sequence[TrialRow]) -> None:
        """New trials: all of them or none."""
        with self._database.writing() as connection:
            insert_rows(connection, TRIALS, *trials)

    def trials(self, participant: str) -> list[TrialRow]:
        """The trials of one participant, in order."""
        return self._database.rows(
            TrialRow, select(TRIALS).where(TRIALS.c.participant == participant).order_by(TRIALS.c.number)
        )

    def change_trial(self, id: str, /, **fields: Any) -> TrialRow | None:
        """Sets columns; gives the trial as it is then, or None where there is none."""
        with self._database.writing() as connection:
            update_row(connection, TRIALS, id, fields)
            return select_row(connection, TrialRow, select(TRIALS).where(TRIALS.c.id == id))

    def trials_of(self, study: str) -> list[TrialRow]:
        """All trials of a study, by participant and number."""
        of_study = select(TRIALS).join(PARTICIPANTS).where(PARTICIPANTS.c.study == study)
        return self._database.rows(TrialRow, of_study.order_by(PARTICIPANTS.c.number, TRIALS.c.number))
