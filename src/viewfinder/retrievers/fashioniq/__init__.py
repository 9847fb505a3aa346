"""Fashion IQ: relative feedback with attributes (Wu et al., CVPR 2021)."""
