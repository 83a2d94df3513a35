"""The contextualizer that is a chat model: it proposes signature, bindings and obligations; code finds every span and holds it all to its rules."""

from collections.abc import Mapping
from functools import cached_property
from typing import Any, Final, get_args

from attrs import frozen

from finassay.api.errors import UsageError
from finassay.api.guidance import Guidance
from finassay.api.model import ChatModel
from finassay.api.verdict import Json
from finassay_rubrics.bank.sign import part_schema
from finassay_rubrics.bank.signature import ISSUERS, PERIODS
from finassay_rubrics.bank.vocabulary import vocabulary
from finassay_rubrics.context.reading import Reading, Wrong
from finassay_rubrics.metrics.table import table
from finassay_rubrics.roles.fence import Fence, shown
from finassay_rubrics.roles.proposing import Ask, Proposal, closed, many, one_of, prompt, prompt_digest
from finassay_rubrics.roles.taking import DeliverableType, taken
from finassay_rubrics.validate.context_rules import ARRAYS

ROLE: Final = "contextualizer"
_TEXT: Final = {"type": "string"}


@frozen(slots=False)
class ModelContextualizer:
    """Implements `finassay_rubrics.context.reading.Contextualizer`. The query is shown between marks, as material."""

    model: ChatModel
    guidance: Guidance

    @property
    def id(self) -> str:
        return self.model.id

    @property
    def identity(self) -> Mapping[str, Json]:
        return {"id": self.model.id, "family": self.model.family, "prompt_sha256": prompt_digest(ROLE, _schema(), self._own)}

    @property
    def _own(self) -> str:
        return self.guidance.instructions.get(ROLE, "")

    def read(self, query: str, wrong: Wrong) -> Reading:
        def looked_at(value: Mapping[str, Any]) -> tuple[Reading | None, list[str]]:
            reading, problems = taken(query, shown(query), value)
            if reading is None or problems:
                return None, problems
            broken = wrong(reading) if reading.obligations else []
            return (None, broken) if broken else (reading, [])

        user = f"The query:\n\n{Fence.around(query).block('query', query)}"
        found = Ask(self._system, user, _schema(), looked_at, ROLE, "query", "context").put(self.model)
        if found.value is None:
            raise UsageError(
                f"the contextualizer {self.id} gave nothing that holds in {len(found.returned)} tries: {found.last}",
                hint="Leave --contextualizer out: rules need no model. Or take another model.",
            )
        return Reading(found.value.signature, found.value.bindings, found.value.obligations, self._by(found))

    def _by(self, found: Proposal[Reading]) -> dict[str, Json]:
        return {**self.identity, "sent_back": [list(one) for one in found.returned]}

    @cached_property
    def _system(self) -> str:
        known = vocabulary()
        lists = (
            "Deliverables:\n" + "\n".join(f"{kind.id}: {kind.title}" for kind in known.deliverables.values()),
            "Metrics:\n" + "\n".join(f"{id}: {', '.join(metric.names[:3])}" for id, metric in table().metrics.items()),
            "Ways:\n" + "\n".join(f"{way.id}: a metric {way.title}" for way in known.ways.values()),
            f"Nouns: {', '.join(sorted(known.nouns))}",
            f"Conventions: {', '.join(sorted(known.topics))}",
        )
        return "\n\n".join((prompt(ROLE), *([self._own] if self._own else []), *lists))


def _schema() -> dict[str, Any]:
    span = closed(text=_TEXT, occurrence={"type": "integer"})
    entry = {"id": _TEXT, "spans": many(span), "canonical": _TEXT, "refers_to": many(_TEXT)}
    plain, deliverable = closed(**entry), closed(**entry, type=one_of(get_args(DeliverableType)))
    return closed(
        bindings=closed(**{name: many(deliverable if name == "deliverables" else plain) for name in ARRAYS}),
        obligations=many(closed(what=_TEXT, bindings=many(_TEXT))),
        signature=closed(parts=many(part_schema()), issuers=one_of(ISSUERS), periods=one_of(PERIODS)),
    )
