"""The columns that tell of which product a picture is, however programs write their names."""

from __future__ import annotations

import re

PRODUCT = "product id"
"""The column in which a catalogue's reader writes it."""

PRODUCT_NAMES = ("productid", "itemgroupid")
"""Names of such columns, squeezed, the one that counts first."""

MAX_PRODUCT_PICTURES = 200
"""Pictures of one product; a value that more of them have tells something else."""


def squeeze_name(name: str) -> str:
    """A column's name without signs and capitals.

    >>> squeeze_name("Item Group ID"), squeeze_name("item_group_id")
    ('itemgroupid', 'itemgroupid')
    """
    return re.sub(r"[\W_]", "", name).casefold()
