"""Running the conformance checks of any kind, from the command line or from pytest."""

import importlib
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from attrs import Factory, frozen

from finassay.api.gateway import Access
from finassay.api.model import Models
from finassay.catalog.catalog import Catalog, Offer
from finassay.runs.build import best_sandbox
from finassay.testing import grammars, kinds, processes, research, sandboxes, sources
from finassay.testing.result import Result, conformance, require, run_checks

HEAVY = (
    "pandas",
    "numpy",
    "scipy",
    "httpx",
    "httpx2",
    "anthropic",
    "openai",
    "google.genai",
    "matplotlib",
    "sklearn",
    "pyarrow",
    "jinja2",
    "skfolio",
)


@frozen
class ComponentSubject:
    """A component of any kind, as offered."""

    catalog: Catalog
    offer: Offer
    options: Mapping[str, Any]
    models: Models | None = None
    access: Access | None = None
    gateway: Mapping[str, Any] = Factory(dict)
    """Options of the gateway `standard`, for an agent that needs one."""

    def create(self) -> Any:
        return self.catalog.create(self.offer.kind, self.offer.qualified, self.options, models=self.models)[0]


@conformance("component", "loads", "the entry point resolves to a factory of a supported API version")
def _loads(subject: ComponentSubject) -> None:
    subject.catalog.factory(subject.offer)


@conformance("component", "describes-itself", "`finassay plugins` shows one line")
def _describes(subject: ComponentSubject) -> None:
    description = subject.catalog.factory(subject.offer).description
    require(isinstance(description, str) and 0 < len(description) <= 120 and "\n" not in description, f"description {description!r}")


@conformance("component", "options-are-strict", "an unknown option is an error, not silence")
def _strict(subject: ComponentSubject) -> None:
    options = subject.catalog.factory(subject.offer).Options
    require(options.model_config.get("extra") == "forbid", "Options accepts unknown keys: set extra='forbid'")
    require(options.model_config.get("frozen") is True, "Options can be changed: set frozen=True")


@conformance("component", "options-are-described", "options are the documentation")
def _described(subject: ComponentSubject) -> None:
    for name, info in subject.catalog.factory(subject.offer).Options.model_fields.items():
        require(info.description, f"option {name!r} has no description")


@conformance("component", "imports-light", "one heavy plugin makes every command slow", level="should")
def _light(subject: ComponentSubject) -> None:
    module = subject.offer.entry.value.split(":")[0]
    code = f"import sys, importlib; importlib.import_module({module!r}); print([m for m in {HEAVY!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    require(done.returncode == 0, done.stderr[-300:])
    require(done.stdout.strip() == "[]", f"importing {module} imports {done.stdout.strip()}")


@conformance("component", "creates", "it can be made from its options and has what its kind needs")
def _creates(subject: ComponentSubject) -> None:
    subject.create()


_SUBJECTS: dict[str, Callable[[ComponentSubject], Any]] = {
    "agent": lambda s: processes.AgentSubject(
        s.create,
        s.catalog.create("sandbox", best_sandbox(s.catalog))[0],
        access=s.access,
        gateway=lambda: s.catalog.create("gateway", "standard", s.gateway)[0],
    ),
    "persona": lambda s: kinds.PersonaSubject(s.create().persona),
    "grammar": lambda s: grammars.GrammarSubject(s.create()),
    "simulator": lambda s: kinds.SimulatorSubject(s.create()),
    "judge": lambda s: kinds.JudgeSubject(s.create()),
    "model": lambda s: kinds.ModelSubject(s.offer.id, _name(s), s.catalog.factory(s.offer), s.create()),
    "check": lambda s: kinds.CheckSubject(s.create()),
    "reader": lambda s: kinds.ReaderSubject(s.create()),
    "sandbox": lambda s: sandboxes.SandboxSubject(s.create()),
    "channel": lambda s: s.create(),
    "guidance": lambda s: s.create(),
    "reporter": lambda s: s.create(),
    "researcher": lambda s: research.ResearcherSubject(s.create()),
    "source": lambda s: sources.SourceSubject(s.create()),
    "embedding": lambda s: sources.EmbeddingSubject(s.create()),
}


def _name(subject: ComponentSubject) -> str:
    """The model's name as it is asked for, or as the provider's options have it by default."""
    default = subject.catalog.factory(subject.offer).Options.model_fields.get("name")
    return str(subject.options.get("name") or (default.default if default is not None else ""))


def run_conformance(
    catalog: Catalog,
    kind: str,
    name: str,
    options: Mapping[str, Any] | None = None,
    models: Models | None = None,
    access: Access | None = None,
    gateway: Mapping[str, Any] | None = None,
) -> Iterator[Result]:
    """Every result for an installed component; `models` for one that talks to models.

    An agent whose program calls models gets `access`; without it the gateway `standard` is opened with the options of `gateway`, and what is asked there is
    paid. What cannot even be loaded ends after the checks that say so. Raises `CatalogError`.
    """
    subject = ComponentSubject(catalog, catalog.find(kind, name), options or {}, models, access, gateway or {})
    ready = True
    for result in run_checks("component", subject):
        ready &= result.ok or result.level != "must"
        yield result
    if ready and kind in _SUBJECTS:
        yield from run_checks(kind, _SUBJECTS[kind](subject))
    if ready:
        yield from _own_checks(subject)


def _own_checks(subject: ComponentSubject) -> Iterator[Result]:
    """What a component's own distribution declares besides, under its qualified id, in the module that its factory names."""
    module = getattr(subject.catalog.factory(subject.offer), "conformance", "")
    if module:
        importlib.import_module(module)
        yield from run_checks(subject.offer.qualified, subject)
