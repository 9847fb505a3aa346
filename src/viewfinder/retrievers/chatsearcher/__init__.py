"""ChatSearcher (Zhao et al. 2024): one language model reads words and pictures of a dialogue, writes and retrieves."""
