"""Drill-down's layout of Visual Genome (Krishna et al. 2017): region descriptions as it reads them, and scene graphs.

rg_jsons/<id>.json          region descriptions
sg_xmls/<id>.xml            scene graphs
region_36_final/<id>.npy    36 region vectors, ids with 12 digits
global_features/<id>.npy    one vector per picture, ids with 12 digits
images/ VG_100K/ VG_100K_2/ the pictures, <id>.jpg, with or without leading zeros
caches/                     split lists, class lists, the vocabulary; here, beside the folder, or in data/

All but the first and the split lists may be absent. The folders are in the given one, in `vg/` or in `data/vg/`.

The published region_descriptions.json serves in place of the first. With it the lists may be absent too: pictures are
then split by the hash of their ids. It is read picture by picture, as it is larger than many memories:

[{"regions": [{"region_id": 1382, "width": 82, "height": 139, "image_id": 1, "phrase": "the clock is green in colour",
               "y": 57, "x": 421}, ...], "id": 1}, ...]

A picture's captions are its region descriptions: lower-cased, without exact repeats, by region id. Pictures
with fewer than ten, or without a thing of the object list, are left out (Tan et al., NeurIPS 2019, and its code).

A scene graph is XML, one file per picture:

<annotation>
  <image_id>7</image_id> <width>640</width> <height>480</height>
  <object> <name>kite</name> <object_id>11</object_id> <attribute>red</attribute> ...
    <bndbox> <xmin>3</xmin> <ymin>4</ymin> <xmax>93</xmax> <ymax>64</ymax> </bndbox> </object>
  <relation> <relationship_id>2</relationship_id> <subject_id>11</subject_id> <object_id>12</object_id>
    <predicate>over</predicate> </relation>
</annotation>
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from viewfinder.data.files import (
    Dropped,
    ReadReport,
    need_field,
    need_folder,
    read_json,
    read_json_records,
    read_text,
)
from viewfinder.data.splits import SPLITS, split_of
from viewfinder.errors import BadInput, UnknownName

Value = TypeVar("Value")

Box = tuple[float, float, float, float]
"""Left, top, right, bottom in pixels."""


@dataclass(frozen=True, slots=True)
class SceneObject:
    """One thing in a picture; name and attributes are lower-case, `box` is left, top, right, bottom."""

    name: str
    object_id: int
    box: Box
    attributes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SceneRelation:
    """`subject_id` stands in the relation `predicate` to `object_id`; both are ids of objects."""

    relationship_id: int
    subject_id: int
    object_id: int
    predicate: str


@dataclass(frozen=True, slots=True)
class SceneGraph:
    """The things in a picture of `width` x `height` pixels, and how they relate."""

    image_id: int
    width: int
    height: int
    objects: tuple[SceneObject, ...] = ()
    relations: tuple[SceneRelation, ...] = ()


def scene_graph_xml(graph: SceneGraph) -> str:
    """The graph as the text of `sg_xmls/<image_id>.xml`; `read_scene_graph` reads it back."""
    root = ET.Element("annotation")
    _add(root, image_id=graph.image_id, width=graph.width, height=graph.height)
    for thing in graph.objects:
        element = ET.SubElement(root, "object")
        _add(element, name=thing.name, object_id=thing.object_id)
        for attribute in thing.attributes:
            _add(element, attribute=attribute)
        _add(ET.SubElement(element, "bndbox"), **dict(zip(_CORNERS, thing.box, strict=True)))
    for relation in graph.relations:
        _add(ET.SubElement(root, "relation"), **asdict(relation))
    ET.indent(root)
    return ET.tostring(root, encoding="unicode") + "\n"


_CORNERS = ("xmin", "ymin", "xmax", "ymax")


def _add(parent: ET.Element, **fields: str | int | float) -> None:
    for tag, value in fields.items():
        whole = isinstance(value, float) and value.is_integer()
        ET.SubElement(parent, tag).text = str(int(value) if whole else value)


def read_scene_graph(path: Path) -> SceneGraph:
    """The whole graph in an XML file; `keep_known` leaves out what Drill-down leaves out.

    Image id, width and height may stand at any depth. A relation without a predicate is left out.
    """
    root = _parse(path)
    fields = {tag: _number(path, root, ".//" + tag, int) for tag in ("image_id", "width", "height")}
    told = [element for element in root.findall("relation") if (element.findtext("predicate") or "").strip()]
    relations = tuple(
        SceneRelation(
            **{name: _number(path, element, name, int) for name in ("relationship_id", "subject_id", "object_id")},
            predicate=_text(path, element, "predicate").lower(),
        )
        for element in told
    )
    return SceneGraph(
        **fields, objects=tuple(_object(path, one) for one in root.findall("object")), relations=relations
    )


def keep_known(graph: SceneGraph, names: Collection[str] | None) -> SceneGraph:
    """Reduces a graph to the objects whose name is listed (None: every name), with boxes cut to the picture.

    Objects whose box lies outside are dropped together with their relations.
    """
    kept: list[SceneObject] = []
    for thing in graph.objects:
        left, top, right, bottom = thing.box
        box = max(0.0, left), max(0.0, top), min(graph.width - 1.0, right), min(graph.height - 1.0, bottom)
        if (names is None or thing.name in names) and box[0] <= box[2] and box[1] <= box[3]:
            kept.append(replace(thing, box=box))
    ids = {thing.object_id for thing in kept}
    relations = tuple(one for one in graph.relations if {one.subject_id, one.object_id} <= ids)
    return replace(graph, objects=tuple(kept), relations=relations)


def read_classes(path: Path) -> frozenset[str]:
    """The names in a class list: one class per line, its names separated by commas."""
    return frozenset(name.strip().lower() for line in read_text(path).splitlines() for name in line.split(","))


def _parse(path: Path) -> ET.Element:
    from defusedxml.common import DefusedXmlException
    from defusedxml.ElementTree import fromstring

    try:
        root: ET.Element = fromstring(read_text(path))
    except ET.ParseError as error:
        raise BadInput(f"{path}: damaged XML ({error}); fetch or write the file again") from error
    except DefusedXmlException as error:
        raise BadInput(f"{path}: this XML declares entities, which data has no need of; it is not read") from error
    return root


def _object(path: Path, element: ET.Element) -> SceneObject:
    number = _number(path, element, "object_id", int)
    left, top, right, bottom = (_number(path, element, f"bndbox/{corner}", float) for corner in _CORNERS)
    attributes = ((attribute.text or "").strip().lower() for attribute in element.findall("attribute"))
    return SceneObject(
        name=_text(path, element, "name").lower(),
        object_id=number,
        box=(left, top, right, bottom),
        attributes=tuple(attribute for attribute in attributes if attribute),
    )


def _text(path: Path, element: ET.Element, field: str) -> str:
    text = (element.findtext(field) or "").strip()
    if not text:
        raise BadInput(
            f"{path}: {_read_name(element)} has no {field.removeprefix('.//')!r}; fetch or write the file again"
        )
    return text


def _read_name(element: ET.Element) -> str:
    """The element as a message names it: by its id, if it has one."""
    key = {"object": "object_id", "relation": "relationship_id"}.get(element.tag, "")
    number = (element.findtext(key) or "").strip() if key else ""
    return f"{element.tag} {number}" if number else f"<{element.tag}>"


def _number(path: Path, element: ET.Element, field: str, kind: Callable[[str], Value]) -> Value:
    text = _text(path, element, field)
    try:
        return kind(text)
    except ValueError:
        what = "a whole number" if kind is int else "a number"
        raise BadInput(
            f"{path}: {_read_name(element)} needs {what} as {field.removeprefix('.//')!r}; it has {text!r}"
        ) from None


OBJECT_LIST = "vg_objects_vocab_1600.txt"
VOCABULARY = "vg_vocab_14284.pkl"


PICTURES = ("VG_100K_2", "VG_100K", "images/VG_100K_2", "images/VG_100K", "images2/VG_100K_2", "images")
"""Where pictures are looked for; if one is in several, the last counts."""

REGION_FILE = "region_descriptions.json"


@dataclass(frozen=True)
class Layout:
    """The two folders of a data set, of which `caches` may be missing; and the file of all regions, if it counts."""

    root: Path
    caches: Path
    regions: Path | None = None

    def region_features(self, picture: int) -> Path:
        """The region vectors of a picture."""
        return self.root / "region_36_final" / f"{picture:012d}.npy"

    def global_feature(self, picture: int) -> Path:
        """The one vector of a picture."""
        return self.root / "global_features" / f"{picture:012d}.npy"

    def split(self, name: str) -> Path:
        """The list of picture ids of a split; UnknownName if there is none."""
        if name not in self.splits():
            there = ", ".join(self.splits()) or "none"
            raise UnknownName(f"{self.caches}: no list vg_{name}.txt here, so no split {name!r}; there are: {there}")
        return self.caches / f"vg_{name}.txt"

    def splits(self) -> tuple[str, ...]:
        """The splits that have a list."""
        return tuple(name for name in SPLITS if (self.caches / f"vg_{name}.txt").is_file())

    def pictures(self) -> dict[int, Path] | None:
        """Every picture by its id; None if there is no folder of pictures."""
        folders = [folder for name in PICTURES if (folder := self.root / name).is_dir()]
        files = (file for folder in folders for file in folder.iterdir())
        found = {int(file.stem): file for file in files if file.suffix == ".jpg" and file.stem.isdecimal()}
        return found if folders else None


def list_splits(folder: Path) -> tuple[str, ...]:
    """The splits of a folder; none if it is not Visual Genome's."""
    layout = _layout(folder)
    if layout is None:
        return ()
    return layout.splits() or (SPLITS if layout.regions is not None else ())


def has_split_lists(folder: Path) -> bool:
    """Whether a folder is Visual Genome's, and lists the pictures of its splits."""
    layout = _layout(folder)
    return layout is not None and bool(layout.splits())


def describe_regions(folder: Path) -> str:
    """What a folder has of Visual Genome's region descriptions, for messages; "" if it has none."""
    layout = _layout(folder)
    if layout is None:
        return ""
    here, what = len(layout.pictures() or ()), "rg_jsons/" if layout.regions is None else REGION_FILE
    lists = "by their lists" if layout.splits() else "by the hash of their ids"
    advice = ", ".join(f"--split {split}" for split in list_splits(folder)) or "no list of a split"
    return f"found {what} and {here:,} pictures of Visual Genome, split {lists}: {advice}"


def find_layout(folder: Path) -> Layout:
    """The layout in `folder`; BadInput if it has no region descriptions."""
    layout = _layout(need_folder(folder))
    if layout is None:
        raise BadInput(
            f"{folder}: neither rg_jsons/ nor {REGION_FILE} here, in vg/ or in data/vg/, so this is not Visual Genome"
        )
    return layout


def _layout(folder: Path) -> Layout | None:
    roots = (folder, folder / "vg", folder / "data" / "vg")
    root = next((place for place in roots if (place / "rg_jsons").is_dir()), None)
    file: Path | None = None
    if root is None:
        files = (place / inner / REGION_FILE for place in roots for inner in (".", "annotations"))
        file = next((one for one in files if one.is_file()), None)
        if file is None:
            return None
        root = file.parent.parent if file.parent.name == "annotations" else file.parent
    caches = (folder / "caches", folder / "data" / "caches", root / "caches", root.parent / "caches")
    return Layout(root, next((place for place in caches if place.is_dir()), caches[0]), file)


TURNS = 10


@dataclass(frozen=True, slots=True)
class Region:
    """One described box: x, y, width, height."""

    region_id: int
    caption: str
    box: tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class RegionPicture:
    """A picture and its regions by region id, no two with the same caption.

    Attributes:
        id: the picture's number.
        path: its file, None if the data set has none.
        regions: what is described.
        objects: names of the things in it; only those on the object list, if there is one.
    """

    id: int
    path: Path | None
    regions: tuple[Region, ...]
    objects: tuple[str, ...] = ()

    @property
    def captions(self) -> tuple[str, ...]:
        """The descriptions, by region id."""
        return tuple(region.caption for region in self.regions)


def read_visual_genome(folder: Path, split: str, *, fewest: int = TURNS) -> tuple[list[RegionPicture], ReadReport]:
    """The pictures of a split, in the order of its list, that have at least `fewest` captions and a listed object.

    The second rule needs `vg_objects_vocab_1600.txt` and the scene graphs; without them, the report says that it was
    not applied.
    """
    layout = find_layout(folder)
    if split not in (known := list_splits(folder)):
        layout.split(split)  # says which lists there are
        raise UnknownName(f"{folder}: no split is called {split!r}; there are: {', '.join(known)}")
    ids = read_picture_ids(layout.split(split)) if layout.splits() else None
    object_list, graphs = layout.caches / OBJECT_LIST, (layout.root / "sg_xmls").is_dir()
    listed = read_classes(object_list) if object_list.is_file() else None
    files = layout.pictures()
    notes = []
    if listed is None or not graphs:
        missing = (OBJECT_LIST, "list") if listed is None else ("sg_xmls", "folder")
        rule = "the rule of at least one listed object was not applied"
        notes.append(Dropped(missing[0], f"no such {missing[1]}; {rule}"))
    twice = (picture for picture, n in Counter(ids or ()).items() if n > 1)
    notes += [Dropped(f"{split}: picture {picture}", "listed twice") for picture in twice]
    pictures: list[RegionPicture] = []
    expected = 0
    for picture, said in _read_split_regions(layout, split, ids):
        expected += 1
        found, remarks = _read_picture(layout, picture, said, listed, graphs=graphs, fewest=fewest)
        notes += remarks
        if found is None:
            continue
        path = None if files is None else files.get(picture)
        if files is not None and path is None:
            notes.append(Dropped(f"{picture}.jpg", "no such file; the regions are kept without it"))
        pictures.append(replace(found, path=path))
    return pictures, ReadReport(expected if ids is None else len(ids), len(pictures), tuple(notes))


def _read_split_regions(layout: Layout, split: str, ids: list[int] | None) -> Iterator[tuple[int, list[Region] | None]]:
    """The pictures of a split and their regions, in the order of its list, else of the file; None: there are none."""
    folder = layout.root / "rg_jsons"
    if layout.regions is None:
        for picture in dict.fromkeys(ids or ()):
            file = folder / f"{picture}.json"
            yield picture, read_regions(file) if file.is_file() else None
        return
    found: dict[int, list[Region] | None] = dict.fromkeys(ids or ())
    for where, record in read_json_records(layout.regions):
        picture = need_field(where, record, "id", int)
        if picture not in found if ids is not None else split_of(str(picture)) != split:
            continue
        records = enumerate(need_field(where, record, "regions", list))
        said = [_region(f"{where}.regions[{at}]", one) for at, one in records]
        if ids is None:
            yield picture, said
        else:
            found[picture] = said
    yield from found.items()


def _read_picture(
    layout: Layout, picture: int, said: list[Region] | None, listed: frozenset[str] | None, *, graphs: bool, fewest: int
) -> tuple[RegionPicture | None, list[Dropped]]:
    """The picture, if it passes, and remarks about it."""
    if said is None:
        where = f"rg_jsons/{picture}.json" if layout.regions is None else f"record of it in {REGION_FILE}"
        return None, [Dropped(f"picture {picture}", f"no {where}")]
    first: dict[str, Region] = {}
    for region in said:
        first.setdefault(region.caption, region)
    repeated = len(said) - len(first)
    notes = [Dropped(f"{picture}.json", f"{repeated} repeated captions")] if repeated else []
    objects = _read_objects(layout.root / "sg_xmls" / f"{picture}.xml", picture, listed) if graphs else ()
    unfit = ""
    if len(first) < fewest:
        unfit = f"{len(first)} distinct captions, {fewest} are needed"
    elif objects is None:
        unfit = "no scene graph in sg_xmls/"
    elif graphs and listed is not None and not objects:
        unfit = "no object that is on the list"
    if unfit or objects is None:
        return None, [*notes, Dropped(f"picture {picture}", unfit)]
    regions = tuple(sorted(first.values(), key=lambda region: region.region_id))
    return RegionPicture(picture, None, regions, objects), notes


def _read_objects(file: Path, picture: int, listed: frozenset[str] | None) -> tuple[str, ...] | None:
    """Names of the picture's things; None if its scene graph is missing."""
    if not file.is_file():
        return None
    graph = read_scene_graph(file)
    if graph.image_id != picture:
        raise BadInput(f"{file}: field 'image_id' is {graph.image_id}, not {picture}; fetch the file again")
    return tuple(thing.name for thing in keep_known(graph, listed).objects)


def choose_captions(
    picture: RegionPicture, rng: np.random.Generator | None = None, *, turns: int = TURNS
) -> tuple[str, ...]:
    """Chooses ten descriptions of a picture as turns: any ten in any order (training), or without `rng` the first."""
    said = picture.captions
    if len(said) < turns:
        raise ValueError(f"picture {picture.id} has {len(said)} captions, {turns} are needed")
    order = range(len(said)) if rng is None else rng.permutation(len(said))
    return tuple(said[i] for i in order[:turns])


def read_regions(file: Path) -> list[Region]:
    """The regions in a file `rg_jsons/<id>.json`, as they stand there; captions in lower case."""
    records = need_field(str(file), read_json(file, dict), "regions", list)
    return [_region(f"{file}: regions[{i}]", record) for i, record in enumerate(records)]


def _region(where: str, record: Any) -> Region:
    region_id, phrase = need_field(where, record, "region_id", int), need_field(where, record, "phrase", str)
    x, y, width, height = (
        value if isinstance(value := record.get(name), float) else float(need_field(where, record, name, int))
        for name in ("x", "y", "width", "height")
    )
    return Region(region_id, phrase.lower(), (x, y, width, height))


def read_picture_ids(file: Path) -> list[int]:
    """The list of a split: one picture id per line; BadInput names a line that is not an id."""
    ids = []
    for line, text in enumerate(read_text(file).splitlines(), start=1):
        if text.strip():
            if not text.strip().isdecimal():
                raise BadInput(f"{file}, line {line}: the id of a picture is needed, this is {text.strip()[:40]!r}")
            ids.append(int(text))
    return ids
