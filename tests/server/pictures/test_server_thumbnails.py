from __future__ import annotations

import asyncio
import base64
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import pytest
from PIL import Image

from viewfinder.errors import PictureError
from viewfinder.library import Library
from viewfinder.pictures import DecodedFile, Fit, decode_one, picture_id
from viewfinder.pictures import thumbnails as pictures_thumbnails
from viewfinder.server.pictures.thumbnails import Thumbnails
from viewfinder.server.problems import Problem


@pytest.fixture
def thumbnails(library: Library) -> Iterator[Thumbnails]:
    made = Thumbnails(library)
    yield made
    made.close()


@pytest.fixture
def decoded(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The files that were decoded, in the order they were."""
    seen: list[Path] = []

    def counted(path: Path, fit: Fit) -> DecodedFile:
        seen.append(path)
        return decode_one(path, fit)

    monkeypatch.setattr(pictures_thumbnails, "decode_one", counted)
    return seen


def first(library: Library) -> tuple[str, Path]:
    snapshot = library.gallery().snapshot
    return snapshot.ids[0], Path(snapshot.paths(0)[0])


def test_ten_who_ask_at_once_get_one_copy_that_is_made_once(
    library: Library, thumbnails: Thumbnails, decoded: list[Path]
) -> None:
    name, file = first(library)

    async def ten() -> list[bytes]:
        source = thumbnails.make_source(name)
        return await asyncio.gather(*(thumbnails.make_copy(source, 320) for _ in range(10)))

    assert len(set(asyncio.run(ten()))) == 1
    assert decoded == [file]


def test_one_who_leaves_does_not_take_it_from_the_others(library: Library, thumbnails: Thumbnails) -> None:
    name, _ = first(library)

    async def leave() -> bytes:
        source = thumbnails.make_source(name)
        leaving = asyncio.create_task(thumbnails.make_copy(source, 320))
        staying = asyncio.create_task(thumbnails.make_copy(source, 320))
        await asyncio.sleep(0)
        leaving.cancel()
        return await staying

    with Image.open(BytesIO(asyncio.run(leave()))) as image:
        assert image.size == (320, 213)


def test_what_was_made_is_kept_also_for_larger_sizes_that_it_serves(library: Library, thumbnails: Thumbnails) -> None:
    name, _ = first(library)
    source = thumbnails.make_source(name)
    assert thumbnails.read_copy(source, 640) is None
    made = asyncio.run(thumbnails.make_copy(source, 1280))  # the drawing is 480 pixels wide: 640 is enough
    assert thumbnails.read_copy(source, 640) == thumbnails.read_copy(source, 1280) == made
    assert thumbnails.read_copy(source, 320) is None


def test_placeholders_are_only_those_that_were_made(library: Library, thumbnails: Thumbnails) -> None:
    name, _ = first(library)
    other = library.gallery().snapshot.ids[1]
    assert thumbnails.read_placeholders([name, other]) == {}
    asyncio.run(thumbnails.make_copy(thumbnails.make_source(name), 160))
    found = thumbnails.read_placeholders([name, other, name, "../../../etc/passwd", ""])
    assert list(found) == [name]
    kind, _, content = found[name].partition(",")
    assert kind == "data:image/webp;base64"
    with Image.open(BytesIO(base64.b64decode(content))) as image:
        assert image.size == (16, 11)


def test_only_ids_of_the_library_name_files(thumbnails: Thumbnails) -> None:
    for name in ("", "nobody", "../../library", "/etc/passwd", "%2e%2e", "0" * 64, "\0", "\udcff"):
        with pytest.raises(Problem, match="there is no picture") as caught:
            thumbnails.make_source(name)
        assert caught.value.status == 404


def test_an_empty_library_has_no_pictures_and_no_placeholders(tmp_path: Path) -> None:
    empty = Thumbnails(Library.open(tmp_path / "empty"))
    with pytest.raises(Problem) as caught:
        empty.make_source("nobody")
    assert caught.value.status == 404
    assert empty.read_placeholders(["nobody"]) == {}
    empty.close()


def test_a_picture_of_which_no_file_is_left_is_gone_but_its_copies_are_not(
    library: Library, thumbnails: Thumbnails
) -> None:
    name, file = first(library)
    source = thumbnails.make_source(name)
    made = asyncio.run(thumbnails.make_copy(source, 320))
    file.unlink()
    assert thumbnails.read_copy(source, 320) == made
    with pytest.raises(Problem, match="is there any more") as caught:
        asyncio.run(thumbnails.make_copy(source, 160))
    assert (caught.value.status, caught.value.kind) == (410, "gone")


def test_a_file_that_changed_is_named_without_its_folder(library: Library, thumbnails: Thumbnails) -> None:
    name, file = first(library)
    Image.new("RGB", (9, 9)).save(file)
    with pytest.raises(PictureError, match=f"^{file.name} has changed"):
        asyncio.run(thumbnails.make_copy(thumbnails.make_source(name), 320))


def test_of_several_files_the_first_that_still_is_the_picture_is_taken(
    library: Library, thumbnails: Thumbnails, tmp_path: Path
) -> None:
    name, file = first(library)
    copy = tmp_path / "more" / "copy.png"
    copy.parent.mkdir()
    copy.write_bytes(file.read_bytes())
    library.add(copy.parent, workers=1)
    Image.new("RGB", (9, 9)).save(file)
    assert picture_id(copy.read_bytes()) == name
    with Image.open(BytesIO(asyncio.run(thumbnails.make_copy(thumbnails.make_source(name), 320)))) as image:
        assert image.size == (320, 213)
