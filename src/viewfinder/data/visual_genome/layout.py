"""Where Drill-down's layout has what: folders of one file a picture, and caches with lists.

rg_jsons/<id>.json          region descriptions
sg_xmls/<id>.xml            scene graphs
region_36_final/<id>.npy    36 region vectors, ids with 12 digits
global_features/<id>.npy    one vector a picture, ids with 12 digits
images/ VG_100K/ VG_100K_2/ the pictures, <id>.jpg, with or without leading zeros
caches/                     split lists, class lists, the vocabulary; here, beside the folder, or in data/

All but the first and the split lists may be absent. The folders lie in the given one, in `vg/` or in `data/vg/`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from viewfinder.data.files import need_folder
from viewfinder.errors import BadInput, UnknownName

SPLITS = ("train", "val", "test")
OBJECT_LIST = "vg_objects_vocab_1600.txt"
VOCABULARY = "vg_vocab_14284.pkl"


@dataclass(frozen=True)
class Layout:
    """The two folders of a data set; `caches` may not be there."""

    root: Path
    caches: Path

    def regions(self, picture: int) -> Path:
        """The region descriptions of a picture."""
        return self.root / "rg_jsons" / f"{picture}.json"

    @property
    def scene_graphs(self) -> Path:
        """The folder of scene graphs; it may not be there."""
        return self.root / "sg_xmls"

    def scene_graph(self, picture: int) -> Path:
        """The scene graph of a picture."""
        return self.scene_graphs / f"{picture}.xml"

    def region_features(self, picture: int) -> Path:
        """The region vectors of a picture."""
        return self.root / "region_36_final" / f"{picture:012d}.npy"

    def global_feature(self, picture: int) -> Path:
        """The one vector of a picture."""
        return self.root / "global_features" / f"{picture:012d}.npy"

    def split(self, name: str) -> Path:
        """The list of picture ids of a split.

        Raises:
            UnknownName: no such split.
        """
        if name not in self.splits():
            there = ", ".join(self.splits()) or "none"
            raise UnknownName(f"{self.caches}: no list vg_{name}.txt here, so no split {name!r}; there are: {there}")
        return self.caches / f"vg_{name}.txt"

    def splits(self) -> tuple[str, ...]:
        """The splits that have a list."""
        return tuple(name for name in SPLITS if (self.caches / f"vg_{name}.txt").is_file())

    def pictures(self) -> dict[int, Path] | None:
        """Every picture by its id; None where there is no folder of pictures."""
        folders = [folder for name in ("VG_100K_2", "VG_100K", "images") if (folder := self.root / name).is_dir()]
        files = (file for folder in folders for file in folder.iterdir())
        found = {int(file.stem): file for file in files if file.suffix == ".jpg" and file.stem.isdecimal()}
        return found if folders else None


def list_splits(folder: Path) -> tuple[str, ...]:
    """The splits of a folder; none where it is not one of Visual Genome."""
    root = _root(folder)
    return () if root is None else Layout(root, _caches(folder, root)).splits()


def find_layout(folder: Path) -> Layout:
    """The layout in `folder`.

    Raises:
        BadInput: no such folder, or no region descriptions in it.
    """
    root = _root(need_folder(folder))
    if root is None:
        raise BadInput(f"{folder}: no rg_jsons/ here, in vg/ or in data/vg/, so this is not Visual Genome")
    return Layout(root, _caches(folder, root))


def _root(folder: Path) -> Path | None:
    places = (folder, folder / "vg", folder / "data" / "vg")
    return next((place for place in places if (place / "rg_jsons").is_dir()), None)


def _caches(folder: Path, root: Path) -> Path:
    places = (folder / "caches", folder / "data" / "caches", root / "caches", root.parent / "caches")
    return next((place for place in places if place.is_dir()), places[0])
