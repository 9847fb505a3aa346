"""Numbers in, a ranking out: a query, and what answers add to it, over the pictures of a snapshot.

ranking, hits   `Ranking`: the order of a gallery for one query; `Hits`
judging       what was said, judged by its scores: verdicts, own_scale   what a score means, in this library too
turn_scores, scores, kernels   the scores that a turn needs; those of all pictures for a query; the scan
parts         parts of a query that are more than one dot product
gallery       `Gallery`: a snapshot seen through its encoder; measures   what likeness means there
picture_reading   a picture as a retriever reads it
regions, late_interaction, region_scores   many vectors a picture: where they come from, their scores, kernels
near_scores, indexed_pictures, samples, approximate, index_files   large collections: the scores of the best,
              candidates, estimates for all; the index, and where it lies
shard_scores  one answer made of those of several machines (`viewfinder.cluster`)
written_words   what people wrote about pictures, as text
explanation   how a score comes about
raw_vectors   the vectors from which trained systems make their own; grounding: which part of a picture answers a word
"""
