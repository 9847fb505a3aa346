"""The API does what its document says: Schemathesis against `viewfinder serve` over a real library.

Schemathesis makes requests from the OpenAPI document, good ones and bad ones, and judges the answers. They are those of
a walk along the links of the document: begin a conversation, say something, change what was said, take part in a study.
In the long run the program also goes through thousands of requests to each operation by itself, and through short
sequences, on which it gives up as soon as one goes another way when it is repeated, as conversations with a server do.
"""

from __future__ import annotations

import csv
import json
import os
import random
import re
import signal
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import SkipTest

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.core.failures import FailureGroup
from schemathesis.core.result import Ok
from schemathesis.specs.openapi.checks import negative_data_rejection

from viewfinder.testing import COLOURS, tiny_pictures

TOKEN = "contract"
LEAST_CASES = 2000
STEPS, LONG_STEPS, MOST_STEPS = 150, 1200, 6000
"""A walk is of STEPS (or LONG_STEPS), and longer where ids have led it past an operation, up to MOST_STEPS."""
_OF_JOBS = {"resume_job", "pause_job", "cancel_job"}
SELDOM = {
    *("log_in", "open_picture", "list_folders", "retriever_attributes", "picture_rank", "export_study_runs"),
    *("not_found_after_all", *_OF_JOBS),
}
"""They want a token in their body, a desktop, a root by its number, a picture in their query or with a turn, a study
that has ended, a picture that was found, the right moment of a job."""

ENDS = {"end", "close", "cancel"}
"""Last parts of paths that end something, as deleting it does."""

TURNS: list[dict[str, Any]] = [
    *({"say": "red over blue"}, {"say": "something green"}, {"answer": "don't know"}),
    *({"reject": []}, {"back_to": 0}),
]

BODIES: dict[str, list[dict[str, Any]]] = {
    "create_session": [{}, {"retriever": "clip-ti", "questioner": "none", "n": 3}],
    "import_session": [{"conversation": {"schema": "viewfinder/conversation", "version": 1, "turns": []}}],
    "take_turn": TURNS,
    "edit_turn": TURNS,
    "search": [{"text": "red", "n": 4}, {"text": "blue", "without": "red", "where": {"Top": "blue"}}],
    "create_study": [{"name": "who", "consent": "yes", "targets": {"count": 2}, "rounds": 2}],
    "prepare_retriever": [{"retriever": "clip-ti"}],
    "add_folder": [{"root": 0, "folder": "inside"}],
    **{name: [{"where": {}}] for name in ("timeline", "facets", "places")},
    "join_study": [{"agreed": True}],
    "create_album": [{"name": "Summer"}, {"name": "Winter"}],
    "rename_album": [{"name": "Autumn"}],
    "take_trial_turn": [{"say": "red"}],
    "end_trial": [{"found": None}],
}
"""What hardly anybody would send by chance: it means something in this library."""
PROGRAM = (sys.executable, "-c", "from viewfinder.cli import main; main()")

CONFIGURATION = """
[parameters]
"path.picture" = {{ dictionary = "pictures", probability = 0.8 }}

[checks]
positive_data_acceptance.enabled = false  # 422 also says that there is no such picture, retriever, column
object_level_authorization.enabled = false  # it wants two users; the tests of access and routes have them

[generation.dictionaries]
string = {{ dictionary = "words", probability = 0.3 }}

[dictionaries]
pictures = {{ values = {pictures} }}
removed = {{ values = {removed} }}
words = {{ values = {words} }}

[[operations]]
include-operation-id = "job_events"
max-stream-events = 1

[[operations]]
include-operation-id = "remove_picture"
parameters = {{ "path.picture" = {{ dictionary = "removed", probability = 0.8 }} }}

[[operations]]
include-path-regex = '^/api/v1/pictures/\\{{picture\\}}'
checks.ensure_resource_availability.enabled = false
checks.use_after_free.enabled = false

[[operations]]
include-path-regex = '^/api/v1/sessions/\\{{id\\}}/turns/\\{{number\\}}'
checks.use_after_free.enabled = false
"""
"""Ids of pictures now and then, and words that mean something. Of a job's events one is awaited: jobs take long; and
a picture that was sent is there when a job has added it, and gone when one has removed it (202). Two pictures may be
removed, the others are asked about. A turn that is deleted is taken back on a new branch: on the old one it stays, and
is answered. (That a deleted conversation answers nowhere, its turns included, `test_session_routes` has.)"""

REMOVED = 2


@dataclass(frozen=True)
class Server:
    """A server that runs; `token` may do everything."""

    address: str
    token: str

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"}


def _run(*arguments: str | Path) -> Any:
    done = subprocess.run([*PROGRAM, *map(str, arguments)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.strip().splitlines()[-1])


def _table(path: Path, header: list[str], rows: list[list[str]]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([header, *rows])
    return path


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twelve pictures with captions and a catalogue; and a folder that may be added, of two and a file that is none."""
    home = tmp_path_factory.mktemp("contract")
    drawn = tiny_pictures(home / "pictures", 12)
    tiny_pictures(home / "root" / "inside", 2)
    (home / "root" / "broken.jpg").write_bytes(b"no picture")
    captions = _table(home / "captions.csv", ["file", "caption"], [[it.path.name, it.caption] for it in drawn])
    rows = [[it.path.name, it.top, it.bottom] for it in drawn]
    catalogue = _table(home / "catalogue.csv", ["file", "Top", "Bottom"], rows)
    tables = ("--captions", captions, "--catalogue", catalogue)
    _run("add", home / "pictures", "--library", home / "library.vf", *tables, "--workers", "1", "--json")
    return home / "library.vf"


@pytest.fixture(scope="module")
def server(library: Path) -> Iterator[Server]:
    """As other machines would reach it, so that tokens are asked for."""
    scopes = [word for scope in ("read", "write", "admin", "tickets") for word in ("--scope", scope)]
    made = _run("token", "add", TOKEN, *scopes, "--library", library, "--json")
    command = [*PROGRAM, "serve", "--host", "0.0.0.0", "--port", "0", "--library", str(library), "--json"]
    command += ["--root", str(library.parent / "root"), "--originals"]
    environment = os.environ | {
        "VIEWFINDER_REQUESTS_BURST": "1000000",
        "VIEWFINDER_REQUESTS_PER_S": "100000",
        "DISPLAY": "",  # nothing is opened on anybody's desktop
        "WAYLAND_DISPLAY": "",
        "SSH_CONNECTION": "no desktop",
        "VIEWFINDER_DESCRIBER": "http://127.0.0.1:9/v1#nobody",
    }
    with (
        (library.parent / "log").open("w") as log,
        subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=log, text=True) as process,
    ):
        assert process.stdout is not None
        port = json.loads(process.stdout.readline())["address"].rstrip("/").rpartition(":")[2]
        yield Server(f"http://127.0.0.1:{port}", made["token"])
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0


@pytest.fixture(scope="module")
def pictures(server: Server) -> list[str]:
    """Ids."""
    asked = httpx.post(f"{server.address}/api/v1/search", json={"text": "red"}, headers=server.headers, timeout=60)
    return [hit["id"] for hit in asked.json()["results"]]


@pytest.fixture(scope="module")
def configuration(pictures: list[str], library: Path) -> Path:
    """How Schemathesis is to go about it."""
    words = [*COLOURS, *pictures[:4], "composer", "clip-i", "information_gain", "none", "Top", "inside"]
    path = library.parent / "schemathesis.toml"
    some, gone = json.dumps(pictures[:-REMOVED]), json.dumps(pictures[-REMOVED:])
    told = CONFIGURATION.format(pictures=some, removed=gone, words=json.dumps(words))
    path.write_text(told, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def report(server: Server, configuration: Path, library: Path) -> dict[str, Any]:
    """What the program found in each operation by itself."""
    return judged("coverage", server, configuration, library)


def judged(phase: str, server: Server, configuration: Path, library: Path) -> dict[str, Any]:
    """What the program found in one of its phases."""
    written = library.parent / f"{phase}.json"
    command = [sys.executable, "-m", "schemathesis.cli", "--config-file", str(configuration), "run"]
    command += [f"{server.address}/api/v1/openapi.json", "-H", f"Authorization: Bearer {server.token}"]
    command += ["--phases", phase, "--mode", "all", "--generation-deterministic", "--no-shrink"]
    command += ["--no-color", "--continue-on-failure", "--request-timeout", "60", "--report", "json"]
    command += ["--report-json-path", str(written)]
    hooks = {"SCHEMATHESIS_HOOKS": "contract_hooks", "PYTHONPATH": str(Path(__file__).parent)}
    done = subprocess.run(
        command, env=os.environ | hooks, cwd=library.parent, capture_output=True, text=True, check=False
    )
    assert written.exists(), done.stdout + done.stderr
    return {**json.loads(written.read_text(encoding="utf-8")), "told": done.stdout}


class Walk:
    """Goes from answer to answer, by the links that each has in the document; now and then it begins anew."""

    def __init__(self, server: Server, configuration: Path, pictures: list[str], seed: int) -> None:
        config = schemathesis.Config.from_path(configuration)
        schema = schemathesis.openapi.from_url(f"{server.address}/api/v1/openapi.json", config=config)
        found = [result.ok() for result in schema.get_all_operations() if isinstance(result, Ok)]
        self.operations = {operation.definition.raw["operationId"]: operation for operation in found}
        self.cases = {name: drawn(operation) for name, operation in self.operations.items()}
        self.headers, self.random, self.stays = server.headers, random.Random(seed), pictures[:-REMOVED]
        kept = pictures[:-REMOVED]
        self.bodies = {
            **BODIES,
            "found_it": [{"picture": picture} for picture in pictures[:3]],
            "change_album": [{"add": kept[:2]}, {"add": kept[2:4], "remove": kept[:1]}],
            "mark_pictures": [{"pictures": kept[:2], "favourite": True}, {"pictures": kept[1:3], "stars": 4}],
            "create_export": [{"pictures": kept[:3], "as": kind} for kind in ("zip", "csv", "json", "xmp")],
        }
        self.known: dict[str, list[dict[str, str]]] = defaultdict(list)  # operation -> addresses that it may have
        self.wrong: list[str] = []
        self.tried, self.done = Counter[str](), Counter[str]()

    def step(self) -> None:
        """One request: what the last answers lead to, three times of four."""
        name, parameters = self.rarest(self.operations), dict[str, str]()
        if self.known and self.random.random() < 0.75:
            name = self.rarest(self.known)
            parameters = self.random.choice(self.known[name][-3:])
        case = self.random.choice(self.cases[name])
        case.path_parameters = {**case.path_parameters, **parameters}
        if name in self.bodies and self.random.random() < 0.6:
            case.body = self.random.choice(self.bodies[name])
        self.tried[name] += 1
        if (
            case.path_parameters.get("name") == TOKEN
            or self.too_early(name)
            or self.must_stay(name, case.path_parameters)
        ):
            return
        how = {"headers": self.headers, "timeout": 60}
        response = case.call(**how)
        self.done[name] += response.status_code < 300
        try:
            case.validate_response(response, excluded_checks=[negative_data_rejection], transport_kwargs=how)
        except FailureGroup as failures:
            self.wrong.append(str(failures))
        self.follow(name, case, response)

    def too_early(self, name: str) -> bool:
        """Whether it would delete or end what something has yet to be done with: an upload that nobody looked at."""
        ended = self.ends(name)
        if ended is None:
            return False
        about = {of for of, it in self.operations.items() if it.path.startswith(ended) and self.ends(of) != ended}
        return any(not self.done[of] for of in about - SELDOM)

    def must_stay(self, name: str, parameters: dict[str, Any]) -> bool:
        """Whether it would remove a picture that others are asked about."""
        return name == "remove_picture" and parameters["picture"] in self.stays

    def ends(self, name: str) -> str | None:
        """The path of what an operation deletes or ends; None where it does neither."""
        it = self.operations[name]
        thing, _, verb = it.path.rpartition("/")
        return it.path if it.method == "delete" else thing if verb in ENDS else None

    def rarest(self, names: Iterable[str]) -> str:
        """Half of the time any of them, else one that was seldom carried out, or at least seldom tried."""
        if self.random.random() < 0.5:
            return self.random.choice(sorted(names))
        return min(sorted(names), key=lambda name: (20 * self.done[name] + self.tried[name], self.random.random()))

    def follow(self, name: str, case: Any, response: Any) -> None:
        """Where one can go from here."""
        answer = self.operations[name].definition.raw["responses"].get(str(response.status_code), {})
        for link in answer.get("links", {}).values():
            with suppress(LookupError, ValueError, TypeError):
                values = {to: value_of(given, case, response) for to, given in link["parameters"].items()}
                if not self.must_stay(link["operationId"], values):
                    self.known[link["operationId"]].append(values)


def value_of(expression: str, case: Any, response: Any) -> str:
    """A runtime expression of OpenAPI: a parameter of the request, or a place in the answer."""
    if expression.startswith("$request.path."):
        return str(case.path_parameters[expression.removeprefix("$request.path.")])
    value = response.json()
    for key in expression.removeprefix("$response.body#/").split("/"):
        value = value[int(key)] if key.isdigit() else value[key]
    return str(value)


def drawn(operation: Any) -> list[Any]:
    """Requests to one operation: most of them good ones."""
    cases: list[Any] = []
    for mode, count in ((GenerationMode.POSITIVE, 4), (GenerationMode.NEGATIVE, 2)):

        @settings(
            max_examples=count,
            derandomize=True,
            deadline=None,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(operation.as_strategy(generation_mode=mode))
        def collect(case: Any) -> None:
            cases.append(case)

        with suppress(Unsatisfiable, SkipTest):  # nothing can be wrong about a request without parameters
            collect()
    return cases


@pytest.fixture(scope="module", params=[STEPS, pytest.param(LONG_STEPS, marks=pytest.mark.long)])
def walk(request: pytest.FixtureRequest, server: Server, configuration: Path, pictures: list[str]) -> Walk:
    """After a walk of many steps. (In the long run the program goes first: it finds the server as it was started.)"""
    if request.param == LONG_STEPS:
        request.getfixturevalue("report")
    walk = Walk(server, configuration, pictures, seed=2)
    for step in range(MOST_STEPS):
        if step >= request.param and step % 100 == 0 and undone(walk, counted(server)) <= SELDOM:
            break
        walk.step()
    return walk


def counted(server: Server) -> dict[str, dict[int, int]]:
    """What the server has answered so far: "GET /api/v1/..." -> status -> how often."""
    line = re.compile(r'viewfinder_requests_total\{method="(\w+)",route="([^"]+)",status="(\d+)"\} ([\d.]+)')
    found: dict[str, dict[int, int]] = defaultdict(dict)
    told = httpx.get(f"{server.address}/api/v1/metrics", headers=server.headers, timeout=60).text
    for method, route, status, count in line.findall(told):
        found[f"{method} {route}"][int(status)] = int(float(count))
    return found


def undone(walk: Walk, answers: dict[str, dict[int, int]]) -> set[str]:
    """The operations that nobody has carried out yet."""
    operations = {name: f"{it.method.upper()} {it.path}" for name, it in walk.operations.items()}
    return {name for name, route in operations.items() if not any(status < 300 for status in answers.get(route, ()))}


@pytest.fixture(scope="module")
def answers(server: Server, walk: Walk) -> dict[str, dict[int, int]]:
    """What the server counted while all that went on."""
    return counted(server)


pytestmark = pytest.mark.slow


@pytest.mark.long
def test_no_request_finds_the_document_wrong(report: dict[str, Any]) -> None:
    assert (report["failures"], report["errors"]) == ([], []), report["told"]
    assert report["complete"] and report["exit_code"] == 0
    assert report["operations"]["tested"] == report["operations"]["total"] > 50
    assert report["phases"]["coverage"]["status"] == "success"
    assert report["test_cases"]["generated"] >= LEAST_CASES


@pytest.mark.long
def test_no_short_sequence_of_requests_finds_it_wrong(
    server: Server, configuration: Path, library: Path, report: dict[str, Any]
) -> None:
    report = judged("stateful", server, configuration, library)
    assert (report["failures"], report["errors"]) == ([], []), report["told"]
    assert report["complete"] and report["phases"]["stateful"]["status"] == "success"


def test_no_answer_on_a_long_walk_finds_it_wrong(walk: Walk) -> None:
    assert walk.wrong == []


def test_no_answer_is_the_servers_own_failure(
    answers: dict[str, dict[int, int]], library: Path, request: pytest.FixtureRequest
) -> None:
    long = request.node.callspec.params["walk"] == LONG_STEPS
    least = STEPS / 2 + (LEAST_CASES if long else 0)
    assert sum(count for by_status in answers.values() for count in by_status.values()) >= least
    assert {route: by for route, by in answers.items() if any(status >= 500 for status in by)} == {}
    assert "Traceback" not in (library.parent / "log").read_text(encoding="utf-8")


def test_nearly_every_operation_was_carried_out(answers: dict[str, dict[int, int]], walk: Walk) -> None:
    assert undone(walk, answers) <= SELDOM
