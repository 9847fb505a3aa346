"""Work that threads share, and products that none of them shares."""

from __future__ import annotations

import multiprocessing
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
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


@contextmanager
def another_turn() -> Iterator[None]:
    """Another thread is in `use_one_blas_thread`, until the end."""
    begun, ended = threading.Event(), threading.Event()

    def stay() -> None:
        with use_one_blas_thread():
            begun.set()
            ended.wait(timeout=60)

    thread = threading.Thread(target=stay)
    thread.start()
    assert begun.wait(timeout=60)
    yield
    ended.set()
    thread.join(timeout=60)


def list_workers(tasks: int) -> set[int]:
    """The threads that do some tasks, of which the first waits until another thread has begun with one, or gives up."""
    met, done_by = threading.Event(), list[int]()

    def work(task: int) -> None:
        done_by.append(threading.get_ident())
        if len(set(done_by)) > 1:
            met.set()
        if task == 0:
            met.wait(timeout=1)

    share_out(work, range(tasks))
    return set(done_by)


def test_products_have_one_thread_until_the_last_who_wants_it_leaves() -> None:
    before = count_blas_threads()
    with another_turn():
        with use_one_blas_thread(), use_one_blas_thread():
            assert count_blas_threads() <= {1}  # none on a Mac
        assert count_blas_threads() <= {1}  # the other is still there
    assert count_blas_threads() == before


def test_beside_another_turn_a_turn_does_its_work_alone() -> None:
    with use_one_blas_thread(), use_one_blas_thread():
        assert len(list_workers(3)) > 1
        with another_turn():
            assert list_workers(3) == {threading.get_ident()}


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
