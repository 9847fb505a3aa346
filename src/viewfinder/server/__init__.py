"""The page and the API over a library."""
