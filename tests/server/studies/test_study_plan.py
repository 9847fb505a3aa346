from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from viewfinder.errors import BadInput
from viewfinder.studies.plan import Drawn, SettledPlan, StudyPlan, assign_trials, draw_targets, participant_group

LEAST = {"name": "Colours", "consent": "I agree.", "targets": ["a"]}


def settled(targets: int, retrievers: int, per_participant: int | None = None) -> SettledPlan:
    names = [f"picture-{number}" for number in range(targets)]
    plan = StudyPlan(
        name="Colours",
        consent="I agree.",
        targets=names,
        per_participant=per_participant,
        retrievers=["composer", "clip-t"][:retrievers],
    )
    return SettledPlan(plan=plan, targets=names, pictures=100, encoder="colours")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"retrievers": ["composer", "composer"]}, "two different ones"),
        ({"retrievers": []}, "at least 1 item"),
        ({"targets": ["a", "b", "a"]}, "named twice"),
        ({"task": "answer", "questioner": "none"}, "a questioner must ask"),
        ({"name": "two\nlines"}, "one line"),
        ({"name": "a | b"}, "one line"),
        ({"name": "  "}, "at least 1 character"),
        ({"rounds": 0}, "greater than or equal to 1"),
        ({"colour": "red"}, "Extra inputs"),
    ],
)
def test_a_plan_that_makes_no_sense_is_refused(change: dict[str, Any], says: str) -> None:
    with pytest.raises(ValidationError, match=says):
        StudyPlan.model_validate({**LEAST, **change})


def test_nobody_asks_unless_the_task_is_to_answer() -> None:
    assert StudyPlan.model_validate(LEAST).asks == "none"
    assert StudyPlan.model_validate({**LEAST, "task": "answer"}).asks == "information_gain"


def test_a_plan_survives_being_stored() -> None:
    before = settled(3, 2)
    assert SettledPlan.model_validate(before.model_dump(mode="json")) == before


def test_targets_are_drawn_without_doubles_and_the_same_for_a_seed() -> None:
    ids = [f"{number:02}" for number in range(50)]
    first = draw_targets(ids, Drawn(count=20, seed=4))
    assert len(set(first)) == 20
    assert set(first) <= set(ids)
    assert first == draw_targets(ids, Drawn(count=20, seed=4)) != draw_targets(ids, Drawn(count=20, seed=5))


def test_more_targets_than_pictures_are_refused() -> None:
    with pytest.raises(BadInput, match="3 are wanted, the library holds 2 pictures"):
        draw_targets(["a", "b"], Drawn(count=3))


def test_the_second_participant_has_the_first_ones_pictures_with_retrievers_swapped() -> None:
    study = settled(4, 2)
    first, second = assign_trials(study, 1), assign_trials(study, 2)
    assert [trial.arm for trial in first] == [0, 1, 0, 1]
    assert [trial.arm for trial in second] == [1, 0, 1, 0]
    assert [trial.target for trial in first] == [trial.target for trial in second]
    assert [trial.number for trial in first] == [1, 2, 3, 4]
    assert participant_group(study, 1) == participant_group(study, 2) == 0
    assert participant_group(study, 3) == 1


def test_participants_share_out_the_pictures_and_begin_again_at_the_end_of_the_list() -> None:
    study = settled(5, 1, per_participant=2)
    had = [sorted(trial.target for trial in assign_trials(study, participant)) for participant in (1, 2, 3)]
    assert had == [["picture-0", "picture-1"], ["picture-2", "picture-3"], ["picture-0", "picture-4"]]


@given(st.integers(1, 30), st.integers(1, 2), st.integers(1, 40), st.integers(1, 6))
def test_every_group_looks_for_each_of_its_pictures_once_with_each_retriever(
    targets: int, retrievers: int, per_participant: int, group: int
) -> None:
    study = settled(targets, retrievers, per_participant)
    members = range((group - 1) * retrievers + 1, group * retrievers + 1)
    pairs = Counter((trial.target, trial.arm) for one in members for trial in assign_trials(study, one))
    assert set(pairs.values()) == {1}
    assert len(pairs) == min(targets, per_participant) * retrievers
    for one in members:
        arms = Counter(trial.arm for trial in assign_trials(study, one))
        assert max(arms.values()) - min(arms[arm] for arm in range(retrievers)) <= 1
