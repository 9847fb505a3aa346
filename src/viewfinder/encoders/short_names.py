"""The names of the short list of models (`models.toml`), which is not read to know whether a name is one of them."""

SHORT_NAMES = ("clip", "clip-laion", "siglip", "siglip2", "multilingual")
