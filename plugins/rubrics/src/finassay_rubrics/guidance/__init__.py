"""The general pack, and packs put together."""
