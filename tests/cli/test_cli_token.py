"""`viewfinder token`: as a user types it, on a real database."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from viewfinder.cli.serve import read_server_settings
from viewfinder.library import Library
from viewfinder.server.access.tokens import Tokens
from viewfinder.server.database import Database, TokenRows
from viewfinder.server.settings import database_url

Run = Callable[..., Any]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A library with no picture in it."""
    Library.open(tmp_path / "library")
    return tmp_path / "library"


def scopes_of(library: Path, secret: str) -> set[str] | None:
    """What a server over the library lets a token do."""
    settings = read_server_settings({})
    database = Database.open(database_url(library, settings))
    caller = Tokens(TokenRows(database), settings).find_caller(secret)
    database.close()
    return None if caller is None else set(caller.scopes)


def test_a_token_that_is_added_opens_the_server_and_one_revoked_does_not(viewfinder: Run, home: Path) -> None:
    added = viewfinder("token", "add", "laptop", "--scope", "read", "--scope", "write", "--library", home)
    assert (added.code, added.out[:3], added.out.count("\n")) == (0, "vf_", 1)  # the secret alone: TOKEN=$(...)
    assert "shown once" in added.err
    assert scopes_of(home, added.out.strip()) == {"read", "write"}
    revoked = viewfinder("token", "revoke", "laptop", "--library", home)
    assert (revoked.code, revoked.out.split()[0]) == (0, "laptop")
    assert scopes_of(home, added.out.strip()) is None


def test_programs_get_json(viewfinder: Run, home: Path) -> None:
    added = viewfinder("token", "add", "a", "--scope", "admin", "--days", "30", "--library", home, "--json").json
    assert scopes_of(home, added.pop("token")) == {"admin"}
    assert added["expires"] > added["created"]
    assert viewfinder("token", "list", "--library", home, "--json").json == {"tokens": [added]}
    assert viewfinder("token", "revoke", "a", "--library", home, "--json").json == {"revoked": "a"}
    assert viewfinder("token", "list", "--library", home, "--json").json == {"tokens": [{**added, "revoked": True}]}


def test_the_list_says_what_each_may_do_and_never_the_secret(viewfinder: Run, home: Path) -> None:
    assert viewfinder("token", "list", "--library", home).out.startswith("No tokens.")
    for name, days in (("b", ()), ("a", ("--days", "1"))):
        viewfinder("token", "add", name, "--scope", "write", "--scope", "read", *days, "--library", home)
    told = viewfinder("token", "list", "--library", home).out
    rows = [line.split() for line in told.splitlines()[1:]]
    assert [(row[0], row[1:3]) for row in rows] == [("a", ["read", "write"]), ("b", ["read", "write"])]
    assert rows[0][-1].endswith("Z")
    assert rows[1][-1] == "never"
    assert "vf_" not in told


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("token add laptop", "--scope read"),
        ("token add --scope read", "NAME"),
        ("token add a --scope root", "unknown scope 'root'"),
        ("token add a/b --scope read", "token name"),
        ("token add a --scope read --days 0", "more than 0"),
        ("token list laptop", "no name"),
        ("token revoke", "NAME"),
        ("token revoke laptop", "there is no token 'laptop'; there are: none"),
        ("token revoke laptop --days 3", "--days"),
        ("token give laptop", "token add NAME"),
    ],
)
def test_wrong_use_is_one_line_and_makes_nothing(viewfinder: Run, home: Path, typed: str, said: str) -> None:
    outcome = viewfinder(*typed.split(), "--library", home)
    assert (outcome.code, outcome.err.count("\n")) == (2, 1)
    assert said in outcome.err
    assert viewfinder("token", "list", "--library", home, "--json").json == {"tokens": []}


def test_a_name_is_used_once(viewfinder: Run, home: Path) -> None:
    viewfinder("token", "add", "laptop", "--scope", "read", "--library", home)
    again = viewfinder("token", "add", "laptop", "--scope", "read", "--library", home)
    assert (again.code, again.out) == (2, "")
    assert "laptop" in again.err


def test_a_misspelt_library_is_not_made(viewfinder: Run, tmp_path: Path) -> None:
    outcome = viewfinder("token", "add", "a", "--scope", "read", "--library", tmp_path / "libary")
    assert (outcome.code, outcome.out) == (1, "")
    assert not (tmp_path / "libary").exists()


def test_a_database_elsewhere_needs_no_library(
    viewfinder: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VIEWFINDER_DATABASE_URL", f"sqlite:///{tmp_path / 'talks.sqlite'}")
    added = viewfinder("token", "add", "a", "--scope", "read", "--library", tmp_path / "none")
    assert scopes_of(tmp_path, added.out.strip()) == {"read"}
    assert not (tmp_path / "none").exists()
