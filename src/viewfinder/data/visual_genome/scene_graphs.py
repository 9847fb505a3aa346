"""Scene graphs of Visual Genome as XML, one file per picture: `sg_xmls/<id>.xml` of Drill-down.

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
from collections.abc import Callable, Collection
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TypeVar

from viewfinder.data.files import read_text
from viewfinder.errors import BadInput

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
    """What is in a picture of `width` x `height` pixels, and how the things relate."""

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
    """What Drill-down keeps of a graph: objects whose name is listed (None: every name), boxes cut to the picture.

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
        raise BadInput(f"{path}: {_named(element)} has no {field.removeprefix('.//')!r}; fetch or write the file again")
    return text


def _named(element: ET.Element) -> str:
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
            f"{path}: {_named(element)} needs {what} as {field.removeprefix('.//')!r}; it has {text!r}"
        ) from None
