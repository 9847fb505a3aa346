"""Global and region vectors of a data set's pictures: computed once, kept in files, looked up by picture name."""

from viewfinder.encoders.features.compute import features
from viewfinder.encoders.features.precomputed import read_vectors
from viewfinder.encoders.features.store import DroppedPicture, Features, PictureFile

__all__ = ["DroppedPicture", "Features", "PictureFile", "features", "read_vectors"]
