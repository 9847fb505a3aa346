"""Words as files hold them: bytes of several alphabets, padded, filled in by cameras, keywords in one string."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

MAX_BYTES = 200_000
"""Bytes of one text that are looked at: `MAX_VALUE_LENGTH` characters in any alphabet, and room."""

MAX_KEYWORD_LENGTH = 500
"""Characters of one keyword; the rest is cut off."""

_BOILERPLATE = re.compile(
    r"""
    olympus\ digital\ camera | samsung(\ (digital\ )?camera)? | (konica\ ?)?minolta\ digital\ camera
    | kodak\ digital\ still\ camera | (digital\ )?still\ camera | digital\ camera | sony\ dsc | exif_jpeg_\w{0,20}
    | \\?dcim[\\/].{0,60} | ascii | (oznor|cof|hdr|hdrpl|btf|btfhdr|mde|dav|edf|sdr|rhdr|fbt|ptr|nor|jpeg\ image)
    | charset=\S{0,20} | binary\ (comment|data.{0,40}) | x-default | default | appleMark | picasa
    | <?(unknown|untitled|none|null|undefined|description|title|caption|(user\ )?comment|image\ description)>?
    | creator:\ gd-jpeg.* | (created|made|edited)\ with\ (the\ )?gimp.* | lead\ technologies.* | lavc\d.* | intel\(r\).*
    | (file\ )?(written|processed)\ by\ .* | optimi[sz]ed\ by\ .* | compressed\ by\ .* | generated\ by\ .* | ezgif.*
    | created\ by\ accusoft.* | file\ source:.* | handmade\ software.* | acd\ systems.* | software:.*
    | op(lus|po)_\d+ | \{.*\} | .*(fileterIntensity|hw-remosaic|cct_value|AI_Scene|aec_lux).*
    | [\s!-/:-@\[-`{-~]*
    """,
    re.IGNORECASE | re.VERBOSE | re.DOTALL,
)
"""What cameras and programs write where a person's words belong, whole."""

_CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")
_LINES = re.compile(r"\r\n?|\u2028|\u2029")
_INNER_ROOTS = frozenset({"darktable", "_Digikam_Internal_Tags_", "_Digikam_root_tag_"})
"""Hierarchies in which programs keep notes of their own, like "darktable|exported|jpeg"."""

_LIST_SEPARATORS = re.compile(r"[;\n]")


def decode_text(data: bytes) -> str:
    """Bytes of unknown alphabet as text: UTF-8 where they are, else Windows' Western European.

    >>> decode_text("Zürich".encode()), decode_text("Zürich".encode("latin-1"))
    ('Zürich', 'Zürich')
    """
    piece = data[:MAX_BYTES]
    try:
        return piece.decode("utf-8")
    except UnicodeDecodeError as error:
        if len(data) > MAX_BYTES and error.start > MAX_BYTES - 4:  # a letter cut in two
            return piece[: error.start].decode("utf-8")
        return piece.decode("cp1252", errors="replace")


def clean_text(value: object) -> str:
    """A text of EXIF, which ends at its zero byte, without padding and control characters; "" for what is none."""
    if isinstance(value, str):  # Pillow decodes as Latin-1, which most programs of today do not mean
        try:
            value = value[:MAX_BYTES].encode("latin-1")
        except UnicodeEncodeError:
            return clean_words(str(value).split("\0", 1)[0])
    return clean_words(decode_text(value.split(b"\0", 1)[0])) if isinstance(value, bytes) else ""


def clean_words(text: str) -> str:
    """A text with plain ends of lines, without padding and control characters."""
    return _CONTROLS.sub("", _LINES.sub("\n", text[:MAX_BYTES])).strip()


def is_boilerplate(text: str) -> bool:
    """Whether a text was filled in by a camera or a program, and says nothing of the picture.

    >>> is_boilerplate("OLYMPUS DIGITAL CAMERA"), is_boilerplate("An Olympus digital camera on a table")
    (True, False)
    """
    return len(text) <= 2_000 and _BOILERPLATE.fullmatch(text.strip()) is not None


def keep_words(texts: Iterable[str]) -> tuple[str, ...]:
    """The texts that a person may have written, clean."""
    return tuple(said for text in texts if text and (said := clean_words(text)) and not is_boilerplate(said))


def split_list(text: str) -> list[str]:
    """The items of a list in one text, as Windows writes it: between semicolons."""
    return [item for part in _LIST_SEPARATORS.split(text) if (item := part.strip())]


def keep_names(texts: Iterable[str]) -> tuple[str, ...]:
    """Names of people, also of several in one text between semicolons."""
    return keep_words(name for text in texts if text for name in split_list(text))


def split_keywords(texts: Iterable[str], separators: str = "|") -> tuple[str, ...]:
    """Keywords one by one: each level of a hierarchy, the last first, each item of a list that a program left whole.

    A comma separates only within a sole text of three items or more: "Paris, Texas" is one keyword.

    >>> split_keywords(["Places|Italy|Rome", "beach; sea"]), split_keywords(["beach, sea, sun"])
    (('Rome', 'Italy', 'Places', 'beach', 'sea'), ('beach', 'sea', 'sun'))
    """
    whole = [said for text in texts if text and (said := clean_words(text))]
    if len(whole) == 1 and whole[0].count(",") >= 2:
        whole = whole[0].split(",")
    return tuple(level for text in whole for item in split_list(text) for level in _split_levels(item, separators))


def _split_levels(keyword: str, separators: str) -> Iterator[str]:
    parts = re.split(f"[{re.escape(separators)}]", keyword)
    levels = [level for part in parts if (level := part.strip()[:MAX_KEYWORD_LENGTH])]
    if levels and levels[0] not in _INNER_ROOTS:
        yield from reversed(levels)
