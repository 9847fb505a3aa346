"""Pairs of articles: references, relative captions, sessions, and queries in CIRR's form."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from math import log, sqrt
from pathlib import Path

import numpy as np
import pytest

from viewfinder.data.cirr import read_cirr
from viewfinder.data.splits import SPLITS
from viewfinder.worlds.catalogue import pairs
from viewfinder.worlds.catalogue.items import Item, sample_item
from viewfinder.worlds.catalogue.pairs import (
    MAX_QUERIES_PER_SET,
    SET_SIZE,
    CaptionTally,
    choose_statements,
    cirr_pairs,
    find_references,
    image_sets,
    make_session,
    relative_captions,
    rules_out,
    title_similarities,
)
from viewfinder.worlds.catalogue.statements import direct_statements, tell_apart

TITLES = ["red shirt", "red shirt", "blue shirt", "blue dress"]


def titled(key: str, title: str) -> Item:
    words = (("kind", "shirt"), ("colour", title.split(maxsplit=1)[0]))
    return Item(key, "Shirts", "Topwear", title, words, frozenset(), ())


def slowly(titles: list[str]) -> list[list[float]]:
    """The rule as it is written down: TF-IDF (smooth idf, unit length), summed over the words that both have."""
    words = [re.findall(r"\w[\w'-]*", title.lower()) for title in titles]
    having = Counter(word for of_title in words for word in set(of_title))
    table = []
    for of_title in words:
        weights = {w: of_title.count(w) * (log((1 + len(titles)) / (1 + having[w])) + 1) for w in of_title}
        length = sqrt(sum(weight**2 for weight in weights.values()))
        table.append([sum(w / length for word, w in weights.items() if word in other) for other in words])
    return table


def test_alikeness_is_the_sum_of_weights_on_shared_words() -> None:
    """ "blue dress": idf of blue ln(5/3) + 1 = 1.511, of dress ln(5/2) + 1 = 1.916; length 2.440."""
    scores = np.array(list(title_similarities(TITLES)))
    assert np.allclose(scores[3], [0, 0, 1.511 / 2.440, (1.511 + 1.916) / 2.440], atol=1e-3)


def test_alikeness_is_that_of_slow_obvious_code() -> None:
    titles = [sample_item(seed=1, number=number).title for number in range(1, 301)]
    assert np.allclose(np.array(list(title_similarities(titles))), slowly(titles))


def sparse_similarities(titles: Sequence[str]) -> Iterator[np.ndarray]:
    """What the worlds were made with before scikit-learn became an extra."""
    text = pytest.importorskip(
        "sklearn.feature_extraction.text", reason="compared with what `viewfinder[train]` brings"
    )
    weights_nw = text.TfidfVectorizer(token_pattern=r"(?u)\b\w[\w'-]*\b").fit_transform(titles)
    yield from (weights_nw @ (weights_nw > 0).astype(np.float64).T).toarray()


def test_alikeness_and_pairs_are_those_of_scikit_learn(monkeypatch: pytest.MonkeyPatch) -> None:
    items = [sample_item(seed=2, number=number) for number in range(1, 201)]
    titles = [item.title for item in items]
    apart = np.array(list(title_similarities(titles))) - np.array(list(sparse_similarities(titles)))
    assert np.abs(apart).max() < 1e-12
    found = find_references(items, most=8, rng=random.Random(3))
    monkeypatch.setattr(pairs, "title_similarities", sparse_similarities)
    assert find_references(items, most=8, rng=random.Random(3)) == found


def test_the_reference_is_the_most_alike_that_can_be_told_apart() -> None:
    items = [titled(str(number), title) for number, title in enumerate(TITLES)]
    found = find_references(items, most=5, rng=random.Random(0))
    # The other red shirt is more alike, but nothing tells the two apart.
    assert [item.key for item in found["0"]] == ["2", "3"]
    assert {item.key for item in found["3"]} == {"0", "1"}


def test_every_reference_is_the_best_by_slow_code() -> None:
    items = [sample_item(seed=4, number=number) for number in range(1, 80)]
    table = slowly([item.title for item in items])
    found = find_references(items, most=3, rng=random.Random(1), fits=lambda target, reference: True)
    for place, item in enumerate(items):
        others = sorted((score for other, score in enumerate(table[place]) if other != place), reverse=True)
        assert np.allclose([table[place][items.index(reference)] for reference in found[item.key]], others[:3])


def test_among_equals_chance_decides() -> None:
    items = [titled(str(number), "red shirt") for number in range(30)]
    found = find_references(items, most=1, rng=random.Random(0), fits=lambda target, reference: True)
    again = find_references(items, most=1, rng=random.Random(0), fits=lambda target, reference: True)
    other = find_references(items, most=1, rng=random.Random(1), fits=lambda target, reference: True)
    assert found == again != other


def test_without_titles_or_fits_there_are_no_references() -> None:
    assert find_references([], most=2, rng=random.Random(0)) == {}
    twins = [titled("0", "red shirt"), titled("1", "red shirt")]
    assert find_references(twins, most=2, rng=random.Random(0)) == {"0": (), "1": ()}


def article(**words: str) -> Item:
    return Item("1", "Shirts", "Topwear", "Thing", (("kind", "shirt"), *words.items()), frozenset(), ())


def test_the_kind_that_is_furthest_behind_is_due() -> None:
    tally = CaptionTally()
    assert tally.choose_due(["direct, single", "direct, composite"]) == "direct, composite"  # 0.185 and 0.305 wanted
    tally.kinds["direct, composite"] = 1
    assert tally.choose_due(["direct, single", "direct, composite"]) == "direct, single"  # 0.37 - 0 and 0.61 - 1


def test_shares_are_counted() -> None:
    tally = CaptionTally(negated=1)
    tally.kinds.update({"direct, single": 2, "both, composite": 1, "comparison, composite": 1})
    assert tally.shares() == {
        "direct": 0.5,
        "comparison": 0.25,
        "both": 0.25,
        "single": 0.5,
        "composite": 0.5,
        "negation": 0.25,
    }


def test_captions_come_in_the_published_shares() -> None:
    rng, tally = random.Random(0), CaptionTally()
    items = [sample_item(seed=6, number=number) for number in range(1, 250)]
    while tally.captions < 1000:
        target, reference = rng.sample(items, 2)
        if target.kind == reference.kind and tell_apart(target, reference):
            relative_captions(target, reference, tally, rng)
    wanted = {"direct": 0.49, "comparison": 0.32, "both": 0.19, "single": 0.3, "composite": 0.7}
    shares = tally.shares()
    assert all(shares[name] == pytest.approx(share, abs=0.02) for name, share in wanted.items())
    assert 0.03 <= shares["negation"] <= 0.05


def test_the_two_captions_of_a_pair_differ_even_if_there_is_one_thing_to_say() -> None:
    rng = random.Random(1)
    one, other = article(fabric="denim"), article(fabric="silk")
    for _ in range(50):
        first, second = relative_captions(one, other, CaptionTally(), rng)
        assert first != second
        assert all(
            re.fullmatch(r"(it )?(is )?(made of )?denim|.*not (made of )?silk", text) for text in (first, second)
        )


def test_a_single_difference_makes_a_sentence_to_follow_by_hand() -> None:
    long, short = article(sleeves="long sleeves"), article(sleeves="short sleeves")
    said = {relative_captions(long, short, CaptionTally(), random.Random(seed))[0] for seed in range(60)}
    # Due first is "direct, composite", which this pair does not allow; then "both".
    parts = [re.split(r",? and | but | with ", re.sub("^it ", "", caption)) for caption in said]
    allowed = {
        "has long sleeves", "long sleeves", "has longer sleeves", "longer sleeves",
        "is longer in the sleeves", "longer in the sleeves",
        "has no short sleeves", "does not have short sleeves",
    }  # fmt: skip
    assert all(len(two) == 2 and set(two) <= allowed for two in parts)


def test_nothing_is_joined_to_a_denial_without_its_verb() -> None:
    """ "has no hood and a belt" would say that there is no belt."""
    rng, tally = random.Random(3), CaptionTally()
    items = [sample_item(seed=7, number=number) for number in range(1, 120)]
    denials = []
    for _ in range(600):
        target, reference = rng.sample(items, 2)
        if target.kind == reference.kind and tell_apart(target, reference):
            denials += [c for c in relative_captions(target, reference, tally, rng) if re.search(r"\b(no|not)\b", c)]
    assert denials
    for caption in denials:
        for part in re.split(r",? and | but ", caption):
            assert re.match(r"(it )?(is|has|does|still) ", part), caption


def test_the_second_caption_says_other_things_where_there_are_others() -> None:
    one, other = article(fabric="denim", neck="v-neck"), article(fabric="silk", neck="collar")
    for seed in range(40):
        tally = CaptionTally(negated=10)  # no negation is due
        tally.kinds.update({"direct, composite": 20, "both, composite": 20})  # but two single ones
        first, second = relative_captions(one, other, tally, random.Random(seed))
        assert ("denim" in first) != ("denim" in second) and ("v-neck" in first) != ("v-neck" in second)


def test_a_pair_that_nothing_tells_apart_is_refused() -> None:
    with pytest.raises(ValueError, match="nothing is known that tells 1 from 1"):
        relative_captions(article(colour="red"), article(colour="red"), CaptionTally(), random.Random(0))


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
        dialogue = make_session(ITEMS[0], likes, CaptionTally(), random.Random(seed))
        assert dialogue is not None and dialogue.keys == ("4", "3", "2", "1", "0")[-1 - len(dialogue.references) :]
        assert all(len(shown.captions) == 2 for shown in dialogue.references)
        turns.add(len(dialogue.references))
    assert turns == {2, 3, 4}


def test_what_is_said_leads_to_the_next_picture() -> None:
    white, yellow = ITEMS[3], ITEMS[4]
    likes = {"4": (white,), "3": (ITEMS[1],), "1": ()}
    dialogue = make_session(yellow, likes, CaptionTally(), random.Random(0))
    assert dialogue is not None and [shown.key for shown in dialogue.references] == ["1", "3"]
    to_white, to_yellow = (" ".join(shown.captions) for shown in dialogue.references)
    assert "yellow" not in to_white and "black" not in to_yellow
    assert (dialogue.url, dialogue.references[0].url) == ("images/4.jpg", "images/1.jpg")


def test_without_two_turns_there_is_no_session() -> None:
    assert make_session(ITEMS[0], {"0": (ITEMS[1],), "1": (ITEMS[0],)}, CaptionTally(), random.Random(0)) is None


def shirt(key: int, colour: str, *more: tuple[str, str], family: str = "Topwear") -> Item:
    title = f"{colour} Shirt {key}"
    return Item(str(key), "Shirts", family, title, (("kind", "shirt"), ("colour", colour), *more), frozenset(), ())


CHECKED, PLAIN = ("pattern", "checked"), ("pattern", "plain")


def test_one_word_is_enough_where_it_rules_out_all_others() -> None:
    red, blue, green, black = (shirt(at, colour) for at, colour in enumerate(("red", "blue", "green", "black")))
    said, doubtful = choose_statements(red, blue, [green, black])
    assert [(one.facet, one.word) for one in said] == [("colour", "red")] and doubtful == 0


def test_as_much_is_said_as_tells_the_target_from_the_others() -> None:
    target, reference = shirt(1, "red", CHECKED), shirt(2, "blue", PLAIN)
    same_colour, same_pattern, twin = shirt(3, "red", PLAIN), shirt(4, "black", CHECKED), shirt(5, "red", CHECKED)
    said, doubtful = choose_statements(target, reference, [same_colour, same_pattern])
    assert {one.word for one in said} == {"red", "checked"} and doubtful == 0
    assert choose_statements(target, reference, [same_colour, same_pattern, twin])[1] == 1


def test_of_two_that_look_the_same_nothing_can_be_said() -> None:
    assert choose_statements(shirt(1, "red"), shirt(2, "red"), [shirt(3, "blue")]) == ([], 1)


def test_unknown_is_not_ruled_out() -> None:
    [red] = direct_statements(shirt(1, "red"), shirt(2, "blue"))
    nothing_known = Item("3", "Shirts", "Topwear", "Shirt", (("kind", "shirt"),), frozenset(), ())
    assert rules_out(red, shirt(4, "green"), shirt(2, "blue"))
    assert not rules_out(red, nothing_known, shirt(2, "blue"))


def test_sets_are_apart_of_one_family_and_no_two_of_them_look_the_same() -> None:
    colours = ("red", "blue", "green", "black", "white", "pink", "yellow")
    shirts = [shirt(at, colours[at % 7]) for at in range(28)]
    others = [shirt(100 + at, colours[at], family="Shoes") for at in range(5)]
    sets = list(image_sets([*shirts, *others], random.Random(0)))
    assert len(sets) == 4  # 28 in seven looks give four sets; of the other family there are only five
    assert all(len({item.words for item in members}) == SET_SIZE for members in sets)
    assert all(item.family == "Topwear" for members in sets for item in members)
    keys = [item.key for members in sets for item in members]
    assert len(keys) == len(set(keys))


def test_a_target_is_wanted_once_a_set_and_numbers_go_on() -> None:
    colours = ("red", "blue", "green", "black", "white", "pink")
    pairs = cirr_pairs([shirt(at, colours[at]) for at in range(6)], random.Random(1), first=40)
    assert [pair.pairid for pair in pairs] == [40, 41, 42, 43]
    assert len({pair.target for pair in pairs}) == MAX_QUERIES_PER_SET
    for pair in pairs:
        assert pair.target is not None and colours[int(pair.target)] in pair.caption
        assert pair.reference != pair.target and len(pair.members) == SET_SIZE


@pytest.mark.parametrize("split", SPLITS)
def test_a_worlds_queries_are_read_back_with_their_pictures(drawn_world: Path, split: str) -> None:
    read, report = read_cirr(drawn_world / "cirr", split)
    assert not report.dropped and set(read.paths) == set(read.gallery)
    for pair in read.pairs:
        assert {pair.reference, pair.target} <= set(pair.members) <= set(read.gallery)
        assert pair.caption and len(pair.candidates) == SET_SIZE - 1
    assert read.pairs or split != "train"
