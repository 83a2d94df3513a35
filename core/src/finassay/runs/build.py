"""From names to objects, and the preflight: every problem is found, and told at once, before anything is spent."""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from attrs import Factory, define, field, frozen

from finassay.api.agent import Agent, Diagnosable
from finassay.api.channel import ChannelSpec
from finassay.api.component import Origin
from finassay.api.errors import CatalogError, FinassayError, PreflightError
from finassay.api.gateway import Gateway
from finassay.api.grading import Check, Judge, Reader
from finassay.api.learning import Learner
from finassay.api.persona import Persona
from finassay.api.sandbox import Probe, Sandbox
from finassay.api.simulator import Simulator
from finassay.api.task import Task
from finassay.api.verdict import Json
from finassay.catalog.catalog import Catalog, Offer
from finassay.config.settings import Choice, RunSettings
from finassay.grading.guidance import NONE, SessionGuidance
from finassay.models.ledger import Budget
from finassay.models.service import AGENT, UNPRICED_HINT, ComponentModels, ModelService, unpriced
from finassay.records.convert import to_json
from finassay.runs.access import needs_gateway, prices_of, served_channels
from finassay.runs.channels import make_channel

ALIAS: Final = re.compile(r"\w[\w+-]{0,59}")
"""Aliases stand in session ids, names of folders and terminals."""


@frozen
class AgentMaker:
    """Makes a fresh agent for each session, because an agent serves one."""

    alias: str
    choice: Choice
    offer: Offer
    factory: Any
    settings: Any
    sample: Agent
    """One instance, made in the preflight, to read version and capabilities from."""
    models: ComponentModels
    catalog: Catalog
    reviewing: ComponentModels | None = None
    """Models for what it learns from graded sessions; None if it does not learn."""

    @property
    def parts(self) -> tuple[Origin, ...]:
        """Where the components come from that it works through."""
        return tuple(getattr(self.sample, "parts", ()))

    @property
    def identity(self) -> dict[str, Json]:
        """What its results rest on besides its options and models."""
        own = getattr(self.sample, "identity", None)
        asked = {"reviewers": dict(self.reviewing.asked)} if self.reviewing is not None and self.reviewing.asked else {}
        return {**(to_json(own) if isinstance(own, Mapping) else {}), **asked}

    def make(self) -> Agent:
        agent: Agent = self.catalog.make(self.offer, self.factory, self.settings, self.models)
        return agent


@frozen
class GradingParts:
    """Who grades."""

    checks: Mapping[str, Check]
    judge: Judge | None
    reader: Reader | None
    origins: tuple[Origin, ...]
    judge_identity: Mapping[str, Json] = Factory(dict)
    """What a judge's answers rest on besides its code: options, models, digests of its prompts. Empty where there is nothing of it."""
    guidance: SessionGuidance = NONE


@frozen
class Built:
    """Everything a run needs."""

    agents: Mapping[str, AgentMaker]
    personas: Mapping[str, tuple[Persona, Origin]]
    models: ModelService
    simulator: Simulator
    simulator_identity: Mapping[str, Json]
    simulator_origin: Origin
    sandbox: Sandbox
    sandbox_origin: Origin
    channels: Mapping[str, ChannelSpec]
    origins: tuple[Origin, ...]
    gateway: Gateway | None = None
    """How agents reach model APIs and channels; None if none of them needs to."""


@define
class _Problems:
    found: list[str] = field(factory=list)

    def attempt(self, call: Any, *arguments: Any, whose: str = "") -> Any:
        """What `call` gives, or None and its problems noted. `whose` is put before a problem that does not begin with it."""
        try:
            return call(*arguments)
        except PreflightError as error:  # a check of its own: its problems stand beside the others
            self.found += error.problems or (str(error),)
            return None
        except FinassayError as error:
            told = f"{error}" if not whose or str(error).startswith(whose) else f"{whose}: {error}"
            self.found.append(told + (f" ({error.hint})" if error.hint else ""))
            return None

    def raise_if_any(self) -> None:
        if self.found:
            raise PreflightError("the run was not started: " + "; ".join(self.found), problems=tuple(self.found))


def probed(sandbox: Sandbox) -> Probe:
    """What a sandbox says of itself; a plugin that fails at it does not work."""
    try:
        return sandbox.probe()
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # somebody else's code, which may also call sys.exit
        return Probe(False, f"its probe failed: {type(error).__name__}: {error}")


def best_sandbox(catalog: Catalog) -> str:
    """Id of the installed sandbox that works here and isolates most. Raises `CatalogError`."""
    working: list[tuple[int, str]] = []
    failed = []
    for offer in catalog.offers("sandbox"):
        try:
            sandbox, _ = catalog.create("sandbox", offer.qualified)
        except CatalogError as error:  # another one may work
            failed.append(str(error))
            continue
        probe = probed(sandbox)
        if probe.ok:
            isolation = sandbox.isolation
            working.append((-(isolation.files + isolation.network + isolation.processes), offer.id))
        else:
            failed.append(f"{offer.id}: {probe.detail}")
    if not working:
        detail = "; ".join(failed) or "none is installed"
        raise CatalogError(
            f"no sandbox works here: {detail}", hint="Install finassay-sandbox-local, or finassay-sandbox-bubblewrap with bubblewrap."
        )
    return min(working)[1]


def model_service(catalog: Catalog, settings: RunSettings, folder: Path | None = None) -> ModelService:
    """The models of a run; without its folder they keep nothing."""
    return ModelService(catalog, settings.models, folder, Budget(settings.budget_usd, settings.session_budget_usd))


def identity_of(component: Any, models: ComponentModels) -> dict[str, Json]:
    """What the results of a component rest on besides its code and options: the models it asked for, and what it says of itself."""
    own = getattr(component, "identity", None)
    asked = {"asked": dict(models.asked)} if models.asked else {}
    return {**(to_json(own) if isinstance(own, Mapping) else {}), **asked}


def _agent(catalog: Catalog, service: ModelService, alias: str, choice: Choice) -> AgentMaker:
    offer = catalog.find("agent", choice.id)
    factory = catalog.factory(offer)
    settings = catalog.options(offer, factory, choice.options, alias)
    models = service.to(AGENT)
    sample = catalog.make(offer, factory, settings, models)
    missing = [name for name in sample.capabilities.credentials if not os.environ.get(name)]
    if missing:
        raise CatalogError(f"agent {alias!r} needs {', '.join(missing)} in the environment")
    if isinstance(sample, Diagnosable) and (told := sample.diagnose()).problem:
        raise CatalogError(f"agent {alias!r}: {told.problem}", hint=told.hint)
    return AgentMaker(alias, choice, offer, factory, settings, sample, models, catalog, _reviewing(service, sample))


def _reviewing(service: ModelService, agent: Agent) -> ComponentModels | None:
    """The models of an agent's reviews, asked for now, so that what is wrong with them is told before anything is spent."""
    if not isinstance(agent, Learner):
        return None
    models = service.to("learner")
    for name, options in agent.reviewers.items():
        models.get(name, options)
    return models


def _simulator(catalog: Catalog, service: ModelService, choice: Choice) -> tuple[Simulator, Origin, dict[str, Json]]:
    models = service.to("simulator")
    simulator, origin = catalog.create("simulator", choice.id, choice.options, models)
    return simulator, origin, identity_of(simulator, models)


def _sandbox(catalog: Catalog, choice: Choice) -> tuple[Sandbox, Origin]:
    name = best_sandbox(catalog) if choice.id == "auto" else choice.id
    sandbox, origin = catalog.create("sandbox", name, choice.options)
    probe = probed(sandbox)
    if not probe.ok:
        raise CatalogError(f"sandbox {name!r} does not work here: {probe.detail}", hint=probe.hint)
    return sandbox, origin


def _gateway(
    catalog: Catalog, settings: RunSettings, makers: Sequence[AgentMaker], channels: Sequence[ChannelSpec]
) -> tuple[Gateway, Origin] | None:
    """The gateway, if an agent needs one. Raises `PreflightError` with all that keeps it from serving them."""
    needing = [m for m in makers if needs_gateway(m.sample.capabilities, tuple(channels))]
    if not needing and not settings.gateway.options:
        return None
    gateway, origin = catalog.create("gateway", settings.gateway.id, settings.gateway.options)  # options are checked also where unused
    if not needing:
        return None
    served = {c.id: c for m in needing for c in served_channels(m.sample.capabilities, tuple(channels))}
    problems = [*_unserved(gateway, needing), *gateway.problems((), tuple(served.values()))]
    if settings.budget_usd is not None or settings.session_budget_usd is not None:
        for maker in needing:
            problems += _unpriced(settings, maker)
    if problems:
        raise PreflightError("; ".join(problems), problems=tuple(problems))
    return gateway, origin


def _unserved(gateway: Gateway, makers: Sequence[AgentMaker]) -> Iterator[str]:
    """What stands against serving the model APIs of agents; each problem once, with the aliases of all whom it concerns."""
    whom: dict[str, list[str]] = {}
    for maker in makers:
        for problem in gateway.problems(maker.sample.capabilities.upstreams, ()):
            whom.setdefault(problem, []).append(repr(maker.alias))
    for problem, aliases in whom.items():
        yield f"{'agent' if len(aliases) == 1 else 'agents'} {', '.join(aliases)}: {problem}"


def _unpriced(settings: RunSettings, maker: AgentMaker) -> Iterator[str]:
    """What keeps a budget from holding for an agent's models."""
    capabilities = maker.sample.capabilities
    if capabilities.upstreams and not capabilities.models:
        yield f"agent {maker.alias!r} may ask any model, so that no budget can be kept (name its model among its options)"
    for model in capabilities.models:
        if not any(prices_of(settings, upstream).known(model) for upstream in capabilities.upstreams):
            yield f"agent {maker.alias!r}: {unpriced(model)} ({UNPRICED_HINT})"


def build(catalog: Catalog, settings: RunSettings, tasks: tuple[Task, ...], out: Path) -> Built:
    """Every chosen component, made and checked. Raises `PreflightError` with all problems."""
    problems, models = _Problems(), model_service(catalog, settings, out)
    agents = {
        alias: problems.attempt(_agent, catalog, models, alias, choice, whose=_whose("agent", alias, choice))
        for alias, choice in settings.agents.items()
    }
    simulator = problems.attempt(_simulator, catalog, models, settings.simulator)
    sandbox = problems.attempt(_sandbox, catalog, settings.sandbox)
    personas = {name: problems.attempt(catalog.create, "persona", name) for name in sorted({t.persona for t in tasks})}
    channels = {
        name: problems.attempt(make_channel, catalog, settings, name, whose=_whose("channel", name, settings.channels.get(name)))
        for name in sorted({c for t in tasks for c in t.conditions.channels})
    }
    gateway = problems.attempt(_gateway, catalog, settings, [m for m in agents.values() if m], [c[0] for c in channels.values() if c])
    if settings.grade:
        problems.attempt(build_grading, catalog, settings, models)
    else:
        problems.found += models.problems()
    if not settings.agents:
        problems.found.append("no agent was chosen (name one with --agent)")
    for alias in settings.agents:
        if not ALIAS.fullmatch(alias):
            problems.found.append(
                f"alias {alias!r} of an agent: expected 1 to 60 letters, digits, '-', '_' or '+', a letter or digit first"
            )
    for alias, maker in agents.items():
        problems.found += [
            f"agent {alias!r} keeps {kept}, which must not lie in the run's folder or around it" for kept in _misplaced(maker, out)
        ]
        for task in tasks:
            if maker and maker.sample.capabilities.needs_network and not task.conditions.network:
                problems.found.append(f"agent {alias!r} needs the network, which task {task.id!r} does not allow")
                break
    if not _writable(out):
        problems.found.append(f"{out} cannot be written")
    problems.raise_if_any()
    made = [simulator[:2], sandbox, *personas.values(), *channels.values(), *([gateway] if gateway else [])]
    return Built(
        agents=agents,
        personas={name: (source.persona, origin) for name, (source, origin) in personas.items()},
        models=models,
        simulator=simulator[0],
        simulator_identity=simulator[2],
        simulator_origin=simulator[1],
        sandbox=sandbox[0],
        sandbox_origin=sandbox[1],
        channels={name: spec for name, (spec, _) in channels.items()},
        origins=(
            *(o for m in agents.values() for o in (m.offer.origin, *m.parts)),
            *(origin for _, origin in made),
            *models.origins.values(),
        ),
        gateway=gateway[0] if gateway else None,
    )


def _whose(kind: str, alias: str, choice: Choice | None) -> str:
    """What a refusal begins with where a person has given the component a name of its own."""
    return f"{kind} {alias!r}" if choice is not None and alias != choice.id else ""


def _misplaced(maker: AgentMaker | None, out: Path) -> list[Path]:
    """What an agent keeps from session to session in, or around, the folder of the run."""
    run = out.resolve()
    kept = [Path(path).resolve() for path in getattr(maker.sample, "keeps", ())] if maker else []
    return [path for path in kept if path.is_relative_to(run) or run.is_relative_to(path)]


def _writable(path: Path) -> bool:
    existing = next((p for p in (path, *path.parents) if p.exists()), None)
    return existing is not None and existing.is_dir() and os.access(existing, os.W_OK)


def build_grading(catalog: Catalog, settings: RunSettings, models: ModelService | None = None) -> GradingParts:
    """The installed checks (one for each dimension and role), the judge and the reader. Raises `PreflightError` or `CatalogError`.

    A judge that talks to models gets them from `models`; without it from a service of its own, which keeps nothing.
    """
    problems = _Problems()
    models = models or model_service(catalog, settings)
    made = [problems.attempt(catalog.create, "check", offer.qualified) for offer in catalog.offers("check")]
    checks: dict[str, Check] = {}
    for check, origin in filter(None, made):
        if check.dimension in checks:
            problems.found.append(
                f"two checks serve dimension {check.dimension}: {checks[check.dimension].id} and {check.id} ({origin.distribution})"
            )
        checks[check.dimension] = check
    asked = models.to("judge")
    judge = None
    if settings.judge.id != "none":
        judge = problems.attempt(catalog.create, "judge", settings.judge.id, settings.judge.options, asked)
    reader = (
        problems.attempt(catalog.create, "reader", settings.reader.id, settings.reader.options) if settings.reader.id != "none" else None
    )
    packs = [pack for name in settings.guidance if (pack := problems.attempt(catalog.create, "guidance", name)) is not None]
    guidance = problems.attempt(SessionGuidance.of, [pack.guidance for pack, _ in packs]) or NONE
    problems.found += models.problems()
    problems.raise_if_any()
    origins = tuple(origin for _, origin in filter(None, [*made, judge, reader, *packs]))
    options = {"options": dict(settings.judge.options)} if settings.judge.options else {}
    identity = {**options, **identity_of(judge[0], asked), **guidance.identity} if judge else {}
    return GradingParts(checks, judge[0] if judge else None, reader[0] if reader else None, origins, identity, guidance)
