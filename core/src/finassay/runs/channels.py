"""Channels by the name that tasks use: declared in the settings, or installed under that name."""

from attrs import evolve

from finassay.api.channel import ChannelSpec
from finassay.api.component import Origin
from finassay.catalog.catalog import Catalog
from finassay.config.settings import RunSettings


def make_channel(catalog: Catalog, settings: RunSettings, name: str) -> tuple[ChannelSpec, Origin]:
    """What a channel puts into a session, under the task's name for it. Raises `CatalogError`, `UsageError`."""
    choice = settings.channels.get(name)
    channel, origin = catalog.create("channel", choice.id if choice else name, choice.options if choice else None, alias=name)
    return evolve(channel.describe(), id=name), origin
