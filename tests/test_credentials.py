"""No error, whoever makes it of what, shows the credentials in an address."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

import viewfinder
from viewfinder.cli.ending import WrongUse, report_failure
from viewfinder.errors import BadInput, LibraryError, ViewfinderError, hide_credentials
from viewfinder.server.problems import problem_of
from viewfinder.store.object_walk import walk_objects
from viewfinder.store.places import local_folder

SECRET = "love+Sex/G0d"
ADDRESSES = (
    f"s3://AKIA:{SECRET}@photos/mine",
    f"s3:/AKIA:{SECRET}@photos/mine",
    f"gs://me:{SECRET}@photos",
    "s3://love+Sex@photos/mine",
    "https://ada:love+Sex@host:9000/x",
    "postgresql://ada:love%2FSex@host/name",
    f"s3://photos/mine?access_key=AKIA&secret_key={SECRET}&region=eu",
    f"https://host/x?X-Amz-Signature={SECRET}",
    f"https://host/x?AWSAccessKeyId=love&sig=Sex&X-Amz-Security-Token={SECRET}",
)


@pytest.mark.parametrize("address", ADDRESSES)
def test_an_address_is_told_without_what_opens_it(address: str) -> None:
    told = hide_credentials(f"'{address}': cannot be read ({address})")
    assert "love" not in told and "Sex" not in told and "G0d" not in told
    assert told.count("photos") == 2 * address.count("photos") and told.endswith(")")


def test_so_is_an_address_of_a_server_that_is_told_by_its_path() -> None:
    told = hide_credentials("/api/v1/pictures/p1/thumbnail?size=160&signature=t.1.love: gone")
    assert told == "/api/v1/pictures/p1/thumbnail?size=160&signature=*** gone"


@pytest.mark.parametrize(
    "text", ["s3://photos/me@home/a b.jpg", "a@b.c", "10:30 @ noon", "file:///a/me@b", "https://host/x?page=2&n=5", ""]
)
def test_all_else_stays_as_it_is(text: str) -> None:
    assert hide_credentials(text) == text


def test_every_error_for_users_hides_them_and_is_the_same_after_a_journey() -> None:
    error = LibraryError(f"{ADDRESSES[0]} is out of reach")
    assert str(error) == "s3://***@photos/mine is out of reach"
    assert str(pickle.loads(pickle.dumps(error))) == str(error)
    assert problem_of(error).detail == str(error)


def test_a_wrong_use_of_the_command_line_hides_them(capsys: pytest.CaptureFixture[str]) -> None:
    report_failure(WrongUse(f"no such option: {ADDRESSES[0]}"), as_json=True)
    told = capsys.readouterr()
    assert "s3://***@photos/mine" in told.out and "s3://***@photos/mine" in told.err
    assert "love" not in told.out + told.err


@pytest.mark.parametrize("address", [ADDRESSES[0], ADDRESSES[2], "s3://love+Sex@photos/mine"])
def test_a_url_with_credentials_is_refused_before_anything_is_kept_of_it(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    for use in (local_folder, viewfinder.open, lambda url: list(walk_objects(url))):
        with pytest.raises(BadInput, match="no credentials in a URL") as refused:
            use(address)
        assert "love" not in str(refused.value)
    assert list(tmp_path.rglob("*")) == []


def test_what_an_error_holds_beside_its_text_is_left_alone() -> None:
    assert ViewfinderError("a", 5).args == ("a", 5)
