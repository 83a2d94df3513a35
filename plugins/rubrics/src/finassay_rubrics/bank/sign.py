"""Who makes signatures: rules, or a model that is held to the same closed vocabulary."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, Final, Protocol

from attrs import frozen

from finassay.api.guidance import Guidance, Rule
from finassay.api.model import ChatModel
from finassay_rubrics.bank.asking import Bindings, Part, asks_nothing, ordered
from finassay_rubrics.bank.signature import ISSUERS, MAX_PARTS, PERIODS, Signature, checked, signature_of
from finassay_rubrics.bank.vocabulary import vocabulary
from finassay_rubrics.metrics.table import table
from finassay_rubrics.roles.fence import Fence
from finassay_rubrics.roles.proposing import Ask, closed, line, many, one_of, prompt, prompt_digest
from finassay_rubrics.validate.context_rules import signature as value_free
from finassay_rubrics.validate.rules import violations

ROLE: Final = "signature"
NOTHING_KNOWN: Final = Signature((Part("report", "other"),), 0, 0)
"""What stands for a query of which no signature holds."""


class Signer(Protocol):
    """Reduces a query to its signature."""

    @property
    def id(self) -> str: ...

    def sign(self, query: str) -> tuple[Signature, str]:
        """The signature, and why it is not the signer's own, if it is not. Raises `ProviderError` where a model is asked."""
        ...


@frozen
class RuleSigner:
    """By rule, offline. `rules` are a pack's on the stage `signature`."""

    rules: Sequence[Rule] = ()
    id: str = "rules"

    def sign(self, query: str) -> tuple[Signature, str]:
        from finassay_rubrics.context.bind import bind

        bindings = bind(query)
        signature = signature_of(query, bindings)
        wrong = _wrong(query, signature, bindings, self.rules)
        return (NOTHING_KNOWN, f"gave the task away: {wrong[0]}") if wrong else (signature, "")


def _wrong(query: str, signature: Signature, bindings: Bindings, rules: Sequence[Rule]) -> list[str]:
    """What R02 and a pack's rules have against a signature."""
    product = {
        "query": query,
        "signature": signature.text,
        "bindings": {name: [dict(b) for b in items] for name, items in bindings.items()},
    }
    return [v.reason for v in (*value_free(product), *(violations(product, "signature", rules) if rules else ()))]


@frozen(slots=False)
class ModelSigner:
    """A chat model, whose reply is held to the closed vocabulary; where none holds the rules' signature stands."""

    model: ChatModel
    guidance: Guidance = Guidance("", "", ())

    @property
    def id(self) -> str:
        return self.model.id

    @property
    def identity(self) -> str:
        """What its signatures rest on besides the model: the digest of its prompt."""
        return prompt_digest(ROLE, _schema(), self.guidance.instructions.get(ROLE, ""))

    def sign(self, query: str) -> tuple[Signature, str]:
        from finassay_rubrics.context.bind import bind

        rules = [rule for rule in self.guidance.rules if rule.stage == "signature"]
        fallback, bindings = RuleSigner(rules).sign(query)[0], bind(query)

        def read(value: Mapping[str, Any]) -> tuple[Signature | None, list[str]]:
            parts = parts_from(value["parts"])
            if not parts and asks_nothing(query, fallback.parts):
                return Signature((), 0, 0), []
            problems = checked(parts) if 1 <= len(parts) <= MAX_PARTS else [f"{len(parts)} parts; 1 to {MAX_PARTS} are expected"]
            if problems:
                return None, problems
            issuers, periods = ISSUERS.index(str(value["issuers"])), PERIODS.index(str(value["periods"]))
            signature = Signature(parts, issuers, periods, fallback.conventions, fallback.frame)
            wrong = _wrong(query, signature, bindings, rules)
            return (None, wrong) if wrong else (signature, [])

        found = Ask(self._system, Fence.around(query).block("query", query), _schema(), read, "writer", "signature", "bank").put(self.model)
        return (found.value, "") if found.value else (fallback, f"by rule: of {self.id} nothing held: {found.last}")

    @cached_property
    def _system(self) -> str:
        known = vocabulary()
        own = self.guidance.instructions.get(ROLE, "")
        lists = (
            f"Deliverables: {', '.join(known.deliverables)}",
            f"Metrics: {', '.join(table().metrics)}",
            "Ways:\n" + "\n".join(f"{way.id}: a metric {way.title}" for way in known.ways.values()),
            f"Nouns: {', '.join(sorted(known.nouns))}",
        )
        return "\n\n".join((prompt(ROLE), *([own] if own else []), *lists))


def parts_from(entries: Sequence[Mapping[str, Any]]) -> tuple[Part, ...]:
    """The parts in a model's reply, each once, in order."""
    found = {
        Part(str(e["deliverable"]), line(e["metric"], 60), ordered(tuple(line(way, 40) for way in e.get("ways") or ()))) for e in entries
    }
    return tuple(sorted(found))


def part_schema() -> dict[str, Any]:
    """The JSON schema of a part."""
    known = vocabulary()
    return closed(deliverable=one_of(list(known.deliverables)), metric={"type": "string"}, ways=many(one_of(list(known.ways))))


def _schema() -> dict[str, Any]:
    part = part_schema()
    return closed(parts=many(part), issuers=one_of(ISSUERS), periods=one_of(PERIODS))
