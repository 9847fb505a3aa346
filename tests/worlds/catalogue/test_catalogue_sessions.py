import random

from viewfinder.worlds.catalogue.items import Item
from viewfinder.worlds.catalogue.relative import CaptionTally
from viewfinder.worlds.catalogue.sessions import make_session

COLOURS = ("red", "black", "green", "white", "yellow")
ITEMS = [
    Item(str(k), "Shirts", "Topwear", f"{colour} shirt", (("kind", "shirt"), ("colour", colour)), frozenset(), ())
    for k, colour in enumerate(COLOURS)
]


def test_a_session_walks_from_like_to_like_to_its_target() -> None:
    """The best reference of 0 is 1, of 1 is 0 and then 2, of 2 is 3, of 3 is 4."""
    one, two, three, four = ITEMS[1:]
    likes = {"0": (one,), "1": (ITEMS[0], two), "2": (one, three), "3": (four,), "4": ()}
    turns = set()
    for seed in range(60):
        talk = make_session(ITEMS[0], likes, CaptionTally(), random.Random(seed))
        assert talk is not None and talk.keys == ("4", "3", "2", "1", "0")[-1 - len(talk.references) :]
        assert all(len(shown.captions) == 2 for shown in talk.references)
        turns.add(len(talk.references))
    assert turns == {2, 3, 4}


def test_what_is_said_leads_to_the_next_picture() -> None:
    white, yellow = ITEMS[3], ITEMS[4]
    likes = {"4": (white,), "3": (ITEMS[1],), "1": ()}
    talk = make_session(yellow, likes, CaptionTally(), random.Random(0))
    assert talk is not None and [shown.key for shown in talk.references] == ["1", "3"]
    to_white, to_yellow = (" ".join(shown.captions) for shown in talk.references)
    assert "yellow" not in to_white and "black" not in to_yellow
    assert (talk.url, talk.references[0].url) == ("images/4.jpg", "images/1.jpg")


def test_without_two_turns_there_is_no_session() -> None:
    assert make_session(ITEMS[0], {"0": (ITEMS[1],), "1": (ITEMS[0],)}, CaptionTally(), random.Random(0)) is None
