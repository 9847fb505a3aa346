"""Folding the pictures of products, against slow, obvious code."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import viewfinder.library
from viewfinder.library import Library
from viewfinder.search.products import Products, find_products
from viewfinder.testing import load_colour_encoder, tiny_pictures
from viewfinder.wording.product_columns import MAX_PRODUCT_PICTURES


def fold_slowly(products: list[int], rows: list[int]) -> list[int]:
    kept: list[int] = []
    for row in rows:
        if products[row] < 0 or products[row] not in {products[other] for other in kept}:
            kept.append(row)
    return kept


@pytest.mark.parametrize("seed", range(5))
def test_the_first_picture_of_each_product_is_kept_in_order(seed: int) -> None:
    rng = np.random.default_rng(seed)
    product_n = rng.integers(-1, 8, 60).astype(np.int32)
    order_n = np.argsort(product_n, kind="stable")
    products = Products(product_n, order_n, product_n[order_n])
    rows = rng.permutation(60)[:40]
    kept = products.keep_first(rows).tolist()
    assert kept == fold_slowly(product_n.tolist(), rows.tolist())
    assert products.count(rows) == len(kept)
    for row in range(60):
        own = int(product_n[row])
        expected = [other for other in range(60) if own >= 0 and product_n[other] == own and other != row]
        assert list(products.others(row)) == expected


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Library:
    monkeypatch.setattr(viewfinder.library, "load_encoder", load_colour_encoder)
    tiny_pictures(tmp_path / "pictures", 30)
    made = Library.open(tmp_path / "library")
    made.add(tmp_path / "pictures", workers=1)
    return made


def describe(library: Library, **columns: list[str]) -> None:
    names = sorted(row.path.name for row in library)
    rows = [
        {"file": name} | {column: values[at] for column, values in columns.items()} for at, name in enumerate(names)
    ]
    library.add(catalogue=rows)


def test_without_products_nothing_is_folded(library: Library) -> None:
    assert find_products(library.gallery().snapshot) is None
    describe(library, product_id=[str(at) for at in range(30)])
    assert find_products(library.gallery().snapshot) is None
    assert len(library.find("red", n=30)) == 30


def test_as_many_products_come_as_are_asked_for(library: Library) -> None:
    describe(library, **{"Product ID": [str(at // 3) for at in range(30)]})
    every = [hit.id for hit in library.find("red", n=30, fold=False)]
    folded = library.find("red", n=7)
    assert len(folded) == 7
    seen: set[str] = set()
    best = []
    for picture in every:
        product = library[picture].attributes["Product ID"][0]
        if product not in seen:
            seen.add(product)
            best.append(picture)
    assert [hit.id for hit in folded] == best[:7]
    assert all(len(hit.others) == 2 for hit in folded)
    assert len(library.find("red", n=30)) == 10


def test_other_pictures_of_a_product_meet_the_filters_too(library: Library) -> None:
    describe(library, item_group_id=["g"] * 3 + [""] * 27, size=["S", "M", "M"] + ["M"] * 27)
    [group] = [hit for hit in library.find("red", n=30, where={"size": "M"}) if hit.others]
    assert len(group.others) == 1
    assert library[group.others[0]].attributes["size"] == ("M",)


def test_a_value_that_very_many_pictures_have_is_no_product(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    assert MAX_PRODUCT_PICTURES >= 100
    monkeypatch.setattr("viewfinder.search.products.MAX_PRODUCT_PICTURES", 5)
    describe(library, product_id=["all"] * 20 + ["p"] * 3 + [""] * 7)
    assert len(library.find("red", n=30)) == 28


def test_photographs_of_one_person_are_no_product(library: Library) -> None:
    describe(library, handle=["@anna"] * 10 + ["@ben"] * 20, title=[f"t{at}" for at in range(30)])
    describe(library, Handle=["anna"] * 10 + ["ben"] * 20)
    assert len(library.find("red", n=30)) == 30
