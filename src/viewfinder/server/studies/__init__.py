"""Studies with people: the plan, what a participant meets, and the figures, by the same measures as simulated users."""

from viewfinder.server.studies.studies import Studies

__all__ = ["Studies"]
