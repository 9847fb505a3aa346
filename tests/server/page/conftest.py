"""A library of real photos, `viewfinder serve` over it in a process of its own, and Chromium.

Every page of these tests is watched: an error in its console, a request to another origin, or a breach of its content
security policy fails the test, whatever it was about.

Screenshots are kept in runs/page of the repository, or in the folder that VIEWFINDER_ARTEFACTS names.
"""

from __future__ import annotations

import contextlib
import csv
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode, urlsplit

import pytest

from tests.chromium import CHROMIUM
from viewfinder.encoders.starter.encoder import RAW_VERSION, RAW_WIDTH

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, FloatRect, Locator, Page, Request, Route

    from tests.server.conftest import Model

REPOSITORY = Path(__file__).resolve().parents[3]
FLICKR = REPOSITORY.parent / "shared" / "data" / "flickr8k"
HERE = Path(__file__).parent
RARE_LOOKS = ("dark", "phone-dark", "wide")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
PROGRAM = (sys.executable, "-c", "from viewfinder.cli import main; main()")
WITH_MORE = """
import runpy, sys
from pathlib import Path
import viewfinder.retrievers
from viewfinder.retrievers.fashioniq.retriever import load
weights, looks_back, talker = (Path(sys.argv.pop(1)) for _ in range(3))
looks_back, talker = runpy.run_path(looks_back)["LooksBack"], runpy.run_path(talker)["Talker"]
viewfinder.retrievers.RETRIEVERS["fashioniq"] = lambda checkpoint: load(weights)
viewfinder.retrievers.RETRIEVERS["looks-back"] = lambda checkpoint: looks_back()
viewfinder.retrievers.RETRIEVERS["talker"] = lambda checkpoint: talker()
from viewfinder.cli import main
main()
"""
"""The program with more retrievers, of the three files that it is given first: one reads attributes, one tells what
turns do with earlier ones, one answers in words."""
PHOTOS = 120
CROWD = 1_500
"""Pictures that take a fast machine ten times as long to index as a page takes to be photographed."""
WAIT_MS = 60_000
"""How long something may take to appear: machines that run tests are slow at times."""
NO_WORKER = "Service Worker registration blocked by Playwright"
WATCH = """
window.breaches = []; window.shifts = []; window.heard = [];
addEventListener("DOMContentLoaded", () => {
  const live = document.getElementById("live");
  const hear = new MutationObserver(() => live.textContent && heard.push(live.textContent));
  if (live) hear.observe(live, { childList: true });
});
addEventListener("securitypolicyviolation", (event) => breaches.push(`${event.violatedDirective} ${event.blockedURI}`));
const told = ({ value, sources }) => ({ value, sources: sources.map(({ node }) => node?.outerHTML?.slice(0, 120)) });
new PerformanceObserver((list) => {
  shifts.push(...list.getEntries().filter((each) => !each.hadRecentInput).map(told));
}).observe({ type: "layout-shift", buffered: true });
"""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Everything here is slow, and needs a browser; of the looks of a page, some are seen in the long run only."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.slow)
            look = vars(item)["callspec"].params.get("look") if "callspec" in vars(item) else None
            if look in RARE_LOOKS or (look == "phone" and item.path.name != "test_page_looks.py"):
                item.add_marker(pytest.mark.long)
            item.add_marker(pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed"))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Says what was looked at."""
    if CHROMIUM and not FLICKR.is_dir():
        terminalreporter.write_line(f"page tests: {FLICKR} is not there, so they used drawn pictures, not photos")


@dataclass(frozen=True)
class Photos:
    """A folder of pictures, and words that are about some of them."""

    folder: Path
    captions: Path | None
    catalogue: Path | None
    first: str
    word: str
    but: str
    other: str

    @property
    def files(self) -> list[Path]:
        return sorted(self.folder.rglob("*.jpg"))


@pytest.fixture(scope="session")
def photos(tmp_path_factory: pytest.TempPathFactory) -> Photos:
    """120 photos of flickr8k in folders by what is on them; where those are not here, drawings of the world."""
    home = tmp_path_factory.mktemp("photos")
    if FLICKR.is_dir():
        return _photographs(home)
    program("world", home / "world", "--count", PHOTOS, "--workers", 1)
    world = home / "world"
    return Photos(
        world / "images", None, world / "catalogue.csv", "a balloon in the forest", "balloon", "red", "a lamp"
    )


def _photographs(home: Path) -> Photos:
    with (FLICKR / "captions.csv").open(newline="", encoding="utf-8") as file:
        said = [(row["image"], row["caption"]) for row in csv.DictReader(file)]
    chosen = list(dict(said))[:PHOTOS]
    folder = home / "pictures"
    for name in chosen:
        caption = dict(reversed(said))[name].lower()
        subject = next((word for word in ("dog", "boy", "girl", "man", "woman") if word in caption.split()), "others")
        (folder / subject).mkdir(parents=True, exist_ok=True)
        shutil.copy(FLICKR / "images" / name, folder / subject / name)
    with (home / "captions.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("image", "caption"), *(row for row in said if row[0] in set(chosen))])
    numbered = [f"{name};{number},5" for number, name in enumerate(chosen)]
    (home / "catalogue.csv").write_text("\n".join(["image;photo id", *numbered]), encoding="utf-8")
    said_first, word, but, other = "a dog in the snow", "dog", "running", "a child by the water"
    return Photos(folder, home / "captions.csv", home / "catalogue.csv", said_first, word, but, other)


def program(*arguments: object) -> str:
    """Runs `viewfinder` to its end; gives what it printed."""
    done = subprocess.run(
        [*PROGRAM, *map(str, arguments)], capture_output=True, text=True, check=False, env=_quiet(), timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def _quiet() -> dict[str, str]:
    return {**os.environ, "OMP_NUM_THREADS": "1"}


@pytest.fixture(scope="session")
def library(photos: Photos, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library's folder."""
    folder = tmp_path_factory.mktemp("library") / "library.vf"
    given = {"--captions": photos.captions, "--catalogue": photos.catalogue}
    options = [part for name, path in given.items() if path for part in (name, path)]
    program("add", photos.folder, "--library", folder, *options)
    return folder


@dataclass
class Server:
    """`viewfinder serve`, which may be ended, and started again at the same address."""

    library: Path
    options: tuple[str, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)
    address: str = ""
    process: subprocess.Popen[str] | None = None
    program: tuple[str, ...] = PROGRAM

    @property
    def log(self) -> Path:
        return self.library.with_name("serve.log")

    def start(self) -> None:
        port = urlsplit(self.address).port or 0
        command = [*self.program, "serve", "--library", str(self.library), "--port", str(port), "--json", *self.options]
        with self.log.open("a", encoding="utf-8") as log:
            self.process = subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=log, text=True, env={**_quiet(), **self.environment}
            )
        assert self.process.stdout
        line = self.process.stdout.readline()
        assert line, self.log.read_text(encoding="utf-8")
        self.address = json.loads(line)["address"]

    def stop(self) -> None:
        if self.process is None:
            return
        self.process.terminate()
        self.process.communicate(timeout=60)
        self.process = None


@contextlib.contextmanager
def serving(library: Path, *options: str, program: tuple[str, ...] = PROGRAM, **environment: str) -> Iterator[Server]:
    server = Server(library, options, environment, program=program)
    server.start()
    try:
        yield server
    finally:
        server.stop()


@pytest.fixture(scope="session")
def server(library: Path) -> Iterator[Server]:
    """A server over the photos, for tests that leave it as it is."""
    with serving(library) as started:
        yield started


@pytest.fixture
def own_server(library: Path, tmp_path: Path) -> Iterator[Server]:
    """A server over a copy of the library, which a test may end and start again."""
    shutil.copytree(library, tmp_path / "own.vf")
    with serving(tmp_path / "own.vf") as started:
        yield started


@pytest.fixture
def guarded(library: Path, tmp_path: Path) -> Iterator[tuple[Server, dict[str, str]]]:
    """A server that wants tokens, and two of them: one that may only read, and one that may write too."""
    shutil.copytree(library, tmp_path / "own.vf")
    scopes = {"reader": ["read"], "writer": ["read", "write"]}
    tokens = {}
    for name, some in scopes.items():
        options = [part for scope in some for part in ("--scope", scope)]
        made = program("token", "add", name, *options, "--library", tmp_path / "own.vf", "--json")
        tokens[name] = json.loads(made)["token"]
    with serving(tmp_path / "own.vf", VIEWFINDER_TOKENS_ALWAYS="1") as server:
        yield server, tokens


@pytest.fixture(scope="session")
def rich_server(
    library: Path,
    shared_model: Model,
    save_fashioniq: Callable[[Path, str, int], Path],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Server]:
    """A server over a copy of the library that has what needs setting up: a language model, which it has tried, and
    the retrievers `fashioniq` (untrained: it reads attributes), `looks-back` and `talker`."""
    home = tmp_path_factory.mktemp("rich")
    shutil.copytree(library, home / "own.vf")
    weights = save_fashioniq(home / "fashioniq.safetensors", RAW_VERSION, RAW_WIDTH)
    files = (weights, REPOSITORY / "tests" / "looks_back.py", REPOSITORY / "tests" / "talker.py")
    given = (sys.executable, "-c", WITH_MORE, *map(str, files))
    with serving(home / "own.vf", program=given, VIEWFINDER_LANGUAGE_MODEL=shared_model.source) as started:
        assert shared_model.is_asked.wait(60), "it is tried when the server starts"
        yield started


@pytest.fixture
def new_server(photos: Photos, tmp_path: Path) -> Iterator[Server]:
    """A first start: an empty library, and a root with some of the photos in it."""
    root = tmp_path / "photos"
    root.mkdir()
    for file in photos.files[:40]:  # more than regions are made of without being asked
        shutil.copy(file, root)
    # At home, where choosing a folder begins.
    with serving(tmp_path / "new.vf", "--create", "--root", str(root), HOME=str(tmp_path)) as started:
        yield started


@pytest.fixture
def crowded_server(photos: Photos, tmp_path: Path) -> Iterator[Server]:
    """The same, and so many more pictures in the root that a test can watch them being indexed, and pause that."""
    from PIL import Image

    root = tmp_path / "crowd"
    shutil.copytree(photos.folder, root / "photos")
    for number in range(CROWD):
        Image.new("RGB", (8, 8), (number % 256, number // 256, 0)).save(root / f"plain-{number}.png")
    with serving(tmp_path / "new.vf", "--create", "--root", str(root), HOME=str(tmp_path)) as started:
        yield started


_CHROMIUM = contextlib.ExitStack()
"""Ends it. While it is driven, no other test of this process may run an event loop."""

_BROWSERS: list[Browser] = []


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(nextitem: pytest.Item | None) -> None:
    """Chromium runs from the first test of these files to the last before others."""
    if nextitem is None or HERE not in nextitem.path.parents:
        _CHROMIUM.close()
        _BROWSERS.clear()


@pytest.fixture
def browser() -> Browser:
    """Chromium, which other tests of these files drive too."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    playwright.expect.set_options(timeout=WAIT_MS)
    if not _BROWSERS:
        started = _CHROMIUM.enter_context(playwright.sync_playwright())
        _BROWSERS.append(started.chromium.launch(executable_path=CHROMIUM, args=FLAGS))
        _CHROMIUM.callback(_BROWSERS[0].close)
    return _BROWSERS[0]


@dataclass
class Watched:
    """What went wrong on a page while a test used it."""

    origin: str = ""
    wrong: list[str] = field(default_factory=list)
    expected: tuple[str, ...] = ()
    servers: list[Server] = field(default_factory=list)

    def follow(self, page: Page) -> None:
        page.on("console", self._heard)
        page.on("pageerror", lambda error: self.wrong.append(f"error: {error}"))
        page.on("request", self._asked)

    def _heard(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning") and message.text != NO_WORKER:
            self.wrong.append(f"console: {message.text} {message.location.get('url', '')}")

    def _asked(self, request: Request) -> None:
        at = urlsplit(request.url)
        if at.scheme not in ("data", "blob") and f"{at.scheme}://{at.netloc}/" != self.origin:
            self.wrong.append(f"another origin: {request.url}")

    def unexpected(self) -> list[str]:
        # A test may end a server while its page, which is closed later, still asks for something.
        ended = [
            server.address for server in self.servers if server.process is None or server.process.poll() is not None
        ]
        expected = (*self.expected, *(f"net::ERR_CONNECTION_REFUSED {address}" for address in ended))
        return [each for each in self.wrong if not any(text in each for text in expected)]


Open = Callable[..., "Person"]


@pytest.fixture
def watched() -> Watched:
    """What a test may name that is bound to go wrong: `watched.expected`."""
    return Watched()


@pytest.fixture
def open_page(browser: Browser, watched: Watched, request: pytest.FixtureRequest) -> Iterator[Open]:
    """Opens a page of a size and a colour scheme at a path of a server (that over the photos, unless another is given).

    The page is watched until the test ends.
    """
    contexts: list[BrowserContext] = []

    def opened(
        path: str = "/",
        *,
        at: Server | None = None,
        width: int = 1440,
        height: int = 900,
        scheme: str = "light",
        **given: Any,
    ) -> Person:
        phone = width < 600
        asked = at or request.getfixturevalue("server")
        watched.origin = asked.address
        if isinstance(asked, Server):  # and not a shop before one
            watched.servers.append(asked)
        context = browser.new_context(
            viewport={"width": width, "height": height},
            color_scheme="dark" if scheme == "dark" else "light",
            is_mobile=phone,
            has_touch=phone,
            reduced_motion=given.pop("motion", "reduce"),
            base_url=watched.origin,
            # What a test makes of the network, it makes of the page's: the worker has its own tests.
            service_workers=given.pop("service_workers", "block"),
            **given,
        )
        context.set_default_timeout(WAIT_MS)
        context.add_init_script(WATCH)
        contexts.append(context)
        page = context.new_page()
        watched.follow(page)
        page.goto(path)
        return Person(page)

    yield opened
    breaches = [each for context in contexts for page in context.pages for each in page.evaluate("window.breaches")]
    for context in contexts:
        context.close()
    assert not breaches
    assert not watched.unexpected()


@dataclass(frozen=True)
class Person:
    """Somebody at a page: what they do most, and what they see."""

    page: Page

    @property
    def box(self) -> Locator:
        return self.page.get_by_role("textbox", name="What are you looking for?")

    @property
    def tiles(self) -> Locator:
        return self.page.locator("vf-grid .tile")

    @property
    def question(self) -> Locator:
        return self.page.get_by_role("region", name="Question")

    def say(self, text: str) -> None:
        """Types a turn, and waits for its results and its question."""
        with self.turn():
            self.box.fill(text)
            self.box.press("Enter")

    def like(self, at: int) -> None:
        """Says "like this" of the picture at a place."""
        tile = self.tiles.nth(at)
        tile.hover()
        tile.get_by_role("button", name="Like this").click()

    @contextlib.contextmanager
    def turn(self) -> Iterator[None]:
        """Waits for the results of a turn that is taken meanwhile, and for what is asked back."""
        before = self.page.url
        yield
        self.page.wait_for_url(lambda url: url != before, wait_until="commit")
        # That part of the page is fetched at the first turn: only what it draws says what is still awaited.
        self.page.locator("vf-conversation:not([hidden]) .turn").first.wait_for(state="attached")
        self.rest()

    def arrived(self, turn: int) -> None:
        """Waits until a turn of this conversation is what is shown, after a move through the history or the tree."""
        from playwright.sync_api import expect

        expect(self.page).to_have_url(re.compile(f"/{turn}$"))
        expect(self.page.locator(f"vf-tree [aria-current][data-number='{turn}']")).to_have_count(1)
        self.rest()

    def rest(self, *, pictures: bool = True) -> None:
        """Waits until the page asks for nothing more, and shows pictures."""
        # Sooner than `expect` would notice, which looks again after 100, 250 and 500 ms.
        still = "body:not(.busy):not(:has(.question.waiting))"
        self.page.locator(still + ":has(vf-grid .tile)" * pictures).wait_for(state="attached")

    @property
    def shown(self) -> list[str]:
        """The ids of the pictures that are drawn, in the order of their place."""
        drawn = self.tiles.evaluate_all("all => all.map((each) => [Number(each.dataset.at), each.dataset.id])")
        return [name for _, name in sorted(drawn)]

    @property
    def place(self) -> tuple[str, int]:
        """The conversation and the turn that the address names."""
        _, page, conversation, turn = urlsplit(self.page.url).path.split("/")
        assert page == "talk"
        return conversation, int(turn)

    def api(self, path: str, body: Any = None) -> Any:
        """What the API answers, asked without the page."""
        url = f"/api/v1{path}"
        answer = self.page.request.get(url) if body is None else self.page.request.post(url, data=body)
        assert answer.ok, answer.text()
        return answer.json()

    def ranking(self, turn: int | None = None, **query: object) -> list[str]:
        """The ids of a turn's results by the API."""
        conversation, here = self.place
        given = urlencode({"n": 60, **query})
        return [hit["id"] for hit in self.api(f"/sessions/{conversation}/turns/{turn or here}?{given}")["results"]]

    def tree(self) -> list[Any]:
        """The conversation's turns by the API."""
        nodes: list[Any] = self.api(f"/sessions/{self.place[0]}")["tree"]
        return nodes

    @property
    def heard(self) -> list[str]:
        """All that a screen reader was told."""
        said: list[str] = self.page.evaluate("window.heard")
        return said

    def hear(self, words: str) -> None:
        """Waits until a screen reader was told these words, alone or with others: the page says them a moment later."""
        self.page.wait_for_function("(words) => window.heard.some((said) => said.includes(words))", arg=words)


def find_box(part: Locator) -> FloatRect:
    """Where a part of the page stands, once it is painted: one that is drawn anew just then stands nowhere."""
    for _ in range(WAIT_MS // 50):
        if box := part.bounding_box():
            return box
        part.page.wait_for_timeout(50)
    raise AssertionError(f"{part} was not painted")


def mirror(page: Page) -> None:
    """Has the pages of a server come as those of a language that is read from the right."""

    def turn(route: Route) -> None:
        answer = route.fetch()
        html = answer.text().replace('lang="en" dir="ltr"', 'lang="ar" dir="rtl"', 1)
        assert 'dir="rtl"' in html
        route.fulfill(response=answer, body=html)

    page.route(re.compile(r"://[^/]+/(talk/.*)?$"), turn)


@pytest.fixture
def person(open_page: Open) -> Person:
    """Somebody at the start page in a window of 1440 x 900, with its first pictures on the screen."""
    came = open_page()
    came.tiles.first.wait_for()
    came.page.locator("vf-shortcuts:defined").wait_for(state="attached")
    came.rest()
    return came


@pytest.fixture(scope="session")
def artefacts() -> Path:
    """Where screenshots are kept."""
    folder = Path(os.environ.get("VIEWFINDER_ARTEFACTS") or REPOSITORY / "runs" / "page")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


class Album:
    """Looks at a page in one look: keeps a screenshot of each state, and what axe-core has against it."""

    AXE = "axe.run({resultTypes: ['violations']}).then((found) => found.violations)"  # the rest is long

    def __init__(self, person: Person, look: str, folder: Path) -> None:
        self.person, self.look, self.folder = person, look, folder
        self.against: dict[str, Any] = {}

    def take(self, state: str) -> None:
        from axe_playwright_python.sync_playwright import Axe

        page = self.person.page
        page.wait_for_timeout(150)  # pictures that are here are painted
        page.screenshot(path=self.folder / f"{state}-{self.look}.png")
        if not page.evaluate("'axe' in window"):
            page.evaluate(Axe().axe_script)
        for found in page.evaluate(self.AXE):
            self.against.setdefault(state, []).append(
                (found["id"], [node["html"][:200] for node in found["nodes"][:3]])
            )
        wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
        if wide > 0:
            self.against.setdefault(state, []).append(f"{wide} pixels wider than the window")


AlbumOf = Callable[[Person, str], Album]


@pytest.fixture
def album_of(artefacts: Path) -> AlbumOf:
    """An album of a person's page in one look."""
    return lambda person, look: Album(person, look, artefacts)
