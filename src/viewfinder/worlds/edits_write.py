"""Edits of scenes as files, in the layout of InstructPix2Pix's data set.

0000001/<seed>_0.jpg, <seed>_1.jpg   a scene, and the same with one thing changed
0000001/prompt.json                  {"input": caption, "edit": instruction, "output": caption, "change": what kind}
0000001/metadata.jsonl               {"seed": ...}; no CLIP figures, nothing had to be filtered
truth.jsonl                          everything that is known of each picture
preview.png                          the first pairs on a sheet; .viewfinderignore says that it is no picture of the set
seeds.json                           which pairs there are; written last
world.json                           how the world was made; written first
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from viewfinder.data.records import write_json
from viewfinder.data.truth import TRUTH_FILE, to_line
from viewfinder.errors import BadInput
from viewfinder.worlds.draw import draw_scene
from viewfinder.worlds.edits import Edit, sample_edit
from viewfinder.worlds.folder import MOST_PICTURES, Progress, WorldReport, claim_folder
from viewfinder.worlds.making import QUALITY, WorldPlan, make_in_order
from viewfinder.worlds.preview import SHEET_PICTURES, caption_sheet
from viewfinder.worlds.records import picture_truth
from viewfinder.worlds.stock import Stock, stock_of

_SCHEMA = "viewfinder/world"
_VERSION = 1


def write_edits(
    out: Path,
    *,
    count: int,
    seed: int,
    sprites: Path | None = None,
    workers: int = 1,
    progress: Progress = lambda written: None,
) -> WorldReport:
    """Draw `count` pairs of pictures and write them; arguments, and what can be relied on, as `write_scenes` has it.

    Raises:
        BadInput: `count` is not 1 to a million, `workers` is less than 1, the sprites cannot be read, or `out` is a
            file, not empty, or not writable.
        DiskFull: the disk is full.
    """
    if not 1 <= count <= MOST_PICTURES:
        raise BadInput(f"--count {count}: ask for 1 to {MOST_PICTURES} pairs")
    if workers < 1:
        raise BadInput(f"--workers {workers}: at least one process has to draw")
    stock = stock_of(sprites)
    with claim_folder(out, _marker(stock, count, seed), ()):
        (out / ".viewfinderignore").write_text("/preview.png\n", encoding="utf-8", newline="\n")
        with closing(make_in_order(make_pair, WorldPlan(out, seed, stock), count, workers)) as made:
            edits = []
            for written, edit in enumerate(made, start=1):
                edits.append(edit)
                progress(written)
        _write_lists(out, edits)
    return WorldReport(
        out=out,
        kind="edits",
        seed=seed,
        pictures=2 * count,
        captions=2 * count,
        things=sum(len(scene.things) for edit in edits for scene in (edit.before, edit.after)),
        edits=count,
    )


def make_pair(plan: WorldPlan, number: int) -> Edit:
    """Draw a pair, and write it with what is said of it."""
    edit = sample_edit(seed=plan.seed, number=number, stock=plan.stock)
    home = plan.out / prompt_of(edit)
    home.mkdir(exist_ok=True)
    for scene, name in ((edit.before, 0), (edit.after, 1)):
        draw_scene(scene).save(plan.out / picture_of(edit, name), quality=QUALITY)
    said = {"input": edit.input, "edit": edit.instruction, "output": edit.output, "change": edit.change}
    _write(home / "prompt.json", json.dumps(said, ensure_ascii=False))
    _write(home / "metadata.jsonl", json.dumps({"seed": seed_of(edit)}) + "\n")
    return edit


def prompt_of(edit: Edit) -> str:
    """The folder of a pair."""
    return f"{edit.before.number:07d}"


def seed_of(edit: Edit) -> int:
    """What its pictures are called by: of all pairs of all worlds another."""
    return edit.before.seed * (MOST_PICTURES + 1) + edit.before.number


def picture_of(edit: Edit, which: int) -> str:
    """The path of its first picture (0) or its second (1), in the world's folder."""
    return f"{prompt_of(edit)}/{seed_of(edit)}_{which}.jpg"


def _write_lists(out: Path, edits: list[Edit]) -> None:
    pictures = [
        (picture_of(edit, which), scene, said)
        for edit in edits
        for which, (scene, said) in enumerate(((edit.before, edit.input), (edit.after, edit.instruction)))
    ]
    truths = (to_line(replace(picture_truth(scene), image=name)) for name, scene, _ in pictures)
    _write(out / TRUTH_FILE, "".join(f"{line}\n" for line in truths))
    caption_sheet([(out / name, said) for name, _, said in pictures[:SHEET_PICTURES]]).save(out / "preview.png")
    # Last, so that whoever finds it knows that the world is whole.
    write_json(out / "seeds.json", [[prompt_of(edit), [str(seed_of(edit))]] for edit in edits])


def _marker(stock: Stock, count: int, seed: int) -> Mapping[str, Any]:
    """What world.json says; see `write._marker`."""
    made = {"schema": _SCHEMA, "version": _VERSION, "kind": "edits", "count": count, "seed": seed}
    return made | ({} if stock.shop is None else {"sprites": stock.shop.digest})


def _write(file: Path, text: str) -> None:
    file.write_text(text, encoding="utf-8", newline="\n")
