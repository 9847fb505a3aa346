"""The cache of retrievers' states after turns, one for the whole process."""

from __future__ import annotations

from viewfinder.byte_cache import ByteCache

MEMO = ByteCache()
"""Retrievers' states after turns, shared in the process: a turn costs one step, going back costs nothing."""
