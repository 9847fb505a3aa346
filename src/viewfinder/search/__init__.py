"""Numbers in, a ranking out: galleries, kernels, verdicts, written words."""
