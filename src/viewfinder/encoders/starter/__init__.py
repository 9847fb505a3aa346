"""The built-in encoder: works with no network, trained by `viewfinder train starter`."""

from viewfinder.encoders.starter.encoder import StarterEncoder

__all__ = ["StarterEncoder"]
