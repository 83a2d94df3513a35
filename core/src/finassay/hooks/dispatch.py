"""Calling observers. One that raises is muted for the rest of the run, once, and named in the record."""

import threading
from importlib.metadata import EntryPoint, entry_points
from typing import Any

import pluggy

from finassay.hooks import specs


class Observers:
    """The installed observers of one run. Safe to call from several threads."""

    def __init__(self, offered: list[EntryPoint] | None = None) -> None:
        self._manager = pluggy.PluginManager("finassay")
        self._manager.add_hookspecs(specs)
        self._lock = threading.Lock()
        self.muted: dict[str, str] = {}
        """Observer to why it is not called any more."""
        for entry in entry_points(group=specs.GROUP) if offered is None else offered:
            self._register(entry)

    def _register(self, entry: EntryPoint) -> None:
        try:
            self._manager.register(entry.load(), name=entry.name)
            self._manager.check_pending()
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # somebody else's code: an observer must not be able to stop a run, nor by sys.exit
            self.muted[entry.name] = f"could not be loaded: {type(error).__name__}: {error}"
            if self._manager.has_plugin(entry.name):
                self._manager.unregister(name=entry.name)

    def register(self, plugin: object, name: str) -> None:
        """Add an observer that is not installed. Raises what pluggy raises for a wrong hook."""
        self._manager.register(plugin, name=name)
        self._manager.check_pending()

    def call(self, hook: str, **arguments: Any) -> list[Any]:
        """Call every observer's implementation by itself; results that are not None, in registration order."""
        results = []
        with self._lock:
            implementations = list(getattr(self._manager.hook, hook).get_hookimpls())
            for implementation in implementations:
                if implementation.plugin_name in self.muted:
                    continue
                try:
                    result = implementation.function(*(arguments[name] for name in implementation.argnames))
                except KeyboardInterrupt:
                    raise
                except BaseException as error:  # somebody else's code: muted, and said so in the record
                    self.muted[implementation.plugin_name] = f"{hook}: {type(error).__name__}: {error}"
                    continue
                if result is not None:
                    results.append(result)
        return results
