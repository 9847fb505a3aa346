"""A study on its way out: JSON lines for people's own analyses, run folders for `viewfinder compare`."""

from __future__ import annotations

import io
import json
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from viewfinder.evaluation import Run, write_run
from viewfinder.server.database import ParticipantRow, StudyRow, StudyRows, TrialRow

SCHEMA, VERSION = "viewfinder/study", 1

TalkOf = Callable[[str], dict[str, Any]]
"""The conversation of a session, as JSON."""


def export_lines(study: StudyRow, rows: StudyRows, talk_of: TalkOf) -> Iterator[str]:
    """The study with its plan and targets, then one line a participant: consent, trials, talks and ranks.

    Ranks are 0-based, [best, worst] where scores tie, one pair a round.
    """
    head = {"schema": SCHEMA, "version": VERSION, "study": study.id, "created": _time(study.created), **study.plan}
    yield _line(head)
    retrievers = study.plan["plan"]["retrievers"]
    for participant in rows.participants(study.id):
        trials = [_trial(trial, retrievers, talk_of) for trial in rows.trials(participant.id)]
        yield _line(_participant(participant, trials))


def _participant(row: ParticipantRow, trials: list[dict[str, Any]]) -> dict[str, Any]:
    return {"participant": row.number, "consent": row.consent, "agreed": _time(row.at), "trials": trials}


def _trial(row: TrialRow, retrievers: Sequence[str], talk_of: TalkOf) -> dict[str, Any]:
    return {
        "trial": row.number,
        "retriever": retrievers[row.arm],
        "target": row.target,
        "outcome": row.outcome,
        "chosen": row.chosen,
        "started": _time(row.started),
        "ended": _time(row.ended),
        "ranks": [list(bounds) for bounds in row.ranks],
        "conversation": None if row.session is None else talk_of(row.session),
    }


def export_archive(runs: Sequence[Run]) -> bytes:
    """The runs as a zip file, a folder each."""
    packed = io.BytesIO()
    with tempfile.TemporaryDirectory() as scratch, zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for run in runs:
            folder = Path(scratch) / run.folder
            write_run(replace(run, folder=folder))
            for file in sorted(folder.iterdir()):
                archive.write(file, str(run.folder / file.name))
    return packed.getvalue()


def _line(record: dict[str, Any]) -> str:
    return json.dumps(record, ensure_ascii=False) + "\n"


def _time(at: float | None) -> str | None:
    return None if at is None else datetime.fromtimestamp(at, UTC).isoformat().replace("+00:00", "Z")
