"""What a person decided about constructed dialogues: a journal beside their file, one decision a line.

Beside `mChat_test.jsonl` lies `mChat_test.review.jsonl`:

    {"id": "m-000001", "verdict": "rewritten", "turns": [...], "note": "said too much", "by": "anna"}

A decision is on the disk before the next is taken up. The last one about a dialogue counts, so that a mind can be
changed and nothing is ever overwritten. Turns are as the dialogues have them (`data.chatsearch`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, get_args

from viewfinder.data.chatsearch import ChatSample, ChatTurn, dump_turns, parse_turns
from viewfinder.data.jsonl import append_json_line, parse_json_lines, whole_lines
from viewfinder.data.records import need_field
from viewfinder.errors import BadInput

Verdict = Literal["accepted", "rejected", "rewritten"]

VERDICTS: tuple[Verdict, ...] = get_args(Verdict)


@dataclass(frozen=True)
class Review:
    """One decision about one dialogue.

    Attributes:
        id: the dialogue.
        verdict: as it is, not at all, or in other words.
        turns: what a rewritten dialogue says now; of the others nothing.
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
    """Where decisions about a file of dialogues are kept.

    >>> review_file(Path("chatsearch/mChat_test.jsonl")).as_posix()
    'chatsearch/mChat_test.review.jsonl'
    """
    return samples.with_name(f"{samples.name.removesuffix('.jsonl')}.review.jsonl")


def read_reviews(file: Path, *, told: Callable[[str], None] = lambda line: None) -> dict[str, Review]:
    """The decisions of a journal by dialogue, the last one of each; nothing where there is no journal yet.

    Args:
        file: the journal.
        told: hears of a last line that was cut short; what it said was never acknowledged.

    Raises:
        BadInput: the file cannot be read, or a whole line is damaged (it is named).
    """
    try:
        whole, torn = whole_lines(file.read_bytes() if file.exists() else b"")
    except OSError as error:
        raise BadInput(f"{file}: cannot be read ({error.strerror})") from error
    if torn:
        told(f"{file}: the last line was cut short and does not count ({torn[:60].decode(errors='replace')})")
    found: dict[str, Review] = {}
    for line, record in parse_json_lines(whole.splitlines(), where=str(file)):
        review = _review(record, f"{file}, line {line}")
        found.pop(review.id, None)  # in the order in which they were decided
        found[review.id] = review
    return found


def add_review(file: Path, review: Review) -> None:
    """Notes a decision; on return it is on the disk. A line cut short by an earlier crash is taken out first.

    Raises:
        BadInput: the file cannot be written.
    """
    try:
        append_json_line(file, _record(review))
    except OSError as error:
        raise BadInput(f"{file}: cannot be written ({error.strerror}); check the folder and its disk") from error


def apply_reviews(samples: Iterable[ChatSample], reviews: Mapping[str, Review]) -> list[ChatSample]:
    """Of `samples`, in their order, what was accepted, and what was rewritten with its new turns."""
    kept: list[ChatSample] = []
    for sample in samples:
        review = reviews.get(sample.id)
        if review is not None and review.verdict != "rejected":
            kept.append(replace(sample, turns=review.turns) if review.turns else sample)
    return kept


def _review(record: Mapping[str, Any], where: str) -> Review:
    verdict = next((name for name in VERDICTS if name == record.get("verdict")), None)
    if verdict is None:
        raise BadInput(f"{where}, verdict: one of {', '.join(VERDICTS)} is needed, not {record.get('verdict')!r:.80}")
    turns: list[Any] = need_field(where, record, "turns", list) if verdict == "rewritten" else []
    return Review(
        id=need_field(where, record, "id", str),
        verdict=verdict,
        turns=parse_turns(turns, where) if verdict == "rewritten" else (),
        note=need_field(where, record, "note", str) if "note" in record else "",
        by=need_field(where, record, "by", str) if "by" in record else "",
    )


def _record(review: Review) -> dict[str, Any]:
    turns = {"turns": dump_turns(review.turns)} if review.turns else {}
    return {"id": review.id, "verdict": review.verdict, **turns, "note": review.note, "by": review.by}
