"""The tally of a walk: files that are no pictures, by kind; sidecars; what was left out on purpose, and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from viewfinder.pictures.formats import advise_for_ending
from viewfinder.pictures.left_out import NOMEDIA, PREVIEWS, SNAPSHOTS, SYSTEM, TRASH

MAX_KINDS = 500
"""Kinds of files that are counted by themselves; further ones are "others", so that no folder fills the memory."""

MAX_ENDING, MAX_EXAMPLES, MAX_SHOWN_KINDS, MAX_OTHER_KINDS = 10, 3, 6, 3
"""Letters of an ending; places named for each reason; kinds that a line names, and kinds that it calls others."""

VIDEOS, NO_ENDING, OTHERS = "videos", "no ending", "others"

_VIDEO_ENDINGS = frozenset({
    "3g2", "3gp", "asf", "avi", "divx", "dv", "f4v", "flv", "insv", "lrv", "m2t", "m2ts", "m2v", "m4v", "mkv", "mod",
    "mov", "mp4", "mpe", "mpeg", "mpg", "mts", "mxf", "ogv", "qt", "rm", "rmvb", "tod", "vob", "webm", "wmv",
})  # fmt: skip

HIDDEN, IGNORED, LIBRARIES = "hidden", "ignored", "libraries"
"""Reasons that this package knows itself; those of other programs are in `left_out`."""

_REASONS = {
    PREVIEWS: "of other programs' previews",
    TRASH: "of the trash",
    SNAPSHOTS: "of snapshots",
    NOMEDIA: "marked .nomedia",
    SYSTEM: "of the system",
    HIDDEN: "hidden",
    LIBRARIES: "of viewfinder libraries",
    IGNORED: "ignored by .viewfinderignore",
}
"""Each reason as it follows "3 folders"."""

_FINAL = frozenset({LIBRARIES, IGNORED})
"""What no pattern takes."""


@dataclass
class LeftOut:
    """What was left out for one reason. A folder counts once, nothing in it is looked at; `examples` are places."""

    files: int = 0
    folders: int = 0
    examples: list[str] = field(default_factory=list)


@dataclass
class WalkNotes:
    """Files and folders that a walk met and did not give back as pictures; its size does not grow with their number.

    Of the files in a folder each is either found (a picture, or one that cannot be read), or counted here once, unless
    it lies in a folder that was left out as a whole. `passed_over` counts kinds: "videos", an ending like ".psd",
    "no ending", "others". `sidecars` counts by kind ("Takeout", "XMP") those that belong to a picture. `lacking` counts
    found pictures by an ending like ".jxl" that cannot be read without an extra; `included`, those that only the user's
    --include took.
    """

    passed_over: dict[str, int] = field(default_factory=dict)
    sidecars: dict[str, int] = field(default_factory=dict)
    lacking: dict[str, int] = field(default_factory=dict)
    left_out: dict[str, LeftOut] = field(default_factory=dict)
    included: int = 0

    def pass_over(self, ending: str) -> None:
        """Counts a file that does not say it is a picture, by its ending (lower case, without the dot)."""
        kind = name_kind(ending)
        if kind not in self.passed_over and len(self.passed_over) >= MAX_KINDS:
            kind = OTHERS
        self.passed_over[kind] = self.passed_over.get(kind, 0) + 1

    def count_sidecar(self, kind: str) -> None:
        """Counts a file that tells about a picture beside it, by the program that wrote it."""
        self.sidecars[kind] = self.sidecars.get(kind, 0) + 1

    def miss(self, ending: str) -> None:
        """Counts a picture that cannot be read without an extra; there are only so many endings of pictures."""
        self.lacking[f".{ending}"] = self.lacking.get(f".{ending}", 0) + 1

    def leave_out(self, reason: str, place: str, *, folder: bool) -> None:
        """Counts a file, or a folder with all that is in it, which was left out on purpose."""
        left = self.left_out.setdefault(reason, LeftOut())
        if folder:
            left.folders += 1
        else:
            left.files += 1
        if len(left.examples) < MAX_EXAMPLES:
            left.examples.append(place)


def name_kind(ending: str) -> str:
    """The kind of a file that is no picture, by its ending.

    >>> name_kind("mp4"), name_kind("psd"), name_kind("")
    ('videos', '.psd', 'no ending')
    """
    if ending in _VIDEO_ENDINGS:
        return VIDEOS
    if not ending:
        return NO_ENDING
    return f".{ending}" if len(ending) <= MAX_ENDING and ending.isalnum() else OTHERS


def describe_kinds(passed_over: Mapping[str, int]) -> str:
    """Numbers and kinds in one line, those with most files first; what is many kinds of few files is called others.

    >>> describe_kinds({".psd": 3, "videos": 412, ".txt": 1})
    '412 videos, 3 .psd, 1 .txt'
    """
    by_number = sorted(passed_over.items(), key=lambda item: (item[0] == OTHERS, -item[1], item[0]))
    named = [item for item in by_number if item[0] != OTHERS]
    shown = named if len(by_number) == MAX_SHOWN_KINDS + 1 == len(named) else named[:MAX_SHOWN_KINDS]
    rest = by_number[len(shown) :]
    parts = [_count_kind(kind, number) for kind, number in shown]
    if rest:
        kinds = [kind for kind, _ in rest if kind.startswith(".")][:MAX_OTHER_KINDS]
        more = f" ({', '.join(kinds)}{' ...' if len(rest) > len(kinds) else ''})" if kinds else ""
        count = sum(number for _, number in rest)
        parts.append(f"{count:,} other{'s' if count != 1 else ''}{more}")
    return ", ".join(parts)


def describe_left_out(left_out: Mapping[str, LeftOut], *, examples: bool = True) -> str:
    """What was left out, in one line, with places if `examples`, and how to take what can be taken; empty for nothing.

    >>> describe_left_out({"hidden": LeftOut(2, 0, [".a", ".b"]), "trash": LeftOut(0, 1, ["$RECYCLE.BIN"])})
    '1 folder of the trash ($RECYCLE.BIN), 2 hidden files (.a, .b): --include GLOB takes them'
    >>> describe_left_out({"ignored": LeftOut(1, 0, ["a.jpg"]), "hidden": LeftOut(1, 0, [".b"])})
    '1 hidden file (.b): --include GLOB takes them; 1 file ignored by .viewfinderignore (a.jpg)'
    """
    taken, final = list[str](), list[str]()
    for reason in (reason for reason in _REASONS if reason in left_out):
        left = left_out[reason]
        counts = _describe_reason(reason, left)
        is_final = reason in _FINAL or (reason == SYSTEM and not left.folders)
        (final if is_final else taken).append(f"{counts} ({_list_examples(left)})" if examples else counts)
    advised = [f"{', '.join(taken)}: --include GLOB takes them"] if taken else []
    return "; ".join([*advised, *([", ".join(final)] if final else [])])


def describe_sidecars(sidecars: Mapping[str, int]) -> str:
    """The sidecars of pictures in words.

    >>> describe_sidecars({"Takeout": 9, "XMP": 1})
    '9 Takeout sidecars, 1 XMP sidecar'
    """
    return ", ".join(f"{number:,} {kind} {_plural('sidecar', number)}" for kind, number in sorted(sidecars.items()))


def describe_lacking(lacking: Mapping[str, int]) -> list[str]:
    """Pictures that wait for an extra, a line for each extra.

    >>> describe_lacking({".jxl": 31})
    ["31 .jxl: pip install 'viewfinder[jxl]', with the pip beside this viewfinder"]
    """
    by_advice: dict[str, dict[str, int]] = {}
    for ending, number in lacking.items():
        by_advice.setdefault(advise_for_ending(ending[1:]), {})[ending] = number
    return [f"{describe_kinds(kinds)}: {advice}" for advice, kinds in by_advice.items()]


def _count_kind(kind: str, number: int) -> str:
    if kind == VIDEOS:
        return f"{number:,} {_plural('video', number)}"
    return f"{number:,} without an ending" if kind == NO_ENDING else f"{number:,} {kind}"


def _describe_reason(reason: str, left: LeftOut) -> str:
    counts = ((left.folders, "folder"), (left.files, "file"))
    if reason == HIDDEN:
        return " and ".join(f"{number:,} hidden {_plural(noun, number)}" for number, noun in counts if number)
    nouns = " and ".join(f"{number:,} {_plural(noun, number)}" for number, noun in counts if number)
    return f"{nouns} {_REASONS[reason]}"


def _list_examples(left: LeftOut) -> str:
    return ", ".join(left.examples + ["..."] * (left.files + left.folders > len(left.examples)))


def _plural(noun: str, number: int) -> str:
    return noun if number == 1 else f"{noun}s"
