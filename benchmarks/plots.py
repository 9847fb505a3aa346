"""The plots of docs/images: the same figures give the same plot, and a plot is redrawn only when its figures change."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Plot:
    """A file, the figures that it shows (as JSON holds them), and what draws them on a pair of axes."""

    name: str
    figures: Any
    paint: Callable[[Any, Any], None]
    inches: tuple[float, float] = (6.0, 3.5)

    def renew(self, folder: Path, *, check: bool) -> bool:
        """Draws it anew if it is of other figures, unless it is only to be checked; whether it was."""
        file = folder / self.name
        stale = not file.is_file() or fingerprint(self.figures) not in file.read_text(encoding="utf-8")
        if stale and not check:
            file.write_text(self.draw(), encoding="utf-8")
        return stale

    def draw(self) -> str:
        """The plot as SVG."""
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib import pyplot

        with matplotlib.rc_context({"svg.hashsalt": self.name, "svg.fonttype": "none", "font.size": 9}):
            figure, axes = pyplot.subplots(figsize=self.inches, layout="constrained")
            self.paint(axes, self.figures)
            written = io.StringIO()
            about = {"Date": None, "Description": fingerprint(self.figures)}
            figure.savefig(written, format="svg", metadata=about)
            pyplot.close(figure)
        return "\n".join(line.rstrip() for line in written.getvalue().splitlines()) + "\n"


def fingerprint(figures: Any) -> str:
    """A mark in a drawing that identifies its figures, so that a check need not draw."""
    return "drawn of " + hashlib.sha256(json.dumps(figures).encode()).hexdigest()[:16]
