"""InstructPix2Pix (Brooks et al. 2023): pairs of pictures and the instruction that leads from one to the other.

    clip-filtered-dataset/seeds.json           [["0000000", ["1716482101", ...]], ...]
                          0000000/prompt.json     {"input": caption, "edit": instruction, "output": caption, ...}
                                  metadata.jsonl  {"seed": 1716482101, "clip_sim_dir": 0.24, ...}, a line a pair
                                  1716482101_0.jpg, 1716482101_1.jpg

The written triplets alone are JSON lines (`gpt-generated-prompts.jsonl`, `human-written-prompts.jsonl`) with the keys
of prompt.json. Some copies call the first of them "caption".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from viewfinder.data.files import need_folder
from viewfinder.data.jsonl import read_jsonl
from viewfinder.data.records import need_field, read_list, read_mapping
from viewfinder.data.report import Dropped, ReadReport
from viewfinder.errors import BadInput


@dataclass(frozen=True)
class EditTriplet:
    """What one sees before, what to change, what one sees afterwards."""

    before: str
    instruction: str
    after: str


@dataclass(frozen=True)
class EditPair:
    """Two pictures made for a triplet; `prompt` and `seed` name them.

    Attributes:
        similarities: CLIP figures of metadata.jsonl: clip_sim_0, clip_sim_1 (picture with its caption), clip_sim_dir
            (change of pictures with change of captions), clip_sim_image; empty where there is no such file.
        source, target: the files; None where pictures were not looked for.
    """

    prompt: str
    seed: str
    text: EditTriplet
    similarities: Mapping[str, float] = field(default_factory=dict)
    source: Path | None = None
    target: Path | None = None


def read_instruct_pix2pix(folder: Path, *, need_images: bool = True) -> tuple[list[EditPair], ReadReport]:
    """All pairs of a data set, by prompt and seed; without a seeds.json, as its folders have them.

    Pairs of which a picture is missing are left out and reported, unless `need_images` is False.

    Raises:
        BadInput: no such folder, nothing of the kind in it, or a damaged file (file, line and field are named).
    """
    pairs: list[EditPair] = []
    dropped: list[Dropped] = []
    expected = 0
    for prompt, seeds in _seeds(need_folder(folder)):
        expected += len(seeds)
        if not (folder / prompt / "prompt.json").is_file():
            dropped += [Dropped(f"{prompt}/{seed}", "no prompt.json") for seed in seeds]
            continue
        for pair in _pairs(folder, prompt, seeds):
            missing = [file.name for file in (pair.source, pair.target) if file is not None and not file.is_file()]
            if need_images and missing:
                dropped.append(Dropped(f"{prompt}/{pair.seed}", f"no such file: {missing[0]}"))
            else:
                pairs.append(pair if need_images else EditPair(prompt, pair.seed, pair.text, pair.similarities))
    return pairs, ReadReport(expected, len(pairs), tuple(dropped))


def _seeds(folder: Path) -> list[tuple[str, list[str]]]:
    """Prompts and the seeds of their pairs, in the order of the names."""
    file = folder / "seeds.json"
    if not file.is_file():
        return _listed(folder)
    return sorted(_entry(entry, f"{file}, [{position}]") for position, entry in enumerate(read_list(file)))


def _entry(entry: Any, where: str) -> tuple[str, list[str]]:
    match entry:
        case [str(prompt), [*seeds]] if all(isinstance(seed, str | int) for seed in seeds):
            return prompt, sorted(map(str, seeds))
        case _:
            raise BadInput(f"{where}: [prompt, [seed, ...]] is needed, not {entry!r:.60}")


def _listed(folder: Path) -> list[tuple[str, list[str]]]:
    prompts = sorted(file.parent for file in folder.glob("*/prompt.json"))
    if not prompts:
        raise BadInput(f"{folder}: neither seeds.json nor <prompt>/prompt.json here; this is not InstructPix2Pix data")
    return [(place.name, sorted(file.name[:-6] for file in place.glob("*_0.jpg"))) for place in prompts]


def _pairs(folder: Path, prompt: str, seeds: list[str]) -> Iterator[EditPair]:
    place = folder / prompt
    text = _triplet(read_mapping(place / "prompt.json"), str(place / "prompt.json"))
    similarities = _similarities(place / "metadata.jsonl")
    for seed in seeds:
        source, target = (place / f"{seed}_{which}.jpg" for which in (0, 1))
        yield EditPair(prompt, seed, text, similarities.get(seed, {}), source, target)


def _triplet(record: Mapping[str, Any], where: str) -> EditTriplet:
    first = "input" if "input" in record else "caption"
    before, instruction, after = (need_field(where, record, name, str).strip() for name in (first, "edit", "output"))
    return EditTriplet(before, instruction, after)


def _similarities(file: Path) -> dict[str, dict[str, float]]:
    """CLIP figures by seed; a seed that was drawn twice has its later figures."""
    if not file.is_file():
        return {}
    found: dict[str, dict[str, float]] = {}
    for line, record in read_jsonl(file):
        if not isinstance(record.get("seed"), str | int):
            raise BadInput(f"{file}, line {line}, seed: a number is needed, not {record.get('seed')!r:.60}")
        figures = {name: value for name, value in record.items() if name.startswith("clip_sim_")}
        for name, value in figures.items():
            if not isinstance(value, int | float):
                raise BadInput(f"{file}, line {line}, {name}: a number is needed, not {value!r:.60}")
        found[str(record["seed"])] = {name: float(value) for name, value in figures.items()}
    return found
