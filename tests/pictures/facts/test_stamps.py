"""viewfinder.pictures.facts.stamps"""

from __future__ import annotations

import os
from pathlib import Path

from viewfinder.pictures.facts.stamps import make_stamp


def test_a_stamp_changes_with_names_sizes_times_and_signature_and_with_nothing_else(tmp_path: Path) -> None:
    for name in ("a.xmp", "b.xmp"):
        (tmp_path / name).write_bytes(b"12")
        os.utime(tmp_path / name, ns=(1, 1_000))

    def stamp(*names: str, signature: int = 0) -> int:
        return make_stamp(str(tmp_path), names, signature)

    assert stamp() == 0
    stamps = [stamp("a.xmp"), stamp("b.xmp"), stamp("a.xmp", "b.xmp"), stamp("a.xmp", signature=1), stamp(signature=1)]
    os.utime(tmp_path / "a.xmp", ns=(1, 2_000))
    stamps.append(stamp("a.xmp"))
    (tmp_path / "a.xmp").write_bytes(b"123")
    os.utime(tmp_path / "a.xmp", ns=(1, 2_000))
    stamps.append(stamp("a.xmp"))
    (tmp_path / "a.xmp").unlink()
    stamps.append(stamp("a.xmp"))
    assert len({*stamps, 0}) == len(stamps) + 1
    assert stamp("a.xmp") == stamps[-1]
    assert all(-(1 << 63) <= it < 1 << 63 for it in stamps)
