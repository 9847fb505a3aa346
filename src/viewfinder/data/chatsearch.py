"""ChatSearch (Zhao et al. 2024): dialogues of words and pictures whose last turn asks for one picture.

The paper's data was not released; the format is ours. Each line of a `.jsonl` file is one sample:

    {"id": "m-000001", "subtask": "mChat", "turns": [
      {"role": "user", "content": [{"text": "We went somewhere with tall glass towers."}]},
      {"role": "assistant", "content": [{"text": "Like this?"}, {"image": "coco/000000000001.jpg"}]},
      {"role": "user", "content": [{"text": "Same city, but at night from a boat."}]}],
     "target": "laion/abc.jpg", "source": {"pipeline": "merge", "caption_ref": "...", "caption_target": "..."}}

Beside it, `gallery_<subtask>.txt` lists the pictures among which the target is searched, one path per line. Paths are
POSIX paths below one folder of pictures.

A journal beside a file of constructed dialogues holds people's decisions about them, one decision per line. The journal
of `mChat_test.jsonl` is `mChat_test.review.jsonl`:

    {"id": "m-000001", "verdict": "rewritten", "turns": [...], "note": "said too much", "by": "anna"}

A decision is on disk before the next dialogue is shown. The last one about a dialogue counts, so that people can change
their minds and nothing is ever overwritten.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args

from viewfinder.data.files import (
    ReadReport,
    append_json_line,
    need_field,
    need_folder,
    parse_json_lines,
    read_jsonl,
    read_text,
    whole_lines,
    write_jsonl,
)
from viewfinder.errors import BadInput

Subtask = Literal["tChat", "iChat", "mChat"]
"""Words only; one picture and a wanted change; several rounds of both."""

Role = Literal["user", "assistant"]

SUBTASKS: tuple[Subtask, ...] = get_args(Subtask)
ROLES: tuple[Role, ...] = get_args(Role)

_Name = TypeVar("_Name", bound=str)


@dataclass(frozen=True)
class TextItem:
    """Words of a turn."""

    text: str


@dataclass(frozen=True)
class ImageItem:
    """A picture of a turn, by its path in the folder of pictures."""

    image: str


@dataclass(frozen=True)
class ChatTurn:
    """The words and pictures of one side in one turn, in order; never empty."""

    role: Role
    content: tuple[TextItem | ImageItem, ...]


@dataclass(frozen=True)
class ChatSample:
    """A dialogue that ends with the user's turn, and the target; `source` says how the sample was made."""

    id: str
    subtask: Subtask
    turns: tuple[ChatTurn, ...]
    target: str
    source: Mapping[str, Any] = field(default_factory=dict)

    def images(self) -> tuple[str, ...]:
        """The pictures that the turns show, in order."""
        items = (item for turn in self.turns for item in turn.content)
        return tuple(item.image for item in items if isinstance(item, ImageItem))


def read_chatsearch(
    file: Path, *, galleries: Mapping[Subtask, Sequence[str]] | None = None
) -> tuple[list[ChatSample], ReadReport]:
    """All samples of a file; none is left out.

    `galleries`: as `read_galleries` gives them; every target must be in its subtask's. None for training data.

    Raises:
        BadInput: no such file, or a damaged record: a missing or malformed field, a duplicate id, a target that is
            not in the gallery. File, line and field are named.
    """
    among = {subtask: frozenset(names) for subtask, names in (galleries or {}).items()}
    samples: list[ChatSample] = []
    lines: dict[str, int] = {}
    for line, record in read_jsonl(file):
        where = f"{file}, line {line}"
        turns = parse_turns(need_field(where, record, "turns", list), where)
        subtask = _need_one_of(record.get("subtask"), SUBTASKS, f"{where}, subtask")
        source: dict[str, Any] = need_field(where, record, "source", dict) if "source" in record else {}
        name, target = need_field(where, record, "id", str), need_field(where, record, "target", str)
        sample = ChatSample(name, subtask, turns, target, source)
        if sample.id in lines:
            raise BadInput(f"{where}: the id {sample.id!r} is on line {lines[sample.id]} already")
        lines[sample.id] = line
        if galleries is not None and sample.subtask not in among:
            raise BadInput(f"{where}, subtask: there is no gallery_{sample.subtask}.txt to look in")
        if galleries is not None and sample.target not in among[sample.subtask]:
            raise BadInput(f"{where}, target: {sample.target!r} is not in gallery_{sample.subtask}.txt")
        samples.append(sample)
    return samples, ReadReport(len(samples), len(samples))


def read_gallery(file: Path) -> tuple[str, ...]:
    """The pictures of a gallery file, in its order; BadInput if it is empty or has a picture twice."""
    lines: dict[str, int] = {}
    for number, line in enumerate(read_text(file).splitlines(), start=1):
        name = line.strip()
        if name in lines:
            raise BadInput(f"{file}, line {number}: {name!r} is on line {lines[name]} already")
        if name:
            lines[name] = number
    if not lines:
        raise BadInput(f"{file}: this gallery is empty; one path of a picture a line is needed")
    return tuple(lines)


def read_galleries(folder: Path) -> dict[Subtask, tuple[str, ...]]:
    """The galleries in a folder, by subtask; BadInput if there is none."""
    files = {subtask: _gallery_file(need_folder(folder), subtask) for subtask in SUBTASKS}
    found = {subtask: read_gallery(file) for subtask, file in files.items() if file.is_file()}
    if not found:
        raise BadInput(f"{folder}: no gallery_<subtask>.txt here (subtasks: {', '.join(SUBTASKS)})")
    return found


def write_chatsearch(file: Path, samples: Iterable[ChatSample]) -> None:
    """Writes samples so that `read_chatsearch` gives them back."""
    records = (
        {
            "id": sample.id,
            "subtask": sample.subtask,
            "turns": dump_turns(sample.turns),
            "target": sample.target,
            "source": dict(sample.source),
        }
        for sample in samples
    )
    write_jsonl(file, records)


def write_gallery(folder: Path, subtask: Subtask, pictures: Sequence[str]) -> Path:
    """Writes `gallery_<subtask>.txt` and returns its path."""
    file = _gallery_file(folder, subtask)
    file.write_text("".join(f"{picture}\n" for picture in pictures), encoding="utf-8", newline="\n")
    return file


def dump_turns(turns: Iterable[ChatTurn]) -> list[dict[str, Any]]:
    """Turns in the form of a record."""
    return [{"role": turn.role, "content": [vars(item) for item in turn.content]} for turn in turns]


def parse_turns(record: Sequence[Any], where: str) -> tuple[ChatTurn, ...]:
    """Turns from what `dump_turns` returned; `where` names file and record.

    Raises:
        BadInput: there are none, one is malformed, or the last one is not the user's.
    """
    turns = tuple(_parse_turn(turn, f"{where}, turns[{at}]") for at, turn in enumerate(record))
    if not turns or turns[-1].role != "user":
        raise BadInput(f"{where}, turns: the last turn must be the user's")
    return turns


def _gallery_file(folder: Path, subtask: Subtask) -> Path:
    return folder / f"gallery_{subtask}.txt"


def _parse_turn(turn: Any, where: str) -> ChatTurn:
    content = turn.get("content") if isinstance(turn, dict) else None
    if not isinstance(content, list) or not content:
        raise BadInput(f"{where}.content: a list of texts and images is needed")
    role = _need_one_of(turn.get("role"), ROLES, f"{where}.role")
    return ChatTurn(role, tuple(_parse_item(item, f"{where}.content[{at}]") for at, item in enumerate(content)))


def _parse_item(item: Any, where: str) -> TextItem | ImageItem:
    match item:
        case {"text": str(text), **rest} if text and not rest:
            return TextItem(text)
        case {"image": str(image), **rest} if image and not rest:
            return ImageItem(image)
        case _:
            raise BadInput(f'{where}: {{"text": ...}} or {{"image": ...}} is needed, not {item!r:.80}')


def _need_one_of(value: Any, names: Sequence[_Name], where: str) -> _Name:
    for name in names:
        if value == name:
            return name
    raise BadInput(f"{where}: one of {', '.join(names)} is needed, not {value!r:.80}")


Verdict = Literal["accepted", "rejected", "rewritten"]

VERDICTS: tuple[Verdict, ...] = get_args(Verdict)


@dataclass(frozen=True)
class Review:
    """One decision about one dialogue.

    Attributes:
        id: the dialogue.
        verdict: accepted as it is, rejected, or rewritten.
        turns: what a rewritten dialogue says now; empty for the others.
        note: why, in the person's words.
        by: who decided.

    Raises:
        BadInput: it is rewritten without turns, or has turns and is not; the last turn is not the user's.
    """

    id: str
    verdict: Verdict
    turns: tuple[ChatTurn, ...] = ()
    note: str = ""
    by: str = ""

    def __post_init__(self) -> None:
        if bool(self.turns) != (self.verdict == "rewritten"):
            raise BadInput(f"review of {self.id}: the new turns belong to the verdict 'rewritten', and to no other")
        if self.turns and self.turns[-1].role != "user":
            raise BadInput(f"review of {self.id}: the last turn must be the user's")


def review_file(samples: Path) -> Path:
    """The journal of decisions about a file of dialogues.

    >>> review_file(Path("chatsearch/mChat_test.jsonl")).as_posix()
    'chatsearch/mChat_test.review.jsonl'
    """
    return samples.with_name(f"{samples.name.removesuffix('.jsonl')}.review.jsonl")


def read_reviews(file: Path, *, notify: Callable[[str], None] = lambda line: None) -> dict[str, Review]:
    """The decisions of a journal by dialogue, the last one of each; nothing if there is no journal yet.

    `notify` is told of a truncated last line, which was never acknowledged.

    Raises:
        BadInput: the file cannot be read, or a complete line is damaged (it is named).
    """
    try:
        whole, torn = whole_lines(file.read_bytes() if file.exists() else b"")
    except OSError as error:
        raise BadInput(f"{file}: cannot be read ({error.strerror})") from error
    if torn:
        notify(f"{file}: the last line was cut short and does not count ({torn[:60].decode(errors='replace')})")
    found: dict[str, Review] = {}
    for line, record in parse_json_lines(whole.splitlines(), where=str(file)):
        review = _parse_review(record, f"{file}, line {line}")
        found.pop(review.id, None)  # keeps the order in which they were decided
        found[review.id] = review
    return found


def add_review(file: Path, review: Review) -> None:
    """Records a decision; on return it is on disk. A line that an earlier crash truncated is removed first."""
    try:
        turns = {"turns": dump_turns(review.turns)} if review.turns else {}
        record = {"id": review.id, "verdict": review.verdict, **turns, "note": review.note, "by": review.by}
        append_json_line(file, record)
    except OSError as error:
        raise BadInput(f"{file}: cannot be written ({error.strerror}); check the folder and its disk") from error


def apply_reviews(samples: Iterable[ChatSample], reviews: Mapping[str, Review]) -> list[ChatSample]:
    """The accepted samples, and the rewritten ones with their new turns, in their order."""
    kept: list[ChatSample] = []
    for sample in samples:
        review = reviews.get(sample.id)
        if review is not None and review.verdict != "rejected":
            kept.append(replace(sample, turns=review.turns) if review.turns else sample)
    return kept


def _parse_review(record: Mapping[str, Any], where: str) -> Review:
    verdict = _need_one_of(record.get("verdict"), VERDICTS, f"{where}, verdict")
    turns: list[Any] = need_field(where, record, "turns", list) if verdict == "rewritten" else []
    return Review(
        id=need_field(where, record, "id", str),
        verdict=verdict,
        turns=parse_turns(turns, where) if verdict == "rewritten" else (),
        note=need_field(where, record, "note", str) if "note" in record else "",
        by=need_field(where, record, "by", str) if "by" in record else "",
    )
