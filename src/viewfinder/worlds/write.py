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

import csv
import io
import json
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from viewfinder.data.chatsearch import SUBTASKS, ChatSample, ChatTurn, TextItem, write_chatsearch, write_gallery
from viewfinder.data.dialogues import Dialogue, make_dialogue, write_dialogues, write_pool
from viewfinder.data.records import write_json
from viewfinder.data.splits import SPLITS, Split, split_of
from viewfinder.data.truth import TRUTH_FILE, truth_line
from viewfinder.data.visual_genome.scene_graphs import scene_graph_xml
from viewfinder.errors import BadInput, UnknownName
from viewfinder.worlds.chatsearch import PicturedScene, chat_samples
from viewfinder.worlds.dialogues import scene_dialogue, visdial_record
from viewfinder.worlds.drawing.draw import SHEET_PICTURES, caption_sheet, draw_scene
from viewfinder.worlds.language import RegionPhrase, caption_scene, describe_regions
from viewfinder.worlds.making import (
    MOST_PICTURES,
    QUALITY,
    Progress,
    Reword,
    WorldPlan,
    WorldReport,
    claim_folder,
    make_in_order,
    reword_text,
)
from viewfinder.worlds.records import (
    caption_records,
    catalogue_row,
    image_path,
    image_record,
    instance_record,
    picture_truth,
    region_record,
    scene_graph,
)
from viewfinder.worlds.scene import Scene, sample_scene
from viewfinder.worlds.stock import Stock, stock_of

_SCHEMA = "viewfinder/world"
_VERSION = 2
_SHARED_FOLDERS = ("annotations", "caches", "dialogues", "ChatIR_Protocol", "visdial", "chatsearch")


def write_world(
    out: Path,
    *,
    kind: str,
    count: int,
    seed: int,
    sprites: Path | None = None,
    transactions: int | None = None,
    pairs: int | None = None,
    workers: int = 1,
    progress: Progress = lambda written: None,
) -> WorldReport:
    """Write a world of the given kind (a key of `WORLD_WRITERS`).

    Raises:
        UnknownName: there is no such kind.
        BadInput: transactions or pairs are asked for, but the kind has none.
        BadInput, DiskFull: as `write_scenes`.
    """
    if kind not in WORLD_WRITERS:
        raise UnknownName(f"no kind of world is called {kind!r}; there are: {', '.join(WORLD_WRITERS)}")
    asked = {"transactions": transactions, "pairs": pairs}
    own = {name: number for name, number in asked.items() if number is not None}
    if own and kind != "catalogue":
        name, number = next(iter(own.items()))
        raise BadInput(f"--{name} {number}: only the kind catalogue has {name}")
    return WORLD_WRITERS[kind](out, count=count, seed=seed, sprites=sprites, workers=workers, progress=progress, **own)


def write_scenes(
    out: Path,
    *,
    count: int,
    seed: int,
    sprites: Path | None = None,
    workers: int = 1,
    reword: Reword | None = None,
    progress: Progress = lambda written: None,
) -> WorldReport:
    """Draw `count` scenes and write them with their annotations.

    Picture k depends on the seed, k and the sprites alone, not on `count` or `workers`. The same call again (after
    an interruption, say) writes the same bytes; a folder that holds anything else is left alone.

    Args:
        out: a new or empty folder, or one begun by the same call.
        count: how many pictures.
        seed: the same seed draws the same pictures.
        sprites: a folder of product photographs (see `products`) of which things are cut out; None: they are drawn.
        workers: processes that draw. More than one start a new Python, which imports the caller's main module: a
            script needs `if __name__ == "__main__":` then.
        reword: says captions, phrases and what users say in other words; with it the seed alone does not tell
            what is written.
        progress: called after each picture.

    Raises:
        BadInput: `count` is not 1 to a million, `workers` is less than 1, the sprites cannot be read, or `out` is a
            file, not empty, or not writable.
        DiskFull: the disk is full.
    """
    if not 1 <= count <= MOST_PICTURES:
        raise BadInput(f"--count {count}: ask for 1 to {MOST_PICTURES} pictures")
    if workers < 1:
        raise BadInput(f"--workers {workers}: at least one process has to draw")
    stock = stock_of(sprites)
    with claim_folder(out, _marker(stock, count, seed, reword), (*FOLDERS, *_SHARED_FOLDERS)):
        return _write_all(WorldPlan(out, seed, stock, reword), count, workers, progress)


def _marker(stock: Stock, count: int, seed: int, reword: Reword | None) -> dict[str, Any]:
    """What world.json says. Products are named by a digest of their table: a path would differ between machines."""
    made = {"schema": _SCHEMA, "version": _VERSION, "kind": "scenes", "count": count, "seed": seed}
    sprites = {} if stock.shop is None else {"sprites": stock.shop.digest}
    return made | sprites | ({} if reword is None else {"reworded": True})


def _write_all(plan: WorldPlan, count: int, workers: int, progress: Progress) -> WorldReport:
    books = _Books()
    # Closed here and now: an interruption must not leave processes that draw behind.
    with closing(make_pictures(plan, count, workers)) as pictures:
        for written, made in enumerate(pictures, start=1):
            books.note(made)
            progress(written)
    _write_annotations(plan, books)
    _write_dialogues(plan.out, books.made)
    chats = _write_chats(plan, books.made)
    first = [(plan.out / image_path(made.scene.number), made.captions[0]) for made in books.made[:SHEET_PICTURES]]
    caption_sheet(first).save(plan.out / "preview.png")
    # Last, so that whoever finds it knows that the world is whole.
    (plan.out / "catalogue.csv").write_bytes(_csv([catalogue_row(made.scene) for made in books.made]).encode())
    return WorldReport(
        out=plan.out,
        kind="scenes",
        seed=plan.seed,
        pictures=count,
        captions=len(books.captions),
        regions=sum(made.regions for made in books.made),
        things=len(books.instances),
        dialogues=len(books.made),
        chats=chats,
    )


@dataclass(frozen=True)
class _Books:
    """What was made so far, and its records in the form in which they are written."""

    made: list[MadePicture] = field(default_factory=list)
    images: list[dict[str, Any]] = field(default_factory=list)
    captions: list[dict[str, Any]] = field(default_factory=list)
    instances: list[dict[str, Any]] = field(default_factory=list)

    def note(self, made: MadePicture) -> None:
        self.made.append(made)
        self.images.append(image_record(made.scene))
        self.captions.extend(caption_records(made.scene, made.captions))
        self.instances.extend(instance_record(made.scene, thing) for thing in made.scene.things)


def _write_annotations(plan: WorldPlan, books: _Books) -> None:
    """COCO's two files, the truth, and the lists of splits."""
    shared = {"info": _info(plan.seed), "licenses": [], "images": books.images}
    categories = [
        {"supercategory": kind.zone, "id": i, "name": name}
        for i, (name, kind) in enumerate(plan.stock.kinds.items(), 1)
    ]
    instances = shared | {"annotations": books.instances, "categories": categories}
    write_json(plan.out / "annotations" / "captions_world.json", shared | {"annotations": books.captions})
    write_json(plan.out / "annotations" / "instances_world.json", instances)
    truths = (truth_line(picture_truth(made.scene)) for made in books.made)
    _write_lines(plan.out / TRUTH_FILE, truths)
    for split in SPLITS:
        _write_lines(
            plan.out / "caches" / f"vg_{split}.txt", (str(made.scene.number) for made in _of(books.made, split))
        )


def _of(made: Sequence[MadePicture], split: Split) -> list[MadePicture]:
    return [each for each in made if split_of(each.scene.number) == split]


def _write_dialogues(out: Path, made: Sequence[MadePicture]) -> None:
    """Questions and answers, a file a split, in both formats, and the pictures of each split."""
    for split in SPLITS:
        those = _of(made, split)
        talks: list[tuple[int, Dialogue]] = [(each.scene.number, each.dialogue) for each in those]
        write_dialogues(out / "dialogues" / f"world_{split}.json", [talk for _, talk in talks])
        write_pool(out / "ChatIR_Protocol" / f"Search_Space_{split}.json", [talk.image for _, talk in talks])
        write_json(out / "visdial" / f"visdial_1.0_{split}.json", visdial_record(split, talks))


def _write_chats(plan: WorldPlan, made: Sequence[MadePicture]) -> int:
    """Chat-search dialogues for training and testing; among all pictures for testing the targets are looked for."""
    count = 0
    for split in ("train", "test"):
        pictured = [PicturedScene(each.scene, each.dialogue.image, each.captions[0]) for each in _of(made, split)]
        samples = [_reworded_sample(sample, plan.reword) for sample in chat_samples(pictured)]
        count += len(samples)
        for subtask in SUBTASKS:
            own: list[ChatSample] = [sample for sample in samples if sample.subtask == subtask]
            write_chatsearch(plan.out / "chatsearch" / f"{subtask}_{split}.jsonl", own)
            if split == "test":
                write_gallery(plan.out / "chatsearch", subtask, [each.image for each in pictured])
    return count


def _reworded_sample(sample: ChatSample, reword: Reword | None) -> ChatSample:
    """The sample, with what the user says in other words."""

    def turned(turn: ChatTurn) -> ChatTurn:
        said = (
            TextItem(reword_text(item.text, reword)) if isinstance(item, TextItem) else item for item in turn.content
        )
        return replace(turn, content=tuple(said)) if turn.role == "user" else turn

    return replace(sample, turns=tuple(turned(turn) for turn in sample.turns))


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


def _write_lines(path: Path, lines: Iterable[str]) -> None:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8", newline="\n")


def _write_catalogue(out: Path, **asked: Any) -> WorldReport:
    """Garments and goods, one a picture."""
    from viewfinder.worlds.catalogue import write_catalogue

    return write_catalogue(out, **asked)


def _write_edits(out: Path, **asked: Any) -> WorldReport:
    """Scenes, and the same with one thing changed."""
    from viewfinder.worlds.edits import write_edits

    return write_edits(out, **asked)


WORLD_WRITERS: dict[str, Callable[..., WorldReport]] = {
    "scenes": write_scenes,
    "catalogue": _write_catalogue,
    "edits": _write_edits,
}
"""A kind of world and what writes it, called as `write_scenes` is."""


FOLDERS = ("images", "rg_jsons", "sg_xmls")
"""Folders of one file a picture."""


@dataclass(frozen=True)
class MadePicture:
    """What the files about all pictures together need of one."""

    scene: Scene
    captions: tuple[str, ...]
    regions: int
    dialogue: Dialogue


def make_picture(plan: WorldPlan, number: int) -> MadePicture:
    """Draw a picture, and write it with the files that are about it alone."""
    scene = sample_scene(seed=plan.seed, number=number, stock=plan.stock)
    draw_scene(scene).save(plan.out / image_path(number), quality=QUALITY)
    said = _reworded_regions(describe_regions(scene), plan.reword)
    _write_text(plan.out / "rg_jsons" / f"{number}.json", json.dumps(region_record(scene, said), ensure_ascii=False))
    _write_text(plan.out / "sg_xmls" / f"{number}.xml", scene_graph_xml(scene_graph(scene)))
    told = [reword_text(caption, plan.reword) for caption in caption_scene(scene)]
    talk = scene_dialogue(scene, image_path(number))
    talk = make_dialogue(talk.image, reword_text(talk.caption, plan.reword), talk.rounds)
    return MadePicture(scene, tuple(told), len(said), talk)


def _reworded_regions(said: list[RegionPhrase], reword: Reword | None) -> list[RegionPhrase]:
    """Phrases in other words; where these are another phrase already, the old words stay."""
    if reword is None:
        return said
    taken = {region.phrase.lower() for region in said}
    changed: list[RegionPhrase] = []
    for region in said:
        phrase = reword_text(region.phrase, reword)
        fresh = phrase.lower() == region.phrase.lower() or phrase.lower() not in taken
        taken.add(phrase.lower())
        changed.append(replace(region, phrase=phrase) if fresh else region)
    return changed


def _write_text(file: Path, text: str) -> None:
    file.write_text(text, encoding="utf-8", newline="\n")


def make_pictures(plan: WorldPlan, count: int, workers: int) -> Generator[MadePicture, None, None]:
    """Pictures 1 to `count`, in order; see `in_order`."""
    return make_in_order(make_picture, plan, count, workers)
