"""Questions one can ask about a scene, with true answers: one function a kind of question.

Whoever asks has not seen the picture. They know which kinds were mentioned, and what they have asked already;
`Known` holds both. A question is left out (None) where it would give away its answer, or has been asked.
"""

from __future__ import annotations

from collections.abc import Sequence

from viewfinder.worlds import scene_questions as of_scene
from viewfinder.worlds import thing_questions as of_thing
from viewfinder.worlds.asking import AnsweredQuestion, AskerKnowledge, QuestionMaker, yes_or_no
from viewfinder.worlds.phrases import Speaker
from viewfinder.worlds.words import PLACE_NOUNS


def next_question(talk: Speaker, known: AskerKnowledge) -> AnsweredQuestion:
    """A question that was not asked before."""
    makers, weights = zip(*_MAKERS, strict=True)
    for _ in range(_TRIES):
        maker: QuestionMaker = talk.rng.choices(makers, weights=weights)[0]
        asked = maker(talk, known)
        if asked is not None and known.is_news(asked):
            return asked
    return next(asked for asked in _last_resort(talk) if known.is_news(asked))


_TRIES = 60


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
