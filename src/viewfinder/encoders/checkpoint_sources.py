"""Where a checkpoint lies: in a folder, or on the hub. Whatever goes wrong while it is loaded becomes one line.

A folder is of transformers, of open_clip, or of sentence-transformers around a CLIP.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path, PurePosixPath
from typing import Any

from viewfinder.encoders.families import open_clip
from viewfinder.encoders.origins import Pin
from viewfinder.errors import BadInput, ViewfinderError

MODULES = "modules.json"
"""In a model of sentence-transformers, the list of its parts."""


@dataclass(frozen=True)
class CheckpointSource:
    """The place of a checkpoint: a folder (or a .gguf file in it), or a name on the hub."""

    name: str
    folder: Path | None
    commit: str | None = None  # on the hub: as pinned, or once a config was read
    gguf: str | None = None
    may_fetch: bool = True  # from the hub; else what is in its cache

    @property
    def location(self) -> str:
        """The name or path that transformers is given."""
        return self.name if self.folder is None else str(self.folder)

    @property
    def called(self) -> str:
        """The name by which the user knows it."""
        return self.location if self.gguf is None else f"{self.location}/{self.gguf}"

    @property
    def options(self) -> dict[str, Any]:
        """Arguments of every `from_pretrained`: a folder never asks the hub, foreign code is never run."""
        own = {"local_files_only": self.is_local, "trust_remote_code": False, "revision": self.commit}
        return own if self.gguf is None else {**own, "gguf_file": self.gguf}

    @property
    def is_local(self) -> bool:
        """Whether nothing is fetched."""
        return self.folder is not None or not self.may_fetch

    @property
    def way_out(self) -> str:
        """Advice for a user where something cannot be loaded."""
        if self.folder is None and not self.may_fetch:
            return f"if it is a folder, `viewfinder encoder move {self.name} FOLDER` says where it lies"
        if self.folder is not None:
            return "give a complete folder, as save_pretrained of the model and what prepares its inputs write it"
        return "check the name and the network (and HF_HUB_OFFLINE), or give a local folder"

    def file(self, name: str) -> Path | None:
        """One file of the checkpoint, fetched if necessary; None if there is none (or, offline, none cached)."""
        from transformers.utils.hub import cached_file

        found = cached_file(
            self.location,
            name,
            revision=self.commit,
            local_files_only=self.is_local,
            _raise_exceptions_for_missing_entries=False,
            _raise_exceptions_for_connection_errors=False,
        )
        return None if found is None else Path(found)


def find_checkpoint(name_or_path: str, pin: Pin | None = None) -> CheckpointSource:
    """A folder if there is one of that name, else a name on the hub; with a `pin`, what it says.

    Raises:
        BadInput: it is a file, a folder that does not exist, or not a possible name.
    """
    if pin is not None and pin.folder is None and pin.commit is not None:
        return CheckpointSource(name_or_path, None, pin.commit)
    path = Path(name_or_path).expanduser()
    if not name_or_path:
        raise BadInput("the encoder's name is empty: give a model folder, or a hub name such as owner/model")
    if path.is_dir():
        inner = path if (path / "config.json").is_file() else _find_inner(path)
        return CheckpointSource(path.resolve().name, inner)
    if path.is_file():
        raise BadInput(f"{path} is a file: give the model folder around it, or a hub name such as owner/model")
    if name_or_path.startswith(("/", ".", "~")) or name_or_path.count("/") > 1 or "\\" in name_or_path:
        raise BadInput(f"there is no folder {path}: give a model folder, or a hub name such as owner/model")
    return CheckpointSource(name_or_path, None)


def _find_inner(folder: Path) -> Path:
    """Where the model lies in a folder without a config.json: of open_clip, or of sentence-transformers.

    Raises:
        BadInput: there is none, or none that can be used; the line says what is there instead.
    """
    if (folder / open_clip.SETTINGS).is_file():
        return folder
    if (folder / MODULES).is_file():
        return _find_module(folder)
    if any((folder / name).is_file() for name in open_clip.WEIGHT_FILES):
        raise BadInput(f"{folder} has weights of open_clip, and no {open_clip.SETTINGS}: fetch that file too")
    raise BadInput(f"{folder} is no model folder (no config.json): give the folder that save_pretrained wrote")


def _find_module(folder: Path) -> Path:
    """The folder of the CLIP in a model of sentence-transformers, which lists its parts in modules.json."""
    try:
        listed = json.loads((folder / MODULES).read_text(encoding="utf-8"))
        parts = [(str(one["type"]).rpartition(".")[2], str(one.get("path", ""))) for one in listed]
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise BadInput(f"{folder}/{MODULES} cannot be read ({type(error).__name__}): fetch the folder again") from error
    places = [path for kind, path in parts if kind == "CLIPModel"]
    if len(parts) != 1 or not places or ".." in PurePosixPath(places[0]).parts:
        kinds = ", ".join(kind for kind, _ in parts[:5]) or "nothing"
        raise BadInput(
            f"{folder} is a model of sentence-transformers of {kinds}: "
            "only one of a CLIPModel alone reads pictures and words"
        )
    if not (folder / places[0] / "config.json").is_file():
        raise BadInput(f"{folder} is not whole ({places[0]}/config.json is missing): fetch the folder again")
    return folder / places[0]


@contextmanager
def explain_failures(source: CheckpointSource, part: str) -> Iterator[None]:
    """Turns whatever goes wrong inside into one line: transformers raises a dozen types, some with many lines."""
    try:
        yield
    except ViewfinderError:
        raise
    except Exception as error:
        lines = str(error).strip().splitlines() or [type(error).__name__]
        raise BadInput(f"{source.called}: cannot load {part} ({lines[0][:200]}): {source.way_out}") from error


@contextmanager
def silence_transformers() -> Iterator[None]:
    """No reports, retries or loading bars on stderr: what matters is raised. Downloads keep their bars."""
    import huggingface_hub.utils.logging as hub_log
    import transformers.utils.logging as log

    gguf: Any = import_module("transformers.modeling_gguf_pytorch_utils")
    bar, gguf.tqdm = gguf.tqdm, lambda items, **options: items  # a bar that the hook does not see
    before, hub_before = log.get_verbosity(), hub_log.get_verbosity()
    bars = log.set_tqdm_hook(lambda make, args, options: make(*args, **{**options, "disable": True}))
    log.set_verbosity(logging.ERROR)
    hub_log.set_verbosity(logging.ERROR)
    try:
        yield
    finally:
        gguf.tqdm = bar
        log.set_tqdm_hook(bars)
        log.set_verbosity(before)
        hub_log.set_verbosity(hub_before)
