"""The dialogues of one file, and what was decided about them so far."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from filelock import FileLock, Timeout

from viewfinder.data.chatsearch import (
    ChatSample,
    ChatTurn,
    ImageItem,
    Review,
    Verdict,
    add_review,
    apply_reviews,
    read_chatsearch,
    read_reviews,
    review_file,
)
from viewfinder.data.files import need_folder
from viewfinder.errors import BadInput, PictureError
from viewfinder.pictures import load_thumbnail
from viewfinder.server.pictures.library import hash_file
from viewfinder.server.problems import Problem, not_found


class Reviews:
    """Dialogues in the order of their file, their pictures, and the last decision about each; for many threads.

    A decision is in the journal before `decide` returns.
    """

    def __init__(self, file: Path, images: Path, samples: Iterable[ChatSample], decided: Mapping[str, Review]) -> None:
        self.file, self.images = file, images
        self._samples = {sample.id: sample for sample in samples}
        self._decided = dict(decided)
        self._deciding = threading.Lock()
        named = (name for sample in self._samples.values() for name in (*sample.images(), sample.target))
        self.pictures = frozenset(named)
        """The pictures that the dialogues name."""

    def all(self) -> list[tuple[ChatSample, Review | None]]:
        """Every dialogue, and what was decided about it."""
        return [(sample, self._decided.get(name)) for name, sample in self._samples.items()]

    def sample(self, name: str) -> tuple[ChatSample, Review | None]:
        """A dialogue, and what was decided about it; Problem 404 where there is none of this name."""
        if name not in self._samples:
            raise not_found("dialogue", name)
        return self._samples[name], self._decided.get(name)

    def kept(self) -> list[ChatSample]:
        """Dialogues that were accepted, and those that were rewritten, with their new words."""
        with self._deciding:
            return apply_reviews(self._samples.values(), self._decided)

    def decide(self, review: Review, before: Verdict | None) -> None:
        """Notes a decision, made when the decision before it was `before` (None: there was none).

        Raises:
            Problem: 404 as `sample`; 409, another decision was made in the meantime.
            BadInput: other words were to be put into it, and it is other pictures or speakers, or nothing new.
        """
        sample, _ = self.sample(review.id)
        if review.turns:
            _check_rewritten(sample, review.turns)
        with self._deciding:
            standing = self._decided.get(review.id)
            if standing and standing.verdict != before:
                who = f"{standing.by or 'somebody'} has decided about this dialogue in the meantime"
                raise Problem(409, "decided-meanwhile", f"{who}: {standing.verdict}")
            add_review(review_file(self.file), review)
            self._decided[review.id] = review

    def picture(self, name: str) -> Path:
        """The file of a picture that a dialogue names; Problem 404 for others, and for what lies outside the folder."""
        path = PurePosixPath(name)
        if name not in self.pictures or path.is_absolute() or ".." in path.parts:
            raise not_found("picture", name)
        return self.images / path


@contextmanager
def open_reviews(file: Path, images: Path | None, notify: Callable[[str], None]) -> Iterator[Reviews]:
    """Opens a file of dialogues for one process at a time.

    Args:
        file: the dialogues, as `data.chatsearch` reads them.
        images: the folder of their pictures; None: that which `guess_images_folder` finds.
        notify: hears of what is not right and does not matter.

    Raises:
        BadInput: a file or folder is missing or damaged, none of the pictures is there, the journal cannot be
            written, or another process has it open.
    """
    samples, _ = read_chatsearch(file)
    if not samples:
        raise BadInput(f"{file}: no dialogue is in this file; name another")
    with _lock_journal(review_file(file)):
        decided = read_reviews(review_file(file), notify=notify)
        opened = Reviews(file, need_folder(images or guess_images_folder(file)), samples, decided)
        _check_pictures(opened, notify)
        yield opened


def guess_images_folder(file: Path) -> Path:
    """Where the pictures of a file most likely lie: `world` and `construct` put dialogues into DATA/chatsearch.

    >>> guess_images_folder(Path("data/chatsearch/tChat_train.jsonl")).as_posix()
    'data'
    """
    return file.parent.parent if file.parent.name == "chatsearch" else file.parent


def _check_pictures(reviews: Reviews, notify: Callable[[str], None]) -> None:
    missing = sorted(name for name in reviews.pictures if not (reviews.images / name).is_file())
    if len(missing) == len(reviews.pictures):
        what = f"{reviews.images}: none of the pictures of {reviews.file.name} is in this folder ({missing[0]}, ...)"
        raise BadInput(f"{what}; name their folder with --images")
    if missing:
        notify(f"{reviews.images}: {len(missing):,} of the pictures are not there ({missing[0]}, ...)")


def _check_rewritten(sample: ChatSample, turns: tuple[ChatTurn, ...]) -> None:
    """Other words for the same pictures, said by the same speakers."""
    spoken, made = (
        [(turn.role, [item for item in turn.content if isinstance(item, ImageItem)]) for turn in some]
        for some in (turns, sample.turns)
    )
    if spoken != made:
        raise BadInput(f"dialogue {sample.id}: only words can be rewritten; speakers and pictures stay as they are")
    if turns == sample.turns:
        raise BadInput(f"dialogue {sample.id}: this is what it says already; accept it")


@contextmanager
def _lock_journal(journal: Path) -> Iterator[None]:
    lock = FileLock(journal.with_name(f".{journal.name}.lock"))
    try:
        with lock.acquire(timeout=0):
            yield
    except Timeout:
        what = f"{journal}: another `viewfinder review` has this file open"
        raise BadInput(f"{what}; use its page, or end it first") from None
    except PermissionError as error:
        raise BadInput(f"{journal}: cannot be written ({error.strerror}); check the folder") from error


def make_small_copy(file: Path, size: int, cache: Path) -> bytes:
    """A JPEG of a picture, its longer side at most `size` pixels; PictureError where the file is none."""
    try:
        status = file.stat()
        content = hash_file(file, status.st_size, status.st_mtime_ns, status.st_ino)
    except OSError as error:
        raise PictureError(f"{file.name}: cannot be read ({error.strerror})") from error
    return load_thumbnail(file, content, cache, longest=size)
