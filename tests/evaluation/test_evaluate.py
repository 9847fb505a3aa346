from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from viewfinder.errors import BadInput, UnknownName
from viewfinder.evaluation import Evaluation, Plan, evaluate, read_run, write_run
from viewfinder.evaluation.report import write_page
from viewfinder.testing import ColourEncoder


def done(scenes: Path, out: Path, **plan: object) -> Evaluation:
    return evaluate(Plan(**{"system": "composer", "data": scenes, **plan}), ColourEncoder(), out)  # type: ignore[arg-type]


def test_every_protocol_of_a_world_is_run_and_kept(scenes: Path, tmp_path: Path) -> None:
    evaluation = done(scenes, tmp_path / "run")
    write_run(evaluation.run)
    read = read_run(tmp_path / "run")
    assert [task.title for task in read.tasks] == [task.title for task in evaluation.run.tasks]
    assert len(read.tasks) == 6
    assert read.provenance.encoder == ColourEncoder().version


def test_the_same_plan_gives_the_same_ranks(scenes: Path, tmp_path: Path) -> None:
    first, second = (done(scenes, tmp_path, protocol="drilldown") for _ in range(2))
    assert np.array_equal(first.run.tasks[0].ranks.best_st, second.run.tasks[0].ranks.best_st)


def test_limits_take_talks_evenly(scenes: Path, tmp_path: Path) -> None:
    whole, few = (done(scenes, tmp_path, protocol="drilldown", limit=limit).run.tasks[0] for limit in (None, 3))
    assert few.talk_ids == (whole.talk_ids[0], whole.talk_ids[2], whole.talk_ids[-1])


def test_a_simulated_user_talks_to_the_live_system(scenes: Path, tmp_path: Path) -> None:
    plan = {"protocol": "chatir", "user": "oracle", "questioner": "information_gain", "split": "val"}
    evaluation = done(scenes, tmp_path, **plan)
    [task] = evaluation.run.tasks
    assert task.ranks.best_st.shape == (len(task.talk_ids), 11)
    assert not np.isnan(task.ranks.best_st).any()
    said = [turn.said for turn in evaluation.examples[0].turns]
    assert said  # what the user said is there to be looked at


@pytest.mark.parametrize("user", ["annotations", "recorded"])
def test_users_know_pictures_by_the_names_of_their_files(scenes: Path, tmp_path: Path, user: str) -> None:
    evaluation = done(scenes, tmp_path, protocol="chatir", user=user, split="val")
    assert all(turn.said for example in evaluation.examples for turn in example.turns)
    assert evaluation.run.tasks[0].ranks.best_st.shape[1] == 11


def test_the_fashion_dialogue_starts_from_a_fixed_other_picture(goods: Path, tmp_path: Path) -> None:
    first, second = (done(goods, tmp_path, protocol="fashioniq", system=system) for system in ("clip-i", "clip-t"))
    dialogues = [
        [example.turns[0].picture for example in evaluation.examples if "dialogue" in example.task]
        for evaluation in (first, second)
    ]
    assert dialogues[0] == dialogues[1]
    assert all(dialogues[0])


def test_pictures_that_are_gone_are_left_out_and_reported(scenes: Path, tmp_path: Path) -> None:
    keys = sorted(f"images/{number:012}.jpg" for number in range(1, 40))[:-2]
    vectors_nd = np.random.default_rng(0).standard_normal((len(keys), 48)).astype(np.float32)
    np.savez(tmp_path / "vectors.npz", vectors=vectors_nd, keys=np.array(keys))
    evaluation = done(scenes, tmp_path, vectors=tmp_path / "vectors.npz", protocol="captions")
    [task] = evaluation.run.tasks
    assert task.ranks.gallery_size == 37
    assert any("pictures that are not here" in line for line in task.left_out)


def test_vectors_of_another_width_are_refused(scenes: Path, tmp_path: Path) -> None:
    np.savez(tmp_path / "v.npz", vectors=np.zeros((1, 7), np.float32), keys=np.array(["a.jpg"]))
    with pytest.raises(BadInput, match=r"vectors of 7 numbers, but words have 48"):
        done(scenes, tmp_path, vectors=tmp_path / "v.npz")


def test_an_unknown_system_is_named(scenes: Path, tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match=r"no system is called 'bm25'; there are: clip-i, clip-t"):
        done(scenes, tmp_path, system="bm25")


@pytest.mark.parametrize("plan", [{"manners": {"noise": 0.1}}, {"questioner": "information_gain"}])
def test_what_only_a_user_can_do_is_refused_without_one(scenes: Path, tmp_path: Path, plan: dict[str, object]) -> None:
    with pytest.raises(BadInput, match="name one, for example --user oracle"):
        done(scenes, tmp_path, **plan)


def test_unknown_users_and_questioners_are_named_before_anything_is_read(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="no simulated user is called 'martian'"):
        done(tmp_path, tmp_path, user="martian")
    with pytest.raises(UnknownName, match="no questioner is called 'q'"):
        done(tmp_path, tmp_path, user="oracle", questioner="q")


def test_a_user_who_answers_by_a_model_needs_one(scenes: Path, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="'vqa' needs a model"):
        done(scenes, tmp_path, user="vqa")


def test_a_checkpoint_for_what_is_not_trained_is_refused(scenes: Path, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="composer has nothing to load"):
        done(scenes, tmp_path, checkpoint=tmp_path / "x.safetensors")


def test_the_page_holds_every_task_and_its_pictures(scenes: Path, tmp_path: Path) -> None:
    evaluation = done(scenes, tmp_path / "run", protocol="drilldown", limit=2)
    page = write_page(evaluation.run, evaluation.examples).read_text(encoding="utf-8")
    assert "drilldown, test" in page
    assert page.count("data:image/png;base64,") == 2
    assert page.count("data:image/jpeg;base64,") > 10
    assert "http" not in page.replace("http-equiv", "")


def test_words_of_users_are_not_markup(scenes: Path, tmp_path: Path) -> None:
    home = tmp_path / "data"
    (home / "images").mkdir(parents=True)
    for source in sorted((scenes / "images").iterdir())[:2]:
        (home / "images" / source.name).write_bytes(source.read_bytes())
    said = '"<script>alert(1)</script>"'
    (home / "captions.csv").write_text(f"image,caption\n000000000001.jpg,{said}\n000000000002.jpg,{said}\n")
    evaluation = done(home, tmp_path / "run")
    assert "<script>" not in write_page(evaluation.run, evaluation.examples).read_text(encoding="utf-8")


def test_results_are_plain_json(scenes: Path, tmp_path: Path) -> None:
    write_run(done(scenes, tmp_path, protocol="drilldown", limit=2).run)
    record = json.loads((tmp_path / "results.json").read_text())
    assert record["schema"] == "viewfinder/results"
    assert record["tasks"][0]["figures"][0]["metric"] == "R@1"


def test_figures_follow_the_tie_rule_and_say_so(scenes: Path, tmp_path: Path) -> None:
    # A talk of words alone leaves all 39 pictures equal for CLIP-i, which reads pictures.
    plan = {"system": "clip-i", "protocol": "captions", "limit": 2}
    means = {}
    for ties in ("optimistic", "expected", "pessimistic"):
        figure = done(scenes, tmp_path, ties=ties, **plan).run.tasks[0].figures[2]
        assert (figure.name.metric, figure.name.at, figure.name.ties) == ("R@1", "turn 3", ties)
        means[ties] = figure.measure.interval.mean
    assert means == {"optimistic": 1.0, "expected": pytest.approx(1 / 39), "pessimistic": 0.0}
