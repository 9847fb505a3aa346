"""What a server's log says of requests: who sent them and from where, and nothing of what was sent."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from viewfinder.server.monitoring import LEVEL
from viewfinder.server.senders import describe_sender
from viewfinder.server.settings import PROXY_VARIABLE

Run = Callable[..., Any]
Program = Callable[..., "subprocess.Popen[str]"]
Sent = tuple[str, dict[str, str]]

WORDS = "a giraffe on a bicycle"
FORGED = '192.0.2.1", "who": "root'

pytestmark = pytest.mark.slow


def log_of(program: Program, library: Path, *sent: Sent) -> list[dict[str, Any]]:
    """The lines that a server logs of these requests: an address and headers each."""
    server = program("serve", "--library", library, "--port", 0, "--json")
    assert server.stdout is not None
    address = json.loads(server.stdout.readline())["address"]
    for path, headers in sent:
        httpx.get(f"{address}api/v1/{path}", headers=headers, timeout=60)
    httpx.post(f"{address}api/v1/search", json={"text": WORDS}, timeout=60)
    server.send_signal(signal.SIGTERM)
    _, log = server.communicate(timeout=120)
    assert "giraffe" not in log
    lines = [json.loads(line) for line in log.splitlines()]
    return [line for line in lines if line["message"] == "request"]


def test_a_line_says_who_by_the_tokens_name_and_from_where(
    viewfinder: Run, program: Program, library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(LEVEL, "info")
    secret = viewfinder("token", "add", "ada", "--scope", "read", "--library", library).out.strip()
    token = {"Authorization": f"Bearer {secret}"}
    lines = log_of(
        program, library,
        ("collection", {}),
        ("collection?q=secret-words", token),
        ("collection", {"Authorization": f"Bearer {secret[:-4]}AAAA"}),
        ("collection", {**token, "X-Forwarded-For": "203.0.113.7"}),
        ("collection", {"X-Forwarded-For": "2001:db8::1"}),
        ("collection", {**token, "X-Forwarded-For": FORGED}),
    )  # fmt: skip
    told = [(line["who"], line["from"], line["status"]) for line in lines]
    assert told == [
        ("this machine", "127.0.0.1", 200),
        ("ada", "127.0.0.1", 200),
        (None, "127.0.0.1", 401),
        ("ada", "203.0.113.7", 200),
        (None, "2001:db8::1", 401),
        ("ada", None, 200),
        ("this machine", "127.0.0.1", 200),
    ]
    written = json.dumps(lines)
    assert secret[:8] not in written
    assert "secret-words" not in written


def test_a_proxy_that_is_not_configured_is_not_believed(
    viewfinder: Run, program: Program, library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(LEVEL, "info")
    monkeypatch.setenv(PROXY_VARIABLE, "192.0.2.9")
    secret = viewfinder("token", "add", "ada", "--scope", "read", "--library", library).out.strip()
    [line, _] = log_of(
        program, library, ("collection", {"Authorization": f"Bearer {secret}", "X-Forwarded-For": "203.0.113.7"})
    )
    assert (line["who"], line["from"]) == ("ada", "127.0.0.1")


@pytest.mark.parametrize("client", [None, ("", 0), ("::1%a\nb", 0), ("\x1b[31m", 0), ("9" * 10_000, 0), ("unix:", 0)])
def test_what_is_no_address_is_not_written(client: Any) -> None:
    assert describe_sender({"client": client})["from"] in (None, "::1")
