"""What `finassay doctor --agents` says: a line for each installed agent."""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

from attrs import frozen

from finassay.api.agent import Agent, Diagnosable, Diagnosis
from finassay.api.errors import CatalogError, FinassayError
from finassay.catalog.catalog import BrokenComponentError, Catalog, called
from finassay.cli.findings import Findings
from finassay.config.settings import configured_agents, configured_gateway

SECONDS: Final = 30.0
"""How long one agent's program is waited for; the others go on meanwhile."""


@frozen
class _Told:
    ok: bool
    detail: str
    hint: str = ""
    broken: bool = False
    """It would work nowhere: its distribution is at fault, not what is missing here."""


def tell_agents(catalog: Catalog, line: Findings) -> None:
    """One line for each agent that `finassay.toml` declares, by its alias, and for each other one that is installed. Spends nothing."""
    declared = configured_agents(Path.cwd())
    wanted = [(alias, choice.id, choice.options) for alias, choice in declared.items()]
    told_of = {name for _, id, _ in wanted if (name := _qualified(catalog, id))}
    wanted += [("", offer.qualified, {}) for offer in catalog.offers("agent") if offer.qualified not in told_of]
    if not wanted:
        line(False, "agents", "none is installed", "for example: pip install finassay-NAME")
        return
    with ThreadPoolExecutor(4) as pool:
        asked = [(alias, id, pool.submit(_told, catalog, alias, id, options)) for alias, id, options in wanted]
        for alias, id, future in sorted(asked, key=lambda one: (one[1].rpartition(":")[2], one[0])):
            try:
                told = future.result(SECONDS)
            except TimeoutError:
                told = _Told(False, f"no answer within {SECONDS:.0f} s")
            short = id.rpartition(":")[2]
            who = f"agent {alias} ({short})" if alias not in ("", short) else f"agent {short}"
            line(told.ok, who, told.detail, told.hint, needed=alias != "" or told.broken)


def _qualified(catalog: Catalog, id: str) -> str:
    """`distribution:id` of an installed agent; empty if there is none, or more than one."""
    try:
        return catalog.find("agent", id).qualified
    except CatalogError:
        return ""


def _told(catalog: Catalog, alias: str, id: str, options: Mapping[str, Any]) -> _Told:
    try:
        offer = catalog.find("agent", id)
        factory = catalog.factory(offer)
        if alias:
            catalog.options(offer, factory, options, alias)
        if getattr(factory, "takes_models", False) or getattr(factory, "takes_components", False):
            return _Told(True, "works through components that a run names; nothing of its own to start")
        agent: Agent = catalog.make(offer, factory, catalog.options(offer, factory, options, alias))
    except FinassayError as error:  # also an option that it cannot do without
        said = str(error).removeprefix(f"{called('agent', alias, id.rpartition(':')[2])}: ")
        return _Told(False, said, error.hint, isinstance(error, BrokenComponentError))
    if not isinstance(agent, Diagnosable):
        return _Told(True, f"version {agent.version}, comes with its distribution")
    try:
        found = agent.diagnose()
    except Exception as error:  # somebody else's code
        return _Told(False, f"its own check failed: {type(error).__name__}: {error}", broken=True)
    return _words(found, [] if found.problem else _unpaid(catalog, agent))


def _unpaid(catalog: Catalog, agent: Agent) -> list[str]:
    """What keeps the gateway from serving the agent's model APIs: mostly a key that is not there."""
    if not agent.capabilities.upstreams:
        return []
    try:
        choice = configured_gateway(Path.cwd())
        gateway, _ = catalog.create("gateway", choice.id, choice.options)
        return list(gateway.problems(agent.capabilities.upstreams, ()))
    except FinassayError as error:
        return [str(error)]


def _words(found: Diagnosis, unpaid: list[str]) -> _Told:
    version = f" {found.version}" if found.version else ""
    if found.problem:
        return _Told(False, f"{found.program}{version}: {found.problem}", found.hint)
    if unpaid:
        return _Told(False, f"{found.program}{version}, starts; {'; '.join(unpaid)}")
    return _Told(True, f"{found.program}{version}, starts" + (f"; {found.login}" if found.login else ""))
