from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from viewfinder.retrievers import load_retriever
from viewfinder.server import problems


@pytest.mark.parametrize(("number", "status"), [(errno.ENOSPC, 507), (errno.EDQUOT, 507), (errno.EIO, 500)])
def test_a_full_disk_is_told_from_other_failures_of_the_system(number: int, status: int) -> None:
    app = FastAPI()
    problems.install_problems(app)

    @app.get("/write")
    def write() -> None:
        raise OSError(number, os.strerror(number), "/secret/place")

    answer = TestClient(app, raise_server_exceptions=False).get("/write")
    assert answer.status_code == answer.json()["status"] == status
    assert "secret" not in answer.text


def test_a_bug_of_another_packages_part_is_told_with_its_package_and_without_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "lab_of_problems.py").write_text(
        "class Finder:\n"
        "    name, reads, begin, step = 'finder', None, None, None\n"
        "    def query(self, state):\n"
        "        return 1 / 0\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    retriever = load_retriever("lab_of_problems:Finder")
    app = FastAPI()
    problems.install_problems(app)

    @app.get("/find")
    def find() -> None:
        retriever.query(None)

    answer = TestClient(app, raise_server_exceptions=False).get("/find")
    assert answer.status_code == 500
    assert answer.json()["type"] == "urn:viewfinder:problem:part-failed"
    assert answer.json()["detail"].startswith(
        "the retriever lab_of_problems:Finder of the module lab_of_problems failed "
        "(ZeroDivisionError: division by zero, lab_of_problems.py:4)"
    )
    assert str(tmp_path) not in answer.text
