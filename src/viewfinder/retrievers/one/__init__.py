"""One retriever for every kind of conversation: the composer, and what the trained systems make of it."""
