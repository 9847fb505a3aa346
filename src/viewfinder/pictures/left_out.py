"""Folders that hold no collection: trash, snapshots, and the previews and caches that other programs keep.

Names are those of the programs' own documents and of what their users report; case does not count. What a program only
made out of originals is left out, the originals themselves never: `resources` of a Photos library, not `originals`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable

TRASH, SNAPSHOTS, SYSTEM, PREVIEWS, NOMEDIA = "trash", "snapshots", "system", "previews", "nomedia"
"""Reasons, as `WalkNotes.left_out` has them."""

IGNORE_FILE = ".viewfinderignore"
"""A file with the user's own rules (`ignoring`)."""

NOMEDIA_FILE = ".nomedia"
"""A file that says, as Android has it, that nothing in its folder belongs in a gallery."""

_NAMES = {
    **dict.fromkeys(
        (
            "$recycle.bin", "recycler", "recycled",  # Windows
            "#recycle", "@recycle", ".recycle", "@recycle.bin",  # Synology, QNAP, Samba
            ".dtrash",  # digiKam
            "files_trashbin",  # Nextcloud
            "network trash folder", "recently deleted",  # Apple
        ),
        TRASH,
    ),
    **dict.fromkeys(
        ("#snapshot", "@recently-snapshot", "@sharesnap", ".snapshot", ".snapshots", "~snapshot", ".zfs"), SNAPSHOTS
    ),
    **dict.fromkeys(
        ("system volume information", "lost+found", "__macosx", "temporary items", "@tmp", "@synoresource"), SYSTEM
    ),
    **dict.fromkeys(
        (
            "@eadir", ".@__thumb", "@__thumb",  # Synology, QNAP
            ".thumbnails", ".thumbs",  # GNOME and other desktops, Android
            ".photostructure", ".photoprism", ".ppstorage",
            "plex versions",
        ),
        PREVIEWS,
    ),
}  # fmt: skip

_ENDINGS = (".lrdata", ".lrcat-data", ".trickplay")
"""Ends of the names of folders of previews: Lightroom's two, Jellyfin's."""

_APPLE_LIBRARIES = (".photoslibrary", ".photolibrary", ".aplibrary", ".migratedphotolibrary", ".migratedaplibrary")
_APPLE_ORIGINALS = frozenset({"originals", "masters", "modified", "resources"})
"""Folders of a Photos, iPhoto or Aperture library that hold what people took or edited; `resources` only in part."""

_APPLE_EDITED = frozenset({"renders"})
"""Edited pictures in full size, in `resources`: work of a person, and nowhere else."""

_IMMICH_MADE = frozenset({"thumbs", "encoded-video"})

_GOOGLE_TRASH = frozenset({
    "trash", "bin", "papierkorb", "corbeille", "papelera", "paperera", "cestino", "prullenbak", "lixeira", "lixo",
    "kosz", "koš", "kôš", "papirkurv", "papirkurven", "papperskorg", "papperskorgen", "roskakori", "çöp kutusu",
    "lomtár",
    "корзина", "кошик", "ごみ箱", "ゴミ箱", "휴지통", "回收站", "垃圾桶", "回收桶",
})  # fmt: skip
"""The trash in an export of Google Photos, in the language of the account."""


def explain_folder(parent: str, name: str, is_folder: Callable[[str], bool] = os.path.isdir) -> str | None:
    """Why a folder of this name in `parent` is left out, one of the reasons above; None: it is not.

    `is_folder` is asked about folders beside and in it, where the name alone could also be a person's.
    """
    low, above = name.lower(), os.path.basename(parent).lower()  # noqa: PTH119
    if (reason := _NAMES.get(low)) is not None:
        return reason
    is_google_trash = low in _GOOGLE_TRASH and (above.startswith("google ") or _is_in_takeout(parent))
    if is_google_trash or low.startswith(".trash"):  # .Trash, .Trashes, .Trash-1000
        return TRASH
    is_made = low.endswith(_ENDINGS) or _is_made_of_apple_originals(parent, low, above)
    return PREVIEWS if is_made or _is_made_by_server(parent, low, above, is_folder) else None


def explain_file(name: str) -> str | None:
    """Why a file of this name is left out, one of the reasons above; None: it is not, unless it is hidden."""
    if name in _SYSTEM_FILES:
        return SYSTEM
    if name.startswith(("._", "SYNO")):
        return SYSTEM if name[0] == "." else PREVIEWS if name.startswith(_SYNOLOGY_PREVIEWS) else None
    return None


_SYSTEM_FILES = frozenset({
    ".DS_Store", ".localized", ".directory", "Thumbs.db", "ehthumbs.db", "desktop.ini", "Desktop.ini",
    "Icon\r", NOMEDIA_FILE,
})  # fmt: skip
_SYNOLOGY_PREVIEWS = ("SYNOFILE_THUMB", "SYNOPHOTO_THUMB", "SYNOVIDEO_THUMB")
"""Previews that a Synology disk station puts beside pictures."""


def _is_made_of_apple_originals(parent: str, low: str, above: str) -> bool:
    if above.endswith(_APPLE_LIBRARIES):
        return low not in _APPLE_ORIGINALS
    return above == "resources" and _name_above(parent).endswith(_APPLE_LIBRARIES) and low not in _APPLE_EDITED


def _is_made_by_server(parent: str, low: str, above: str, is_folder: Callable[[str], bool]) -> bool:
    """Whether a folder holds what Immich, PhotoPrism, Nextcloud, Plex or Capture One made of pictures."""
    if low in _IMMICH_MADE:
        beside = any(is_folder(f"{parent}/{name}") for name in ("upload", "library", *(_IMMICH_MADE - {low})))
        return beside or os.path.exists(f"{parent}/{low}/.immich")  # noqa: PTH110
    if above == "storage":  # PhotoPrism's, beside `originals`
        return low == "cache" or (low == "sidecar" and is_folder(f"{parent}/cache"))
    if above.startswith("appdata_"):  # Nextcloud's
        return low == "preview"
    if above == "plex media server":
        return low in ("cache", "media", "metadata")
    return low == "cache" and (above == "captureone" or above.endswith(".cocatalog"))


def _name_above(folder: str) -> str:
    return os.path.basename(os.path.dirname(folder)).lower()  # noqa: PTH119, PTH120


_TAKEOUT = re.compile(r"(^|/)takeout[^/]*(/|$)", re.IGNORECASE)


def _is_in_takeout(folder: str) -> bool:
    return _TAKEOUT.search(folder) is not None
