"""The simulated fleet does what queueing theory says wherever theory has a formula."""

from __future__ import annotations

import random
from statistics import fmean

import numpy as np
import pytest
from capacity_model import (
    Failures,
    Fleet,
    lognormal_of,
    mean_seconds_mmc,
    resampled,
    share_incomplete_in_theory,
    simulate_fleet,
    with_stragglers,
)


def exponential(mean_s: float):  # type: ignore[no-untyped-def]
    return lambda rng, shards: [rng.expovariate(1 / mean_s) for _ in range(shards)]


def means_of_runs(fleet: Fleet, queries_per_s: float, runs: int = 8, queries: int = 3000) -> tuple[float, float]:
    """The mean time of an answer over independent runs, and its standard error."""
    means = [
        fmean(simulate_fleet(fleet, queries_per_s, queries, warm_up=1000, seed=seed).seconds) for seed in range(runs)
    ]
    return fmean(means), float(np.std(means, ddof=1)) / runs**0.5


@pytest.mark.parametrize(
    ("cores", "queries_per_s"),
    [(1, 50.0), *(pytest.param(*more, marks=pytest.mark.long) for more in ((1, 70.0), (2, 140.0))), (4, 300.0)],
)
def test_one_shard_with_exponential_scans_is_the_queue_of_theory(cores: int, queries_per_s: float) -> None:
    mean_s, error_s = means_of_runs(Fleet(1, exponential(0.01), cores=cores), queries_per_s)
    expected_s = mean_seconds_mmc(queries_per_s, 100.0, cores)
    assert abs(mean_s - expected_s) < 4 * error_s
    assert error_s < 0.05 * expected_s


def test_the_queue_of_theory_by_hand() -> None:
    assert mean_seconds_mmc(50, 100) == pytest.approx(1 / (100 - 50))
    # Two servers at half load: they are all busy for 1/3 of those who come.
    assert mean_seconds_mmc(100, 100, 2) == pytest.approx((1 / 3) / (200 - 100) + 1 / 100)
    with pytest.raises(ValueError, match="come in"):
        mean_seconds_mmc(100, 100)


def test_without_load_a_fan_out_takes_as_long_as_its_slowest_shard() -> None:
    fleet = Fleet(16, exponential(0.01))
    seconds = simulate_fleet(fleet, 0.01, 4000, seed=1).seconds
    expected_s = 0.01 * sum(1 / k for k in range(1, 17))  # the mean maximum of 16 exponential draws
    assert fmean(seconds) == pytest.approx(expected_s, abs=4 * float(np.std(seconds)) / 4000**0.5)
    drawn = np.random.default_rng(2).exponential(0.01, (100_000, 16)).max(axis=1)
    for share in (50, 95, 99):
        assert np.percentile(seconds, share) == pytest.approx(np.percentile(drawn, share), rel=0.08)


def test_the_same_seed_gives_the_same_answers_and_another_seed_others() -> None:
    fleet = Fleet(4, exponential(0.01), replicas=2, hedge_s=0.02, failures=Failures(5, 1), deadline_s=0.5)
    assert simulate_fleet(fleet, 50, 200, seed=3) == simulate_fleet(fleet, 50, 200, seed=3)
    assert simulate_fleet(fleet, 50, 200, seed=3) != simulate_fleet(fleet, 50, 200, seed=4)


@pytest.mark.parametrize("replicas", [1, 2])
def test_answers_lack_a_shard_as_often_as_all_its_replicas_are_down(replicas: int) -> None:
    failures = Failures(up_s=9.0, repair_s=1.0)
    fleet = Fleet(8, lambda rng, shards: [1e-6] * shards, replicas=replicas, failures=failures, deadline_s=0.1)
    shares = [simulate_fleet(fleet, 1.0, 400, seed=seed).share_incomplete for seed in range(20)]
    error = float(np.std(shares, ddof=1)) / len(shares) ** 0.5
    assert fmean(shares) == pytest.approx(share_incomplete_in_theory(8, replicas, 0.1), abs=4 * error)
    assert error < 0.02


def test_what_a_failed_replica_was_asked_is_lost_until_the_deadline_unless_another_is_asked() -> None:
    brittle = Failures(up_s=50.0, repair_s=50.0, noticed_s=1e9)  # down half of the time, and nobody notices
    alone = Fleet(1, lambda rng, shards: [0.001] * shards, failures=brittle, deadline_s=0.5)
    answers = simulate_fleet(alone, 1.0, 2000, seed=5)
    assert {
        round(seconds, 3) for seconds, missing in zip(answers.seconds, answers.missing, strict=True) if missing
    } == {0.5}
    assert 0.3 < answers.share_incomplete < 0.7
    several = Fleet(1, alone.draw_scans, replicas=3, failures=brittle, deadline_s=0.5, hedge_s=0.01)
    answers = simulate_fleet(several, 1.0, 2000, seed=5)
    assert answers.share_incomplete < 0.25  # 1/8 in the long run
    assert {round(seconds, 3) for seconds in answers.seconds} == {0.001, 0.011, 0.021, 0.5}


def test_a_fleet_that_fails_needs_a_deadline() -> None:
    with pytest.raises(ValueError, match="deadline"):
        Fleet(1, exponential(0.01), failures=Failures(1, 1))


def test_asking_a_second_replica_takes_the_stragglers_out_of_the_tail() -> None:
    scans = with_stragglers(lambda rng: 0.01, share=0.02, factor=20)
    slow, hedged = (
        np.percentile(simulate_fleet(Fleet(8, scans, replicas=2, hedge_s=hedge_s), 1.0, 2000, seed=6).seconds, 95)
        for hedge_s in (None, 0.012)
    )
    assert slow == pytest.approx(0.2)
    assert hedged == pytest.approx(0.022)


def test_a_fitted_distribution_has_the_quantiles_it_was_fitted_to() -> None:
    draw, rng = lognormal_of(0.016, 0.021), random.Random(7)
    drawn = [draw(rng) for _ in range(50_000)]
    assert np.percentile(drawn, 50) == pytest.approx(0.016, rel=0.01)
    assert np.percentile(drawn, 99) == pytest.approx(0.021, rel=0.01)


def test_resampled_times_of_one_query_belong_together() -> None:
    scans, rng = resampled([[1.0, 10.0], [2.0, 20.0]]), random.Random(8)
    assert {tuple(scans(rng, 2)) for _ in range(50)} == {(1.0, 10.0), (2.0, 20.0)}
