"""The whole way of a study, over real conversations in a real library."""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from viewfinder.errors import BadInput, UnknownName
from viewfinder.server.conversations.schemas import AnswerTurn, LikeTurn, RejectTurn, SayTurn
from viewfinder.server.conversations.sent_twice import request_key
from viewfinder.server.database import Database
from viewfinder.server.problems import Problem
from viewfinder.studies.plan import Participation, StudyPlan
from viewfinder.studies.plan import Trial as ShownTrial
from viewfinder.studies.studies import Studies

Open = Callable[[Database], Studies]
NOWHERE = "00000000-0000-0000-0000-000000000000"


def plan(targets: Any, **given: Any) -> StudyPlan:
    least = {"name": "Colours", "consent": "I agree.", "targets": targets, "rounds": 2, "n": 3}
    return StudyPlan.model_validate({**least, **given})


def now(participation: Participation) -> ShownTrial:
    assert participation.trial is not None
    return participation.trial


def begun(studies: Studies, study: str) -> tuple[str, str]:
    """A new participant whose first trial has started: their id, and the trial's."""
    joined = studies.join(study)
    studies.start(study, joined.id, now(joined).id)
    return joined.id, now(joined).id


def test_a_participant_describes_finds_and_goes_on_to_the_next_picture(
    studies: Studies, captions: dict[str, str]
) -> None:
    targets = list(captions)[:2]
    study = studies.create(plan(targets)).id
    who, trial = begun(studies, study)
    shown = now(studies.participation(study, who)).target
    assert shown is not None
    after = studies.take(study, who, trial, SayTurn(say=captions[shown.id]))
    results = now(after).results
    assert results is not None
    assert results[0] == shown
    assert len(results) == 3
    following = studies.end(study, who, trial, shown.id)
    assert (following.done, following.of) == (1, 2)
    assert now(following).number == 2
    assert not now(following).started


def test_when_all_trials_have_ended_nothing_is_left(studies: Studies, captions: dict[str, str]) -> None:
    study = studies.create(plan(list(captions)[:1])).id
    who, trial = begun(studies, study)
    last = studies.end(study, who, trial, None)
    assert (last.done, last.of, last.trial) == (1, 1, None)
    with pytest.raises(Problem, match="has ended"):
        studies.end(study, who, trial, None)


def test_a_round_whose_request_comes_twice_is_one_round_also_if_it_was_the_last(
    studies: Studies, captions: dict[str, str]
) -> None:
    study = studies.create(plan(list(captions)[:1], rounds=2)).id
    who, trial = begun(studies, study)
    for number in (1, 2):
        turn = SayTurn(say="red")
        key = request_key(f"k{number}", "take", turn)
        first = now(studies.take(study, who, trial, turn, key))
        again = now(studies.take(study, who, trial, turn, key))
        assert again.results == first.results
        assert again.rounds_left == first.rounds_left == 2 - number
    with pytest.raises(Problem, match="rounds of this trial were taken"):
        studies.take(study, who, trial, SayTurn(say="red"))


def test_no_more_turns_are_taken_than_the_study_has_rounds(studies: Studies, captions: dict[str, str]) -> None:
    study = studies.create(plan(list(captions)[:1])).id
    who, trial = begun(studies, study)
    left = [now(studies.take(study, who, trial, SayTurn(say="red"))).rounds_left for _ in range(2)]
    assert left == [1, 0]
    with pytest.raises(Problem, match="all 2 rounds"):
        studies.take(study, who, trial, SayTurn(say="red"))


def test_requests_at_the_same_moment_do_not_get_more_rounds(studies: Studies, captions: dict[str, str]) -> None:
    study = studies.create(plan(list(captions)[:1])).id
    who, trial = begun(studies, study)

    def attempt(number: int) -> bool:
        try:
            studies.take(study, who, trial, SayTurn(say=f"red {number}"))
        except Problem:
            return False
        return True

    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(attempt, range(6))) == 2
    assert len(now(studies.participation(study, who)).said) == 2


def test_before_the_start_no_turn_is_taken_and_nothing_ends(studies: Studies, captions: dict[str, str]) -> None:
    study = studies.create(plan(list(captions)[:1])).id
    joined = studies.join(study)
    with pytest.raises(Problem, match="not started"):
        studies.take(study, joined.id, now(joined).id, SayTurn(say="red"))
    with pytest.raises(Problem, match="not started"):
        studies.end(study, joined.id, now(joined).id, None)


def test_starting_twice_does_not_give_more_time(studies: Studies, captions: dict[str, str]) -> None:
    study = studies.create(plan(list(captions)[:1], target="remembered", seconds=50)).id
    who, trial = begun(studies, study)
    first = now(studies.participation(study, who)).seconds_left
    second = now(studies.start(study, who, trial)).seconds_left
    assert first is not None
    assert second is not None
    assert second < first <= 50


def test_trials_are_taken_in_their_order(studies: Studies, captions: dict[str, str]) -> None:
    study = studies.create(plan(list(captions)[:2])).id
    who, first = begun(studies, study)
    second = now(studies.end(study, who, first, None)).id
    other = studies.join(study)
    with pytest.raises(Problem, match="no trial"):
        studies.start(study, other.id, second)
    third = [json.loads(line) for line in studies.lines(study)][2]
    assert [trial["outcome"] for trial in third["trials"]] == [None, None]


def test_questions_are_answered_where_the_task_is_to_answer(studies: Studies, captions: dict[str, str]) -> None:
    study = studies.create(plan(list(captions)[:1], task="answer", rounds=3)).id
    who, trial = begun(studies, study)
    asked = now(studies.take(study, who, trial, SayTurn(say="a drawing"))).question
    assert asked is not None
    assert asked.choices
    with pytest.raises(Problem, match="the turn is: answer"):
        studies.take(study, who, trial, SayTurn(say="red"))
    after = now(studies.take(study, who, trial, AnswerTurn(answer=asked.choices[0])))
    assert after.said[1].question == asked.text


def test_feedback_names_results(studies: Studies, captions: dict[str, str]) -> None:
    study = studies.create(plan(list(captions)[:1], task="feedback", rounds=3)).id
    who, trial = begun(studies, study)
    results = now(studies.take(study, who, trial, SayTurn(say="red over blue"))).results
    assert results is not None
    with pytest.raises(Problem, match="not among the results"):
        studies.take(study, who, trial, LikeTurn(like=NOWHERE))
    after = now(studies.take(study, who, trial, RejectTurn(reject=[results[0].id])))
    assert after.results is not None
    assert results[0] not in after.results


@pytest.mark.parametrize(
    ("rounds", "chosen", "outcome"),
    [(1, None, "given up"), (2, None, "rounds over"), (1, 0, "found"), (1, 1, "mistaken")],
)
def test_how_a_trial_ends(
    studies: Studies, captions: dict[str, str], rounds: int, chosen: int | None, outcome: str
) -> None:
    target, caption = next(iter(captions.items()))
    study = studies.create(plan([target])).id
    who, trial = begun(studies, study)
    for _ in range(rounds):
        results = now(studies.take(study, who, trial, SayTurn(say=caption))).results
    assert results is not None
    studies.end(study, who, trial, None if chosen is None else results[chosen].id)
    assert studies.figures(study, "every").arms[0].outcomes == {outcome: 1}


def test_a_picture_that_was_not_shown_cannot_be_found(studies: Studies, captions: dict[str, str]) -> None:
    target = next(iter(captions))
    study = studies.create(plan([target])).id
    who, trial = begun(studies, study)
    with pytest.raises(Problem, match="not among the results"):
        studies.end(study, who, trial, target)


def test_nothing_a_participant_is_told_names_retriever_file_or_place(
    studies: Studies, captions: dict[str, str]
) -> None:
    study = studies.create(plan(list(captions)[:1], retrievers=["composer", "clip-t"])).id
    who, trial = begun(studies, study)
    told = [
        studies.public(study).model_dump_json(),
        studies.take(study, who, trial, SayTurn(say="red")).model_dump_json(),
        studies.end(study, who, trial, None).model_dump_json(),
    ]
    for secret in ("composer", "clip", ".png", "rank", "score", "session", "over"):
        assert not any(secret in text for text in told), secret


def test_conversations_of_a_study_are_in_nobodys_list(studies: Studies, captions: dict[str, str]) -> None:
    from viewfinder.server.access.tokens import LOCAL

    study = studies.create(plan(list(captions)[:1])).id
    begun(studies, study)
    assert studies._conversations.page(LOCAL, 100, None).sessions == []


def test_figures_are_of_the_ranks_that_the_targets_had(studies: Studies, captions: dict[str, str]) -> None:
    target, caption = next(iter(captions.items()))
    study = studies.create(plan([target])).id
    who, trial = begun(studies, study)
    studies.take(study, who, trial, SayTurn(say=caption))
    studies.end(study, who, trial, target)
    means = {(one.metric, one.at): one.mean for one in studies.figures(study, "every").arms[0].figures}
    assert means["R@1", "turn 1"] == means["R@1", "turn 2"] == means["found", "turn 1"] == 1.0
    assert means["rank", "turn 2"] == 1.0


def test_ranks_that_a_server_had_no_time_to_write_are_made_up_for(studies: Studies, captions: dict[str, str]) -> None:
    target, caption = next(iter(captions.items()))
    study = studies.create(plan([target])).id
    who, trial = begun(studies, study)
    studies.take(study, who, trial, SayTurn(say="green"))
    studies.take(study, who, trial, SayTurn(say=caption))
    whole = [json.loads(line) for line in studies.lines(study)][1]["trials"][0]["ranks"]
    studies._rows.change_trial(trial, ranks=[])
    studies.end(study, who, trial, None)
    assert [json.loads(line) for line in studies.lines(study)][1]["trials"][0]["ranks"] == whole
    assert len(whole) == 2


def test_a_picture_that_left_the_library_holds_nobody_up(studies: Studies, captions: dict[str, str]) -> None:
    study = studies.create(plan(list(captions)[:2])).id
    who, trial = begun(studies, study)
    studies._rows.change_trial(trial, target=NOWHERE)
    with pytest.raises(Problem, match="has left the library"):
        studies.take(study, who, trial, SayTurn(say="red"))
    assert now(studies.end(study, who, trial, None)).number == 2
    assert studies.figures(study, "every").arms[0].trials == 0


def test_figures_follow_when_another_trial_ends(studies: Studies, captions: dict[str, str]) -> None:
    study = studies.create(plan(list(captions)[:1])).id
    for expected in (1, 2):
        who, trial = begun(studies, study)
        studies.end(study, who, trial, None)
        figures = studies.figures(study, "every")
        assert figures.arms[0].outcomes == {"given up": expected}
        assert studies.figures(study, "every") is figures  # nothing has changed: not computed again


def test_a_closed_study_takes_no_more_people_but_those_who_began_go_on(
    studies: Studies, captions: dict[str, str]
) -> None:
    study = studies.create(plan(list(captions)[:1])).id
    who, trial = begun(studies, study)
    assert not studies.close(study).open
    with pytest.raises(Problem, match="no more participants"):
        studies.join(study)
    assert now(studies.take(study, who, trial, SayTurn(say="red"))).rounds_left == 1


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"targets": [NOWHERE]}, UnknownName),
        ({"targets": {"count": 25}}, BadInput),
        ({"retrievers": ["composer", "nobody"]}, UnknownName),
        ({"task": "answer", "questioner": "nobody"}, UnknownName),
    ],
)
def test_what_a_plan_names_is_looked_up_when_the_study_begins(
    studies: Studies, change: dict[str, Any], error: type[Exception]
) -> None:
    with pytest.raises(error):
        studies.create(plan(**{"targets": {"count": 2}, **change}))
    assert studies.all() == []


def test_participants_and_trials_of_other_studies_are_unknown(studies: Studies, captions: dict[str, str]) -> None:
    one, other = (studies.create(plan(list(captions)[:1])).id for _ in range(2))
    who, trial = begun(studies, one)
    with pytest.raises(Problem, match="no participant"):
        studies.participation(other, who)
    with pytest.raises(Problem, match="no study"):
        studies.participation(NOWHERE, who)
    with pytest.raises(Problem, match="no trial"):
        studies.end(one, who, NOWHERE, None)
    assert trial


def test_a_study_goes_on_where_it_was_after_a_restart(
    database: Database, open_studies: Open, captions: dict[str, str]
) -> None:
    before = open_studies(database)
    study = before.create(plan(list(captions)[:2], retrievers=["composer", "clip-t"])).id
    who, trial = begun(before, study)
    told = before.take(study, who, trial, SayTurn(say="red over blue"))
    after = open_studies(database)
    assert after.participation(study, who) == told
    assert now(after.take(study, who, trial, SayTurn(say="darker"))).rounds_left == 0
    ranks = [json.loads(line) for line in after.lines(study)][1]["trials"][0]["ranks"]
    assert len(ranks) == 2


def test_a_study_is_exported_with_consent_conversations_and_ranks(studies: Studies, captions: dict[str, str]) -> None:
    target, caption = next(iter(captions.items()))
    study = studies.create(plan([target], retrievers=["composer", "clip-t"])).id
    for _ in range(2):
        who, trial = begun(studies, study)
        studies.take(study, who, trial, SayTurn(say=caption))
        studies.end(study, who, trial, target)
    head, first, second = (json.loads(line) for line in studies.lines(study))
    assert (head["plan"]["name"], head["targets"], head["pictures"]) == ("Colours", [target], 24)
    assert (first["participant"], first["consent"]) == (1, "I agree.")
    assert [one["trials"][0]["retriever"] for one in (first, second)] == ["composer", "clip-t"]
    only = first["trials"][0]
    assert (only["outcome"], only["ranks"]) == ("found", [[0, 0]])
    assert only["conversation"]["turns"][0]["say"] == caption
    assert [one.pairs for one in studies.figures(study, "every").differences if one.metric == "found"] == [1, 1]
