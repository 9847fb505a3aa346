import re
from collections import Counter, defaultdict

import pytest

from viewfinder.data.dialogues import Dialogue, Round
from viewfinder.wording.numbers import NUMBERS
from viewfinder.wording.replies import CANT_TELL
from viewfinder.worlds.grammar import list_absent_kinds, make_speaker
from viewfinder.worlds.kinds import Box
from viewfinder.worlds.questions import (
    AnsweredQuestion,
    AskerKnowledge,
    ask_bigger,
    ask_colour,
    ask_colours,
    ask_light,
    ask_number,
    ask_presence,
    ask_relation,
)
from viewfinder.worlds.records import next_question, scene_dialogue, visdial_record
from viewfinder.worlds.scene import Scene, Thing, sample_scene
from viewfinder.worlds.words import NOUNS

SCENES = [sample_scene(seed=7, number=number) for number in range(1, 61)]
DIALOGUES = [scene_dialogue(scene, f"images/{scene.number}.jpg") for scene in SCENES]
KIND_OF = {noun: kind for kind, words in NOUNS.items() for pair in words for noun in pair}
NOUN = "|".join(sorted(map(re.escape, KIND_OF), key=len, reverse=True))


def _thing(number: int, kind: str, colour: str, box: Box) -> Thing:
    return Thing(number, kind, colour, "medium", "plain", "right", box)


DOG = _thing(1, "dog", "black", (20, 220, 60, 50))
OTHER_DOG = _thing(2, "dog", "white", (120, 222, 60, 50))
BALL = _thing(3, "ball", "red", (300, 250, 30, 30))
SCENE = Scene(1, 1, "meadow", "day", (DOG, OTHER_DOG, BALL))


def _answers(maker: object, *kinds: str, scene: Scene = SCENE, tries: int = 60) -> dict[str, str]:
    """Question -> answer, over many chances."""
    assert callable(maker)
    found: dict[str, str] = {}
    for at in range(tries):
        asked = maker(make_speaker(scene, f"test/{at}"), AskerKnowledge(kinds=set(kinds)))
        if isinstance(asked, AnsweredQuestion):
            found[asked.question] = asked.answer
    return found


def test_a_dialogue_depends_on_its_scene_alone() -> None:
    assert scene_dialogue(sample_scene(seed=7, number=4), "images/4.jpg") == DIALOGUES[3]


def test_ten_rounds_follow_a_caption_and_no_question_comes_twice() -> None:
    for dialogue in DIALOGUES:
        assert len(dialogue.strings) == 11 and dialogue.strings[0] == dialogue.caption
        assert len({turn.question for turn in dialogue.rounds}) == 10
        assert all(turn.question.endswith("?") and turn.answer for turn in dialogue.rounds)


def test_the_caption_mentions_a_part_of_the_scene_only() -> None:
    for scene, dialogue in zip(SCENES, DIALOGUES, strict=True):
        named = {KIND_OF[noun] for noun in re.findall(rf"\b({NOUN})\b", dialogue.caption)} & set(scene.counts())
        assert 1 <= len(named) <= max(1, len(scene.counts()) - 1)


def test_what_is_said_to_be_there_is_there_and_what_is_denied_is_not() -> None:
    checked: Counter[bool] = Counter()
    for scene, dialogue in zip(SCENES, DIALOGUES, strict=True):
        for turn in dialogue.rounds:
            if found := re.match(
                rf"(?:is there|are there any|can you see|do you see any) (?:an? )?({NOUN})\b", turn.question
            ):
                kind, there = KIND_OF[found[1]], turn.answer.startswith("yes")
                assert (kind in scene.counts()) is there, turn
                assert there or kind in list_absent_kinds(scene)
                checked[there] += 1
    assert min(checked.values()) > 20


def test_numbers_are_true() -> None:
    value = {word: number for number, word in NUMBERS.items()}
    checked = 0
    for scene, dialogue in zip(SCENES, DIALOGUES, strict=True):
        for turn in dialogue.rounds:
            if found := re.match(rf"how many ({NOUN})\b", turn.question):
                told = [value.get(word) or int(word) for word in re.findall(rf"\d|{'|'.join(value)}", turn.answer)]
                assert told == [scene.counts()[KIND_OF[found[1]]]], turn
                checked += 1
    assert checked > 20


def test_all_kinds_of_questions_are_asked_and_some_cannot_be_answered() -> None:
    questions = [turn.question for dialogue in DIALOGUES for turn in dialogue.rounds]
    for sign in ("how many", "colour", "pattern", "big", "where", "left", "is this", "dark|day", "any", "it", "else"):
        assert any(re.search(sign, question) for question in questions), sign
    answers = Counter(turn.answer for dialogue in DIALOGUES for turn in dialogue.rounds)
    assert 0.01 < sum(answers[words] for words in CANT_TELL) / answers.total() < 0.1
    assert len(set(questions)) > 0.5 * len(questions)


def test_some_questions_have_the_same_words_in_another_order_and_another_answer() -> None:
    # "Is the dog left of the ball" and "is the ball left of the dog": a bag of words cannot tell them apart.
    answers = _answers(ask_relation, "dog", "ball", tries=300)
    by_bag: defaultdict[tuple[str, ...], dict[str, str]] = defaultdict(dict)
    for question, answer in answers.items():
        by_bag[tuple(sorted(question.split()))][question] = answer.split(",")[0]
    differing = [same for same in by_bag.values() if len(set(same.values())) == 2]
    assert differing
    assert answers["is the black dog left of the ball"] == "yes"
    assert answers["is the ball left of the black dog"].startswith("no")


def test_a_scene_is_counted_and_coloured_as_it_is() -> None:
    assert _answers(ask_number, "dog")["how many dogs are there"] in {"two", "2", "there are two", "i see two"}
    assert _answers(ask_colours, "dog")["are the dogs of the same colour"] == "no, one is black and one is white"
    assert _answers(ask_colour, "ball")["is the ball red"].startswith("yes")
    assert set(_answers(ask_bigger, "dog", "ball").values()) <= {
        "yes", "yes, by far", "no", "no, smaller", "the black dog", "the white dog", "the dog on the left",
        "the black puppy", "the white puppy", "the puppy on the left",
        "the dog in the middle", "the puppy in the middle",
    }  # fmt: skip


def test_nobody_can_tell_the_time_of_day_in_a_room() -> None:
    indoors = Scene(1, 1, "room", "indoors", (DOG, BALL, OTHER_DOG))
    answers = _answers(ask_light, scene=indoors)
    assert answers["what time of day is it"] in CANT_TELL and answers["is it dark"].startswith("no")


def test_a_name_tells_a_thing_from_its_like_and_hides_what_is_asked() -> None:
    names = {make_speaker(SCENE, f"name/{at}").pinpoint(DOG, hide="column") for at in range(20)}
    assert names == {"the black dog", "the black puppy"}
    assert {make_speaker(SCENE, f"name/{at}").pinpoint(BALL) for at in range(5)} == {"the ball"}
    twin = Scene(1, 1, "meadow", "day", (DOG, _thing(2, "dog", "black", (30, 280, 60, 50)), BALL))
    assert make_speaker(twin, "name").pinpoint(DOG) == ""


def test_what_was_told_is_not_asked_again() -> None:
    known = AskerKnowledge(kinds={"dog", "ball"})
    for at in range(25):
        asked = next_question(make_speaker(SCENE, f"long/{at}"), known)
        assert known.is_news(asked)
        known.learn(asked)
        assert not known.is_news(asked)


def test_presence_brings_a_kind_to_light() -> None:
    speaker, known = make_speaker(SCENE, "presence"), AskerKnowledge()
    while "ball" not in known.kinds:
        asked = ask_presence(speaker, known)
        assert asked is not None
        known.learn(asked)
    assert known.focus in (BALL, None)


def test_visdial_points_into_lists_in_which_everything_is_once() -> None:
    dialogues = [
        (3, Dialogue("a", "a dog", (Round("is it big?", "no"), Round("what colour is it?", "brown")), ())),
        (9, Dialogue("b", "a cat", (Round("what colour is it?", "black"), Round("is it big?", "no")), ())),
    ]
    record = visdial_record("test", dialogues)
    assert record["data"]["questions"] == ["is it big", "what colour is it"]
    assert record["data"]["answers"] == ["no", "brown", "black"]
    assert [one["image_id"] for one in record["data"]["dialogs"]] == [3, 9]
    assert record["data"]["dialogs"][1]["dialog"] == [{"question": 1, "answer": 2}, {"question": 0, "answer": 0}]


@pytest.mark.parametrize("number", [1, 2])
def test_the_dialogue_ends_with_the_tenth_round_even_of_a_sparse_scene(number: int) -> None:
    few = Scene(1, number, "desert", "night", (BALL,))
    assert len(scene_dialogue(few, "x").rounds) == 10
