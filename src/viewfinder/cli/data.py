"""`viewfinder world | construct | dialogues`: data whose truth is known, or that models and simulated users write."""

from __future__ import annotations

import shlex
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from viewfinder.cli.ending import FAILED, Interrupts
from viewfinder.cli.evaluate import parse_style
from viewfinder.cli.options import (
    MAX_SECONDS,
    DataOption,
    EncoderOption,
    FeaturesOption,
    JsonOption,
    UserSeedOption,
    VectorsOption,
    load_named_encoder,
    option,
)
from viewfinder.cli.output import count_noun, make_notifier, print_json, print_line, print_note
from viewfinder.errors import UnknownName
from viewfinder.training.progress import progress_bar

if TYPE_CHECKING:
    from viewfinder.construction import ConstructionReport
    from viewfinder.evaluation.generate import GenerationReport
    from viewfinder.worlds import WorldReport


def world(
    out: Annotated[Path, typer.Argument(metavar="OUT", help="A new or empty folder.")],
    kind: Annotated[
        str,
        option(
            "scenes|catalogue|edits",
            "Several things in a place, one product a picture, or scenes before and after one change.",
        ),
    ] = "scenes",
    count: Annotated[int, option("N", "How many pictures, or edits.")] = 300,
    seed: Annotated[int, option("S", "The same seed makes the same pictures.")] = 0,
    sprites: Annotated[
        Path | None, option("DIR", "Real products to use: a folder with products.csv and images/.")
    ] = None,
    transactions: Annotated[int | None, option("N", "FashionMT transactions. [default: 3 a picture]", min=0)] = None,
    pairs: Annotated[
        int | None, option("N", "References of each picture for training, in Fashion IQ. [default: 1]", min=1)
    ] = None,
    language: Annotated[
        str,
        option(
            "explicit|contextual",
            "Whether every turn says all it needs, or leans on earlier ones, with other words for testing.",
        ),
    ] = "explicit",
    workers: Annotated[int | None, option("N", "Processes that draw.", min=1)] = None,
    as_json: JsonOption = False,
) -> int:
    """Make annotated pictures to try, train and test with."""
    from viewfinder import worlds

    with progress_bar("making pictures", count or None, shown=not as_json) as progress:
        report = worlds.write_world(
            out, kind=kind, count=count, seed=seed, sprites=sprites, transactions=transactions, pairs=pairs,
            language=language, workers=workers or worlds.choose_workers(count), progress=progress,
        )  # fmt: skip
    if as_json:
        print_json(asdict(report) | {"out": str(report.out)})
    else:
        _say_drawn(report)
    return 0


def _say_drawn(report: WorldReport) -> None:
    others = {
        "region phrase": report.regions, "dialogue": report.dialogues, "chat-search sample": report.chats,
        "pair": report.pairs, "session": report.sessions, "transaction": report.transactions,
        "query": report.queries, "edit": report.edits,
    }  # fmt: skip
    counted = {"picture": report.pictures, "caption": report.captions, **{k: n for k, n in others.items() if n}}
    made = [count_noun(count, noun) for noun, count in counted.items()]
    print_line(f"{', '.join(made[:-1])} and {made[-1]} in {report.out}")
    for what, file in (("look at them", "preview.png"), ("how it was made", "world.json")):
        if (report.out / file).is_file():
            print_line(f"{what}: {report.out / file}")
    tables = (report.out / name for name in ("catalogue.csv", "products.csv"))
    columns = "".join(f" --catalogue {table}" for table in tables if table.is_file())
    if report.edits:
        print_line(f"index them: viewfinder add {report.out}")
        print_line(f"learn from them, and from captions: viewfinder train chatsearcher --data {report.out} --data DIR")
        return
    print_line(f"index them: viewfinder add {report.out / 'images'}{columns}")
    print_line(f"measure on them: viewfinder evaluate composer --data {report.out}")


ALL = "text,mdc-i,mdc-t,mdc-t-single,merge"


def construct(
    data: Annotated[Path, typer.Argument(metavar="DATA", help="Captioned pictures, or a world of scenes.")],
    out: Annotated[Path | None, option("DIR", "Where they go; pictures are linked into it. [default: DATA]")] = None,
    pipelines: Annotated[str, option("NAME,...", "Which pipelines.")] = ALL,
    split: Annotated[str, option("train|val|test|all", "Which pictures.")] = "train",
    generator: Annotated[
        str | None,
        option(
            "world|MODEL",
            "What writes: a world's truth, or a language model: http://host/v1#MODEL, a folder, a .gguf file, a "
            "hub name. [default: the truth, else $VIEWFINDER_LANGUAGE_MODEL]",
        ),
    ] = None,
    gallery: Annotated[
        Path | None, option("DIR", "Pictures to find, a folder or a library. [default: those of the split]")
    ] = None,
    captioner: Annotated[str, option("captions|MODEL", "What describes a target: its captions, or BLIP.")] = "captions",
    threshold: Annotated[
        float | None, option("F", "How like a target must be to its reference. [default: 0.6; by truth 0.4]")
    ] = None,
    ceiling: Annotated[float, option("F", "Above this it is a copy, and no target.")] = 0.98,
    count: Annotated[int | None, option("N", "Pictures to begin with, taken evenly.", min=1)] = None,
    only_targets: Annotated[
        bool, typer.Option("--only-targets", help="Galleries of the samples' own pictures, as in the paper.")
    ] = False,
    encoder: Annotated[str, option("NAME|PATH", "What sees the pictures.")] = "starter",
    features: FeaturesOption = None,
    seed: Annotated[int, option("S", "Of everything that is drawn.")] = 0,
    at_once: Annotated[int, option("N", "Pictures at a time, for an endpoint.", min=1)] = 1,
    seconds: Annotated[float, option("F", "An answer takes no longer.", min=0.1, max=MAX_SECONDS)] = 60.0,
    as_json: JsonOption = False,
) -> int:
    """Make dialogues that lead to a picture.

    What a model wrote is kept: repeat the command to go on after Ctrl-C, or with other settings. `viewfinder review`
    lets a person accept or rewrite what was made.
    """
    from viewfinder.construction import PARTS, PIPELINES, ConstructionOrder, construct_samples

    asked = [name.strip() for name in pipelines.split(",") if name.strip()]
    if not asked or any(name not in PIPELINES for name in asked):
        raise UnknownName(f"--pipelines {pipelines!r}: no such pipeline; there are: {', '.join(PIPELINES)}")
    part = next((part for part in PARTS if part == split), None)
    if part is None:
        raise UnknownName(f"--split {split!r}: no such split; there are: {', '.join(PARTS)}")
    order = ConstructionOrder(
        data=data, out=out or data, pipelines=tuple(name for name in PIPELINES if name in asked), split=part,
        generator=generator, gallery=gallery, captioner=captioner, encoder=encoder, features=features,
        threshold=threshold, ceiling=ceiling, count=count, only_targets=only_targets, seed=seed, at_once=at_once,
        seconds=seconds,
    )  # fmt: skip
    with progress_bar("making dialogues", shown=not as_json) as progress, Interrupts() as stop:
        done = construct_samples(
            order, make_encoder=partial(load_named_encoder, encoder), notify=make_notifier(as_json), progress=progress,
            should_stop=stop,
        )  # fmt: skip
    print_json(asdict(done) | {"out": str(done.out)}) if as_json else _say_made(done)
    if not done.ended:
        print_note(f"viewfinder: stopped after {count_noun(done.pictures, 'picture')}; repeat the command to go on")
        return FAILED
    return 0


def _say_made(done: ConstructionReport) -> None:
    for line in done.left_out:
        print_line(f"  left out of the data: {line}")
    for name, made in done.made.items():
        reasons = done.dropped.get(name, {})
        dropped = f", {sum(reasons.values()):,} dropped" if reasons else ""
        print_line(f"{name}: {count_noun(made, 'dialogue')}{dropped}")
        for reason, times in reasons.items():
            print_line(f"  {times:,}: {reason}")
    if done.files:
        print_line(f"written by {done.generator}, captions by {done.captioner}, in {done.out}: {', '.join(done.files)}")
        samples = next(file for file in done.files if file.endswith(".jsonl"))
        print_line(f"look through them: viewfinder review {done.out / samples} --images {done.out}")


def dialogues(
    data: DataOption,
    questioner: Annotated[
        str,
        option("NAME[=SOURCE]", "What asks; captions: questions about photographs that their captions answer."),
    ] = "information_gain",
    user: Annotated[str, option("NAME", "The simulated user that answers.")] = "oracle",
    manner: Annotated[
        list[str] | None, option("KEY=VALUE", "How the user answers, such as noise=0.1; repeatable.")
    ] = None,
    split: Annotated[str, option("NAME", "Which part of the data.")] = "train",
    rounds: Annotated[int, option("N", "Questions of a dialogue, at most.", min=1)] = 10,
    retriever: Annotated[str, option("NAME", "What looks for the pictures that a question is about.")] = "composer",
    checkpoint: Annotated[Path | None, option("F", "Its trained weights.")] = None,
    encoder: EncoderOption = "starter",
    catalogue: Annotated[Path | None, option("CSV", "Columns that may be asked for. [default: pixels alone]")] = None,
    vectors: VectorsOption = None,
    features: FeaturesOption = None,
    name: Annotated[str | None, option("NAME", "What the dialogues are called. [default: QUESTIONER_USER]")] = None,
    out: Annotated[Path | None, option("FILE", "Where they go. [default: DIR/dialogues/NAME_SPLIT.json]")] = None,
    limit: Annotated[int | None, option("N", "Dialogues, taken evenly.", min=1)] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on where a run was stopped.")] = False,
    processes: Annotated[int, option("N", "How many hold dialogues at once.", min=1)] = 1,
    seed: UserSeedOption = 0,
    as_json: JsonOption = False,
) -> int:
    """Let a questioner talk with a simulated user.

    One dialogue a picture of the split, each begun with what the data says of it first. They are written as ChatIR
    releases its own; `train chatir` learns from them, `evaluate` replays them. Ctrl-C stops after a conversation.
    Where captions answer, no user is simulated, and a picture has as many dialogues as are needed for all they say.
    """
    from viewfinder import encoders
    from viewfinder.data.files import need_folder
    from viewfinder.evaluation import Plan, generate

    need_folder(data)
    file = out or generate.default_dialogue_file(data, questioner, user, split, name)
    if questioner == generate.CAPTIONS:
        made = generate.write_captioned_dialogues(data, file, split=split, rounds=rounds, limit=limit)
    else:
        plan = Plan(
            system=retriever, data=data, split=split, user=user, options=parse_style(manner or ()),
            questioner=questioner, catalogue=catalogue, vectors=vectors, features=features, limit=limit, seed=seed,
            checkpoint=checkpoint, processes=processes,
        )  # fmt: skip
        order = generate.GenerationOrder(plan=plan, out=file, rounds=rounds, resume=resume)
        make_encoder = partial(encoders.load_encoder, encoder)
        model, notify = make_encoder(), make_notifier(as_json)
        with progress_bar("holding dialogues", shown=not as_json) as progress, Interrupts() as stop:
            made = generate.generate_dialogues(
                order, model, make_encoder=make_encoder, notify=notify, progress=progress, should_stop=stop
            )
    print_json(asdict(made) | {"out": str(made.out)}) if as_json else _say_made_dialogues(made, data, questioner)
    if not made.ended:
        print_note(f"viewfinder: stopped after a dialogue; {made.talks:,} of {made.of:,} are kept, --resume goes on")
        return FAILED
    return 0


def _say_made_dialogues(made: GenerationReport, data: Path, questioner: str) -> None:
    print_line(f"{count_noun(made.talks, 'dialogue')}, {made.questions:.1f} questions each: {made.out}")
    print_line(
        f"repeated questions a dialogue {made.repeated:.2f}, different words {made.unique_tokens:.1f}, "
        f"answered by don't know {made.dont_know:.1%}, asked by another questioner {made.by_another:.1%}"
    )
    for line in made.left_out:
        print_line(f"  left out: {line}")
    if made.ended and made.out.stem.endswith("_train") and made.out.parent == data / "dialogues":
        from viewfinder.evaluation.generate import CAPTIONS

        chosen = ["--set", f"dialogues={made.out.stem.removesuffix('_train')}*"]
        learns = ["chatsearcher", "--preset", "modern"] if questioner == CAPTIONS else ["chatir", *chosen]
        print_line(f"learn from them: {shlex.join(['viewfinder', 'train', *learns, '--data', str(data)])}")
