import json
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from viewfinder.data.dialogues import (
    Dialogue,
    Round,
    make_dialogue,
    read_dialogues,
    read_pool,
    read_visdial,
    split_round,
    write_dialogues,
    write_pool,
)
from viewfinder.data.files import Dropped
from viewfinder.errors import BadInput, UnknownName

SHARED = Path(__file__).resolve().parents[2].parent / "shared" / "data"
needs_data = [pytest.mark.data, pytest.mark.skipif(not SHARED.is_dir(), reason="../shared/data is not here")]
CHATIR = SHARED / "chatir"
REWRITTEN = (
    "ours_final_q_n_5_recall_hitting_10_thres_low_500_recon_true_referring_true_filtering_true_select_true_reconed"
)
NAMES = (
    "ChatGPT_BLIP2",
    "FLAN_ALPACA_XXL_BLIP2",
    "Human_BLIP2",
    "Unanswered_ChatGPT_BLIP2",
    "VisDial_v1.0_queries_val",
)


@pytest.fixture(scope="module")
def pool() -> frozenset[str]:
    return frozenset(read_pool(CHATIR / "ChatIR_Protocol" / "Search_Space_val_50k.json")[0])


@pytest.fixture(scope="module")
def read(pool: frozenset[str]) -> Callable[[str], list[Dialogue]]:
    return cache(lambda name: read_dialogues(CHATIR / "dialogues" / f"{name}.json", pool)[0])


def _repeats(dialogues: list[list[str]]) -> float:
    """Rounds of a dialogue that say what an earlier round of it said; the mean over dialogues."""
    return sum(len(said) - len(set(said)) for said in dialogues) / len(dialogues)


def _solid(text: str) -> str:
    """The text without its blanks."""
    return "".join(text.split())


class TestRealData:
    pytestmark = needs_data

    def test_the_pool_has_50000_pictures_each_of_them_once(self) -> None:
        pictures, report = read_pool(CHATIR / "ChatIR_Protocol" / "Search_Space_val_50k.json")
        assert (report.expected, report.found, report.dropped) == (50_000, 50_000, ())
        assert pictures[:2] == ("unlabeled2017/000000000008.jpg", "unlabeled2017/000000000024.jpg")

    @pytest.mark.parametrize("name", NAMES)
    def test_a_file_has_2064_dialogues_of_eleven_strings_with_targets_in_the_pool(
        self, name: str, pool: frozenset[str]
    ) -> None:
        dialogues, report = read_dialogues(CHATIR / "dialogues" / f"{name}.json", pool)
        assert (report.expected, report.found, report.dropped) == (2064, 2064, ())
        assert {(len(dialogue.strings), len(dialogue.rounds)) for dialogue in dialogues} == {(11, 10)}
        assert len({dialogue.image for dialogue in dialogues} & pool) == 2064
        assert dialogues[0].caption == "a bedroom is filled with lots of posters and a busy computer desk"

    @pytest.mark.parametrize(
        ("name", "repeats", "with_answers"),
        [
            ("Human_BLIP2", 0.008, 0.006),
            ("ChatGPT_BLIP2", 0.0, 0.0),
            ("Unanswered_ChatGPT_BLIP2", 0.0005, 0.0005),
            ("FLAN_ALPACA_XXL_BLIP2", 6.74, 4.53),
        ],
    )
    def test_repeated_questions_per_dialogue(
        self, read: Callable[[str], list[Dialogue]], name: str, repeats: float, with_answers: float
    ) -> None:
        said = [dialogue.strings[1:] for dialogue in read(name)]
        assert _repeats([[text.split("?")[0] for text in strings] for strings in said]) == pytest.approx(
            repeats, rel=0.04
        )
        assert _repeats([list(strings) for strings in said]) == pytest.approx(with_answers, rel=0.05)

    @pytest.mark.parametrize(
        ("name", "without"),
        [("ChatGPT_BLIP2", 0), ("FLAN_ALPACA_XXL_BLIP2", 55), ("Human_BLIP2", 0), ("Unanswered_ChatGPT_BLIP2", 382)],
    )
    def test_turns_without_a_question_mark(
        self, read: Callable[[str], list[Dialogue]], name: str, without: int
    ) -> None:
        assert sum("?" not in text for dialogue in read(name) for text in dialogue.strings[1:]) == without

    def test_words_per_dialogue(self, read: Callable[[str], list[Dialogue]]) -> None:
        words = {
            name: sum(len(text.split()) for dialogue in read(name) for text in dialogue.strings) / 2064
            for name in NAMES
        }
        assert [round(words[name]) for name in NAMES] == [124, 134, 76, 117, 94]

    @pytest.mark.parametrize("name", NAMES)
    def test_splitting_loses_nothing_but_blanks(self, read: Callable[[str], list[Dialogue]], name: str) -> None:
        for dialogue in read(name):
            assert [_solid(str(part)) for part in dialogue.rounds] == [_solid(text) for text in dialogue.strings[1:]]

    def test_few_answers_cannot_be_told_from_their_questions(self, read: Callable[[str], list[Dialogue]]) -> None:
        unanswered = {
            name: sum(not part.answer for dialogue in read(name) for part in dialogue.rounds) for name in NAMES
        }
        assert unanswered == dict(zip(NAMES, (1, 13, 0, 187, 0), strict=True))

    def test_the_questions_of_human_blip2_are_rotated_by_one_in_all_dialogues(
        self, read: Callable[[str], list[Dialogue]]
    ) -> None:
        def questions(dialogues: list[Dialogue]) -> list[tuple[str, list[str]]]:
            return [(dialogue.image, [part.question for part in dialogue.rounds]) for dialogue in dialogues]

        def rotated_back(dialogue: Dialogue) -> Dialogue:
            return replace(dialogue, rounds=dialogue.rounds[1:] + dialogue.rounds[:1])

        rotated, straight = read("Human_BLIP2"), questions(read("VisDial_v1.0_queries_val"))
        assert all(there != here for there, here in zip(questions(rotated), straight, strict=True))
        assert questions([rotated_back(dialogue) for dialogue in rotated]) == straight

    @pytest.mark.parametrize("name", NAMES)
    def test_writing_gives_the_released_bytes(
        self, read: Callable[[str], list[Dialogue]], name: str, tmp_path: Path
    ) -> None:
        write_dialogues(tmp_path / "again.json", read(name))
        assert (tmp_path / "again.json").read_bytes() == (CHATIR / "dialogues" / f"{name}.json").read_bytes()

    def test_the_dialogues_of_plugir_are_whole_queries(self, pool: frozenset[str]) -> None:
        dialogues, report = read_dialogues(SHARED / "plugir" / "dialogues" / f"{REWRITTEN}.json", pool)
        assert (report.expected, report.found) == (2064, 2064)
        assert all(
            dialogue.rewritten and dialogue.rounds == () and len(dialogue.strings) == 11 for dialogue in dialogues
        )
        assert sum("?" in text for dialogue in dialogues for text in dialogue.strings[1:]) == 0

    def test_plugir_and_chatir_release_the_same_visdial_queries(self, read: Callable[[str], list[Dialogue]]) -> None:
        file = SHARED / "plugir" / "dialogues" / "VisDial_v1.0_queries_val.json"
        assert read_dialogues(file)[0] == read("VisDial_v1.0_queries_val")

    def test_splitting_gives_the_same_rounds_as_writing_and_reading_them(
        self, read: Callable[[str], list[Dialogue]]
    ) -> None:
        for dialogue in read("VisDial_v1.0_queries_val"):
            again = make_dialogue(dialogue.image, dialogue.caption, dialogue.rounds)
            assert tuple(split_round(text) for text in again.strings[1:]) == dialogue.rounds


@pytest.mark.parametrize(
    ("text", "question", "answer"),
    [
        ("is it big? no", "is it big?", "no"),
        ("Is it day? Is it sunny? yes, it is", "Is it day? Is it sunny?", "yes, it is"),
        ("Is it calm?\nAnswer: choppy a man", "Is it calm?", "Answer: choppy a man"),
        ("What is it? Answer: a cat What is it? a cat", "What is it?", "Answer: a cat What is it? a cat"),
        ("What is the name of the zoo Answer:a zoo", "What is the name of the zoo", "Answer:a zoo"),
        ("What is its orientation  horizontal", "What is its orientation", "horizontal"),
        ("Is the desk well no", "Is the desk well", "no"),
        ("Is the room well well lit", "Is the room well well lit", ""),
        ("what is it? (near or far?) far", "what is it? (near or far?)", "far"),
        ("what is it?", "what is it?", ""),
        (" no ", "", "no"),
        ("", "", ""),
    ],
)
def test_a_round_is_split_by_the_first_rule_that_applies(text: str, question: str, answer: str) -> None:
    assert split_round(text) == Round(question, answer)


@given(st.lists(st.sampled_from(["is", "it", "big", "?", "?\n", "Answer:", " ", "  ", "yes", "no", "big?", "é"])))
def test_splitting_never_loses_anything_but_blanks(words: list[str]) -> None:
    assert _solid(str(split_round("".join(words)))) == _solid("".join(words))
    assert str(split_round(" ".join(words))).split() == " ".join(words).split()


def test_a_written_dialogue_is_read_back(tmp_path: Path) -> None:
    dialogue = make_dialogue("images/1.jpg", "a déjà vu", [Round("is it big?", "no"), Round("what colour?", "")])
    assert dialogue.strings == ("a déjà vu", "is it big? no", "what colour?")
    write_dialogues(tmp_path / "dialogues.json", [dialogue])
    write_pool(tmp_path / "pool.json", ["images/2.jpg", "images/1.jpg"])
    assert read_dialogues(tmp_path / "dialogues.json", read_pool(tmp_path / "pool.json")[0])[0] == [dialogue]


def test_a_file_called_reconed_holds_whole_queries(tmp_path: Path) -> None:
    file = tmp_path / "x_reconed.json"
    file.write_text('[{"img": "1.jpg", "dialog": ["a dog", "a brown dog"]}]')
    assert [dialogue.rewritten for dialogue in read_dialogues(file)[0]] == [True]


def _dialogue_file(folder: Path, *records: Any) -> Path:
    file = folder / "dialogues.json"
    file.write_text(json.dumps(records))
    return file


def test_a_target_outside_the_pool_is_named(tmp_path: Path) -> None:
    file = _dialogue_file(tmp_path, {"img": "1.jpg", "dialog": ["a"]}, {"img": "2.jpg", "dialog": ["b"]})
    with pytest.raises(
        BadInput, match=r"dialogues\.json: \[1\], field 'img': 2\.jpg is not among the 1 pictures of the"
    ):
        read_dialogues(file, ["1.jpg"])


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ("a dog", r"\[1\]: field 'img' is needed \(str\); this is \"a dog\""),
        ({"dialog": ["a"]}, r"\[1\]: field 'img' is needed"),
        ({"img": 3, "dialog": ["a"]}, r"\[1\]: field 'img' is needed \(str\); it has 3"),
        ({"img": "1.jpg", "dialog": "a"}, r"\[1\]: field 'dialog' is needed \(list\)"),
        ({"img": "1.jpg", "dialog": ["a", None]}, r"\[1\], field 'dialog': a list of texts is needed"),
        ({"img": "1.jpg", "dialog": []}, r"\[1\], field 'dialog': a caption is needed"),
    ],
)
def test_a_dialogue_of_the_wrong_form_is_named(tmp_path: Path, record: Any, message: str) -> None:
    file = _dialogue_file(tmp_path, {"img": "1.jpg", "dialog": ["a"]}, record)
    with pytest.raises(BadInput, match=rf"dialogues\.json: {message}"):
        read_dialogues(file)


def test_a_truncated_dialogue_file_is_named(tmp_path: Path) -> None:
    file = _dialogue_file(tmp_path, {"img": "1.jpg", "dialog": ["a"]})
    file.write_text(file.read_text()[:-4])
    with pytest.raises(BadInput, match=r"dialogues\.json, line 1, column \d+: damaged JSON"):
        read_dialogues(file)


def test_pictures_that_a_pool_lists_again_are_named(tmp_path: Path) -> None:
    write_pool(tmp_path / "pool.json", ["1.jpg", "2.jpg", "1.jpg"])
    pictures, report = read_pool(tmp_path / "pool.json")
    assert (pictures, report.expected, report.found) == (("1.jpg", "2.jpg"), 3, 2)
    assert report.dropped == (Dropped("pool.json: [2]", "1.jpg is there already, at [0]"),)


def _visdial(folder: Path, split: str, turns: Any) -> Path:
    file = folder / split / f"visdial_1.0_{split}.json"
    file.parent.mkdir(parents=True)
    dialogs = [{"image_id": 42, "caption": "a dog", "dialog": turns}]
    lists = {"questions": ["is it big", "what colour"], "answers": ["no", "brown "]}
    file.write_text(json.dumps({"version": "1.0", "data": {"dialogs": dialogs, **lists}}))
    return folder


def test_visdial_looks_questions_and_answers_up_in_their_lists(tmp_path: Path) -> None:
    turns = [{"question": 1, "answer": 1, "gt_index": 3}, {"question": 0, "answer": 0}]
    dialogues, report = read_visdial(_visdial(tmp_path, "val", turns), "val")
    assert [dialogue.strings for dialogue in dialogues] == [("a dog", "what colour? brown", "is it big? no")]
    assert dialogues[0].image == "val/images/VisualDialog_val2018_000000000042.jpg"
    assert (report.expected, report.found) == (1, 1)


def test_the_newest_question_of_visdials_test_split_has_no_answer(tmp_path: Path) -> None:
    dialogues, _ = read_visdial(_visdial(tmp_path, "test", [{"question": 0}]), "test")
    assert dialogues[0].rounds == (Round("is it big?", ""),)


@pytest.mark.parametrize("name", ["COCO_train2014", "COCO_val2014"])
def test_visdials_training_pictures_come_under_two_names(tmp_path: Path, name: str) -> None:
    image = f"train/images/{name}_000000000042.jpg"
    folder = _visdial(tmp_path, "train", [])
    (folder / "train" / "images").mkdir()
    (folder / image).touch()
    assert [dialogue.image for dialogue in read_visdial(folder, "train")[0]] == [image]


def test_an_index_beyond_visdials_lists_is_named(tmp_path: Path) -> None:
    folder = _visdial(tmp_path, "val", [{"question": 0, "answer": 0}, {"question": 0, "answer": 2}])
    where = r"visdial_1\.0_val\.json: data\.dialogs\[0\]\.dialog\[1\], field 'answer': 2, but the file lists 2 answers"
    with pytest.raises(BadInput, match=where):
        read_visdial(folder, "val")


def test_an_unknown_split_of_visdial_is_answered_with_those_that_are_there(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match=r"no such kind or split; there are: visdial_1\.0_val\.json"):
        read_visdial(_visdial(tmp_path, "val", []), "dev")
