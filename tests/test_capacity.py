"""What the page on capacity computes, by hand; and its two real shards, on a small scale."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from capacity import Costs, ShardRun, Shards, line_through, plan
from report_capacity import capacity_parts

ROOT = Path(__file__).parents[1]


def test_cores_memory_and_money_by_hand() -> None:
    costs = Costs(core_s=0.02, core_s_a_picture=1e-7, bytes_a_picture=2000, process_bytes=1e9)
    planned = plan(costs, pictures=1_000_000, people=600)
    # 600 people x 4 turns a minute = 40 a second, each 0.02 s + 0.1 s of a core; cores are busy 60 % of the time
    assert planned["turns_per_s"] == 40
    assert planned["cores"] == 8  # 40 x 0.12 / 0.6
    assert planned["memory_gb"] == 3.0
    assert planned["dollars_a_month"] == round(730 * (8 * 0.04 + 3 * 0.005))


def test_what_the_server_adds_is_what_a_crowd_loses_against_the_engine() -> None:
    turns = {"core_ms_a_turn": 10.0, "core_ns_a_picture": 50.0, "bytes_a_picture": 1, "process_mb": 1}
    costs = Costs.of(turns, {"turns_per_s": 50.0, "engine_turns_per_s": 100.0}, cores=2)
    assert costs.core_s == pytest.approx(0.01 + 2 / 50 - 2 / 100)


def test_a_line_through_costs_is_never_below_nothing() -> None:
    assert line_through([(0, 1.0), (10, 21.0), (20, 41.0)]) == pytest.approx((1.0, 2.0))
    assert line_through([(10, 1.0), (20, 0.5)])[1] == 0.0
    assert line_through([(10, 0.0), (20, 5.0)])[0] == 0.0


def test_two_real_shards_answer_every_query_in_turn_and_after_it_was_due() -> None:
    shards = Shards(2000)
    try:
        alone, loaded = shards.ask(None, 20), shards.ask([0.001] * 30, 30)
    finally:
        shards.close()
    for run, queries in ((alone, 20), (loaded, 30)):
        assert run.ended_qs.shape == (queries, 2)
        assert (run.began_qs >= run.due_q[:, None]).all()
        assert (run.scans_qs > 0).all()
        assert (np.diff(run.ended_qs, axis=0) > 0).all()  # one after the other
        assert (run.began_qs[1:] >= run.ended_qs[:-1]).all()


def test_an_answer_is_there_when_its_last_shard_is() -> None:
    run = ShardRun(np.array([1.0]), np.array([[1.0, 1.5]]), np.array([[1.2, 1.9]]))
    assert run.seconds_q.tolist() == pytest.approx([0.9])


def test_the_committed_figures_have_a_table_each() -> None:
    found = json.loads((ROOT / "benchmarks" / "results" / "capacity.json").read_text(encoding="utf-8"))
    page = (ROOT / "docs" / "capacity.md").read_text(encoding="utf-8")
    for name, lines in capacity_parts(found).items():
        assert f"<!-- {name} -->\n" + "\n".join(lines) in page
