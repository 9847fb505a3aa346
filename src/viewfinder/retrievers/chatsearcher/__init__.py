"""ChatSearcher (Zhao et al. 2024): one language model that reads a talk of words and pictures, writes and retrieves."""
