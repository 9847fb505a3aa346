"""Global and region vectors of a data set's pictures: computed once, kept in files, looked up by the picture's name."""

from viewfinder.encoders.features.brought import read_vectors
from viewfinder.encoders.features.compute import features
from viewfinder.encoders.features.lookup import Features, NoFeatures, Source

__all__ = ["Features", "NoFeatures", "Source", "features", "read_vectors"]
