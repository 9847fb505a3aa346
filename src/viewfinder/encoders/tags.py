"""Words for a picture: zero-shot tags, and attributes that were trained. No torch here.

Tags are found by comparing a picture's vector with phrases. A `TagGroup` is a question with its possible answers
(`tags.json` holds eight groups, 83 tags). Similarity becomes probability without a single label:

- Each tag's similarity is centred on its mean over a background (a sample of the collection), so that a tag that fits
  everything equally tells nothing: what counts is being *more* of a dog than most pictures.
- All tags of a group share one unit, the root mean square of their spreads. A separate unit per tag would inflate the
  noise of a tag that nothing in the collection has ("an elephant") to the size of real differences.
- softmax(1.25 z), against "none of these" at z = 1.75: a picture that is ordinary in all tags has none.

The background should be the collection, not the few present candidates: if all candidates are dogs, the animal must not
look undecided.

The two numbers and the common unit were chosen on 669 captioned photos (Flickr8k, heads trained on one half and tested
on the other; truth = the tag that most captions name; mean over colour, people, animal, place and activity): the
likeliest answer is right in 49 %, its mean probability is 47 %. With one unit per tag the truth costs 0.14 bits more.

Attributes ("floral", "cotton") are predicted from a picture's raw vector by one linear layer over standardised raw
vectors, one row per label (Wu et al., CVPR 2021, appendix A). `viewfinder train attributes` trains it, and it is saved
along with the networks that read attributes. Axes: n pictures, g numbers of a raw vector, k labels.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib.resources import files
from pathlib import Path

import numpy as np
from jaxtyping import Float, Float32, Int

from viewfinder.errors import BadInput
from viewfinder.weights import Weights, check_card, read_weights

EncodeWords = Callable[[Sequence[str]], Float[np.ndarray, "n d"]]
"""Texts to unit vectors in the space of the pictures."""

SHARPNESS = 1.25
NONE_AT = 1.75


@dataclass(frozen=True)
class Tag:
    """One possible answer: its name, the phrase that stands for it in the space, other words for it."""

    name: str
    phrase: str
    also: tuple[str, ...] = ()


@dataclass(frozen=True)
class TagGroup:
    """Tags that exclude each other, as answers to one question.

    `none` is the answer when no tag fits; `topics` are the last words of the names of catalogue columns on the same
    topic.
    """

    name: str
    question: str
    tags: tuple[Tag, ...]
    none: str = "none of these"
    topics: tuple[str, ...] = ()

    @property
    def answers(self) -> tuple[str, ...]:
        """The names of the tags, then `none`."""
        return (*(tag.name for tag in self.tags), self.none)


def tag_groups() -> tuple[TagGroup, ...]:
    """The groups that come with the package.

    >>> [group.name for group in tag_groups()][:3]
    ['colour', 'people', 'animal']
    """
    text = files("viewfinder.encoders").joinpath("tags.json").read_text(encoding="utf-8")
    groups = []
    for entry in json.loads(text)["groups"]:
        tags = tuple(Tag(tag["name"], tag["phrase"], tuple(tag.get("also", ()))) for tag in entry["tags"])
        groups.append(TagGroup(entry["name"], entry["question"], tags, entry["none"], tuple(entry["topics"])))
    return tuple(groups)


@dataclass(frozen=True, eq=False)
class TagVectors:
    """The text vectors of some groups, computed once per encoder, and the spread of the collection along them.

    `phrases_td` stacks the tags of all groups. `centre_t` and `unit_g` come from a background; without one they are
    None and each call uses the pictures that it is given.
    """

    groups: tuple[TagGroup, ...]
    phrases_td: Float[np.ndarray, "t d"]
    centre_t: Float[np.ndarray, " t"] | None = None
    unit_g: Float[np.ndarray, " g"] | None = None
    slices: tuple[slice, ...] = field(init=False)

    def __post_init__(self) -> None:
        ends = np.cumsum([len(group.tags) for group in self.groups]).tolist()
        object.__setattr__(self, "slices", tuple(slice(a, b) for a, b in zip([0, *ends], ends, strict=False)))

    @staticmethod
    def of(
        words: EncodeWords,
        *,
        background: Float[np.ndarray, "n d"] | None = None,
        groups: Sequence[TagGroup] | None = None,
    ) -> TagVectors:
        """The vectors of `groups` (default: all that come with the package), in one call of `words`.

        `background`: picture vectors that represent the collection; 2,000 chosen at random are plenty.
        """
        chosen = tag_groups() if groups is None else tuple(groups)
        phrases_td = np.asarray(words([tag.phrase for group in chosen for tag in group.tags]), np.float32)
        bare = TagVectors(chosen, phrases_td)
        return bare if background is None else bare.against(background)

    def against(self, background_nd: Float[np.ndarray, "n d"]) -> TagVectors:
        """These tags measured against another background, such as a collection that has grown."""
        centre_t, unit_g = self._spread(np.asarray(background_nd, np.float32) @ self.phrases_td.T)
        return TagVectors(self.groups, self.phrases_td, centre_t, unit_g)

    def probabilities(self, vectors_cd: Float[np.ndarray, "c d"]) -> dict[str, Float[np.ndarray, "c _"]]:
        """Group name -> probability of each of its tags for each picture; the rest of a row up to 1 is `none`."""
        similar_ct = np.asarray(vectors_cd, np.float32) @ self.phrases_td.T
        if self.centre_t is None or self.unit_g is None:
            centre_t, unit_g = self._spread(similar_ct)
        else:
            centre_t, unit_g = self.centre_t, self.unit_g
        similar_ct -= centre_t
        return {
            group.name: _softmax_against_none(similar_ct[:, where] / unit)
            for group, where, unit in zip(self.groups, self.slices, unit_g, strict=True)
        }

    def attributes(
        self, vectors_cd: Float[np.ndarray, "c d"], *, at_least: float = 0.5
    ) -> list[dict[str, tuple[str, ...]]]:
        """The likeliest tags of each picture: group name -> the tag with at least this probability."""
        found: list[dict[str, tuple[str, ...]]] = [{} for _ in vectors_cd]
        for group, probability_ct in zip(self.groups, self.probabilities(vectors_cd).values(), strict=True):
            for picture in np.flatnonzero(probability_ct.max(axis=1, initial=0.0) >= at_least):
                found[picture][group.name] = (group.answers[int(probability_ct[picture].argmax())],)
        return found

    def group(self, name: str) -> TagGroup:
        """The group of this name; KeyError if there is none."""
        return {group.name: group for group in self.groups}[name]

    def _spread(self, similar_nt: Float[np.ndarray, "n t"]) -> tuple[Float[np.ndarray, " t"], Float[np.ndarray, " g"]]:
        """Mean of each tag, and for each group the root mean square of its tags' standard deviations."""
        if not len(similar_nt):
            return np.zeros(len(self.phrases_td), np.float32), np.ones(len(self.groups), np.float32)
        variance_t = similar_nt.var(axis=0)
        unit_g = np.array([np.sqrt(variance_t[where].mean()) for where in self.slices], np.float32)
        # Below the noise of float16 vectors nothing can be told apart: a unit of 1 makes every z about 0.
        return similar_nt.mean(axis=0), np.where(unit_g > 1e-4, unit_g, np.float32(1))


def _softmax_against_none(z_ct: Float[np.ndarray, "c t"]) -> Float[np.ndarray, "c t"]:
    logits_ct = SHARPNESS * z_ct
    none = SHARPNESS * NONE_AT
    top_c1 = np.maximum(logits_ct.max(axis=1, keepdims=True), none)
    weight_ct = np.exp(logits_ct - top_c1)
    whole_c1 = weight_ct.sum(axis=1, keepdims=True) + np.exp(none - top_c1)
    probability_ct: Float[np.ndarray, "c t"] = weight_ct / whole_c1
    return probability_ct


SYSTEM = "attributes"
"""The system that the card of a predictor's own file names."""


@dataclass(frozen=True, eq=False)
class AttributePredictor:
    """Says which of its labels (words, each once) pictures have, from raw vectors of `raw_version`.

    `mean_g` and `deviation_g` are those of the training set, `weight_kg` and `bias_k` the layer.
    """

    labels: tuple[str, ...]
    raw_version: str
    mean_g: Float32[np.ndarray, " g"]
    deviation_g: Float32[np.ndarray, " g"]
    weight_kg: Float32[np.ndarray, "k g"]
    bias_k: Float32[np.ndarray, " k"]

    @classmethod
    def read(cls, path: Path) -> AttributePredictor:
        """The predictor in a file of its own; errors as `read_weights`, or BadInput: it is of another system."""
        weights = read_weights(path)
        check_card(path, weights.card, system=SYSTEM)
        return cls.of(weights, prefix="")

    @classmethod
    def of(cls, weights: Weights, prefix: str = SYSTEM) -> AttributePredictor:
        """The predictor saved as part `prefix` of a network ("": it is the whole file); labels come from the card.

        Raises:
            BadInput: it is missing, or does not have one row per label.
        """
        labels = tuple(weights.card.settings.get("labels", ()))
        dot = f"{prefix}." if prefix else ""
        try:
            mean_g, deviation_g, weight_kg, bias_k = (
                weights.arrays[f"{dot}{name}"] for name in ("mean", "deviation", "weight", "bias")
            )
        except KeyError as error:
            raise BadInput(f"a network of {weights.card.system} tells no attributes: it has no {error}") from None
        if not len(labels) == len(weight_kg) == len(bias_k):
            raise BadInput(f"a network of {weights.card.system} names {len(labels)} attributes and tells {len(bias_k)}")
        return cls(labels, weights.card.encoder, mean_g, deviation_g, weight_kg, bias_k)

    @cached_property
    def fingerprint(self) -> str:
        """A mark that changes with any number or label."""
        mark = hashlib.blake2b(json.dumps([self.raw_version, *self.labels]).encode(), digest_size=8)
        for array in (self.mean_g, self.deviation_g, self.weight_kg, self.bias_k):
            mark.update(np.ascontiguousarray(array).data)
        return mark.hexdigest()

    def scores(self, raw_ng: Float[np.ndarray, "n g"]) -> Float[np.ndarray, "n k"]:
        """The chance of every label, 0 to 1."""
        # Logits beyond 30 are practically certain, and exp would overflow far beyond.
        chances_nk: Float32[np.ndarray, "n k"] = 1 / (1 + np.exp(-np.clip(self._compute_logits(raw_ng), -30, 30)))
        return chances_nk

    def top(self, raw_ng: Float[np.ndarray, "n g"], count: int) -> Int[np.ndarray, "n c"]:
        """Rows of `labels`: the likeliest `count` of each picture, best first; all of them if there are fewer."""
        return np.argsort(-self._compute_logits(raw_ng), axis=1, kind="stable")[:, :count]

    def words(self, raw_ng: Float[np.ndarray, "n g"], count: int) -> tuple[tuple[str, ...], ...]:
        """The labels that `top` gives for each picture."""
        return tuple(tuple(self.labels[label] for label in row) for row in self.top(raw_ng, count).tolist())

    def _compute_logits(self, raw_ng: Float[np.ndarray, "n g"]) -> Float32[np.ndarray, "n k"]:
        standard_ng = (np.asarray(raw_ng, np.float32) - self.mean_g) / self.deviation_g
        logits_nk: Float32[np.ndarray, "n k"] = standard_ng @ self.weight_kg.T + self.bias_k
        return logits_nk
