"""A world as files, in the formats in which real data comes.

images/000000000001.jpg              the pictures
annotations/captions_world.json      COCO captions, five a picture
annotations/instances_world.json     COCO boxes and categories, with the looks of each thing
rg_jsons/1.json, sg_xmls/1.xml       Visual Genome region descriptions and scene graphs, one file a picture
caches/vg_train.txt                  which pictures are for training, validation (val) and testing, by number
dialogues/world_train.json           a caption and ten rounds of question and answer a picture, as ChatIR has them;
ChatIR_Protocol/Search_Space_train.json   the pictures of a split; visdial/visdial_1.0_train.json  as VisDial has them
chatsearch/tChat_train.jsonl         chat-search dialogues (tChat, iChat, mChat), and gallery_tChat.txt to search
truth.jsonl                          everything that is known of each picture
preview.png                          the first pictures on a sheet
catalogue.csv                        what a shop or an archive would note of each picture; written last
world.json                           how the world was made; written first
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from viewfinder.data.chatsearch import SUBTASKS, write_chatsearch, write_gallery
from viewfinder.data.dialogues import Dialogue, make_dialogue, write_dialogues, write_pool
from viewfinder.data.files import write_json
from viewfinder.data.splits import SPLITS, Split, split_of
from viewfinder.data.truth import TRUTH_FILE, truth_line
from viewfinder.data.visual_genome.regions import scene_graph_xml
from viewfinder.errors import BadInput, UnknownName
from viewfinder.worlds import making, records
from viewfinder.worlds.catalogue import write_catalogue
from viewfinder.worlds.chatsearch import PicturedScene, chat_samples
from viewfinder.worlds.drawing.draw import SHEET_PICTURES, caption_sheet, draw_scene
from viewfinder.worlds.edits import write_edits
from viewfinder.worlds.language import caption_scene, describe_regions
from viewfinder.worlds.records import scene_dialogue, visdial_record
from viewfinder.worlds.scene import Scene, sample_scene
from viewfinder.worlds.words import LANGUAGES, Language, reword

SCENES_VERSION = 3
_FOLDERS = (
    *("images", "rg_jsons", "sg_xmls"),  # of one file a picture
    *("annotations", "caches", "dialogues", "ChatIR_Protocol", "visdial", "chatsearch"),
)


def write_world(
    out: Path,
    *,
    kind: str,
    count: int,
    seed: int,
    sprites: Path | None = None,
    transactions: int | None = None,
    pairs: int | None = None,
    language: str = "explicit",
    workers: int = 1,
    progress: making.Progress = lambda written: None,
) -> making.WorldReport:
    """Write a world of the given kind (a key of `WORLD_WRITERS`).

    Raises:
        UnknownName: there is no such kind or language.
        BadInput: transactions or pairs are asked for, but the kind has none; edits in a language.
        BadInput, DiskFull: as `write_scenes`.
    """
    if kind not in WORLD_WRITERS:
        raise UnknownName(f"no kind of world is called {kind!r}; there are: {', '.join(WORLD_WRITERS)}")
    asked = {"transactions": transactions, "pairs": pairs}
    own = {name: number for name, number in asked.items() if number is not None}
    if own and kind != "catalogue":
        name, number = next(iter(own.items()))
        raise BadInput(f"--{name} {number}: only the kind catalogue has {name}")
    if language not in LANGUAGES:
        raise UnknownName(f"no language of a world is called {language!r}; there are: {', '.join(LANGUAGES)}")
    made: dict[str, Any] = dict(own)
    if language != "explicit":
        if kind == "edits":
            raise BadInput(f"--language {language}: edits have no dialogues; make scenes or a catalogue")
        made["language"] = language
    return WORLD_WRITERS[kind](out, count=count, seed=seed, sprites=sprites, workers=workers, progress=progress, **made)


def write_scenes(
    out: Path,
    *,
    count: int,
    seed: int,
    sprites: Path | None = None,
    language: Language = "explicit",
    workers: int = 1,
    progress: making.Progress = lambda written: None,
) -> making.WorldReport:
    """Draw `count` scenes and write them with their annotations.

    Picture k depends on the seed, k and the sprites alone, not on `count` or `workers`. The same call again (after
    an interruption, say) writes the same bytes; a folder that holds anything else is left alone.

    Args:
        out: a new or empty folder, or one begun by the same call.
        sprites: a folder of product photographs (see `stock`) of which things are cut out; None: they are drawn.
        language: how people speak of them (see `worlds.words`); the pictures are the same.
        workers: processes that draw. More than one start a new Python, which imports the caller's main module: a
            script needs `if __name__ == "__main__":` then.

    Raises:
        BadInput: `count` is not 1 to a million, `workers` is less than 1, the sprites cannot be read, or `out` is a
            file, not empty, or not writable.
        DiskFull: the disk is full.
    """
    world = making.drawing_world(
        "scenes", SCENES_VERSION, out, count=count, seed=seed, sprites=sprites, workers=workers, folders=_FOLDERS,
        language=language,
    )  # fmt: skip
    with world as plan:
        made = making.make_in_order(make_picture, plan, count, workers, progress)
        _write_annotations(plan, made)
        _write_dialogues(out, made)
        chats = _write_chats(out, made, language)
        first = [(out / picture.dialogue.image, picture.captions[0]) for picture in made[:SHEET_PICTURES]]
        caption_sheet(first).save(out / "preview.png")
        # Written last: where it exists, the world is whole.
        rows = [records.catalogue_row(picture.scene) for picture in made]
        making.write_rows(out / "catalogue.csv", rows[0], (row.values() for row in rows))
    captions, regions = (sum(len(each.captions) for each in made), sum(each.regions for each in made))
    things = sum(len(each.scene.things) for each in made)
    return making.WorldReport(out, "scenes", seed, count, captions, regions, things, dialogues=count, chats=chats)


WORLD_WRITERS: dict[str, Callable[..., making.WorldReport]] = {
    "scenes": write_scenes,
    "catalogue": write_catalogue,
    "edits": write_edits,
}
"""The writer of each kind of world, called as `write_scenes` is."""


@dataclass(frozen=True)
class MadePicture:
    """The facts of one picture that go into the files about all pictures."""

    scene: Scene
    captions: tuple[str, ...]
    regions: int
    dialogue: Dialogue


def make_picture(plan: making.WorldPlan, number: int) -> MadePicture:
    """Draw a picture, and write it with the files that are about it alone."""
    name = records.file_name(number)
    scene, image = sample_scene(seed=plan.seed, number=number, stock=plan.stock.of_split(name)), f"images/{name}"
    draw_scene(scene).save(plan.out / image, quality=making.SCENE_JPEG_QUALITY)
    regions, graph = describe_regions(scene), scene_graph_xml(records.scene_graph(scene))
    captions, dialogue = tuple(caption_scene(scene)), scene_dialogue(scene, image, plan.language)
    if plan.language == "contextual" and split_of(name) == "test":
        regions = [replace(region, phrase=reword(region.phrase)) for region in regions]
        captions = tuple(map(reword, captions))
        dialogue = make_dialogue(image, reword(dialogue.caption), dialogue.rounds)
    write_json(plan.out / "rg_jsons" / f"{number}.json", records.region_record(scene, regions))
    (plan.out / "sg_xmls" / f"{number}.xml").write_text(graph, encoding="utf-8", newline="\n")
    return MadePicture(scene, captions, len(regions), dialogue)


def _write_annotations(plan: making.WorldPlan, made: Sequence[MadePicture]) -> None:
    """COCO's two files, the truth, and the lists of splits."""
    # No date and no count: a world must not differ from one day to the next.
    info = {
        "description": "A world drawn by viewfinder",
        "version": str(SCENES_VERSION),
        "seed": plan.seed,
        "kind": "scenes",
    }
    shared = {"info": info, "licenses": [], "images": [records.image_record(picture.scene) for picture in made]}
    captions = [record for picture in made for record in records.caption_records(picture.scene, picture.captions)]
    instances = [records.instance_record(picture.scene, thing) for picture in made for thing in picture.scene.things]
    kinds = enumerate(plan.stock.kinds.items(), start=1)
    categories = [{"supercategory": kind.zone, "id": number, "name": name} for number, (name, kind) in kinds]
    folder = plan.out / "annotations"
    write_json(folder / "captions_world.json", shared | {"annotations": captions})
    write_json(folder / "instances_world.json", shared | {"annotations": instances, "categories": categories})
    making.write_lines(plan.out / TRUTH_FILE, (truth_line(records.picture_truth(picture.scene)) for picture in made))
    for split in SPLITS:
        numbers = (str(picture.scene.number) for picture in _choose_split(made, split))
        making.write_lines(plan.out / "caches" / f"vg_{split}.txt", numbers)


def _choose_split(made: Sequence[MadePicture], split: Split) -> list[MadePicture]:
    return [picture for picture in made if split_of(records.file_name(picture.scene.number)) == split]


def _write_dialogues(out: Path, made: Sequence[MadePicture]) -> None:
    """Questions and answers, a file a split, in both formats, and the pictures of each split."""
    for split in SPLITS:
        dialogues = [(picture.scene.number, picture.dialogue) for picture in _choose_split(made, split)]
        write_dialogues(out / "dialogues" / f"world_{split}.json", [dialogue for _, dialogue in dialogues])
        images = [dialogue.image for _, dialogue in dialogues]
        write_pool(out / "ChatIR_Protocol" / f"Search_Space_{split}.json", images)
        write_json(out / "visdial" / f"visdial_1.0_{split}.json", visdial_record(split, dialogues))


def _write_chats(out: Path, made: Sequence[MadePicture], language: Language) -> int:
    """Chat-search dialogues of every split; the gallery to search is all pictures for testing."""
    count = 0
    for split in SPLITS:
        inside = _choose_split(made, split)
        pictured = [PicturedScene(each.scene, each.dialogue.image, each.captions[0]) for each in inside]
        samples = list(chat_samples(pictured, language))
        count += len(samples)
        for subtask in SUBTASKS:
            own = (sample for sample in samples if sample.subtask == subtask)
            write_chatsearch(out / "chatsearch" / f"{subtask}_{split}.jsonl", own)
            if split == "test":
                write_gallery(out / "chatsearch", subtask, [each.image for each in pictured])
    return count
