"""Pictures that are nearly the same, dated or not."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageEnhance

from viewfinder.encoders.starter.encoder import StarterEncoder
from viewfinder.search.bursts import compare_looks
from viewfinder.search.copies import MAX_STRETCH, measure_farthest, number_copies
from viewfinder.search.products import find_products
from viewfinder.store.rows import FileRecord, PictureRow, build_columns, pictures_to_arrow
from viewfinder.store.snapshot import Snapshot

FLICKR = Path(__file__).resolve().parents[3] / "shared" / "data" / "flickr8k" / "images"
PHOTOGRAPHS = 40


def shelve(
    matrix_nd: np.ndarray, sizes: list[tuple[int, int]] | None = None, columns: dict[int, str] | None = None
) -> Snapshot:
    """A snapshot in memory of pictures with these vectors and sizes; `columns`: the product ids of some."""
    known = columns or {}
    rows = [
        PictureRow(
            f"p{at:04}", (FileRecord(f"/p/{at}.jpg", 1, 1),), *(sizes[at] if sizes else (3, 2)), "JPEG", 1,
            attributes={"product id": (known[at],)} if at in known else {},
        )
        for at in range(len(matrix_nd))
    ]  # fmt: skip
    table = pictures_to_arrow(rows)
    return Snapshot(matrix_nd, table, build_columns(table), space="s", generation="g", folder=None)


def draw_vectors(count: int, width: int, near: float, seed: int) -> np.ndarray:
    """Vectors of `count` pictures, a third of which are near another."""
    generator = np.random.default_rng(seed)
    vectors_nd = generator.standard_normal((count, width)) + 0.4  # as of real pictures, they have something in common
    for at in range(0, count - 1, 3):
        vectors_nd[at + 1] = vectors_nd[at] + near * generator.random() * generator.standard_normal(width)
    return np.asarray(vectors_nd / np.linalg.norm(vectors_nd, axis=1, keepdims=True), np.float32)


def list_groups(snapshot: Snapshot) -> set[frozenset[int]]:
    number_n = number_copies(snapshot)
    return {frozenset(np.flatnonzero(number_n == number).tolist()) for number in range(number_n.max() + 1)}


def compare_all(snapshot: Snapshot) -> set[frozenset[int]]:
    """What `number_copies` finds, by comparing every picture with every other."""
    farthest = measure_farthest(snapshot)
    of_picture = {row: {row} for row in range(len(snapshot))}
    for one in range(len(snapshot)):
        for other in range(one):
            shapes = [snapshot.size(row)[0] / snapshot.size(row)[1] for row in (one, other)]
            cosine = compare_looks(snapshot, np.array([one]), np.array([other]))[0]
            if cosine >= 1 - farthest and max(shapes) <= MAX_STRETCH * min(shapes):
                joined = of_picture[one] | of_picture[other]
                of_picture.update(dict.fromkeys(joined, joined))
    return {frozenset(group) for group in of_picture.values() if len(group) > 1}


@pytest.mark.parametrize("seed", range(3))
def test_copies_are_those_that_a_comparison_of_all_with_all_finds(seed: int) -> None:
    generator = np.random.default_rng(seed)
    sizes = [((3, 2), (4, 3), (300, 200))[kind] for kind in generator.integers(3, size=240)]
    snapshot = shelve(draw_vectors(240, 64, 0.4, seed), sizes)
    found = list_groups(snapshot)
    assert len(found) > 10
    assert found == compare_all(snapshot)


def test_copies_of_copies_are_one_group() -> None:
    vectors_nd = draw_vectors(60, 64, 0, 1)
    vectors_nd[[10, 20, 30]] = vectors_nd[0]
    assert frozenset({0, 1, 10, 20, 30}) in list_groups(shelve(vectors_nd))


def test_a_copy_of_a_products_picture_is_of_the_product_and_other_products_stay_apart() -> None:
    vectors_nd = draw_vectors(60, 64, 0, 1)
    products = find_products(
        shelve(vectors_nd, columns={0: "red", 4: "blue", 30: "blue", 3: "one", 6: "two", 7: "three"})
    )
    assert products is not None
    assert set(products.others(0)) == {1}
    assert set(products.others(30)) == {4, 31}
    assert set(products.others(6)) == set(products.others(7)) == set()  # alike, but sold as two


@pytest.mark.skipif(not FLICKR.is_dir(), reason="no photographs here")
def test_tiny_packed_cut_and_brighter_photographs_are_copies_and_different_ones_are_not() -> None:
    def pack(picture: Image.Image, format_name: str) -> Image.Image:
        stored = io.BytesIO()
        picture.save(stored, format_name, quality=75)
        return Image.open(stored).convert("RGB")

    ways: list[Callable[[Image.Image], Image.Image]] = [
        lambda picture: pack(picture, "JPEG"),
        lambda picture: pack(picture.resize((200, 200 * picture.height // picture.width)), "WEBP"),
        lambda picture: picture.crop((5, 5, picture.width - 5, picture.height - 5)),
        lambda picture: ImageEnhance.Brightness(picture).enhance(1.15),
    ]
    photographs = [Image.open(file).convert("RGB") for file in sorted(FLICKR.glob("*.jpg"))[:PHOTOGRAPHS]]
    pictures = [*photographs, *(way(photograph) for way in ways for photograph in photographs)]
    encoder = StarterEncoder()
    looks = encoder.pictures([np.asarray(picture) for picture in pictures])
    snapshot = shelve(encoder.project(looks.global_bd), [picture.size for picture in pictures])
    found = list_groups(snapshot)
    assert all(len({row % PHOTOGRAPHS for row in group}) == 1 for group in found)
    assert sum(map(len, found)) >= 0.95 * len(pictures)
