import random
import re

import pytest

from viewfinder.worlds.catalogue.items import Item
from viewfinder.worlds.catalogue.looks import sample_item
from viewfinder.worlds.catalogue.relative import CaptionTally, relative_captions
from viewfinder.worlds.catalogue.statements import tell_apart


def article(**words: str) -> Item:
    return Item("1", "Shirts", "Topwear", "Thing", (("kind", "shirt"), *words.items()), frozenset(), ())


def test_the_kind_that_is_furthest_behind_is_due() -> None:
    tally = CaptionTally()
    assert tally.due(["direct, single", "direct, composite"]) == "direct, composite"  # 0.185 and 0.305 wanted
    tally.kinds["direct, composite"] = 1
    assert tally.due(["direct, single", "direct, composite"]) == "direct, single"  # 0.37 - 0 and 0.61 - 1


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
