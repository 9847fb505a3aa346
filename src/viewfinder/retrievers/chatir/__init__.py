"""ChatIR (Levy et al., NeurIPS 2023): a caption, then questions and answers, read into the space of pictures."""
