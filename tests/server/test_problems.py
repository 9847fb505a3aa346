from __future__ import annotations

import errno
import os

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

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
