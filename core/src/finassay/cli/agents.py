"""What `finassay doctor --agents` says: a line for each installed agent."""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

from attrs import frozen

from finassay.api.agent import Agent, Diagnosable, Diagnosis
from finassay.api.errors import CatalogError, FinassayError
from finassay.catalog.catalog import Catalog, Offer
from finassay.cli.models import Line
from finassay.config.settings import configured_agents

SECONDS: Final = 30.0
"""How long one agent's program is waited for; the others go on meanwhile."""


@frozen
class _Told:
    ok: bool
    detail: str
    hint: str = ""


def tell_agents(catalog: Catalog, line: Line) -> None:
    """One line for each installed agent, with the options that `finassay.toml` gives it. Spends nothing."""
    offers = catalog.offers("agent")
    if not offers:
        line(False, "agents", "none is installed", "for example: pip install finassay-NAME")
        return
    options = {choice.id.rpartition(":")[2]: choice.options for choice in configured_agents(Path.cwd()).values()}
    with ThreadPoolExecutor(4) as pool:
        asked = [(offer, pool.submit(_told, catalog, offer, options.get(offer.id, {}))) for offer in offers]
        for offer, future in asked:
            try:
                told = future.result(SECONDS)
            except TimeoutError:
                told = _Told(False, f"no answer within {SECONDS:.0f} s")
            line(told.ok, f"agent {offer.id}", told.detail, told.hint)


def _told(catalog: Catalog, offer: Offer, options: Mapping[str, Any]) -> _Told:
    try:
        factory = catalog.factory(offer)
        if getattr(factory, "takes_models", False) or getattr(factory, "takes_components", False):
            return _Told(True, "works through components that a run names; nothing of its own to start")
        agent: Agent = catalog.make(offer, factory, catalog.options(offer, factory, options))
    except CatalogError as error:
        return _Told(False, str(error), error.hint)
    except FinassayError as error:  # an option that it cannot do without
        return _Told(False, str(error), error.hint)
    if not isinstance(agent, Diagnosable):
        return _Told(True, f"version {agent.version}, comes with its distribution")
    try:
        found = agent.diagnose()
    except Exception as error:  # somebody else's code
        return _Told(False, f"its own check failed: {type(error).__name__}: {error}")
    return _words(found, [] if found.problem else _unpaid(catalog, agent))


def _unpaid(catalog: Catalog, agent: Agent) -> list[str]:
    """What keeps the gateway from serving the agent's model APIs: mostly a key that is not there."""
    if not agent.capabilities.upstreams:
        return []
    try:
        gateway, _ = catalog.create("gateway", "standard")
        return list(gateway.problems(agent.capabilities.upstreams, ()))
    except CatalogError as error:
        return [str(error)]


def _words(found: Diagnosis, unpaid: list[str]) -> _Told:
    version = f" {found.version}" if found.version else ""
    if found.problem:
        return _Told(False, f"{found.program}{version}: {found.problem}", found.hint)
    if unpaid:
        return _Told(False, f"{found.program}{version}, starts; {'; '.join(unpaid)}")
    return _Told(True, f"{found.program}{version}, starts" + (f"; {found.login}" if found.login else ""))
