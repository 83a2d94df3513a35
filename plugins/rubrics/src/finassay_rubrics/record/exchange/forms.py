"""All forms; here Finance Agent experts' rubrics and HealthBench-style items as JSON lines, autorubric's criteria as YAML, others beside."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

from finassay.api.errors import InvalidFileError, UsageError
from finassay.records.files import write_atomically
from finassay_rubrics.record.exchange import finance_v2, promptfoo, rewardkit, rubric_spec
from finassay_rubrics.record.exchange.common import (
    IMPORTED,
    Form,
    Requirement,
    figure,
    objects,
    original_of,
    plain,
    rubric_of,
    said,
    unseen,
    weights_of,
    words,
)
from finassay_rubrics.record.parsing import dumped, json_of, text_of, yaml_of
from finassay_rubrics.record.reading import read_rubric, rubric_json
from finassay_rubrics.record.rubric import Criterion, Rubric

OWN: Final = "rubric"
VALS: Final = "vals"
HEALTHBENCH: Final = "healthbench"
AUTORUBRIC: Final = "autorubric"


# -- Finance Agent: question, answer, rubric of {operator, criteria} ---------------------------------------------------


def from_vals(row: Mapping[str, Any], cutoff: date) -> Rubric:
    """`contradiction` rows repeat all values: they become faults without points that gate."""
    requirements = [
        Requirement(words(one, "criteria"), Decimal(one["operator"] == "correctness"), gate=one["operator"] == "contradiction")
        for one in objects(row, "rubric")
        if _operator(one)
    ]
    rest = {k: v for k, v in row.items() if k not in ("question", "rubric")}
    operators = [one["operator"] for one in row["rubric"]]
    return rubric_of(words(row, "question"), requirements, cutoff, VALS, {"rest": rest, "operators": operators, "order": list(row)})


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
        Requirement(words(one, "criterion"), figure(one, "points"), tuple(str(t) for t in one.get("tags") or ()))
        for one in objects(row, "rubrics")
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
        {"points": plain(w), "tags": [f"obligation:{c.obligation_id}", *(f"principle:{p}" for p in c.principles)]}
        for c, w in zip(rubric.criteria, weights_of(rubric, HEALTHBENCH), strict=True)
    ]
    rubrics = [{"criterion": said(c), **more} for c, more in zip(rubric.criteria, extra, strict=True)]
    row = {**(kept.get("rest") or {"prompt": [{"role": "user", "content": rubric.query}]}), "rubrics": rubrics}
    return {key: row[key] for key in kept.get("order", row)}


# -- autorubric: a list of {weight, requirement, name} -----------------------------------------------------------------


def from_autorubric(data: Any, cutoff: date, query: str) -> Rubric:
    """A list of criteria, or an object with that list as `criteria` or `rubric`; its `query` or `prompt` comes before `query`."""
    rows, rest, name = data, {}, ""
    if isinstance(data, Mapping):
        name = next((k for k in ("criteria", "rubric") if isinstance(data.get(k), list)), "criteria")
        rows = data[name] if name in data else _sections(data)
        rest = {k: v for k, v in data.items() if k not in ("criteria", "rubric", "sections")}
        query = str(data.get("query") or data.get("prompt") or query)
    found = objects({"criteria": rows}, "criteria")
    requirements = [
        Requirement(words(one, "requirement"), figure(one, "weight") if "weight" in one else Decimal(1), name=str(one.get("name", "")))
        for one in found
    ]
    extra = [{k: v for k, v in one.items() if k != "requirement"} for one in found]
    return rubric_of(
        query, requirements, cutoff, AUTORUBRIC, {"rest": rest, "extra": extra, "key": name, "orders": [list(o) for o in found]}
    )


def _sections(data: Mapping[str, Any]) -> list[Any]:
    """Criteria in sections, or one level deeper as `rubric`; written again they stand in one list."""
    inner = data["rubric"] if isinstance(data.get("rubric"), Mapping) else data
    if isinstance(inner.get("criteria"), list):
        return list(inner["criteria"])
    if not isinstance(inner.get("sections"), list):
        raise ValueError("no list of criteria")
    return [one for section in objects(inner, "sections") for one in objects(section, "criteria")]


def to_autorubric(rubric: Rubric) -> Any:
    """What the YAML file holds; a fault has a negative weight."""
    kept = original_of(rubric, AUTORUBRIC)
    extra = kept.get("extra") or [
        {"name": c.id, "weight": plain(w)} for c, w in zip(rubric.criteria, weights_of(rubric, AUTORUBRIC), strict=True)
    ]
    rows = []
    for index, (criterion, more) in enumerate(zip(rubric.criteria, extra, strict=True)):
        row = {**more, "requirement": said(criterion)}
        rows.append({key: row[key] for key in (kept["orders"][index] if "orders" in kept else row)})
    if not kept:
        return {"query": rubric.query, "criteria": rows}
    return {**kept["rest"], kept["key"]: rows} if kept["key"] else rows


# -- files ------------------------------------------------------------------------------------------------------------


def _lines(one: Callable[[Mapping[str, Any], date], Rubric]) -> Callable[[str, date, str], list[Rubric]]:
    def read(text: str, cutoff: date, query: str) -> list[Rubric]:
        found = []
        for where, parsed in _rows(text):
            try:
                row = parsed()
                if not isinstance(row, Mapping):
                    raise ValueError("expected an object")
                found.append(one(row, cutoff))
            except ValueError as error:
                raise ValueError(f"{where}: {error}") from error
        return found

    return read


def _rows(text: str) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Rows of JSON lines, or of one JSON list; each is parsed when it is asked for."""
    if text.lstrip().startswith("["):
        rows = json_of(text)
        yield from ((f"row {number}", lambda row=row: row) for number, row in enumerate(rows, start=1))
        return
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            yield f"line {number}", lambda line=line: json_of(line)  # type: ignore[misc]


def _written(one: Callable[[Rubric], dict[str, Any]]) -> Callable[[Sequence[Rubric]], str]:
    return lambda rubrics: "".join(dumped(one(r)) + "\n" for r in rubrics)


def _read_yaml(text: str, cutoff: date, query: str) -> list[Rubric]:
    return [from_autorubric(yaml_of(text), cutoff, query)]


def _write_yaml(rubrics: Sequence[Rubric]) -> str:
    import yaml

    return str(yaml.safe_dump(unseen(to_autorubric(rubrics[0])), sort_keys=False, allow_unicode=True, width=120))


FORMS: Final = {
    form.name: form
    for form in (
        Form(VALS, True, _lines(from_vals), _written(to_vals)),
        Form(HEALTHBENCH, True, _lines(from_healthbench), _written(to_healthbench)),
        Form(AUTORUBRIC, False, _read_yaml, _write_yaml),
        finance_v2.FORM,
        rewardkit.FORM,
        rubric_spec.FORM,
        promptfoo.FORM,
    )
}


def form_of(path: Path, text: str) -> str:
    """The form of a file, by its name and beginning. Raises `UsageError` where neither tells, `InvalidFileError` for broken JSON."""
    if path.suffix in (".yaml", ".yml"):
        return promptfoo.PROMPTFOO if re.search(r"^(?:tests|prompts|providers)\s*:", text, re.MULTILINE) else AUTORUBRIC
    if path.suffix in (".toml", ".csv"):
        return rewardkit.REWARDKIT if path.suffix == ".toml" else finance_v2.VALS_V2
    where = "the list"
    try:
        where, parsed = next(_rows(text), ("", lambda: None))
        first = parsed()
    except ValueError as error:
        if text.lstrip()[:1] in ("{", "["):
            raise InvalidFileError(f"{path}: {where}: {' '.join(str(error).split())[:300]}") from error
        first = None
    if isinstance(first, Mapping) and "rubrics" in first:
        return HEALTHBENCH
    if isinstance(first, Mapping) and "rubric" in first and "question" in first:
        return VALS
    raise UsageError(f"{path}: which form is this?", hint=f"--from {' or '.join(FORMS)}")


def _is_spec(text: str) -> bool:
    """Whether a JSON file calls itself a rubric-spec, at its top: our own may hold one inside."""
    try:
        data = json_of(text)
    except ValueError:
        return False
    return isinstance(data, Mapping) and data.get("version") == rubric_spec.VERSION


def read(path: Path, cutoff: date, form: str = "", query: str = "") -> list[Rubric]:
    """The rubrics of a file: our own (a file or folder), or a foreign form. Raises `InvalidFileError`, `UsageError`."""
    if path.is_dir() or form == OWN:
        return [read_rubric(path)]
    try:
        text = text_of(path)
    except ValueError as error:
        raise InvalidFileError(f"{path}: {error}") from error
    spec = path.suffix == ".json" and not form and _is_spec(text)
    if not form and path.suffix == ".json" and not spec and not text.lstrip().startswith("["):
        return [read_rubric(path)]
    name = form or (rubric_spec.RUBRIC_SPEC if spec else form_of(path, text))
    try:
        found = FORMS[name].read(text, cutoff, query or path.stem)
    except (ValueError, RecursionError) as error:
        raise InvalidFileError(f"{path}: no {name} rubric: {' '.join(str(error).split())[:300]}") from error
    if not found:
        raise InvalidFileError(f"{path}: holds no rubric")
    return found


def exported(rubric: Rubric, form: str) -> tuple[Rubric, tuple[Criterion, ...]]:
    """A rubric without what no answer can be graded by outside: criteria that are unresolved; and these. Our own form holds them all.

    Raises `UsageError` where nothing is left.
    """
    open_ = tuple(c for c in rubric.criteria if c.status == "unresolved")
    if form == OWN or not open_:
        return rubric, ()
    if not any(c.points > 0 for c in rubric.criteria if c.status != "unresolved"):
        raise UsageError(
            f"no criterion with points has a value: the form {form} has nothing to say of {len(open_)} that are unresolved",
            hint="Decide them first: finassay rubric queue RUBRIC. Our own form, --to rubric, holds them as they are.",
        )
    weights = rubric.writer.get("weights")
    writer = dict(rubric.writer)
    if isinstance(weights, list) and len(weights) == len(rubric.criteria):
        writer["weights"] = [w for w, c in zip(weights, rubric.criteria, strict=True) if c.status != "unresolved"]
    if writer.pop("form", None) == form:
        writer.pop("original", None)
    kept = tuple(c for c in rubric.criteria if c.status != "unresolved")
    return rubric.model_copy(update={"criteria": kept, "writer": writer}), open_


def left_behind(rubric: Rubric, form: str) -> list[str]:
    """What a form has no place for, in words: what a rubric lacks once it is written in the form and read again."""
    if form == OWN or rubric.writer.get("form") == form:
        return []
    again = FORMS[form].read(FORMS[form].write([rubric]), rubric.cutoff, rubric.query)[0]
    mine = list(rubric.criteria)
    if len(again.criteria) < len(mine):
        mine = [c for c in mine if c.points > 0 and c.kind != "prohibited"]
    pairs = list(zip(mine, again.criteria, strict=True))
    total = sum((c.points for c in rubric.criteria), Decimal(0)) or Decimal(100)
    counts = {
        "faults and criteria without points": len(rubric.criteria) - len(mine),
        "criteria whose share of the points differs": sum(abs(a.points / total - b.points / 100) > Decimal("0.0003") for a, b in pairs),
        "gates": sum(a.gate != b.gate for a, b in pairs),
        "criteria with evidence": sum(any(route.evidence for route in c.expected) for c in rubric.criteria),
        "criteria with tolerances": sum(any(route.tolerance for route in c.expected) for c in rubric.criteria if c.notes != IMPORTED),
    }
    return [f"{count} {what}" for what, count in counts.items() if count]


def write(rubrics: Sequence[Rubric], path: Path, form: str) -> list[Path]:
    """Write rubrics in a form; what holds one a file becomes numbered files where there are several. Returns what was written.

    Raises `UsageError` for a rubric of which nothing can be told, `OSError`.
    """
    rubrics = [exported(rubric, form)[0] for rubric in rubrics]
    one_each = form == OWN or not FORMS[form].many
    if not one_each:
        write_atomically(path, FORMS[form].write(rubrics).encode())
        return [path]
    written = []
    for number, rubric in enumerate(rubrics, start=1):
        target = path if len(rubrics) == 1 else path.with_name(f"{path.stem}.{number:03}{path.suffix}")
        write_atomically(target, (rubric_json(rubric) if form == OWN else FORMS[form].write([rubric])).encode())
        written.append(target)
    return written
