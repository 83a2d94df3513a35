"""What every component says about itself.

A component is chosen by name through an entry point. The entry point resolves to a *factory*: a class, or a function,
that takes one frozen options object and returns the component. The factory carries three attributes, so that the core can check
a choice before anything is spent:

`api_version`
    the integer of `finassay.api.version` it was written for.
`Options`
    a pydantic model, frozen and with `extra="forbid"`; every field has a description. It has no fields where there is
    nothing to set.
`description`
    one line for `finassay plugins`.

A factory whose component talks to chat models also carries `takes_models = True` and is called with the options and a `Models`. One whose
component works through other components (an agent around an agent) carries `takes_components = True` and is called with a `Components`
after those.

One that has more to be tested than its kind names a module in `conformance`: imported by `finassay conform`, it declares checks with
`finassay.testing.result.conformance` under the qualified id `DISTRIBUTION:ID`; their subject has `options` and `create()`.
"""

from collections.abc import Mapping
from typing import Any, ClassVar, Protocol, runtime_checkable

from attrs import frozen


@frozen
class Origin:
    """Where a loaded component came from. Stands on every result that it took part in."""

    kind: str
    id: str
    distribution: str
    version: str

    def __str__(self) -> str:
        return f"{self.id} ({self.distribution} {self.version})"


class Components(Protocol):
    """Makes other components, as whoever asks was made itself."""

    def create(self, kind: str, id: str, options: Mapping[str, Any] | None = None) -> tuple[Any, Origin]:
        """A ready component and where it came from. Raises `CatalogError`, `UsageError`."""
        ...


@runtime_checkable
class ComponentFactory(Protocol):
    """What an entry point of any kind must resolve to. Called with an instance of its own `Options`."""

    api_version: ClassVar[int]
    description: ClassVar[str]
    Options: ClassVar[type[Any]]

    def __call__(self, options: Any, /) -> Any: ...
