"""The record of dialogues from which an interrupted run goes on."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from viewfinder.errors import BadInput
from viewfinder.evaluation.generate import DialogueJournal, JournalEntry

ENTRIES = [JournalEntry(place, f"{place}.jpg", ("a dog", "is it big? nö"), place) for place in (2, 0, 1)]


def journal(folder: Path, **run: str) -> DialogueJournal:
    return DialogueJournal(folder / "x.json.journal", {"split": "train", "rounds": "10", **run})


def test_dialogues_are_there_again_in_any_order(tmp_path: Path) -> None:
    kept = journal(tmp_path / "new")
    assert kept.entries(resume=False) == {}
    for entry in ENTRIES:
        kept.add(entry)
    assert journal(tmp_path / "new").entries(resume=True) == {entry.place: entry for entry in ENTRIES}


@settings(max_examples=30, deadline=None)
@given(st.integers(min_value=0, max_value=400))
def test_wherever_it_is_cut_off_whole_dialogues_remain(tmp_path_factory: pytest.TempPathFactory, cut: int) -> None:
    kept = journal(tmp_path_factory.mktemp("journal"))
    kept.entries(resume=False)
    ends = [kept.file.stat().st_size]
    for entry in ENTRIES:
        kept.add(entry)
        ends.append(kept.file.stat().st_size)
    left = kept.file.read_bytes()[: ends[0] + cut]
    kept.file.write_bytes(left)
    whole = sum(len(left) >= end - 1 for end in ends[1:])  # all but the end of its line
    assert list(kept.entries(resume=True).values()) == ENTRIES[:whole]
    kept.add(ENTRIES[2])  # and it goes on after that
    assert kept.entries(resume=True)[1] == ENTRIES[2]


def test_an_unfinished_run_is_not_overwritten(tmp_path: Path) -> None:
    journal(tmp_path).entries(resume=False)
    with pytest.raises(BadInput, match="--resume goes on"):
        journal(tmp_path).entries(resume=False)


def test_a_run_does_not_go_on_with_other_settings(tmp_path: Path) -> None:
    journal(tmp_path).entries(resume=False)
    with pytest.raises(BadInput, match="begun with rounds '10', not '5'"):
        journal(tmp_path, rounds="5").entries(resume=True)
    with pytest.raises(BadInput, match=r"begun with noise None, not '0\.1'"):
        journal(tmp_path, noise="0.1").entries(resume=True)


def test_another_file_is_not_taken_for_a_record(tmp_path: Path) -> None:
    journal(tmp_path).file.write_text("[]\n")
    with pytest.raises(BadInput, match="no record of dialogues"):
        journal(tmp_path).entries(resume=True)
