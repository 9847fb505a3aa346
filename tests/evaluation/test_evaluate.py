from __future__ import annotations

import json
import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import viewfinder.retrievers
from viewfinder.conversation import Question
from viewfinder.data.dialogues import read_dialogues
from viewfinder.errors import BadInput, EncoderMismatch, UnknownName
from viewfinder.evaluation import Evaluation, Plan, compare_runs, evaluate, read_run, write_run
from viewfinder.evaluation.report import write_report
from viewfinder.questioners import Candidates
from viewfinder.retrievers import Composer
from viewfinder.retrievers.shared.captioned_pictures import DETECTOR_VERSION
from viewfinder.testing import ColourEncoder
from viewfinder.users import load_user


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


@pytest.mark.long
def test_limits_take_dialogues_evenly(scenes: Path, tmp_path: Path) -> None:
    whole, few = (done(scenes, tmp_path, protocol="drilldown", limit=limit).run.tasks[0] for limit in (None, 3))
    assert few.dialogue_ids == (whole.dialogue_ids[0], whole.dialogue_ids[2], whole.dialogue_ids[-1])


def test_a_simulated_user_talks_to_the_live_system(scenes: Path, tmp_path: Path) -> None:
    plan = {"protocol": "chatir", "user": "oracle", "questioner": "information_gain", "split": "val"}
    evaluation = done(scenes, tmp_path, **plan)
    [task] = evaluation.run.tasks
    assert task.ranks.best_st.shape == (len(task.dialogue_ids), 11)
    assert not np.isnan(task.ranks.best_st).any()
    said = [turn.said for turn in evaluation.examples[0].turns]
    assert said  # what the user said is there to be looked at


def interviewed(scenes: Path, out: Path, **plan: object) -> Evaluation:
    settings = {"protocol": "chatir", "split": "val", "user": "oracle", "questioner": f"recorded={scenes}"}
    return done(scenes, out, **(settings | plan))


def test_a_questioner_begins_with_the_recorded_captions_and_the_user_only_answers(scenes: Path, tmp_path: Path) -> None:
    evaluation = interviewed(scenes, tmp_path / "run", questioner="information_gain")
    write_run(evaluation.run)
    dialogues, _ = read_dialogues(tmp_path / "run" / "dialogues.json")
    recorded, _ = read_dialogues(scenes / "dialogues" / "world_val.json")
    assert [(dialogue.image, dialogue.caption) for dialogue in dialogues] == [
        (dialogue.image, dialogue.caption) for dialogue in recorded
    ]
    [task] = evaluation.run.tasks
    assert [len(dialogue.rounds) for dialogue in dialogues] == task.asked["questions"].tolist()
    captions_only = done(scenes, tmp_path, protocol="chatir", split="val").run.tasks[0].ranks.best_st[:, 0]
    assert np.array_equal(task.ranks.best_st[:, 0], captions_only)  # round 0 is the caption for everybody


def test_recorded_questions_to_the_recorded_user_are_the_recorded_dialogues(scenes: Path, tmp_path: Path) -> None:
    replayed = done(scenes, tmp_path, protocol="chatir", split="val").run.tasks[0]
    asked = interviewed(scenes, tmp_path, user="recorded", options={"dialogues": "world_val"}).run.tasks[0]
    assert np.array_equal(asked.ranks.best_st, replayed.ranks.best_st)
    assert asked.asked["questions"].tolist() == [10, 10, 10]


def test_what_was_asked_is_counted_timed_and_kept(scenes: Path, tmp_path: Path) -> None:
    evaluation = interviewed(scenes, tmp_path / "run", split="test")
    write_run(evaluation.run)
    [task] = read_run(tmp_path / "run").tasks
    means = {figure.name.metric: figure.measure.interval.mean for figure in task.figures if figure.name.ties == "none"}
    assert list(means) == ["questions", "repeated questions", "unique tokens", "don't know", "by another"]
    assert (means["questions"], means["by another"]) == (10, 0)
    assert 0 < means["don't know"] < 1
    assert task.times.keys() == {"median_ms", "p95_ms"}
    assert task.asked["questions"].tolist() == [10, 10, 10, 10]


def test_questioners_are_compared_dialogue_by_dialogue(scenes: Path, tmp_path: Path) -> None:
    asked, silent, replayed = (
        interviewed(scenes, tmp_path / "asked").run,
        interviewed(scenes, tmp_path / "silent", questioner="none").run,
        done(scenes, tmp_path / "replayed", protocol="chatir", split="val").run,
    )
    rows = {row.metric: row for row in compare_runs([silent, asked])}
    assert rows["questions"].others[0].difference.mean == 10
    assert "don't know" not in rows  # a share of nothing
    assert "questions" not in {row.metric for row in compare_runs([asked, replayed])}


def test_a_limit_and_processes_change_no_figure(scenes: Path, tmp_path: Path) -> None:
    plan = Plan(
        system="composer", data=scenes, protocol="chatir", split="val", user="oracle", questioner=f"recorded={scenes}"
    )
    one, two = (
        evaluate(replace(plan, processes=processes), ColourEncoder(), tmp_path, make_encoder=ColourEncoder).run.tasks[0]
        for processes in (1, 2)
    )
    assert one.figures == two.figures
    assert np.array_equal(one.ranks.worst_st, two.ranks.worst_st)
    assert one.dialogues == two.dialogues


def test_files_that_begin_alike_are_asked_about_once(scenes: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    for part in ("images", "ChatIR_Protocol", "truth.jsonl"):
        (home / part).symlink_to(scenes / part)
    (home / "dialogues").mkdir()
    for name in ("other_val.json", "world_val.json"):
        (home / "dialogues" / name).write_bytes((scenes / "dialogues" / "world_val.json").read_bytes())
    run = interviewed(home, tmp_path).run
    assert [task.title for task in run.tasks] == ["chatir, other_val, val"]
    assert run.skipped == (
        "chatir, world_val, val: its dialogues begin as those of chatir, other_val, val, and so would go on alike",
    )


def test_captions_are_enough_to_begin_with(scenes: Path, tmp_path: Path) -> None:
    home = tmp_path / "photos"
    home.mkdir()
    (home / "images").symlink_to(scenes / "images")
    names = sorted(file.name for file in (scenes / "images").iterdir())
    (home / "captions.csv").write_text("image,caption\n" + "".join(f"{name},a red car\n" for name in names))
    evaluation = interviewed(home, tmp_path, user="annotations", split=None, questioner="none")
    [task] = evaluation.run.tasks
    assert (task.title, task.ranks.gallery_size) == ("chatir, openings, test", 4)


def test_who_answers_nothing_cannot_be_interviewed(scenes: Path, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="policy=describes: this user answers nothing"):
        interviewed(scenes, tmp_path, options={"policy": "describes"})


def test_a_run_names_no_place_of_what_its_questioner_read(scenes: Path, tmp_path: Path) -> None:
    assert interviewed(scenes, tmp_path, limit=1).run.provenance.questioner == f"recorded={scenes.name}"


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


def test_a_class_or_an_object_is_evaluated_as_its_name_is(scenes: Path, tmp_path: Path) -> None:
    plan: dict[str, Any] = {"protocol": "captions", "limit": 4}
    runs = [done(scenes, tmp_path, system=one, **plan).run for one in ("composer", Composer, Composer())]
    for run in runs[1:]:
        np.testing.assert_array_equal(run.tasks[0].ranks.best_st, runs[0].tasks[0].ranks.best_st)
        assert run.provenance == runs[0].provenance


class Silent:
    name = "silent"

    def ask(self, view: Candidates) -> Question | None:
        return None


def test_a_user_and_a_questioner_may_be_classes_or_objects(scenes: Path, tmp_path: Path) -> None:
    user = load_user("oracle", scenes, seed=0)
    plan: dict[str, Any] = {"protocol": "chatir", "limit": 2}
    named = done(scenes, tmp_path, user="oracle", questioner="none", **plan).run
    given = done(scenes, tmp_path, user=user, questioner=Silent, **plan).run
    np.testing.assert_array_equal(given.tasks[0].ranks.best_st, named.tasks[0].ranks.best_st)
    assert (given.provenance.user, given.provenance.questioner) == ("oracle", "silent")


def test_an_unknown_system_is_named(scenes: Path, tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match=r"no system is called 'bm25'; there are: .*clip-i, clip-t"):
        done(scenes, tmp_path, system="bm25")


@pytest.mark.parametrize("plan", [{"options": {"noise": 0.1}}, {"questioner": "information_gain"}])
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


@pytest.mark.parametrize("system", ["composer", "random"])
def test_a_checkpoint_for_what_is_not_trained_is_refused(scenes: Path, tmp_path: Path, system: str) -> None:
    with pytest.raises(BadInput, match=f"{system} has nothing to load"):
        done(scenes, tmp_path, system=system, checkpoint=tmp_path / "x.safetensors")


def test_a_trained_system_ranks_and_projects_the_pictures_of_the_task_alone(
    scenes: Path, tmp_path: Path, looking_by_name: Any
) -> None:
    evaluation = done(scenes, tmp_path / "run", system="looking", protocol="drilldown")
    [task] = evaluation.run.tasks
    assert (task.ranks.gallery_size, sum(looking_by_name.projected)) == (4, 4)  # of 39
    assert not np.isnan(task.ranks.best_st).any()


def test_two_checkpoints_are_two_runs_with_names_of_their_own(
    scenes: Path, tmp_path: Path, looking_by_name: Any
) -> None:
    labels = []
    for slots in (1, 2):
        file = tmp_path / str(slots) / "weights.safetensors"
        file.parent.mkdir()
        file.write_text(str(slots))
        evaluation = done(scenes, tmp_path / "run", system="looking", protocol="drilldown", checkpoint=file)
        write_run(evaluation.run)
        labels.append(read_run(tmp_path / "run").provenance.label)
    assert labels[0] != labels[1]
    assert all(label.startswith("looking (weights.safetensors ") for label in labels)


@pytest.mark.long
def test_what_its_vectors_look_at_is_drawn_for_every_example(
    scenes: Path, tmp_path: Path, looking_by_name: Any
) -> None:
    evaluation = done(scenes, tmp_path / "run", system="looking", protocol="drilldown", limit=2)
    turns = evaluation.examples[0].turns
    assert [len(turn.looks.slots) for turn in turns if turn.looks is not None] == [1, 2, *[3] * 8]
    assert all([look.fresh for look in turn.looks.slots].count(True) == 1 for turn in turns if turn.looks)
    page = write_report(evaluation.run, evaluation.examples).read_text(encoding="utf-8")
    assert page.count('class="looks"') == 2
    assert len(list((tmp_path / "run" / "attention").glob("*.png"))) == 2
    write_report(evaluation.run)  # without examples: the drawings of the run before go
    assert not (tmp_path / "run" / "attention").exists()


def test_a_simulated_users_dialogue_is_drawn_too(scenes: Path, tmp_path: Path, looking_by_name: Any) -> None:
    plan = {"protocol": "chatir", "user": "oracle", "options": {"policy": "describes"}, "split": "val", "limit": 1}
    evaluation = done(scenes, tmp_path, system="looking", **plan)
    [example] = evaluation.examples
    assert all(turn.looks is not None for turn in example.turns)


def test_regions_cannot_be_seen_in_vectors_that_are_brought(scenes: Path, tmp_path: Path, looking_by_name: Any) -> None:
    with pytest.raises(BadInput, match="one vector a picture, but looking looks at regions"):
        done(scenes, tmp_path, system="looking", vectors=tmp_path / "v.npz")


def test_a_system_trained_on_other_vectors_is_refused(
    scenes: Path, tmp_path: Path, looking_by_name: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = replace(looking_by_name, raw_version="elsewhere-1")
    monkeypatch.setitem(viewfinder.retrievers.RETRIEVERS, "looking", lambda checkpoint: other)
    with pytest.raises(EncoderMismatch, match="looking was trained on vectors of elsewhere-1, not colours-raw-1"):
        done(scenes, tmp_path, system="looking")


def test_a_system_trained_on_a_detectors_regions_sees_those_of_the_data(
    scenes: Path, tmp_path: Path, looking_by_name: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    detecting = replace(looking_by_name, raw_version=DETECTOR_VERSION)
    monkeypatch.setitem(viewfinder.retrievers.RETRIEVERS, "looking", lambda checkpoint: detecting)
    home = with_detector(scenes, tmp_path / "vg")
    evaluation = done(home, tmp_path / "run", system="looking", protocol="drilldown")
    [task] = evaluation.run.tasks
    assert task.ranks.gallery_size == len(task.dialogue_ids) == 4
    looks = evaluation.examples[0].turns[0].looks
    assert looks is not None
    np.testing.assert_allclose(looks.boxes_r4[0], [0, 0, 0.5, 0.5])


def with_detector(scenes: Path, home: Path) -> Path:
    """A world with detector features of its test pictures: every box is the upper left quarter."""
    home.mkdir()
    for part in ("rg_jsons", "caches", "images", "sg_xmls"):
        (home / part).symlink_to(scenes / part)
    (home / "region_36_final").mkdir()
    for number in map(int, (scenes / "caches" / "vg_test.txt").read_text().split()):
        with Image.open(home / "images" / f"{number:012}.jpg") as image:
            width, height = image.size
        record = {
            "region_boxes": np.tile(np.array([0, 0, width / 2, height / 2], np.float32), (36, 1)),
            "region_feats": np.random.default_rng(number).standard_normal((36, 2048)).astype(np.float32),
            "region_clses": np.zeros(36, np.int32),
        }
        (home / "region_36_final" / f"{number:012}.npy").write_bytes(pickle.dumps(record, 2))
    return home


def test_the_page_holds_every_task_and_its_pictures(scenes: Path, tmp_path: Path) -> None:
    evaluation = done(scenes, tmp_path / "run", protocol="drilldown", limit=2)
    page = write_report(evaluation.run, evaluation.examples).read_text(encoding="utf-8")
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
    assert "<script>" not in write_report(evaluation.run, evaluation.examples).read_text(encoding="utf-8")


def test_results_are_plain_json(scenes: Path, tmp_path: Path) -> None:
    write_run(done(scenes, tmp_path, protocol="drilldown", limit=2).run)
    record = json.loads((tmp_path / "results.json").read_text())
    assert record["schema"] == "viewfinder/results"
    assert record["tasks"][0]["figures"][0]["metric"] == "R@1"


def test_figures_follow_the_tie_rule_and_say_so(scenes: Path, tmp_path: Path) -> None:
    # A dialogue of words alone leaves all 39 pictures equal for CLIP-i, which reads pictures.
    plan = {"system": "clip-i", "protocol": "captions", "limit": 2}
    means = {}
    for ties in ("optimistic", "expected", "pessimistic"):
        figure = done(scenes, tmp_path, ties=ties, **plan).run.tasks[0].figures[2]
        assert (figure.name.metric, figure.name.at, figure.name.ties) == ("R@1", "turn 3", ties)
        means[ties] = figure.measure.interval.mean
    assert means == {"optimistic": 1.0, "expected": pytest.approx(1 / 39), "pessimistic": 0.0}
