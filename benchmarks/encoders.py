"""What does a model of torch cost, and the same as ONNX? Writes results/encoders.json.

    python benchmarks/encoders.py PICTURES [--work FOLDER]

A CLIP of the size of ViT-B/32 with random weights is made, since what weights say changes no time, and exported in full
and in 8 bits (`viewfinder export`). The three ways are measured in turn, so that a busy moment meets all:

- `finding`: `viewfinder find` in a fresh process, of a library that was searched before: seconds of the processor, peak
  memory, and what the very first search takes beyond that, which reads 400 texts for the library's own scale.
- `indexing`: pictures that pass through the encoder in a second, on two threads.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from freshness import RESULTS
from measuring import read_figures, time_in_turn, write_figures

TORCH, FULL, EIGHT = "torch", "ONNX", "ONNX, 8 bits"
THREADS = 2
REPEATS = 5
BATCH = 16
"""Pictures that are given at once, as `add` gives them."""

IN_LIBRARY = 24
"""Pictures of the library that is searched: their number is not what is measured."""


def main() -> None:
    """Make the model, export it, measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pictures", type=Path)
    parser.add_argument("--work", type=Path, help="where the model is kept for another time")
    parser.add_argument("--only", nargs="*", choices=["finding", "indexing"], default=["finding", "indexing"])
    parser.add_argument("--out", type=Path, default=RESULTS / "encoders.json")
    given = parser.parse_args()
    files = sorted(given.pictures.resolve().glob("*.jpg"))
    with tempfile.TemporaryDirectory() as scratch:
        ways = prepare_models(given.work or Path(scratch))
        results = read_figures(given.out)
        for part in given.only:
            measured = measure_finding if part == "finding" else measure_indexing
            results[part] = measured(ways, files, Path(scratch))
            print(part, json.dumps(results[part], indent=1), flush=True)
    results["model"] = describe_model(ways)
    write_figures("encoders", results, given.out, given.only)


def prepare_models(home: Path) -> dict[str, str]:
    """The names of the three encoders; what is there already is taken as it is."""
    from viewfinder.encoders.onnx_models.export import export_checkpoint

    checkpoint, exported = home / "clip-vit-base-patch32-random", home / "exported"
    if not checkpoint.is_dir():
        write_checkpoint(checkpoint)
    if not exported.is_dir():
        export_checkpoint(str(checkpoint), exported, int8=True, notify=print)
    return {TORCH: str(checkpoint), FULL: str(exported), EIGHT: f"{exported}?q8"}


def write_checkpoint(folder: Path) -> None:
    """A CLIP as large as ViT-B/32 with random weights, and a tokenizer as large as its own."""
    import torch
    import transformers
    from transformers.models.clip.image_processing_pil_clip import CLIPImageProcessorPil

    torch.manual_seed(0)
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    letters = [chr(code) for code in printable] + [chr(256 + n) for n in range(256 - len(printable))]
    single = [*letters, *(letter + "</w>" for letter in letters)]
    merges: Any = list(itertools.islice(itertools.product(letters, single), 48_894))
    tokens = [*single, *(left + right for left, right in merges), "<|startoftext|>", "<|endoftext|>"]
    vocabulary = {token: row for row, token in enumerate(tokens)}
    transformers.CLIPTokenizer(vocab=vocabulary, merges=merges, model_max_length=77).save_pretrained(folder)
    end = len(tokens) - 1
    text = {"vocab_size": len(tokens), "bos_token_id": end - 1, "eos_token_id": end, "pad_token_id": end}
    transformers.CLIPModel(transformers.CLIPConfig(text_config=text)).save_pretrained(folder)
    CLIPImageProcessorPil().save_pretrained(folder)


def describe_model(ways: dict[str, str]) -> dict[str, Any]:
    """Megabytes of each way's files, those of texts alone, and numbers of a vector."""
    from viewfinder.encoders import load_encoder

    exported = Path(ways[FULL]) / "onnx"
    sizes = {
        TORCH: [Path(ways[TORCH]) / "model.safetensors"],
        FULL: [exported / "vision_model.onnx", exported / "text_model.onnx"],
        EIGHT: [exported / "vision_model_quantized.onnx", exported / "text_model_quantized.onnx"],
    }
    width = load_encoder(ways[EIGHT]).words(["a dog"]).shape[1]
    return {
        "MB": {way: round(sum(f.stat().st_size for f in files) / 1e6) for way, files in sizes.items()},
        "width": width,
    }


def measure_finding(ways: dict[str, str], files: Sequence[Path], scratch: Path) -> dict[str, Any]:
    """Of each way: the processor's seconds and the peak memory of a search, and the seconds of the very first."""
    found: dict[str, dict[str, list[float]]] = {way: {"cpu_s": [], "peak_MB": []} for way in ways}
    first = {}
    for row, (way, encoder) in enumerate(ways.items()):
        library = scratch / f"library-{row}"
        run_viewfinder("add", *files[:IN_LIBRARY], "--library", library, "--encoder", encoder)
        first[way] = round(run_viewfinder("find", "a dog in the snow", "--library", library)[0], 2)
    for _ in range(REPEATS):
        for row, way in enumerate(ways):
            spent, peak = run_viewfinder("find", "a dog in the snow", "--library", scratch / f"library-{row}")
            found[way]["cpu_s"].append(spent)
            found[way]["peak_MB"].append(peak)
    return {
        way: {
            "cpu_s": round(statistics.median(of["cpu_s"]), 2),
            "peak_MB": round(max(of["peak_MB"])),
            "first_cpu_s": first[way],
        }
        for way, of in found.items()
    }


def run_viewfinder(*arguments: object) -> tuple[float, float]:
    """Seconds of the processor, and peak memory in MB, of a process of its own."""
    code = "from viewfinder.cli import main; main()"
    started = subprocess.Popen([sys.executable, "-c", code, *map(str, arguments)], stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(started.pid, 0)
    started.returncode = os.waitstatus_to_exitcode(status)
    if started.returncode:
        raise RuntimeError(f"viewfinder {arguments[0]} ended with {started.returncode}")
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1000


def measure_indexing(ways: dict[str, str], files: Sequence[Path], scratch: Path) -> dict[str, Any]:
    """Pictures a second of each way on two threads, in turn; the ratio to torch is of the medians."""
    import torch

    from viewfinder.encoders.onnx_models import OnnxEncoder
    from viewfinder.encoders.onnx_models.layouts import find_model_files
    from viewfinder.encoders.transformers import MAX_DECODED_SIDE, load_transformers_encoder
    from viewfinder.pictures import AtMost, decode_one

    torch.set_num_threads(THREADS)
    batch = [decode_one(file, AtMost(MAX_DECODED_SIDE)).pixels for file in files[:BATCH]]
    exported = Path(ways[FULL])
    encoders: dict[str, Any] = {
        TORCH: load_transformers_encoder(ways[TORCH]),
        FULL: OnnxEncoder(find_model_files(exported, "fp32"), threads=THREADS),
        EIGHT: OnnxEncoder(find_model_files(exported, "q8"), threads=THREADS),
    }
    taken = time_in_turn({way: partial(encoder.pictures, batch) for way, encoder in encoders.items()}, REPEATS)
    rates = {way: BATCH / statistics.median(times) * 1000 for way, times in taken.items()}
    return {
        way: {"pictures_per_s": round(rate, 1), "times_torch": round(rate / rates[TORCH], 1)}
        for way, rate in rates.items()
    }


if __name__ == "__main__":
    main()
