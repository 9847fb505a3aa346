import re
from collections import Counter

from viewfinder.wording.numbers import NUMBERS
from viewfinder.worlds.grammar import list_absent_kinds
from viewfinder.worlds.kinds import HEIGHT, PLACES, WIDTH
from viewfinder.worlds.language import caption_scene, describe_regions
from viewfinder.worlds.scene import Scene, Thing, relation_holds, sample_scene
from viewfinder.worlds.words import COLOUR_WORDS, NOUNS, PREDICATE_WORDS, spot_words

SCENES = [sample_scene(seed=9, number=number) for number in range(1, 201)]
REGIONS = {scene.number: describe_regions(scene) for scene in SCENES}
KIND_OF = {noun: kind for kind, words in NOUNS.items() for pair in words for noun in pair}
LONGEST_FIRST = sorted(KIND_OF, key=len, reverse=True)


def _kinds_named(phrase: str) -> set[str]:
    pattern = r"\b(" + "|".join(re.escape(noun) for noun in LONGEST_FIRST) + r")\b"
    return {KIND_OF[noun] for noun in re.findall(pattern, phrase.lower())}


def _denies(phrase: str) -> bool:
    return bool(re.search(r"\b(no|not|without|nowhere)\b", phrase))


def _visible(scene: Scene) -> set[str]:
    return set(scene.counts()) | PLACES[scene.place].shows


def test_phrases_depend_on_the_scene_only() -> None:
    assert describe_regions(SCENES[4]) == REGIONS[5]
    assert caption_scene(SCENES[4]) == caption_scene(sample_scene(seed=9, number=5))


def test_every_picture_has_five_captions_and_at_least_ten_distinct_phrases() -> None:
    for scene in SCENES:
        phrases = [region.phrase.lower() for region in REGIONS[scene.number]]
        assert len(set(phrases)) == len(phrases) and 12 <= len(phrases) <= 20
        assert len(caption_scene(scene)) == 5


def test_what_is_said_to_be_there_is_there() -> None:
    for scene in SCENES:
        said = [region.phrase for region in REGIONS[scene.number] if not _denies(region.phrase)] + caption_scene(scene)
        for phrase in said:
            assert _kinds_named(phrase) <= _visible(scene), f"{phrase!r} in scene {scene.number} ({scene.place})"


def test_what_is_said_to_be_absent_is_absent() -> None:
    denied = 0
    for scene in SCENES:
        for region in REGIONS[scene.number]:
            if _denies(region.phrase) and not region.things:
                assert _kinds_named(region.phrase) <= set(list_absent_kinds(scene))
                denied += 1
    assert denied > 35


def test_three_to_five_percent_of_the_phrases_are_negations() -> None:
    phrases = [region.phrase for said in REGIONS.values() for region in said]
    assert 0.03 <= sum(map(_denies, phrases)) / len(phrases) <= 0.05


def test_a_thing_is_only_denied_what_it_does_not_have() -> None:
    for region in (region for said in REGIONS.values() for region in said if region.things):
        if match := re.search(r"without (striped|stripes|dots|checks)", region.phrase):
            pattern = {"stripes": "striped", "dots": "dotted", "checks": "checked"}[match[1]]
            assert region.things[0].pattern != pattern
        if match := re.search(r"that is not (\w+)$", region.phrase):
            assert region.things[0].colour != match[1]


def test_colours_in_a_phrase_about_one_thing_are_its_colour() -> None:
    colours = {word: name for name, words in COLOUR_WORDS.items() for word in words}
    colours |= {name: name for name in ("orange", "yellow", "green", "blue", "pink", "brown", "black")}
    checked = 0
    for region in (region for said in REGIONS.values() for region in said if len(region.things) == 1):
        if not _denies(region.phrase):
            named = {colours[word] for word in re.findall(r"\w+", region.phrase) if word in colours}
            assert named <= {region.things[0].colour}, region.phrase
            checked += bool(named)
    assert checked > 700


def test_relations_that_are_said_are_true() -> None:
    said = [region for regions_ in REGIONS.values() for region in regions_ if region.relation is not None]
    assert len(said) > 200
    assert {region.relation.predicate for region in said if region.relation} == set(PREDICATE_WORDS)
    for region in said:
        relation = region.relation
        assert relation is not None and relation_holds(relation.subject, relation.predicate, relation.object)
        assert any(word in region.phrase for word in PREDICATE_WORDS[relation.predicate])
        assert region.things == (relation.subject, relation.object)


def test_numbers_that_are_said_are_true() -> None:
    values = {word: number for number, word in NUMBERS.items() if number > 1}
    checked = 0
    for scene in SCENES:
        for phrase in [*caption_scene(scene), *(region.phrase for region in REGIONS[scene.number])]:
            for word, rest in re.findall(rf"\b({'|'.join(values)}) ((?:[\w-]+ ){{0,2}}[\w-]+)", phrase.lower()):
                kinds = [kind for kind in _kinds_named(rest) if kind in scene.counts()]
                if len(kinds) == 1 and "different" not in phrase:
                    assert scene.counts()[kinds[0]] == values[word], f"{phrase!r} in scene {scene.number}"
                    checked += 1
    assert checked > 130


def test_regions_lie_in_the_picture_and_around_the_things_they_speak_of() -> None:
    for region in (region for said in REGIONS.values() for region in said):
        x, y, width, height = region.box
        assert x >= 0 and y >= 0 and 0 < width <= WIDTH - x and 0 < height <= HEIGHT - y
        for thing in region.things:
            assert x <= thing.box[0] and thing.box[0] + thing.box[2] <= x + width
            assert y <= thing.box[1] and thing.bottom <= y + height


def test_captions_of_a_picture_are_partial_and_seldom_alike() -> None:
    for scene in SCENES:
        said = caption_scene(scene)
        assert len(set(said)) >= 4
        if len(scene.counts()) > 4:
            assert all(len(_kinds_named(caption) & set(scene.counts())) < len(scene.counts()) for caption in said)


def test_the_language_is_varied() -> None:
    phrases = [region.phrase for said in REGIONS.values() for region in said]
    assert len(set(phrases)) > 0.55 * len(phrases)
    openings = Counter(caption.split()[0].lower() for scene in SCENES for caption in caption_scene(scene))
    assert len(openings) > 20 and openings.most_common(1)[0][1] < 0.5 * openings.total()


def test_spots_are_grammatical() -> None:
    assert "in the upper left" in spot_words("left", "top")
    assert spot_words("middle", "bottom")[0] == "at the bottom"


def test_a_bag_of_words_does_not_tell_two_scenes_apart() -> None:
    """Two scenes with their colours exchanged: the same words are said of both, in another order."""

    def scene(number: int, dog: str, car: str) -> Scene:
        things = (
            Thing(1, "dog", dog, "medium", "plain", "right", (40, 250, 60, 50)),
            Thing(2, "car", car, "medium", "plain", "right", (240, 250, 110, 54)),
        )
        return Scene(1, number, "desert", "day", things)

    one = {region.phrase for number in range(60) for region in describe_regions(scene(number, "black", "white"))}
    other = {region.phrase for number in range(60) for region in describe_regions(scene(number, "white", "black"))}
    bags = {tuple(sorted(phrase.split())): phrase for phrase in one}
    pairs = [(bags[bag], phrase) for phrase in other if (bag := tuple(sorted(phrase.split()))) in bags]
    exchanged = [(a, b) for a, b in pairs if {"black", "white"} <= set(a.split())]
    assert len(exchanged) >= 10
    assert all(a != b and a not in other and b not in one for a, b in exchanged)
