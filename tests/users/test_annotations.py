"""Answers from captions and boxes: what they bear out, and nothing else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from viewfinder.conversation import Question
from viewfinder.encoders.tags import tag_groups
from viewfinder.errors import BadInput, UnknownName
from viewfinder.users import AnnotatedPhotos, AnnotationAnswerer, Answerer, PhotoNotes, read_annotations
from viewfinder.users.captions import find_mentions, find_synonyms

COCO = Path(__file__).resolve().parents[3] / "shared" / "data" / "coco"
CAPTIONS = (
    "A black dog runs in the snow .",
    "A black and white dog running through deep snow .",
    "The dog is chasing two birds .",
    "There is no cat in this winter field .",
    "A dog in the snow with a red ball .",
)
CATEGORIES = frozenset({"dog", "bird", "cat", "person", "car", "bicycle"})
ALONE = AnnotatedPhotos({"a.jpg": PhotoNotes(CAPTIONS)})
BOXED = AnnotatedPhotos({"a.jpg": PhotoNotes(CAPTIONS, {"dog": 1, "bird": 2})}, CATEGORIES)


def ask(notes: AnnotatedPhotos, text: str, **more: Any) -> str:
    return AnnotationAnswerer(notes).answer(Question(text, **more), "a.jpg")


@pytest.mark.parametrize(
    ("question", "captions", "boxes"),
    [
        ("Is there a dog?", "yes", "yes"),
        ("Are there any puppies?", "yes", "yes"),
        ("Is there a black dog?", "yes", "yes"),
        ("Is there a brown dog?", "don't know", "don't know"),
        ("Is there a cat?", "don't know", "no"),
        ("Is there a man?", "don't know", "no"),
        ("Do you see a tree?", "don't know", "don't know"),
        ("How many birds are there?", "two", "two"),
        ("How many dogs are there?", "one", "one"),
        ("How many people are there?", "don't know", "none"),
        ("What colour is the dog?", "black and white", "black and white"),
        ("Is the dog white?", "yes", "yes"),
        ("Is the dog brown?", "no", "no"),
        ("What colour are the birds?", "don't know", "don't know"),
        ("What is the dog doing?", "chasing two birds", "chasing two birds"),
        ("Where is it?", "snow", "snow"),
        ("Which animal is in it?", "a dog", "a dog"),
        ("Is it outdoors?", "yes", "yes"),
        ("Who owns the dog?", "don't know", "don't know"),
    ],
)
def test_captions_alone_and_with_boxes(question: str, captions: str, boxes: str) -> None:
    assert (ask(ALONE, question), ask(BOXED, question)) == (captions, boxes)


def test_captions_that_disagree_are_not_believed() -> None:
    notes = AnnotatedPhotos({"a.jpg": PhotoNotes(("a red car", "a blue car", "two cars", "three cars"))})
    assert ask(notes, "What colour is the car?") == "don't know"
    assert ask(notes, "How many cars are there?") == "don't know"
    boxed = AnnotatedPhotos({"a.jpg": PhotoNotes(("two cars",), {"car": 3})}, CATEGORIES)
    assert ask(boxed, "How many cars are there?") == "don't know"


def test_a_crowd_is_not_counted() -> None:
    notes = AnnotatedPhotos(
        {"a.jpg": PhotoNotes(("people in a street",), {"person": 14}, frozenset({"person"}))}, CATEGORIES
    )
    assert ask(notes, "How many people are there?") == "don't know"
    assert ask(notes, "Is there a person?") == "yes"
    assert ask(notes, "Is there a woman?") == "don't know"  # some person is there


def test_questions_about_tags_are_answered_by_the_tag_that_most_captions_name() -> None:
    groups = {group.name: group for group in tag_groups()}
    answers = {
        name: ask(ALONE, group.question, choices=(*group.answers, "don't know"), attribute=name)
        for name, group in groups.items()
    }
    assert answers["place"] == "snow" and answers["animal"] == "a dog" and answers["kind"] == "an animal"
    assert answers["people"] == answers["light"] == "don't know"
    asked = {"choices": ("a beach", "grass", "something else"), "attribute": "place"}
    assert ask(ALONE, "Where is it?", **asked) == "something else"


def test_a_noun_that_qualifies_another_is_no_mention() -> None:
    assert not list(find_mentions(find_synonyms("dog"), "a dog house in the garden"))
    (found,) = find_mentions(find_synonyms("dogs"), "Three small black puppies on a bed")
    assert found.number == 3 and found.colours == ("black",) and found.plural


def _coco(folder: Path, annotations: list[dict[str, Any]]) -> Path:
    (folder / "annotations").mkdir()
    (folder / "images").mkdir()
    (folder / "images" / "a.jpg").touch()
    images = [{"id": 1, "file_name": "a.jpg"}]
    captions = {"images": images, "annotations": [{"image_id": 1, "id": 1, "caption": "a dog"}]}
    boxes = {"images": images, "annotations": annotations, "categories": [{"id": 5, "name": "dog"}]}
    (folder / "annotations" / "captions_x.json").write_text(json.dumps(captions))
    (folder / "annotations" / "instances_x.json").write_text(json.dumps(boxes))
    return folder


def test_a_coco_folder_is_read_with_its_boxes(tmp_path: Path) -> None:
    box = {"id": 1, "image_id": 1, "category_id": 5, "iscrowd": 1, "bbox": [1, 2, 3, 4]}
    notes = read_annotations(_coco(tmp_path, [box, {**box, "iscrowd": 0}]))
    note = notes.of("a.jpg")
    assert note.captions == ("a dog",) and note.boxes == {"dog": 2} and note.crowds == frozenset({"dog"})
    assert notes.categories == frozenset({"dog"}) and note.path == tmp_path / "images" / "a.jpg"


@pytest.mark.parametrize(
    ("box", "message"),
    [
        ({"image_id": 7, "category_id": 5}, r"annotations\[0\], field 'image_id': 7 is not listed in the file"),
        ({"image_id": 1}, r"instances_x\.json: annotations\[0\]: field 'category_id' is needed"),
    ],
)
def test_damaged_boxes_are_named(tmp_path: Path, box: dict[str, Any], message: str) -> None:
    with pytest.raises(BadInput, match=message):
        read_annotations(_coco(tmp_path, [box]))


def test_a_folder_of_captions_is_read(tmp_path: Path) -> None:
    (tmp_path / "captions.csv").write_text("image,caption\na.jpg,a dog\na.jpg,two dogs\n")
    notes = read_annotations(tmp_path)
    assert notes.of("a.jpg").captions == ("a dog", "two dogs") and notes.of("a.jpg").boxes is None
    with pytest.raises(UnknownName, match=r"b\.jpg: nobody has captioned this picture"):
        notes.of("b.jpg")
    (tmp_path / "captions.csv").unlink()
    with pytest.raises(BadInput, match="neither annotations/"):
        read_annotations(tmp_path)


@pytest.mark.data
@pytest.mark.skipif(not COCO.is_dir(), reason="../shared/data/coco is not there")
def test_the_boxes_of_coco_answer_for_every_category_of_every_picture() -> None:
    notes = read_annotations(COCO)
    answerer = AnnotationAnswerer(notes)
    assert isinstance(answerer, Answerer) and len(notes.pictures) == 80 and len(notes.categories) == 80
    for picture, note in notes.pictures.items():
        for category in ("dog", "car", "person", "umbrella"):
            told = answerer.answer(Question(f"Is there a {category}?"), picture)
            assert note.boxes is not None
            assert told == "yes" if note.boxes.get(category) else told in {"no", "yes"}
