"""Tables of any_encoder.py: what is above the ranking, with the starter and with a stand-in for CLIP."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cells import format_spread, format_table, machine_line

VERDICTS = {
    '"nothing" of what is among the first ten': '"nothing", though among the first ten',
    '"found" of what is among the first ten': '"found" of those',
    '"found" of what is not there': '"found", not there',
    '"nothing" of what is not there': '"nothing", not there',
}


def encoder_parts(found: Mapping[str, Any]) -> dict[str, list[str]]:
    """The tables by their names."""
    return {
        "encoder-verdicts": verdicts_table(found["verdicts"]),
        "encoder-answers": answers_table(found["answers"]),
        "encoder-but": but_table(found["but"]),
        "encoder-heatmaps": heatmaps_table(found["heatmaps"]),
        "encoder-lists": lists_table(found["lists"]),
        "encoder-machine": [machine_line(found["machine"])],
    }


def verdicts_table(sizes: Mapping[str, Any]) -> list[str]:
    """One row an encoder and a size."""
    rows = [
        [size, encoder, *(format_spread(figures[name]) for name in VERDICTS), _plain(figures["likely hits a search"])]
        for size, encoders in sizes.items()
        for encoder, figures in encoders.items()
    ]
    return format_table(["pictures", "encoder", *VERDICTS.values(), "likely hits of what is not there"], rows)


def _plain(figures: Mapping[str, float]) -> str:
    return f"{figures['mean']:.2f}"


def _signed(figures: Mapping[str, float]) -> str:
    return f"{figures['mean']:+.2f} ({figures['low']:+.2f} to {figures['high']:+.2f})"


def answers_table(encoders: Mapping[str, Any]) -> list[str]:
    """One row an encoder: what an answer does, and how many questions with choices are asked."""
    rows = [
        [
            encoder,
            _signed(figures["all answers"]),
            f"{figures['all answers']['n']:,}",
            f"{figures['questions with choices']} in {figures['talks']} talks",
            format_spread(figures["R@10 at first"]),
        ]
        for encoder, figures in encoders.items()
    ]
    return format_table(["encoder", "an answer, in log2 of the rank", "answers", "with choices", "R@10 at first"], rows)


def but_table(encoders: Mapping[str, Any]) -> list[str]:
    """One row an encoder: R@10 after each way of saying it."""
    ways = list(next(iter(encoders.values())))
    rows = [[encoder, *(format_spread(figures[way]) for way in ways)] for encoder, figures in encoders.items()]
    return format_table(["R@10", *ways], rows)


def heatmaps_table(encoders: Mapping[str, Any]) -> list[str]:
    """One row an encoder: the brightest region over the mean."""
    kinds = list(next(iter(encoders.values())))
    rows = [[encoder, *(_plain(figures[kind]) for kind in kinds)] for encoder, figures in encoders.items()]
    return format_table(["the brightest region over the mean", *kinds], rows)


def lists_table(found: Mapping[str, Any]) -> list[str]:
    """One row a kind of queries on which the number of lists is chosen."""
    rows = [
        [
            name,
            f"{figures['looked into']} of {figures['lists']}",
            f"{100 * figures['recall on the card']:.1f}",
            format_spread(figures["recall of captions"]),
        ]
        for name, figures in found.items()
        if isinstance(figures, Mapping)
    ]
    return format_table(["chosen on", "lists looked into", "recall on the card", "recall of captions"], rows)
