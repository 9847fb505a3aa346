"""Constructed dialogues before a person: what is looked at, what is decided, and the app that serves it."""

from viewfinder.server.reviewing.reviews import Reviews

__all__ = ["Reviews"]
