"""Work that threads share, and products that none of them shares."""

from __future__ import annotations

import multiprocessing
import threading
from collections import Counter
from multiprocessing.synchronize import Event

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from viewfinder.processors import share_out, use_one_blas_thread
from viewfinder.search.kernels import SHARED_NUMBERS, dot_scores


@pytest.fixture(autouse=True)
def three_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "3")


def count_blas_threads() -> set[int]:
    """Those of numpy's products; of a library that brings its own, other tests may have loaded any."""
    libraries = [library for library in threadpool_info() if library["user_api"] == "blas"]
    return {library["num_threads"] for library in libraries if "numpy" in library["filepath"]}


@pytest.mark.parametrize("threads", ["1", "2", "3"])
@pytest.mark.parametrize("tasks", [0, 1, 2, 50])
def test_each_task_is_done_once(threads: str, tasks: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", threads)
    done = Counter[int]()
    share_out(lambda task: done.update([task]), range(tasks))
    assert done == Counter(range(tasks))


def test_tasks_run_beside_one_another() -> None:
    both = threading.Barrier(2)

    def meet(task: int) -> None:
        both.wait(timeout=60)  # raises if one task ends before the other begins

    share_out(meet, range(2))


def test_tasks_that_share_out_their_own_work_end() -> None:
    done = Counter[tuple[int, int]]()

    def work(outer: int) -> None:
        share_out(lambda inner: done.update([(outer, inner)]), range(4))

    share_out(work, range(8))
    assert done == Counter((outer, inner) for outer in range(8) for inner in range(4))


@pytest.mark.parametrize("wrong", range(6))
def test_what_a_task_raises_reaches_who_asked_and_work_goes_on_afterwards(wrong: int) -> None:
    def work(task: int) -> None:
        if task == wrong:
            raise IndexError(f"task {task}")

    with pytest.raises(IndexError, match=f"task {wrong}"):
        share_out(work, range(6))
    done = Counter[int]()
    share_out(lambda task: done.update([task]), range(6))
    assert done == Counter(range(6))


def _share_in_child(ended: Event) -> None:
    share_out(lambda task: None, range(6))
    ended.set()


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="the system does not fork")
def test_a_fork_shares_work_with_threads_of_its_own() -> None:
    share_out(lambda task: None, range(6))
    context = multiprocessing.get_context("fork")
    ended = context.Event()
    child = context.Process(target=_share_in_child, args=(ended,))
    child.start()
    child.join(timeout=60)
    assert ended.is_set()


def test_products_have_one_thread_until_the_last_who_wants_it_leaves() -> None:
    before = count_blas_threads()
    with use_one_blas_thread():
        first = use_one_blas_thread()
        with use_one_blas_thread():
            first.__enter__()
            assert count_blas_threads() <= {1}  # none on a Mac
        assert count_blas_threads() <= {1}
    assert count_blas_threads() <= {1}  # the one that came in between is still here
    first.__exit__(None, None, None)
    assert count_blas_threads() == before


def test_products_have_their_threads_back_after_an_error() -> None:
    before = count_blas_threads()
    with pytest.raises(ZeroDivisionError), use_one_blas_thread():
        1 / 0  # noqa: B018
    assert count_blas_threads() == before


@pytest.mark.parametrize("queries", [(), (3,)])
def test_a_matrix_that_threads_share_has_the_scores_of_one_product(queries: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    width = 64
    matrix_nd = rng.standard_normal((2 * SHARED_NUMBERS // width + 5, width), np.float32)
    query = rng.standard_normal((*queries, width), np.float32)
    assert np.allclose(dot_scores(matrix_nd, query), (matrix_nd @ query.T).T, atol=1e-5)
