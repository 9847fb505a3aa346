"""What every encoder must keep: `viewfinder.testing.check_encoder`. Checkpoints of transformers are held to it in
test_transformers_encoder.py."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from viewfinder.encoders import load_encoder
from viewfinder.encoders.base import Encoded
from viewfinder.testing import ColourEncoder, check_encoder


def test_the_starter_keeps_the_contract() -> None:
    check_encoder(load_encoder("starter"))


def test_the_encoder_of_colours_keeps_the_contract() -> None:
    check_encoder(ColourEncoder())


def test_an_encoder_that_does_not_scale_its_words_is_noticed() -> None:
    class Long(ColourEncoder):
        def words(self, texts: Any) -> Any:
            return 2 * super().words(texts)

    with pytest.raises(AssertionError, match="unit vectors"):
        check_encoder(Long())


def test_an_encoder_whose_pictures_depend_on_their_company_is_noticed() -> None:
    class Centred(ColourEncoder):
        def pictures(self, batch: Any, *, regions: bool = False) -> Encoded:
            seen = super().pictures(batch, regions=regions)
            return replace(seen, global_bd=seen.global_bd - (seen.global_bd[:1] if len(batch) else np.float32(0)))

    with pytest.raises(AssertionError, match="order changes vectors"):
        check_encoder(Centred())
