"""The form of an answer, as JSON Schema: closed objects with every field required, as the vendors' structured outputs want them."""

import hashlib
import json
from collections.abc import Sequence
from typing import Any, Final

from finassay_judge_model import wording

_TEXT: Final = {"type": "string"}


def _closed(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def _list(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}


PASSAGE: Final = _closed(text=_TEXT, where=_TEXT)


def levels_form(names: Sequence[str]) -> dict[str, Any]:
    """For questions about levels, by their names in the call."""
    level = {"type": "integer", "enum": [0, 1, 2, 3, 4]}
    question = {"type": "string", "enum": list(names)}
    answer = _closed(question=question, quotes=_list(PASSAGE), reason=_TEXT, level=level)
    return _closed(steering=_list(PASSAGE), answers=_list(answer))


def labels_form(names: Sequence[str]) -> dict[str, Any]:
    """For questions about labels; `quote` is empty where a label needs none."""
    case = _closed(case=_TEXT, quote=_TEXT, where=_TEXT, label=_TEXT)
    question = {"type": "string", "enum": list(names)}
    answer = _closed(question=question, reason=_TEXT, cases=_list(case))
    return _closed(steering=_list(PASSAGE), answers=_list(answer))


def wording_digest() -> str:
    """SHA-256 over all words and both forms."""
    words = {name: value for name, value in vars(wording).items() if name.isupper()}
    text = json.dumps([words, levels_form(["Q1"]), labels_form(["Q1"])], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()
