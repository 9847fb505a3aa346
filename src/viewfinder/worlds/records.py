"""A scene as the records of the published formats: COCO, Visual Genome, a catalogue, a dialogue; and its truth.

The dialogue has ten rounds of question and answer between two people, of whom only one sees the picture.
The first sentence tells a part of the scene only; each question asks for something that has not been said. Written in
ChatIR's format and in that of VisDial 1.0 (see `viewfinder.data.dialogues`).
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from viewfinder.data.dialogues import Dialogue, Round, make_dialogue
from viewfinder.data.truth import PictureTruth, ThingTruth
from viewfinder.data.visual_genome.regions import SceneGraph, SceneObject, SceneRelation
from viewfinder.wording.nouns import join_with_and, with_article
from viewfinder.worlds import questions
from viewfinder.worlds.grammar import Speaker, make_speaker
from viewfinder.worlds.kinds import HEIGHT, WIDTH, Box
from viewfinder.worlds.language import CAPTIONS_PER_SCENE, RegionPhrase
from viewfinder.worlds.questions import AnsweredQuestion, AskerKnowledge, QuestionMaker, ask_about_thing, yes_or_no
from viewfinder.worlds.scene import Relation, Scene, Thing, box_area
from viewfinder.worlds.words import FRONTED, LIGHT_WORDS, PLACE_NOUNS, Language, add_lead


def file_name(number: int) -> str:
    """The file name of a picture, 12 digits as in COCO."""
    return f"{number:012d}.jpg"


def object_id(scene: Scene, thing: Thing) -> int:
    """An id that is unique in the world and does not depend on the number of pictures."""
    return scene.number * 100 + thing.number


def relation_id(scene: Scene, relation: Relation) -> int:
    """An id that is unique in the world."""
    return scene.number * 1000 + relation.number


def image_record(scene: Scene) -> dict[str, Any]:
    """A picture as COCO's files list it."""
    return {"id": scene.number, "file_name": file_name(scene.number), "width": WIDTH, "height": HEIGHT}


def caption_records(scene: Scene, captions: Sequence[str]) -> list[dict[str, Any]]:
    """Captions as COCO's captions file has them."""
    return [
        {"image_id": scene.number, "id": scene.number * CAPTIONS_PER_SCENE + i, "caption": caption}
        for i, caption in enumerate(captions)
    ]


def instance_record(scene: Scene, thing: Thing) -> dict[str, Any]:
    """A thing as an annotation of COCO's instances file; `attributes` is our addition."""
    x, y, width, height = thing.box
    attributes = {"colour": thing.colour, "size": thing.size, "pattern": thing.pattern, "faces": thing.faces}
    return {
        "id": object_id(scene, thing),
        "image_id": scene.number,
        "category_id": list(scene.stock.kinds).index(thing.kind) + 1,
        "bbox": [x, y, width, height],
        "area": box_area(thing.box),
        "segmentation": [[x, y, x + width, y, x + width, y + height, x, y + height]],
        "iscrowd": 0,
        "attributes": attributes | ({"product": thing.product} if thing.product else {}),
    }


def region_record(scene: Scene, said: Sequence[RegionPhrase]) -> dict[str, Any]:
    """A picture's region descriptions as Visual Genome has them."""
    return {
        "id": scene.number,
        "regions": [
            {
                "region_id": scene.number * 100 + position,
                "image_id": scene.number,
                "phrase": region.phrase,
                **_make_box_fields(region.box),
                "objects": [
                    {"object_id": object_id(scene, thing), "name": thing.kind, **_make_box_fields(thing.box)}
                    for thing in region.things
                ],
                "relationships": [
                    {
                        "relationship_id": relation_id(scene, relation),
                        "predicate": relation.predicate,
                        "subject_id": object_id(scene, relation.subject),
                        "object_id": object_id(scene, relation.object),
                    }
                    for relation in (region.relation,)
                    if relation is not None
                ],
            }
            for position, region in enumerate(said, start=1)
        ],
    }


def _make_box_fields(box: Box) -> dict[str, int]:
    return dict(zip(("x", "y", "width", "height"), box, strict=True))


def scene_graph(scene: Scene) -> SceneGraph:
    """All things with their looks, and all relations between them."""
    objects: list[SceneObject] = []
    for thing in scene.things:
        x, y, width, height = (float(value) for value in thing.box)
        looks = tuple(word for word in (thing.colour, thing.size, thing.pattern) if word)
        objects.append(SceneObject(thing.kind, object_id(scene, thing), (x, y, x + width, y + height), looks))
    relations: list[SceneRelation] = []
    for one in scene.relations:
        ids = (object_id(scene, one.subject), object_id(scene, one.object))
        relations.append(SceneRelation(relation_id(scene, one), *ids, one.predicate))
    return SceneGraph(scene.number, WIDTH, HEIGHT, tuple(objects), tuple(relations))


def catalogue_row(scene: Scene) -> dict[str, str]:
    """The row of a picture in catalogue.csv."""
    main = scene.main()
    kind, count = scene.counts().most_common(1)[0]
    return {
        "image": file_name(scene.number),
        "background": scene.place,
        "light": scene.light,
        "main_object": main.kind,
        "main_colour": main.colour,
        "main_size": main.size,
        "main_pattern": main.pattern,
        "objects": str(len(scene.things)),
        "repeated_object": kind if count > 1 else "",
    }


def picture_truth(scene: Scene) -> PictureTruth:
    """Everything known of a scene."""
    things = (
        ThingTruth(
            number=thing.number,
            kind=thing.kind,
            nouns=scene.stock.nouns[thing.kind],
            colour=thing.colour,
            size=thing.size,
            pattern=thing.pattern,
            faces=thing.faces if thing.kind in FRONTED else "",
            box=thing.box,
            column=thing.column,
            row=thing.row,
        )
        for thing in scene.things
    )
    relations = ((one.subject.number, one.predicate, one.object.number) for one in scene.relations)
    return PictureTruth(file_name(scene.number), tuple(things), tuple(relations), scene.place, scene.light)


ROUNDS = 10
_MAX_QUESTIONS_TRIED = 60

_MAKERS: Sequence[tuple[QuestionMaker, float]] = (
    (questions.ask_presence, 2.2),
    (questions.ask_more, 1.6),
    (questions.ask_number, 1.6),
    (questions.ask_colour, 3.2),
    (questions.ask_colours, 0.6),
    (partial(ask_about_thing, ask=questions.ask_pattern), 1.4),
    (partial(ask_about_thing, ask=questions.ask_size, hide="size"), 1.2),
    (partial(ask_about_thing, ask=questions.ask_position, hide="column"), 1.6),
    (questions.ask_relation, 1.2),
    (partial(ask_about_thing, ask=questions.ask_neighbour, hide="column"), 1.6),
    (questions.ask_bigger, 0.7),
    (partial(ask_about_thing, ask=questions.ask_facing), 0.5),
    (partial(ask_about_thing, ask=questions.ask_unknowable), 0.25),
    (questions.ask_place, 1.4),
    (questions.ask_indoors, 0.6),
    (questions.ask_light, 0.8),
)
"""Makers of questions, and how often each is tried."""


def scene_dialogue(scene: Scene, image: str, language: Language = "explicit") -> Dialogue:
    """The dialogue about a scene; it depends on nothing else. `image` is what the picture is called."""
    speaker, known = make_speaker(scene, "dialogue"), AskerKnowledge()
    caption = _open_dialogue(speaker, known)
    if any(hour in caption for hour in LIGHT_WORDS[scene.light] if hour):
        known.facts.add("light")
    rounds: list[Round] = []
    leads = random.Random(f"viewfinder/leads/{scene.seed}/{scene.number}")
    for _ in range(ROUNDS):
        asked = next_question(speaker, known)
        known.learn(asked)
        question = asked.question if language == "explicit" else add_lead(asked.question, leads)
        rounds.append(Round(f"{question}?", asked.answer))
    return make_dialogue(image, caption, rounds)


def next_question(speaker: Speaker, known: AskerKnowledge) -> AnsweredQuestion:
    """A question that was not asked before."""
    makers, weights = zip(*_MAKERS, strict=True)
    for _ in range(_MAX_QUESTIONS_TRIED):
        maker: QuestionMaker = speaker.rng.choices(makers, weights=weights)[0]
        asked = maker(speaker, known)
        if asked is not None and known.is_news(asked):
            return asked
    # Dull questions, but more of them than a dialogue has rounds: is it this place, is it that.
    guesses = (
        AnsweredQuestion(
            (f"last/{place}",), f"does it look like {words[0]}", yes_or_no(speaker, place == speaker.scene.place)
        )
        for place, words in PLACE_NOUNS.items()
    )
    return next(asked for asked in guesses if known.is_news(asked))


def _open_dialogue(speaker: Speaker, known: AskerKnowledge) -> str:
    """The first sentence of a dialogue: one or two kinds of things, and sometimes where it is."""
    kinds = list(speaker.scene.counts())
    told = speaker.rng.sample(kinds, min(len(kinds) - 1, speaker.pick((1, 1, 2))) or 1)
    known.kinds |= set(told)
    named = join_with_and([_mention_first(speaker, known, kind) for kind in told])
    form = speaker.rng.choices(("bare", "stands", "where", "place"), weights=(3, 2, 3, 2))[0]
    if form == "bare":
        return speaker.pick((named, f"there is {named}", f"a picture of {named}"))
    if form == "stands" and len(told) == 1:
        return f"{named} {speaker.footing(speaker.scene.of_kind(told[0])[0])}"
    known.facts.add("place")
    if form == "place":
        return f"{speaker.pick(PLACE_NOUNS[speaker.scene.place])} with {named}"
    return f"{named} {speaker.setting()}"


def _mention_first(speaker: Speaker, known: AskerKnowledge, kind: str) -> str:
    """A first mention of the things of a kind: counted, or with the colour of the only one."""
    group = speaker.scene.of_kind(kind)
    if len(group) > 1:
        known.facts.add(f"number/{kind}")
        return speaker.count(kind, len(group))
    coloured = speaker.chance(0.4)
    if coloured:
        known.facts.add(f"colour/{group[0].number}")
    return with_article(speaker.describe(group[0], size=0.0, colour=float(coloured), pattern=0.0))


def visdial_record(split: str, dialogues: Iterable[tuple[int, Dialogue]]) -> Mapping[str, Any]:
    """Dialogues as VisDial 1.0 has them: lists of all questions and answers, and indices into them.

    Args:
        split: train, val or test.
        dialogues: the number of a picture, and its dialogue.
    """
    asked: dict[str, int] = {}
    answers: dict[str, int] = {}
    records = []
    for number, dialogue in dialogues:
        rounds = [
            {
                "question": asked.setdefault(turn.question.removesuffix("?"), len(asked)),
                "answer": answers.setdefault(turn.answer, len(answers)),
            }
            for turn in dialogue.rounds
        ]
        records.append({"image_id": number, "caption": dialogue.caption, "dialog": rounds})
    data = {"dialogs": records, "questions": list(asked), "answers": list(answers)}
    return {"version": "1.0", "split": split, "data": data}
