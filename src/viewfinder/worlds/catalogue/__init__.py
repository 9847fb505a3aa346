"""Worlds of articles: drawn, or real product photos, with everything that Fashion IQ and its kin have of them.

Read it as items (the truth, drawn by lot or read of photos) -> garments (pixels), statements (what is true of one
article seen from another) -> pairs, transactions (words) -> write (files).
"""

from viewfinder.worlds.catalogue.write import write_catalogue

__all__ = ["write_catalogue"]
