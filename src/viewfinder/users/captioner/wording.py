"""Words of a caption, as they were cut for training, back into a text."""

from __future__ import annotations

import re
from collections.abc import Sequence

_JOINED_TO_LAST = re.compile(r" (?=(?:n't|'(?:s|m|d|re|ve|ll)?|[.,!?;:%)\]])(?: |$))")
_JOINED_TO_NEXT = re.compile(r"(?<=[(\[$#]) ")


def join_words(words: Sequence[str]) -> str:
    """The text that is cut into these words (see `data.fashion_iq.words_of`), as far as that can be told.

    >>> sentence("does n't have a v-neck , and is the girl 's".split())
    "doesn't have a v-neck, and is the girl's"
    """
    text = " ".join(words).replace("`` ", '"').replace(" ''", '"')
    return _JOINED_TO_NEXT.sub("", _JOINED_TO_LAST.sub("", text))
