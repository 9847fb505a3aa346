"""A picture is opened where it lies, for somebody who sits there."""

from __future__ import annotations

import shutil
import stat
import sys
import time
from pathlib import Path

import pytest

from tests.server.taking.conftest import Served
from viewfinder.library import Library

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="other systems have other programs that open files")


@pytest.fixture
def opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where what was opened is noted, by an `xdg-open` of our own on a desktop that is said to be there."""
    folder, told = tmp_path / "bin", tmp_path / "opened"
    folder.mkdir()
    program = folder / "xdg-open"
    program.write_text(f'#!/bin/sh\nprintf "%s\\n" "$#" "$1" > {told}.part\nmv {told}.part {told}\n')
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    monkeypatch.setenv("DISPLAY", ":0")
    return told


def read(told: Path) -> list[str]:
    end = time.monotonic() + 60
    while not told.exists():
        assert time.monotonic() < end
        time.sleep(0.01)
    return told.read_text().splitlines()


@pytest.mark.parametrize("how", ["open", "folder"])
def test_a_picture_is_opened_or_shown_in_its_folder(served: Served, opened: Path, how: str) -> None:
    answer = served.ask("POST", f"/pictures/{served.ids[0]}/open", {"how": how})
    assert (answer.status_code, answer.content) == (204, b"")
    assert read(opened) == ["1", str(served.files[0] if how == "open" else served.files[0].parent)]


def test_a_system_without_a_program_for_it_says_so(served: Served, opened: Path, tmp_path: Path) -> None:
    (tmp_path / "bin" / "xdg-open").write_text("#!/bin/sh\nexit 3\n")
    told = served.fails(409, "POST", f"/pictures/{served.ids[0]}/open", {"how": "open"})
    assert told["type"].endswith(":not-opened")


def test_without_a_desktop_that_is_said(served: Served, opened: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DISPLAY")
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    told = served.fails(409, "POST", f"/pictures/{served.ids[0]}/open", {"how": "open"})
    assert told["type"].endswith(":no-desktop") and not opened.exists()


def test_nobody_but_the_machines_own_people_may_open_anything(served: Served, opened: Path) -> None:
    where, body = f"/pictures/{served.ids[0]}/open", {"how": "open"}
    served.someone("ada", "read", "write", "download").fails(403, "POST", where, body)
    chief = served.someone("chief", "admin")
    for header in ({"X-Forwarded-For": "203.0.113.9"}, {"Host": "pictures.example", "Via": "1.1 proxy"}):
        assert chief.fails(409, "POST", where, body, headers=header)["type"].endswith(":not-here")
    assert served.fails(
        403, "POST", where, body, headers={"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example"}
    )
    assert not opened.exists()
    assert chief.ask("POST", where, body).status_code == 204  # at the machine


def test_a_path_opens_nothing_nor_does_a_file_that_is_gone_or_another(served: Served, opened: Path) -> None:
    for name in ("nobody", "..%2f..%2fetc", "%2fetc%2fpasswd"):
        served.fails(404, "POST", f"/pictures/{name}/open", {"how": "open"})
    for body in ({}, {"how": "run"}, {"how": "open", "path": "/etc/passwd"}, {"how": None}):
        served.fails(422, "POST", f"/pictures/{served.ids[0]}/open", body)
    served.files[1].unlink()
    served.fails(410, "POST", f"/pictures/{served.ids[1]}/open", {"how": "open"})
    served.files[2].write_bytes(b"something else")
    served.fails(422, "POST", f"/pictures/{served.ids[2]}/open", {"how": "folder"})
    assert not opened.exists()


def test_a_picture_that_is_called_as_programs_are_is_only_shown_in_its_folder(served: Served, opened: Path) -> None:
    odd = served.files[0].with_suffix(".desktop")
    shutil.move(served.files[0], odd)
    library = Library.open(served.library.folder, create=False)
    library.add(odd, workers=1)
    served.app.state.services.library.look_now()
    end = time.monotonic() + 60
    while str(odd) not in served.get(f"/pictures/{served.ids[0]}")["paths"]:
        assert time.monotonic() < end
        time.sleep(0.05)
    told = served.fails(409, "POST", f"/pictures/{served.ids[0]}/open", {"how": "open"})
    assert told["type"].endswith(":not-opened") and not opened.exists()
    assert served.ask("POST", f"/pictures/{served.ids[0]}/open", {"how": "folder"}).status_code == 204
    assert read(opened)[1] == str(odd.parent)
