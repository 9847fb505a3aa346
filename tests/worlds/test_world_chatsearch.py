import re
from collections import Counter

import pytest

from viewfinder.data.chatsearch import ChatSample, ImageItem, TextItem
from viewfinder.worlds.chatsearch import PicturedScene, chat_samples, nearest_scenes, scene_likeness
from viewfinder.worlds.grammar import change_clauses, change_instruction, make_speaker
from viewfinder.worlds.kinds import Light
from viewfinder.worlds.scene import Scene, Thing, sample_scene

SCENES = [sample_scene(seed=7, number=number) for number in range(1, 61)]
PICTURED = [PicturedScene(scene, f"images/{scene.number}.jpg", f"caption {scene.number}") for scene in SCENES]
SAMPLES = list(chat_samples(PICTURED))


def _scene(place: str, light: Light, *looks: tuple[str, str]) -> Scene:
    things = (
        Thing(n, kind, colour, "medium", "plain", "right", (20 * n, 200, 15, 15))
        for n, (kind, colour) in enumerate(looks)
    )
    return Scene(1, 1, place, light, tuple(things))


def _said(sample: ChatSample) -> str:
    return " ".join(item.text for turn in sample.turns for item in turn.content if isinstance(item, TextItem))


def test_each_picture_has_a_sample_of_each_subtask() -> None:
    assert Counter(sample.subtask for sample in SAMPLES) == {"tChat": 60, "iChat": 60, "mChat": 60}
    assert len({sample.id for sample in SAMPLES}) == 180
    assert list(chat_samples(PICTURED)) == SAMPLES


def test_every_pipeline_occurs_and_names_its_captions() -> None:
    pipelines = Counter(sample.source["pipeline"] for sample in SAMPLES)
    assert set(pipelines) == {"text", "mdc-i", "mdc-t-single", "mdc-t", "merge"}
    for sample in SAMPLES:
        number = sample.target.removeprefix("images/").removesuffix(".jpg")
        assert sample.source["caption_target"] == f"caption {number}"
        assert ("caption_ref" in sample.source) is (sample.subtask != "tChat")


def test_turns_have_the_form_of_their_pipeline() -> None:
    for sample in SAMPLES:
        roles = [turn.role for turn in sample.turns]
        assert roles == ["user", "assistant"] * (len(roles) // 2) + ["user"]
        pictures = [any(isinstance(item, ImageItem) for item in turn.content) for turn in sample.turns]
        match sample.source["pipeline"]:
            case "text":
                assert len(roles) >= 3 and not any(pictures)
            case "mdc-i" | "mdc-t-single":
                assert pictures == [True]
            case "mdc-t":
                assert pictures == [False, True, False]
            case _:
                assert len(roles) >= 5 and pictures == [False] * (len(roles) - 2) + [True, False]
        assert sample.target not in sample.images()


def test_no_turn_of_a_text_dialogue_says_everything() -> None:
    for sample in SAMPLES:
        if sample.subtask == "tChat":
            first, *others = [turn for turn in sample.turns if turn.role == "user"]
            assert others and not re.search(r"\bi saw|there was|caught my eye|noticed", str(first))


def test_dialogues_are_varied() -> None:
    assert len({_said(sample) for sample in SAMPLES}) > 0.97 * len(SAMPLES)
    openings = Counter(_said(sample).split()[0] for sample in SAMPLES)
    assert len(openings) > 12


def test_likeness_counts_what_is_shared() -> None:
    # Place 2, light 1, dog 2, black dog 1: the length of a is sqrt(4 + 1 + 4 + 1) = sqrt(10).
    a = _scene("beach", "day", ("dog", "black"))
    b = _scene("beach", "day", ("dog", "white"))  # shares all but the colour: 4 + 1 + 4 = 9
    c = _scene("snow", "night", ("cat", "black"))  # shares nothing
    assert scene_likeness(a, b) == pytest.approx(9 / 10)
    assert scene_likeness(a, a) == pytest.approx(1.0)
    assert scene_likeness(a, c) == 0.0


def test_neighbours_are_those_of_a_slow_search(monkeypatch: pytest.MonkeyPatch) -> None:
    few = SCENES[:20]
    found = nearest_scenes(few, most=3, least=0.5)
    for at, own in enumerate(few):
        like = [scene_likeness(own, other) if other is not own else -1.0 for other in few]
        order = sorted(range(20), key=lambda other: -round(like[other], 9))[:3]
        assert [like[other] for other in found[at]] == pytest.approx(
            [like[i] for i in order if like[i] >= 0.5] or [max(like)]
        )
    monkeypatch.setattr("viewfinder.worlds.chatsearch.MAX_BLOCK", 10)
    for at, near in enumerate(nearest_scenes(few, most=3, least=0.5)):
        assert near and all(other // 10 == at // 10 and other != at for other in near)


def test_a_scene_alone_has_no_neighbour() -> None:
    assert nearest_scenes(SCENES[:1], most=3, least=0.5) == [()]
    assert [sample.subtask for sample in chat_samples(PICTURED[:1])] == ["tChat"]


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        (_scene("beach", "day", ("dog", "black")), _scene("snow", "day", ("dog", "black")), r"snow|winter"),
        (_scene("beach", "day", ("dog", "black")), _scene("beach", "night", ("dog", "black")), r"night|dark"),
        (_scene("beach", "day", ("car", "red")), _scene("beach", "day", ("car", "blue")), r"blue"),
        (
            _scene("beach", "day", ("dog", "black"), ("hat", "red")),
            _scene("beach", "day", ("dog", "black")),
            r"(without|no|leave out) (the )?hat|hat is not there",
        ),
        (
            _scene("beach", "day", ("dog", "black")),
            _scene("beach", "day", ("dog", "black"), ("dog", "white"), ("dog", "brown")),
            r"three (dogs|puppies)",
        ),
        (_scene("beach", "day", ("dog", "black")), _scene("beach", "day", ("dog", "black"), ("hat", "red")), r"\bhat"),
    ],
)  # fmt: skip
def test_a_change_says_what_is_different(before: Scene, after: Scene, words: str) -> None:
    for at in range(20):
        said = change_clauses(make_speaker(after, f"test/{at}"), before)
        assert len(said) == 1 and re.search(words, said[0]), said


def test_the_main_differences_come_first_and_three_are_said() -> None:
    before, after = (
        _scene("beach", "day", ("dog", "black"), ("car", "red")),
        _scene("snow", "night", ("dog", "white"), ("hat", "red")),
    )
    said = change_clauses(make_speaker(after, "test"), before)
    assert re.search("snow|winter", said[0]) and "hat" in said[1] and re.search("car|automobile", said[2])
    assert "white" in said[3]
    text = change_instruction(make_speaker(after, "test"), before)
    assert " and " in text and "white" not in text


def test_instructions_of_samples_are_true_of_the_target() -> None:
    for sample in SAMPLES:
        if sample.subtask == "iChat":
            target = SCENES[int(sample.target.removeprefix("images/").removesuffix(".jpg")) - 1]
            reference = SCENES[int(sample.images()[0].removeprefix("images/").removesuffix(".jpg")) - 1]
            assert scene_likeness(target, reference) > 0.2
            for number, noun in re.findall(r"(two|three) (dogs|cars|hats|balls|cups|books|kites)\b", _said(sample)):
                assert target.counts()[noun.removesuffix("s")] == {"two": 2, "three": 3}[number]
