"""Who writes a task's criteria: two rule-based families that need no model, or models. The two that write one bank are of different families."""

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib import resources
from typing import Any, Final, Protocol

from attrs import frozen

from finassay.api.errors import UsageError
from finassay.api.guidance import Guidance
from finassay.api.model import ChatModel, Models
from finassay_rubrics.bank.signature import Signature
from finassay_rubrics.bank.vocabulary import metric_title, vocabulary
from finassay_rubrics.metrics.table import table
from finassay_rubrics.roles.proposing import Ask, closed, line, many, prompt, prompt_digest
from finassay_rubrics.validate.wording import wording_problem

TEMPLATES: Final = ("templates-a", "templates-b")
MAX_CRITERIA: Final = 24
_NUMBER: Final = re.compile(
    r"\d|\b(?:three|four|five|six|seven|eight|nine|ten|eleven|twelve|hundred|thousand|million|billion)\b", re.IGNORECASE
)
_MONTH: Final = re.compile(r"\b(?:january|february|march|april|june|july|august|september|october|november|december)\b", re.IGNORECASE)


@frozen
class Criterion:
    """An atomic criterion without values."""

    text: str
    principles: tuple[str, ...]


@frozen
class Written:
    """What a writer hands in: what may stand, and what was refused with the reason."""

    criteria: tuple[Criterion, ...]
    refused: tuple[tuple[str, str], ...] = ()


class CriteriaWriter(Protocol):
    """Writes criteria for a task, of which it sees the signature alone."""

    @property
    def id(self) -> str: ...
    @property
    def family(self) -> str: ...

    def write(self, signature: Signature, guidance: Guidance) -> Written:
        """Raises `ProviderError`, `BudgetError` where a model is asked."""
        ...


def problem_of(text: str, principles: Sequence[str], known: frozenset[str]) -> str:
    """Why a criterion may not stand in a bank; empty if it may."""
    if value := (_NUMBER.search(text) or _MONTH.search(text)):
        return f"holds the value {value[0]!r}"
    if unknown := [p for p in principles if p not in known]:
        return f"names a principle that the guidance does not have: {unknown[0]!r}"
    return "names no principle" if not principles else wording_problem(text)


# -- rules ------------------------------------------------------------------------------------------------------------


@frozen
class TemplateWriter:
    """One of the two rule-based families."""

    id: str

    @property
    def family(self) -> str:
        return self.id

    def write(self, signature: Signature, guidance: Guidance) -> Written:
        known = frozenset(principle.id for principle in guidance.principles)
        found: dict[str, Criterion] = {}
        for text, principles in _texts(signature, _templates()[self.id.removeprefix("templates-")]):
            kept = tuple(p for p in principles if p in known)
            if kept:
                found.setdefault(text, Criterion(text, kept))
        return Written(tuple(found.values()))


@cache
def _templates() -> Mapping[str, Any]:
    return tomllib.loads((resources.files("finassay_rubrics.bank") / "families.toml").read_text("utf-8"))


def _texts(signature: Signature, family: Mapping[str, Any]) -> Iterator[tuple[str, tuple[str, ...]]]:
    def filled(entries: Sequence[Mapping[str, Any]], metric: str) -> Iterator[tuple[str, tuple[str, ...]]]:
        for entry in entries:
            yield entry["text"].replace("{metric}", metric_title(metric) if metric else "the figures"), tuple(entry["principles"])

    for part in signature.parts:
        yield from filled(family["deliverable"].get(part.deliverable, ()), part.metric)
        for way in part.ways:
            yield from filled(family["way"][way], part.metric)
        if part.metric:
            metric = table().metrics.get(part.metric)
            yield from filled(family["metric"][metric.unit if metric else "other"]["criteria"], part.metric)
    yield from filled(family["always"]["criteria"], "")


# -- models -----------------------------------------------------------------------------------------------------------

ROLE: Final = "criteria"
_TEXT: Final = {"type": "string"}
SCHEMA: Final = closed(criteria=many(closed(text=_TEXT, principles=many(_TEXT))))


@frozen
class ModelWriter:
    """A chat model that writes criteria. What does not hold goes back a bounded number of times; what then holds is kept."""

    model: ChatModel

    @property
    def id(self) -> str:
        return self.model.id

    @property
    def family(self) -> str:
        return self.model.family

    def identity(self, guidance: Guidance) -> str:
        """What its criteria rest on besides the model: the digest of its prompt."""
        return prompt_digest(ROLE, SCHEMA, guidance.instructions.get(ROLE, ""))

    def write(self, signature: Signature, guidance: Guidance) -> Written:
        known = frozenset(principle.id for principle in guidance.principles)
        refused: list[tuple[str, str]] = []

        def read(value: Mapping[str, Any]) -> tuple[tuple[Criterion, ...] | None, list[str]]:
            kept, wrong = _sorted_out(value["criteria"], known)
            refused.extend(wrong)
            return kept or None, [f"{text[:120]!r} {why}" for text, why in wrong] + ([] if kept or wrong else ["there is no criterion"])

        found = Ask(self._system(guidance), self._asked(signature), SCHEMA, read, "writer", "bank criteria", "bank").put(self.model)
        if found.value is None:
            refused.append(("", f"{self.id} gave nothing usable: {found.last}"))
        return Written(found.value or (), tuple(dict.fromkeys(refused)))

    def _system(self, guidance: Guidance) -> str:
        principles = "\n".join(f"{p.id} {p.title}: {p.statement}" for p in guidance.principles)
        own = guidance.instructions.get(ROLE, "")
        return "\n\n".join(filter(None, (prompt(ROLE), f"At most {MAX_CRITERIA} criteria.", own, f"Principles:\n{principles}")))

    def _asked(self, signature: Signature) -> str:
        kinds = [f"{d}: {vocabulary().deliverables[d].title}" for d in signature.deliverables]
        metrics = [f"{m}: {metric_title(m)}" for m in signature.metrics]
        ways = [f"{way}: a metric {vocabulary().ways[way].title}" for way in signature.ways]
        told = ("Kind of task:", signature.text, "", "Deliverables:", *kinds, "", "Metrics:", *metrics)
        return "\n".join((*told, *(("", "Ways:", *ways) if ways else ())))


def _sorted_out(rows: Sequence[Any], known: frozenset[str]) -> tuple[tuple[Criterion, ...], list[tuple[str, str]]]:
    """What may stand, each text once, and what may not with the reason."""
    kept: dict[str, Criterion] = {}
    refused: list[tuple[str, str]] = []
    for row in rows[:MAX_CRITERIA]:
        text, principles = _row(row)
        if problem := problem_of(text, principles, known):
            refused.append((text[:400], problem))
        else:
            kept.setdefault(text, Criterion(text, principles))
    return tuple(kept.values()), refused


def _row(row: Any) -> tuple[str, tuple[str, ...]]:
    if not isinstance(row, Mapping):
        return "", ()
    principles = row.get("principles")
    names = principles if isinstance(principles, list) else []
    return line(row.get("text", ""), 1000), tuple(dict.fromkeys(line(name, 40) for name in names))


def writers(first: str, second: str, models: Models) -> tuple[CriteriaWriter, CriteriaWriter]:
    """The two who write a bank's criteria. Raises `UsageError` unless they are of different, known families."""
    one, two = _writer(first, models), _writer(second, models)
    if one.family == two.family or "unknown" in (one.family, two.family):
        raise UsageError(
            f"{one.id} ({one.family}) and {two.id} ({two.family}) are not of two different families",
            hint="Two families write a bank's criteria, so that neither's blind spots stay alone. A family that is unknown counts as the same.",
        )
    return one, two


def _writer(name: str, models: Models) -> CriteriaWriter:
    if name in TEMPLATES:
        return TemplateWriter(name)
    if "/" in name:
        return ModelWriter(models.get(name))
    raise UsageError(f"no writer of criteria {name!r}", hint=f"There are {' and '.join(TEMPLATES)}, and every model as PROVIDER/NAME.")
