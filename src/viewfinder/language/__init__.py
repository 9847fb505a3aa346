"""Language models that continue a text: behind an endpoint, or in this process."""

from viewfinder.language.base import LanguageModel, LoadsInBackground, wait_until_loaded
from viewfinder.language.local import load_language_model

__all__ = ["LanguageModel", "LoadsInBackground", "load_language_model", "wait_until_loaded"]
