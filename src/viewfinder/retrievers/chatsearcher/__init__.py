"""ChatSearcher (Zhao et al. 2024): one language model that reads words and pictures, writes and retrieves."""
