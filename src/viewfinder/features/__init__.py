"""Global and region vectors of a data set's pictures: computed once, kept in files, looked up by the picture's name."""

from viewfinder.features.brought import read_vectors
from viewfinder.features.compute import features
from viewfinder.features.lookup import Features, NoFeatures, Source

__all__ = ["Features", "NoFeatures", "Source", "features", "read_vectors"]
