"""What is said of a picture's looks, and of what is not in it, as evidence in libraries that people speak to."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import viewfinder
from viewfinder.data.splits import read_photographs
from viewfinder.library import Library
from viewfinder.questioners.photographs import PhotographLabels, label_columns, photograph_labels
from viewfinder.search.gallery import Gallery
from viewfinder.session import looks
from viewfinder.session.predicted import predict_labels
from viewfinder.testing import ColourEncoder
from viewfinder.worlds import write_world

SHARED = Path(__file__).resolve().parents[2].parent / "shared" / "data"


def make_scenes(folder: Path) -> Library:
    """A library of generated scenes."""
    write_world(folder / "world", kind="scenes", count=20, seed=5)
    library = viewfinder.open(folder / "library.vf")
    library.add(folder / "world")
    return library


@pytest.fixture(scope="module")
def scenes(tmp_path_factory: pytest.TempPathFactory) -> Library:
    """Twenty generated scenes."""
    return make_scenes(tmp_path_factory.mktemp("looks"))


@pytest.fixture(scope="module")
def photographs(tmp_path_factory: pytest.TempPathFactory) -> Library:
    """Photographs of `choose`, every eighth without its colours."""
    if not (SHARED / "flickr8k").is_dir():
        pytest.skip(f"{SHARED / 'flickr8k'} is not there")
    folder = tmp_path_factory.mktemp("photographs")
    for at, one in enumerate(read_photographs(SHARED, "choose")["flickr8k"][:40]):
        with Image.open(one.path) as picture:
            shown = picture.convert("L").convert("RGB") if at % 8 == 0 else picture.convert("RGB")
            shown.save(folder / f"{'grey' if at % 8 == 0 else 'colour'}-{at}.jpg", quality=90)
    library = viewfinder.open(folder / "library.vf")
    library.add(folder)
    return library


@pytest.mark.data
@pytest.mark.parametrize("text", ["black and white photos", "black and white", "find me b&w pictures, please"])
def test_black_and_white_pictures_come_first(photographs: Library, text: str) -> None:
    hits = photographs.chat(questioner="none").say(text)
    assert hits.reading is not None
    [fact] = hits.reading.facts
    assert (fact.kind, hits.reading.content) == ("looks", "")
    assert [Path(hit.path).name.partition("-")[0] for hit in [*hits][:6]] == ["grey"] * 5 + ["colour"]


def test_where_no_picture_has_a_look_the_words_are_compared_as_others_are(scenes: Library) -> None:
    assert scenes.chat(questioner="none").say("black and white").reading is None


def test_what_is_ruled_out_makes_pictures_unlikely_that_have_it(
    scenes: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = [hit.id for hit in scenes.chat(questioner="none", n=len(scenes)).say("a house")]
    peopled = set(plain[::2])
    who, numbers = label_columns()["who"], label_columns()["number of people"]

    def tell(gallery: Gallery, labels: PhotographLabels) -> np.ndarray:
        chances_nl = np.zeros((len(gallery), len(labels.labels)))
        for row, picture in enumerate(gallery.snapshot.ids):
            chances_nl[row, who.stop - 1] = picture not in peopled
            chances_nl[row, numbers.start] = picture in peopled
        return chances_nl

    monkeypatch.setattr(looks, "predict_labels", tell)
    hits = scenes.chat(questioner="none", n=len(scenes)).say("a house with nobody in it")
    assert hits.reading is not None and hits.reading.facts[0].pictures == len(scenes) - len(peopled)
    # Among those without people the description decides.
    assert [hit.id for hit in hits][: len(plain[1::2])] == plain[1::2]


def test_what_is_rejected_in_words_is_not_wanted_as_a_fact(scenes: Library) -> None:
    chat = scenes.chat(questioner="none")
    chat.say("a house")
    chat.reject(text="dogs")
    chat.reject(text="photos from July 2007")
    assert [evidence.label for evidence in chat.ranking().query.evidence] == ["no dogs", "not photos from July 2007"]


@pytest.mark.parametrize("retriever", ["composer", "one"])
def test_what_is_not_there_as_a_fact_is_taken_back_of_what_was_described(scenes: Library, retriever: str) -> None:
    chat = scenes.chat(retriever, questioner="none")
    chat.say("a house and dogs")
    chat.say("no dogs")
    query = chat.ranking().query
    assert [evidence.label for evidence in query.evidence] == ["no dogs"]
    assert [part.label for part in query.parts] == ["a house"]


def test_a_picture_picked_with_but_is_not_wanted_itself_where_the_words_are_a_fact(scenes: Library) -> None:
    chat = scenes.chat(questioner="none")
    shown = chat.say("a house and dogs")
    chat.say("2 but without dogs")
    query = chat.ranking().query
    assert query.excluded == {shown[1].id}
    assert [(part.label, part.weight < 1) for part in query.parts] == [("a house", False), ("this picture", True)]


def test_looks_are_told_by_the_starters_vectors_only(scenes: Library) -> None:
    gallery = scenes.gallery()
    assert predict_labels(gallery, photograph_labels()) is not None
    other = Gallery(gallery.snapshot, ColourEncoder(), match_words=True)
    assert predict_labels(other, photograph_labels()) is None
    assert looks.list_looks(other) == {}
