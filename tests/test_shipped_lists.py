"""What the weights in the package list of their training; the counts are those of their cards."""

from __future__ import annotations

from pathlib import Path

import pytest

import viewfinder
from viewfinder.training.weights import TrainingList, read_card

PACKAGE = Path(viewfinder.__file__).parent
SHIPPED = sorted(file for file in PACKAGE.glob("**/*.safetensors") if file.name != "head.safetensors")


@pytest.mark.parametrize("weights", SHIPPED, ids=lambda file: file.parent.name)
def test_all_weights_in_the_package_have_a_list(weights: Path) -> None:
    assert read_card(weights).trained_on


@pytest.mark.parametrize(("weights", "count", "at_most"), [
    ("users/captioner/lab", 2459, False), ("retrievers/fashioniq/modern", 6502 + 5823, False),
    ("retrievers/mai/modern", 5249 + 5823, False),
    ("retrievers/chatir/lab", 5244 + 6502 + 5823, False), ("retrievers/drilldown/modern", 5244 + 6502 + 5823, False),
])  # fmt: skip
def test_lists_have_as_many_names_as_the_weights_saw_at_most(weights: str, count: int, at_most: bool) -> None:
    listed = TrainingList.decode(read_card(PACKAGE / f"{weights}.safetensors").trained_on)
    assert (len(listed), listed.at_most) == (count, at_most)
