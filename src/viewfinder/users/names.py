"""Simulated users by name, made over a folder of data."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from viewfinder.data.dialogues import Dialogue, read_dialogues
from viewfinder.data.truth import read_truth
from viewfinder.errors import BadInput, UnknownName
from viewfinder.users.annotations import AnnotationAnswerer, read_notes
from viewfinder.users.base import SimulatedUser
from viewfinder.users.comparer import TruthComparer
from viewfinder.users.describer import Sayer, caption_sayings, truth_sayings
from viewfinder.users.manners import Manners
from viewfinder.users.oracle import Oracle
from viewfinder.users.person import Person
from viewfinder.users.recorded import user_of


def load_user(name: str, folder: Path, **settings: Any) -> SimulatedUser:
    """The simulated user called `name`, who knows the pictures of a data folder.

    Settings are the fields of `Manners` ("noise", "patience" ...); "vqa" needs `model`, a hub name or folder, too;
    "captioner" takes `model`, the file of a captioner, and `decoding`.

    Raises:
        UnknownName: no user is called that, or there is no such setting; the message lists those there are.
        BadInput: the folder holds nothing that this user could know, a damaged file, or a setting out of range.
    """
    if name not in USERS:
        raise UnknownName(f"no simulated user is called {name!r}; there are: {', '.join(sorted(USERS))}")
    return USERS[name](folder, **settings)


def oracle_user(folder: Path, **settings: Any) -> Person:
    """Knows everything that the truth of a world holds."""
    manners = manners_of("oracle", settings)
    truths = read_truth(folder)
    comparer = TruthComparer(truths, seed=manners.seed, most=manners.verbosity)
    return Person(
        partial(Sayer, truth_sayings(truths, seed=manners.seed)),
        answerer=Oracle(truths),
        comparer=comparer,
        likeness=comparer.likeness,
        manners=manners,
        name="oracle",
    )


def annotations_user(folder: Path, **settings: Any) -> Person:
    """Knows what captions and boxes say of photographs; does not compare."""
    manners = manners_of("annotations", settings)
    notes = read_notes(folder)
    captions = {picture: note.captions for picture, note in notes.pictures.items()}
    return Person(
        partial(Sayer, caption_sayings(captions, seed=manners.seed)),
        answerer=AnnotationAnswerer(notes),
        manners=manners,
        name="annotations",
    )


def vqa_user(folder: Path, *, model: str = "", device: str = "cpu", **settings: Any) -> Person:
    """Describes by captions, and answers by looking at the picture with a model.

    Raises:
        BadInput: no model was named.
    """
    if not model:
        raise BadInput("the user 'vqa' needs a model that answers: set model to a hub name or a folder")
    from viewfinder.users.vqa import load_vqa

    manners = manners_of("vqa", settings)
    notes = read_notes(folder)
    captions = {picture: note.captions for picture, note in notes.pictures.items()}
    return Person(
        partial(Sayer, caption_sayings(captions, seed=manners.seed)),
        answerer=load_vqa(model, lambda picture: notes.of(picture).path or folder / picture, device=device),
        manners=manners,
        name="vqa",
    )


def captioner_user(
    folder: Path,
    *,
    model: str = "",
    decoding: str = "beam",
    vectors: Callable[[Sequence[str]], Float[np.ndarray, "n g"]] | None = None,
    raw_version: str = "",
    **settings: Any,
) -> Person:
    """Says how the wanted picture differs from the one shown, in the words of a trained captioner (Fashion IQ).

    Looks at one picture and compares, whatever is asked, unless `policy` and `looks_at` are set.

    Args:
        folder: of data.
        model: the captioner's file; by default the one in the box.
        decoding: "greedy", "beam" or "sampled".
        vectors: raw vectors of pictures by their keys; by default the starter's, computed where they are not yet.
        raw_version: of which encoder `vectors` are; where it is told, it is checked.
        settings: fields of `Manners`.

    Raises:
        BadInput, EncoderMismatch: a file, a decoding, or a folder that cannot serve.
    """
    from viewfinder.users.captioner.user import comparing_person

    manners = manners_of("captioner", {"policy": "compares", "looks_at": 1, **settings})
    return comparing_person(folder, manners, model=model, decoding=decoding, vectors=vectors, raw_version=raw_version)


def recorded_user(folder: Path, *, dialogues: str = "*", **settings: Any) -> SimulatedUser:
    """Repeats the dialogues of a folder, `dialogues/<name>.json` or `<name>.json`; by default all that are there."""
    if settings:
        raise UnknownName(f"the user 'recorded' has no setting {', '.join(sorted(settings))}; there is: dialogues")
    files = sorted((folder / "dialogues").glob(f"{dialogues}.json")) or sorted(folder.glob(f"{dialogues}.json"))
    if not files:
        raise BadInput(
            f"{folder}: no dialogues/{dialogues}.json here; give a folder of dialogues as ChatIR writes them"
        )
    talks: dict[str, Dialogue] = {}
    for file in files:
        for talk in read_dialogues(file)[0]:
            if talk.image in talks:
                known = ", ".join(file.stem for file in files)
                raise BadInput(f"{file}: {talk.image} has another dialogue already; choose one by dialogues=: {known}")
            talks[talk.image] = talk
    return user_of(talks.values())


def manners_of(name: str, settings: Mapping[str, Any]) -> Manners:
    """The manners that some settings make.

    Raises:
        UnknownName: there is no such setting.
        BadInput: a setting is out of its range.
    """
    known = [field.name for field in fields(Manners)]
    unknown = sorted(set(settings) - set(known))
    if unknown:
        raise UnknownName(f"the user {name!r} has no setting {', '.join(unknown)}; there are: {', '.join(known)}")
    return Manners(**settings)


USERS: dict[str, Callable[..., SimulatedUser]] = {
    "oracle": oracle_user,
    "annotations": annotations_user,
    "recorded": recorded_user,
    "vqa": vqa_user,
    "captioner": captioner_user,
}
"""A simulated user and what makes it, called with a data folder and settings."""
