"""Reading and writing rubric files."""

import hashlib
import json
import re
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from finassay.api.amiss import first_amiss
from finassay.api.errors import InvalidFileError
from finassay_rubrics.record.parsing import dumped, no_number, once
from finassay_rubrics.record.rubric import SCHEMA, Rubric

DRAFT: Final = "rubric/draft"
MAX_BYTES: Final = 64 * 2**20
MAX_YEARS: Final = 30
_NO_SCALE: Final = ("ones", "units", "one")


def read_rubric(path: Path) -> Rubric:
    """The rubric in a file, or in `rubric.json` of a folder. Raises `InvalidFileError`."""
    path = path / "rubric.json" if path.is_dir() else path
    try:
        if path.exists() and not path.is_file():
            raise InvalidFileError(f"{path}: is no file")
        if path.stat().st_size > MAX_BYTES:
            raise InvalidFileError(f"{path}: too large for a rubric")
        data = json.loads(path.read_text("utf-8-sig"), parse_float=Decimal, parse_constant=no_number, object_pairs_hook=once)
    except OSError as error:
        hint = "Give a rubric's JSON file, or the folder that finassay rubric generate made."
        raise InvalidFileError(f"{path}: cannot be read: {error.strerror}", hint=hint) from error
    except RecursionError as error:
        raise InvalidFileError(f"{path}: not a rubric: is nested too deep") from error
    except ValueError as error:
        raise InvalidFileError(f"{path}: not a rubric: {error}") from error
    beside = {name: _beside(path, f"{name}.json") for name in ("moves", "budget", "context")}
    return rubric_of(data, str(path), **beside)


def _beside(path: Path, name: str) -> Any:
    """What a draft keeps in files of its own, if they are there."""
    try:
        return json.loads((path.parent / name).read_text("utf-8"), parse_float=Decimal)
    except (OSError, ValueError, RecursionError):
        return None


def rubric_of(data: Any, place: str, *, moves: Any = None, budget: Any = None, context: Any = None) -> Rubric:
    """A rubric from JSON data, of the present form or the draft's. Raises `InvalidFileError` naming the place."""
    if not isinstance(data, Mapping) or data.get("schema") not in (SCHEMA, DRAFT):
        found = data.get("schema") if isinstance(data, Mapping) else type(data).__name__
        raise InvalidFileError(f"{place}: expected a rubric of schema {SCHEMA}, found {str(found)[:80]!r}")
    try:
        return Rubric.model_validate(_from_draft(data, moves, budget, context) if data["schema"] == DRAFT else data)
    except ValidationError as error:
        amiss = first_amiss(error, Rubric)
        raise InvalidFileError(f"{place}: {amiss.line()}", hint=amiss.hint) from error
    except (KeyError, TypeError, AttributeError, ArithmeticError) as error:
        raise InvalidFileError(f"{place}: not a rubric: {type(error).__name__}: {error}") from error


def rubric_json(rubric: Rubric) -> str:
    """The file's text; the same rubric always gives the same text."""
    return dumped(rubric.model_dump(mode="json", by_alias=True, exclude_defaults=False), indent=1) + "\n"


def content_digest(rubric: Rubric) -> str:
    """SHA-256 over everything but the digest itself."""
    return digest_of(rubric.model_dump(mode="json", by_alias=True, exclude={"content_digest"}))


def digest_of(data: Mapping[str, Any]) -> str:
    """SHA-256 over JSON data, whatever its order and layout."""
    return hashlib.sha256(json.dumps(data, sort_keys=True, ensure_ascii=False, separators=(",", ":")).encode()).hexdigest()


# -- the draft's form -------------------------------------------------------------------------------------------------


def _from_draft(data: Mapping[str, Any], moves: Any, budget: Any, context: Any) -> dict[str, Any]:
    points = {str(k): Decimal(str(v)) for k, v in data["obligation_points_final"].items()}
    frozen = {o["id"]: o for o in (budget or {}).get("obligations", ())}
    texts = {c["obligation_id"]: c["text"] for c in reversed(data["criteria"])}
    obligations = [
        {
            "id": name,
            "what": frozen.get(name, {}).get("what") or texts.get(name, name),
            "spans": frozen.get(name, {}).get("spans") or ["?"],
            "frozen": frozen.get(name, {}).get("points", value),
            "points": value,
        }
        for name, value in points.items()
    ]
    writer, reviewer = data.get("writer"), data.get("reviewer")
    return {
        "schema": SCHEMA,
        "query": data["query"],
        "cutoff": data["cutoff"]["date"],
        "obligations": obligations,
        "criteria": [_criterion(c, _ends(context)) for c in data["criteria"]],
        "topics": [{"id": name, "routes": routes} for name, routes in (data.get("route_topics") or {}).items()],
        "moves": [{"ground": _ground(str(move.get("reason", ""))), **move} for move in moves or ()],
        "context_digest": data.get("context_digest", ""),
        "budget_digest": data.get("budget_digest", ""),
        "writer": writer if isinstance(writer, dict) else {"id": writer} if writer else {},
        "reviewer": reviewer if isinstance(reviewer, dict) else {"id": reviewer} if reviewer else {},
        "content_digest": data.get("content_sha256", ""),
    }


def _ends(context: Any) -> dict[str, str]:
    """Fiscal years to their ends, as a draft's context tells them: `FY2015 - FY2017` are `years ended 2015-01-31, 2016-01-30, 2017-01-28`."""
    bindings = context.get("bindings") if isinstance(context, Mapping) else None
    periods = bindings.get("periods") if isinstance(bindings, Mapping) else None
    found: dict[str, str] = {}
    for one in periods if isinstance(periods, list) else ():
        if not isinstance(one, Mapping):
            continue
        labels = re.findall(r"(?<!\d)(?:19|20)\d\d(?!\d)", str(one.get("span", "")))
        if len(labels) == 2 and 0 < int(labels[1]) - int(labels[0]) <= MAX_YEARS:
            labels = [str(year) for year in range(int(labels[0]), int(labels[1]) + 1)]
        ends = re.findall(r"(?<!\d)(?:19|20)\d\d-\d\d-\d\d(?!\d)", str(one.get("canonical", "")))
        if labels and len(labels) == len(ends):
            found |= dict(zip(labels, sorted(ends), strict=True))
    return found


def _ground(reason: str) -> str:
    """The ground of a draft's move, which had words only."""
    words = {"parts": r"\bparts?\b", "formality": r"\b(?:layout|form|format)\b", "overlap": r"\boverlap", "unresolved": r"\bunresolved\b"}
    return next((ground for ground, pattern in words.items() if re.search(pattern, reason, re.IGNORECASE)), "difficulty")


def _is_grounded(route: Mapping[str, Any]) -> bool:
    """Whether a route has a value; one without is a cell that no source could ground, which the topic's list of routes still names."""
    return route.get("value") is not None and route.get("status") != "unresolved"


def _criterion(data: Mapping[str, Any], ends: Mapping[str, str]) -> dict[str, Any]:
    known = {
        "id", "obligation_id", "text", "kind", "principles", "bindings", "points", "gate", "polarity", "optional", "status", "scope",
        "review", "depends_on", "checked_by", "reason", "strict", "metric", "entity", "period", "anchors",
    }  # fmt: skip
    merged = data.get("merged_routes")
    return {
        **{name: data[name] for name in known if name in data and data[name] is not None},
        "expected": [_route(route, data, ends) for route in data.get("expected") or () if _is_grounded(route)],
        "merged_routes": [merged["topic"]] if isinstance(merged, Mapping) and "topic" in merged else [],
        "notes": "; ".join(str(data[name]) for name in ("route_note",) if data.get(name)),
    }


def _route(route: Mapping[str, Any], criterion: Mapping[str, Any], ends: Mapping[str, str]) -> dict[str, Any]:
    known = ("route_id", "topic", "convention", "unit", "sign_rule", "period", "period_end", "requires", "evidence")
    value = route["value"]
    value = "; ".join(map(str, value)) if isinstance(value, list) else value
    period = str(route.get("period") or "")
    end = next((end for label, end in ends.items() if re.fullmatch(rf"(?:FY\s?|fiscal )?{label}", period, re.IGNORECASE)), None)
    numeric = isinstance(value, int | float | Decimal) and not isinstance(value, bool)
    return {
        **({"period_end": end} if end else {}),
        **{name: route[name] for name in known if route.get(name) is not None},
        "value": Decimal(str(value)) if numeric else str(value),
        "scale": "" if route.get("scale") in (None, *_NO_SCALE) else route["scale"],
        "tolerance": _tolerance(route["tolerance"]) if route.get("tolerance") else None,
        "forms": [str(form) for form in criterion.get("unit_alternatives", ())],
    }


def _tolerance(data: Mapping[str, Any]) -> dict[str, Any]:
    words, inclusive = str(data.get("rounding", "")), data.get("inclusive", True)
    return {
        "rule": data.get("rule", "band"),
        "abs": Decimal(str(data.get("abs", 0))),
        "rel": Decimal(str(data.get("rel", 0))),
        "decimals": _decimals(words),
        "inclusive": "lower" if isinstance(inclusive, str) and "upper bound exclusive" in inclusive else "both",
        "rounding": words,
    }


def _decimals(words: str) -> int | None:
    """`at least 1 decimal(s) required` to 1."""
    before, found, _ = words.partition(" decimal(s) required")
    last = before.rpartition(" ")[2]
    return int(last) if found and last.isdigit() else None
