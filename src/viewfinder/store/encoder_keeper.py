"""Several encoders in one library: one is built beside another, switched to when it has all pictures, moved, forgotten.

All of it is written down before it begins (`library.json`), made in batches that survive a crash, and switched by one
replacement of that file: whatever is killed in between, the space before is the active one, and the next `add` goes on.
Whoever calls holds the library for writing, but for `describe_all`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from viewfinder.encoders import name_encoder
from viewfinder.encoders.base import Encoder
from viewfinder.errors import BadInput, EncoderMismatch, LibraryError, UnknownName, ViewfinderError
from viewfinder.store.kept_encoders import (
    Sameness,
    compare_encoder,
    describe_encoder,
    explain_lacking,
    explain_mismatch,
    fill_vectors,
    list_lacking,
    take_recognised,
)
from viewfinder.store.reports import AddReport, Progress
from viewfinder.store.settings import STARTER, KeptEncoder, Settings, activate, put_other, replace_active
from viewfinder.store.spaces import accepts, build_space, complete_space, find_lacking
from viewfinder.store.store import Store


@dataclass(frozen=True)
class EncoderInfo:
    """An encoder of a library, for people and programs.

    Attributes:
        name: as `use`, `forget` and `move` take it; of a local folder its absolute path.
        is_active: whether the library is searched with it.
        pictures: those of which there are vectors.
        lacking: those with files that have none yet.
        version: identifies the raw vectors.
        commit: of the hub, if it is pinned.
        is_wanted: whether it becomes the active one once nothing is lacking.
    """

    name: str
    is_active: bool
    pictures: int
    lacking: int
    version: str | None
    commit: str | None
    is_wanted: bool


class Keeping(Protocol):
    """A library as this file needs it."""

    @property
    def store(self) -> Store:
        """Its store."""

    @property
    def settings(self) -> Settings:
        """What stands in `library.json`."""

    def save(self, settings: Settings) -> None:
        """Replaces that."""

    def load(self, kept: KeptEncoder) -> Encoder:
        """An encoder as it is kept, loaded."""

    def reads_alike(self, kept: KeptEncoder, encoder: Encoder) -> bool | None:
        """Whether an encoder reads words as the kept one did; None: not known."""


class EncoderKeeper:
    """The encoders of one library."""

    def __init__(self, library: Keeping) -> None:
        self.library = library

    @property
    def _store(self) -> Store:
        return self.library.store

    @property
    def _settings(self) -> Settings:
        return self.library.settings

    # -- the active one

    def check_active(self, encoder: Encoder, *, takes_words: bool = False) -> None:
        """Makes sure that the active encoder is the one of the active space, and renews that if only its head is new.

        `takes_words`: also where it reads words otherwise than before.

        Raises:
            EncoderMismatch: it is another model.
        """
        kept = self._settings.active
        sameness = compare_encoder(self._store, kept, encoder, self.library.reads_alike)
        if sameness is Sameness.SAME:
            return
        if sameness is Sameness.RENEWED:  # of all raw vectors there are: no picture that was searched is lost
            build_space(self._store, encoder)
            self.library.save(replace(self._settings, space=encoder.version))
        elif sameness is Sameness.RECOGNISED or (takes_words and sameness is Sameness.OTHER_WORDS):
            self.library.save(replace_active(self._settings, take_recognised(self._store, kept, encoder)))
        else:
            raise explain_mismatch(kept, encoder, sameness)

    def describe_active(self, encoder: Encoder) -> None:
        """Notes the pin of the active encoder, and how it reads words, unless they are there and as they were."""
        settings = self._settings
        if settings.encoder == STARTER:
            return
        described = describe_encoder(settings.active, encoder)
        if described != settings.active:
            self.library.save(replace_active(settings, described))

    def find_reader(self, *, is_other_wanted: bool) -> Encoder:
        """The encoder that reads new pictures: the active one, or the one that is wanted if that is another model now.

        Raises EncoderMismatch.
        """
        try:
            encoder = self.library.load(self._settings.active)
            self.check_active(encoder)
            self.describe_active(encoder)
        except ViewfinderError:
            kept = next((one for one in self._settings.others if one.is_wanted), None)
            if kept is None or not is_other_wanted:
                raise
            return self.library.load(kept)
        return encoder

    # -- the others

    def want(self, name: str) -> None:
        """Notes that the library is to be searched with an encoder once it has all pictures: one of its own, or a new
        one, or the active one of which the model was replaced.

        Raises:
            BadInput: there is no such encoder; else as `load_encoder`.
        """
        settings = self._settings
        found = self._find(name, strict=True)
        kept = KeptEncoder(name) if found is None else found
        encoder = self.library.load(kept)
        active = settings.active
        if kept.encoder == active.encoder:
            try:
                self.check_active(encoder, takes_words=True)
            except EncoderMismatch:
                kept = replace(KeptEncoder(active.encoder), pin=active.pin)
            else:
                self._forget_wishes()
                return
        elif found is not None and not accepts(kept, encoder):
            kept = self._renew(kept, encoder)
        kept = describe_encoder(kept, encoder)
        if self._store.is_empty():
            self.library.save(replace_active(settings, kept))
            return
        self._forget_wishes()
        self.library.save(put_other(self._settings, replace(kept, is_wanted=True)))

    def _renew(self, kept: KeptEncoder, encoder: Encoder) -> KeptEncoder:
        """What is kept of one of the others whose model was replaced: what it made before, if it still would."""
        sameness = compare_encoder(self._store, kept, encoder, self.library.reads_alike)
        if sameness in (Sameness.RECOGNISED, Sameness.OTHER_WORDS):
            return take_recognised(self._store, kept, encoder)
        if sameness in (Sameness.OTHER, Sameness.UNTOLD):
            return replace(KeptEncoder(kept.encoder), pin=kept.pin)
        return kept

    def _forget_wishes(self) -> None:
        settings = self._settings
        # What was made of a model that replaces the active one's stays in the tables: wanted again, it goes on there.
        others = tuple(replace(one, is_wanted=False) for one in settings.others if one.encoder != settings.encoder)
        if others != settings.others:
            self.library.save(replace(settings, others=others))

    def want_starter(self) -> None:
        """Notes that the starter's raw vectors are kept beside those of another encoder, unless they are not wanted."""
        settings = self._settings
        if settings.without_starter or STARTER in (settings.encoder, *(one.encoder for one in settings.others)):
            return
        starter = self.library.load(KeptEncoder(STARTER))
        if settings.raw != starter.raw_version:
            self.library.save(put_other(settings, KeptEncoder(STARTER, raw=starter.raw_version)))

    def load_others(self, reader: Encoder, report: AddReport) -> Iterator[Encoder]:
        """The other encoders that make vectors of new pictures, besides `reader`; one that cannot is noted."""
        spaces = {reader.raw_version}
        for kept in self._settings.others:
            if (encoder := self._load(kept, report)) is not None and encoder.raw_version not in spaces:
                spaces.add(encoder.raw_version)
                yield encoder

    def _load(self, kept: KeptEncoder, report: AddReport) -> Encoder | None:
        """An encoder that made what is kept of it; None, with a note: it cannot be loaded, or is another model."""
        try:
            encoder = self.library.load(kept)
            if not accepts(kept, encoder):
                sameness = compare_encoder(self._store, kept, encoder, self.library.reads_alike)
                if sameness is Sameness.RECOGNISED:
                    self.library.save(put_other(self._settings, take_recognised(self._store, kept, encoder)))
                elif sameness is not Sameness.RENEWED:
                    raise explain_mismatch(kept, encoder, sameness)
        except ViewfinderError as error:
            line = f"{kept.encoder} gets no vectors of new pictures: {error}"
            if line not in report.notes:
                report.notes.append(line)
            return None
        return encoder

    def complete(
        self,
        report: AddReport,
        *,
        workers: int | None = None,
        progress: Progress | None = None,
        should_stop: Callable[[], bool] = lambda: False,
    ) -> None:
        """Makes what vectors the library's encoders lack, and switches to the one that is wanted if it lacks none."""
        settings = self._settings
        for name in (settings.encoder, *(one.encoder for one in settings.others)):
            # One of the name of the active encoder is its model that was replaced.
            kept = next((one for one in self._settings.others if one.encoder == name), self._settings.active)
            is_active = kept.encoder == settings.encoder and not kept.is_wanted
            raw = kept.raw or (None if not is_active else kept.space)
            lacking = [] if raw is None else list_lacking(self._store, raw)
            if not lacking and not kept.is_wanted:
                continue
            if (encoder := self._load(kept, report)) is None:
                continue
            lacking = list_lacking(self._store, encoder.raw_version)
            filled = fill_vectors(
                self._store, encoder, lacking, is_searched=is_active, workers=workers, progress=progress,
                should_stop=should_stop,
            )  # fmt: skip
            if is_active:
                self._project(encoder)
            if filled.made:
                report.notes.append(f"{name}: vectors of {filled.made:,} pictures that were here before")
            if should_stop():
                report.stopped = True
                return
            still = list_lacking(self._store, encoder.raw_version)
            if still:
                report.notes.append(explain_lacking(name, still, filled.left_out))
            elif kept.is_wanted:
                kept = next(one for one in self._settings.others if one.encoder == name)
                self._activate(kept, encoder)
                report.notes.append(f"searched with {name} from now on; {settings.encoder} stays beside it")

    def use(self, name: str, *, progress: Progress | None = None) -> None:
        """Switches to another encoder of the library, after its vectors of all pictures are made.

        Raises:
            UnknownName: it has no such encoder. EncoderMismatch: its model was replaced.
            LibraryError: it lacks pictures whose files are not there.
        """
        kept = self._find_known(name)
        self._forget_wishes()
        if kept == self._settings.active:
            return
        encoder = self.library.load(kept)
        if not accepts(kept, encoder):
            sameness = compare_encoder(self._store, kept, encoder, self.library.reads_alike)
            if sameness is Sameness.RECOGNISED:
                kept = take_recognised(self._store, kept, encoder)
            elif sameness is not Sameness.RENEWED:
                raise explain_mismatch(kept, encoder, sameness)
        lacking = list_lacking(self._store, encoder.raw_version)
        filled = fill_vectors(self._store, encoder, lacking, progress=progress)
        if still := list_lacking(self._store, encoder.raw_version):
            raise LibraryError(explain_lacking(kept.encoder, still, filled.left_out))
        self._activate(describe_encoder(kept, encoder), encoder)

    def _activate(self, kept: KeptEncoder, encoder: Encoder) -> None:
        """Switches to an encoder that has raw vectors of all pictures. Raises LibraryError: it lacks some."""
        if still := list_lacking(self._store, encoder.raw_version):
            raise LibraryError(explain_lacking(kept.encoder, still, ()))
        self._project(encoder)
        self.library.save(activate(self._settings, replace(kept, space=encoder.version)))

    def _project(self, encoder: Encoder) -> None:
        """Completes the space that an encoder makes of its raw vectors."""
        if encoder.version == encoder.raw_version or self._store.is_empty():
            return
        if encoder.version not in self._store.spaces():
            build_space(self._store, encoder)
        elif lacking := find_lacking(self._store, encoder.version):
            with_raw = self._store.ids_with_vectors(encoder.raw_version)
            complete_space(self._store, encoder.version, encoder, [row for row in lacking if row.id in with_raw])

    def forget(self, name: str) -> str:
        """Forgets an encoder of the library, and its vectors; returns its name.

        Raises:
            UnknownName: it has no such encoder. BadInput: the library is searched with it.
        """
        kept, settings = self._find_known(name), self._settings
        if kept == settings.active:
            raise BadInput(
                f"the library is searched with {kept.encoder}: `viewfinder encoder use` another one, then forget it"
            )
        stay = {space for one in (settings.active, *settings.others) if one != kept for space in _list_spaces(one)}
        self._store.forget_spaces(sorted(_list_spaces(kept) - stay))
        others = tuple(one for one in settings.others if one != kept)
        without = settings.without_starter or kept.encoder == STARTER
        self.library.save(replace(settings, others=others, without_starter=without))
        return kept.encoder

    def move(self, name: str, place: str) -> str:
        """Says where an encoder lies now: a folder, or a name on the hub; returns its new name.

        Raises:
            UnknownName: the library has no such encoder. EncoderMismatch: what lies there is another model.
        """
        kept, settings = self._find_known(name), self._settings
        moved = replace(kept, encoder=name_encoder(place), pin=None)
        encoder = self.library.load(moved)
        sameness = compare_encoder(self._store, kept, encoder, self.library.reads_alike)
        if sameness not in (Sameness.SAME, Sameness.RENEWED, Sameness.RECOGNISED):
            raise EncoderMismatch(
                f"{moved.encoder} is not the model {kept.encoder} that made this library's vectors: {sameness.value}; "
                f"nothing was changed, `viewfinder add --encoder {moved.encoder}` adds it beside the others"
            )
        if sameness is Sameness.RECOGNISED:
            moved = take_recognised(self._store, moved, encoder)
        moved = describe_encoder(moved, encoder)
        if kept == settings.active:
            self.library.save(replace_active(settings, moved))
        else:
            others = tuple(one for one in settings.others if one.encoder not in (kept.encoder, moved.encoder))
            self.library.save(replace(settings, others=(*others, moved)))
        return moved.encoder

    # -- looking

    def describe_all(self) -> list[EncoderInfo]:
        """The encoders of the library, the active one first."""
        settings, spaces = self._settings, self._store.spaces()
        rows = {row.id for row in self._store.rows() if row.files}
        found = []
        for kept in (settings.active, *settings.others):
            is_active = kept is not None and kept.encoder == settings.encoder and not kept.is_wanted
            space = kept.raw if kept.raw in spaces else kept.space
            there = set() if space is None else self._store.ids_with_vectors(space) & rows
            commit = None if kept.pin is None else kept.pin.commit
            found.append(
                EncoderInfo(
                    kept.encoder, is_active, len(there), len(rows) - len(there), kept.raw or kept.space, commit,
                    kept.is_wanted,
                )
            )  # fmt: skip
        return found

    def _find_known(self, name: str) -> KeptEncoder:
        found = self._find(name)
        if found is None:
            known = ", ".join(one.encoder for one in (self._settings.active, *self._settings.others))
            raise UnknownName(f"this library has no encoder {name!r}; there are: {known}")
        return found

    def _find(self, name: str, *, strict: bool = False) -> KeptEncoder | None:
        """The encoder of this name or folder; unless `strict`, the last name of a folder is enough where it is one."""
        every = (self._settings.active, *self._settings.others)
        # Its folder may be gone, which is why it is moved: a path means the same as while it was there.
        for wanted in (name, name_encoder(name), os.path.abspath(Path(name).expanduser())):  # noqa: PTH100 (links stay)
            # A path that an earlier viewfinder kept as it was typed may name the same folder here.
            if found := [one for one in every if wanted in (one.encoder, name_encoder(one.encoder))]:
                return found[0]
        short = [one for one in every if Path(one.encoder).name == name]
        return short[0] if len(short) == 1 and not strict else None


def _list_spaces(kept: KeptEncoder) -> set[str]:
    """All spaces that an encoder of a library has made."""
    previous = None if kept.previous is None else kept.previous[0]
    return {space for space in (kept.raw, kept.space, previous, *kept.known_as) if space is not None}
