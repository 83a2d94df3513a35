"""What a model hands in, and what its tools take: pydantic models, from which the JSON Schemas are made that the model is shown.

Every field is required in the schema, since vendors' strict outputs want it so, and has a default when it is read, since models leave things out.
"""

import copy
from collections.abc import Mapping
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

Kind = Literal["numeric", "date", "categorical", "set", "text", "derivation", "prohibited", "format"]
Scale = Literal["units", "thousands", "millions", "billions"]
M = TypeVar("M", bound=BaseModel)


class _Form(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore", strict=False)


class QuoteForm(_Form):
    document: str = Field(max_length=20, description="Handle of the document, such as D1.")
    page: int = Field(default=0, description="Page number; 0 for a document without pages.")
    text: str = Field(max_length=3_000, description="The passage exactly as the page shows it, on that page alone.")


class InputForm(_Form):
    name: str = Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,59}$", description="Name by which the script reads it, such as revenue_2022.")
    shown: str = Field(max_length=60, description="The number exactly as the quote shows it, such as 1,234.5 or (17.3).")
    quote: int = Field(description="Which of the quotes shows it, counted from 1.")
    scale: Scale = Field(default="units", description="In what the document states it; a quote of that document must show so.")
    period: str = Field(default="", max_length=60, description="The period that it belongs to, such as FY2022.")
    line: str = Field(default="", max_length=120, description="The line's label in the document.")


class ValueForm(_Form):
    quotes: list[QuoteForm] = Field(
        default_factory=list, max_length=16, description="What the value rests on; headings with period and scale too."
    )
    inputs: list[InputForm] = Field(
        default_factory=list, max_length=60, description="Numbers that quotes show. One alone, without code, is the value."
    )
    code: str = Field(
        default="", max_length=20_000, description="Python that computes the value from the inputs; empty for a value that is copied."
    )
    words: str = Field(
        default="", max_length=600, description="A value in words, copied from a quote; a day as 2022-09-30. Empty for numbers."
    )
    unit: str = Field(
        default="",
        max_length=30,
        description="USD or another currency code, USD/share, percent, percentage points, times, days, count; empty for words.",
    )
    period_end: str = Field(
        default="", max_length=40, description="Last day of the period, or the day of a balance, as 2022-09-30; empty if unknown."
    )
    reason: str = Field(default="", max_length=600, description="Why there is no value, if there is none; then everything else is empty.")


class RouteForm(_Form):
    topic: str = Field(default="", max_length=80, description="The convention that this is a choice of; empty where there is no choice.")
    route: str = Field(default="any", max_length=60, description="Short name of the choice; any where there is none.")
    convention: str = Field(default="", max_length=400, description="The choice in words, without a figure.")
    value: ValueForm


class CriterionForm(_Form):
    id: str = Field(default="", max_length=60, description="Short and unique in the draft, such as c1.")
    text: str = Field(max_length=600, description="One claim that an answer makes or not; without the value itself.")
    kind: Kind = "numeric"
    principles: list[str] = Field(default_factory=list, max_length=12, description="Ids of the principles that it realizes.")
    bindings: list[str] = Field(default_factory=list, max_length=40, description="Ids of the query's bindings that it answers to.")
    question: str = Field(
        default="", max_length=600, description="What a reviewer is asked who derives the value afresh; without any figure of the answer."
    )
    metric: str = Field(default="", max_length=60, description="Id from the list of metrics; empty if none fits.")
    entity: str = Field(default="", max_length=200, description="Whose value it is.")
    period: str = Field(default="", max_length=60, description="Which period, such as FY2022.")
    definition: str = Field(default="", max_length=600, description="The definition that the query itself gives, if it does.")
    decimals: int = Field(default=-1, ge=-1, le=12, description="Decimals that the query asks for; -1 if it asks for none.")
    must_pass: bool = Field(default=False, description="Whether it is the headline figure or verdict that was asked.")
    optional: bool = False
    depends_on: list[str] = Field(default_factory=list, max_length=20, description="Ids of criteria whose values it is computed from.")
    routes: list[RouteForm] = Field(
        default_factory=list, max_length=8, description="Accepted values: one, or one for each convention in use."
    )
    reason: str = Field(default="", max_length=600, description="Why it has no value, if it has none.")


class DraftForm(_Form):
    criteria: list[CriterionForm] = Field(min_length=1, max_length=40)
    notes: str = Field(default="", max_length=2_000, description="Anything that a person who decides should know.")


class SearchForm(_Form):
    query: str = Field(min_length=1, max_length=400, description="Words to look for in all documents.")


class FindForm(_Form):
    words: str = Field(max_length=200, description="Words of the publisher or title, such as a company's name.")


class DocumentForm(_Form):
    document: str = Field(max_length=20, description="Handle of the document, such as D1.")


class PageForm(DocumentForm):
    page: int = Field(default=0, description="Page number; 0 for a document without pages.")
    start: int = Field(default=0, ge=0, description="Where to go on in a page that is too long to be shown at once; else 0.")


class WithinForm(DocumentForm):
    words: str = Field(min_length=1, max_length=200, description="Words that a page must hold, in any order.")


class GivenForm(_Form):
    name: str = Field(max_length=60)
    value: str = Field(max_length=60, description="A number as text, without commas, in units.")


class ScriptForm(_Form):
    code: str = Field(min_length=1, max_length=20_000)
    inputs: list[GivenForm] = Field(default_factory=list, max_length=200)


class ActionForm(_Form):
    """For models without tools of their own."""

    tool: str = Field(max_length=60)
    arguments: str = Field(max_length=200_000, description="The tool's arguments as the text of one JSON object.")


def schema_of(form: type[BaseModel]) -> dict[str, Any]:
    """The JSON Schema of a form: closed, everything required, without references."""
    raw = form.model_json_schema()
    closed: dict[str, Any] = _closed(raw, raw.get("$defs", {}))
    return closed


def _closed(node: Any, definitions: Mapping[str, Any]) -> Any:
    if isinstance(node, list):
        return [_closed(one, definitions) for one in node]
    if not isinstance(node, Mapping):
        return node
    if "$ref" in node:
        return _closed(copy.deepcopy(definitions[node["$ref"].rpartition("/")[2]]), definitions)
    left_out = ("$defs", "title", "default", "maxLength", "minLength", "maxItems", "minItems", "minimum", "maximum", "pattern")
    if node.get("type") == "object" and isinstance(node.get("properties"), Mapping):
        properties = {name: _closed(one, definitions) for name, one in node["properties"].items()}
        return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}
    return {name: _closed(one, definitions) for name, one in node.items() if name not in left_out}


def read(form: type[M], data: Any) -> tuple[M | None, list[str]]:
    """The form, or what is wrong with what was given, a line each."""
    try:
        return form.model_validate(data), []
    except ValidationError as error:
        told = [
            f"{'.'.join(map(str, one['loc'])) or 'the whole'}: {one['msg']}" for one in error.errors(include_input=False, include_url=False)
        ]
        return None, told[:12]
    except (RecursionError, ValueError, TypeError) as error:
        return None, [f"it cannot be read: {type(error).__name__}"]
