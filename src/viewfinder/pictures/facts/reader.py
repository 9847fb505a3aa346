"""All facts of one picture: what its file says, what lies beside it, what its name says, merged by trust."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from viewfinder.pictures.facts.beside import read_sidecar
from viewfinder.pictures.facts.embedded import date_container, find_blocks, read_blocks
from viewfinder.pictures.facts.file_names import read_file_name
from viewfinder.pictures.facts.model import Fact, merge_facts

_EDITED_BESIDE = frozenset({"title", "description", "rating", "label"})


def read_facts(data: bytes, announced: str, path: Path, sidecars: Sequence[Path]) -> tuple[Fact, ...]:
    """What is known of the picture in `data`, whose file is `path` and whose sidecars come the most trusted first.

    Dates are those of the file's own blocks, then of its sidecars, of its container, and of its name. A sidecar of XMP
    comes before the file for title, description, rating and label: programs write there when they leave the file alone.
    """
    blocks = find_blocks(data, announced)
    beside = [(sidecar, read_sidecar(sidecar, path.name)) for sidecar in sidecars]
    return merge_facts(
        [
            *(fact for sidecar, facts in beside if _is_xmp(sidecar) for fact in facts if fact.name in _EDITED_BESIDE),
            *read_blocks(blocks),
            *_join(facts for _, facts in beside),
            *date_container(blocks),
            *read_file_name(path.name),
        ]
    )


def _is_xmp(sidecar: Path) -> bool:
    return sidecar.suffix.lower() == ".xmp"


def _join(groups: Iterable[tuple[Fact, ...]]) -> list[Fact]:
    return [fact for group in groups for fact in group]
