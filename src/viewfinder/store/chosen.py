"""A condition of a search that certain pictures meet, whatever is known of them: those of an album, say."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Self


class ChosenPictures(str):
    """A condition as it was written, which the pictures meet whose ids `list_ids` gives at the time.

    It stands where conditions on columns do (`Snapshot.where`), so all that filters can be given one.
    """

    list_ids: Callable[[], Iterable[str]]

    @classmethod
    def of(cls, written: str, list_ids: Callable[[], Iterable[str]]) -> Self:
        """The condition that was `written` so."""
        made = cls(written)
        made.list_ids = list_ids
        return made
