"""Dialogues about products in which those of all kinds are searched together: in a catalogue of everything a network
must keep to shoes when shoes are picked.

Fashion IQ's single turns, MAI's sessions and Fashion IQ's talks of five turns, which elsewhere are each about one kind
of garment (sessions about three), and wishes about products of every kind (product_wishes.py). Beside R@10 it counts
how many of the first ten are of the wanted picture's family (shoes, bags, garments for the upper body ...), and after
wishes how many are of those that fit the last one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import product
from pathlib import Path
from typing import Literal

import numpy as np
from chat_tests import without_shown
from fusion_data import (
    AS_THEY_ARE,
    PARTS,
    PRODUCTS,
    SHIPPED,
    Part,
    list_places,
    mean_vectors,
    read_column,
    read_scores,
    read_tasks_of,
    score_systems,
    score_task,
    write_scores,
)
from fusion_fit import DEPTH, Gates, Standardised, fuse, hits, standardise
from fusion_talks import MIXED_TALKS, Hall, Lead, hear_leads, hold
from jaxtyping import Bool, Float, Float32, Int
from network_columns import plan_training
from network_data import Kind, Talks, record
from network_talks import record_talks
from own_systems import list_own, load_retrained
from product_wishes import Shop, list_families, make_task, open_shop
from remembering import RememberingEncoder
from side_by_side import folder_name
from turn_reader import TurnReader, deviate

from viewfinder.data.splits import Split
from viewfinder.evaluation import Plan, Task
from viewfinder.evaluation.evaluate import load_tasks
from viewfinder.evaluation.pictures import load_pictures, match_pictures
from viewfinder.evaluation.plan import SearchDialogue, load_system
from viewfinder.retrievers.one.gates import ASKED

WISHES = "mixed: wishes"
FROM = {"mixed: fashioniq, one turn": "fashioniq: one turn", "mixed: mai, sessions": "mai: sessions"}
"""Columns of recorded dialogues, and those that they are taken from."""

RECORDED = (*FROM, WISHES)
MIXED = (*RECORDED, MIXED_TALKS)

LIMITS: dict[Split, int | None] = {"train": None, "val": None, "test": 400}
"""Wishes: dialogues about so many products, taken evenly."""


@cache
def open_shop_of(data: Path, split: Split) -> Shop:
    """The products of a part."""
    return open_shop(data / PRODUCTS, split)


@cache
def read_wishes(data: Path, split: Split) -> tuple[Task, Mapping[str, frozenset[str]]]:
    """The wishes of a part, and what is right at the end of each."""
    return make_task(open_shop_of(data, split))


def read_mixed_tasks(name: str, part: Split, fusion: Path, data: Path) -> tuple[list[Task], Plan]:
    """The dialogues of a column in a part, of all kinds, and the plan that reads their pictures."""
    if name == WISHES:
        plan = Plan(system="composer", data=fusion / "products", features=fusion / "features" / "products")
        return [read_wishes(data, part)[0]], replace(plan, limit=LIMITS[part])
    gallery = tuple(item.key for item in open_shop_of(data, part).items)
    if part == "train":
        plan = plan_training(FROM[name], fusion)
        tasks = load_tasks(plan)
    else:
        tasks, plan = read_tasks_of(FROM[name], part, fusion, data)
    return [replace(task, gallery=gallery) for task in tasks], plan


# -- to learn from


def record_mixed(
    name: str, part: Literal["train", "val"], fusion: Path, data: Path, encoder: RememberingEncoder
) -> Iterator[Talks]:
    """The dialogues of a column as the network reads them: nothing but picks."""
    if name == MIXED_TALKS:
        yield from record_talks(fusion, part, MIXED_TALKS)
        return
    tasks, plan = read_mixed_tasks(name, part, fusion, data)
    pictures = load_pictures(plan, encoder, load_system("composer"))
    for task in tasks:
        known = match_pictures(task, pictures, plan.limit)
        known = known if part == "train" else without_shown(known)
        yield keep_picks(record(known, pictures.gallery(tuple(known.pictures()))))


def keep_picks(talks: Talks) -> Talks:
    """The turns that the network of the package reads: picks with words, and later ones without."""
    last = int(max(talks.turn_q.max(), 0)) + 1
    place_m, place_q = last * talks.dialogue_m + talks.turn_m, last * talks.dialogue_q + talks.turn_q
    is_pick_q = np.isin(place_q, place_m[talks.kind_m == Kind.PICKED])
    has_words_q = is_pick_q & np.isin(place_q, place_m[np.isin(talks.kind_m, (Kind.BUT, Kind.UNWANTED))])
    first_c = np.full(int(talks.dialogue_q.max()) + 1, last)
    np.minimum.at(first_c, talks.dialogue_q[has_words_q], talks.turn_q[has_words_q])
    kept_q = is_pick_q & (talks.turn_q >= first_c[talks.dialogue_q])
    kept_m = np.isin(place_m, place_q[kept_q])
    number = dict.fromkeys(place_q.tolist(), 0)
    for dialogue in np.unique(talks.dialogue_q[kept_q]):
        here = place_q[kept_q & (talks.dialogue_q == dialogue)]
        number |= {place: turn for turn, place in enumerate(here.tolist())}
    return Talks(
        talks.pictures_nd, talks.scores_qn[kept_q], talks.dialogue_q[kept_q],
        np.array([number[place] for place in place_q[kept_q].tolist()], np.int64), talks.target_q[kept_q],
        talks.vectors_md[kept_m], talks.kind_m[kept_m],
        np.array([number[place] for place in place_m[kept_m].tolist()], np.int64), talks.back_m[kept_m],
        talks.dialogue_m[kept_m],
    )  # fmt: skip


# -- scores


def score_mixed(fusion: Path, mixture: Path, data: Path, encoder: RememberingEncoder) -> None:
    """Scores the recorded dialogues by all systems, those that `one` has for its own among them, as far as that is not
    done, and keeps what the pictures are."""
    own = {name: partial(load_retrained, *one, mixture) for name, one in list_own().items()}
    for name in RECORDED:
        for part in PARTS:
            home = fusion / "scores" / part / folder_name(name)
            tasks, plan = read_mixed_tasks(name, part, fusion, data)
            score_systems(f"{part} {name}", home, tasks, plan, encoder, loaders={**SHIPPED, **own})
            if not (home / "keys.npy").is_file():
                pictures = load_pictures(plan, encoder, load_system("composer"))
                known = match_pictures(tasks[0], pictures)
                gallery = pictures.gallery(tuple(known.pictures()))
                rows = sorted(gallery.rows(known.gallery))
                np.save(home / "keys.npy", np.array([Path(gallery.snapshot.ids[row]).stem for row in rows]))


def score_network(title: str, reader: TurnReader, fusion: Path, data: Path, encoder: RememberingEncoder) -> None:
    """Scores the recorded dialogues by a network, under a name, as far as that is not done."""
    for name, part in product(RECORDED, PARTS):
        places = list_places(fusion, part, name)
        if (places[-1] / f"{title}.npz").is_file():
            continue
        tasks, plan = read_mixed_tasks(name, part, fusion, data)
        pictures = load_pictures(plan, encoder, load_system("composer"))
        for place, task in zip(places, tasks, strict=True):
            known = without_shown(match_pictures(task, pictures, plan.limit))
            write_scores(place, title, score_task(known, pictures.gallery(tuple(known.pictures())), reader))
        print(part, name, title, flush=True)


# -- what is found


FOUND, OF_FAMILY, RIGHT = "R@10", "of the family", "right"
"""Whether the wanted picture is among the first ten; how many of these are of its family, and how many are right, of as
many as there are."""

Totals = Callable[[Standardised, Path], Float32[np.ndarray, "q n"]]
"""The score of every picture, given all systems' and the folder in which those of the network are."""


@dataclass(frozen=True)
class Way:
    """A way to score; `members`: as `read_column`; None: all shipped systems, others as `one` asks them."""

    total: Totals
    members: Mapping[str, str] | None = None


def add_gates(
    gates: Gates, key: str | None, nats: float, one: Standardised, place: Path, least: float = 0.0
) -> Float32[np.ndarray, "q n"]:
    """The sum of `one` with a network's opinion; key None: without. Systems of a share below `least` are left out."""
    total_qn = fuse(one.z_qsn, gates.kept_weights(one, least))
    return total_qn if key is None else total_qn + np.float32(nats) * deviate(read_scores(place, key).scores_qn)


def hear_composer(one: Standardised, place: Path) -> Float32[np.ndarray, "q n"]:
    """The composer's own."""
    return np.asarray(one.z_qsn[:, 0])


def find_all(
    name: str, part: Part, fusion: Path, data: Path, ways: Mapping[str, Sequence[Way]]
) -> dict[str, dict[str, Float[np.ndarray, "e c"]]]:
    """What ways find after the last turn of the recorded dialogues of a column, each in as many fits as it has."""
    families = list_families(open_shop_of(data, part))
    keys = np.load(fusion / "scores" / part / folder_name(name) / "keys.npy").tolist()
    right = read_wishes(data, part)[1] if name == WISHES else None
    found: dict[str, dict[str, list[list[Float[np.ndarray, " c"]]]]] = {way: {} for way in ways}
    several = {tuple((fit.members or {}).items()) for fits in ways.values() for fit in fits}
    columns = [read_column(fusion, part, name, dict(members) or AS_THEY_ARE) for members in several]
    for place, *tasks in zip(list_places(fusion, part, name), *columns, strict=True):
        ones = {
            members: standardise(name, queries, scored, mean_vectors(fusion), ASKED if members else None)
            for members, (queries, scored) in zip(several, tasks, strict=True)
        }
        one = next(iter(ones.values()))
        last_q = one.queries.last_q
        rights = [right[one.queries.ids[at]] for at in one.queries.dialogue_q[last_q]] if right is not None else None
        for way, fits in ways.items():
            for seed, fit in enumerate(fits):
                total_qn = fit.total(ones[tuple((fit.members or {}).items())], place)[last_q]
                counted = count_first(
                    total_qn, one.queries.target_q[last_q], one.out_qn[last_q], keys, families, rights
                )
                for metric, value_c in counted.items():
                    found[way].setdefault(metric, [[] for _ in fits])[seed].append(value_c)
    return {
        way: {metric: np.stack([np.concatenate(some) for some in fits]) for metric, fits in metrics.items()}
        for way, metrics in found.items()
    }


def count_first(
    total_qn: Float[np.ndarray, "q n"],
    target_q: Int[np.ndarray, " q"],
    out_qn: Bool[np.ndarray, "q n"],
    keys: Sequence[str],
    families: Mapping[str, str],
    rights: Sequence[frozenset[str]] | None = None,
) -> dict[str, Float[np.ndarray, " q"]]:
    """What the first ten are, of as many as there are; `rights`: for each query the keys of what is right."""
    first_qk = np.argsort(np.where(out_qn, -np.inf, total_qn), axis=1, kind="stable")[:, ::-1][:, :DEPTH]
    family_n = np.array([families[key] for key in keys])
    same_qn = family_n[target_q][:, None] == family_n
    counted = {FOUND: hits(total_qn, target_q, out_qn), OF_FAMILY: share_first(same_qn, first_qk, out_qn)}
    if rights is not None:
        right_qn = np.array([[key in some for key in keys] for some in rights])
        counted[RIGHT] = share_first(right_qn, first_qk, out_qn)
    return counted


def share_first(
    fits_qn: Bool[np.ndarray, "q n"], first_qk: Int[np.ndarray, "q k"], out_qn: Bool[np.ndarray, "q n"]
) -> Float[np.ndarray, " q"]:
    """How many of the first pictures fit, of as many as could."""
    most_q = np.minimum((fits_qn & ~out_qn).sum(axis=1), first_qk.shape[1])
    return np.asarray(np.take_along_axis(fits_qn, first_qk, axis=1).sum(axis=1) / np.maximum(most_q, 1))


def lead_mixed(
    fusion: Path, data: Path, leads: Mapping[str, Sequence[Lead]], part: Part
) -> dict[str, dict[str, Float[np.ndarray, "e c"]]]:
    """The same after the last turn of dialogues that every lead leads itself."""
    families = list_families(open_shop_of(data, part))
    heard = hear_leads(MIXED_TALKS, fusion, leads, part, partial(hear_end, families))
    return {
        way: {metric: value_ecv[:, :, at] for at, metric in enumerate((FOUND, OF_FAMILY))}
        for way, value_ecv in heard.items()
    }


def hear_end(families: Mapping[str, str], hall: Hall, dialogue: SearchDialogue, lead: Lead) -> tuple[float, float]:
    """What is found at the end of a dialogue."""
    *_, last = hold(hall, dialogue, lead)
    target_q, out_1n = np.array([hall.gallery.row(dialogue.target)]), last.heard.outs[lead.systems[0]][None]
    keys = [Path(one).stem for one in hall.gallery.snapshot.ids]
    counted = count_first(last.total_n[None], target_q, out_1n, keys, families)
    return float(counted[FOUND][0]), float(counted[OF_FAMILY][0])
