"""Pictures of one product, of one burst, or nearly the same, as one result: the best stands for all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Int32, Int64

from viewfinder.store.snapshot import Snapshot
from viewfinder.wording.product_columns import MAX_PRODUCT_PICTURES, PRODUCT_NAMES, squeeze_name


@dataclass(frozen=True, eq=False)
class Products:
    """The products of a collection, its bursts and its copies.

    `product_n` has the number of each picture's, -1 where it is of none. `order_n` has the
    pictures by product, and `sorted_n` the products in this order.
    """

    product_n: Int32[np.ndarray, " n"]
    order_n: Int64[np.ndarray, " n"]
    sorted_n: Int32[np.ndarray, " n"]

    def keep_first(self, rows_k: Int64[np.ndarray, " k"]) -> Int64[np.ndarray, " k"]:
        """The pictures without those whose product stands before them."""
        products_k = self.product_n[rows_k].astype(np.int64)
        alone_k = products_k < 0
        products_k[alone_k] = -1 - np.arange(int(alone_k.sum()))  # each is a product of its own
        _, first_p = np.unique(products_k, return_index=True)
        return np.asarray(rows_k[np.sort(first_p)])

    def count(self, rows_k: Int64[np.ndarray, " k"]) -> int:
        """How many products these pictures are of; one that is of none counts as one."""
        products_k = self.product_n[rows_k]
        known_k = products_k[products_k >= 0]
        return len(products_k) - len(known_k) + len(np.unique(known_k))

    def others(self, row: int) -> Sequence[int]:
        """The other pictures of a picture's product."""
        product = int(self.product_n[row])
        if product < 0:
            return ()
        low, high = np.searchsorted(self.sorted_n, [product, product + 1]).tolist()
        return [other for other in self.order_n[low:high].tolist() if other != row]


def find_products(snapshot: Snapshot) -> Products | None:
    """The products of a collection, by its columns called product id or item_group_id, and bursts and copies among the
    other pictures; None: no picture shares one.

    A value that very many pictures have is no product.
    """
    names = {squeeze_name(name): name for name in snapshot.columns()}
    product_n = np.full(len(snapshot), -1, np.int32)
    first = 0
    for wanted in PRODUCT_NAMES:
        if (name := names.get(wanted)) is None:
            continue
        column = snapshot.column(name)
        codes_n = column.first_codes_n
        count_v = np.bincount(codes_n[codes_n >= 0], minlength=len(column.values))
        is_product_n = (codes_n >= 0) & (product_n < 0)
        is_product_n[is_product_n] &= count_v[codes_n[is_product_n]] <= MAX_PRODUCT_PICTURES
        product_n[is_product_n] = first + codes_n[is_product_n]
        first += len(column.values)
    from viewfinder.search.bursts import number_bursts
    from viewfinder.search.copies import number_copies

    for number_n in (number_bursts(snapshot), number_copies(snapshot)):
        _join_groups(product_n, number_n)
    known = product_n[product_n >= 0]
    if not len(known) or np.bincount(known).max() == 1:  # `np.unique` would import masked arrays, 10 ms
        return None
    order_n = np.argsort(product_n, kind="stable")
    return Products(product_n, order_n, product_n[order_n])


def _join_groups(product_n: Int32[np.ndarray, " n"], number_n: Int32[np.ndarray, " n"]) -> None:
    """Gives pictures of none a product by their groups: that of another picture of the group, or one of its own."""
    first = int(product_n.max(initial=-1)) + 1
    group_k = np.flatnonzero(number_n >= 0)
    count = int(number_n.max(initial=-1)) + 1
    of_group = np.arange(first, first + count, dtype=np.int32)
    known_k = group_k[product_n[group_k] >= 0]
    of_group[number_n[known_k]] = product_n[known_k]
    alone_k = group_k[product_n[group_k] < 0]
    product_n[alone_k] = of_group[number_n[alone_k]]
