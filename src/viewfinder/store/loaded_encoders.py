"""The encoders of a library in this process: each is loaded once, as `library.json` names it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from viewfinder.encoders import PLUGINS, Encoder
from viewfinder.errors import ViewfinderError
from viewfinder.plugins import is_place_of_class
from viewfinder.store.settings import STARTER, KeptEncoder, Settings
from viewfinder.store.spaces import is_sound_head
from viewfinder.store.tables import explain_damage

Key = tuple[object, ...]


class LoadedEncoders:
    """The encoders of the library in `folder`, by all that identifies what is to be loaded."""

    def __init__(self, folder: Path, load_encoder: Callable[..., Encoder]) -> None:
        self._folder, self._load_encoder = folder, load_encoder
        self._encoders: dict[Key, Encoder] = {}

    def load(self, kept: KeptEncoder) -> Encoder:
        """An encoder of the library; only a new one is looked for on the hub. Raises DamagedLibrary, BadInput."""
        key = _key_encoder(kept)
        if (encoder := self._encoders.get(key)) is not None:
            return encoder
        file = None if kept.head is None else self._folder / kept.head
        if file is not None and not is_sound_head(file):
            raise explain_damage(self._folder, f"{kept.head} is missing, or not as it was written")
        if kept.pin is not None:
            encoder = self._load_encoder(kept.encoder, head_file=file, pin=kept.pin)
        elif (kept.raw is None and kept.space is None) or _is_in_package(kept.encoder):
            encoder = self._load_encoder(kept.encoder, head_file=file)
        else:  # of an earlier viewfinder: a folder's path as it was typed may be a stranger's name on the hub
            encoder = self._load_encoder(kept.encoder, head_file=file, may_fetch=False)
        self._encoders[key] = encoder
        return encoder

    def load_networks(self, settings: Settings, wanted: str | None) -> None:
        """Loads the networks that read pictures for an `add`, as far as they can be loaded.

        `wanted`: the encoder to be searched with from then on, if it is another one.
        """
        try:
            self.load(settings.active).pictures([])
        except ViewfinderError:
            if wanted is None:
                raise
        if wanted is not None and wanted != settings.encoder:
            kept = next((one for one in settings.others if one.encoder == wanted), KeptEncoder(wanted))
            self.load(kept).pictures([])

    def take(self, kept: KeptEncoder, encoder: Encoder) -> None:
        """Goes on with an encoder that is loaded already."""
        self._encoders[_key_encoder(kept)] = encoder

    def keep_pinned(self, settings: Settings) -> None:
        """Those that have just been pinned are those that are loaded."""
        for kept in (settings.active, *settings.others):
            unpinned = _key_encoder(replace(kept, pin=None))
            if unpinned in self._encoders:
                self._encoders.setdefault(_key_encoder(kept), self._encoders[unpinned])

    def keep_named(self, settings: Settings) -> None:
        """Lets go of encoders that these settings do not name."""
        named = {_key_encoder(kept) for kept in (settings.active, *settings.others)}
        self._encoders = {key: encoder for key, encoder in self._encoders.items() if key in named}


def _key_encoder(kept: KeptEncoder) -> Key:
    return kept.encoder, kept.head, None if kept.pin is None else (kept.pin.folder, kept.pin.commit)


def _is_in_package(name: str) -> bool:
    """Whether an encoder is no folder, nor of the hub."""
    return name == STARTER or is_place_of_class(name) or name in PLUGINS.names()
