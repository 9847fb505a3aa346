"""Many machines by Ray: pictures embedded, and shards of a library searched, by actors (docs/cluster.md)."""

from viewfinder.cluster.actors import LOCAL, ray_session
from viewfinder.cluster.embedding import ActorEmbedder
from viewfinder.cluster.searching import ActorShards

__all__ = ["LOCAL", "ActorEmbedder", "ActorShards", "ray_session"]
