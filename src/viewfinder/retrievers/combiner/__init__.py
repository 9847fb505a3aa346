"""The Combiner of CLIP4Cir, over several turns."""
