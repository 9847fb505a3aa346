"""Measures how soon somebody sees something on the page; writes results/page.json.

    python benchmarks/page.py PICTURES          # a folder of at least 5,000 photos

`viewfinder serve` over them in a process of its own, and Chromium. A page "has a picture" when one of its tiles has its
own image, decoded; times are by the page's own clock.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from measuring import measure_parts
from serving import FLAGS, PROGRAM, find_chromium, serve_library

import viewfinder

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext

PICTURES = 5000
VISITS, ROUNDS = 9, 3
BYTES_PER_S, LATENCY_MS = 50_000, 400
"""A slow line: each request waits so long, and all share these bytes."""

REST_MS = 3000
"""How long the page is left alone before something is said: what comes late is there, and people have read."""

SENTENCES = (
    "a dog running on the beach", "two children playing in water", "a man on a bicycle", "a red car on a street",
    "people at a table in a restaurant", "a girl in a pink dress", "a snowboarder in the air", "a woman with a camera",
    "a boy jumping on a bed", "climbers on a rock",
)  # fmt: skip

HAS_PICTURE = """() => new Promise((resolve) => {
  const look = () => {
    const images = [...document.querySelectorAll("vf-grid .tile img")];
    if (images.some((image) => image.complete && image.naturalWidth)) resolve(performance.now());
    else requestAnimationFrame(look);
  };
  look();
})"""

SAY = """async (words) => {
  const box = document.querySelector("vf-say textarea");
  box.focus();
  box.value = words;
  box.dispatchEvent(new Event("input", { bubbles: true }));
  const start = performance.now();
  box.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true, cancelable: true }));
  const until = async (there) => {
    while (!there()) await new Promise(requestAnimationFrame);
    return performance.now() - start;
  };
  const isShown = (image) => image.complete && image.naturalWidth;
  const images = () => [...document.querySelectorAll("vf-grid .tile img")];
  const picture = await until(() => location.pathname.includes("/talk/") && images().some(isShown));
  return { picture, question: await until(() => document.querySelector(".question button")) };
}"""


def measure_cold(files: Sequence[Path]) -> dict[str, Any]:
    """The page opened with nothing kept, over a slow line, as a proxy passes it on: until it has a picture."""

    def visit(browser: Browser, address: str, token: str) -> float:
        context = browser.new_context(
            viewport={"width": 1440, "height": 900},
            base_url=address,
            extra_http_headers={"x-forwarded-for": "192.0.2.7"},
        )
        answer = context.request.post("/api/v1/login", data={"token": token})
        assert answer.ok, answer.text()
        page = context.new_page()
        line = context.new_cdp_session(page)
        line.send("Network.enable")
        limits = {"downloadThroughput": BYTES_PER_S, "uploadThroughput": BYTES_PER_S}
        line.send("Network.emulateNetworkConditions", {"offline": False, "latency": LATENCY_MS, **limits})
        page.goto("/", wait_until="commit")
        spent_ms: float = page.evaluate(HAS_PICTURE)
        context.close()
        return spent_ms

    with browsing(files) as (browser, address, token):
        times = [visit(browser, address, token) for _ in range(VISITS + 1)][1:]  # the first makes the thumbnails
    kilobytes = BYTES_PER_S // 1000
    return {"pictures": PICTURES, "kB_per_s": kilobytes, "latency_ms": LATENCY_MS, **_spread("first_picture", times)}


def measure_enter(files: Sequence[Path]) -> dict[str, Any]:
    """A sentence said at the start: from Enter until there is a picture of what fits, and until the next question."""
    rows: list[dict[str, float]] = []
    with browsing(files) as (browser, address, _):
        context: BrowserContext = browser.new_context(viewport={"width": 1440, "height": 900}, base_url=address)
        page = context.new_page()
        for words in SENTENCES * (ROUNDS + 1):
            page.goto("/")
            page.evaluate(HAS_PICTURE)
            page.wait_for_timeout(REST_MS)
            rows.append(page.evaluate(SAY, words))
    rows = rows[len(SENTENCES) :]  # the first round makes the thumbnails
    spreads = [_spread(name, [row[name] for row in rows]) for name in ("picture", "question")]
    return {"pictures": PICTURES, "sentences": len(rows), **spreads[0], **spreads[1]}


def _spread(name: str, times_ms: Sequence[float]) -> dict[str, float]:
    """Median and the middle eight tenths, in milliseconds."""
    low, high = np.quantile(times_ms, (0.1, 0.9))
    return {
        f"{name}_ms": round(statistics.median(times_ms)),
        f"{name}_p10_ms": round(float(low)),
        f"{name}_p90_ms": round(float(high)),
    }


@contextmanager
def browsing(files: Sequence[Path]) -> Iterator[tuple[Browser, str, str]]:
    """A browser, the address of a server over the pictures, and a token for it."""
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as folder:
        library = viewfinder.open(Path(folder) / "library")
        library.add(*files[:PICTURES])
        made = subprocess.run(
            [PROGRAM, "token", "add", "visitor", "--scope", "read", "--library", str(library.folder), "--json"],
            check=True, capture_output=True, text=True,
        )  # fmt: skip
        with serve_library(library.folder) as server, sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=find_chromium(), args=FLAGS)
            yield browser, f"http://127.0.0.1:{server.port}", json.loads(made.stdout)["token"]
            browser.close()


PARTS: dict[str, Callable[[Sequence[Path]], Any]] = {"cold": measure_cold, "enter": measure_enter}

if __name__ == "__main__":
    os.environ.pop("VIEWFINDER_LIBRARY", None)
    measure_parts("page", __doc__, PARTS)
