"""Names of files in a sentence: "the file IMG_0398.jpg" is looked up as IMG_0398."""

from __future__ import annotations

import re

_FILE_NAME = re.compile(
    r"(?:\b(?:the |that |a )?(?:(?:file|picture|photo|image|pic)(?: (?:file|called|named|with the name))? )?)?"
    r"(?<!\S)([\w()+&-]+)\.(?:jpe?g|png|gif|webp|bmp|tiff?|hei[cf]|avif|dng|nef|cr[23w]|arw|orf|raf|rw2)\b",
    re.IGNORECASE,
)


def drop_file_endings(text: str) -> str:
    """The text with the names of files as they are written of pictures: without their endings and "the file".

    >>> drop_file_endings("show me the file IMG_0398.jpg"), drop_file_endings("a file on a desk")
    ('show me IMG_0398', 'a file on a desk')
    """
    return _FILE_NAME.sub(r"\1", text)
