"""`finassay rubric measure`."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from finassay.api.errors import InvalidFileError, UsageError

if TYPE_CHECKING:
    from rich.console import Console

    from finassay_rubrics.measure.responses import Agreement, Judged
    from finassay_rubrics.measure.statements import Record

EXPERTS = "expert_rubrics.jsonl"
SHOWN = 10
"""Lines that were left out and are shown."""
PARTS = ("holdings", "statements", "grading", "experts", "recall", "answers")


@click.command("measure")
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@click.option("--only", "parts", multiple=True, type=click.Choice(PARTS), help="Measure this alone; repeat for several.")
@click.option(
    "--family", "families", multiple=True, default=("statements-a", "statements-b"), show_default=True, help="Researcher; repeat."
)
@click.option("--half", type=click.IntRange(0, 1), help="Of the answers those of half 0, on which rules were tuned, or 1, held out.")
@click.option(
    "--generated", type=click.Path(path_type=Path), help="Folder with generated rubrics at any depth; FOLDER/generated if left out."
)
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
def command(
    folder: Path, parts: tuple[str, ...], families: tuple[str, ...], half: int | None, generated: Path | None, as_json: bool
) -> None:
    """Measure what can be measured on FOLDER, and say what cannot: what it holds, values that offline families find, grading beside human labels, experts'
    rubrics, how many of the experts' values generated rubrics state, and labelled answers graded by generated rubrics.

    FOLDER may hold questions.jsonl, documents.jsonl, corpus/NAME.jsonl, responses.jsonl (each also as .jsonl.gz), expert_rubrics.jsonl
    and generated/; each may be missing. Lines that cannot be read are left out and told.
    """
    from finassay_rubrics.measure.rows import tolerant

    if not folder.is_dir():
        raise UsageError(f"{folder} is no folder")
    chosen = parts or PARTS
    made = generated or folder / "generated"
    told: dict[str, Any] = {}
    absent = {name: why for name, why in _absent(folder, made).items() if name in chosen}
    ways: dict[str, Callable[[], dict[str, Any] | str]] = {
        "holdings": lambda: _holdings(folder),
        "statements": lambda: _statements(folder, families),
        "grading": lambda: _grading(folder, half),
        "experts": lambda: _experts(folder),
        "recall": lambda: _recall(folder, made),
        "answers": lambda: _answers(folder, made),
    }
    with tolerant() as left:
        for name in (name for name in PARTS if name in chosen and name not in absent):
            try:
                found = ways[name]()
            except InvalidFileError as error:
                found = str(error)
            if isinstance(found, str):
                absent[name] = found
            else:
                told[name] = found
    if not told:
        raise UsageError(
            f"{folder} holds nothing that can be measured: " + "; ".join(f"{name}: {why}" for name, why in absent.items()),
            hint="questions.jsonl with corpus/ or responses.jsonl.gz, or expert_rubrics.jsonl.",
        )
    told["not_measured"] = absent
    told["left_out"] = [f"{place} {why}" for place, why in left.items()]
    if as_json:
        click.echo(json.dumps(told, indent=1, ensure_ascii=False))
        return
    _print(told)


def _absent(folder: Path, made: Path) -> dict[str, str]:
    """Part to what it lacks."""
    from finassay_rubrics.measure.rows import found

    has = {name: found(folder, name) is not None for name in ("questions", "documents", "responses")}
    has["expert_rubrics"] = found(folder, EXPERTS.removesuffix(".jsonl")) is not None
    corpus = (folder / "corpus").is_dir()
    needs = {
        "holdings": {"questions.jsonl": has["questions"] or corpus or has["responses"]},
        "statements": {
            "questions.jsonl": has["questions"],
            "documents.jsonl": has["documents"],
            "corpus/": corpus,
        },
        "grading": {"questions.jsonl": has["questions"], "responses.jsonl": has["responses"]},
        "experts": {"expert_rubrics.jsonl": has["expert_rubrics"]},
        "recall": {
            "expert_rubrics.jsonl or questions.jsonl": has["expert_rubrics"] or has["questions"],
            "generated rubrics (--generated)": made.is_dir(),
        },
        "answers": {
            "questions.jsonl": has["questions"],
            "responses.jsonl": has["responses"],
            "generated rubrics (--generated)": made.is_dir(),
        },
    }
    lacking = {part: [name for name, there in own.items() if not there] for part, own in needs.items()}
    return {part: f"no {', no '.join(names)}" for part, names in lacking.items() if names}


def _holdings(folder: Path) -> dict[str, Any] | str:
    from finassay_rubrics.measure.holdings import holdings_json

    return holdings_json(folder)


def _experts(folder: Path) -> dict[str, Any] | str:
    from finassay_rubrics.measure.experts import experts_json
    from finassay_rubrics.measure.rows import found

    return experts_json(found(folder, EXPERTS.removesuffix(".jsonl")))


def _recall(folder: Path, made: Path) -> dict[str, Any] | str:
    from finassay_rubrics.measure.recall import recall_json

    return recall_json(folder, made)


def _answers(folder: Path, made: Path) -> dict[str, Any] | str:
    from finassay_rubrics.measure.answering import answering_json

    return answering_json(folder, made)


# -- values -----------------------------------------------------------------------------------------------------------


def _statements(folder: Path, families: tuple[str, ...]) -> dict[str, Any] | str:
    from finassay.catalog.catalog import Catalog
    from finassay_rubrics.measure.statements import Measurement, figures, halves

    catalog = Catalog.installed()
    measured = Measurement(folder, [catalog.create("researcher", name)[0] for name in families])
    if not measured.questions():
        return "no question whose answer is a metric or one figure"
    records = list(measured.records())
    tuned, held = halves([record.issuer for record in records])
    groups = {"all": records, "tuned": [r for r in records if r.issuer in tuned], "held out": [r for r in records if r.issuer in held]}
    return {
        "questions": len(measured.questions()),
        "groups": {name: [_figures(one) for one in figures(own)] for name, own in groups.items()},
        "unreachable": sorted({(r.question, r.reachable) for r in records if r.reachable}),
        "wrong": [_record(r) for r in records if r.outcome == "wrong"],
        "unresolved": [_record(r) for r in records if r.outcome == "unresolved"],
    }


def _figures(one: Any) -> dict[str, Any]:
    names = ("family", "questions", "resolved", "right", "wrong", "original", "coincide", "resolved_share", "right_share")
    return {name: getattr(one, name) for name in names}


def _record(record: "Record") -> dict[str, Any]:
    value = None if record.value is None else f"{record.value:f}"[:30]
    return {
        "question": record.question,
        "family": record.family,
        "expert": record.expert,
        "value": value,
        "reason": record.reason or record.reachable,
        "right_as_first_reported": record.by_original,
    }


# -- grading ----------------------------------------------------------------------------------------------------------


def _grading(folder: Path, half: int | None) -> dict[str, Any] | str:
    from finassay_rubrics.measure.responses import PROFILES, agreement, by_model, disagreements, half_of, intervals, judge
    from finassay_rubrics.measure.statements import METRICS

    judged = judge(folder, half)
    if not judged:
        return "no labelled answer to a question whose answer is one figure"
    groups = {"all": judged, METRICS: [j for j in judged if j.question_type == METRICS]}
    if half is None:
        groups |= {f"half {n}": [j for j in judged if half_of(j.question) == n] for n in (0, 1)}
    return {
        "answers": len(judged),
        "questions": len({j.question for j in judged}),
        "groups": {
            name: {
                profile: {
                    **_agreement(agreement(name, own, profile)),
                    "intervals": intervals(own, profile),
                    "without_conflicts": _agreement(agreement(name, [j for j in own if not j.conflict], profile)),
                }
                for profile in PROFILES
            }
            for name, own in groups.items()
            if own
        },
        "models": {pair[0].name: {one.profile: _agreement(one) for one in pair} for pair in by_model(judged)},
        "disagreements": {profile: [_judged(j) for j in disagreements(judged, profile)] for profile in PROFILES},
        "conflicts": [_judged(j) for j in judged if j.conflict],
    }


def _agreement(one: "Agreement") -> dict[str, Any]:
    names = ("answers", "both_right", "both_wrong", "too_strict", "too_lenient", "accuracy", "kappa")
    return {name: getattr(one, name) for name in names}


def _judged(one: "Judged") -> dict[str, Any]:
    names = ("question", "model", "label", "key", "figure", "how", "quote", "conflict")
    return {name: getattr(one, name) for name in names}


# -- printing ---------------------------------------------------------------------------------------------------------


def _print(told: dict[str, Any]) -> None:
    from rich.console import Console

    out = Console()
    for name, part in told.get("holdings", {}).items():
        rows = [(key.replace("_", " "), _shown(value)) for key, value in part.items() if not isinstance(value, dict | list)]
        _table(out, name, ("what", "count"), [*rows, *((str(key), str(count)) for key, count in part.get("labels", {}).items())])
    if "statements" in told:
        _print_statements(out, told["statements"])
    if "grading" in told:
        _print_grading(out, told["grading"])
    for name, title in (("experts", "experts' rubrics"), ("recall", "values of generated rubrics beside experts'")):
        figures = {k: v for k, v in told.get(name, {}).items() if not isinstance(v, list)}
        if figures:
            _table(out, title, ("figure", "value"), [(k.replace("_", " "), _shown(v)) for k, v in figures.items()])
    for row in told.get("recall", {}).get("unmatched", ())[:200]:
        out.print(f"  unmatched: {row}", markup=False, highlight=False)
    if "answers" in told:
        _print_answers(out, told["answers"])
    for name, why in told.get("not_measured", {}).items():
        out.print(f"not measured: {name}: {why}", markup=False, highlight=False, soft_wrap=True)
    for line in told.get("left_out", ())[:SHOWN]:
        out.print(f"left out: {line}", markup=False, highlight=False, soft_wrap=True)
    if (more := len(told.get("left_out", ())) - SHOWN) > 0:
        out.print(f"left out: {more} more; --json lists them")


def _table(out: "Console", title: str, heads: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table(title=Text(title), title_justify="left")
    for head in heads:
        table.add_column(head)
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    out.print(table)


def _shown(value: Any) -> str:
    return "" if value is None else f"{value:.4f}" if isinstance(value, float) else str(value)


def _print_answers(out: "Console", told: dict[str, Any]) -> None:
    names = ("accuracy", "kappa", "macro_f1")
    tracked = ("pearson", "spearman", "kendall", "order_accuracy")
    rows = []
    for profile in ("strict", "lenient"):
        own = told[profile]
        found = [(name, own[name]) for name in names] + [(name, (own["tracking"] or {}).get(name)) for name in tracked]
        rows += [(profile, name.replace("_", " "), *_bounded(one)) for name, one in found]
        rows += [(profile, name.replace("_", " "), str(own[name]), "") for name in own if name.startswith("called_")]
    title = f"{told['answers']} labelled answers to {told['questions']} questions, graded by generated rubrics"
    _table(out, title, ("profile", "figure", "value", "95 %"), rows)


def _bounded(one: dict[str, Any] | None) -> tuple[str, str]:
    if one is None:
        return "undefined", ""
    return _shown(one["value"]), f"{one['low']:.3f}, {one['high']:.3f}" if one["low"] is not None else ""


def _more(intervals: dict[str, Any]) -> tuple[str, str]:
    """The interval of kappa, and macro F1."""
    kappa, f1 = intervals["kappa"], intervals["macro_f1"]
    bounds = f"{kappa['low']:.3f}, {kappa['high']:.3f}" if kappa and kappa["low"] is not None else ""
    return bounds, _shown(f1["value"] if f1 else None)


def _print_statements(out: "Console", told: dict[str, Any]) -> None:
    names = ("family", "questions", "resolved", "right", "wrong", "original", "coincide", "resolved_share", "right_share")
    rows = [(group, *(_shown(one[name]) for name in names)) for group, own in told["groups"].items() for one in own]
    _table(out, f"values found for {told['questions']} metric questions", ("group", *(n.replace("_", " ") for n in names)), rows)
    _table(out, "out of reach", ("question", "why"), [(q, why) for q, why in told["unreachable"]])
    for name in ("wrong", "unresolved"):
        rows = [(r["question"], r["family"], r["expert"], _shown(r["value"]), r["reason"][:160]) for r in told[name]]
        _table(out, name, ("question", "family", "expert", "value", "reason"), rows)


def _print_grading(out: "Console", told: dict[str, Any]) -> None:
    heads = (
        "answers",
        "profile",
        "accuracy",
        "kappa",
        "95 %",
        "macro F1",
        "too strict",
        "too lenient",
        "kappa without label conflicts",
        "conflicts",
    )
    rows = []
    for name, own in told["groups"].items():
        for profile, one in own.items():
            bare = one["without_conflicts"]
            cells = (
                one["accuracy"],
                one["kappa"],
                *_more(one["intervals"]),
                one["too_strict"],
                one["too_lenient"],
                bare["kappa"],
                one["answers"] - bare["answers"],
            )
            rows.append((f"{name} ({one['answers']})", profile, *(_shown(cell) for cell in cells)))
    _table(out, f"grading by program beside human labels: {told['answers']} answers to {told['questions']} questions", heads, rows)
    rows = [
        (name, str(one["strict"]["answers"]), *(_shown(one[p][n]) for p in ("strict", "lenient") for n in ("accuracy", "kappa")))
        for name, one in told["models"].items()
    ]
    _table(out, "by model", ("model", "answers", "strict accuracy", "strict kappa", "lenient accuracy", "lenient kappa"), rows)
    for profile, own in told["disagreements"].items():
        differing = [(d["question"], d["model"], d["label"], d["key"], d["figure"] or "none", d["how"], d["conflict"]) for d in own]
        _table(out, f"disagreements, {profile}", ("question", "model", "label", "key", "figure", "how found", "label conflict"), differing)
    clashing = [(d["question"], d["model"], d["label"], d["key"], d["figure"], d["conflict"]) for d in told["conflicts"]]
    _table(out, "label conflicts", ("question", "model", "label", "key", "figure", "why"), clashing)
