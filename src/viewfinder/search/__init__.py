"""Numbers in, a ranking out: a query, and what answers add to it, over the pictures of a snapshot.

ranking, hits   `Ranking`: the order of a gallery for one query; `Hits`
gallery       `Gallery`: a snapshot seen through its encoder; it scores pictures for a query
parts, kernels   queries over one vector a picture: their parts, merged where they can be, and the scan
late_interaction, region_scores   queries over many vectors a picture, and their kernels
near_scores, approximate, index_files   large collections: turns over the index, the index, and where it lies
shard_scores  one answer made of those of several machines (`viewfinder.cluster`)
written_words   what people wrote about pictures, as text
verdicts, own_scale, explanation   what a score means, in this library too, and how it comes about
raw_vectors   the vectors from which trained systems make their own; grounding: which part of a picture answers a word
"""
