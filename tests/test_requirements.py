"""The pinned environment is one that the package itself asks for, and nothing else gets into it."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parent.parent


def pinned() -> dict[str, list[str]]:
    """The version of every pinned package, and its hashes."""
    entries = re.findall(r"^([\w.-]+)(?:\[\w+\])?==(\S+)((?: .*\\\n(?:    --hash.*\n)+)?)", _pins(), re.MULTILINE)
    return {
        canonicalize_name(name): [version, *re.findall("sha256:[0-9a-f]{64}", rest)] for name, version, rest in entries
    }


def _pins() -> str:
    return (ROOT / "requirements.txt").read_text(encoding="utf-8")


def test_every_pin_but_that_of_torch_carries_hashes() -> None:
    pins = pinned()
    assert len(pins) == _pins().count("==") > 150
    assert [name for name, (_, *hashes) in pins.items() if not hashes] == []


def test_every_pin_is_a_version_that_the_package_asks_for() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    asked = [Requirement(text) for texts in (project["dependencies"], *extras.values()) for text in texts]
    pins = {**pinned(), "torch": [(ROOT / "requirements-torch.txt").read_text(encoding="utf-8").split("==")[1].strip()]}
    missing = [one for one in asked if one.name != "viewfinder" and canonicalize_name(one.name) not in pins]
    assert missing == []
    wrong = [
        one for one in asked if one.name != "viewfinder" and pins[canonicalize_name(one.name)][0] not in one.specifier
    ]
    assert wrong == []
