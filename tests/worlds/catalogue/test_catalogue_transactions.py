import random
import re
from collections import Counter

import pytest

from viewfinder.wording.modifications import parse_ordinal_reference
from viewfinder.wording.modifications import split_modification as read_clauses
from viewfinder.worlds.catalogue.items import Item, sample_item
from viewfinder.worlds.catalogue.statements import (
    comparison_statements,
    direct_statements,
    negation_statements,
    shared_statements,
)
from viewfinder.worlds.catalogue.transactions import (
    SETTINGS,
    Chain,
    KeptAttribute,
    Setting,
    choose_clauses,
    keep_clause,
    make_transactions,
    noun_phrase,
)

ITEMS = [sample_item(seed=8, number=number) for number in range(1, 151)]


def article(key: str, **words: str) -> Item:
    return Item(key, "Shirts", "Topwear", "Thing", (("kind", "shirt"), *words.items()), frozenset(), ())


def sayable(target: Item, reference: Item) -> set[str]:
    """Everything that can truly be said of the target beside the reference."""
    makers = (direct_statements, comparison_statements, negation_statements, shared_statements)
    return {phrase for make in makers for statement in make(target, reference) for phrase in statement.phrases}


@pytest.mark.parametrize("setting", SETTINGS)
def test_every_clause_is_true_of_its_turn(setting: Setting) -> None:
    for chain, told in make_transactions(ITEMS, setting, 60, random.Random(1)):
        origins = (chain.items[0], chain.items[1], chain.items[chain.back])
        for text, target, origin in zip(told.modifications, chain.items[1:], origins, strict=True):
            said = read_clauses(text).clauses
            assert len(said[:3]) == 3 and set(said[:3]) <= sayable(target, origin)
        assert told.pictures == tuple(f"images/{item.image}" for item in chain.items)
        assert len({item.key for item in chain.items}) == 4 and len({item.family for item in chain.items}) == 1


def test_a_rollback_describes_the_change_from_the_picture_it_names() -> None:
    back: Counter[int] = Counter()
    for chain, told in make_transactions(ITEMS, "rollback", 80, random.Random(2)):
        found = parse_ordinal_reference(told.modifications[-1])
        assert found is not None and (found.setting, found.places) == ("rollback", (chain.back,))
        assert chain.operations() == {"setting": "rollback", "to": ("FIRST", "SECOND")[chain.back]}
        origin, wanted = chain.items[chain.back], chain.items[3]
        makers = (direct_statements, comparison_statements, negation_statements)
        apart = {phrase for make in makers for s in make(wanted, origin) if s.tells_apart for phrase in s.phrases}
        assert apart & set(read_clauses(told.modifications[-1]).clauses)
        assert all(parse_ordinal_reference(text) is None for text in told.modifications[:2])
        back[chain.back] += 1
    assert set(back) == {0, 1} and min(back.values()) > 20


def test_a_combination_keeps_what_the_wanted_article_truly_shares() -> None:
    named: Counter[bool] = Counter()
    for chain, told in make_transactions(ITEMS, "combination", 80, random.Random(3)):
        first, second, latest, wanted = chain.items
        found = parse_ordinal_reference(told.modifications[-1])
        assert found is not None and (found.setting, found.places) == ("combination", (0, 1))
        one, other = chain.kept
        assert one.word in first.known & wanted.known and other.word in second.known & wanted.known
        assert one.word[0] != other.word[0] and not {one.word, other.word} <= latest.known
        clause = read_clauses(told.modifications[-1]).clauses[3]
        assert clause.startswith("keep the FIRST's ") and one.say() in clause and other.say() in clause
        named.update((one.named, other.named))
    assert min(named[True], named[False]) > 30


def test_no_text_is_empty_or_says_none_or_has_a_number_of_its_own() -> None:
    for setting in SETTINGS:
        for _, told in make_transactions(ITEMS, setting, 60, random.Random(4)):
            for text in (*told.modifications, *told.captions):
                assert text.strip() and "None" not in text
            assert all(re.findall(r"\d+", text)[:3] == ["1", "2", "3"] for text in told.modifications)


def test_every_article_is_the_reference_once_before_any_is_again() -> None:
    shirts = [item for item in ITEMS if item.kind == "Shirts"]
    made = list(make_transactions(shirts, "rollback", 2 * len(shirts), random.Random(5)))
    assert Counter(chain.items[0].key for chain, _ in made) == dict.fromkeys((item.key for item in shirts), 2)


def test_a_subcategory_of_three_makes_no_chain() -> None:
    three = [article(str(k), colour=colour) for k, colour in enumerate(("red", "white", "black"))]
    assert list(make_transactions(three, "rollback", 5, random.Random(0))) == []


def test_articles_of_which_too_little_is_known_make_no_chain() -> None:
    four = [article(str(k), colour=colour) for k, colour in enumerate(("red", "white", "black", "steel"))]
    said = choose_clauses(four[0], four[3], random.Random(0))  # red, and still a shirt: no third thing is known
    assert len(said) == 2 and set(said) <= sayable(four[0], four[3])
    assert list(make_transactions(four, "combination", 5, random.Random(0))) == []


def test_what_is_kept_is_named_by_word_or_by_facet() -> None:
    kept = (KeptAttribute(0, ("colour", "red"), named=True), KeptAttribute(1, ("sleeves", "long sleeves"), named=False))
    said = {keep_clause(kept, random.Random(seed)) for seed in range(9)}
    assert said == {
        "keep the FIRST's red colour and the SECOND's sleeves",
        "keep the FIRST's red colour and keep the SECOND's sleeves",
    }
    items = (ITEMS[0], ITEMS[1], ITEMS[2], ITEMS[3])
    assert Chain(items, "combination", kept=kept).operations()["keep"][1] == {
        "of": "SECOND",
        "attribute": "sleeves",
        "word": "long sleeves",
        "named": False,
    }


@pytest.mark.parametrize(
    ("facet", "word", "phrase"),
    [
        ("sleeves", "sleeveless", "sleeveless cut"),
        ("pattern", "striped", "striped pattern"),
        ("fabric", "denim", "denim fabric"),
        ("detail", "hood", "hood"),
        ("usage", "formal", "formal style"),
        ("cut", "tote", "tote shape"),
    ],
)
def test_words_become_things_to_keep(facet: str, word: str, phrase: str) -> None:
    assert noun_phrase(facet, word) == phrase
