"""Pictures and uploads over HTTP, on the whole app; the encoder knows colours only."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from PIL import Image
from PIL.PngImagePlugin import PngInfo

import viewfinder.library
from viewfinder.encoders import load_encoder
from viewfinder.library import Library
from viewfinder.pictures import picture_id
from viewfinder.server.app import create_app
from viewfinder.server.pictures import routes as picture_routes
from viewfinder.server.pictures.library import find_original
from viewfinder.server.settings import ServerSettings
from viewfinder.testing import TinyPicture, load_colour_encoder, tiny_pictures

if TYPE_CHECKING:
    from httpx2 import Response

API = "/api/v1"
UPLOAD_BYTES = 100_000


class Served:
    """A library of eight drawings behind the app: `ids[i]` is the picture of `drawings[i]`."""

    def __init__(self, app: FastAPI, client: TestClient, library: Library, drawings: list[TinyPicture]) -> None:
        self.app, self.client, self.library, self.drawings = app, client, library, drawings
        self.reader = app.state.services.tokens.create("reader", ["read"]).secret
        self.ids = [picture_id(drawing.path.read_bytes()) for drawing in drawings]

    def get(self, path: str, **given: Any) -> Response:
        return self.client.get(API + path, **given)

    def send(self, content: bytes, name: str = "mine.png", to: str = "/uploads") -> Response:
        return self.client.post(API + to, files={"file": (name, content)})


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Library, list[TinyPicture]]]:
    folder = tmp_path_factory.mktemp("served")
    drawings = tiny_pictures(folder / "pictures", 8, size=(480, 320))
    table = folder / "catalogue.csv"
    words = "\n".join(f'{it.path.name},"{it.caption}",{it.top}' for it in drawings)
    table.write_text(f"file,caption,colour\n{words}\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(viewfinder.library, "load_encoder", load_colour_encoder)
        library = Library.open(folder / "library")
        library.add(folder / "pictures", captions=table, catalogue=table, workers=1)
        yield library, drawings


@pytest.fixture(scope="module")
def served(drawn: tuple[Library, list[TinyPicture]]) -> Iterator[Served]:
    library, drawings = drawn
    limits = {"originals": True, "upload_bytes": UPLOAD_BYTES, "upload_pixels": 500_000, "uploads_per_token": 4}
    app = create_app(library, ServerSettings.model_validate(limits))
    with TestClient(app, base_url="http://localhost", client=("127.0.0.1", 123)) as client:
        yield Served(app, client, library, drawings)


def problem(answer: Response, status: int) -> dict[str, Any]:
    """A problem document of this status, in which no folder of this machine is named."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert "/tmp" not in answer.text and str(Path.home()) not in answer.text
    found: dict[str, Any] = answer.json()
    return found


def png(colour: str, size: tuple[int, int] = (64, 48)) -> bytes:
    content = BytesIO()
    Image.new("RGB", size, colour).save(content, "PNG")
    return content.getvalue()


def size_of(content: bytes) -> tuple[int, int]:
    with Image.open(BytesIO(content)) as image:
        return image.size


# -- thumbnails


def test_a_thumbnail_is_small_and_may_be_kept_for_ever(served: Served) -> None:
    answer = served.get(f"/pictures/{served.ids[0]}/thumbnail", params={"size": 160})
    assert (answer.status_code, answer.headers["content-type"]) == (200, "image/jpeg")
    assert size_of(answer.content) == (160, 107)
    assert answer.headers["etag"] == f'"{served.ids[0]}-160"'
    assert answer.headers["cache-control"] == "private, max-age=31536000, immutable"


def test_sizes_are_a_few_and_a_picture_is_never_enlarged(served: Served) -> None:
    where = f"/pictures/{served.ids[0]}/thumbnail"
    sides = [max(size_of(served.get(where, params={"size": size}).content)) for size in (16, 160, 320, 640, 1280)]
    assert sides == [16, 160, 320, 480, 480]
    assert served.get(where, params={"size": 16}).headers["content-type"] == "image/webp"
    for size in ("17", "0", "-320", "99999999999999999999", "320.5", "big", ""):
        assert problem(served.get(where, params={"size": size}), 422)["type"] == "urn:viewfinder:problem:invalid"


@pytest.mark.parametrize(
    ("tags", "status"),
    [
        ('"{}-320"', 304),
        ('W/"{}-320"', 304),
        ('"x", "{}-320"', 304),
        ("*", 304),
        ('"{}-160"', 200),
        ("{}-320", 200),
        ("", 200),
    ],
)
def test_a_client_that_has_the_copy_is_told_so(served: Served, tags: str, status: int) -> None:
    name = served.ids[1]
    answer = served.get(f"/pictures/{name}/thumbnail", headers={"If-None-Match": tags.format(name)})
    assert answer.status_code == status
    assert answer.headers["etag"] == f'"{name}-320"'
    assert (answer.content == b"") == (status == 304)


@pytest.mark.parametrize("end", ["", "/thumbnail", "/original", "/similar", "/where?text=red"])
def test_only_ids_name_pictures(served: Served, end: str) -> None:
    for name in ("nobody", "..%2f..%2flibrary.json", "%2e%2e", "%00", "%ff", "library.json", "a" * 64):
        answer = served.get(f"/pictures/{name}{end}")
        assert problem(answer, 404)["status"] == 404
    problem(served.get(f"/pictures/{'a' * 65}{end}"), 422)


def test_placeholders_come_many_at_once_and_only_those_there_are(served: Served) -> None:
    served.get(f"/pictures/{served.ids[0]}/thumbnail")
    asked = {"ids": [served.ids[0], served.ids[7], "nobody"]}
    found = served.client.post(f"{API}/pictures/placeholders", json=asked).json()["placeholders"]
    assert list(found) == [served.ids[0]]
    assert found[served.ids[0]].startswith("data:image/webp;base64,")
    too_many = served.client.post(f"{API}/pictures/placeholders", json={"ids": ["x"] * 501})
    assert "500" in problem(too_many, 422)["detail"]


def test_many_who_scroll_at_once_get_all_their_thumbnails(served: Served) -> None:
    with ThreadPoolExecutor(8) as threads:
        paths = [f"/pictures/{name}/thumbnail" for name in served.ids[:6]] * 4
        answers = list(threads.map(served.get, paths))
    assert {answer.status_code for answer in answers} == {200}


# -- facts, likeness, regions


def test_where_a_file_lies_is_told_to_admins_at_this_machine_alone(served: Served) -> None:
    path, where = served.drawings[2].path, f"{API}/pictures/{served.ids[2]}"
    assert served.client.get(where).json()["paths"] == [str(path)]
    tokens = served.app.state.services.tokens
    for scopes, told in ((("read", "admin"), [str(path)]), (("read", "write", "download"), [])):
        secret = {"Authorization": f"Bearer {tokens.create('paths-' + scopes[-1], scopes).secret}"}
        assert served.client.get(where, headers=secret).json()["paths"] == told
        from_afar = served.client.get(where, headers=secret | {"X-Forwarded-For": "203.0.113.9"})
        assert from_afar.json()["paths"] == [] and str(path.parent) not in from_afar.text


def test_details_tell_what_is_known_and_no_folder_but_its_last_name(served: Served) -> None:
    drawing = served.drawings[2]
    answer = served.get(f"/pictures/{served.ids[2]}", headers={"Authorization": f"Bearer {served.reader}"})
    found = answer.json()
    assert found["names"] == [drawing.path.name]
    assert found["facts"]["width"] == 480 and found["facts"]["format"] == "PNG"
    assert (found["facts"]["folder"], found["facts"]["captured"]) == ("pictures", None)
    assert found["captions"] == [drawing.caption]
    assert found["attributes"]["colour"] == [drawing.top]
    assert found["known"] == []  # a drawing's file says nothing
    assert found["original"] is True
    assert str(drawing.path.parent) not in answer.text
    assert all(0 < chance <= 1 for _, chance in found["tags"].values())


def test_looking_around_shows_every_picture_once_a_page_at_a_time(served: Served) -> None:
    pages: list[dict[str, Any]] = []
    cursor: str | None = None
    while cursor is not None or not pages:
        page = served.client.post(f"{API}/pictures/browse", json={"n": 3, "cursor": cursor}).json()
        assert page["total"] == 8
        pages += page["pictures"]
        cursor = page["next"]
    assert [picture["id"] for picture in pages] == sorted(served.ids)
    assert {picture["name"] for picture in pages} == {drawing.path.name for drawing in served.drawings}


def test_looking_around_keeps_to_the_filters(served: Served) -> None:
    column = served.client.post(f"{API}/collection/facets", json={}).json()["facets"][0]
    value = column["values"][0]
    where = {column["column"]: value["value"]}
    assert served.client.post(f"{API}/pictures/browse", json={"where": where}).json()["total"] == value["count"]
    assert served.client.post(f"{API}/pictures/browse", json={"where": {"nothing": "x"}}).status_code == 422


def test_similar_pictures_leave_itself_out_and_come_in_pages(served: Served) -> None:
    whole = served.get(f"/pictures/{served.ids[0]}/similar", params={"n": 500}).json()
    assert whole["next"] is None
    assert [hit["rank"] for hit in whole["results"]] == list(range(1, 8))
    assert {hit["id"] for hit in whole["results"]} == set(served.ids[1:])
    scores = [hit["score"] for hit in whole["results"]]
    assert scores == sorted(scores, reverse=True)
    pages: list[dict[str, Any]] = []
    cursor: str | None = "0"
    while cursor is not None:
        page = served.get(f"/pictures/{served.ids[0]}/similar", params={"n": 3, "cursor": cursor}).json()
        pages += page["results"]
        cursor = page["next"]
    assert pages == whole["results"]


@pytest.mark.parametrize("cursor", ["x", "-1", "1.5", "٣", "9" * 20, " 1", ""])
def test_a_cursor_that_is_none_of_ours_is_refused(served: Served, cursor: str) -> None:
    answer = served.get(f"/pictures/{served.ids[0]}/similar", params={"cursor": cursor})
    assert problem(answer, 422)["detail"].startswith("query.cursor: ")


def test_beyond_the_last_picture_there_is_an_empty_page(served: Served) -> None:
    page = served.get(f"/pictures/{served.ids[0]}/similar", params={"cursor": "999999999"})
    assert page.json() == {"results": [], "next": None}


def test_where_answers_each_text_with_weights_over_a_grid(served: Served) -> None:
    drawing = served.drawings[3]
    texts = [drawing.top, drawing.bottom]
    found = served.get(f"/pictures/{served.ids[3]}/where", params={"text": texts}).json()
    assert [it["text"] for it in found["texts"]] == texts
    assert found["boxes"][35] == [0.8333, 0.8333, 1.0, 1.0]
    top, bottom = (it["weights"] for it in found["texts"])
    assert abs(sum(top) - 1) < 1e-3 and abs(sum(bottom) - 1) < 1e-3
    assert sum(top[:18]) > sum(top[18:]) and sum(bottom[18:]) > sum(bottom[:18])


@pytest.mark.parametrize("texts", [[], [""], ["red"] * 9, ["x" * 301]])
def test_where_wants_one_to_eight_texts(served: Served, texts: list[str]) -> None:
    problem(served.get(f"/pictures/{served.ids[3]}/where", params={"text": texts}), 422)


# -- originals


def test_an_original_comes_whole_or_in_parts(served: Served) -> None:
    content = served.drawings[0].path.read_bytes()
    where = f"/pictures/{served.ids[0]}/original"
    whole = served.get(where)
    assert (whole.status_code, whole.content, whole.headers["content-type"]) == (200, content, "image/png")
    assert whole.headers["content-disposition"] == f'inline; filename="{served.drawings[0].path.name}"'
    part = served.get(where, headers={"Range": "bytes=10-19"})
    assert (part.status_code, part.content) == (206, content[10:20])
    assert part.headers["content-range"] == f"bytes 10-19/{len(content)}"
    assert served.get(where, headers={"Range": "bytes=-5"}).content == content[-5:]
    assert served.get(where, headers={"Range": f"bytes={len(content)}-"}).status_code == 416
    for senseless in ("bytes=5-1,0-,-9", "bytes=", "lines=1-2", "x"):
        assert served.get(where, headers={"Range": senseless}).content == content
    assert served.get(where, headers={"If-None-Match": whole.headers["etag"]}).status_code == 304


def test_originals_are_given_to_this_machine_to_the_scope_and_to_all_only_where_that_is_allowed(
    drawn: tuple[Library, list[TinyPicture]],
) -> None:
    library, drawings = drawn
    name = picture_id(drawings[0].path.read_bytes())
    app = create_app(library, ServerSettings.model_validate({"originals": False}))
    with TestClient(app, base_url="http://localhost", client=("127.0.0.1", 123)) as client:
        tokens = app.state.services.tokens
        secrets = {scopes: tokens.create("-".join(scopes), scopes).secret for scopes in SCOPES_TRIED}
        for scopes, status in ((None, 200), *SCOPES_TRIED.items()):
            headers = {} if scopes is None else {"Authorization": f"Bearer {secrets[scopes]}"}
            answer = client.get(f"{API}/pictures/{name}/original", headers=headers)
            assert answer.status_code == status, scopes
            if status == 200:
                assert answer.content == drawings[0].path.read_bytes()
            if scopes is None or "read" in scopes:
                told = client.get(f"{API}/pictures/{name}", headers=headers).json()["original"]
                assert told is client.get(f"{API}/collection", headers=headers).json()["originals"] is (status == 200)
        refused = client.get(
            f"{API}/pictures/{name}/original", headers={"Authorization": f"Bearer {secrets[('read',)]}"}
        )
        assert "'download'" in problem(refused, 403)["detail"]


SCOPES_TRIED = {("read",): 403, ("read", "write", "admin"): 403, ("download",): 403, ("read", "download"): 200}
"""Scopes of a token, and how it is answered that asks for a file."""


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("plain.png", 'filename="plain.png"'),
        ("Köln & Umgebung.png", "filename=\"Koln & Umgebung.png\"; filename*=UTF-8''K%C3%B6ln%20&%20Umgebung.png"),
        (
            'say "cheese"; x=1.png',
            "filename=\"say _cheese_; x=1.png\"; filename*=UTF-8''say%20%22cheese%22%3B%20x%3D1.png",
        ),
        ("雪.png", "filename=\".png\"; filename*=UTF-8''%E9%9B%AA.png"),
        ("a\nSet-Cookie: x.png", "filename=\"a_Set-Cookie_ x.png\"; filename*=UTF-8''a_Set-Cookie%3A%20x.png"),
    ],
)
def test_a_file_is_saved_under_its_own_name(
    served: Served, name: str, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = find_original(served.library, served.ids[0])
    monkeypatch.setattr(picture_routes, "find_original", lambda *_: replace(found, name=name))
    answer = served.get(f"/pictures/{served.ids[0]}/original", params={"download": "1"})
    assert (answer.status_code, answer.content) == (200, served.drawings[0].path.read_bytes())
    assert answer.headers["content-disposition"] == f"attachment; {told}"
    assert "set-cookie" not in answer.headers


def test_a_program_learns_what_it_would_get_before_it_fetches_it(served: Served) -> None:
    drawing = served.drawings[0]
    answer = served.client.head(f"{API}/pictures/{served.ids[0]}/original", params={"download": "1"})
    assert (answer.status_code, answer.content) == (200, b"")
    assert answer.headers["content-length"] == str(drawing.path.stat().st_size)
    assert answer.headers["accept-ranges"] == "bytes"
    assert answer.headers["content-disposition"] == f'attachment; filename="{drawing.path.name}"'


@pytest.mark.parametrize(
    "place", ["/collection", "/sessions", "/health/live", "/metrics", "/pictures/{id}", "/pictures/{id}/thumbnail"]
)
def test_what_is_given_at_once_is_asked_for_without_its_body(served: Served, place: str) -> None:
    address = API + place.format(id=served.ids[0])
    got, asked = served.client.get(address), served.client.head(address)
    assert (asked.status_code, asked.headers["content-type"]) == (200, got.headers["content-type"])
    assert int(asked.headers["content-length"]) > 0
    assert served.client.head(f"{API}/pictures/nowhere").status_code == 404


@pytest.mark.parametrize("place", ["/feedback", "/collection/jobs/1/events", "/search"])
def test_what_is_streamed_or_sent_is_not_begun_by_asking_without_its_body(served: Served, place: str) -> None:
    refused = served.client.head(API + place)
    assert refused.status_code == 405 and "HEAD" not in refused.headers["allow"]


def test_a_file_with_other_words_in_it_is_another_version_of_the_picture(served: Served) -> None:
    drawing, name = served.drawings[5], served.ids[5]
    before = drawing.path.read_bytes()
    first = served.get(f"/pictures/{name}/original")
    assert first.headers["etag"] == f'"{name}"'
    try:
        with Image.open(BytesIO(before)) as image:
            told = PngInfo()
            told.add_text("Title", "a boat")
            image.save(drawing.path, pnginfo=told)
        second = served.get(f"/pictures/{name}/original", headers={"If-None-Match": first.headers["etag"]})
        assert (second.status_code, second.content) == (200, drawing.path.read_bytes())
        assert second.headers["etag"] == f'"{picture_id(second.content)}"'
        assert second.headers["cache-control"] == "private, no-cache"
        part = {"Range": "bytes=0-3", "If-Range": first.headers["etag"]}
        assert (
            served.get(f"/pictures/{name}/original", headers=part).status_code == 200
        )  # of another version: all of it
    finally:
        drawing.path.write_bytes(before)


def test_a_file_that_became_another_is_never_given_out(served: Served) -> None:
    drawing, name = served.drawings[6], served.ids[6]
    before = drawing.path.read_bytes()
    try:
        drawing.path.write_bytes(b"a secret, put where the picture was")
        for end in ("original", "thumbnail?size=1280", "where?text=red"):
            answer = served.get(f"/pictures/{name}/{end}")
            problem(answer, 422)
            assert "secret" not in answer.text
    finally:
        drawing.path.write_bytes(before)
    assert served.get(f"/pictures/{name}/original").content == before


def test_a_picture_of_which_no_file_is_left_is_gone(served: Served) -> None:
    drawing, name = served.drawings[7], served.ids[7]
    before = drawing.path.read_bytes()
    drawing.path.unlink()
    try:
        for end in ("original", "thumbnail?size=1280", "where?text=red"):
            assert problem(served.get(f"/pictures/{name}/{end}"), 410)["title"] == "gone"
        assert served.get(f"/pictures/{name}").status_code == 200
    finally:
        drawing.path.write_bytes(before)


# -- uploads


def test_an_upload_is_told_seen_and_forgotten(served: Served) -> None:
    content = png("orange", (400, 300))
    answer = served.send(content, "../../../etc/passwd")
    told = answer.json()
    assert answer.status_code == 201
    assert told["picture"] == picture_id(content)
    assert (told["width"], told["height"], told["bytes"], told["known"]) == (400, 300, len(content), False)
    assert told["created"].endswith("Z")
    where = f"/uploads/{told['id']}"
    copy = served.get(f"{where}/thumbnail")
    assert size_of(copy.content) == (320, 240)
    assert served.get(f"{where}/thumbnail", headers={"If-None-Match": copy.headers["etag"]}).status_code == 304
    assert served.client.delete(API + where).status_code == 204
    problem(served.client.delete(API + where), 404)
    problem(served.get(f"{where}/thumbnail"), 404)


def test_an_upload_says_whether_the_library_has_it(served: Served) -> None:
    assert served.send(served.drawings[0].path.read_bytes()).json()["known"] is True


def test_the_fifth_upload_takes_the_place_of_the_first(served: Served) -> None:
    sent = [served.send(png("blue", (number, 9))).json()["id"] for number in range(1, 6)]
    seen = [served.get(f"/uploads/{upload}/thumbnail").status_code for upload in sent]
    assert seen == [404, 200, 200, 200, 200]


def test_what_is_no_picture_is_refused_in_words(served: Served) -> None:
    for content, why in (
        (b"", "empty file"),
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "not a picture"),
        (b"PK\x03\x04" + bytes(100), "not a picture"),
        (png("red", (1000, 501)), "too many pixels"),
        (served.drawings[0].path.read_bytes()[:60], "PNG"),
    ):
        assert why in problem(served.send(content, "photo.jpg"), 422)["detail"]


def test_an_upload_that_is_too_large_is_refused(served: Served) -> None:
    problem(served.send(bytes(UPLOAD_BYTES + 1)), 413)
    problem(served.send(bytes(UPLOAD_BYTES + 100_000)), 413)


def test_a_body_without_a_length_is_refused_when_it_is_too_large(served: Served) -> None:
    def pieces() -> Iterator[bytes]:
        yield b'--b\r\nContent-Disposition: form-data; name="file"; filename="x"\r\n\r\n'
        yield from (bytes(10_000) for _ in range(30))

    kind = {"Content-Type": "multipart/form-data; boundary=b"}
    problem(served.client.post(f"{API}/uploads", content=pieces(), headers=kind), 413)


def test_other_forms_and_bodies_are_refused(served: Served) -> None:
    problem(served.client.post(f"{API}/uploads", files={"photo": ("a.png", png("red"))}), 422)
    problem(served.client.post(f"{API}/uploads", json={"file": "/etc/passwd"}), 415)
    problem(served.client.post(f"{API}/uploads"), 415)


def test_nothing_is_left_of_what_was_refused(served: Served) -> None:
    served.send(b"nothing")
    folder = served.library.folder / "server" / "uploads"
    assert [item.name for item in folder.glob(".*.part")] == []


# -- adding


def test_a_picture_that_the_library_has_needs_no_job(served: Served) -> None:
    answer = served.send(served.drawings[0].path.read_bytes(), to="/pictures")
    assert answer.status_code == 202
    assert answer.json() == {"picture": served.ids[0], "job": None}
    assert list((served.library.folder / "pictures").iterdir()) == []


def test_what_is_no_picture_does_not_come_into_the_library(served: Served) -> None:
    problem(served.send(b"words", "../../x.png", to="/pictures"), 422)
    assert list((served.library.folder / "pictures").iterdir()) == []


def test_what_is_not_in_the_library_cannot_be_removed(served: Served) -> None:
    problem(served.client.delete(f"{API}/pictures/nobody"), 404)


@pytest.mark.slow
def test_a_picture_sent_to_the_library_is_found_in_it_after_its_job_and_gone_after_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the encoder in the box, here as in the job, which is a process of its own."""
    monkeypatch.setattr(viewfinder.library, "load_encoder", load_encoder)
    app = create_app(Library.open(tmp_path / "library"), ServerSettings.model_validate({}))
    content = png("red", (200, 100))
    with TestClient(app, base_url="http://localhost", client=("127.0.0.1", 123)) as client:
        told = client.post(f"{API}/pictures", files={"file": ("holiday.png", content)}).json()
        assert told["picture"] == picture_id(content)
        end = time.monotonic() + 120
        while (found := client.get(f"{API}/pictures/{told['picture']}")).status_code == 404:
            state = client.get(f"{API}/collection/jobs/{told['job']}").json()
            assert state["state"] != "failed" and time.monotonic() < end, json.dumps(state)
            time.sleep(0.1)
        assert found.json()["names"] == [f"{told['picture']}.png"]
        assert size_of(client.get(f"{API}/pictures/{told['picture']}/thumbnail").content) == (200, 100)
        job = client.delete(f"{API}/pictures/{told['picture']}").json()["job"]
        state = {"state": "queued"}
        while client.get(f"{API}/pictures/{told['picture']}").status_code != 404 or state["state"] != "done":
            state = client.get(f"{API}/collection/jobs/{job}").json()
            assert state["state"] != "failed" and time.monotonic() < end + 120, json.dumps(state)
            time.sleep(0.1)
        assert state["report"] == {"removed": 1}
        kept = [file for name in ("pictures", "thumbnails") for file in (tmp_path / "library" / name).rglob("*.*")]
        assert kept == []
