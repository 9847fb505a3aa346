"""Simulated users by name, created for a data folder."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import Any

from viewfinder.conversation import Turn
from viewfinder.data.captions import has_captions
from viewfinder.data.dialogues import read_dialogues
from viewfinder.data.truth import TRUTH_FILE, read_truth
from viewfinder.errors import BadInput, UnknownName
from viewfinder.plugins import Plugins, label_part
from viewfinder.users.annotations import AnnotatedPhotos, AnnotationAnswerer, read_annotations
from viewfinder.users.base import Answerer, RecordedUser, SimulatedUser, dialogue_turns
from viewfinder.users.descriptions import SentenceDescriber, TruthComparer, truth_sentences
from viewfinder.users.oracle import Oracle
from viewfinder.users.person import Person, SpeakingStyle
from viewfinder.users.photographs import PhotoComparer, make_spoken, photo_sentences


def load_user(user: str | SimulatedUser | Callable[..., SimulatedUser], folder: Path, **settings: Any) -> SimulatedUser:
    """The simulated user of this name or class, who knows the pictures of a data folder; or the one that is given.

    A name is one of `USERS`, one of an installed package's, or `package.module:Class`; like a class, the latter are
    called with the folder and the settings.

    Settings are fields of `SpeakingStyle` ("noise", "patience" ...); "vqa" also needs `model`, a hub name or folder;
    "captioner" takes `model`, the file of a captioner, and `decoding`.

    Raises:
        UnknownName: there is no such user or setting; the message lists the known ones.
        BadInput: the folder holds nothing that this user could know, a damaged file, or a setting out of range; or what
            another package provides cannot be imported, or is not a simulated user.
    """
    if isinstance(user, str) and user in USERS:
        return USERS[user](folder, **settings)
    if isinstance(user, str):
        made: SimulatedUser = PLUGINS.load(user, folder, **settings)
    elif isinstance(user, SimulatedUser) and not isinstance(user, type):
        made = PLUGINS.make(user, label_part(user), **settings)
    else:
        made = PLUGINS.make(user, label_part(user), folder, **settings)
    return made


def load_oracle_user(folder: Path, **settings: Any) -> Person:
    """Knows everything that the truth of a world holds."""
    style = style_from_settings("oracle", settings)
    if not (folder / TRUTH_FILE).is_file() and has_captions(folder):
        raise BadInput(
            f"{folder}: photographs, not a world whose truth the user 'oracle' knows; "
            "'annotations' knows their captions"
        )
    truths = read_truth(folder)
    comparer = TruthComparer(truths, seed=style.seed, most=style.verbosity)
    sentences = make_spoken(truth_sentences(truths, seed=style.seed), style.speaks, seed=style.seed)
    return Person(
        partial(SentenceDescriber, sentences),
        answerer=Oracle(truths),
        comparer=comparer, likeness=comparer.likeness, style=style, name="oracle",
    )  # fmt: skip


def load_annotations_user(folder: Path, **settings: Any) -> Person:
    """Knows what captions and boxes say of photographs."""
    return _photo_user("annotations", folder, settings, AnnotationAnswerer)


def load_vqa_user(folder: Path, *, model: str = "", device: str = "cpu", **settings: Any) -> Person:
    """Describes by captions, and answers by looking at the picture with a model; BadInput if no model was named."""
    if not model:
        raise BadInput("the user 'vqa' needs a model that answers: set model to a hub name or a folder")
    from viewfinder.users.vqa import load_vqa

    return _photo_user(
        "vqa", folder, settings,
        lambda notes: load_vqa(model, lambda picture: notes.of(picture).path or folder / picture, device=device),
    )  # fmt: skip


def _photo_user(
    name: str, folder: Path, settings: Mapping[str, Any], answerer: Callable[[AnnotatedPhotos], Answerer]
) -> Person:
    """A user who describes photographs by what people wrote about them."""
    style, notes = style_from_settings(name, settings), read_annotations(folder)
    return photo_person(notes, answerer(notes), style, name=name)


def photo_person(
    notes: AnnotatedPhotos,
    answerer: Answerer | None = None,
    style: SpeakingStyle | None = None,
    name: str = "annotations",
) -> Person:
    """A user who knows photographs by what is written about them (so does `answerer`, by default)."""
    style, comparer = style or SpeakingStyle(), PhotoComparer(notes, style.seed if style else 0)
    sentences = photo_sentences(notes, speaks=style.speaks, seed=style.seed)
    return Person(
        partial(SentenceDescriber, sentences, once=True), answerer=answerer or AnnotationAnswerer(notes),
        comparer=comparer, likeness=comparer.likeness, corrector=comparer.correct, style=style, name=name,
    )  # fmt: skip


def load_captioner_user(folder: Path, **settings: Any) -> Person:
    """Says how the wanted picture differs from the one shown, in the words of a trained captioner (Fashion IQ).

    Looks at one picture and compares, whatever is asked, unless `policy` and `looks_at` are set. The settings model,
    decoding and vectors are those of `captioner.make_captioner_user`.

    Raises:
        BadInput, EncoderMismatch: an unusable file, decoding or folder.
    """
    from viewfinder.users.captioner.captioner import make_captioner_user

    own = {name: settings.pop(name) for name in ("model", "decoding", "vectors") if name in settings}
    style = style_from_settings("captioner", {"policy": "compares", "looks_at": 1, **settings})
    return make_captioner_user(folder, style, **own)


def load_recorded_user(folder: Path, *, dialogues: str = "*", **settings: Any) -> SimulatedUser:
    """Repeats the dialogues of a folder, `dialogues/<name>.json` or `<name>.json`; by default all of them."""
    if settings:
        raise UnknownName(f"the user 'recorded' has no setting {', '.join(sorted(settings))}; there is: dialogues")
    files = sorted((folder / "dialogues").glob(f"{dialogues}.json")) or sorted(folder.glob(f"{dialogues}.json"))
    if not files:
        raise BadInput(
            f"{folder}: no dialogues/{dialogues}.json here; give a folder of dialogues as ChatIR writes them"
        )
    found: dict[str, Sequence[Turn]] = {}
    for file in files:
        for dialogue in read_dialogues(file)[0]:
            if dialogue.image in found:
                known = ", ".join(file.stem for file in files)
                raise BadInput(
                    f"{file}: {dialogue.image} has another dialogue already; choose one by dialogues=: {known}"
                )
            found[dialogue.image] = dialogue_turns(dialogue)
    return RecordedUser(found)


def style_from_settings(name: str, settings: Mapping[str, Any]) -> SpeakingStyle:
    """The speaking style that some settings make.

    Raises:
        UnknownName: there is no such setting.
        BadInput: a setting is out of its range.
    """
    known = [field.name for field in fields(SpeakingStyle)]
    unknown = sorted(set(settings) - set(known))
    if unknown:
        raise UnknownName(f"the user {name!r} has no setting {', '.join(unknown)}; there are: {', '.join(known)}")
    return SpeakingStyle(**settings)


USERS: dict[str, Callable[..., SimulatedUser]] = {
    "oracle": load_oracle_user,
    "annotations": load_annotations_user,
    "recorded": load_recorded_user,
    "vqa": load_vqa_user,
    "captioner": load_captioner_user,
}
"""A simulated user and what makes it, called with a data folder and settings."""
PLUGINS = Plugins("simulated user", "viewfinder.users", SimulatedUser, USERS)
