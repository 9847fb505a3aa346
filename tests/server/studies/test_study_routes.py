"""Studies over HTTP, over 16 drawings of two colours each."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

import viewfinder.library
from viewfinder.evaluation import read_run
from viewfinder.library import Library
from viewfinder.server.app import create_app
from viewfinder.server.settings import ServerSettings
from viewfinder.studies.extension import STUDIES
from viewfinder.testing import load_colour_encoder, tiny_pictures

API = "/api/v1/studies"
PLAN: dict[str, Any] = {
    "name": "Colours",
    "consent": "I agree.",
    "instructions": "Look well.",
    "targets": {"count": 2, "seed": 1},
    "rounds": 2,
    "retrievers": ["composer", "clip-t"],
    "n": 4,
}


@pytest.fixture(scope="module")
def drawings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    home = tmp_path_factory.mktemp("study-routes")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(viewfinder.library, "load_encoder", load_colour_encoder)
        tiny_pictures(home / "pictures", 16)
        Library.open(home / "library.vf").add(home / "pictures", workers=1)
        yield home / "library.vf"


@pytest.fixture
def client(drawings: Path, tmp_path: Path) -> Iterator[TestClient]:
    settings = ServerSettings(database_url=f"sqlite:///{tmp_path / 'server.db'}", _env_file=None)
    with TestClient(
        create_app(Library.open(drawings), settings, extensions=STUDIES),
        base_url="http://localhost",
        client=("127.0.0.1", 50000),
    ) as opened:
        yield opened


def told(answer: Any, status: int = 200) -> Any:
    assert answer.status_code == status, answer.text
    return answer.json()


def begun(client: TestClient, **change: Any) -> str:
    return str(told(client.post(API, json={**PLAN, **change}), 201)["id"])


def joined(client: TestClient, study: str) -> tuple[str, str]:
    """A participant: the addresses of their trials, and of the first one, which has started."""
    who = told(client.post(f"{API}/{study}/participants", json={"agreed": True}), 201)
    person = f"{API}/{study}/participants/{who['id']}"
    trial = f"{person}/trials/{who['trial']['id']}"
    told(client.post(f"{trial}/start"))
    return person, trial


def test_a_study_tells_the_public_what_it_asks_but_not_what_it_is_about(client: TestClient) -> None:
    study = begun(client, target="remembered", seconds=8)
    assert told(client.get(f"{API}/{study}")) == {
        "id": study,
        "name": "Colours",
        "consent": "I agree.",
        "instructions": "Look well.",
        "task": "describe",
        "target": "remembered",
        "seconds": 8.0,
        "rounds": 2,
        "trials": 2,
        "open": True,
        "participants": 0,
    }


def test_who_runs_it_sees_plan_targets_and_counts(client: TestClient) -> None:
    study = begun(client)
    _, trial = joined(client, study)
    told(client.post(f"{trial}/end", json={}))
    [found] = told(client.get(API))["studies"]
    assert found["plan"]["retrievers"] == ["composer", "clip-t"]
    assert (len(found["targets"]), found["pictures"]) == (2, 16)
    assert found["counts"] == {"participants": 1, "trials": 1, "unfinished": 1}


def test_nobody_takes_part_without_consent(client: TestClient) -> None:
    study = begun(client)
    for given in ({"agreed": False}, {}):
        told(client.post(f"{API}/{study}/participants", json=given), 422)
    assert told(client.get(f"{API}/{study}"))["participants"] == 0


def test_a_trial_from_start_to_end(client: TestClient) -> None:
    person, trial = joined(client, begun(client))
    after = told(client.post(f"{trial}/turns", json={"say": "red over blue"}), 201)["trial"]
    assert (after["rounds_left"], len(after["results"])) == (1, 4)
    assert told(client.get(f"{person}/trial"))["trial"] == after
    ended = told(client.post(f"{trial}/end", json={"found": after["results"][0]["id"]}))
    assert (ended["done"], ended["of"], ended["trial"]["number"]) == (1, 2, 2)


def test_rounds_beyond_the_plan_are_refused(client: TestClient) -> None:
    _, trial = joined(client, begun(client, rounds=1))
    told(client.post(f"{trial}/turns", json={"say": "red"}), 201)
    refused = told(client.post(f"{trial}/turns", json={"say": "blue"}), 409)
    assert refused["type"] == "urn:viewfinder:problem:rounds-over"


def test_turns_of_another_task_are_refused(client: TestClient) -> None:
    _, trial = joined(client, begun(client))
    refused = told(client.post(f"{trial}/turns", json={"back_to": 0}), 422)
    assert refused["type"] == "urn:viewfinder:problem:not-in-this-study"


def test_a_closed_study_takes_nobody_in(client: TestClient) -> None:
    study = begun(client)
    assert not told(client.post(f"{API}/{study}/close"))["open"]
    told(client.post(f"{API}/{study}/participants", json={"agreed": True}), 409)
    assert not told(client.get(f"{API}/{study}"))["open"]


@pytest.mark.parametrize("study", ["nothing", "00000000-0000-0000-0000-000000000000", "%00"])
def test_an_unknown_study_is_not_found(client: TestClient, study: str) -> None:
    for method, path in (("get", ""), ("get", "/figures"), ("get", "/export"), ("get", "/runs"), ("post", "/close")):
        answer = client.request(method, f"{API}/{study}{path}")
        assert answer.status_code == 404, path
        assert answer.headers["content-type"] == "application/problem+json"


def test_the_conversations_of_a_trial_cannot_be_gone_on_with_elsewhere(client: TestClient) -> None:
    study = begun(client)
    _, trial = joined(client, study)
    told(client.post(f"{trial}/turns", json={"say": "red"}), 201)
    assert told(client.get("/api/v1/sessions"))["sessions"] == []


def test_figures_come_for_every_trial_and_for_the_best(client: TestClient) -> None:
    study = begun(client)
    for _ in range(2):
        _, trial = joined(client, study)
        told(client.post(f"{trial}/turns", json={"say": "red over blue"}), 201)
        told(client.post(f"{trial}/end", json={}))
    for count in ("every", "best"):
        figures = told(client.get(f"{API}/{study}/figures", params={"count": count}))
        assert [arm["trials"] for arm in figures["arms"]] == [1, 1]
        assert {row["pairs"] for row in figures["differences"]} == {1}
    told(client.get(f"{API}/{study}/figures", params={"count": "some"}), 422)


def test_the_export_is_json_lines_without_paths(client: TestClient, drawings: Path) -> None:
    study = begun(client)
    joined(client, study)
    answer = client.get(f"{API}/{study}/export")
    assert answer.headers["content-type"].startswith("application/jsonl")
    head, person = map(json.loads, answer.text.splitlines())
    assert (head["schema"], head["study"]) == ("viewfinder/study", study)
    assert (person["participant"], person["consent"], len(person["trials"])) == (1, "I agree.", 2)
    assert str(drawings.parent) not in answer.text


def test_runs_come_as_folders_that_compare_reads(client: TestClient, tmp_path: Path) -> None:
    study = begun(client, retrievers=["composer"])
    told(client.get(f"{API}/{study}/runs"), 409)
    _, trial = joined(client, study)
    told(client.post(f"{trial}/turns", json={"say": "red over blue"}), 201)
    told(client.post(f"{trial}/end", json={}))
    with zipfile.ZipFile(io.BytesIO(client.get(f"{API}/{study}/runs").content)) as archive:
        archive.extractall(tmp_path)
    assert read_run(tmp_path / "1-composer").provenance.data == "Colours"


def test_people_with_a_token_take_part_and_only_admins_see_the_rest(drawings: Path, tmp_path: Path) -> None:
    settings = ServerSettings(host="0.0.0.0", database_url=f"sqlite:///{tmp_path / 'server.db'}", _env_file=None)
    app = create_app(Library.open(drawings), settings, extensions=STUDIES)
    with TestClient(app, base_url="http://study.example") as client:
        tokens = app.state.services.tokens
        boss = {"Authorization": f"Bearer {tokens.create('boss', ['read', 'write', 'admin']).secret}"}
        person = {"Authorization": f"Bearer {tokens.create('person', ['read', 'write']).secret}"}
        study = told(client.post(API, json=PLAN, headers=boss), 201)["id"]
        client.headers.update(person)
        _, trial = joined(client, study)
        told(client.post(f"{trial}/turns", json={"say": "red"}), 201)
        for method, path in (
            ("get", ""), ("post", ""), ("get", f"/{study}/figures"), ("get", f"/{study}/export"),
            ("get", f"/{study}/runs"), ("post", f"/{study}/close"),
        ):  # fmt: skip
            told(client.request(method, f"{API}{path}", json=PLAN if method == "post" else None), 403)
        line = json.loads(client.get(f"{API}/{study}/export", headers=boss).text.splitlines()[1])
        assert line["trials"][0]["ranks"]
