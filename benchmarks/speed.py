"""How fast is it, and does it stay flat? Prints the figures of docs/benchmarks.md; writes results/speed.json.

    python benchmarks/speed.py PICTURES            # a folder of at least 2,000 pictures

Times are ratios taken side by side in one run, because machines differ and drift; milliseconds are given as well.
"""

from __future__ import annotations

import hashlib
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from io import BytesIO
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import psutil
from machine import describe_host
from measuring import measure_parts, time_call
from PIL import Image

import viewfinder
from viewfinder.encoders.starter import StarterEncoder
from viewfinder.encoders.starter.encoder import SIDE
from viewfinder.library import Library
from viewfinder.pictures import Limits
from viewfinder.pictures.decode import decode
from viewfinder.search.kernels import dot_scores, top_k
from viewfinder.session.candidates import MAX_CANDIDATES
from viewfinder.store.rows import FileRecord, PictureRow

SIZE = 50_000
LARGE = 60
"""How many pictures of 12 megapixels are made; four copies of each are added."""
NOISE = 6.0
"""The deviation of their noise, of 255: files of some 3 MB, as those of phones."""
WORDS = (
    "a dog", "two children", "an old man", "a red bicycle", "people dancing", "a girl with a hat", "a boat",
    "a horse", "a busy street", "a skier",
)  # fmt: skip
WHERE = ("on the beach", "in the snow", "at night", "near a house", "in a park", "under a tree", "on a hill", "indoors")


# -- indexing


def measure_indexing(files: Sequence[Path]) -> dict[str, Any]:
    """Pictures a second of `add` over those of a bare loop that decodes and encodes, two processes each; in turn."""
    return _rates(files[:2000])


def measure_large_pictures(files: Sequence[Path]) -> dict[str, Any]:
    """As `indexing`, of pictures of 12 megapixels, as cameras make them; and by processor time, one process.

    They are enlarged, with noise, so that decoding takes as long as that of files of some megabytes.
    """
    with tempfile.TemporaryDirectory() as folder:
        large = [enlarge(file, Path(folder) / file.name, seed) for seed, file in enumerate(files[:LARGE])]
        megabytes = statistics.median(file.stat().st_size for file in large) / 1e6
        copies = _distinct_copies(large, Path(folder) / "copies", 4 * LARGE)
        return _rates(copies, _loop_at_an_eighth) | _compare_spent(copies[:120]) | {"megabytes": round(megabytes, 1)}


def _compare_spent(files: Sequence[Path]) -> dict[str, Any]:
    """Processor time of a picture in `add` and all its processes over the bare loop's; also holds on a busy machine.

    What every `add` takes, whatever it adds, is told apart: it starts its processes.
    """
    few, many = files[16:24], files[24:]
    pairs, starts = [], []
    for _ in range(5):
        _loop_at_an_eighth(files[:8])
        started = time.process_time()
        _loop_at_an_eighth(files)
        bare = time.process_time() - started
        with tempfile.TemporaryDirectory() as folder:
            library = viewfinder.open(Path(folder) / "library")
            library.add(*files[:16])  # what is loaded once
            least, most = _spend(library, few), _spend(library, many)
        each = (most - least) / (len(many) - len(few))
        pairs.append((each, bare / len(files)))
        starts.append(least - len(few) * each)
    ours, bare = (statistics.median(each) for each in zip(*pairs, strict=True))
    return {
        "processor_ratio": round(statistics.median(ours / bare for ours, bare in pairs), 3),
        "processor_ratios": [round(ours / bare, 3) for ours, bare in pairs],
        "add_ms": round(1e3 * ours, 1),
        "bare_ms": round(1e3 * bare, 1),
        "start_ms": round(1e3 * statistics.median(starts)),
        "per_second_of_a_core": round(1 / ours, 1),
    }


def _spend(library: Library, files: Sequence[Path]) -> float:
    """Processor seconds of adding pictures that are new to a library."""
    started = _spent()
    assert library.add(*files).added == len(files)
    return _spent() - started


def _spent() -> float:
    """Processor seconds of this process and of all that it has waited for."""
    used = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in used)


def _loop_at_an_eighth(files: Sequence[Path]) -> int:
    """What anybody would write who knows libjpeg: hash, decode at an eighth, resize, encode."""
    encoder = _load_encoder()
    for start in range(0, len(files), 8):
        batch = []
        for file in files[start : start + 8]:
            content = file.read_bytes()
            hashlib.blake2b(content, digest_size=16).digest()
            with Image.open(BytesIO(content)) as image:
                image.draft("RGB", (image.width // 8, image.height // 8))
                batch.append(np.asarray(image.resize((SIDE, SIDE), Image.Resampling.BICUBIC)))
        encoder.pictures(batch)
    return len(files)


def enlarge(file: Path, out: Path, seed: int) -> Path:
    """A picture at 4,000 x 3,000 with noise, as a JPEG."""
    with Image.open(file) as picture:
        pixels = np.asarray(picture.convert("RGB").resize((4000, 3000), Image.Resampling.BICUBIC), np.int16)
    noise = np.random.default_rng(seed).normal(scale=NOISE, size=pixels.shape[:2]).astype(np.int16)
    noisy = (pixels + noise[..., None]).clip(0, 255).astype(np.uint8)
    Image.fromarray(noisy).save(out, quality=90)
    return out


def _rates(chosen: Sequence[Path], loop: Callable[[Sequence[Path]], int] | None = None) -> dict[str, Any]:
    ratios, ours, bare = [], [], []
    for _ in range(3):
        bare.append(_bare_rate(chosen, loop or _bare_loop))
        ours.append(_add_rate(chosen))
        ratios.append(ours[-1] / bare[-1])
        print(f"add {ours[-1]:.0f}/s, bare loop {bare[-1]:.0f}/s", flush=True)
    return {
        "pictures": len(chosen),
        "ratio": round(statistics.median(ratios), 3),
        "ratios": [round(ratio, 3) for ratio in ratios],
        "add_per_second": round(statistics.median(ours), 1),
        "bare_per_second": round(statistics.median(bare), 1),
    }


def _bare_rate(files: Sequence[Path], loop: Callable[[Sequence[Path]], int]) -> float:
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        list(pool.map(loop, [files[:16], files[16:32]]))  # starts the processes and loads the network
        started = time.perf_counter()
        list(pool.map(loop, [files[0::2], files[1::2]]))
        return len(files) / (time.perf_counter() - started)


_ENCODERS: list[StarterEncoder] = []


def _load_encoder() -> StarterEncoder:
    if not _ENCODERS:
        _ENCODERS.append(StarterEncoder(threads=1))
    return _ENCODERS[0]


def _bare_loop(files: Sequence[Path]) -> int:
    encoder = _load_encoder()
    for start in range(0, len(files), 8):
        data = [file.read_bytes() for file in files[start : start + 8]]
        encoder.pictures([decode(content, limits=Limits(), fit=encoder.fit).pixels for content in data])
    return len(files)


def measure_batches(files: Sequence[Path]) -> dict[str, Any]:
    """Pictures a second of the encoder on one core, by how many it sees at once; the sizes take turns."""
    encoder = StarterEncoder(threads=1)
    network = encoder.network
    pixels = np.stack([decode(file.read_bytes(), limits=Limits(), fit=encoder.fit).pixels for file in files[:64]])
    spent: dict[int, list[float]] = {size: [] for size in (1, 2, 4, 8, 16, 32, 64)}
    for _ in range(6):
        for size, times in spent.items():
            started = time.process_time()
            for at in range(0, len(pixels), size):
                network.run(["raw"], {"pixels": pixels[at : at + size]})
            times.append(time.process_time() - started)
    return {
        "pictures": len(pixels),
        "machine": describe_host(),
        "per_second": {
            str(size): round(len(pixels) / statistics.median(times[1:]), 1) for size, times in spent.items()
        },
    }


def _add_rate(files: Sequence[Path]) -> float:
    with tempfile.TemporaryDirectory() as folder:
        library = viewfinder.open(Path(folder) / "library")
        library.add(*files[:16])  # what is loaded once
        took, few, many = [], files[16:32], files[32:]
        for some in (few, many):  # each starts processes, which the bare loop has already
            started = time.perf_counter()
            assert library.add(*some).added == len(some)
            took.append(time.perf_counter() - started)
        return (len(many) - len(few)) / (took[1] - took[0])


def measure_memory(files: Sequence[Path]) -> dict[str, Any]:
    """Peak memory of indexing 2,500 and 10,000 pictures (this process and its workers), less that of 100."""
    with tempfile.TemporaryDirectory() as folder:
        distinct = _distinct_copies(files, Path(folder) / "pictures", 10_000)
        peaks = {count: _peak_of_add(distinct[:count]) for count in (100, 2_500, 10_000)}
    mebibytes = {count: round((peak - peaks[100]) / 2**20) for count, peak in peaks.items() if count > 100}
    return {"peak_after_100_MiB": round(peaks[100] / 2**20), "beyond_MiB": mebibytes}


def _distinct_copies(files: Sequence[Path], folder: Path, count: int) -> list[Path]:
    """Copies that differ by a table which nothing uses: other pictures to the hashes, the same one to the decoder."""
    folder.mkdir()
    copies = []
    for number in range(count):
        copy = folder / f"{number:06}.jpg"
        content = files[number % len(files)].read_bytes()
        table = bytes([0xFF, 0xDB, 0, 67, 3, *[1] * 60, *(1 + int(digit) for digit in f"{number:04}")])
        copy.write_bytes(content[:2] + table + content[2:])  # quantisation table 3, behind the start of the picture
        copies.append(copy)
    return copies


def _peak_of_add(files: Sequence[Path]) -> int:
    """Peak of proportional memory over a fresh process and its workers, sampled ten times a second."""
    with tempfile.TemporaryDirectory() as folder:
        listed = Path(folder) / "files.txt"
        listed.write_text("\n".join(map(str, files)))
        code = (
            "import sys, pathlib, viewfinder\n"
            "files = pathlib.Path(sys.argv[1]).read_text().splitlines()\n"
            "viewfinder.open(sys.argv[2]).add(*files)\n"
        )
        process = subprocess.Popen([sys.executable, "-c", code, str(listed), str(Path(folder) / "library")])
        peak = 0
        while process.poll() is None:
            peak = max(peak, _memory_of(process.pid))
            time.sleep(0.1)
        assert process.returncode == 0
        return peak


def _memory_of(pid: int) -> int:
    total = 0
    try:
        for process in (parent := psutil.Process(pid), *parent.children(recursive=True)):
            total += process.memory_full_info().pss
    except psutil.Error:
        pass  # it has ended since; the sample before counts
    return total


# -- searching


def measure_finding(files: Sequence[Path]) -> dict[str, Any]:
    """A warm `say` at 50,000 pictures over encoding the words plus one exact scan, on the same words in turn."""
    del files
    with library_of_vectors(SIZE) as library:
        gallery = library.gallery()
        words, scans, says = [], [], []
        for at, text in enumerate(phrases(120)):
            other = f"{text} please"  # the encoder remembers texts, so each is asked once
            vector_1d, spent = time_call(gallery.encoder.words, [other])
            words.append(spent)
            scores_n, scanned = time_call(dot_scores, gallery.snapshot.matrix_nd, vector_1d[0])
            _, sorted_ = time_call(top_k, scores_n, 10)
            scans.append(scanned + sorted_)
            chat = library.chat(questioner=None)
            _, spent = time_call(chat.say, text)
            says.append(spent)
            if at < 20:  # warming up
                words.clear()
                scans.clear()
                says.clear()
        whole = statistics.median(says)
        return {
            "pictures": SIZE,
            "ratio": round(whole / (statistics.median(words) + statistics.median(scans)), 3),
            "find_ms": round(whole, 2),
            "words_ms": round(statistics.median(words), 2),
            "scan_ms": round(statistics.median(scans), 2),
        }


def measure_asking(files: Sequence[Path]) -> dict[str, Any]:
    """The time that an information-gain question adds to a turn at 50,000 pictures with catalogue columns."""
    del files
    with library_of_vectors(SIZE) as library:
        silent: list[float] = []
        asked: list[float] = []
        for text in phrases(60):
            for questioner, times in ((None, silent), ("information_gain", asked)):
                chat = library.chat(questioner=questioner)
                _, spent = time_call(chat.say, f"{text} {questioner}")  # the same text again would cost no step
                times.append(spent)
        added = [question - turn for question, turn in zip(asked[10:], silent[10:], strict=True)]
        return {"pictures": SIZE, "candidates": MAX_CANDIDATES, "question_ms": round(statistics.median(added), 2)}


def measure_long_talks(files: Sequence[Path]) -> dict[str, Any]:
    """Cost of turn 20 over cost of turn 2 in one talk, median over 30 talks with questions."""
    del files
    with library_of_vectors(SIZE) as library:
        second, twentieth = [], []
        texts = phrases(80)
        for talk in range(31):
            chat = library.chat()
            spent = [time_call(chat.say, f"{texts[at]} {talk}")[1] for at in range(20)]
            if talk:
                second.append(statistics.median(spent[1:3]))
                twentieth.append(statistics.median(spent[18:20]))
        ratio = statistics.median(twentieth) / statistics.median(second)
        return {"ratio": round(ratio, 3), "turn_2_ms": round(statistics.median(second), 2)}


def measure_cold_start(files: Sequence[Path]) -> dict[str, Any]:
    """Whole-process seconds of `--help` and of `find` on 2,000 pictures, files cached; median of 7.

    `first_run_s`: of `find` where no module was compiled before, as after an install; median of 3.
    """
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "library"
        viewfinder.open(library).add(*files[:2000])
        program = str(Path(sys.executable).with_name("viewfinder"))
        commands = {"help": [program, "--help"], "find": [program, "find", "a red shirt", "--library", str(library)]}
        times = {name: [_seconds(command) for _ in range(8)][1:] for name, command in commands.items()}
        found = {f"{name}_s": round(statistics.median(seconds), 3) for name, seconds in times.items()}
        first = [_seconds(commands["find"], PYTHONPYCACHEPREFIX=f"{folder}/{run}") for run in range(3)]
        return found | {"first_run_s": round(statistics.median(first), 3)}


def _seconds(command: Sequence[str], **environment: str) -> float:
    started = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True, env=os.environ | environment)
    return time.perf_counter() - started


def phrases(count: int) -> list[str]:
    """Different short descriptions."""
    return [f"{WORDS[at % len(WORDS)]} {WHERE[at // len(WORDS) % len(WHERE)]} {at}" for at in range(count)]


@contextmanager
def library_of_vectors(count: int) -> Iterator[Library]:
    """A library of made-up pictures: random unit vectors and four catalogue columns; no files behind them."""
    folder = Path(tempfile.mkdtemp())
    rng = np.random.default_rng(0)
    library = viewfinder.open(folder / "library")
    encoder = library.encoder
    columns = {"colour": 12, "kind": 30, "season": 4, "gender": 3}
    values = {name: rng.integers(size, size=count) for name, size in columns.items()}
    for start in range(0, count, 10_000):
        rows = [
            PictureRow(
                f"{at:032x}", (FileRecord(f"/nowhere/{at}.jpg", 1, 1),), 224, 224, "JPEG", 1,
                attributes={name: (f"{name} {known[at]}",) for name, known in values.items()},
            )
            for at in range(start, min(start + 10_000, count))
        ]  # fmt: skip
        vectors_nd = rng.normal(size=(len(rows), encoder.words(["a"]).shape[1])).astype(np.float32)
        vectors_nd /= np.linalg.norm(vectors_nd, axis=1, keepdims=True)
        library.store.add(rows, {encoder.version: vectors_nd})
    library.switch(encoder.version, None)
    try:
        yield library
    finally:
        shutil.rmtree(folder)


PARTS: dict[str, Callable[[Sequence[Path]], dict[str, Any]]] = {
    "indexing": measure_indexing,
    "large_pictures": measure_large_pictures,
    "batches": measure_batches,
    "memory": measure_memory,
    "finding": measure_finding,
    "asking": measure_asking,
    "long_talks": measure_long_talks,
    "cold_start": measure_cold_start,
}

if __name__ == "__main__":
    measure_parts("speed", __doc__, PARTS)
