"""ChatIR (Levy et al., NeurIPS 2023): a caption, then questions and answers, encoded into the space of pictures."""
