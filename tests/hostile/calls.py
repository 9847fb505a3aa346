"""The API under fire: every operation of its document with what nobody in good faith would send, and every scope."""

from __future__ import annotations

import http.client
import json
import random
import re
import time
from collections import defaultdict
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any
from urllib.parse import quote

from PIL import Image

from tests.hostile.attack import API, ROOT, Answer, Client, Outcome, Server, make_token, run_program
from viewfinder.testing import tiny_pictures

NAMES = (
    *("..%2F..%2F..%2Fetc%2Fpasswd", "%2e%2e", "..%5C..%5Cwin.ini", "%2Fetc%2Fpasswd", "file:%2F%2F%2Fetc%2Fpasswd"),
    *("%00", "p000%00.png", "%0d%0aSet-Cookie:%20a=b", "%ff%fe", "%ed%a0%80", "%F0%9F%92%A5", "~root", "$HOME", "-1"),
    *("'%20OR%20'1'='1", "x'); DROP TABLE sessions;--", "{{7*7}}", "NaN", "0x10", "9" * 400, "x" * 64, "x" * 5000),
)
"""In the place of every id, name and number of an address."""

BODIES = (
    *(b"", b"{", b"nul", b'"', b"\xff\xfe{}", b"\x00", b"null", b"[]", b"0", b'"text"', b"{}{}", b'{"a": 1,}'),
    *(b"[" * 100_000, b'{"a":' * 50_000, b"[" * 400 + b"]" * 400, b'{"where":' * 900 + b"1" + b"}" * 900),
    *(b'{"n": NaN}', b'{"n": 1e999}', b'{"n": -Infinity}', b'{"n": ' + b"9" * 5000 + b"}", b'{"n": 1.0}'),
    *(b'{"\\ud800": 1}', b'{"\\u0000": "\\u0000"}', b'{"say": "\\ud800"}', b'{"__proto__": {}, "constructor": 1}'),
    b"{" + b",".join(b'"k%d": 0' % at for at in range(20_000)) + b"}",
)
"""In the place of every JSON body."""

TEXTS = (
    "\0",
    "nul\0nul",
    "\ud800",
    "\udfff end",
    "\u202eover",
    "\uffff",
    "\U0001f4a5" * 50,
    "\r\nX: y",
    "../" * 9,
    "x" * 3000,
)
"""In the place of every text of a good body, and of every key."""

GOOD: dict[str, Any] = {
    "create_session": {"name": "a", "retriever": "clip-t", "questioner": "none", "where": {"format": "PNG"}},
    "change_session": {"name": "a", "retriever": "clip-t", "questioner": "none", "where": {"format": "PNG"}},
    "take_turn": {"answer": "red", "question": {"text": "which", "choices": ["red"], "by": "me", "why": "so"}},
    "edit_turn": {"like": "p001", "but": "redder"},
    "found_it": {"picture": "p000"},
    "search": {"text": "red", "like": "p000", "without": "blue", "where": {"format": "PNG"}, "cursor": "5"},
    "placeholders": {"ids": ["p000"]},
    "products_of_pictures": {"ids": ["p000"]},
    "seen_in_pictures": {"ids": ["p000"]},
    "picture_addresses": {"ids": ["p000"]},
    "browse_pictures": {"where": {"format": "PNG"}, "cursor": "5"},
    "facets": {"where": {"format": "PNG"}},
    "timeline": {"where": {"format": "PNG"}},
    "folder_tree": {"under": "somewhere", "where": {"format": "PNG"}},
    "places": {"where": {"format": "PNG"}, "area": {"south": 0, "west": 0, "north": 1, "east": 1}},
    "add_folder": {"folder": "somewhere"},
    "describe_pictures": {"limit": 2},
    "prepare_retriever": {"retriever": "nobody"},
    "log_in": {"token": "vf_"},
    "create_album": {"name": "a"},
    "rename_album": {"name": "b"},
    "change_album": {"add": ["p000"], "remove": ["p001"]},
    "open_picture": {"how": "folder"},
    "create_export": {"pictures": ["p000"], "as": "csv", "fields": ["name"]},
    "mark_pictures": {"pictures": ["p000"], "favourite": True, "stars": 3},
    "add_token": {"name": "a", "scopes": ["read"]},
    "add_ticket": {"visitor": "a", "minutes": 5},
    "create_study": {"name": "a", "consent": "yes", "instructions": "do", "targets": ["p000"], "questioner": "none"},
    "join_study": {"agreed": True},
    "take_trial_turn": {"say": "red"},
    "end_trial": {"found": "p000"},
    "import_session": {
        "schema": "viewfinder/session",
        "name": "a",
        "retriever": "clip-t",
        "questioner": "none",
        "where": {"format": "PNG"},
        "conversation": {
            "schema": "viewfinder/conversation",
            "version": 1,
            "turns": [{"say": "red", "parent": 0, "shown": ["p000"], "asked": None}],
        },
    },
}
"""A good body of every operation that takes JSON, over a library that has a picture p000."""

TURNS: tuple[dict[str, Any], ...] = (
    *({"say": "red over blue"}, {"answer": "don't know"}, {"skip": True}, {"reject": [], "text": "stripes"}),
    *({"back_to": 0}, {"keep": "colour", "turn": 1}, {"like": "p000", "but": "bluer", "turn": 1}, {"show": "x"}),
)

SLOW = {"where_in_picture", "retriever_attributes"}
"""They look at pictures again: a tenth of a second each, and so they are seldom called."""

NUMBERS: tuple[Any, ...] = (0, -1, 1, 2, 10**6, 10**19, 2**63, -(2**31), 0.5, 1e308, True, None, "1", [], {})


def with_texts(document: Any, text: str) -> Iterator[Any]:
    """The document with each of its texts replaced, one at a time; and each of its keys."""
    if isinstance(document, str):
        yield text
    elif isinstance(document, list):
        for at, inner in enumerate(document):
            yield from ([*document[:at], other, *document[at + 1 :]] for other in with_texts(inner, text))
    elif isinstance(document, dict):
        for key, inner in document.items():
            yield from ({**document, key: other} for other in with_texts(inner, text))
            yield {text if known == key else known: value for known, value in document.items()}


_PATHS = re.compile(r'"paths":\[[^\]]*\],?')


def wrong_answer(operation: dict[str, Any], status: int, kind: str, text: str, secrets: tuple[str, ...]) -> str | None:
    """What is wrong with an answer: a fault of the server's, undocumented, no problem document, a secret told."""
    if status >= 500 and status not in (503, 507):
        return f"{status}"
    # An address with a slash in it may be none of ours: then the page or nobody answers.
    if str(status) not in operation["responses"] and status not in (404, 405):
        return f"{status} is not in the document"
    if status >= 400 and (kind != "application/problem+json" or json.loads(text)["status"] != status):
        return f"{status} is no problem document"
    # Somebody who may do everything, and sits at this machine, asks where a picture lies.
    text = _PATHS.sub("", text) if operation.get("operationId") == "picture_details" else text
    told = next((secret for secret in secrets if secret in text), None)
    return None if told is None else f"{status} tells {told!r}"


class Fuzz:
    """Requests at random, from good ones to nonsense; ids that answers name are used again."""

    def __init__(self, server: Server, seed: int) -> None:
        self.chance = random.Random(seed)
        self.client = server.client()
        paths = self.client.ask("GET", "/openapi.json").json["paths"]
        self.operations = [
            (method.upper(), path.removeprefix(API), it)
            for path, methods in paths.items()
            for method, it in methods.items()
        ]
        self.known: dict[str, list[str]] = defaultdict(list)
        self.pictures: list[str] = [
            hit["id"] for hit in self.client.ask("POST", "/search", {"text": "red"}).json["results"]
        ]

    def once(self) -> tuple[str, dict[str, Any], Answer]:
        """One call: what was sent, to which operation, and the answer."""
        chance = self.chance
        method, template, operation = chance.choice(self.operations)
        if operation["operationId"] in SLOW and chance.random() < 0.8:
            method, template, operation = chance.choice(self.operations)
        path = re.sub(r"\{(\w+)\}", lambda found: self._name(found[1]), template)
        query = [
            f"{it['name']}={quote(self._text().encode('utf-8', 'surrogatepass'))}"
            for it in operation.get("parameters", ()) if it["in"] == "query" and chance.random() < 0.4
        ]  # fmt: skip
        path += "?" + "&".join(query) if query else ""
        headers, raw = self._headers(), None
        content = operation.get("requestBody", {}).get("content", {})
        if "application/json" in content:
            raw = self._body(operation["operationId"])
            headers.setdefault("Content-Type", "application/json")
        elif content:
            raw = self._file()
            headers.setdefault("Content-Type", "multipart/form-data; boundary=x-x-x")
        sent = f"{method} {path[:200]} {headers if len(str(headers)) < 200 else ''} {raw[:200] if raw else ''!r}"
        answer = self.client.ask(method, path, raw=raw, headers=headers)
        self._learn(operation["operationId"], answer)
        return sent, operation, answer

    def _name(self, parameter: str) -> str:
        chance = self.chance
        if chance.random() < 0.25:
            return quote(chance.choice(NAMES), safe="%")
        if parameter == "number":
            return str(chance.choice((0, 1, 1, 2, 3, 7, 500)))
        if parameter == "picture":
            return str(chance.choice(self.pictures))
        if parameter == "name":
            return chance.choice(("composer", "clip-t", "fashioniq", "drilldown", "nobody"))
        known: list[str] = self.known[parameter][-20:] or ["nobody"]
        return chance.choice(known)

    def _text(self) -> str:
        chance = self.chance
        return chance.choice(
            (chance.choice(TEXTS), "1", "5", "200", "-1", chance.choice(self.pictures), "red", "composer", "")
        )

    def _headers(self) -> dict[str, str]:
        chance = self.chance
        odd = {
            "If-None-Match": '"x", *', "Range": "bytes=5-1,0-,-9999999999", "Accept-Encoding": "gzip;q=-1, br;q=9",
            "Accept": "*/*;" * 500, "Content-Type": "text/plain; charset=utf-7", "Cookie": "viewfinder_token=\xff; ;=",
            "Last-Event-ID": "-1e9", "X-Forwarded-For": "' OR 1", "Origin": "null", "Expect": "100-continue",
            "Authorization": "Bearer vf_nobody",
        }  # fmt: skip
        name = chance.choice(list(odd))
        return {name: odd[name]} if chance.random() < 0.15 else {}

    def _body(self, name: str) -> bytes:
        chance = self.chance
        if chance.random() < 0.1:
            return chance.choice(BODIES)
        good = json.loads(json.dumps(GOOD[name]).replace("p000", chance.choice(self.pictures)))
        if name in ("take_turn", "edit_turn", "take_trial_turn"):
            good = dict(chance.choice(TURNS))
        if name == "import_session":
            good["conversation"]["turns"] *= chance.choice((0, 1, 1, 1, 30))
        if name in ("add_folder", "prepare_retriever") and chance.random() < 0.01:
            good = {"add_folder": {"folder": ""}, "prepare_retriever": {"retriever": "drilldown"}}[name]
        if chance.random() < 0.6:
            good = self._spoilt(good)
        return json.dumps(good).encode()

    def _spoilt(self, document: Any) -> Any:
        """One thing in it is something else, too many, or missing."""
        chance = self.chance
        if isinstance(document, dict) and document and chance.random() < 0.8:
            key = chance.choice(list(document))
            kind = chance.random()
            if kind < 0.15:
                return {name: value for name, value in document.items() if name != key}
            if kind < 0.25:
                return {**document, chance.choice((*TEXTS, "n", "turn", "text")): chance.choice(NUMBERS)}
            return {**document, key: self._spoilt(document[key])}
        if isinstance(document, list) and document and chance.random() < 0.7:
            at = chance.randrange(len(document))
            return [*document[:at], self._spoilt(document[at]), *document[at + 1 :]] * chance.choice((1, 1, 200))
        return chance.choice((chance.choice(NUMBERS), chance.choice(TEXTS)))

    def _file(self) -> bytes:
        chance = self.chance
        image = BytesIO()
        Image.new("RGB", (20, 20), (chance.randrange(256), 0, 0)).save(image, "PNG")
        content = chance.choice((image.getvalue(), image.getvalue()[:50], b"", b"GIF89a", chance.randbytes(300)))
        name = chance.choice(("mine.png", "../../x.png", "\\\\x", "a" * 500, "\r\nX: y"))
        field = chance.choice(("file", "file", "file", "other", ""))
        end = chance.choice((b"--", b"--", b"", b"\0"))
        head = f'--x-x-x\r\nContent-Disposition: form-data; name="{field}"; filename="{name}"\r\n\r\n'
        return head.encode() + content + b"\r\n--x-x-x" + end + b"\r\n"

    def _learn(self, name: str, answer: Answer) -> None:
        kinds = {"create_session": "id", "import_session": "id", "add_folder": "id", "prepare_retriever": "id",
                 "upload": "upload", "create_study": "study", "join_study": "participant"}  # fmt: skip
        if answer.status in (201, 202) and name in kinds:
            self.known[kinds[name]].append(str(answer.json.get("id") or answer.json.get("participant")))
        if name == "get_trial" and answer.status == 200 and (trial := (answer.json.get("trial") or {}).get("id")):
            self.known["trial"].append(str(trial))


def fuzzed_server(home: Path) -> Server:
    """Twenty pictures, a folder that may be added, originals to be fetched, and a token that may do everything."""
    tiny_pictures(home / "pictures", 20)
    tiny_pictures(home / "root" / "inside", 2)
    run_program("add", home / "pictures", "--library", home / "library", "--workers", "1")
    return Server(home / "library", "--root", home / "root", "--originals", "--studies", tokens=True).wait_until_ready()


def secrets(home: Path) -> tuple[str, ...]:
    """What no answer may tell: where things lie on this machine, and where in the program something happened."""
    return str(home), str(ROOT), str(Path.home()) + "/", "root:x:", "site-packages", "Traceback", 'File "'


def fuzz_calls(rounds: int, seed: int, home: Path) -> Outcome:
    """Calls at random; none ends in a 5xx but 503 and 507, or tells where something lies; all is well afterwards."""
    outcome, hidden = Outcome("fuzzed calls of the API", rounds), secrets(home)
    started = time.monotonic()
    with fuzzed_server(home) as server:
        fuzz = Fuzz(server, seed)
        before = server.bytes()
        for number in range(rounds):
            try:
                sent, operation, answer = fuzz.once()
            except (OSError, http.client.HTTPException) as error:
                outcome.check(False, f"no answer to call {number}: {type(error).__name__}: {error}")
                if not outcome.check(server.process.poll() is None, "the server is gone"):
                    break
                continue
            outcome.count(f"answers_{answer.status // 100}xx")
            outcome.count("answers_503", answer.status == 503)
            outcome.most("seconds_most", round(answer.seconds, 2))
            wrong = wrong_answer(operation, answer.status, answer.headers.get("content-type", ""), answer.text, hidden)
            outcome.check(wrong is None, f"{operation['operationId']}: {wrong}: {sent} -> {answer.text[:150]}")
        for id in fuzz.known["id"][-200:]:
            end = server.client().ask("GET", f"/sessions/{id}/export")
            outcome.check(
                end.status in (200, 404), f"a conversation cannot be read any more: {end.status} {end.text[:200]}"
            )
        outcome.figures["grown_mb"] = round((server.bytes() - before) / 1e6)
        outcome.figures["calls_a_second"] = round(rounds / (time.monotonic() - started))
        outcome.check(server.end() <= 10, "SIGTERM took longer than 10 s")
        outcome.check(not server.traceback(), f"the server logged: {server.traceback()}")
    return outcome


OPEN = {"log_in", "log_out", "who_am_i", "live", "ready", "version"}
"""Operations that want no token."""


def try_scopes(rounds: int, seed: int, home: Path) -> Outcome:
    """Every operation with every scope, with none, and with tokens that are no more: only the scopes it names do."""
    outcome = Outcome("every operation against every scope")
    with fuzzed_server(home) as server:
        paths = server.client().ask("GET", "/openapi.json").json["paths"]
        operations = [(method.upper(), path, it) for path, methods in paths.items() for method, it in methods.items()]
        random.Random(seed).shuffle(operations)
        scopes = {"read": ["read"], "write": ["write"], "admin": ["admin"], "talker": ["read", "write"]}
        tokens = {name: make_token(home / "library", name, *given) for name, given in scopes.items()}
        tokens["revoked"] = make_token(home / "library", "gone", "read", "write", "admin")
        run_program("token", "revoke", "gone", "--library", home / "library")
        clients = {name: server.client(token=token) for name, token in (*tokens.items(), ("false", "vf_x"))}
        clients["none"] = Client(server.port)
        for method, path, operation in operations[:rounds]:
            wanted = [scope for entry in operation.get("security", ()) for scope in entry["token"]]
            asked = re.sub(r"\{\w+\}", "1", path.removeprefix(API))
            is_open = operation["operationId"] in OPEN
            outcome.check(is_open == (not wanted), f"{operation['operationId']} wants {wanted}")
            for name, client in clients.items():
                status = client.ask(
                    method, asked, headers={"Origin": "http://evil.example"} if name == "none" else {}
                ).status
                good = {
                    "none": status in (401, 403) or (is_open and status < 500),
                    "false": status == 401,
                    "revoked": status == 401,
                }.get(name, is_open or (status == 403) == (not set(wanted) <= set(scopes.get(name, ()))))
                outcome.rounds += 1
                outcome.check(good and status < 500, f"{operation['operationId']} with {name}: {status}")
        clients["none"].close()
    return outcome
