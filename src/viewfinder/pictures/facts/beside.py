"""Sidecars: files beside a picture that say something of it. XMP of photo programs, JSON of Google's and Flickr's
downloads, Picasa's file of a folder.

Which belong to which is told by names alone (`Neighbours`), as a folder is walked; `read_sidecar` reads one, in the
sandbox, with the picture.
"""

from __future__ import annotations

import stat
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path

from viewfinder.pictures.facts import flickr, picasa, takeout
from viewfinder.pictures.facts.model import Fact

MAX_SIDECAR_SIZE = 2_000_000
"""Bytes; a larger file is no sidecar, and is not read."""

_PICTURES = (
    "jpg", "jpeg", "jpe", "jfif", "png", "apng", "webp", "gif", "bmp", "tif", "tiff", "avif", "heic", "heif", "hif",
    "jxl", "dng", "cr2", "cr3", "crw", "nef", "nrw", "arw", "srw", "orf", "rw2", "raf", "pef", "gpr", "3fr", "mpo",
)  # fmt: skip
_VIDEOS = frozenset({
    "mp", "mp4", "m4v", "mov", "avi", "mkv", "mpg", "mpeg", "mts", "3gp", "webm", "wmv", "insp",
})  # fmt: skip
"""Extensions in the names of Takeout's JSON; videos have theirs too."""

_CONVERTED = frozenset({"heic", "heif", "hif"})
"""What Google may make a JPEG of, whose JSON keeps the old name."""


def may_be_sidecar(name: str) -> bool:
    """Whether `Neighbours` wants to know of a file of this name: most JSON turns out to be something else."""
    return name[-5:].lower().endswith((".xmp", ".json")) or name.lower() in picasa.NAMES


def is_sidecar_name(name: str) -> bool:
    """Whether a file of this name is surely a sidecar of some picture or video, and no file of its own.

    >>> [is_sidecar_name(name) for name in ("a.xmp", "a.jpg.suppl.json", "metadata.json", "package.json", "a.jpg")]
    [True, True, True, False, False]
    """
    folded = takeout.fold_name(name)
    if folded.endswith(".xmp") or folded in picasa.NAMES or flickr.is_flickr_name(name):
        return True
    named = takeout.parse_json_name(name)
    if named is None:
        return False
    whole = folded.removesuffix(".json")
    return named.base in takeout.ALBUM_FILES or whole != named.base or _split(named)[1] in {*_PICTURES, *_VIDEOS}


def name_sidecar_kind(name: str) -> str:
    """Whose sidecar a file of this name is, for reports.

    >>> [name_sidecar_kind(name) for name in ("a.xmp", "a.jpg.json", "photo_12345678.json", ".picasa.ini")]
    ['XMP', 'Takeout', 'Flickr', 'Picasa']
    """
    if name.lower() in picasa.NAMES:
        return "Picasa"
    if flickr.is_flickr_name(name):
        return "Flickr"
    return "Takeout" if name.lower().endswith(".json") else "XMP"


@dataclass(frozen=True)
class Neighbours:
    """The sidecars of one folder, by what their names say; made from all names in it, keeps those of sidecars.

    `orphans` are JSON files whose picture is not here, by its name without the extension: that extension, and the file.
    """

    xmp: dict[str, list[str]] = field(default_factory=dict)
    json: dict[takeout.Named, list[str]] = field(default_factory=dict)
    orphans: dict[takeout.Named, list[tuple[str, str]]] = field(default_factory=dict)
    albums: tuple[str, ...] = ()
    of_folder: tuple[str, ...] = ()

    @classmethod
    def of(cls, names: Iterable[str], others: Iterable[str] = ()) -> Neighbours:
        """The sidecars among the names of all files in a folder.

        Of a folder with very many files, `names` may be those for which `may_be_sidecar` says yes, and `others` the
        rest, which is looked through once and not kept.
        """
        names = list(names)
        xmp: defaultdict[str, list[str]] = defaultdict(list)
        by_name: defaultdict[takeout.Named, list[str]] = defaultdict(list)
        for name in names:
            end = name[-5:].lower()
            if end.endswith(".xmp"):
                xmp[takeout.fold_name(name[:-4])].append(name)
            elif end == ".json" and (named := takeout.parse_json_name(name)):
                by_name[named].append(name)
        of_folder = tuple(sorted(name for name in names if name.lower() in picasa.NAMES))
        if not by_name:
            return cls(dict(xmp), of_folder=of_folder)
        owners = {takeout.find_owner(named) for named in by_name}
        present = owners.intersection(map(takeout.fold_name, chain(names, others)))
        orphans: defaultdict[takeout.Named, list[tuple[str, str]]] = defaultdict(list)
        for named, files in by_name.items():
            if takeout.find_owner(named) not in present:
                for stem, extension in {_split(named), (named, "")}:
                    orphans[stem] += [(extension, name) for name in files]
        albums = sorted(name for named, files in by_name.items() if named.base in takeout.ALBUM_FILES for name in files)
        return cls(dict(xmp), dict(by_name), dict(orphans), tuple(albums), of_folder)

    def find(self, picture: str) -> tuple[str, ...]:
        """The names of a picture's sidecars, the most trusted first.

        `a.jpg.xmp` is before `a.xmp`, which all pictures of that name share; then comes one JSON of Google's or
        Flickr's, and the files about the album that the folder is, and about all its pictures.
        """
        stem = picture.rpartition(".")[0] or picture
        found = [name for whole in (picture, stem) for name in _choose(self.xmp.get(takeout.fold_name(whole)), whole)]
        of_picture, is_sure = self._find_json(picture) if self.json else (None, False)
        if of_picture is not None:
            found.append(of_picture)
        if is_sure:
            found += self.albums
        return tuple(dict.fromkeys([*found, *self.of_folder]))

    def _find_json(self, picture: str) -> tuple[str | None, bool]:
        """A JSON under the picture's own name, else its original's, else under its name with another extension.

        Also whether it is surely Google's: a.json may be anybody's, and so may a metadata.json in its folder.
        """
        original = takeout.guess_original(picture)
        for name in (picture, original):
            for named in takeout.guess_json_names(name) if name is not None else ():
                if files := self.json.get(named):
                    return _choose(files, name or "")[0], True
        if (of_flickr := flickr.guess_json_base(picture)) and (files := self.json.get(takeout.Named(of_flickr, ""))):
            return _choose(files, of_flickr)[0], False
        for named in takeout.guess_json_names(original) if original is not None else ():
            stem, _ = _split(named)
            for extension in _PICTURES:  # what is edited becomes a JPEG, whatever it was
                if files := self.json.get(takeout.Named(f"{stem.base}.{extension}", stem.number)):
                    return min(files), True
        for name in (picture, original):
            for named in takeout.guess_json_names(name) if name is not None else ():
                stem, extension = _split(named)
                lent = [file for other, file in self.orphans.get(stem, ()) if _is_renamed(other, extension)]
                if lent:
                    return min(lent), is_sidecar_name(min(lent))
        return None, False


def _is_renamed(extension: str, now: str) -> bool:
    """Whether a JSON under one extension may be that of a picture that has another now.

    Google makes JPEG of HEIC, cuts extensions, and gives one to pictures that had none. Two pictures that differ in the
    extension alone are otherwise two pictures: IMG_1.PNG and IMG_1.JPG of a phone.
    """
    return now.startswith(extension) or (extension in _CONVERTED and now in ("jpg", "jpeg"))


def _split(named: takeout.Named) -> tuple[takeout.Named, str]:
    """The name without its extension, and that."""
    stem, dot, extension = named.base.rpartition(".")
    return (takeout.Named(stem, named.number), extension) if dot and stem else (named, "")


def _choose(files: list[str] | None, wanted: str) -> list[str]:
    """Of names that differ in capitals only, those spelt as the picture is, if there are any; in a fixed order."""
    if not files or len(files) == 1:
        return files or []
    return sorted([name for name in files if name.startswith(wanted)] or files)


def read_sidecar(path: Path, picture: str = "") -> tuple[Fact, ...]:
    """The facts in a sidecar of the picture named `picture`; none if it is damaged, too large or something else.

    Without the picture's name, Picasa's file has nothing to say, and a JSON's title is believed.
    """
    data = _read_small_file(path)
    if not data:
        return ()
    if path.suffix.lower() == ".xmp":
        from viewfinder.pictures.facts.xmp import read_xmp

        return tuple(read_xmp(data, f"{path.name}:"))
    if path.name.lower() in picasa.NAMES:
        facts = picasa.read_picasa(data, path.name, picture) if picture else []
    elif flickr.is_flickr_name(path.name):
        facts = flickr.read_flickr(data, path.name)
    else:
        facts = takeout.read_takeout(data, path.name, picture)
    return tuple(_keep_words(facts))


def _keep_words(facts: Iterable[Fact]) -> Iterator[Fact]:
    """The facts without what cameras write where a person's words belong, which Google takes over from the picture."""
    from viewfinder.pictures.facts.words import keep_words

    for fact in facts:
        values = keep_words(fact.values) if fact.name in ("title", "description", "keywords") else fact.values
        if values:
            yield Fact(fact.name, values, fact.source)


def _read_small_file(path: Path) -> bytes:
    """The bytes of a file; none if it is gone since the folder was walked, too large, or a pipe, which would block."""
    try:
        about = path.stat()
        if not stat.S_ISREG(about.st_mode) or about.st_size > MAX_SIDECAR_SIZE:
            return b""
        with path.open("rb") as file:
            return file.read(MAX_SIDECAR_SIZE)
    except OSError:
        return b""
