"""Does it help if a machine describes the pictures, and what does it cost if the machine is wrong?

    python benchmarks/describing.py DATA --work FOLDER     # writes benchmarks/results/describing.json; half an hour

A photograph's first caption is what "the model" answers, over HTTP, to `Library.describe_by`; then its other captions
are searched for in the live library. A person's caption is what the best model could write at most: an upper bound. The
harm is measured with captions of other photographs (`wrong`: all of them, `half`: every second one). With the extra
`ocr` also how often text is read in photographs, and the processor time this takes. `--part choose` is for choosing.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import json
import random
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from freshness import RESULTS
from machine import describe_host
from measuring import read_figures, write_json
from quality import estimate_interval

import viewfinder
from viewfinder.data.splits import read_photographs
from viewfinder.language.describer import Describer
from viewfinder.library import Library
from viewfinder.pictures import AtMost, decode_one
from viewfinder.pictures.text_reader import READ_SIDE, TextReader, is_ocr_installed
from viewfinder.store.describing import SENT_SIDE, ModelTeller, pack_jpeg

SEED = 44
SAID = 600
"""Captions that are searched for."""

FIRST = 10
READ = 100
"""Photographs in which text is read."""


def main() -> None:
    """Measures all, and writes the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--work", type=Path, required=True, help="a folder for the library, which is kept")
    parser.add_argument("--part", choices=("choose", "report"), default="report")
    parser.add_argument("--out", type=Path, default=RESULTS / "describing.json")
    given = parser.parse_args()
    captions = read_captions(given.data, given.part)
    library = viewfinder.open(given.work / f"describing-{given.part}.vf")
    library.add(*captions, workers=1)
    results = read_figures(given.out) | {"part": given.part, "seed": SEED}
    results["captions"] = measure_captions(library, captions) | {"machine": describe_host()}
    write_json(given.out, results)
    if is_ocr_installed():
        results["text"] = measure_text(list(captions)) | {"machine": describe_host()}
        write_json(given.out, results)
    print(json.dumps(results, indent=1))


def read_captions(data: Path, part: Any) -> dict[Path, tuple[str, ...]]:
    """The photographs with two captions or more, by their files."""
    sets = read_photographs(data, part).values()
    return {one.path: one.captions for photographs in sets for one in photographs if len(one.captions) > 1}


def measure_captions(library: Library, captions: Mapping[Path, Sequence[str]]) -> dict[str, Any]:
    """The share of other captions that find their photograph, before and after these kinds of describing."""
    draw = random.Random(SEED)
    files = {row.id: row.path for row in library}
    asked = [(picture, draw.choice(captions[path][1:])) for picture, path in files.items()]
    asked = draw.sample(asked, min(SAID, len(asked)))
    first = {picture: captions[path][0] for picture, path in files.items()}
    ids = list(first)
    draw.shuffle(ids)
    wrong = {picture: first[other] for picture, other in zip(ids, ids[1:] + ids[:1], strict=True)}
    half = {picture: (first if place % 2 else wrong)[picture] for place, picture in enumerate(ids)}
    keys = {picture: key_of(pack_jpeg(decode_one(path, AtMost(SENT_SIDE)).pixels)) for picture, path in files.items()}
    forget(library)
    found = {"before": find_each(library, asked)}
    seconds = {}
    for kind, said in (("true", first), ("half", half), ("wrong", wrong)):
        with serve_captions({keys[picture]: caption for picture, caption in said.items()}) as url:
            report = library.describe_by(ModelTeller(Describer(url, "people's captions")), redo=True)
        assert report.described == len(files), report
        seconds[kind] = report.seconds
        found[kind] = find_each(library, asked)
    forget(library)
    figures: dict[str, Any] = {"pictures": len(files), "said": len(asked)}
    for kind, ranks in found.items():
        hits = [float(rank < FIRST) for rank in ranks]
        figures[kind] = {"R@10": estimate_interval(hits), "R@1": estimate_interval([float(rank < 1) for rank in ranks])}
        if kind != "before":
            before = [float(rank < FIRST) for rank in found["before"]]
            figures[kind]["more"] = estimate_interval([now - then for now, then in zip(hits, before, strict=True)])
    return figures | {"seconds_a_picture": round(seconds["true"] / len(files), 4)}


def find_each(library: Library, asked: Sequence[tuple[str, str]]) -> list[int]:
    """The place of each picture among the first ten for what was said of it; ten if it is not there."""
    places = []
    for picture, said in asked:
        ids = [hit.id for hit in library.find(said, FIRST)]
        places.append(ids.index(picture) if picture in ids else FIRST)
    return places


def forget(library: Library) -> None:
    """Takes all words of machines back."""
    from dataclasses import replace

    with library.store.writing():
        library.store.replace([replace(row, machine=()) for row in library.store.rows() if row.machine])


def key_of(jpeg: bytes) -> str:
    """What a picture is known by."""
    return hashlib.blake2b(jpeg, digest_size=12).hexdigest()


@contextmanager
def serve_captions(said: Mapping[str, str]) -> Iterator[str]:
    """A server that answers with these captions, by the pictures."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            url = asked["messages"][0]["content"][1]["image_url"]["url"]
            caption = said[key_of(base64.b64decode(url.partition(",")[2]))]
            content = json.dumps({"caption": caption, "objects": [], "text": []})
            body = json.dumps({"choices": [{"message": {"content": content}, "finish_reason": "stop"}]}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    finally:
        server.shutdown()
        server.server_close()


def measure_text(files: Sequence[Path]) -> dict[str, Any]:
    """In how many photographs text is read, and the processor time of the reading process for each."""
    import psutil

    some = random.Random(SEED).sample(list(files), min(READ, len(files)))
    found, lines = 0, 0
    with TextReader() as reader:
        reader.read(decode_one(some[0], AtMost(READ_SIDE)).pixels)
        assert reader.process is not None
        process = psutil.Process(reader.process.pid)
        before = sum(process.cpu_times()[:2])
        for path in some:
            read = reader.read(decode_one(path, AtMost(READ_SIDE)).pixels)
            found, lines = found + bool(read), lines + len(read)
        spent, memory = sum(process.cpu_times()[:2]) - before, process.memory_info().rss
    return {
        "pictures": len(some),
        "with_text": found,
        "lines": lines,
        "cpu_ms": round(1000 * spent / len(some)),
        "memory_mb": round(memory / 1e6),
    }


if __name__ == "__main__":
    main()
