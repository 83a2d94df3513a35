"""A configuration of promptfoo: a test for each rubric, an assertion `llm-rubric` for each criterion, `not-llm-rubric` for a fault.

Values there are templates and may name files: braces are wrapped so that they stay words, and nothing that reads like a file's address is passed on.
The provider is `echo`, which grades an answer given as the variable `answer`; put another in its place to ask a model.
"""

import re
from collections.abc import Mapping, Sequence
from datetime import date
from decimal import Decimal
from typing import Any, Final

from finassay_rubrics.record.exchange.common import (
    Form,
    Requirement,
    cutoff_in,
    figure,
    mapping,
    objects,
    original_of,
    plain,
    rubric_of,
    said,
    unseen,
    weights_of,
    words,
)
from finassay_rubrics.record.parsing import yaml_of
from finassay_rubrics.record.rubric import Rubric

PROMPTFOO: Final = "promptfoo"
ASSERTION, FAULT = "llm-rubric", "not-llm-rubric"
_TEMPLATE: Final = re.compile(r"\{\{|\{%|\{#")
_RAW: Final = re.compile(r"\{% raw %\}(.*)\{% endraw %\}", re.DOTALL)
_ADDRESS: Final = re.compile(r"\s*[a-z][a-z0-9+.-]*://", re.IGNORECASE)
_OUTSIDE: Final = "text: "


def literal(text: str) -> str:
    """A value that stays words when promptfoo renders it."""
    told = _OUTSIDE + text if _ADDRESS.match(text) else text
    if not _TEMPLATE.search(told):
        return told
    return "{% raw %}" + re.sub(r"\{%(-?\s*endraw)", r"{ %\1", told) + "{% endraw %}"


def plain_text(value: str) -> str:
    """The words of a value that `literal` wrote."""
    wrapped = _RAW.fullmatch(value)
    return (wrapped[1] if wrapped else value).removeprefix(_OUTSIDE)


def from_test(test: Mapping[str, Any], cutoff: date, query: str) -> Rubric:
    """One test. Assertions of other types (`contains`, `javascript`, …) are no criteria: they are refused, not lost. Raises `ValueError`."""
    rows = objects(test, "assert")
    other = next((str(one.get("type")) for one in rows if one.get("type") not in (ASSERTION, FAULT)), None)
    if other is not None:
        raise ValueError(f"assert: type {other[:40]!r}: only {ASSERTION} and {FAULT} are criteria in words")
    notes, given = mapping(test, "metadata"), mapping(test, "vars")
    gates = notes["gates"] if isinstance(notes.get("gates"), list) else []
    requirements = [Requirement(plain_text(words(one, "value")), _weight(one), gate=one.get("metric") in gates) for one in rows]
    extra = [{k: v for k, v in one.items() if k != "value"} for one in rows]
    asked = next((given[name] for name in ("query", "question", "input", "prompt") if isinstance(given.get(name), str)), query)
    original = {"rest": {k: v for k, v in test.items() if k != "assert"}, "extra": extra, "order": list(test)}
    return rubric_of(plain_text(asked), requirements, cutoff_in(notes, cutoff), PROMPTFOO, original)


def _weight(one: Mapping[str, Any]) -> Decimal:
    weight = figure(one, "weight") if "weight" in one else Decimal(1)
    return -abs(weight) if one["type"] == FAULT else weight


def to_test(rubric: Rubric) -> dict[str, Any]:
    """One test; without a threshold it passes where all criteria do."""
    kept = original_of(rubric, PROMPTFOO)
    extra = kept.get("extra")
    if extra is None:
        weighed = zip(rubric.criteria, weights_of(rubric, PROMPTFOO), strict=True)
        extra = [
            {"type": FAULT if c.kind == "prohibited" else ASSERTION, "metric": c.id, "weight": plain(max(weight, Decimal(0)))}
            for c, weight in weighed
        ]
    rows = [{"type": more["type"], "value": literal(said(c)), **more} for c, more in zip(rubric.criteria, extra, strict=True)]
    gates = [c.id for c in rubric.criteria if c.gate == "must_pass"]
    test = kept.get("rest") or {
        "description": literal(" ".join(rubric.query.split())[:120]),
        "vars": {"query": literal(rubric.query), "answer": ""},
        "metadata": {"cutoff": rubric.cutoff.isoformat(), "gates": gates},
    }
    test = {**test, "assert": rows}
    return {key: test[key] for key in kept.get("order", test)}


def _read(text: str, cutoff: date, query: str) -> list[Rubric]:
    data = yaml_of(text)
    if not isinstance(data, Mapping):
        raise ValueError("expected a configuration with tests")
    tests = objects(data, "tests")
    found = []
    for number, test in enumerate(tests, start=1):
        try:
            found.append(from_test(test, cutoff, query))
        except ValueError as error:
            raise ValueError(f"test {number}: {error}") from error
    return found


def _write(rubrics: Sequence[Rubric]) -> str:
    import yaml

    data = {
        "description": "Rubrics; the variable answer of each test is what is graded",
        "prompts": ["{{answer}}"],
        "providers": ["echo"],
        "tests": [to_test(rubric) for rubric in rubrics],
    }
    return str(yaml.safe_dump(unseen(data), sort_keys=False, allow_unicode=True, width=120))


FORM: Final = Form(PROMPTFOO, True, _read, _write)
