"""The browser that tests of pages run in."""

from __future__ import annotations

import shutil

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser")
"""The first that is installed. A new page takes the whole browser, with its own windows, eight times as much work."""

CHROMIUM = next(filter(None, map(shutil.which, NAMES)), None)
