"""From the truth of a scene to its pixels: a brush, sprites of things, backgrounds of places."""
