"""The simulated user of Fashion IQ: says how the wanted picture differs from the one shown, with a trained captioner.

It maps the raw vectors of two pictures to a sentence (f_R; Wu et al., CVPR 2021, Sec. 4.1): the likeliest word each
time, the best of several beams, or sampled.

All decodings return one form: numbers of words (b t), t the most that the settings allow, without <start> and <end>,
and with <pad> after the last word. In the published code greedy captions keep <start> and are filled with <end>, and
those of beams have no <start> and are filled with <pad>; there a caption may also hold special words.
In torch, without gradients and with the network in eval mode.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from viewfinder.data.captions import read_captions_csv
from viewfinder.data.fashion_iq import SPECIAL_WORDS, CaptionVocabulary
from viewfinder.encoders import load_encoder
from viewfinder.encoders.features import features
from viewfinder.encoders.tags import AttributePredictor
from viewfinder.errors import BadInput, EncoderMismatch
from viewfinder.training import load_network
from viewfinder.training.presets import read_card_settings
from viewfinder.users.captioner.network import CaptionerNetwork, make_captioner
from viewfinder.users.captioner.settings import CaptionerModel, RecurrentCaptioner, TransformerCaptioner
from viewfinder.users.descriptions import SentenceDescriber, Sentences, caption_sentences
from viewfinder.users.person import Person, SpeakingStyle
from viewfinder.weights import check_card, explain_damaged_file, read_weights

SYSTEM = "captioner"
SHIPPED = Path(__file__).with_name("lab.safetensors")

MAX_PAIRS_AT_ONCE = 128
"""Pairs captioned per batch."""

DECODINGS = ("greedy", "beam", "sampled", "official_beam")


@dataclass(eq=False)
class Captioner:
    """Says how wanted pictures differ from shown ones.

    Attributes:
        network: in torch, in eval mode; on the CPU, until moved.
        vocabulary: its words.
        predictor: predicts the attributes of pictures that the network reads; None if it reads none.
        raw_version: which encoder the raw vectors must come from.
        fingerprint: a digest that changes with every number of the weights.
        trained_on: the list of its training pictures (`TrainingList.encode`); "": it was not kept.
    """

    network: CaptionerNetwork
    vocabulary: CaptionVocabulary
    predictor: AttributePredictor | None
    raw_version: str
    fingerprint: str
    trained_on: str = ""

    def __post_init__(self) -> None:
        self.network.eval()

    @classmethod
    def load(cls, path: Path | None = None) -> Captioner:
        """The captioner in a file that `viewfinder train captioner` wrote; by default the shipped one.

        Raises:
            BadInput: the file is missing, damaged, or of another system.
            NewerLibrary: written by a later version.
        """
        if path is None and not SHIPPED.is_file():
            raise BadInput(f"{SHIPPED.name}: no captioner came with this version; train one, and name its file")
        path = path or SHIPPED
        weights = read_weights(path)
        check_card(path, weights.card, system=SYSTEM)
        settings = weights.card.settings
        if not {"model", "vocabulary", "labels"} <= settings.keys():
            raise explain_damaged_file(path, "the card of a captioner names model, vocabulary, labels")
        model: CaptionerModel = (
            read_card_settings(RecurrentCaptioner, weights.card)
            if settings["model"].get("kind") == "recurrent"
            else read_card_settings(TransformerCaptioner, weights.card)
        )
        name, axis = ("input.components", 0) if model.image == "whitened" else ("wanted.weight", 1)
        if name not in weights.arrays:
            raise BadInput(f"{path}: {name} is missing; the file belongs to a network of other settings")
        vocabulary, raw_width = CaptionVocabulary(tuple(settings["vocabulary"])), int(weights.arrays[name].shape[axis])
        network = make_captioner(model, raw_width, len(vocabulary.words), len(settings["labels"]))
        load_network(path, network, system=SYSTEM, encoder=weights.card.encoder)
        predictor = AttributePredictor.of(weights) if model.attributes else None
        return cls(network, vocabulary, predictor, weights.card.encoder, weights.fingerprint, weights.card.trained_on)

    def check(self, raw_version: str) -> None:
        """Refuse vectors that are not like those of the training; EncoderMismatch if they come from another encoder."""
        if raw_version != self.raw_version:
            raise EncoderMismatch(
                f"the captioner was trained on vectors of {self.raw_version!r}, not {raw_version!r}; use that encoder, "
                "or train a captioner with this one"
            )

    def captions(
        self,
        shown_bg: Float[np.ndarray, "b g"],
        wanted_bg: Float[np.ndarray, "b g"],
        decoding: str = "beam",
        *,
        seed: int = 0,
        temperature: float = 1.0,
    ) -> list[str]:
        """Says how each wanted picture differs from the one shown: "is darker and has longer sleeves"; by raw vectors.

        Decoding is "greedy", the likeliest word each time; "beam", the best of five beams, as in the paper's test;
        "official_beam", the same as the published code does it (see `decode_by_beams`); or "sampled", drawn with seed
        and temperature (the lower, above 0, the more like "greedy").

        Raises:
            BadInput: there is no such decoding, or the temperature is not above 0.
            EncoderMismatch: the vectors have another length than those of the training.
        """
        if decoding not in DECODINGS:
            raise BadInput(f"decoding={decoding}: captions are decoded by one of {', '.join(DECODINGS)}")
        if temperature <= 0:
            raise BadInput(f"temperature={temperature}: it must be above 0")
        if {shown_bg.shape[1], wanted_bg.shape[1]} != {self.network.raw_width}:
            raise EncoderMismatch(
                f"the captioner reads vectors of {self.raw_version!r}, {self.network.raw_width} numbers, not "
                f"{shown_bg.shape[1]}; use that encoder, or train again with this one"
            )
        device = next(self.network.parameters()).device
        decode: Callable[..., Int[Tensor, "b t"]] = decode_greedily
        if decoding == "sampled":
            generator = torch.Generator(device).manual_seed(seed)
            decode = partial(decode_by_sampling, generator=generator, temperature=temperature)
        elif decoding != "greedy":
            decode = partial(decode_by_beams, official=decoding == "official_beam")
        said: list[str] = []
        for at in range(0, len(shown_bg), MAX_PAIRS_AT_ONCE):
            parts = (np.array(raw_bg[at : at + MAX_PAIRS_AT_ONCE], np.float32) for raw_bg in (shown_bg, wanted_bg))
            words_bt = decode(self.network, *(torch.from_numpy(part_bg).to(device) for part_bg in parts))
            said += caption_texts(words_bt, self.vocabulary.words)
        return said


MAX_TOLD_ATTRIBUTES = 3
"""Attributes that describe a picture without a caption."""

ReadRawVectors = Callable[[Sequence[str]], Float[np.ndarray, "n g"]]
"""Raw vectors of pictures by their keys."""


@dataclass(frozen=True, eq=False)
class CaptionComparer:
    """The `Comparer` over a trained captioner; the same pair is always compared in the same words."""

    captioner: Captioner
    vectors: ReadRawVectors
    decoding: str = "beam"
    seed: int = 0

    def compare(self, shown: str, wanted: str) -> str:
        """Says how the wanted picture differs: "is darker and has longer sleeves"."""
        shown_1g, wanted_1g = self.vectors([shown]), self.vectors([wanted])
        seed = Random(f"viewfinder/captioner/{self.seed}/{shown}/{wanted}").getrandbits(32)
        return self.captioner.captions(shown_1g, wanted_1g, self.decoding, seed=seed)[0]

    def likeness(self, one: str, other: str) -> float:
        """The cosine of the two pictures' raw vectors; 0 if one of them is zero."""
        one_g, other_g = self.vectors([one, other])
        lengths = float(np.linalg.norm(one_g) * np.linalg.norm(other_g))
        return float(one_g @ other_g) / lengths if lengths else 0.0


def make_captioner_user(
    folder: Path,
    style: SpeakingStyle,
    *,
    model: str = "",
    decoding: str = "beam",
    vectors: ReadRawVectors | None = None,
) -> Person:
    """A person who compares what is shown with what is wanted, in the words of a captioner.

    With nothing on the screen they describe the wanted picture: by a caption from the folder's captions.csv, else by
    its likeliest attributes.

    Args:
        folder, style: the data folder; how they speak.
        model: the file of a trained captioner; by default the shipped one.
        decoding: see `Captioner.captions`.
        vectors: raw vectors of the folder's pictures; without it the starter's are read, or computed.

    Raises:
        BadInput: a file that is not a captioner, no such decoding, or no pictures.
        EncoderMismatch: the captioner was trained on the vectors of another encoder.
    """
    if decoding not in DECODINGS:
        raise BadInput(f"decoding={decoding}: captions are decoded by one of {', '.join(DECODINGS)}")
    captioner = Captioner.load(Path(model) if model else None)
    if vectors is None:
        starter = load_encoder("starter")
        captioner.check(starter.raw_version)
        found = features(folder, starter)
        vectors = lambda keys: found.raw_nd[found.rows(keys)]  # noqa: E731
    comparer = CaptionComparer(captioner, vectors, decoding, style.seed)
    describer = partial(SentenceDescriber, make_sayings(folder, captioner, vectors, style.seed))
    return Person(
        describer, comparer=comparer, likeness=comparer.likeness, style=style, name=SYSTEM,
        trained_on=captioner.trained_on,
    )  # fmt: skip


def make_sayings(folder: Path, captioner: Captioner, vectors: ReadRawVectors, seed: int) -> Sentences:
    """Descriptions of a picture when there is nothing to compare it with.

    They raise UnknownName if there is neither a caption nor a captioner that knows attributes.
    """
    file, predictor = folder / "captions.csv", captioner.predictor
    known = {picture.path.stem: picture.captions for picture in read_captions_csv(file)[0]} if file.is_file() else {}
    from_captions = caption_sentences(known, seed=seed)

    def sayings(picture: str) -> Sequence[str]:
        if predictor is None or Path(picture).stem in known:
            return from_captions(Path(picture).stem)
        return [", ".join(predictor.words(vectors([picture]), MAX_TOLD_ATTRIBUTES)[0])]

    return sayings


_JOINED_TO_LAST = re.compile(r" (?=(?:n't|'(?:s|m|d|re|ve|ll)?|[.,!?;:%)\]])(?: |$))")
_JOINED_TO_NEXT = re.compile(r"(?<=[(\[$#]) ")


def join_words(words: Sequence[str]) -> str:
    """The text that these words were split from (see `data.fashion_iq.tokenize_captions`), as far as that can be told.

    >>> join_words("does n't have a v-neck , and is the girl 's".split())
    "doesn't have a v-neck, and is the girl's"
    """
    text = " ".join(words).replace("`` ", '"').replace(" ''", '"')
    return _JOINED_TO_NEXT.sub("", _JOINED_TO_LAST.sub("", text))


PAD, START, END = (SPECIAL_WORDS.index(word) for word in ("<pad>", "<start>", "<end>"))

FORBIDDEN = tuple(number for number, word in enumerate(SPECIAL_WORDS) if word != "<end>")
"""Words that are never said."""

BEAMS = 5
POWER = 0.7

Raw = Float[Tensor, "b g"]
"""Raw vectors of pictures, one per pair."""

Words = Int[Tensor, "b t"]
"""Numbers of words, <pad> after the last."""


def decode_greedily(network: CaptionerNetwork, shown_bg: Raw, wanted_bg: Raw) -> Words:
    """The likeliest word each time."""
    return _decode_one_by_one(network, shown_bg, wanted_bg, lambda logits_bv: logits_bv.argmax(dim=1))


def decode_by_sampling(
    network: CaptionerNetwork, shown_bg: Raw, wanted_bg: Raw, generator: torch.Generator, temperature: float = 1.0
) -> Words:
    """Each word drawn by its probability; the lower the temperature (above 0), the more like `greedy`."""

    def drawn(logits_bv: Float[Tensor, "b v"]) -> Int[Tensor, " b"]:
        chances_bv = (logits_bv / temperature).softmax(dim=1)
        return torch.multinomial(chances_bv, 1, generator=generator)[:, 0]

    return _decode_one_by_one(network, shown_bg, wanted_bg, drawn)


def _decode_one_by_one(
    network: CaptionerNetwork, shown_bg: Raw, wanted_bg: Raw, choose: Callable[[Tensor], Tensor]
) -> Words:
    """Captions whose words are chosen by their logits, one after the other, until all have ended."""
    pairs, longest = len(shown_bg), network.settings.most_words - 1
    words_bt = torch.full((pairs, longest), PAD, device=shown_bg.device)
    with evaluating(network):
        speech = network.begin(network.see(shown_bg, wanted_bg))
        newest_b = words_bt.new_full((pairs,), START)
        ended_b = torch.zeros_like(newest_b, dtype=torch.bool)
        for place in range(longest):
            logits_btv, speech = network.step(speech, newest_b[:, None])
            newest_b = choose(forbid_words(logits_btv[:, -1]))
            ended_b = ended_b | (newest_b == END)
            if ended_b.all():
                break
            words_bt[:, place] = newest_b.masked_fill(ended_b, PAD)
    return words_bt


def decode_by_beams(
    network: CaptionerNetwork,
    shown_bg: Raw,
    wanted_bg: Raw,
    beams: int = BEAMS,
    power: float = POWER,
    *,
    official: bool = False,
) -> Words:
    """The best of the captions that remain when only the likeliest `beams` are followed at a time.

    Once all have ended, it is the one with the largest log-probability / length ** power; the length counts <end>,
    which a caption of maximum length lacks.

    With `official`, as in the published code, captions go on after their <end>: what would follow it counts in their
    log-probabilities, so that a caption that has ended can still be given up for another one. Where one has not ended
    in time, the likeliest is said whole, also what followed its <end>.
    """
    pairs, longest = len(shown_bg), network.settings.most_words - 1
    with evaluating(network):
        found = _Beams(pairs, beams, shown_bg.device, rest=not official)
        first_r = torch.arange(pairs, device=shown_bg.device).repeat_interleave(beams)
        speech = network.begin(network.see(shown_bg, wanted_bg)).of(first_r)
        for _ in range(longest):
            newest_r1 = found.words_bkt[:, :, -1].reshape(-1, 1)
            logits_rtv, speech = network.step(speech, newest_r1)
            speech = speech.of(found.follow(forbid_words(logits_rtv[:, -1]).log_softmax(dim=1)))
            if found.ended_bk.all():
                break
        return found.choose_official_best(longest, power) if official else found.choose_best(longest, power)


class _Beams:
    """The captions that are followed, k per pair; r counts all of them, pair by pair.

    `rest`: whether captions that have ended stay as they are; else more words follow their <end>.
    """

    def __init__(self, pairs: int, beams: int, device: torch.device, *, rest: bool = True) -> None:
        self.rest = rest
        self.words_bkt = torch.full((pairs, beams, 1), START, device=device)
        self.ended_bk: Bool[Tensor, "b k"] = torch.zeros(pairs, beams, dtype=torch.bool, device=device)
        # At first all are the same caption, so only one of them counts.
        self.scores_bk = torch.full((pairs, beams), -torch.inf, device=device)
        self.scores_bk[:, 0] = 0.0

    def follow(self, chances_rv: Float[Tensor, "r v"]) -> Int[Tensor, " r"]:
        """Takes the best captions with one more word, by its log-probabilities; returns which captions they extend."""
        pairs, beams = self.scores_bk.shape
        words = chances_rv.shape[1]
        chances_bkv = chances_rv.view(pairs, beams, words)
        resting_v = chances_rv.new_full((words,), -torch.inf)
        resting_v[PAD] = 0.0
        # Once all captions of a pair have ended it is done, while those of other pairs in the batch may go on.
        resting_bk = self.ended_bk if self.rest else self.ended_bk & self.ended_bk.all(dim=1, keepdim=True)
        chances_bkv = torch.where(resting_bk[..., None], resting_v, chances_bkv)
        totals_bm = (self.scores_bk[..., None] + chances_bkv).flatten(1)
        self.scores_bk, at_bk = totals_bm.topk(beams, dim=1)
        from_bk, word_bk = at_bk // words, at_bk % words
        words_bkt = self.words_bkt.gather(1, from_bk[..., None].expand(-1, -1, self.words_bkt.shape[2]))
        self.words_bkt = torch.cat([words_bkt, word_bk[..., None]], dim=2)
        self.ended_bk = self.ended_bk.gather(1, from_bk) | (word_bk == END)
        return (from_bk + beams * torch.arange(pairs, device=from_bk.device)[:, None]).flatten()

    def choose_best(self, longest: int, power: float) -> Words:
        """The best caption of each pair, in the form of this module."""
        words_bkt = self.words_bkt[:, :, 1:]
        length_bk = (words_bkt != PAD).sum(dim=2)
        best_b = (self.scores_bk / length_bk**power).argmax(dim=1)
        best_bt = words_bkt[torch.arange(len(best_b), device=best_b.device), best_b]
        best_bt = best_bt.masked_fill(best_bt == END, PAD)
        return torch.nn.functional.pad(best_bt, (0, longest - best_bt.shape[1]), value=PAD)

    def choose_official_best(self, longest: int, power: float) -> Words:
        """The caption that the published code takes of each pair, in the form of this module."""
        said_bt = self.words_bkt.new_full((len(self.words_bkt), longest), PAD)
        for pair, (words_kt, scores_k) in enumerate(
            zip(self.words_bkt[:, :, 1:].tolist(), self.scores_bk.tolist(), strict=True)
        ):
            if self.ended_bk[pair].all():
                lengths = [words_t.index(END) + 1 for words_t in words_kt]
                totals = [score / length**power for score, length in zip(scores_k, lengths, strict=True)]
                best = totals.index(max(totals))
                words_t = words_kt[best][: lengths[best]]
            else:
                words_t = words_kt[0]  # beams are sorted by log-probability
            spoken = [word for word in words_t if word != END]
            said_bt[pair, : len(spoken)] = torch.tensor(spoken, dtype=torch.long)
        return said_bt


def caption_texts(words_bt: Words, vocabulary: Sequence[str]) -> list[str]:
    """Captions as texts; "" if nothing was said."""
    return [join_words([vocabulary[word] for word in words if word != PAD]) for words in words_bt.tolist()]


def forbid_words(logits_bv: Float[Tensor, "b v"]) -> Float[Tensor, "b v"]:
    """Logits that give the words of `FORBIDDEN` no probability."""
    return logits_bv.index_fill(1, torch.tensor(FORBIDDEN, device=logits_bv.device), -torch.inf)


@contextmanager
def evaluating(network: CaptionerNetwork) -> Iterator[None]:
    """The network in eval mode and without gradients; its mode is restored afterwards."""
    was = network.training
    network.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        network.train(was)
