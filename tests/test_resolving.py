"""What a turn refers to, looked up (what comes of it is tested through sessions)."""

from __future__ import annotations

import numpy as np

from viewfinder.conversation import Conversation, Say
from viewfinder.gallery import Gallery
from viewfinder.resolving import OnScreen, resolve
from viewfinder.testing import ColourEncoder, tiny_snapshot


def test_a_turn_brings_words_of_the_head_and_sentences_that_no_head_has_touched() -> None:
    tuned = ColourEncoder(channels=(1.0, 0.5, 0.0))
    talk = Conversation().then(Say("red over blue"))
    turn = resolve(talk, talk.here, Gallery(tiny_snapshot([("red", "blue")], encoder=tuned), tuned))
    assert turn.sentences is not None
    assert turn.sentences.version == tuned.sentences_version
    np.testing.assert_array_equal(turn.sentences.encode(["red"]), ColourEncoder().words(["red"]))
    assert not np.allclose(turn.words(["red"]), ColourEncoder().words(["red"]))


def test_what_was_shown_is_looked_up_when_it_is_wanted_and_what_has_gone_is_left_out() -> None:
    gallery = Gallery(tiny_snapshot([("red", "blue"), ("green", "blue")]), ColourEncoder())
    shown = OnScreen(["p001", "gone", "p000"], gallery)
    assert [picture.id for picture in shown] == ["p001", "p000"]
    assert [picture.id for picture in shown[1:]] == ["p000"]
    np.testing.assert_array_equal(shown[0].vectors["global"], gallery.snapshot.matrix_nd[1])
