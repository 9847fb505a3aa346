"""The stand-in for CLIP: a line in the starter's likeness, CLIP's statistics on photographs, an encoder's contract."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from pseudo_clip import CLIP, STARTER, PseudoClip, measure, turn_texts

from viewfinder.data.splits import read_photographs
from viewfinder.encoders import load_encoder
from viewfinder.encoders.base import unit_rows
from viewfinder.encoders.starter import StarterEncoder
from viewfinder.pictures import Limits
from viewfinder.pictures.decode import decode
from viewfinder.testing import check_encoder

DATA = Path(__file__).resolve().parents[2].parent / "shared" / "data"


def test_it_is_an_encoder_that_can_be_named_by_its_place() -> None:
    encoder = load_encoder("pseudo_clip:PseudoClip")
    assert encoder.name == "pseudo-clip"
    check_encoder(encoder)


def test_its_likeness_is_a_line_in_the_starters() -> None:
    drawn = np.random.default_rng(0)
    seen_nd, said_md = (unit_rows(drawn.standard_normal((count, 256))) for count in (40, 50))
    starters_nm = seen_nd @ said_md.T
    turned_nm = PseudoClip.turn_pictures(seen_nd) @ turn_texts(said_md).T
    slope, offset = np.polyfit(starters_nm.ravel(), turned_nm.ravel(), 1)
    # 0.035 for what deviates by the starter's deviation; two numbers of 256 are lost, so a text may be a little longer.
    assert slope == pytest.approx(CLIP["deviation"] / STARTER["deviation"], rel=0.01)
    assert offset + slope * STARTER["others"] == pytest.approx(CLIP["others"], abs=0.002)
    np.testing.assert_allclose(turned_nm, slope * starters_nm + offset, atol=0.004)


@pytest.mark.data
@pytest.mark.skipif(not DATA.is_dir(), reason=f"{DATA} is not there")
@pytest.mark.long
def test_photographs_have_the_statistics_of_clip() -> None:
    found = [one for some in read_photographs(DATA, "choose").values() for one in some][::10]
    starter = StarterEncoder()
    seen = [decode(one.path.read_bytes(), limits=Limits(), fit=starter.fit).pixels for one in found]
    pictures_nd = PseudoClip.turn_pictures(starter.project(starter.pictures(seen).global_bd))
    figures = measure(pictures_nd, PseudoClip().words([one.captions[0] for one in found]), range(len(found)))
    assert figures["pairs"] == pytest.approx(0.28, abs=0.03)
    for name, value in CLIP.items():
        assert figures[name] == pytest.approx(value, abs=0.006 if name == "deviation" else 0.03), name
