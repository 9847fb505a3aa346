"""A scene as the records of the published formats: COCO, Visual Genome, a catalogue; and its truth."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from viewfinder.data.truth import PictureTruth, ThingTruth
from viewfinder.data.visual_genome.regions import SceneGraph, SceneObject, SceneRelation
from viewfinder.worlds.kinds import HEIGHT, WIDTH, Box
from viewfinder.worlds.language import CAPTIONS, RegionPhrase
from viewfinder.worlds.scene import Relation, Scene, Thing, box_area
from viewfinder.worlds.words import FRONTED


def file_name(number: int) -> str:
    """As COCO names files: 12 digits."""
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
        {"image_id": scene.number, "id": scene.number * CAPTIONS + i, "caption": caption}
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
                **_box_fields(region.box),
                "objects": [
                    {"object_id": object_id(scene, thing), "name": thing.kind, **_box_fields(thing.box)}
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


def _box_fields(box: Box) -> dict[str, int]:
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
    """What the catalogue notes of a picture."""
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
