"""Studies in the database."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest
from sqlalchemy.exc import IntegrityError

from viewfinder.errors import BadInput, UnknownName
from viewfinder.server.database import Database, StudyRow, StudyRows, TrialRow


def study(id: str, created: float = 1.0) -> StudyRow:
    return StudyRow(id, f"study {id}", {"rounds": 5, "targets": ["p", "q"]}, True, created)


def trial(id: str, participant: str, number: int) -> TrialRow:
    return TrialRow(id, participant, number, 0, "p")


@pytest.fixture
def studies(database: Database) -> StudyRows:
    return StudyRows(database)


def test_a_closed_study_stays_and_takes_nobody_else(studies: StudyRows) -> None:
    studies.create(study("a", 1.0))
    studies.create(study("b", 2.0))
    assert studies.close("a") and not studies.close("c")
    assert studies.all() == [study("b", 2.0), replace(study("a", 1.0), open=False)]
    with pytest.raises(BadInput, match="this study is closed"):
        studies.add_participant("a", "I agree", 3.0)
    with pytest.raises(UnknownName, match="no study c"):
        studies.add_participant("c", "I agree", 3.0)
    assert studies.get("b") == study("b", 2.0) and studies.get("c") is None


def test_those_who_come_at_once_are_numbered_without_gaps_or_doubles(studies: StudyRows, database_url: str) -> None:
    other = Database.open(database_url)
    for id in ("a", "b"):
        studies.create(study(id))

    def come(rows: StudyRows) -> None:
        for _ in range(5):
            rows.add_participant("a", "I agree", 1.0)

    threads = [threading.Thread(target=come, args=(rows,)) for rows in (studies, StudyRows(other)) * 2]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [row.number for row in studies.participants("a")] == list(range(1, 21))
    assert studies.add_participant("b", "I agree", 1.0).number == 1  # each study counts for itself
    other.close()


def test_a_participant_comes_back_with_what_was_agreed_to(studies: StudyRows) -> None:
    studies.create(study("a"))
    row = studies.add_participant("a", "I agree, gladly", 4.5)
    assert (row.study, row.number, row.consent, row.at) == ("a", 1, "I agree, gladly", 4.5)
    assert studies.participant(row.id) == row and studies.participants("a") == [row]
    assert studies.participant("nobody") is None


def test_trials_come_by_participant_and_number(studies: StudyRows) -> None:
    studies.create(study("a"))
    first, second = (studies.add_participant("a", "I agree", 1.0).id for _ in range(2))
    studies.add_trials([trial("x", second, 1), trial("z", first, 2), trial("y", first, 1)])
    studies.add_trials([])
    assert [row.id for row in studies.trials(first)] == ["y", "z"]
    assert [row.id for row in studies.trials_of("a")] == ["y", "z", "x"]
    assert studies.trials_of("b") == []


def test_trials_are_added_all_or_none(studies: StudyRows) -> None:
    studies.create(study("a"))
    who = studies.add_participant("a", "I agree", 1.0).id
    with pytest.raises(IntegrityError):
        studies.add_trials([trial("x", who, 1), trial("y", who, 1)])
    assert studies.trials(who) == []


def test_a_trial_is_changed_field_by_field(studies: StudyRows) -> None:
    studies.create(study("a"))
    who = studies.add_participant("a", "I agree", 1.0).id
    studies.add_trials([trial("x", who, 1)])
    changed = studies.change_trial("x", session="s", started=2.0, ranks=[[0, 3]])
    assert changed is not None and changed == studies.trials(who)[0]
    assert (changed.session, changed.started, changed.ranks, changed.outcome) == ("s", 2.0, [[0, 3]], None)
    assert studies.change_trial("y", session="s") is None
