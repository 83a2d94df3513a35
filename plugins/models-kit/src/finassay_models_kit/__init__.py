"""What the providers of chat models share. Imports no HTTP library and no vendor's SDK."""

from finassay_models_kit.families import family_of
from finassay_models_kit.provider import Clock, ProviderModel, find_key
from finassay_models_kit.reading import settled, system_text, value_in
from finassay_models_kit.troubles import Trouble

__all__ = ["Clock", "ProviderModel", "Trouble", "family_of", "find_key", "settled", "system_text", "value_in"]
