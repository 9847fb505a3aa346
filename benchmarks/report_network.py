"""docs/systems/one.md: what networks over turns find, from network.json; how that of products was chosen, from
network_products.json; what it keeps to among products of all kinds, from mixed_products.json; and what one that is
trained for another encoder brings, from own_network.json."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cells import format_p, format_table, format_tenths, machine_line

TESTS = {"test, captions": "five captions", "test, mixed": "mixed people"}


def network_parts(found: dict[str, Any]) -> dict[str, list[str]]:
    """The tests turn by turn, and all networks on validation."""
    photographs = found["photographs"]
    return {
        "network": tests_table(photographs),
        "network-validation": validation_table(photographs, found["trainings"]),
        "network-columns": columns_table(found["columns"]),
        "network-machine": [machine_line(found["machine"])],
    }


def products_parts(found: dict[str, Any]) -> dict[str, list[str]]:
    """All forms of the network for products, and the weights of the one that is shipped, on validation."""
    return {
        "network-forms": forms_table(found["forms"]),
        "network-forms-mixed": nats_table(found["forms, nats among all kinds"]),
        "network-weights": weights_table(found["validation"], found["mixed"], found["mean"]),
        "network-products-machine": [machine_line(found["machine"])],
    }


def own_network_parts(found: Mapping[str, Any]) -> dict[str, list[str]]:
    """What a network trained for another encoder brings, column by column."""
    lines = []
    for name, one in found["columns"].items():
        gained = one["one over composer"]
        text = f"{format_tenths(one['one']['mean'])} ({interval_cell(gained)})"
        composer = format_tenths(one["composer"]["mean"])
        lines.append([name, f"{one['dialogues']:,}", composer, f"**{text}**" if gained["low"] > 0 else text])
    return {
        "own-network": format_table(["column", "dialogues", "composer", "one, with its network"], lines),
        "own-network-machine": [machine_line(found["machine"])],
    }


def forms_table(forms: Mapping[str, Any]) -> list[str]:
    """A line for each form: its size, how unlikely the wanted picture is, and what it finds beside `one`."""
    columns = list(dict.fromkeys(name for one in forms.values() for name in one if name != "numbers"))
    found = [name for name in columns if any("with one" in one.get(name, {}) for one in forms.values())]
    lines = [
        [
            form.removeprefix("products: "),
            f"{one['numbers'] / 1e6:.2f} M",
            *(f"{one[name]['nats']:.2f}" if name in one else "" for name in columns),
            *(format_tenths(one[name]["with one"]) if name in one else "" for name in found),
        ]
        for form, one in forms.items()
    ]
    head = ["form", "numbers", *(f"{name}, nats" for name in columns), *(f"{name}, R@10" for name in found)]
    return format_table(head, lines)


def nats_table(forms: Mapping[str, Mapping[str, float]]) -> list[str]:
    """A line for each form: how unlikely the wanted picture is among products of all kinds."""
    columns = list(next(iter(forms.values())))
    lines = [
        [form.removeprefix("products: "), *(f"{one[name]:.2f}" for name in columns)] for form, one in forms.items()
    ]
    return format_table(["nats", *columns], lines)


def weights_table(
    found: Mapping[str, Mapping[str, float]],
    mixed: Mapping[str, Mapping[str, Mapping[str, float]]],
    mean: Mapping[str, float],
) -> list[str]:
    """A line for each column of validation, for each figure of those among all kinds, and the mean."""
    shares = {
        f"{name}, {metric}": {nats: some[metric] for nats, some in by_weight.items()}
        for name, by_weight in mixed.items()
        for metric in next(iter(by_weight.values()))
    }
    lines = [[name, *map(format_tenths, some.values())] for name, some in {**found, **shares, "mean": mean}.items()]
    return format_table(["nats a deviation", *mean], lines)


def mixed_parts(found: Mapping[str, Any], networks: Mapping[str, Any]) -> dict[str, list[str]]:
    """What is found and kept to among products of all kinds; and what that was by each of two networks."""
    return {
        **{f"mixed-{part}": mixed_table(columns, MIXED_WAYS) for part, columns in found["parts"].items()},
        "mixed-machine": [machine_line(found["machine"])],
        "mixed-networks": mixed_table(networks["parts"]["test"], NETWORKS),
        "mixed-networks-machine": [machine_line(networks["machine"])],
    }


def ruled_out_table(found: Mapping[str, Any]) -> list[str]:
    """How many of the first ten have what words rule out, by every way, for each way to say it."""
    lines = []
    for part, one in found["parts"].items():
        for form, ways in one["forms"].items():
            composer, others, ours = (ways[way] for way in ("composer", "all hear it", "one"))
            lines.append([
                f"{PARTS_SAID[part]}: {FORMS_SAID.get(form, form)}", f"{composer['has it']['mean']:.1f}",
                f"{others['has it']['mean']:.1f}",
                f"{ours['has it']['mean']:.1f} ({interval_of(ours['has it, to the composer'])})",
                f"{ours['of the kind']['mean']:.1f}",
            ])  # fmt: skip
    head = ["of the first ten", "composer", "one, if all heard it", "one", "one: that are the thing"]
    return [*format_table(head, lines), "", machine_line(found["machine"])]


PARTS_SAID = {"val": "validation", "test": "test"}

FORMS_SAID = {
    "described": 'before: "a shirt"', "said at once": '"a shirt, without stripes"',
    "said next": 'then: "without stripes"', "rejected in words": "then: stripes rejected",
    "picked": 'then: the first with stripes, "but without stripes"',
}  # fmt: skip
"""How what is ruled out was said (ruled_out.json)."""


def interval_of(figure: Mapping[str, float]) -> str:
    """A 95 % interval of a number of pictures."""
    return f"{figure['low']:+.1f} to {figure['high']:+.1f}"


MIXED_WAYS = {
    "composer": "composer", "one, gates alone": "one, without the turn network",
    "one, of shipped systems": "one, of shipped systems", "one": "one",
}  # fmt: skip
"""Ways of mixed_products.json, and what they are called; the last is compared with the one before it."""

NETWORKS = {"one, learnt from one kind": "the network of before", "one": "this one"}
"""Those of mixed_networks.json."""


def mixed_table(columns: Mapping[str, Any], ways: Mapping[str, str]) -> list[str]:
    """A line for each figure of a column: all ways, and the interval of what the last gains over the one before it."""
    lines, against = [], list(ways)[-2]
    for name, one in columns.items():
        for metric, gained in one[f"one over {against}"].items():
            *others, now = (format_tenths(one["ways"][way][metric]["mean"]) for way in ways)
            text = f"{now} ({interval_cell(gained)})"
            lines.append([f"{name}, {metric}", *others, f"**{text}**" if gained["low"] > 0 else text])
    return format_table(["among products of all kinds", *ways.values()], lines)


def tests_table(found: Mapping[str, Any]) -> list[str]:
    """The composer and the network after every turn."""
    lines, turns = [], 0
    for name, title in TESTS.items():
        for way, row in found[name]["rows"].items():
            turns = max(turns, len(row))
            lines.append([f"{title}: {way}", *(turn_cell(one) for one in row)])
    width = 1 + turns
    lines = [line + [""] * (width - len(line)) for line in lines]
    return format_table(["", *(f"R@10, turn {turn + 1}" for turn in range(turns))], lines)


def turn_cell(one: Mapping[str, Any]) -> str:
    """What is found, and the interval of the difference to the composer; bold where all of it is above 0."""
    text = format_tenths(one["R@10"]["mean"])
    if "difference" not in one:
        return text
    text = f"{text} ({interval_cell(one['difference'])})"
    return f"**{text}**" if one["difference"]["low"] > 0 else text


def validation_table(found: Mapping[str, Any], trainings: Mapping[str, Any]) -> list[str]:
    """Every network on validation: its size, the nats that it saves, and R@10 after some turns."""
    lines = []
    for way in found["val, captions"]["rows"]:
        cells = [turn_cell(found[f"val, {people}"]["rows"][way][turn - 1]) for people, turn in VALIDATED]
        lines.append([way, *(training_cells(trainings[way]) if way in trainings else [""] * 4), *cells])
    asked = [f"{people}, turn {turn}" for people, turn in VALIDATED]
    head = ["network", "seeds", "numbers", "nats saved, captions", "nats saved, mixed"]
    return format_table([*head, *asked], lines)


VALIDATED = (("captions", 1), ("captions", 5), ("mixed", 1), ("mixed", 6))
"""People and turns of the table."""


def training_cells(about: Mapping[str, Any]) -> list[str]:
    """Its seeds, its size, and by how much the wanted picture is likelier than by the composer."""
    saved = [about["nats of the composer"][people] - about["nats"][people] for people in ("captions", "mixed")]
    return [str(len(about["seeds"])), f"{about['numbers'] / 1e6:.1f} M", *(f"{nats:.3f}" for nats in saved)]


def columns_table(columns: Mapping[str, Any]) -> list[str]:
    """Other columns: the network alone, and `one` with it as one more opinion, both with the difference to the best."""
    lines = [
        [
            name,
            format_tenths(one["composer"]["mean"]),
            f"{one['best']} {format_tenths(one['best found']['mean'])}",
            turn_cell({"R@10": one["network"], "difference": one["network over best"]}),
            format_tenths(one["one"]["mean"]),
            turn_cell({"R@10": one["with one"], "difference": one["with one over best"]}),
            format_p(one["with one over best, Holm"]),
            interval_cell(one["with one over one"]),
            format_tenths(one["the composer in its place"]["found"]["mean"]),
        ]
        for name, one in columns.items()
    ]
    head = ["column", "composer", "best system", "network alone", "one", "one and network", "p, Holm", "over one"]
    return format_table([*head, "one and the composer again"], lines)


def interval_cell(found: Mapping[str, float]) -> str:
    """The interval of a difference, in points."""
    return f"{100 * found['low']:+.1f} to {100 * found['high']:+.1f}"
