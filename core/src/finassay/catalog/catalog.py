"""The catalogue of installed components. An object, so that tests build their own; listing it imports nothing."""

import difflib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from attrs import frozen

from finassay.api.component import Origin
from finassay.api.errors import CatalogError, FinassayError, UsageError
from finassay.api.model import Models
from finassay.api.version import SUPPORTED
from finassay.catalog.kinds import KINDS, Kind, kind_named


class UnknownComponentError(CatalogError):
    """No installed distribution offers a component of that kind and id."""


class AmbiguousComponentError(CatalogError):
    """Two distributions offer one id."""


class BrokenComponentError(CatalogError):
    """An installed component cannot be used; the message names it, its distribution and version, and why."""

    exit_code = 7


@frozen
class Offer:
    """An entry point: something a distribution says it has. Nothing is imported yet."""

    kind: str
    id: str
    distribution: str
    version: str
    entry: EntryPoint

    @property
    def origin(self) -> Origin:
        return Origin(self.kind, self.id, self.distribution, self.version)

    @property
    def qualified(self) -> str:
        return f"{self.distribution}:{self.id}"


@frozen
class Health:
    """Whether an offer can be used, and if not, why."""

    offer: Offer
    problem: str = ""
    description: str = ""


class Catalog:
    """Finds components by kind and name."""

    def __init__(self, offers: Iterable[Offer]) -> None:
        self._offers: dict[tuple[str, str], list[Offer]] = defaultdict(list)
        for offer in offers:
            if offer not in self._offers[offer.kind, offer.id]:
                self._offers[offer.kind, offer.id].append(offer)

    @classmethod
    def installed(cls) -> "Catalog":
        """What is installed in this environment, read from metadata alone."""
        return cls(offer for kind in KINDS.values() for offer in _offers_of(kind))

    def offers(self, kind: str | None = None) -> list[Offer]:
        """Every offer, of one kind or of all, sorted."""
        found = [o for (k, _), offers in self._offers.items() if kind in (None, k) for o in offers]
        return sorted(found, key=lambda o: (o.kind, o.id, o.distribution))

    def find(self, kind: str, name: str) -> Offer:
        """The one offer of an id or `distribution:id`. Raises `UnknownComponentError`, `AmbiguousComponentError`."""
        distribution, _, component = name.rpartition(":")
        offers = [o for o in self._offers.get((kind, component), []) if not distribution or o.distribution == distribution]
        if not offers:
            raise self._unknown(kind, name)
        if len(offers) > 1:
            who = " and ".join(f"{o.distribution} {o.version}" for o in offers)
            raise AmbiguousComponentError(
                f"{kind} {name!r} is offered by {who}",
                hint=f"Name one as {offers[0].qualified!r} or {offers[1].qualified!r}, or uninstall the other.",
            )
        return offers[0]

    def _unknown(self, kind: str, name: str) -> UnknownComponentError:
        known = sorted({o.id for o in self.offers(kind)})
        if not known:
            return UnknownComponentError(f"no {kind} {name!r}: no distribution with a {kind} is installed", hint="See: finassay plugins")
        close = difflib.get_close_matches(name, known, n=1)
        guess = f"Did you mean {close[0]!r}? " if close else ""
        return UnknownComponentError(f"no {kind} {name!r}", hint=f"{guess}Installed: {', '.join(known)}.")

    def factory(self, offer: Offer) -> Any:
        """The factory behind an offer, checked. Raises `BrokenComponentError`."""
        try:
            factory = offer.entry.load()
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # somebody else's code, which may also call sys.exit
            raise _broken(offer, f"cannot be imported: {type(error).__name__}: {error}") from error
        missing = [name for name in ("api_version", "description", "Options") if not hasattr(factory, name)]
        if missing or not callable(factory):
            raise _broken(offer, f"is no component factory: it has no {', '.join(missing) or 'call'}")
        if factory.api_version not in SUPPORTED:
            supported = ", ".join(map(str, sorted(SUPPORTED)))
            raise _broken(offer, f"was written for API version {factory.api_version}; this finassay supports {supported}")
        return factory

    def options(self, offer: Offer, factory: Any, options: Mapping[str, Any], alias: str = "", beside: Sequence[str] = ()) -> Any:
        """The options object from plain values. Raises `UsageError` that names the unknown or wrong option and the known ones.

        `alias` is what the person who wrote the options calls the component; the error names it by that. `beside` are names that may stand
        beside its options where they are written, and so may have been meant.
        """
        from pydantic import ValidationError

        from finassay.catalog.options import option_problem

        try:
            return factory.Options.model_validate(dict(options))
        except ValidationError as error:
            problem, hint = option_problem(error, factory.Options, offer.kind, alias or offer.id, beside)
            raise UsageError(f"{called(offer.kind, alias, offer.id)}: {problem}", hint=hint) from error

    def create(
        self,
        kind: str,
        name: str,
        options: Mapping[str, Any] | None = None,
        models: Models | None = None,
        *,
        alias: str = "",
        beside: Sequence[str] = (),
    ) -> tuple[Any, Origin]:
        """A ready component and where it came from. A factory with `takes_models` is handed `models`; the rest is as in `options`.

        Raises `CatalogError` or `UsageError`.
        """
        offer = self.find(kind, name)
        factory = self.factory(offer)
        return self.make(offer, factory, self.options(offer, factory, options or {}, alias, beside), models), offer.origin

    def make(self, offer: Offer, factory: Any, settings: Any, models: Models | None = None) -> Any:
        """A component from its factory and options, handed what it takes besides. Raises `CatalogError`, or what the factory itself raises of ours."""
        given: list[Any] = []
        if getattr(factory, "takes_models", False):
            if models is None:
                raise CatalogError(
                    f"{offer.kind} {offer.id!r} talks to models, and there are none here", hint="It works in a run: finassay run"
                )
            given.append(models)
        if getattr(factory, "takes_components", False):
            given.append(_Components(self, models))
        try:
            component = factory(settings, *given)
        except (KeyboardInterrupt, FinassayError):
            raise
        except BaseException as error:  # somebody else's code, which may also call sys.exit
            raise _broken(offer, f"cannot be made: {type(error).__name__}: {error}") from error
        missing = [name for name in KINDS[offer.kind].members if not hasattr(component, name)]
        if missing:
            raise _broken(offer, f"is no {offer.kind}: it has no {', '.join(missing)}")
        return component

    def health(self) -> list[Health]:
        """Load every offer and say what is wrong with it. The only listing that imports plugins."""
        report = []
        for offer in self.offers():
            try:
                factory = self.factory(self.find(offer.kind, offer.qualified))
                report.append(Health(offer, description=str(factory.description)))
            except CatalogError as error:
                report.append(Health(offer, problem=str(error)))
        clashes = [offers for offers in self._offers.values() if len(offers) > 1]
        return report + [Health(o[0], f"also offered by {', '.join(x.distribution for x in o[1:])}: name it qualified") for o in clashes]


@frozen
class _Components:
    """Implements `finassay.api.component.Components`: what a component makes talks to the same models."""

    catalog: Catalog
    models: Models | None

    def create(self, kind: str, id: str, options: Mapping[str, Any] | None = None) -> tuple[Any, Origin]:
        return self.catalog.create(kind, id, options, self.models)


def called(kind: str, alias: str, id: str) -> str:
    """A component as an error names it: `agent 'mine' (its-id)` where a person gave it a name, else `agent 'its-id'`."""
    return f"{kind} {alias!r} ({id})" if alias and alias != id else f"{kind} {id!r}"


def _broken(offer: Offer, reason: str) -> BrokenComponentError:
    return BrokenComponentError(
        f"{offer.kind} {offer.id!r} of {offer.distribution} {offer.version} {reason}",
        hint=f"Reinstall or upgrade {offer.distribution}, or choose another {offer.kind}.",
    )


def _offers_of(kind: Kind) -> Iterable[Offer]:
    for entry in entry_points(group=kind.group):
        name, version = (entry.dist.name, entry.dist.version) if entry.dist else ("unknown", "0")
        yield Offer(kind.name, entry.name, name, version, entry)


__all__ = ["AmbiguousComponentError", "BrokenComponentError", "Catalog", "Health", "Offer", "UnknownComponentError", "kind_named"]
