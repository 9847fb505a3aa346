"""What the weights in the package list of their training; the counts are those of their cards."""

from __future__ import annotations

from pathlib import Path

import pytest

import viewfinder
from viewfinder.weights import TrainingList, read_card

PACKAGE = Path(viewfinder.__file__).parent
# The head has its list beside it; the vectors of our own sayings are no weights.
WITHOUT_LIST = {"head.safetensors", "sayings.safetensors"}
SHIPPED = sorted(file for file in PACKAGE.glob("**/*.safetensors") if file.name not in WITHOUT_LIST)


@pytest.mark.parametrize("weights", SHIPPED, ids=lambda file: file.parent.name)
def test_all_weights_in_the_package_have_a_list(weights: Path) -> None:
    assert read_card(weights).trained_on


@pytest.mark.parametrize(("weights", "count"), [
    ("users/captioner/lab", 2459), ("retrievers/fashioniq/modern", 6502 + 5823),
    ("retrievers/mai/modern", 5249 + 5823), ("retrievers/chatsearcher/modern", 5244 + 2496 + 6502 + 5823),
    ("retrievers/chatir/lab", 5244 + 6502 + 5823), ("retrievers/drilldown/modern", 5244 + 6502 + 5823),
    ("retrievers/one/products", 6436), ("retrievers/one/chatir", 21631), ("retrievers/one/drilldown", 21631),
])  # fmt: skip
def test_lists_have_as_many_names_as_the_weights_saw(weights: str, count: int) -> None:
    listed = TrainingList.decode(read_card(PACKAGE / f"{weights}.safetensors").trained_on)
    assert (len(listed), listed.at_most) == (count, False)
