"""The systems on the vectors of another encoder than the starter: trained by the same plan, used live, refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import viewfinder
from tests.wide import WideColours
from viewfinder.data.dialogues import Round, make_dialogue, write_dialogues
from viewfinder.data.fashion_iq import FashionPair, write_fashion_iq
from viewfinder.data.fashionmt import Transaction, write_transactions
from viewfinder.errors import EncoderMismatch
from viewfinder.library import Library
from viewfinder.retrievers.shared.train_plan import TrainPlan
from viewfinder.retrievers.trainers import train_system
from viewfinder.testing import TinyPicture, tiny_pictures
from viewfinder.weights import read_card

pytestmark = pytest.mark.slow

PLACE = "tests.wide:WideColours"
OVERRIDES = {
    "drilldown": ("batch=10", "model.width=8", "model.slots=2", "training.epochs=1"),
    "chatir": (
        "batch=16", "model.width=16", "model.heads=2", "model.hidden=16", "model.layers=1", "model.image_width=12",
        "rounds=2", "training.epochs=1",
    ),
    "fashioniq": (
        "batch=16", "model.width=16", "model.components=12", "turns=1", "training.epochs=1", "model.heads=2",
        "model.hidden=16", "model.layers=1", "model.most_words=4", "model.attributes=0", "simulator=recorded",
    ),
    "mai": (
        "batch=8", "model.width=12", "model.hidden=16", "model.tokens=4", "model.prompts=2", "model.projection=8",
        "model.components=6", "model.region_components=2", "model.layers=1", "training.epochs=1",
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Library:
    """Twelve pictures of one colour over another, without the starter's vectors."""
    folder = tmp_path_factory.mktemp("wide")
    tiny_pictures(folder / "pictures", 12)
    made: Library = viewfinder.open(folder / "wide.vf", encoder=PLACE)
    made.add(folder / "pictures", without_starter=True)
    return made


def write_data(system: str, folder: Path) -> None:
    """What a system learns from, in a layout that it reads."""
    pictures = tiny_pictures(folder / "images", 52)
    if system == "drilldown":
        rows = [f"{one.path.name},{said}" for one in pictures for said in (f"{one.top} above", one.caption)]
        (folder / "captions.csv").write_text("\n".join(["image,caption", *rows]), encoding="utf-8")
    for split, some in (("train", pictures[:32]), ("val", pictures[32:])):
        if system == "chatir":
            (folder / "dialogues").mkdir(exist_ok=True)
            rounds = [(one, [Round("is it big?", "no"), Round("what is below?", one.bottom)]) for one in some]
            dialogues = [make_dialogue(f"images/{one.path.name}", one.top, said) for one, said in rounds]
            write_dialogues(folder / "dialogues" / f"people_{split}.json", dialogues)
        if system == "fashioniq":
            pairs = [
                FashionPair(one.path.stem, before.path.stem, (f"is {one.top}", f"is {one.top} over {one.bottom}"))
                for before, one in zip((some[-1], *some), some, strict=False)
            ]
            attributes = {one.path.stem: ((), (one.top,), (one.bottom,), (), (), ()) for one in some}
            write_fashion_iq(folder, "flags", split, pairs, [one.path.stem for one in some], attributes)
        if system == "mai":
            names = [one.path.name for one in pictures]
            for source in ("back", "mix"):
                write_transactions(folder, source, split, [make_talk(some[at : at + 4]) for at in range(12)], names)


def make_talk(shown: list[TinyPicture]) -> Transaction:
    """A talk that goes from picture to picture, and then back to one."""
    said = [f"1. is {one.top} 2. is over {one.bottom}" for one in shown[1:3]]
    names, captions = [one.path.name for one in shown], tuple(one.caption for one in shown)
    return Transaction(names[0], tuple(names[1:]), (*said, f"I prefer the FIRST, and 1. is {shown[3].top}"), captions)


@pytest.mark.parametrize("system", list(OVERRIDES))
def test_a_system_is_trained_on_vectors_of_any_width_and_used_live(
    library: Library, tmp_path: Path, system: str
) -> None:
    write_data(system, tmp_path / "data")
    preset = "modern" if system == "drilldown" else "lab"
    known: dict[str, Any] = {"shown": False, "tensorboard": False, "features": tmp_path / "vectors"}
    plan = TrainPlan(
        system=system, preset=preset, data=(tmp_path / "data",), out=tmp_path / "mine", encoder=WideColours(),
        overrides=OVERRIDES[system], **known,
    )  # fmt: skip
    fitted = train_system(plan)
    card = read_card(fitted.best)
    assert (card.encoder, card.settings["sentences_version"]) == (WideColours.raw_version, "wide-said-1")
    chat = library.chat(system, questioner="none", checkpoint=fitted.best, n=3)
    found = chat.say("red over blue")
    assert len(found) == len(chat.like(found[0], "is green")) == 3


@pytest.mark.parametrize("system", list(OVERRIDES))
def test_weights_made_for_the_starter_are_refused_with_the_command_that_trains_them(
    library: Library, system: str
) -> None:
    with pytest.raises(EncoderMismatch) as said:
        library.chat(system, questioner="none").say("red")
    line = str(said.value)
    assert f"`viewfinder train {system} --encoder {PLACE} --data DIR --out mine`" in line
    assert "`--checkpoint mine/best.safetensors`" in line and "\n" not in line
