from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jaxtyping import Float

from viewfinder.encoders.tags import (
    NONE_AT,
    SHARPNESS,
    EncodeWords,
    Tag,
    TagGroup,
    TagVectors,
    tag_groups,
)

WIDTH = 128
ANIMALS = TagGroup("animal", "Which animal?", (Tag("a dog", "a dog"), Tag("a cat", "a cat")), none="no animal")


def tag_probabilities(
    group: TagGroup,
    vectors_cd: Float[np.ndarray, "c d"],
    words: EncodeWords,
    *,
    background: Float[np.ndarray, "n d"] | None = None,
) -> Float[np.ndarray, "c t"]:
    """The probabilities of one group, by `TagVectors`."""
    return TagVectors.of(words, background=background, groups=[group]).probabilities(vectors_cd)[group.name]


def hashed_words(texts: Sequence[str]) -> Float[np.ndarray, "n d"]:
    """Unit vectors of bags of words; each word is a direction of its own."""
    rows = [sum((_direction(word) for word in text.lower().split()), np.zeros(WIDTH)) for text in texts]
    return np.stack([row / np.linalg.norm(row) for row in rows]).astype(np.float32)


def _direction(word: str) -> Float[np.ndarray, " d"]:
    seed = int.from_bytes(hashlib.blake2b(word.encode(), digest_size=8).digest(), "big")
    return np.random.default_rng(seed).standard_normal(WIDTH)


def pictures_of(phrases: Sequence[str], noise: float = 0.6, seed: int = 0) -> Float[np.ndarray, "n d"]:
    clean_nd = hashed_words(phrases)
    noise_nd = np.random.default_rng(seed).standard_normal(clean_nd.shape) * noise / np.sqrt(WIDTH)
    noisy_nd: Float[np.ndarray, "n d"] = (clean_nd + noise_nd).astype(np.float32)
    noisy_nd /= np.linalg.norm(noisy_nd, axis=1, keepdims=True)
    return noisy_nd


def obvious_probabilities(
    group: TagGroup, vectors: Float[np.ndarray, "c d"], background: Float[np.ndarray, "n d"]
) -> list[list[float]]:
    """The definition in the module's docstring, one picture and one tag at a time."""
    phrases = [hashed_words([tag.phrase])[0] for tag in group.tags]
    means = [np.mean([b @ phrase for b in background]) for phrase in phrases]
    unit = np.sqrt(np.mean([np.var([b @ phrase for b in background]) for phrase in phrases]))
    rows = []
    for vector in vectors:
        z = [(vector @ phrase - mean) / unit for phrase, mean in zip(phrases, means, strict=True)]
        weights = [*np.exp(SHARPNESS * np.array(z)).tolist(), float(np.exp(SHARPNESS * NONE_AT))]
        rows.append([weight / sum(weights) for weight in weights[:-1]])
    return rows


def test_the_vocabulary_has_unique_names_and_phrases_and_a_question_each() -> None:
    groups = tag_groups()
    names = [group.name for group in groups]
    phrases = [tag.phrase for group in groups for tag in group.tags]
    assert len(set(names)) == len(names) == 8
    assert len(set(phrases)) == len(phrases)
    assert 60 <= len(phrases) <= 120
    assert all(group.question.endswith("?") and len(set(group.answers)) == len(group.answers) for group in groups)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), count=st.integers(1, 7))
def test_probabilities_are_those_of_the_definition_written_as_loops(seed: int, count: int) -> None:
    background_nd = pictures_of(["a dog", "a cat", "a boat", "grass"] * 5, seed=seed)
    vectors_cd = pictures_of(["a cat"] * count, seed=seed + 1)
    fast_ct = tag_probabilities(ANIMALS, vectors_cd, hashed_words, background=background_nd)
    np.testing.assert_allclose(fast_ct, obvious_probabilities(ANIMALS, vectors_cd, background_nd), rtol=2e-3)


def test_a_picture_of_a_dog_is_a_dog_and_one_of_a_boat_has_no_animal() -> None:
    background_nd = pictures_of(["a dog", "a cat", "the boat", "green grass"] * 25)
    probability_ct = tag_probabilities(
        ANIMALS, pictures_of(["a dog", "the boat"], noise=0.1), hashed_words, background=background_nd
    )
    assert probability_ct[0].argmax() == 0
    assert probability_ct[0, 0] > 0.4
    assert 1 - probability_ct[1].sum() > 0.7


def test_a_tag_that_fits_every_picture_equally_carries_nothing() -> None:
    group = TagGroup("g", "?", (Tag("a dog", "dog"), Tag("a picture", "picture")))
    # All pictures are equally much "picture"; half of them are dogs.
    dog, picture = hashed_words(["dog", "picture"])
    picture = picture - (picture @ dog) * dog
    rows = [picture + (dog if i % 2 else -dog) for i in range(20)]
    vectors_cd = np.stack([row / np.linalg.norm(row) for row in rows]).astype(np.float32)
    exact = {"dog": dog, "picture": (picture / np.linalg.norm(picture)).astype(np.float32)}
    probability_ct = tag_probabilities(group, vectors_cd, lambda texts: np.stack([exact[t] for t in texts]))
    assert np.ptp(probability_ct[:, 0]) > 0.3
    # z = 0 for the whole collection, against none at 1.75 and a dog at +-1.41 (the pooled unit).
    weight = np.exp(SHARPNESS * np.array([np.sqrt(2), 0, NONE_AT]))
    assert probability_ct[1, 1] == pytest.approx(weight[1] / weight.sum(), abs=1e-3)


def test_among_dogs_only_the_collection_still_says_that_all_are_dogs() -> None:
    background_nd = pictures_of(["a dog", "a cat", "the boat", "green grass"] * 25)
    dogs_cd = pictures_of(["a dog"] * 30, seed=7)
    with_collection = tag_probabilities(ANIMALS, dogs_cd, hashed_words, background=background_nd)
    among_themselves = tag_probabilities(ANIMALS, dogs_cd, hashed_words)
    assert (with_collection.argmax(axis=1) == 0).mean() > 0.9
    assert with_collection[:, 0].std() < among_themselves[:, 0].std()


@pytest.mark.parametrize("count", [1, 3])
def test_identical_pictures_without_a_background_give_finite_and_equal_rows(count: int) -> None:
    vectors_cd = np.repeat(pictures_of(["a dog"]), count, axis=0)
    probability_ct = tag_probabilities(ANIMALS, vectors_cd, hashed_words)
    assert np.isfinite(probability_ct).all()
    np.testing.assert_allclose(probability_ct, probability_ct[:1].repeat(count, axis=0), atol=1e-5)


def test_no_pictures_have_no_probabilities() -> None:
    empty_cd = np.zeros((0, WIDTH), np.float32)
    assert tag_probabilities(ANIMALS, empty_cd, hashed_words).shape == (0, 2)


def test_the_words_are_encoded_once_for_all_groups_and_calls() -> None:
    calls: list[int] = []

    def counting(texts: Sequence[str]) -> Float[np.ndarray, "n d"]:
        calls.append(len(texts))
        return hashed_words(texts)

    tags = TagVectors.of(counting, background=pictures_of(["a dog", "a beach"] * 10))
    for _ in range(3):
        probabilities = tags.probabilities(pictures_of(["a dog"]))
    assert calls == [sum(len(group.tags) for group in tag_groups())]
    assert list(probabilities) == [group.name for group in tag_groups()]


def test_all_groups_at_once_give_what_one_group_gives() -> None:
    background_nd = pictures_of(["a dog", "a cat", "snow", "a red car"] * 6)
    vectors_cd = pictures_of(["a cat", "running in the snow", "a red car"])
    together = TagVectors.of(hashed_words, background=background_nd).probabilities(vectors_cd)
    for group in tag_groups():
        alone_ct = tag_probabilities(group, vectors_cd, hashed_words, background=background_nd)
        np.testing.assert_allclose(together[group.name], alone_ct, rtol=1e-4, atol=1e-6)
        assert (together[group.name].sum(axis=1) < 1).all()


def test_attributes_name_the_likely_tag_and_leave_the_doubtful_out() -> None:
    tags = TagVectors.of(
        hashed_words,
        background=pictures_of(["a dog", "a cat", "the boat", "green grass"] * 25),
        groups=[ANIMALS],
    )
    found = tags.attributes(pictures_of(["a dog", "the boat"], noise=0.1), at_least=0.4)
    assert found == [{"animal": ("a dog",)}, {}]


def test_half_precision_vectors_are_read_too() -> None:
    vectors_cd = pictures_of(["a dog", "a cat", "the boat"])
    exact_ct = tag_probabilities(ANIMALS, vectors_cd, hashed_words)
    half_ct = tag_probabilities(ANIMALS, vectors_cd.astype(np.float16), hashed_words)
    np.testing.assert_allclose(half_ct, exact_ct, atol=5e-3)
