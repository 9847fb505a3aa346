"""The relative captioner of Fashion IQ (Wu et al., CVPR 2021, Sec. 4.1): says how a wanted picture differs."""
