"""How long a job will still take, by its speed of the last half minute or so."""

from __future__ import annotations

HALF_LIFE_S = 20.0
"""After this much work, what was seen before counts half."""


class Eta:
    """Told how far the work is, now and then; times in seconds, of any one clock."""

    def __init__(self) -> None:
        self._items, self._seconds = 0.0, 0.0  # seen so far, the older the less they count
        self._last: tuple[int, float] | None = None
        self._total = 0

    def note(self, done: int, total: int, at: float) -> None:
        """The first note only starts the clock: what came before it was preparation."""
        if self._last is not None:
            before, since = self._last
            spent = max(at - since, 1e-3)
            kept = 0.5 ** (spent / HALF_LIFE_S)
            self._items = self._items * kept + max(done - before, 0)
            self._seconds = self._seconds * kept + spent
        self._last, self._total = (done, at), total

    def left_s(self, at: float) -> float | None:
        """Seconds that are left; None while the speed is not known."""
        if self._last is None or not self._items:
            return None
        done, since = self._last
        return max((self._total - done) * self._seconds / self._items - (at - since), 0.0)
