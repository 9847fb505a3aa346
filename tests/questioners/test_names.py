from __future__ import annotations

import numpy as np
import pytest

from viewfinder.errors import UnknownName
from viewfinder.questioners import QUESTIONERS, Candidates, Questioner, load_questioner

RED_OR_BLUE = {"colour": (("red", "blue"), np.array([0, 1], np.int32))}
VIEW = Candidates(np.array([0.5, 0.5]), np.eye(2, dtype=np.float32), RED_OR_BLUE)


@pytest.mark.parametrize("name", QUESTIONERS)
def test_each_questioner_answers_to_its_name_and_keeps_the_contract(name: str) -> None:
    questioner = load_questioner(name)
    assert isinstance(questioner, Questioner)
    assert questioner.name == name
    first, second = questioner.ask(VIEW), questioner.ask(VIEW)
    assert first == second
    assert first is None or first.by == name


def test_none_asks_nothing_where_information_gain_asks() -> None:
    assert load_questioner("none").ask(VIEW) is None
    assert load_questioner(None).ask(VIEW) is None
    assert load_questioner("information_gain").ask(VIEW) is not None


def test_a_typo_is_answered_with_the_names() -> None:
    with pytest.raises(UnknownName, match=r"'informationgain'; there are: information_gain, none"):
        load_questioner("informationgain")
