"""Every attack once, small; `make attack` has them at full size (benchmarks/attack.py), and tells what came of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.hostile import (
    bodies,
    calls,
    conversations,
    cuts,
    damage,
    faults,
    folders,
    kills,
    kills_served,
    pictures,
    wire,
)
from tests.hostile.attack import Outcome

SEED = 3


def held(outcome: Outcome) -> dict[str, Any]:
    """Its figures; nothing was broken."""
    if "skipped" in outcome.figures:
        pytest.skip(str(outcome.figures["skipped"]))
    assert outcome.broken == []
    assert outcome.rounds > 0, "nothing was tried"
    return outcome.figures


pytestmark = [pytest.mark.slow, pytest.mark.afresh]
once_and_again = pytest.mark.parametrize("rounds", [1, pytest.param(3, marks=pytest.mark.long)])


@pytest.mark.long  # test_store_processes.py kills writers, too
def test_kill_9_of_add_loses_nothing(tmp_path: Path) -> None:
    held(kills.kill_add(2, SEED, tmp_path))


@once_and_again
def test_kill_9_of_tune_leaves_the_last_space_or_the_next(tmp_path: Path, rounds: int) -> None:
    held(kills.kill_tune(rounds, SEED, tmp_path))


def test_kill_9_of_a_catalogue_import_loses_no_edition(tmp_path: Path) -> None:
    held(kills.kill_describe(1, SEED, tmp_path))


@once_and_again
@pytest.mark.long
def test_kill_9_of_repair_loses_no_row(tmp_path: Path, rounds: int) -> None:
    assert held(kills.kill_repair(rounds, SEED, tmp_path))["repairs"] > 0


@pytest.mark.long
def test_kill_9_of_features_ends_in_the_same_files(tmp_path: Path) -> None:
    held(kills.kill_features(2, SEED, tmp_path))


@pytest.mark.long
def test_kill_9_of_jobs_is_not_seen_in_what_they_report(tmp_path: Path) -> None:
    held(kills_served.kill_jobs(4, SEED, tmp_path))


@pytest.mark.long
def test_kill_9_of_the_server_under_six_people_loses_nothing(tmp_path: Path) -> None:
    assert held(kills_served.kill_server(1, SEED, tmp_path))["turns"] > 0


@pytest.mark.long
def test_bad_pictures_are_quarantined_and_good_ones_are_kept(tmp_path: Path) -> None:
    figures = held(pictures.mutate_pictures(250, SEED, tmp_path))
    assert figures["quarantined"] > 100 and figures["kept"] >= figures["untouched"] > 20


@pytest.mark.long
def test_hostile_rules_of_what_to_pass_over_end_no_add(tmp_path: Path) -> None:
    held(folders.hostile_folders(3, SEED, tmp_path))


@pytest.mark.long
def test_no_hostile_folder_ends_an_add(tmp_path: Path) -> None:
    held(folders.hostile_folders(len(folders.FOLDERS), SEED, tmp_path))


@pytest.mark.long
def test_no_call_at_random_breaks_the_server(tmp_path: Path) -> None:
    figures = held(calls.fuzz_calls(2000, SEED, tmp_path))
    assert figures["answers_2xx"] > 400 and figures["answers_4xx"] > 400


@pytest.mark.long
def test_over_a_connection_each_operation_wants_its_own_scope(tmp_path: Path) -> None:
    assert held(calls.try_scopes(1000, SEED, tmp_path)) == {}


def test_http_made_by_hand_is_refused_and_hides_no_request(tmp_path: Path) -> None:
    held(wire.raw_requests(len(wire.CASES) + 10, SEED, tmp_path))


@pytest.mark.long  # test_client_cut_connections.py cuts them, too
def test_turns_whose_connections_are_cut_are_taken_once(tmp_path: Path) -> None:
    assert held(cuts.cut_connections(5, SEED, tmp_path, workers=1))["sent_again"] > 0


@pytest.mark.long
def test_refused_bodies_leave_no_memory_behind(tmp_path: Path) -> None:
    held(bodies.refused_bodies(150, SEED, tmp_path))


@pytest.mark.long
def test_large_bodies_keep_nobody_waiting(tmp_path: Path) -> None:
    held(bodies.large_bodies(1, SEED, tmp_path))


@pytest.mark.long
def test_slow_connections_are_ended_and_nobody_waits_for_them(tmp_path: Path) -> None:
    held(wire.slow_connections(60, SEED, tmp_path))


@pytest.mark.long
def test_nobody_waits_for_long_conversations(tmp_path: Path) -> None:
    held(conversations.long_conversations(1, SEED, tmp_path, turns=500))


@pytest.mark.long
def test_memory_does_not_grow_with_the_number_of_conversations(tmp_path: Path) -> None:
    held(conversations.many_conversations(200, SEED, tmp_path))


@pytest.mark.long
def test_32_people_beside_one_who_replays_wait_less_than_a_second(tmp_path: Path) -> None:
    held(conversations.crowd_beside_replay(10, SEED, tmp_path, turns=500))


@pytest.mark.long
def test_sigterm_ends_a_server_beside_people_and_beside_those_who_dawdle(tmp_path: Path) -> None:
    held(conversations.end_by_sigterm(2, SEED, tmp_path))


@pytest.mark.long
def test_sigterm_ends_a_server_whatever_it_does(tmp_path: Path) -> None:
    held(conversations.end_by_sigterm(4, SEED + 1, tmp_path))


@pytest.mark.long  # test_library_damage.py has a damage of each kind
def test_damage_to_a_library_is_said_or_healed(tmp_path: Path) -> None:
    held(damage.damage_library(6, SEED, tmp_path))


@pytest.mark.long
def test_damage_to_any_kind_of_file_is_said_or_healed(tmp_path: Path) -> None:
    held(damage.damage_library(100, SEED, tmp_path))


@pytest.mark.long
def test_damage_to_a_tuned_head_is_said(tmp_path: Path) -> None:
    held(damage.damage_head(6, SEED, tmp_path))


@pytest.mark.long
def test_damage_to_thumbnails_is_not_served(tmp_path: Path) -> None:
    held(damage.damage_thumbnails(20, SEED, tmp_path))


@pytest.mark.long  # test_cli_add.py fills a disk, too
def test_a_full_disk_loses_nothing_that_add_acknowledged(tmp_path: Path) -> None:
    held(faults.full_disk(2, SEED, tmp_path))


@pytest.mark.long
def test_a_full_disk_under_the_server_is_507(tmp_path: Path) -> None:
    assert held(faults.full_disk_served(1, SEED, tmp_path))["answers_507"] > 0


@pytest.mark.long
def test_a_library_that_cannot_be_written_to_is_searched(tmp_path: Path) -> None:
    held(faults.read_only(2, SEED, tmp_path))


@pytest.mark.long
def test_a_server_without_descriptors_recovers(tmp_path: Path) -> None:
    held(faults.no_descriptors(1, SEED, tmp_path))


@pytest.mark.long
def test_a_database_that_restarts_loses_no_turn(tmp_path: Path) -> None:
    held(faults.restarted_database(2, SEED, tmp_path))


@pytest.mark.long
def test_a_clock_that_goes_back_makes_no_token_good_again(tmp_path: Path) -> None:
    held(faults.clock_back(2, SEED, tmp_path))


@pytest.mark.long
def test_a_library_that_is_moved_away_and_back_is_served_again(tmp_path: Path) -> None:
    held(faults.moved_away(1, SEED, tmp_path))
