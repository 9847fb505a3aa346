"""One picture of a world after the other, or several at a time in worker processes."""

from __future__ import annotations

import json
import multiprocessing
import signal
from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, TypeVar

from viewfinder.data.dialogues import Dialogue, dialogue
from viewfinder.data.visual_genome.scene_graphs import scene_graph_xml
from viewfinder.errors import ViewfinderError
from viewfinder.worlds.dialogues import scene_dialogue
from viewfinder.worlds.draw import draw_scene
from viewfinder.worlds.language import RegionPhrase, caption_scene, describe_regions
from viewfinder.worlds.records import image_path, region_record, scene_graph
from viewfinder.worlds.scene import Scene, sample_scene
from viewfinder.worlds.stock import Stock

Product = TypeVar("Product")

QUALITY = 88
FOLDERS = ("images", "rg_jsons", "sg_xmls")
"""Folders of one file a picture."""

Reword = Callable[[str], str]
"""Says the same in other words (a language model, say). What it gives back must still be true."""


@dataclass(frozen=True)
class WorldPlan:
    """What is made of a number: the picture and its annotations, in the folder `out`."""

    out: Path
    seed: int
    stock: Stock
    reword: Reword | None = None


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
    said = _reworded(describe_regions(scene), plan.reword)
    _write(plan.out / "rg_jsons" / f"{number}.json", json.dumps(region_record(scene, said), ensure_ascii=False))
    _write(plan.out / "sg_xmls" / f"{number}.xml", scene_graph_xml(scene_graph(scene)))
    told = [reword_text(caption, plan.reword) for caption in caption_scene(scene)]
    talk = scene_dialogue(scene, image_path(number))
    talk = dialogue(talk.image, reword_text(talk.caption, plan.reword), talk.rounds)
    return MadePicture(scene, tuple(told), len(said), talk)


def reword_text(text: str, reword: Reword | None) -> str:
    """A text as the model says it; as it was, where the model says nothing."""
    said = text if reword is None else reword(text).strip()
    return said or text


def _reworded(said: list[RegionPhrase], reword: Reword | None) -> list[RegionPhrase]:
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


def _write(file: Path, text: str) -> None:
    file.write_text(text, encoding="utf-8", newline="\n")


def make_pictures(plan: WorldPlan, count: int, workers: int) -> Generator[MadePicture, None, None]:
    """Pictures 1 to `count`, in order; see `in_order`."""
    return make_in_order(make_picture, plan, count, workers)


def make_in_order(
    make: Callable[[WorldPlan, int], Product], plan: WorldPlan, count: int, workers: int
) -> Generator[Product, None, None]:
    """What is made of the numbers 1 to `count`, in order. It does not depend on the number of workers.

    Rewording is done in this process, whatever `workers` says: a model need not travel.

    Args:
        make: a function of a module, so that it can travel to the workers.
        plan, count, workers: what it is called with, up to which number, in how many processes.

    Raises:
        ViewfinderError: a worker process died.
    """
    if workers == 1 or plan.reword is not None:
        yield from (make(plan, number) for number in range(1, count + 1))
        return
    # Started afresh, not forked: this process may have threads, and locks that they hold.
    context = multiprocessing.get_context("spawn")
    hired: list[tuple[BaseProcess, Connection]] = []
    try:
        for first in range(1, min(workers, count) + 1):
            here, there = context.Pipe(duplex=False)
            numbers = range(first, count + 1, workers)
            process = context.Process(target=_work, args=(make, plan, numbers, there), daemon=True)
            process.start()
            there.close()
            hired.append((process, here))
        for number in range(1, count + 1):
            product: Product = _received(plan, hired[(number - 1) % workers][1])
            yield product
    finally:
        for worker, connection in hired:
            worker.terminate()
            connection.close()
            worker.join()


def _received(plan: WorldPlan, connection: Connection) -> Any:
    try:
        made = connection.recv()
    except (EOFError, OSError) as error:
        raise ViewfinderError(
            f"{plan.out}: a process that drew pictures died (out of memory?); repeat the command with --workers 1"
        ) from error
    if isinstance(made, BaseException):
        raise made
    return made


def _work(make: Callable[[WorldPlan, int], Any], plan: WorldPlan, numbers: Iterable[int], there: Connection) -> None:
    """Every so-manieth picture, in a process of its own. It ends when nobody listens any more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which ends this process
    try:
        for number in numbers:
            there.send(make(plan, number))
    except BrokenPipeError:
        return
    except Exception as error:
        there.send(error)
