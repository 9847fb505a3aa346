"""The encoder in the box: works with no network, trained by `viewfinder train starter`."""

from viewfinder.encoders.starter.encoder import StarterEncoder

__all__ = ["StarterEncoder"]
