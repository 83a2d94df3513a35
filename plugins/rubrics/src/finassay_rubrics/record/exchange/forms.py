"""The forms: Finance Agent experts' rubrics and HealthBench-style items as JSON lines, autorubric's criteria as YAML."""

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any, Final

from attrs import frozen

from finassay.api.errors import InvalidFileError, UsageError
from finassay_rubrics.record.exchange.common import Requirement, original_of, rubric_of, said, weights_of
from finassay_rubrics.record.reading import read_rubric, rubric_json
from finassay_rubrics.record.rubric import Rubric

MAX_BYTES: Final = 256 * 2**20
OWN: Final = "rubric"
VALS: Final = "vals"
HEALTHBENCH: Final = "healthbench"
AUTORUBRIC: Final = "autorubric"


# -- Finance Agent: question, answer, rubric of {operator, criteria} ---------------------------------------------------


def from_vals(row: Mapping[str, Any], cutoff: date) -> Rubric:
    """`contradiction` rows repeat all values: they become faults without points that gate."""
    requirements = [
        Requirement(_text(one, "criteria"), Decimal(one["operator"] == "correctness"), gate=one["operator"] == "contradiction")
        for one in _objects(row, "rubric")
        if _operator(one)
    ]
    rest = {k: v for k, v in row.items() if k not in ("question", "rubric")}
    operators = [one["operator"] for one in row["rubric"]]
    return rubric_of(_text(row, "question"), requirements, cutoff, VALS, {"rest": rest, "operators": operators, "order": list(row)})


def _operator(one: Mapping[str, Any]) -> bool:
    if one.get("operator") not in ("correctness", "contradiction"):
        raise ValueError(f"operator {str(one.get('operator'))[:40]!r}: expected correctness or contradiction")
    return True


def to_vals(rubric: Rubric) -> dict[str, Any]:
    """One row. A rubric of our own has no `answer`."""
    kept = original_of(rubric, VALS)
    operators = kept.get("operators") or ["contradiction" if c.kind == "prohibited" else "correctness" for c in rubric.criteria]
    rows = [{"operator": o, "criteria": said(c)} for o, c in zip(operators, rubric.criteria, strict=True)]
    row = {"question": rubric.query, **kept.get("rest", {}), "rubric": rows}
    return {key: row[key] for key in kept.get("order", row)}


# -- HealthBench: prompt, rubrics of {criterion, points, tags} ---------------------------------------------------------


def from_healthbench(row: Mapping[str, Any], cutoff: date) -> Rubric:
    """The last message of the user is the query; criteria with negative points are faults."""
    prompt = row.get("prompt")
    messages = [m for m in prompt if isinstance(m, Mapping) and m.get("role") == "user"] if isinstance(prompt, list) else []
    query = str(messages[-1].get("content", "")) if messages else str(prompt or "")
    if not query.strip():
        raise ValueError("no prompt of a user")
    requirements = [
        Requirement(_text(one, "criterion"), _number(one, "points"), tuple(str(t) for t in one.get("tags") or ()))
        for one in _objects(row, "rubrics")
    ]
    extra = [{k: v for k, v in one.items() if k != "criterion"} for one in row["rubrics"]]
    return rubric_of(
        query,
        requirements,
        cutoff,
        HEALTHBENCH,
        {"rest": {k: v for k, v in row.items() if k != "rubrics"}, "extra": extra, "order": list(row)},
    )


def to_healthbench(rubric: Rubric) -> dict[str, Any]:
    """One item."""
    kept = original_of(rubric, HEALTHBENCH)
    extra = kept.get("extra") or [
        {"points": _plain(w), "tags": [f"obligation:{c.obligation_id}", *(f"principle:{p}" for p in c.principles)]}
        for c, w in zip(rubric.criteria, weights_of(rubric, HEALTHBENCH), strict=True)
    ]
    rubrics = [{"criterion": said(c), **more} for c, more in zip(rubric.criteria, extra, strict=True)]
    row = {**(kept.get("rest") or {"prompt": [{"role": "user", "content": rubric.query}]}), "rubrics": rubrics}
    return {key: row[key] for key in kept.get("order", row)}


# -- autorubric: a list of {weight, requirement, name} -----------------------------------------------------------------


def from_autorubric(data: Any, cutoff: date, query: str) -> Rubric:
    """A list of criteria, or an object with that list as `criteria` or `rubric`; its `query` or `prompt` comes before `query`."""
    rows = data
    rest: dict[str, Any] = {}
    if isinstance(data, Mapping):
        name = next((k for k in ("criteria", "rubric") if isinstance(data.get(k), list)), None)
        if name is None:
            raise ValueError("no list of criteria")
        rows, rest = data[name], {k: v for k, v in data.items() if k != name}
        query = str(data.get("query") or data.get("prompt") or query)
    else:
        name = ""
    objects = _objects({"criteria": rows}, "criteria")
    requirements = [
        Requirement(_text(one, "requirement"), _number(one, "weight") if "weight" in one else Decimal(1), name=str(one.get("name", "")))
        for one in objects
    ]
    extra = [{k: v for k, v in one.items() if k != "requirement"} for one in objects]
    return rubric_of(
        query, requirements, cutoff, AUTORUBRIC, {"rest": rest, "extra": extra, "key": name, "orders": [list(o) for o in objects]}
    )


def to_autorubric(rubric: Rubric) -> Any:
    """What the YAML file holds; a fault has a negative weight."""
    kept = original_of(rubric, AUTORUBRIC)
    extra = kept.get("extra") or [
        {"name": c.id, "weight": _plain(w)} for c, w in zip(rubric.criteria, weights_of(rubric, AUTORUBRIC), strict=True)
    ]
    rows = []
    for index, (criterion, more) in enumerate(zip(rubric.criteria, extra, strict=True)):
        row = {**more, "requirement": said(criterion)}
        rows.append({key: row[key] for key in (kept["orders"][index] if "orders" in kept else row)})
    if not kept:
        return {"query": rubric.query, "criteria": rows}
    return {**kept["rest"], kept["key"]: rows} if kept["key"] else rows


# -- fields -----------------------------------------------------------------------------------------------------------


def _objects(row: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    rows = row.get(name)
    if not isinstance(rows, list) or not all(isinstance(one, Mapping) for one in rows):
        raise ValueError(f"{name}: expected a list of objects")
    return rows


def _text(row: Mapping[str, Any], name: str) -> str:
    value = row.get(name)
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"{name}: expected words")
    return value


def _number(row: Mapping[str, Any], name: str) -> Decimal:
    value = row.get(name)
    try:
        number = Decimal(str(value)) if isinstance(value, int | float | Decimal) and not isinstance(value, bool) else None
    except InvalidOperation:
        number = None
    if number is None or not number.is_finite() or abs(number) > 10**9:
        raise ValueError(f"{name}: expected a number, found {str(value)[:40]!r}")
    return number


def _plain(value: Decimal) -> int | float:
    return int(value) if value == value.to_integral_value() else float(value)


# -- files ------------------------------------------------------------------------------------------------------------


@frozen
class Form:
    """A form: its name, how many rubrics a file of it holds, and the two ways."""

    name: str
    many: bool
    read: Callable[[str, date, str], list[Rubric]]
    write: Callable[[Sequence[Rubric]], str]


def _lines(one: Callable[[Mapping[str, Any], date], Rubric]) -> Callable[[str, date, str], list[Rubric]]:
    def read(text: str, cutoff: date, query: str) -> list[Rubric]:
        found = []
        for number, line in enumerate(text.split("\n"), start=1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
                if not isinstance(row, Mapping):
                    raise ValueError("expected an object")
                found.append(one(row, cutoff))
            except (ValueError, RecursionError) as error:
                raise ValueError(f"line {number}: {error}") from error
        return found

    return read


def _written(one: Callable[[Rubric], dict[str, Any]]) -> Callable[[Sequence[Rubric]], str]:
    return lambda rubrics: "".join(json.dumps(one(r), ensure_ascii=False) + "\n" for r in rubrics)


def _read_yaml(text: str, cutoff: date, query: str) -> list[Rubric]:
    import yaml

    try:
        data = yaml.safe_load(text)
    except (yaml.YAMLError, RecursionError) as error:
        raise ValueError(f"not YAML: {str(error)[:200]}") from error
    return [from_autorubric(data, cutoff, query)]


def _write_yaml(rubrics: Sequence[Rubric]) -> str:
    import yaml

    return str(yaml.safe_dump(to_autorubric(rubrics[0]), sort_keys=False, allow_unicode=True, width=120))


FORMS: Final = {
    form.name: form
    for form in (
        Form(VALS, True, _lines(from_vals), _written(to_vals)),
        Form(HEALTHBENCH, True, _lines(from_healthbench), _written(to_healthbench)),
        Form(AUTORUBRIC, False, _read_yaml, _write_yaml),
    )
}


def form_of(path: Path, text: str) -> str:
    """The form of a file, by its name and first line. Raises `UsageError` where neither tells."""
    if path.suffix in (".yaml", ".yml"):
        return AUTORUBRIC
    try:
        first = json.loads(next((line for line in text.split("\n") if line.strip()), ""))
    except (ValueError, RecursionError):
        first = None
    if isinstance(first, Mapping) and "rubrics" in first:
        return HEALTHBENCH
    if isinstance(first, Mapping) and "rubric" in first and "question" in first:
        return VALS
    raise UsageError(f"{path}: which form is this?", hint=f"--from {' or '.join(FORMS)}")


def read(path: Path, cutoff: date, form: str = "", query: str = "") -> list[Rubric]:
    """The rubrics of a file: our own (a file or folder), or a foreign form. Raises `InvalidFileError`, `UsageError`."""
    if path.is_dir() or form == OWN or (not form and path.suffix == ".json"):
        return [read_rubric(path)]
    try:
        if path.stat().st_size > MAX_BYTES:
            raise InvalidFileError(f"{path}: too large for rubrics")
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidFileError(f"{path}: cannot be read: {error}") from error
    name = form or form_of(path, text)
    try:
        found = FORMS[name].read(text, cutoff, query or path.stem)
    except ValueError as error:
        raise InvalidFileError(f"{path}: no {name} rubric: {error}") from error
    if not found:
        raise InvalidFileError(f"{path}: holds no rubric")
    return found


def write(rubrics: Sequence[Rubric], path: Path, form: str) -> list[Path]:
    """Write rubrics in a form; what holds one a file becomes numbered files where there are several. Returns what was written."""
    one_each = form == OWN or not FORMS[form].many
    if not one_each:
        path.write_text(FORMS[form].write(rubrics), encoding="utf-8")
        return [path]
    written = []
    for number, rubric in enumerate(rubrics, start=1):
        target = path if len(rubrics) == 1 else path.with_name(f"{path.stem}.{number:03}{path.suffix}")
        target.write_text(rubric_json(rubric) if form == OWN else FORMS[form].write([rubric]), encoding="utf-8")
        written.append(target)
    return written
