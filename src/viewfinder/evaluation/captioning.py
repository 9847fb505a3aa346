"""A relative captioner on recorded pairs: how close its captions come to what people said of the same two pictures.

BLEU-4     of the corpus; its interval comes from corpora resampled from the same pairs
ROUGE-L    the mean of one value per pair; so is CIDEr-D (its word weights come from all pairs counted)

As in the published evaluation, people's captions are taken as they stand, without a tokeniser and with their case.
Its code puts "it " before every caption, people's and the network's; --manner prefix="it " does that too. Figures
with and without it cannot be compared.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from jaxtyping import Float

from viewfinder.data.fashion_iq import FashionIQ, fashion_kinds, read_fashion_iq
from viewfinder.data.files import need_folder
from viewfinder.encoders import Encoder
from viewfinder.encoders.features import Features, features
from viewfinder.errors import BadInput, UnknownName
from viewfinder.evaluation.figures import Figure
from viewfinder.evaluation.overlap import WEIGHTS, count_seen_pictures, refuse_seen
from viewfinder.evaluation.plan import Notify, Plan, pick_evenly, silent
from viewfinder.evaluation.protocols import PREFERRED
from viewfinder.evaluation.results import MeasuredRun, TaskResult, check_options, make_measured_result, make_run
from viewfinder.metrics import Interval, Measure, bleu, cider_d, rouge_l
from viewfinder.metrics.captions import MAX_NGRAM, ngrams
from viewfinder.training.progress import report_tenths
from viewfinder.users.captioner.captioner import SYSTEM, Captioner

CAPTION_FILE = "captions.jsonl"
BLEU, ROUGE, CIDER = "BLEU-4", "ROUGE-L", "CIDEr-D"
MANNERS = ("decoding", "prefix")
RESAMPLES = 10_000
MAX_PAIRS_AT_ONCE = 128
"""Pairs captioned together."""


@dataclass(frozen=True)
class PairCaption:
    """A pair, what people said of it, and what the captioner says; pictures are keys.

    `rouge_l` and `cider_d` are among all pairs of the run.
    """

    kind: str
    shown: str
    wanted: str
    people: tuple[str, ...]
    said: str
    rouge_l: float = 0.0
    cider_d: float = 0.0


def caption_pairs(plan: Plan, encoder: Encoder, out: Path, notify: Notify = silent) -> MeasuredRun[PairCaption]:
    """Captions the pairs of a folder in the format of Fashion IQ; nothing is written, see `write_measured_run`.

    From the plan it uses data, split, limit (pairs per kind), checkpoint, features, seed, and the options "decoding"
    (beam, official_beam, greedy) and "prefix".

    Raises:
        UnknownName, BadInput: no such split or manner; no pairs with a target; an unusable checkpoint.
        EncoderMismatch: the captioner was trained on other vectors than the encoder gives.
    """
    check_options(plan, MANNERS, SYSTEM)
    captioner = Captioner.load(plan.checkpoint)
    captioner.check(encoder.raw_version)
    notify(f"reading {plan.data}")
    read = _read_kinds(plan)
    notify("vectors of its pictures")
    vectors = features(plan.data, encoder, out=plan.features, progress=report_tenths(notify))
    known, left_out = _match_pairs(read, vectors, plan.limit)
    if not known:
        raise BadInput(f"{plan.data}: no pair has both of its pictures here; {left_out[0] if left_out else ''}")
    notify(f"captions of {len(known):,} pairs")
    scored = _caption_and_score(captioner, known, vectors, plan)
    kinds = list(dict.fromkeys(pair.kind for pair in scored))
    several = [(kind, [pair for pair in scored if pair.kind == kind]) for kind in kinds]
    if len(kinds) > 1:
        several.insert(0, ("all kinds", scored))
    tasks = [
        _make_task_result(name, pairs, read[0].split, plan, () if at else left_out, captioner)
        for at, (name, pairs) in enumerate(several)
    ]
    names, files = {"rouge_l": ROUGE, "cider_d": CIDER}, {key: str(plan.data / key) for key in vectors.keys}
    return MeasuredRun(make_run(plan, encoder, out, tasks), tuple(scored), CAPTION_FILE, names, files)


def _read_kinds(plan: Plan) -> list[FashionIQ]:
    """The kinds with pairs to caption: in the split that the plan names, else in the first that has any."""
    if not (need_folder(plan.data) / "captions").is_dir():
        raise BadInput(f"{plan.data}: no captions/cap.<kind>.<split>.json here; name a folder as Fashion IQ's")
    kinds = fashion_kinds(plan.data)
    there = tuple(dict.fromkeys(split for splits in kinds.values() for split in splits))
    if plan.split is not None and plan.split not in there:
        raise UnknownName(f"{plan.data}: no split is called {plan.split!r}; there are: {', '.join(there)}")
    in_order = dict.fromkeys((*(split for split in PREFERRED if split in there), *there))
    for split in in_order if plan.split is None else [plan.split]:
        read = [read_fashion_iq(plan.data, kind, split)[0] for kind, splits in kinds.items() if split in splits]
        # The pairs whose target is known and that have a caption.
        useful = [tuple(pair for pair in one.pairs if pair.target is not None and pair.captions) for one in read]
        if any(useful):
            return [replace(one, pairs=pairs) for one, pairs in zip(read, useful, strict=True) if pairs]
    raise BadInput(f"{plan.data}: its pairs have no target or no captions; name another --split: {', '.join(there)}")


def _match_pairs(
    read: Sequence[FashionIQ], vectors: Features, limit: int | None
) -> tuple[list[PairCaption], tuple[str, ...]]:
    """The pairs whose pictures are here, under their keys, at most `limit` per kind; and what is left out."""
    known: list[PairCaption] = []
    left_out = []
    for one in read:
        keys: dict[str, str] = {}
        for name in one.gallery:
            with suppress(UnknownName):
                keys[name] = vectors.keys[vectors.row_of(name)]
        pairs = [pair for pair in one.pairs if pair.candidate in keys and pair.target in keys]
        if lost := len(one.pairs) - len(pairs):
            left_out.append(f"{one.kind}: {lost:,} of {len(one.pairs):,} pairs name pictures that are not here")
        known += [
            PairCaption(one.kind, keys[pair.candidate], keys[pair.target or ""], pair.captions, "")
            for pair in pick_evenly(pairs, limit)
        ]
    return known, tuple(left_out)


def _caption_and_score(
    captioner: Captioner, pairs: Sequence[PairCaption], vectors: Features, plan: Plan
) -> list[PairCaption]:
    """The pairs with what the captioner says of them, scored among all of them."""
    said: list[str] = []
    for at in range(0, len(pairs), MAX_PAIRS_AT_ONCE):
        some = pairs[at : at + MAX_PAIRS_AT_ONCE]
        shown_bg, wanted_bg = (
            np.asarray(vectors.raw_nd[vectors.rows(keys)], np.float32)
            for keys in ([pair.shown for pair in some], [pair.wanted for pair in some])
        )
        said += captioner.captions(shown_bg, wanted_bg, decoding=str(plan.options.get("decoding", "beam")))
    captioned = [replace(pair, said=words) for pair, words in zip(pairs, said, strict=True)]
    texts = _prefix_texts(captioned, plan)
    scores = zip(captioned, rouge_l(*texts), cider_d(*texts), strict=True)
    return [replace(pair, rouge_l=float(rouge), cider_d=float(cider)) for pair, rouge, cider in scores]


def _prefix_texts(pairs: Sequence[PairCaption], plan: Plan) -> tuple[list[str], list[list[str]]]:
    """The captions of the captioner and of people, in the form in which they are compared."""
    prefix = str(plan.options.get("prefix", ""))
    people = [[f"{prefix}{caption}" for caption in pair.people] for pair in pairs]
    return [f"{prefix}{pair.said}" for pair in pairs], people


def _make_task_result(
    name: str, pairs: Sequence[PairCaption], split: str, plan: Plan, left_out: tuple[str, ...], captioner: Captioner
) -> TaskResult:
    texts, seen = _prefix_texts(pairs, plan), Counter[str]()
    title, pictures = f"{SYSTEM}, {name}, {split}", {key for pair in pairs for key in (pair.shown, pair.wanted)}
    overlap = refuse_seen(title, count_seen_pictures(pictures, plan.data, {WEIGHTS: captioner.trained_on}), plan)
    ids = []
    for pair in pairs:  # a repeated pair gets a number
        own = f"{pair.kind} {pair.shown} {pair.wanted}"
        seen[own] += 1
        ids.append(own if seen[own] == 1 else f"{own} {seen[own]}")
    values = {ROUGE: rouge_l(*texts), CIDER: cider_d(*texts)}
    result = make_measured_result(
        title, values, ids, of=f"{name}, {split}, {len(pairs):,} pairs", split=split, pictures=len(pictures),
        at="one caption", overlap=overlap,
        caption=", ".join(f"{key} {value}".strip() for key, value in plan.options.items()) or "as it stands",
        seed=plan.seed, left_out=left_out,
    )  # fmt: skip
    own_name = replace(result.figures[0].name, metric=BLEU)
    of_corpus = Figure(Measure(own_name, bleu_interval(*texts, seed=plan.seed), len(pairs)), None)
    return replace(result, figures=(of_corpus, *result.figures))


def bleu_interval(
    hypotheses: Sequence[str], references: Sequence[Sequence[str]], *, resamples: int = RESAMPLES, seed: int = 0
) -> Interval:
    """BLEU-4 of a corpus, and the middle 95 % of its values over corpora resampled with replacement; seeded."""
    counts_sk = np.array([_count_ngrams(said, several) for said, several in zip(hypotheses, references, strict=True)])
    random, size = np.random.default_rng(seed), len(counts_sk)
    drawn = [
        _bleu_of_counts(random.multinomial(size, np.full(size, 1 / size), min(1000, resamples - at)) @ counts_sk)
        for at in range(0, resamples, 1000)
    ]
    low, high = np.quantile(np.concatenate(drawn), [0.025, 0.975])
    return Interval(float(bleu(hypotheses, references)[-1]), float(low), float(high))


def _count_ngrams(said: str, several: Sequence[str]) -> list[float]:
    """The counts that BLEU sums over sentences: n-grams found in a reference, n-grams (1 to 4), reference words."""
    own, known = ngrams(said), [ngrams(one) for one in several]
    length = len(said.split())
    nearest = min((abs(len(one.split()) - length), len(one.split())) for one in several)[1]
    right = [0.0] * MAX_NGRAM
    for ngram, count in own.items():
        right[len(ngram) - 1] += min(count, max(one[ngram] for one in known))
    return [*right, *(float(max(length - n, 0)) for n in range(MAX_NGRAM)), float(nearest)]


def _bleu_of_counts(counts_rk: Float[np.ndarray, "r k"]) -> Float[np.ndarray, " r"]:
    """BLEU-4 of corpora with these sums of `_count_ngrams`."""
    right_rn, all_rn, nearest_r = counts_rk[:, :MAX_NGRAM], counts_rk[:, MAX_NGRAM:-1], counts_rk[:, -1]
    with np.errstate(divide="ignore"):  # no common n-gram: ln 0, and a BLEU of 0
        shares_rn = np.log(right_rn / np.maximum(all_rn, 1))
        brevity_r = np.minimum(0, 1 - nearest_r / all_rn[:, 0])
    return np.asarray(np.exp(brevity_r + shares_rn.mean(axis=1)))
