"""BASIC: a picture with words by two similarities that are multiplied, without training; writes results/basic.json.

    python benchmarks/basic.py DATA --work FOLDER     # FOLDER is that of fusion.py: its worlds and vectors

The method is that of "Instance-Level Composed Image Retrieval" (Psomas et al., NeurIPS 2025, arXiv 2510.25387). With a
picture v, words t and the pictures x of a library:

    centre      v - m, x - m, t - n                     m: mean of the pictures, n: mean of the words for things
    project     P = V' V, V: the first eigenvectors of  (1 - a) S+ - a S-     (contrastive PCA)
                S+, S-: scatter of words for things, and of words for looks, both minus n
    compare     s_v = P v . x,   s_t = t . x
    normalise   s -> max(0, (s - least) / |least|)      least: the lowest similarity to be expected
    fuse        s_v s_t - b (s_v + s_t)^2               Harris's corner criterion: both must be high
    expand      v becomes a mean of itself and the pictures most like it (not in every form)

Ours, and not the paper's: the encoder (the starter); the words (those of the project: tags, and the encoder's
vocabulary); m, of the pictures that are searched in place of LAION's; the lowest similarities, of pictures of the
library with each other and of all words with them, in place of generated pictures. What the paper calls context (the
words read beside many names of things) is left out: it takes 200 texts a turn.

Forms are compared on validation dialogues, and one is chosen for the columns of products, one for photographs; test
dialogues choose nothing.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from chat_tests import without_shown
from freshness import RESULTS
from fusion_data import ALL_PHOTOGRAPHS, PARTS, Part, read_tasks_of, score_task
from fusion_fit import hits
from jaxtyping import Bool, Float, Int
from machine import describe_host
from measuring import write_json
from remembering import RememberingEncoder
from rows import estimate_mean
from side_by_side import SHARED, folder_name

from viewfinder.conversation import Like, Say, Turn
from viewfinder.encoders.base import unit_rows
from viewfinder.encoders.starter import StarterEncoder
from viewfinder.encoders.tags import tag_groups
from viewfinder.evaluation import Task
from viewfinder.evaluation.pictures import load_pictures, match_pictures
from viewfinder.evaluation.plan import SearchDialogue, load_system, pick_evenly
from viewfinder.evaluation.replay import force_pictures
from viewfinder.search.gallery import Gallery
from viewfinder.users.annotations import AnnotatedPhotos, PhotoNotes
from viewfinder.users.photographs import PhotoComparer

PRODUCTS = ("fashioniq: one turn", "cirr", "mai: sessions", "mai: rollback", "mai: combination")
"""Columns of docs/systems/index.md where a turn is a picture with words."""

ALONE, DESCRIBED = "photographs: like ... but", "photographs: described, like ... but"
COLUMNS = (*PRODUCTS, ALONE, DESCRIBED)

CHOSEN_ON = {"products": PRODUCTS[:3], "photographs": (ALONE, DESCRIBED)}
"""Columns whose validation dialogues choose a form; next to nothing is found in rollback and combination."""

SYSTEMS = ("composer", "clip-ti")
LAST_ALONE = "composer, last turn alone"
ROWS = (*SYSTEMS, LAST_ALONE)
"""What is measured beside the method, which itself reads the last turn of a picture and forgets what was before it."""

PHOTOGRAPHS = 400
"""Photographs that are looked for, taken evenly."""

SHOWN = 10
"""Results of a first caption, among which a person picks the photograph to compare with."""

THINGS = ("people", "animal", "kind")
"""Groups of tags that name things; the others say what something looks like, where it is and what it does."""

HEAT = 0.1
"""Of the exponential weights of an expansion, as in the paper's program."""


# -- the method


@dataclass(frozen=True)
class Form:
    """A form of the method. The defaults are the paper's, of its 768 numbers a third: 85 of our 256.

    Attributes:
        centred: whether means are taken away.
        against: the weight `a` of the words for looks.
        components: eigenvectors at most, of those with a positive value; 0: nothing is projected.
        normalised: whether similarities are measured from the lowest.
        harris: the weight `b`.
        expansion: pictures that are averaged with the query.
        multiplied: whether similarities are multiplied, as the paper does; else they are added, as a control.
    """

    centred: bool = True
    against: float = 0.2
    components: int = 85
    normalised: bool = True
    harris: float = 0.1
    expansion: int = 0
    multiplied: bool = True


PRODUCT = Form(centred=False, components=0, normalised=False, harris=0.0)
"""Both similarities multiplied as they are: the paper's "Text x Image"."""

STEPS = {
    "multiplied as they are": PRODUCT,
    "centred": replace(PRODUCT, centred=True),
    "centred, normalised": replace(PRODUCT, centred=True, normalised=True),
    "centred, normalised, projected": replace(Form(), harris=0.0),
    "the paper's, not expanded": Form(),
    "the paper's": Form(expansion=25),
}
"""What the paper adds, step by step."""


@dataclass(frozen=True, eq=False)
class Corpora:
    """Vectors of words for things, and of words for looks."""

    things_td: Float[np.ndarray, "t d"]
    looks_ld: Float[np.ndarray, "l d"]


def find_directions(
    things_td: Float[np.ndarray, "t d"], looks_ld: Float[np.ndarray, "l d"], against: float, components: int
) -> Float[np.ndarray, "k d"]:
    """The directions in which things differ more than looks: contrastive PCA, the strongest first."""
    scatter_dd, against_dd = (rows_nd.T @ rows_nd / (len(rows_nd) - 1) for rows_nd in (things_td, looks_ld))
    value_d, vectors_dd = np.linalg.eigh((1 - against) * scatter_dd - against * against_dd)
    strongest = [at for at in np.argsort(-value_d)[:components] if value_d[at] > 0]
    return np.asarray(vectors_dd.T[strongest])


def project(rows_nd: Float[np.ndarray, "n d"], directions_kd: Float[np.ndarray, "k d"]) -> Float[np.ndarray, "n d"]:
    """The rows' part in the space of some directions of unit length."""
    return np.asarray(rows_nd @ directions_kd.T @ directions_kd)


def expand(
    rows_qd: Float[np.ndarray, "q d"], library_nd: Float[np.ndarray, "n d"], similar_qn: Float[np.ndarray, "q n"],
    count: int,
) -> Float[np.ndarray, "q d"]:  # fmt: skip
    """Each row averaged with the pictures most like it, weighted by exp(HEAT s); its own similarity is 1."""
    nearest_qk = np.argsort(-similar_qn, axis=1, kind="stable")[:, :count]
    weight_qk = np.exp(HEAT * np.take_along_axis(similar_qn, nearest_qk, axis=1))
    own = np.exp(HEAT)
    summed_qd = own * rows_qd + np.einsum("qk,qkd->qd", weight_qk, library_nd[nearest_qk])
    return np.asarray(summed_qd / (own + weight_qk.sum(axis=1, keepdims=True)))


def normalise(similar_qn: Float[np.ndarray, "q n"], least: float) -> Float[np.ndarray, "q n"]:
    """Similarities in multiples of the lowest, from it on; none is below 0."""
    return np.maximum(0.0, (similar_qn - least) / abs(least))


def fuse(
    alike_qn: Float[np.ndarray, "q n"], fits_qn: Float[np.ndarray, "q n"], harris: float
) -> Float[np.ndarray, "q n"]:
    """Harris's criterion: the product, less a share of the squared sum, so that neither makes up for the other."""
    return np.asarray(alike_qn * fits_qn - harris * (alike_qn + fits_qn) ** 2)


def score(
    pictures_qd: Float[np.ndarray, "q d"], words_qd: Float[np.ndarray, "q d"], library_nd: Float[np.ndarray, "n d"],
    corpora: Corpora, form: Form,
) -> Float[np.ndarray, "q n"]:  # fmt: skip
    """The score of every picture of a library for each picture with words; all vectors are of unit length."""
    things_td, looks_ld = corpora.things_td, corpora.looks_ld
    if form.centred:
        mean_d, mean_of_words_d = library_nd.mean(axis=0), things_td.mean(axis=0)
        pictures_qd, library_nd = pictures_qd - mean_d, library_nd - mean_d
        words_qd, things_td, looks_ld = (rows_nd - mean_of_words_d for rows_nd in (words_qd, things_td, looks_ld))
    directions_kd = find_directions(things_td, looks_ld, form.against, form.components) if form.components else None

    def compare(rows_qd: Float[np.ndarray, "q d"]) -> Float[np.ndarray, "q n"]:
        kept_qd = rows_qd if directions_kd is None else project(rows_qd, directions_kd)
        return np.asarray(kept_qd @ library_nd.T)

    if form.expansion:
        pictures_qd = expand(pictures_qd, library_nd, compare(pictures_qd), form.expansion)
    alike_qn, fits_qn = compare(pictures_qd), words_qd @ library_nd.T
    if form.normalised:
        alike_qn = normalise(alike_qn, float(compare(library_nd).min()))
        fits_qn = normalise(fits_qn, float((np.concatenate([things_td, looks_ld]) @ library_nd.T).min()))
    if not form.multiplied:
        return np.asarray(alike_qn + fits_qn)
    return fuse(np.maximum(alike_qn, 0), np.maximum(fits_qn, 0), form.harris)


# -- its words


def read_corpora(encoder: StarterEncoder) -> Corpora:
    """Words that the project has: all tags, and the encoder's vocabulary, each word of it beside its nearest tag."""
    things, looks = list_tags(things=True), list_tags(things=False)
    known = Corpora(unit_rows(encoder.words(things)), unit_rows(encoder.words(looks)))
    vocabulary = encoder.vocabulary
    assert vocabulary is not None, "the starter has one"
    others = [word for word in vocabulary.words if word not in {*things, *looks}]
    return split_words(unit_rows(encoder.words(others)), known)


def list_tags(*, things: bool) -> list[str]:
    """The names of all tags for things, or of all others, each once."""
    tags = [tag for group in tag_groups() if (group.name in THINGS) is things for tag in group.tags]
    return list(dict.fromkeys(word for tag in tags for word in (tag.name, *tag.also)))


def split_words(words_wd: Float[np.ndarray, "w d"], known: Corpora) -> Corpora:
    """The corpora with more words, each in that of the word it is most like."""
    is_thing_w = (words_wd @ known.things_td.T).max(axis=1) >= (words_wd @ known.looks_ld.T).max(axis=1)
    return Corpora(
        np.concatenate([known.things_td, words_wd[is_thing_w]]),
        np.concatenate([known.looks_ld, words_wd[~is_thing_w]]),
    )


# -- dialogues


@dataclass(frozen=True, eq=False)
class Asked:
    """The last turns of a task's dialogues: picture and words, what is searched, what is wanted, what others find."""

    pictures_qd: Float[np.ndarray, "q d"]
    words_qd: Float[np.ndarray, "q d"]
    library_nd: Float[np.ndarray, "n d"]
    target_q: Int[np.ndarray, " q"]
    out_qn: Bool[np.ndarray, "q n"]
    hits_sq: Float[np.ndarray, "s q"]

    def find(self, corpora: Corpora, form: Form) -> Float[np.ndarray, " q"]:
        """Whether each wanted picture is among the first ten."""
        scores_qn = score(self.pictures_qd, self.words_qd, self.library_nd, corpora, form)
        return hits(scores_qn, self.target_q, self.out_qn)


def read_last(turns: Sequence[Turn]) -> tuple[str, str]:
    """The last picture, and what was said since the one before it, as one text."""
    picked = [at for at, turn in enumerate(turns) if isinstance(turn, Like)]
    since = picked[-2] + 1 if len(picked) > 1 else 0
    texts = [turn.text.strip().rstrip(" .") for turn in turns[since:] if isinstance(turn, Say | Like)]
    last = turns[picked[-1]]
    assert isinstance(last, Like)
    return last.picture, ". ".join(text for text in texts if text)


def ask(task: Task, gallery: Gallery, encoder: RememberingEncoder) -> Asked:
    """The last turns of all dialogues, and what the other systems find; BASIC leaves out what the composer does."""
    ranked_n = np.sort(np.array(gallery.rows(task.gallery), np.int64))
    place = {int(row): at for at, row in enumerate(ranked_n)}
    matrix_nd = unit_rows(np.asarray(gallery.snapshot.matrix_nd, np.float64))
    last = [read_last(dialogue.turns) for dialogue in task.dialogues]
    wanted = [dialogue.targets[-1] if dialogue.targets else dialogue.target for dialogue in task.dialogues]
    target_q = np.array([place[gallery.row(name)] for name in wanted])
    ends_q = np.cumsum([len(dialogue.turns) for dialogue in task.dialogues]) - 1
    found = [score_task(task, gallery, force_pictures(load_system(system))) for system in SYSTEMS]
    whole = [hits(one.scores_qn[ends_q], target_q, one.out_qn[ends_q]) for one in found]
    out_qn = found[0].out_qn[ends_q]
    composer = force_pictures(load_system("composer"))
    alone = hits(score_task(keep_last_turns(task), gallery, composer).scores_qn, target_q, out_qn)
    return Asked(
        matrix_nd[[gallery.row(picture) for picture, _ in last]],
        unit_rows(np.asarray(encoder.words([text for _, text in last]), np.float64)),
        matrix_nd[ranked_n],
        target_q,
        out_qn,
        np.stack([*whole, alone]),
    )


def keep_last_turns(task: Task) -> Task:
    """The task with dialogues of one turn, which does not look back."""
    last = [one.turns[-1] for one in task.dialogues]
    kept = [replace(turn, turn=None) if isinstance(turn, Like) else turn for turn in last]
    dialogues = tuple(
        replace(one, turns=(turn,), targets=one.targets[-1:]) for one, turn in zip(task.dialogues, kept, strict=True)
    )
    return replace(task, dialogues=dialogues)


def read_asked(name: str, part: Part, work: Path, data: Path, encoder: RememberingEncoder) -> Iterator[Asked]:
    """The tasks of a column."""
    of_photographs = name in (ALONE, DESCRIBED)
    tasks, plan = read_tasks_of(ALL_PHOTOGRAPHS if of_photographs else name, part, work, data)
    pictures = load_pictures(plan, encoder, force_pictures(load_system("composer")))
    for task in tasks:
        known = match_pictures(task, pictures, None if of_photographs else plan.limit)
        if of_photographs:
            known = compare_photographs(known, pictures.gallery(known.gallery), encoder, first=name == DESCRIBED)
        known = without_shown(known)
        yield ask(known, pictures.gallery(tuple(known.pictures())), encoder)


def compare_photographs(task: Task, gallery: Gallery, encoder: RememberingEncoder, *, first: bool) -> Task:
    """A person says a caption, picks of its results the one most like the wanted by captions, and says what it lacks.

    As in conversations.py, the wanted photograph is hidden. `first`: the caption is part of the dialogue.
    """
    captions = {one.target: tuple(turn.text for turn in one.turns if isinstance(turn, Say)) for one in task.dialogues}
    comparer = PhotoComparer(AnnotatedPhotos({key: PhotoNotes(some) for key, some in captions.items()}))
    known = sorted(captions)
    matrix_nd = gallery.snapshot.matrix_nd[gallery.rows(known)]
    dialogues = list[SearchDialogue]()
    for dialogue in pick_evenly(task.dialogues, PHOTOGRAPHS):
        wanted, said = dialogue.target, captions[dialogue.target][0]
        order_n = np.argsort(-(matrix_nd @ encoder.words([said])[0]), kind="stable")
        shown = [known[at] for at in order_n[: SHOWN + 1] if known[at] != wanted][:SHOWN]
        liked = max(shown, key=lambda key: comparer.likeness(key, wanted))
        if text := comparer.compare(liked, wanted):
            turns = ((Say(said),) if first else ()) + (Like(liked, text),)
            dialogues.append(replace(dialogue, turns=turns))
    return replace(task, dialogues=tuple(dialogues))


def keep_asked(file: Path, make: Iterator[Asked]) -> list[Asked]:
    """The tasks of a column, read again from where they are kept, made and kept if they are not."""
    if not file.is_file():
        arrays = {f"{number}/{name}": array for number, one in enumerate(make) for name, array in vars(one).items()}
        file.parent.mkdir(parents=True, exist_ok=True)
        np.savez(file, **arrays)
        print(file.stem, flush=True)
    with np.load(file) as kept:
        numbers = sorted({int(name.partition("/")[0]) for name in kept})
        fields = Asked.__dataclass_fields__
        return [Asked(**{name: kept[f"{number}/{name}"] for name in fields}) for number in numbers]


# -- figures

Talks = Mapping[str, Sequence[Asked]]
"""The tasks of all columns."""


def main() -> None:
    """Ask all columns, choose a form on validation, write one file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--work", type=Path, default=Path("runs/fusion"), help="the folder of fusion.py")
    parser.add_argument("--kept", type=Path, default=Path("runs/basic"), help="where what is asked is kept")
    parser.add_argument("--out", type=Path, default=RESULTS / "basic.json")
    given = parser.parse_args()
    encoder = RememberingEncoder()
    asked = {
        part: {
            name: keep_asked(
                given.kept / part / f"{folder_name(name).replace('...-', '')}.npz",
                read_asked(name, part, given.work, given.data.resolve(), encoder),
            )
            for name in COLUMNS
        }
        for part in PARTS
    }
    write_json(given.out, results(asked["val"], asked["test"], read_corpora(encoder)))


def results(validation: Talks, test: Talks, corpora: Corpora) -> dict[str, Any]:
    """All figures: the forms that are chosen, and every row on validation and test."""
    chosen = {kind: choose_form([validation[name] for name in names], corpora) for kind, names in CHOSEN_ON.items()}

    def tell(asked: Talks) -> dict[str, Any]:
        found = {}
        for name, some in asked.items():
            form = chosen["products" if name in PRODUCTS else "photographs"]
            last = {"chosen on validation": form, "the same, added": replace(form, multiplied=False)}
            found[name] = figures(some, corpora, {**STEPS, **last})
        return found

    return {
        "chosen": {kind: asdict(form) for kind, form in chosen.items()},
        "forms compared": len(list_forms()),
        "words": {"things": len(corpora.things_td), "looks": len(corpora.looks_ld)},
        "validation": tell(validation),
        "test": tell(test),
        "machine": describe_host(),
    }


def choose_form(columns: Sequence[Sequence[Asked]], corpora: Corpora) -> Form:
    """The form with the highest mean of some columns."""

    def mean(form: Form) -> float:
        return float(np.mean([find(some, corpora, form).mean() for some in columns]))

    return max(list_forms(), key=mean)


def list_forms() -> list[Form]:
    """All forms that are compared on validation, the paper's first: of equals the first is chosen."""
    every = product((0.1, 0.0, 0.05, 0.2), (85, 0, 40, 130, 200), (0.2, 0.5, 0.0), (0, 5, 25))
    return [
        Form(harris=harris, components=components, against=against, expansion=expansion)
        for harris, components, against, expansion in every
        if components or against == 0.2
    ]


def find(some: Sequence[Asked], corpora: Corpora, form: Form) -> Float[np.ndarray, " c"]:
    """Whether a form finds what is wanted, over the dialogues of all tasks."""
    return np.concatenate([one.find(corpora, form) for one in some])


def figures(some: Sequence[Asked], corpora: Corpora, rows: Mapping[str, Form]) -> dict[str, Any]:
    """Every row of a column, with its difference to the composer."""
    alone_sc = np.concatenate([one.hits_sq for one in some], axis=1)
    found = dict(zip(ROWS, alone_sc, strict=True)) | {name: find(some, corpora, form) for name, form in rows.items()}
    return {
        "dialogues": alone_sc.shape[1],
        "pictures": sorted({len(one.library_nd) for one in some}),
        "rows": {
            name: {SHARED: estimate_mean(hits_c[None]), "difference": estimate_mean((hits_c - found["composer"])[None])}
            for name, hits_c in found.items()
        },
    }


if __name__ == "__main__":
    main()
