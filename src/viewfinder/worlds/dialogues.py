"""Questions one can ask about a scene, with true answers: one function a kind of question.

Whoever asks has not seen the picture. They know which kinds were mentioned, and what they have asked already;
`Known` holds both. A question is left out (None) where it would give away its answer, or has been asked.

Ten rounds of question and answer about a scene, as two people would talk of whom one cannot see it.

The first sentence tells a part of the scene only; each question asks for something that has not been said.
Written in ChatIR's format and in that of VisDial 1.0 (see `viewfinder.data.dialogues`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from viewfinder.data.dialogues import Dialogue, Round, make_dialogue
from viewfinder.worlds import questions as of_scene
from viewfinder.worlds import questions as of_thing
from viewfinder.worlds.grammar import Speaker, counted, described, speaker_for, stands, where
from viewfinder.worlds.questions import AnsweredQuestion, AskerKnowledge, QuestionMaker, yes_or_no
from viewfinder.worlds.scene import Scene
from viewfinder.worlds.words import LIGHT_WORDS, PLACE_NOUNS, join_with_and, with_article


def next_question(talk: Speaker, known: AskerKnowledge) -> AnsweredQuestion:
    """A question that was not asked before."""
    makers, weights = zip(*_MAKERS, strict=True)
    for _ in range(_QUESTION_TRIES):
        maker: QuestionMaker = talk.rng.choices(makers, weights=weights)[0]
        asked = maker(talk, known)
        if asked is not None and known.is_news(asked):
            return asked
    return next(asked for asked in _last_resort(talk) if known.is_news(asked))


_QUESTION_TRIES = 60


def _last_resort(talk: Speaker) -> list[AnsweredQuestion]:
    """Dull questions, but more of them than a talk has rounds: is it this place, is it that."""
    return [
        AnsweredQuestion(
            (f"last/{place}",), f"does it look like {words[0]}", yes_or_no(talk, place == talk.scene.place)
        )
        for place, words in PLACE_NOUNS.items()
    ]


_MAKERS: Sequence[tuple[QuestionMaker, float]] = (
    (of_scene.ask_presence, 2.2),
    (of_scene.ask_more, 1.6),
    (of_scene.ask_number, 1.6),
    (of_thing.ask_colour, 3.2),
    (of_thing.ask_colours, 0.6),
    (of_thing.ask_pattern, 1.4),
    (of_thing.ask_size, 1.2),
    (of_thing.ask_position, 1.6),
    (of_thing.ask_relation, 1.2),
    (of_thing.ask_neighbour, 1.6),
    (of_thing.ask_bigger, 0.7),
    (of_thing.ask_facing, 0.5),
    (of_thing.ask_unknowable, 0.25),
    (of_scene.ask_place, 1.4),
    (of_scene.ask_indoors, 0.6),
    (of_scene.ask_light, 0.8),
)


ROUNDS = 10


def scene_dialogue(scene: Scene, image: str) -> Dialogue:
    """The dialogue about a scene; it depends on the scene alone. `image` is what the picture is called."""
    talk, known = speaker_for(scene, "dialogue"), AskerKnowledge()
    caption = _opening(talk, known)
    if any(hour in caption for hour in LIGHT_WORDS[scene.light] if hour):
        known.facts.add("light")
    rounds: list[Round] = []
    for _ in range(ROUNDS):
        asked = next_question(talk, known)
        known.learn(asked)
        rounds.append(Round(f"{asked.question}?", asked.answer))
    return make_dialogue(image, caption, rounds)


def _opening(talk: Speaker, known: AskerKnowledge) -> str:
    """What is said first: one or two kinds of things, and sometimes where it is."""
    kinds = list(talk.scene.counts())
    told = talk.rng.sample(kinds, min(len(kinds) - 1, talk.rng.choice((1, 1, 2))) or 1)
    known.kinds |= set(told)
    named = join_with_and([_mentioned(talk, known, kind) for kind in told])
    form = talk.rng.choices(("bare", "stands", "where", "place"), weights=(3, 2, 3, 2))[0]
    if form == "bare":
        return talk.one((named, f"there is {named}", f"a picture of {named}"))
    if form == "stands" and len(told) == 1:
        thing = next(thing for thing in talk.scene.things if thing.kind == told[0])
        return f"{named} {stands(talk, thing)}"
    known.facts.add("place")
    return f"{talk.one(PLACE_NOUNS[talk.scene.place])} with {named}" if form == "place" else f"{named} {where(talk)}"


def _mentioned(talk: Speaker, known: AskerKnowledge, kind: str) -> str:
    """Things of a kind as one would mention them first: counted, or with the colour of the only one."""
    group = [thing for thing in talk.scene.things if thing.kind == kind]
    if len(group) > 1:
        known.facts.add(f"number/{kind}")
        return counted(talk, kind, len(group))
    coloured = talk.chance(0.4)
    if coloured:
        known.facts.add(f"colour/{group[0].number}")
    return with_article(described(talk, group[0], size=0.0, colour=float(coloured), pattern=0.0))


def visdial_record(split: str, dialogues: Iterable[tuple[int, Dialogue]]) -> Mapping[str, Any]:
    """Dialogues as VisDial 1.0 has them: lists of all questions and answers, and indices into them.

    Args:
        split: train, val or test.
        dialogues: the number of a picture, and its dialogue.
    """
    questions: dict[str, int] = {}
    answers: dict[str, int] = {}

    def indices(turn: Round) -> dict[str, int]:
        return {
            "question": questions.setdefault(turn.question.removesuffix("?"), len(questions)),
            "answer": answers.setdefault(turn.answer, len(answers)),
        }

    talks = [
        {"image_id": number, "caption": talk.caption, "dialog": [indices(turn) for turn in talk.rounds]}
        for number, talk in dialogues
    ]
    return {
        "version": "1.0",
        "split": split,
        "data": {"dialogs": talks, "questions": list(questions), "answers": list(answers)},
    }
