"""What is kept of benchmarks, and what claims.py says of it, each by hand."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import drilldown
import mai
import numpy as np
import pytest
from chat_tests import without_shown
from claims import (
    CLOSED,
    EQUIVALENT,
    REFUTED,
    REPRODUCED,
    UNDECIDED,
    WAITING,
    Claim,
    Judged,
    give_verdicts,
    judge_claims,
    read_claims,
)
from freshness import RESULTS
from plots import fingerprint
from report_claims import claim_parts, effect_points, few_seeds, leaning_line, p_cell
from report_mai import last_ranks, lines_of, parts_table
from rows import (
    MAX_DEPTH,
    UNTRAINED,
    KeptRow,
    describe_commit,
    facts_of,
    is_kept,
    read_facts,
    read_ranks,
    write_ranks,
    write_results,
)

from viewfinder.conversation import Like
from viewfinder.errors import BadInput
from viewfinder.evaluation.plan import SearchDialogue, Task
from viewfinder.metrics import Interval, seeded_test

FACTS: dict[str, Any] = {"command": "made.py", "commit": "0", "weights": [], "date": "2026-11-23", "flags": []}


def kept(ids: str, values: Sequence[object], seeds: tuple[int, ...] = (UNTRAINED,)) -> KeptRow:
    """A row of conversations named by a letter each; values are [seeds, conversations, turns]."""
    return KeptRow(tuple(ids), seeds, np.array(values, dtype=np.int32))


def write(folder: Path, test: str, row: str, found: KeptRow, gallery: int = 500) -> None:
    write_ranks("made", test, row, found, gallery=gallery, facts=FACTS, results=folder)


def test_rows_and_seeds_are_kept_beside_those_that_are_there(tmp_path: Path) -> None:
    write(tmp_path, "talks", "ours", kept("ab", [[[0, 2], [4, -1]]], (0,)))
    write(tmp_path, "talks", "theirs", kept("ba", [[[6, 8], [1, 3]]]))
    write(tmp_path, "talks", "ours", kept("ab", [[[2, 2], [2, -1]]], (2,)))
    rows = read_ranks("made", tmp_path)["talks"]
    assert rows["ours"].seeds == (0, 2)
    assert rows["ours"].values_ect.tolist() == [[[0, 2], [4, -1]], [[2, 2], [2, -1]]]
    assert rows["theirs"].ids == ("a", "b")
    assert rows["theirs"].values_ect.tolist() == [[[1, 3], [6, 8]]]
    about = read_facts("made", tmp_path)["kept"]["talks"]["rows"]["ours"]
    known = {"commit": "0", "date": "2026-11-23", "weights": "", "minutes": 0.0}
    assert about["seeds"] == dict.fromkeys(("0", "2"), known)


def test_a_row_of_fewer_conversations_has_none_of_the_others(tmp_path: Path) -> None:
    write(tmp_path, "talks", "ours", kept("ab", [[[0], [4]]]))
    write(tmp_path, "talks", "slow", kept("b", [[[2]]]))
    assert read_ranks("made", tmp_path)["talks"]["slow"].values_ect.tolist() == [[[-1], [2]]]


def test_ranks_that_no_claim_tells_apart_are_kept_as_one(tmp_path: Path) -> None:
    write(tmp_path, "talks", "ours", kept("ab", [[[2 * MAX_DEPTH - 1], [2 * MAX_DEPTH + 7]]]))
    assert read_ranks("made", tmp_path)["talks"]["ours"].values_ect.tolist() == [[[2 * MAX_DEPTH - 1], [2 * MAX_DEPTH]]]


def test_values_that_are_no_ranks_are_kept_as_they_are(tmp_path: Path) -> None:
    write(tmp_path, "captions", "ours", KeptRow(("a",), (0,), np.array([[[312.5]]], dtype=np.float32)))
    assert read_ranks("made", tmp_path)["captions"]["ours"].values_ect.tolist() == [[[312.5]]]


def test_rows_of_another_gallery_are_not_put_beside_each_other(tmp_path: Path) -> None:
    write(tmp_path, "talks", "ours", kept("a", [[[0]]]))
    with pytest.raises(BadInput, match="501 pictures to search in, but 500"):
        write(tmp_path, "talks", "theirs", kept("a", [[[0]]]), gallery=501)


def test_what_is_known_of_ranks_stays_when_a_benchmark_writes_its_figures(tmp_path: Path) -> None:
    write(tmp_path, "talks", "ours", kept("a", [[[0]]]))
    write_results("made", {"rows": {}}, tmp_path)
    assert set(read_facts("made", tmp_path)) == {"rows", "kept"}


def test_rows_that_were_not_measured_this_time_keep_their_figures(tmp_path: Path) -> None:
    write_results("made", {"rows": {"ours": 1, "theirs": 1}, "other": {"ours": 1}}, tmp_path)
    write_results("made", {"rows": {"ours": 2}, "other": {"new": 2}}, tmp_path, by_row=["rows"])
    assert read_facts("made", tmp_path) == {"rows": {"ours": 2, "theirs": 1}, "other": {"new": 2}}


def test_a_row_of_fewer_seeds_does_not_take_the_place_of_one_of_more(tmp_path: Path) -> None:
    write_results("made", {"talks": {"oracle": {"ours": {"seeds": 3}, "theirs": {"seeds": [0]}}}}, tmp_path)
    few = {"talks": {"oracle": {"ours": {"seeds": 1}, "theirs": {"seeds": [0, 1]}}}}
    write_results("made", few, tmp_path, by_row=["talks/oracle"])
    assert read_facts("made", tmp_path)["talks"] == {"oracle": {"ours": {"seeds": 3}, "theirs": {"seeds": [0, 1]}}}


def test_a_row_is_kept_seed_by_seed_and_in_one_where_nothing_was_trained(tmp_path: Path) -> None:
    write(tmp_path, "talks", "ours", kept("a", [[[0]]], (1,)))
    write(tmp_path, "talks", "plain", kept("a", [[[0]]]))
    assert [is_kept("made", "talks", "ours", seed, tmp_path) for seed in (0, 1)] == [False, True]
    assert is_kept("made", "talks", "plain", 0, tmp_path) and not is_kept("made", "others", "plain", 0, tmp_path)


def test_weights_are_known_by_their_hash(tmp_path: Path) -> None:
    (tmp_path / "best").write_bytes(b"abc")
    assert facts_of("x", [tmp_path / "best"])["weights"] == ["ba7816bf"]


def test_pictures_that_a_dialogue_shows_are_not_searched_unless_it_looks_for_them() -> None:
    turns = (Like("a", "in blue"), Like("b", "in red"))
    one = SearchDialogue("1", "d", turns, targets=("b", "d"), first="f", among=("d", "x"), leaves_out=("y",))
    task = Task("mai", "", "test", tuple("abdfxy"), (one,), ("R@10",))
    assert without_shown(task).dialogues[0].leaves_out == ("a", "f", "y")


def test_a_commit_is_marked_where_the_package_differs_from_it(tmp_path: Path) -> None:
    def git(*command: str) -> None:
        own = ("-c", "user.name=a", "-c", "user.email=a@a.example")
        subprocess.run(["git", *own, *command], cwd=tmp_path, check=True, capture_output=True)

    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a.py").write_text("1\n")
    git("init")
    git("add", ".")
    git("commit", "-m", "a")
    (tmp_path / "ranks.npz").write_text("written meanwhile")
    clean = describe_commit(tmp_path)
    (tmp_path / "src" / "a.py").write_text("2\n")
    assert (len(clean), describe_commit(tmp_path)) == (9, f"{clean}-dirty")


def test_every_commit_of_kept_ranks_is_one_of_this_history() -> None:
    def git(*command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(["git", *command], check=False, cwd=RESULTS, capture_output=True, text=True)

    if git("rev-parse", "--is-shallow-repository").stdout.strip() != "false":
        pytest.skip("no history here, or a part of it")
    history = git("rev-list", "HEAD").stdout.split()
    for file in RESULTS.glob("*.json"):
        for test, about in json.loads(file.read_text(encoding="utf-8")).get("kept", {}).items():
            for row, facts in about["rows"].items():
                for commit in {one["commit"].removesuffix("-dirty") for one in facts["seeds"].values()}:
                    assert any(one.startswith(commit) for one in history), f"{file.name}, {test}, {row}: {commit}"


# -- what claims come to


def judge(folder: Path, *claims: Claim) -> list[Judged]:
    return judge_claims(claims, folder)


def claim(**fields: Any) -> Claim:
    given = {"rows": ("ours", "theirs"), "tests": ("talks",), **fields}
    return Claim(paper="MAI", says="Ours finds more than theirs.", benchmark="made", **given)


def of_seeds(shares: Sequence[float], conversations: int = 200) -> KeptRow:
    """A row that finds this share of conversations first, in one turn, by seed; the first ones of as many."""
    ids = tuple(map(str, range(conversations)))
    found = np.arange(conversations) < np.array(shares)[:, None] * conversations
    return KeptRow(ids, tuple(range(len(shares))), np.where(found, 0, 400)[:, :, None].astype(np.int32))


def test_ranks_below_ten_are_counted_at_the_last_turn_that_a_conversation_has(tmp_path: Path) -> None:
    # Doubled ranks: 19 is between the tenth and the eleventh place (9.5), 20 is the eleventh.
    write(tmp_path, "talks", "ours", kept("abcd", [[[60, 19], [18, -1], [0, 20], [4, 60]]]))
    write(tmp_path, "talks", "theirs", kept("abcd", [[[60, 60], [60, -1], [60, 60], [60, 2]]]))
    [one] = judge(tmp_path, claim())
    assert (one.values, one.conversations, one.seeds) == ((2 / 4, 1 / 4), 4, ())
    [every] = judge(tmp_path, claim(turns="every"))
    assert every.values == ((1 / 2 + 1 + 1 / 2 + 1 / 2) / 4, (1 / 2) / 4)
    [mean] = judge(tmp_path, claim(metric="mean R@1,10"))
    assert mean.values == ((1 / 2 + 1 / 2) / 4, (1 / 2) / 4)
    [gained] = judge(tmp_path, claim(gain=(1, 2)))  # b has no second turn
    assert (gained.values, gained.conversations) == (((1 - 1 - 1) / 3, 1 / 3), 3)  # a +1, c -1, d -1


def test_a_hit_once_found_stays_found_and_a_recall_does_not(tmp_path: Path) -> None:
    write(tmp_path, "talks", "ours", kept("ab", [[[4, 60], [60, 4]]]))
    [hits] = judge(tmp_path, claim(rows=("ours", "ours"), metric="Hits@10", rounds=(1, 0)))
    [recall] = judge(tmp_path, claim(rows=("ours", "ours"), rounds=(1, 0)))
    assert (hits.values, recall.values) == ((1.0, 0.5), (0.5, 0.5))


def test_only_conversations_that_all_rows_have_are_compared(tmp_path: Path) -> None:
    write(tmp_path, "talks", "ours", kept("abc", [[[0], [0], [60]]]))
    write(tmp_path, "talks", "theirs", kept("abc", [[[60], [0], [0]]]))
    write(tmp_path, "talks", "slow", kept("bc", [[[0], [0]]]))
    [one] = judge(tmp_path, claim(rows=("ours", ("theirs", "slow"))))
    assert (one.conversations, one.values[0]) == (2, 0.5)


def test_what_was_not_trained_stands_beside_every_seed(tmp_path: Path) -> None:
    write(tmp_path, "talks", "ours", of_seeds([0.5, 0.6, 0.7]))
    write(tmp_path, "talks", "theirs", KeptRow(of_seeds([0.2]).ids, (UNTRAINED,), of_seeds([0.2]).values_ect))
    [one] = judge(tmp_path, claim())
    assert one.seeds == (0, 1, 2)
    assert one.values == pytest.approx((0.6, 0.2))
    assert one.outcome == REPRODUCED


def test_two_seeds_are_no_verdict_however_sure_they_are(tmp_path: Path) -> None:
    write(tmp_path, "talks", "ours", of_seeds([0.9, 0.9]))
    write(tmp_path, "talks", "theirs", of_seeds([0.1, 0.1]))
    [one] = judge(tmp_path, claim())
    assert one.outcome == WAITING
    assert one.interval is not None and one.interval.mean == pytest.approx(0.8)


def test_seeds_that_disagree_leave_it_undecided_though_each_has_many_conversations(tmp_path: Path) -> None:
    # +2, +4 and +30 points of 1,000 conversations each: t = 12 / (15.6 / sqrt 3) = 1.3, about two degrees of freedom.
    write(tmp_path, "talks", "ours", of_seeds([0.52, 0.54, 0.80], 1000))
    write(tmp_path, "talks", "theirs", of_seeds([0.5, 0.5, 0.5], 1000))
    [one] = judge(tmp_path, claim())
    assert one.interval is not None and one.interval.low > 0
    assert (one.outcome, one.p_value > 0.2) == (UNDECIDED, True)


def test_more_seeds_than_planned_came_after_a_look_and_count_twice(tmp_path: Path) -> None:
    shares = [0.52, 0.54, 0.8, 0.6, 0.55, 0.7]
    write(tmp_path, "talks", "ours", of_seeds(shares, 50))
    write(tmp_path, "talks", "theirs", of_seeds([0.5] * 6, 50))
    [one] = judge(tmp_path, claim())
    # The first half is found by both, so a difference is where ours finds beyond it.
    difference_es = np.array([(np.arange(50) >= 25) & (np.arange(50) < share * 50) for share in shares]).astype(float)
    p_not_above, _ = seeded_test(difference_es)
    assert one.seeds == tuple(range(6))
    assert one.p_value == pytest.approx(2 * 2 * p_not_above)  # twice for its two sides, and twice for two looks


def test_the_undecided_are_counted_by_the_side_of_zero_on_which_their_interval_lies() -> None:
    def found(low: float, high: float) -> Judged:
        return Judged(claim=claim(), outcome=UNDECIDED, interval=Interval((low + high) / 2, low, high))

    told = leaning_line(
        [found(0.01, 0.03), found(-0.01, 0.03), found(-0.02, 0.0), found(-0.04, -0.01), found(0.0, 0.01)]
    )
    assert told.startswith(
        "Of the 5 undecided, the whole interval of 1 is above 0, that of 1 below, and that of 3 incl"
    )


def test_a_line_of_mai_has_the_seeds_that_both_settings_have() -> None:
    # Doubled ranks of two conversations after one turn. Seed 1: 0 and 9 (found at 10 and 20), and 4 and 30.
    rollback = KeptRow(("0", "1"), (0, 1), np.array([[[0], [0]], [[0], [18]]], np.int32))
    combination = KeptRow(("0", "1"), (1,), np.array([[[8], [60]]], np.int32))
    kept = {"rollback": {"MAI": rollback}, "combination": {"MAI": combination}}
    facts = {"combination": {"rows": {"MAI": {"seeds": {"1": {"minutes": 2.0}}}}}}
    [line] = lines_of(["MAI", "base"], kept, facts)
    assert (line.seeds, line.minutes) == ("1", (2.0,))
    assert line.recall(10) == [0.5, 1.0] and line.recall(5) == [0.5, 0.5]
    # Mean of R@1, 5, 10 and 20: combination (0 + 1 + 1 + 1) / 4 / 2, rollback (1/2 + 1/2 + 1 + 1) / 4.
    assert [found.mean() for found in line.recalls()] == [0.375, 0.75]
    assert "| 37.5 | 75.0 | 56.2 (" in parts_table("parts", [line])[-1]


def test_of_a_session_the_last_turn_that_it_has_counts() -> None:
    assert last_ranks(np.array([[[4, 2, -1], [6, 8, 10]]])).tolist() == [[2, 10]]


def test_rows_within_two_points_are_equivalent(tmp_path: Path) -> None:
    write(tmp_path, "talks", "ours", of_seeds([0.5, 0.501, 0.499], 2000))
    write(tmp_path, "talks", "theirs", of_seeds([0.5, 0.5, 0.5], 2000))
    [more, same] = judge(tmp_path, claim(), claim(same=True))
    assert (more.outcome, same.outcome) == (EQUIVALENT, REPRODUCED)


def test_rows_that_find_next_to_nothing_are_not_equivalent(tmp_path: Path) -> None:
    write(tmp_path, "talks", "ours", of_seeds([0.02, 0.021, 0.019], 2000))
    write(tmp_path, "talks", "theirs", of_seeds([0.022, 0.022, 0.022], 2000))
    write(tmp_path, "talks", "better", of_seeds([0.051, 0.051, 0.051], 2000))
    both = judge(tmp_path, claim(), claim(same=True))
    assert [(one.outcome, one.flags) for one in both] == [(UNDECIDED, ("floor",))] * 2
    [differs] = judge(tmp_path, claim(rows=("better", "theirs")))
    assert (differs.outcome, differs.flags) == (REPRODUCED, ())


def test_rows_that_find_much_and_gain_nothing_are_not_at_the_floor(tmp_path: Path) -> None:
    for name, share in {"ours": 0.4, "theirs": 0.4, "low": 0.01, "lower": 0.01}.items():
        one = of_seeds([share] * 3, 500)
        write(tmp_path, "talks", name, KeptRow(one.ids, one.seeds, np.repeat(one.values_ect, 2, axis=2)))
    [much, little] = judge(
        tmp_path, claim(gain=(1, 2), same=True), claim(gain=(1, 2), same=True, rows=("low", "lower"))
    )
    assert (much.flags, little.flags) == ((), ("floor",))
    assert (much.outcome, little.outcome) == (REPRODUCED, UNDECIDED)


def test_values_that_are_no_recall_have_no_floor(tmp_path: Path) -> None:
    few = KeptRow(tuple("abcd"), (UNTRAINED,), np.array([[[0.01], [0.0], [0.0], [0.01]]], dtype=np.float32))
    none = KeptRow(tuple("abcd"), (UNTRAINED,), np.zeros((1, 4, 1), np.float32))
    write(tmp_path, "talks", "ours", few)
    write(tmp_path, "talks", "theirs", none)
    [one] = judge(tmp_path, claim(same=True, metric="repeated questions, %"))
    assert (one.outcome, one.flags) == (REPRODUCED, ())


def test_the_other_way_round_is_not_reproduced(tmp_path: Path) -> None:
    write(tmp_path, "talks", "ours", of_seeds([0.2, 0.25, 0.22]))
    write(tmp_path, "talks", "theirs", of_seeds([0.6, 0.61, 0.59]))
    [more, same] = judge(tmp_path, claim(), claim(same=True))
    assert (more.outcome, same.outcome) == (REFUTED, REFUTED)


def test_gains_over_other_rows_are_compared(tmp_path: Path) -> None:
    for name, shares in {"ours": 0.8, "theirs": 0.6, "before ours": 0.7, "before theirs": 0.2}.items():
        write(tmp_path, "talks", name, of_seeds([shares, shares, shares]))
    [one] = judge(tmp_path, claim(over=("before ours", "before theirs")))
    assert one.values == pytest.approx((0.1, 0.4))


def test_both_p_values_are_corrected_over_all_that_can_be_asked_of_a_paper() -> None:
    # A family of four: the fifth cannot be asked, and the fourth, not measured, counts as p = 1.
    # Differences 0.001, 0.02, 0.9, 1: 0.001 x 4 = 0.004; 0.02 x 3 = 0.06; 0.9 x 2 = 1.8, at most 1.
    # Equivalence 1, 0.02, 0.01, 1: 0.01 x 4 = 0.04; 0.02 x 3 = 0.06.
    def found(mean: float, p_value: float, equivalence: float, *, same: bool = False) -> Judged:
        return Judged(
            claim=claim(same=same), outcome="", interval=Interval(mean, mean - 0.005, mean + 0.005), p_value=p_value,
            equivalence=equivalence,
        )  # fmt: skip

    differs, hardly, alike = found(0.03, 0.001, 1.0), found(0.006, 0.02, 0.02), found(0.0, 0.9, 0.01)
    waiting, closed = Judged(claim=claim(), outcome=WAITING), Judged(claim=claim(), outcome=CLOSED)
    judged = give_verdicts([differs, hardly, alike, waiting, closed])
    assert [one.p_value for one in judged[:3]] == pytest.approx([0.004, 0.06, 1.0])
    assert [one.equivalence for one in judged[:3]] == pytest.approx([1.0, 0.06, 0.04])
    outcomes = [REPRODUCED, UNDECIDED, EQUIVALENT, WAITING, CLOSED]
    assert [one.outcome for one in judged] == outcomes
    # Of claims that both find equally much: what differs by 0.001 is refuted, by 0.02 is not.
    pairs = [found(0.03, 0.001, 1.0, same=True), found(0.006, 0.02, 0.9, same=True), alike, waiting]
    assert [one.outcome for one in give_verdicts(pairs)] == [REFUTED, UNDECIDED, EQUIVALENT, WAITING]


def test_a_verdict_stands_when_the_other_claims_of_its_paper_are_measured(tmp_path: Path) -> None:
    for name, shares in {"ours": [0.6, 0.61, 0.6], "theirs": [0.5, 0.5, 0.5]}.items():
        write(tmp_path, "talks", name, of_seeds(shares, 1000))
    claims = (claim(), claim(rows=("later", "theirs")))
    [before, _] = judge(tmp_path, *claims)
    write(tmp_path, "talks", "later", of_seeds([0.5, 0.5, 0.5], 1000))
    [after, later] = judge(tmp_path, *claims)
    assert (before.outcome, after.outcome, later.outcome) == (REPRODUCED, REPRODUCED, EQUIVALENT)
    assert before.p_value == after.p_value


def test_more_claims_of_a_paper_ask_for_smaller_p_values(tmp_path: Path) -> None:
    write(tmp_path, "talks", "ours", of_seeds([0.52, 0.55, 0.56]))
    write(tmp_path, "talks", "theirs", of_seeds([0.5, 0.5, 0.5]))
    [alone] = judge(tmp_path, claim())
    two = judge(tmp_path, claim(), claim())
    assert [one.p_value for one in two] == pytest.approx([2 * alone.p_value] * 2)


def test_rows_that_are_not_kept_have_no_verdict_but_an_earlier_figure(tmp_path: Path) -> None:
    judged = judge(tmp_path, claim(earlier=(1.6, 0.6, 2.6, 1), effect=1.1, where="table 6"))
    assert judged[0].outcome == WAITING
    assert judged[0].missing == ("ours", "theirs")
    page = "\n".join(claim_parts(judged, tmp_path)["claims-mai"])
    assert "earlier figure, ranks not kept: +1.6 (+0.6 to +2.6), 1 seed" in page
    assert effect_points(judged) == [{"paper": "MAI", "theirs": 1.1, "ours": [1.6, 0.6, 2.6], "kept": False}]


def test_a_page_tells_what_was_measured_with_what(tmp_path: Path) -> None:
    weights = {**FACTS, "weights": ["aaaaaaaa", "bbbbbbbb", "cccccccc"], "flags": ["own data"]}
    for name, shares in {"ours": [0.6, 0.65, 0.62], "theirs": [0.2, 0.2, 0.2]}.items():
        write_ranks("made", "talks", name, of_seeds(shares), gallery=500, facts=weights, results=tmp_path)
    page = "\n".join(claim_parts(judge(tmp_path, claim()), tmp_path)["claims-mai"])
    for told in (
        "62.3 − 20.0 = **+42.3**",
        "| 200 |",
        "| 500 |",
        "own data",
        "0: `aaaaaaaa`, 1: `bbbbbbbb`",
        "made.py",
    ):
        assert told in page
    assert not few_seeds(page)


def test_a_cell_says_which_p_value_it_has() -> None:
    def cell(outcome: str, *, same: bool = False) -> str:
        interval = Interval(0.0, -0.01, 0.01)
        judged = Judged(claim=claim(same=same), outcome=outcome, interval=interval, p_value=0.00001, equivalence=0.0321)
        return p_cell(judged)

    assert cell(REPRODUCED) == cell(UNDECIDED) == cell(REFUTED, same=True) == ", p < 0.0001"
    assert cell(EQUIVALENT) == cell(REPRODUCED, same=True) == ", p 0.0321 of equivalence"
    assert cell(WAITING) == ""


def test_a_verdict_of_one_seed_on_the_page_is_found() -> None:
    page = "| claim | seeds | outcome |\n|---|---|---|\n| It helps. | {} | reproduced |\n"
    assert few_seeds(page.format("1")) == ["1 seeds: It helps."]
    assert not few_seeds(page.format("3"))
    assert not few_seeds(page.format("none trained"))
    common = "Seeds of all that is measured: 2.\n\n| claim | outcome |\n|---|---|\n| It helps. | undecided |\n"
    assert few_seeds(common) == ["2 seeds: It helps."]


def test_a_changed_rank_changes_what_the_plot_is_drawn_of(tmp_path: Path) -> None:
    prints = set()
    for share in (0.6, 0.61):
        for name, own in {"ours": share, "theirs": 0.2}.items():
            write(tmp_path, "talks", name, of_seeds([own] * 3))
        prints.add(fingerprint(effect_points(judge(tmp_path, claim(effect=3.0)))))
    assert len(prints) == 2


def test_committed_claims_are_whole() -> None:
    claims = read_claims()
    assert all(one.reason or (one.benchmark and one.tests and len(one.rows) == 2) for one in claims)
    assert all(one.where for one in claims if one.effect is not None)
    drilldowns = {row.name for row in (*drilldown.CHAIN, *drilldown.CONTROL, *drilldown.GRID, *drilldown.WIDE)}
    assert {name for one in claims if one.benchmark == "drilldown" for name in one.rows} <= drilldowns
    assert len({(one.paper, one.says) for one in claims}) == len(claims)


def test_a_learning_rate_that_validation_chose_is_known_without_the_trainings_that_tried_it(tmp_path: Path) -> None:
    for row in drilldown.WIDE:
        tried = read_facts("drilldown")[drilldown.RATES_TRIED][row.name]
        chosen = drilldown.chosen_rate(row, tmp_path)
        assert chosen in row.rates
        assert tried[chosen] == max(tried.values())


def test_no_claim_that_is_asked_compares_a_row_that_reads_captions_with_one_that_reads_none() -> None:
    reads = {row.name for row in (*mai.EVERY, mai.BOX) if mai.reads_captions(row)}
    for one in (one for one in read_claims() if one.benchmark == "mai" and not one.reason):
        kinds = {name.partition(", goes back by:")[0] in reads for name in (*one.rows, *one.over)}
        assert len(kinds) == 1, one.says


def test_no_committed_verdict_has_fewer_than_three_seeds() -> None:
    page = (RESULTS.parents[1] / "docs" / "claims.md").read_text(encoding="utf-8")
    assert not few_seeds(page)
