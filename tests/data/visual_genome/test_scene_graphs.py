from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from viewfinder.data.visual_genome.regions import (
    SceneGraph,
    SceneObject,
    SceneRelation,
    keep_known,
    read_classes,
    read_scene_graph,
    scene_graph_xml,
)
from viewfinder.errors import BadInput

KITE = SceneObject("kite", 11, (3.0, 4.0, 93.0, 64.0), ("red", "big & round"))
BOY = SceneObject("boy", 12, (200.0, 300.5, 700.0, 480.0))
CLOUD = SceneObject("cloud", 13, (650.0, 10.0, 700.0, 40.0))
GRAPH = SceneGraph(
    7, 640, 480, (KITE, BOY, CLOUD), (SceneRelation(2, 12, 11, "flying"), SceneRelation(3, 11, 13, "under"))
)

words = st.text("abc é&<>\"'", min_size=1).map(str.strip).filter(bool)
sizes = st.integers(1, 10**6)
corners = st.floats(-100.0, 5000.0).map(lambda number: round(number, 3) + 0.0)
objects = st.tuples(words, sizes, st.tuples(corners, corners, corners, corners), st.lists(words, max_size=2).map(tuple))
relations = st.tuples(sizes, sizes, sizes, words)


def written(folder: Path, text: str) -> Path:
    file = folder / "7.xml"
    file.write_text(text)
    return file


# Plain tuples, made into records in the test: type checks of the records draw random numbers of their own.
@given(st.lists(objects, max_size=3), st.lists(relations, max_size=3))
def test_a_graph_is_read_back_as_it_was_written(
    tmp_path_factory: pytest.TempPathFactory, things: list[Any], related: list[Any]
) -> None:
    objects = tuple(SceneObject(*thing) for thing in things)
    graph = SceneGraph(7, 640, 480, objects, tuple(SceneRelation(*relation) for relation in related))
    file = tmp_path_factory.getbasetemp() / "graph.xml"
    file.write_text(scene_graph_xml(graph), encoding="utf-8")
    assert read_scene_graph(file) == graph


def test_the_file_has_the_elements_of_the_published_ones() -> None:
    text = scene_graph_xml(SceneGraph(7, 640, 480, (KITE,), (SceneRelation(2, 11, 11, "like"),)))
    assert "".join(text.split()) == (
        "<annotation><image_id>7</image_id><width>640</width><height>480</height>"
        "<object><name>kite</name><object_id>11</object_id><attribute>red</attribute>"
        "<attribute>big&amp;round</attribute>"
        "<bndbox><xmin>3</xmin><ymin>4</ymin><xmax>93</xmax><ymax>64</ymax></bndbox></object>"
        "<relation><relationship_id>2</relationship_id><subject_id>11</subject_id><object_id>11</object_id>"
        "<predicate>like</predicate></relation></annotation>"
    )


def test_names_are_lower_case_and_nested_sizes_are_found(tmp_path: Path) -> None:
    text = """<annotation><source><image_id>7</image_id></source><size><width>9</width><height>8</height></size>
        <object><name> Red Kite </name><object_id>1</object_id><attribute>BIG</attribute><attribute/>
        <bndbox><xmin>1</xmin><ymin>2</ymin><xmax>3</xmax><ymax>4</ymax></bndbox></object>
        <relation><relationship_id>5</relationship_id><subject_id>1</subject_id><object_id>1</object_id>
        <predicate> </predicate></relation></annotation>"""
    kite = SceneObject("red kite", 1, (1.0, 2.0, 3.0, 4.0), ("big",))
    assert read_scene_graph(written(tmp_path, text)) == SceneGraph(7, 9, 8, (kite,))


def test_boxes_are_cut_to_the_picture_and_what_lies_outside_goes() -> None:
    kept = keep_known(GRAPH, None)
    assert [thing.name for thing in kept.objects] == ["kite", "boy"]  # the cloud begins right of pixel 639
    assert kept.objects[1].box == (200.0, 300.5, 639.0, 479.0)
    assert kept.relations == (SceneRelation(2, 12, 11, "flying"),)  # the other one had the cloud


def test_only_listed_names_stay() -> None:
    assert [thing.name for thing in keep_known(GRAPH, {"boy"}).objects] == ["boy"]
    assert keep_known(GRAPH, {"boy"}).relations == ()  # its object is gone


def test_a_class_may_have_several_names(tmp_path: Path) -> None:
    file = tmp_path / "vg_objects_vocab_1600.txt"
    file.write_text("yolk\nHot dog,hotdog , hot-dog\nkite\n")
    assert read_classes(file) == {"yolk", "hot dog", "hotdog", "hot-dog", "kite"}


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("<width>640</width>", "", r"7\.xml: <annotation> has no 'width'"),
        ("<height>480", "<height>tall", r"7\.xml: <annotation> needs a whole number as 'height'; it has 'tall'"),
        ("<name>kite</name>", "<name/>", r"7\.xml: object 11 has no 'name'"),
        ("<xmin>3</xmin>", "<xmin>?</xmin>", r"7\.xml: object 11 needs a number as 'bndbox/xmin'; it has '\?'"),
        ("<subject_id>12</subject_id>", "", r"7\.xml: relation 2 has no 'subject_id'"),
        ("</annotation>", "", r"7\.xml: damaged XML"),
        ("<annotation>", '<!DOCTYPE x [<!ENTITY a "b">]><annotation>', r"7\.xml: this XML declares entities"),
    ],
)
def test_damage_is_named(tmp_path: Path, old: str, new: str, message: str) -> None:
    text = scene_graph_xml(GRAPH)
    assert old in text
    with pytest.raises(BadInput, match=message):
        read_scene_graph(written(tmp_path, text.replace(old, new)))
