"""Trains the shipped weights on the project's one split, each with the list of what it was trained on.

    python benchmarks/shipped.py DATA --systems chatir drilldown      # all without --systems; skips what is trained
    python benchmarks/shipped.py DATA --install                       # puts the trained weights in their places

DATA holds fashion-products/ and the captioned photographs. Training uses scenes and a catalogue of the products, and
the photographs of the parts `fit` and `choose` (photographs.py); `report` and the test products are kept out. After
`--install`, update the figures of the docs (photographs.py, side_by_side.py) and the CARD.md of each.
"""

from __future__ import annotations

import argparse
import shutil
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from photographs import LEARN, make_folders, write_folder
from rows import minutes, run

from viewfinder.data import CaptionedPicture, read_catalogue, read_products
from viewfinder.data.splits import split_of
from viewfinder.retrievers.chatir.retriever import SHIPPED as CHATIR
from viewfinder.retrievers.chatsearcher.retriever import SHIPPED as CHATSEARCHER
from viewfinder.retrievers.drilldown.retriever import SHIPPED as DRILLDOWN
from viewfinder.retrievers.fashioniq.retriever import SHIPPED as FASHION_IQ
from viewfinder.retrievers.mai.retriever import SHIPPED as MAI
from viewfinder.training.checkpoints import read_tensors, write_tensors
from viewfinder.users.captioner.captioner import SHIPPED as CAPTIONER
from viewfinder.weights import LIST_ENDING, NETWORK, read_card

SEED = 0
LARGE = 5_000_000
"""Bytes."""

CONTEXTUAL = ("--language", "contextual")
"""People lean on what they said before."""

WORLDS = {
    "scenes": ("--kind", "scenes", "--count", "6500", "--seed", "5", *CONTEXTUAL),
    "catalogue": ("--kind", "catalogue", "--count", "0", "--seed", "1", "--pairs", "4", *CONTEXTUAL),
    "edits": ("--kind", "edits", "--count", "1500", "--seed", "1"),
}
PRODUCTS = "fashion-products"
NAMED = "named-products"
"""Product photographs as captioned pictures: each by its name, and by what the catalogue says of it."""

ASKED = "asked"
"""The photographs of `LEARN` with questions about them, answered from their captions."""


@dataclass(frozen=True)
class Recipe:
    """How shipped weights are trained: on which folders, and where in the package they lie."""

    preset: str
    data: tuple[str, ...]
    place: Path
    settings: tuple[str, ...] = ()


RECIPES = {
    "captioner": Recipe("lab", ("catalogue",), CAPTIONER),
    "drilldown": Recipe("modern", ("scenes", NAMED, LEARN), DRILLDOWN, ("turns=5", "training.epochs=12")),
    "chatir": Recipe("lab", ("scenes", NAMED, LEARN), CHATIR),
    "fashioniq": Recipe("modern", ("catalogue", NAMED, LEARN), FASHION_IQ),
    "mai": Recipe("modern", ("catalogue", LEARN), MAI, ("training.epochs=4",)),
    # In the package, its first three stages are of a run before `fragments` (CARD.md).
    "chatsearcher": Recipe("modern", ("scenes", "edits", NAMED, ASKED), CHATSEARCHER),
}
"""In the order of their training: a Fashion IQ retriever learns from the captioner."""


def main() -> None:
    """Makes the data, trains, and installs if asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--work", type=Path, default=Path("runs/shipped"), help="worlds, photographs, vectors and runs")
    parser.add_argument("--systems", nargs="*", choices=tuple(RECIPES), default=tuple(RECIPES))
    parser.add_argument("--install", action="store_true", help="copy the weights that are trained into the package")
    given = parser.parse_args()
    make_folders(given.data.resolve(), given.work)
    for system in given.systems:
        out = train(system, RECIPES[system], given.data.resolve(), given.work)
        listed = read_card(out / "best.safetensors").trained_on
        print(f"{system}: {minutes(out):.0f} minutes, {'with' if listed else 'without'} a training list", flush=True)
        if given.install:
            install(out / "best.safetensors", RECIPES[system].place)


def train(system: str, recipe: Recipe, data: Path, work: Path) -> Path:
    """The folder of the training, done or gone on with as far as needed."""
    out = work / "runs" / "shipped" / system
    folders = [make_folder(name, data, work) for name in recipe.data]
    features = work / "features" if len(folders) > 1 else work / "features" / folders[0].name
    captioner = work / "runs" / "shipped" / "captioner" / "best.safetensors"
    simulator = (f"simulator='{captioner}'",) if system == "fashioniq" else ()
    run(
        "train", system, *(part for folder in folders for part in ("--data", str(folder))), "--features", str(features),
        "--preset", recipe.preset, "--seed", str(SEED), "--out", str(out), "--resume",
        *(part for one in (*recipe.settings, *simulator) for part in ("--set", one)), log=out.with_suffix(".log"),
    )  # fmt: skip
    return out


def install(weights: Path, place: Path) -> None:
    """Into the package; large weights in half precision, which readers widen again."""
    tensors, record = read_tensors(weights, schema=NETWORK)
    if weights.stat().st_size > LARGE:
        tensors = {name: one.half() if one.dtype == torch.float32 else one for name, one in tensors.items()}
    write_tensors(place, tensors, record, schema=NETWORK)
    place.with_name(f"{place.stem}{LIST_ENDING}").unlink(missing_ok=True)  # that of the weights before


def make_folder(name: str, data: Path, work: Path) -> Path:
    """A folder to learn from, made if it is not there: a world of products, the products by name, the photographs."""
    folder = work / name
    if name in WORLDS and not (folder / "world.json").is_file():
        run("world", str(folder), *WORLDS[name], "--sprites", str(data / PRODUCTS))
    if name == NAMED and not (folder / "captions.csv").is_file():
        write_folder(folder, name_products(data / PRODUCTS))
    if name == ASKED and not (folder / "dialogues").is_dir():
        shutil.copytree(work / LEARN, folder)
        for split in ("train", "val"):
            run("dialogues", "--data", str(folder), "--questioner", "captions", "--split", split)
    return folder


def name_products(folder: Path) -> list[CaptionedPicture]:
    """Product photographs that are not for testing: name, colour and kind, and for whom and when."""
    rows = {row.key: row.values for row in read_catalogue(folder / "products.csv").rows}
    named = []
    for picture in read_products(folder)[0]:
        values = {name: value.lower() for name, value in rows[picture.path.stem].items()}
        looks = f"{values.get('baseColour', '')} {values.get('articleType', '')}".strip()
        use = " ".join(filter(None, (values.get("usage"), values.get("articleType"), "for", values.get("gender"))))
        if split_of(picture.path.name) != "test":
            named.append(replace(picture, captions=(*picture.captions, looks, use)))
    return named


if __name__ == "__main__":
    main()
