"""A live conversation."""
