"""A world as files, in the formats in which real data comes.

images/000000000001.jpg              the pictures
annotations/captions_world.json      COCO captions, five a picture
annotations/instances_world.json     COCO boxes and categories, with the looks of each thing
rg_jsons/1.json                      Visual Genome region descriptions, one file a picture
catalogue.csv                        what a shop or an archive would note of each picture
world.json                           how the world was made; written first
"""

from __future__ import annotations

import csv
import errno
import io
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from viewfinder.data.world.draw import draw_scene
from viewfinder.data.world.kinds import HEIGHT, KINDS, WIDTH, Box
from viewfinder.data.world.language import CAPTIONS, Region, captions, regions
from viewfinder.data.world.scene import Scene, Thing, area, sample_scene
from viewfinder.errors import BadInput, DiskFull, UnknownName

QUALITY = 88
MOST_PICTURES = 1_000_000
_SCHEMA = "viewfinder/world"
_VERSION = 1

Progress = Callable[[int], None]
"""Called with the number of pictures written so far."""


@dataclass(frozen=True)
class WorldReport:
    """What was written where: numbers of pictures, captions, region phrases and things."""

    out: Path
    kind: str
    seed: int
    pictures: int
    captions: int
    regions: int
    things: int


def world(out: Path, *, kind: str, count: int, seed: int, progress: Progress = lambda written: None) -> WorldReport:
    """Write a world of the given kind (a key of `KINDS_OF_WORLD`).

    Raises:
        UnknownName: there is no such kind.
        BadInput, DiskFull: as `write_scenes`.
    """
    if kind not in KINDS_OF_WORLD:
        raise UnknownName(f"no kind of world is called {kind!r}; there are: {', '.join(KINDS_OF_WORLD)}")
    return KINDS_OF_WORLD[kind](out, count=count, seed=seed, progress=progress)


def write_scenes(out: Path, *, count: int, seed: int, progress: Progress = lambda written: None) -> WorldReport:
    """Draw `count` scenes and write them with their annotations.

    Picture k depends on the seed and k alone. The same call again (after an interruption, say) writes the
    same bytes; a folder that holds anything else is left alone.

    Raises:
        BadInput: `count` is not 1 to a million, `out` is a file, not empty, or not writable.
        DiskFull: the disk is full.
    """
    if not 1 <= count <= MOST_PICTURES:
        raise BadInput(f"--count {count}: ask for 1 to {MOST_PICTURES} pictures")
    try:
        _claim(out, {"schema": _SCHEMA, "version": _VERSION, "kind": "scenes", "count": count, "seed": seed})
        return _write_all(out, count, seed, progress)
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise DiskFull(f"{out}: the disk is full; make room and repeat the command") from error
        raise BadInput(
            f"{error.filename or out}: cannot be written ({error.strerror}); choose another folder"
        ) from error


def _claim(out: Path, made: dict[str, Any]) -> None:
    """Make the folder ours, if it is empty or was begun by the same call."""
    if out.exists() and not out.is_dir():
        raise BadInput(f"{out}: this is a file; name a folder for the world")
    marker = out / "world.json"
    if out.is_dir() and any(out.iterdir()) and _made(marker) != made:
        raise BadInput(f"{out}: this folder is not empty; name an empty or a new one")
    for folder in ("images", "annotations", "rg_jsons"):
        (out / folder).mkdir(parents=True, exist_ok=True)
    _write_json(marker, made)


def _made(marker: Path) -> Any:
    try:
        return json.loads(marker.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return None


def _write_all(out: Path, count: int, seed: int, progress: Progress) -> WorldReport:
    books = _Books([], [], [], [])
    phrases = 0
    for number in range(1, count + 1):
        scene = sample_scene(seed=seed, number=number)
        draw_scene(scene).save(out / "images" / file_name(scene), quality=QUALITY)
        said = regions(scene)
        _write_json(out / "rg_jsons" / f"{number}.json", region_record(scene, said))
        books.note(scene)
        phrases += len(said)
        progress(number)
    _write_json(out / "annotations" / "captions_world.json", books.caption_file(seed))
    _write_json(out / "annotations" / "instances_world.json", books.instance_file(seed))
    (out / "catalogue.csv").write_bytes(_csv(books.catalogue).encode())
    return WorldReport(out, "scenes", seed, count, len(books.captions), phrases, len(books.instances))


@dataclass(frozen=True)
class _Books:
    """Records of all scenes so far, in the form in which they are written."""

    images: list[dict[str, Any]]
    captions: list[dict[str, Any]]
    instances: list[dict[str, Any]]
    catalogue: list[dict[str, str]]

    def note(self, scene: Scene) -> None:
        self.images.append({"id": scene.number, "file_name": file_name(scene), "width": WIDTH, "height": HEIGHT})
        self.captions.extend(
            {"image_id": scene.number, "id": scene.number * CAPTIONS + i, "caption": caption}
            for i, caption in enumerate(captions(scene))
        )
        self.instances.extend(instance_record(scene, thing) for thing in scene.things)
        self.catalogue.append(catalogue_row(scene))

    def caption_file(self, seed: int) -> dict[str, Any]:
        return {"info": _info(seed), "licenses": [], "images": self.images, "annotations": self.captions}

    def instance_file(self, seed: int) -> dict[str, Any]:
        categories = [
            {"supercategory": kind.zone, "id": i, "name": name} for i, (name, kind) in enumerate(KINDS.items(), 1)
        ]
        return {
            "info": _info(seed),
            "licenses": [],
            "images": self.images,
            "annotations": self.instances,
            "categories": categories,
        }


def file_name(scene: Scene) -> str:
    """As COCO names files: 12 digits."""
    return f"{scene.number:012d}.jpg"


def object_id(scene: Scene, thing: Thing) -> int:
    """An id that is unique in the world and does not depend on the number of pictures."""
    return scene.number * 100 + thing.number


def instance_record(scene: Scene, thing: Thing) -> dict[str, Any]:
    """A thing as an annotation of COCO's instances file; `attributes` is our addition."""
    x, y, width, height = thing.box
    return {
        "id": object_id(scene, thing),
        "image_id": scene.number,
        "category_id": list(KINDS).index(thing.kind) + 1,
        "bbox": [x, y, width, height],
        "area": area(thing.box),
        "segmentation": [[x, y, x + width, y, x + width, y + height, x, y + height]],
        "iscrowd": 0,
        "attributes": {
            "colour": thing.colour,
            "size": thing.size,
            "pattern": thing.pattern,
            "faces": thing.faces,
        },
    }


def region_record(scene: Scene, said: list[Region]) -> dict[str, Any]:
    """A picture's region descriptions as Visual Genome has them."""
    return {
        "id": scene.number,
        "regions": [
            {
                "region_id": scene.number * 100 + position,
                "image_id": scene.number,
                "phrase": region.phrase,
                **_box_fields(region.box),
                "objects": [_object(scene, thing) for thing in region.things],
                "relationships": _relationships(scene, region),
            }
            for position, region in enumerate(said, start=1)
        ],
    }


def _box_fields(box: Box) -> dict[str, int]:
    return dict(zip(("x", "y", "width", "height"), box, strict=True))


def _object(scene: Scene, thing: Thing) -> dict[str, Any]:
    return {"object_id": object_id(scene, thing), "name": thing.kind, **_box_fields(thing.box)}


def _relationships(scene: Scene, region: Region) -> list[dict[str, Any]]:
    relation = region.relation
    if relation is None:
        return []
    return [
        {
            "relationship_id": scene.number * 1000 + relation.number,
            "predicate": relation.predicate,
            "subject_id": object_id(scene, relation.subject),
            "object_id": object_id(scene, relation.object),
        }
    ]


def catalogue_row(scene: Scene) -> dict[str, str]:
    """What the catalogue notes of a picture."""
    main = scene.main()
    kind, count = scene.counts().most_common(1)[0]
    return {
        "image": file_name(scene),
        "background": scene.place,
        "light": scene.light,
        "main_object": main.kind,
        "main_colour": main.colour,
        "main_size": main.size,
        "main_pattern": main.pattern,
        "objects": str(len(scene.things)),
        "repeated_object": kind if count > 1 else "",
    }


def _info(seed: int) -> dict[str, Any]:
    # No date and no count: a world must not differ from one day to the next.
    return {
        "description": "A world drawn by viewfinder",
        "version": str(_VERSION),
        "seed": seed,
        "kind": "scenes",
    }


def _csv(rows: list[dict[str, str]]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, fieldnames=list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def _write_json(path: Path, data: Any) -> None:
    path.write_text(json.dumps(data, ensure_ascii=False), encoding="utf-8")


KINDS_OF_WORLD: dict[str, Callable[..., WorldReport]] = {"scenes": write_scenes}
"""A kind of world and what writes it, called as `write_scenes` is."""
