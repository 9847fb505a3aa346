"""Whatever the public functions are given, they answer, or raise an error of ours: never one from inside."""

from __future__ import annotations

import datetime
import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

import viewfinder
import viewfinder.library
from viewfinder.conversation import Answer, BackTo, Keep, Like, Question, Reject, Say, Show
from viewfinder.errors import BadInput, ViewfinderError
from viewfinder.library import Library
from viewfinder.session.session import Session
from viewfinder.testing import load_colour_encoder, tiny_pictures


def _made_of(kind: Any, given: list[Any]) -> Any:
    """A turn of anything, as far as it takes so many things."""
    try:
        return kind(*given)
    except TypeError:
        return kind


NONSENSE = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(),
    st.binary(max_size=20),
    st.sampled_from(
        [
            "", "\0", "\ud800", "x" * 5000, "~nobody-at-all/x", "/", ".", "/proc/1/mem", Path(), Path("\0"), b"red",
            [], (), {}, set(), object(), object, print, iter([]), range(3), ["red"], {"red": 1}, {1: "red"}, 1j,
            {"format": ["PNG"]}, {(1, 2): 3}, -1, 10**30, np.int64(1), np.float32("nan"), datetime.date(2026, 1, 1),
            np.zeros(3), np.zeros((4, 4, 3), np.uint8), np.zeros((0, 4, 3), np.uint8), np.zeros((4, 4, 2), np.uint8),
            Image.new("RGB", (0, 0)), Image.new("RGB", (3, 2)), Image.new("F", (3, 2)), Question("red"), Say("red"),
        ]
    ),
    st.builds(Question, st.just(3)),
    st.builds(
        _made_of,
        st.sampled_from([Say, Answer, Like, Show, Keep, Reject, BackTo]),
        st.lists(st.sampled_from([None, 1, "red", b"x", True, -1, (1,), Question("q", ("a",)), object()]), max_size=2),
    ),
)  # fmt: skip

SESSION: dict[str, tuple[str, ...]] = {
    "say": ("text",),
    "like": ("picture", "but", "turn", "attributes"),
    "show": ("image", "but", "attributes"),
    "answer": ("text",),
    "keep": ("attribute", "turn"),
    "reject": ("text",),
    "back_to": ("turn",),
    "take": ("turn",),
    "search": ("turn",),
    "rank_of": ("picture",),
    "rank_bounds": ("picture",),
    "attributes_of": ("picture",),
}
LIBRARY: dict[str, tuple[str, ...]] = {
    "find": ("text", "n", "like", "where", "without", "fields", "sort"),
    "chat": ("retriever", "questioner", "checkpoint", "n", "where", "conversation", "picture_bias"),
    "tune": ("captions", "catalogue"),
    "add": ("captions", "catalogue", "workers"),
}
SOUND: dict[str, Any] = {
    "text": "red", "picture": "nobody", "image": "nowhere.png", "attribute": "top", "turn": 1, "retriever": "composer",
    "attributes": None, "n": 3,
}  # fmt: skip
"""What the other arguments are, where a method needs them."""

HALF = "caf\udce9"
"""Words that are not UTF-8, as Python has them from a command line."""

PATIENT = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    home = tmp_path_factory.mktemp("nonsense")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(viewfinder.library, "load_encoder", load_colour_encoder)
        patch.chdir(tmp_path_factory.mktemp("elsewhere"))
        tiny_pictures(home / "pictures", 6)
        opened = Library.open(home / "library")
        opened.add(home / "pictures", workers=1)
        yield opened


def given_nonsense(call: Callable[..., object], name: str, value: Any, needed: tuple[str, ...]) -> None:
    """Calls it with one argument of nonsense; errors of ours are one line."""
    sound = {other: SOUND[other] for other in needed if other in SOUND}
    if call.__name__ == "reject":
        sound = {}
    try:
        call(**(sound | {name: value}))
    except ViewfinderError as error:
        assert str(error) and "\n" not in str(error)


@PATIENT
@given(NONSENSE, st.sampled_from([(verb, name) for verb, names in SESSION.items() for name in names]))
def test_a_session_takes_nonsense_or_refuses_it(library: Library, value: Any, which: tuple[str, str]) -> None:
    verb, name = which
    chat = library.chat()
    chat.say("red")
    before = chat.conversation
    try:
        given_nonsense(getattr(chat, verb), name, value, SESSION[verb])
    finally:
        known = chat.conversation
        assert known.nodes[: len(before.nodes)] == before.nodes
        assert known == type(known).from_json(known.to_json())


@PATIENT
@given(NONSENSE, st.sampled_from([(verb, name) for verb, names in LIBRARY.items() for name in names]))
def test_a_library_takes_nonsense_or_refuses_it(library: Library, value: Any, which: tuple[str, str]) -> None:
    verb, name = which
    given_nonsense(getattr(library, verb), name, value, LIBRARY[verb][:1] if verb in ("find", "chat") else ())
    assert len(library) == 6


@PATIENT
@given(NONSENSE)
def test_paths_and_pictures_that_are_none_are_refused(library: Library, value: Any) -> None:
    if not isinstance(value, str | Path) or not os.path.exists(value):  # noqa: PTH110 (False for what is no name)
        with suppress(ViewfinderError):
            library.add(value, workers=1)
            raise AssertionError(f"{value!r} was added")
    with suppress(ViewfinderError):
        library.chat().reject(value)
    with suppress(ViewfinderError):
        viewfinder.open(library.folder, value)


@pytest.mark.parametrize(
    "folder",
    [
        None,
        3,
        b"x",
        [],
        "",
        "new\nline",
        "caf\udce9",
        "\x7f/x",
        "\0",
        "x" * 5000,
        "~nobody-at-all/x",
        "/proc/1/mem/x",
        "/dev/null",
        1.5,
        object(),
    ],
)
def test_a_folder_that_can_be_none_is_refused(folder: Any) -> None:
    with pytest.raises(ViewfinderError) as refused:
        viewfinder.open(folder)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda it: it.find(3), "text: str is needed, this is int"),
        (lambda it: it.find("red", n="3"), "n: Integral is needed, this is str"),
        (lambda it: it.find("red", n=0), "n: 0 results are asked for, give 1 or more"),
        (lambda it: it.find("red", where="top"), "where: Mapping or None is needed, this is str"),
        (lambda it: it.find("red", where={"top": 3}), "where top: str is needed, this is int"),
        (lambda it: it.find(like=3), "an image is a file's path, its bytes, a PIL image or an array, this is int"),
        (
            lambda it: it.find(like=np.zeros((4, 4))),
            r"an array of an image has uint8 .*; this one has float64 \(4, 4\)",
        ),
        (lambda it: it.find("red", fields=3), "fields: str or list or tuple is needed, this is int"),
        (lambda it: it.find("red", fields=[3]), "a name of fields: str is needed, this is int"),
        (lambda it: it.find(HALF), "text has characters that are no text"),
        (lambda it: it.find("red", without=HALF), "without has characters that are no text"),
        (lambda it: it.chat().say(HALF), "'say' has characters that are no text"),
        (lambda it: it.chat().like(next(iter(it)), but=HALF), "'but' has characters that are no text"),
        (lambda it: it.chat().reject(text=HALF), "'text' has characters that are no text"),
        (lambda it: it.chat().take(Answer(Question("What?"), HALF)), "'answer' has characters that are no text"),
        (lambda it: it.describe(next(iter(it)), captions=[HALF]), "a caption has characters that are no text"),
        (lambda it: it.describe(next(iter(it)), attributes={HALF: "a"}), "attributes has characters that are no text"),
        (lambda it: it.describe(next(iter(it)), attributes={"a": HALF}), "attributes has characters that are no text"),
        (lambda it: it.add(""), "a path to add: an empty text names no file or folder"),
        (lambda it: it.tune(captions=""), "captions: an empty text names no file or folder"),
        (lambda it: it.chat(3), "retriever: a name or a retriever is needed, this is int"),
        (lambda it: it.chat().say(3), "'say' must be a text, not 3"),
        (lambda it: it.chat().take("red"), "a turn is Say, Answer, .*, not str"),
        (lambda it: it.chat().reject(3), "picture: Hit or PictureRow or str is needed, this is int"),
        (lambda it: it.chat().like(np.zeros((4, 4, 3), np.uint8), turn=1), "was not shown in an earlier turn"),
        (lambda it: it.add(3), "a path to add: str or PathLike is needed, this is int"),
        (lambda it: it.add("\0"), "no file can be called that"),
        (lambda it: it.tune(), "tune needs a table"),
    ],
)
def test_wrong_arguments_are_named(library: Library, wrong: Callable[[Library], object], message: str) -> None:
    with pytest.raises(BadInput, match=message):
        wrong(library)


def test_a_turn_number_may_be_one_of_numpys(library: Library) -> None:
    chat: Session = library.chat()
    chat.say("red")
    chat.back_to(np.int64(0))  # type: ignore[arg-type]
    assert type(chat.conversation.to_json()["turns"][1]["back_to"]) is int


def test_an_empty_text_is_not_the_folder_where_one_stands(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(Path(next(iter(library)).files[0].path).parent)
    with pytest.raises(BadInput, match="picture: an empty text names no file or folder"):
        library.remove("")
    assert len(library) == 6


def test_names_of_columns_that_are_no_text_are_mended_as_values_are(library: Library) -> None:
    first = next(iter(library))
    library.add(catalogue=[{"file": first.id, "a\ud800": "b\ud800"}])
    assert library[first.id].attributes == {"a?": ("b?",)}
    assert len(library.to_arrow()) == 6


@pytest.mark.parametrize(
    "call",
    [
        lambda it: it.show("a\nb"),
        lambda it: it.remove("a\nb"),
        lambda it: it.add("a\nb"),
        lambda it: it.tune(captions="a\nb"),
        lambda it: it.chat(checkpoint="a\r\nb", retriever="chatir"),
    ],
)
def test_an_error_is_one_line_even_if_the_name_in_it_is_two(
    library: Library, call: Callable[[Library], object]
) -> None:
    with pytest.raises(ViewfinderError, match=r"a b\b") as refused:
        call(library)
    assert len(str(refused.value).splitlines()) == 1


@pytest.mark.parametrize("name", ["new\nline", "caf\udce9"])
def test_a_folder_in_which_no_tables_can_lie_is_left_as_it_was(tmp_path: Path, name: str) -> None:
    with pytest.raises(BadInput, match="no library can lie there"):
        viewfinder.open(tmp_path / name / "library")
    with pytest.raises(BadInput, match="no library can lie there"):
        Library.open(tmp_path / name / "library")
    assert not list(tmp_path.iterdir())
