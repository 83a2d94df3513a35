"""Three whole sessions really held, beside an independent check of every file of them: roles, figures, dates, items, audit, chain.

Needs the shared folder with the cases. Agreement is counted for each kind and compared with what was reached, so that a gain or a loss
is seen. Levels that a judge gives are not compared here.
"""

import json
import os
import re
from collections.abc import Iterator
from datetime import date
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from finassay.api.delivery import Package
from finassay.api.strategy import Stance
from finassay.api.verdict import Scored
from finassay_checks.delivered import read_delivery
from finassay_checks.facts.late_rows import late_rows
from finassay_checks.facts.prices_in_use import price_quality
from finassay_checks.fidelity.items import fidelity
from finassay_checks.fidelity.words import Condition
from finassay_checks.options import NoOptions
from finassay_checks.recompute import matches
from finassay_checks.recompute.audit import audit
from finassay_checks.recompute.chain import chain
from finassay_checks.recompute.lags import lags

from .deliveries import make_package, make_task

SESSIONS = Path(os.environ.get("FINASSAY_SHARED", Path(__file__).resolve().parents[4] / "shared")) / "cases" / "sessions"
pytestmark = pytest.mark.skipif(not SESSIONS.is_dir(), reason="the shared cases are not beside this checkout (FINASSAY_SHARED)")
GRAMMAR = "us-long-only"

WEEKLY, QUARTERLY, MONTHLY = "weekly-mean-variance", "quarterly-trailing-stop", "monthly-vol-target-no-prices"
NAMES = {
    "cagr": "annual_return",
    "annual vol": "annual_vol",
    "vol": "annual_vol",
    "max drawdown": "max_drawdown",
    "average invested": "exposure",
    "avg_invested_targets": "exposure",
    "turnover one-way/yr": "turnover",
    "turnover_1way": "turnover",
    "total costs $": "fees",
    "costs_paid": "fees",
    "cost_paid_money": "fees",
}
METRICS = frozenset(
    [
        "total_return",
        "annual_return",
        "annual_vol",
        "sharpe",
        "sortino",
        "max_drawdown",
        "trades",
        "turnover",
        "win_rate",
        "exposure",
        "beta",
        "alpha",
        "fees",
    ]
)
ROLES = {
    "returns": {"periods", "equity", "benchmark"},
    "sensitivity": {"variants", "periods"},
    "variants": {"variants", "periods"},
    "round trips": {"round_trips"},
    "universe": {"universe"},
    "spec": {"spec"},
    "other": {"unknown", "checks", "round_trips", "universe"},
}
"""What an expert's word for a role is called here. A table that the expert calls `other` plays no role that a check reads as one of the
main ones; a list of tickers is a universe whatever its numbers are about."""


@cache
def expert(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((SESSIONS / name / "expert.json").read_text())
    return found


def _session(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((SESSIONS / name / "session.json").read_text())
    return found


def _value(item: str) -> tuple[str, float | None]:
    match = re.fullmatch(r"([^()]+)\((\d+(?:\.\d+)?)\D*\)", item)
    return (match[1], float(match[2])) if match else (item, None)


def _made(folder: Path, name: str) -> Package:
    """The session with its hidden strategy, where the grammar that voiced it is installed."""
    session = _session(name)
    turns = sorted(session["deliveries"], key=int)
    trees = [{p: (SESSIONS / name / "files" / f).read_bytes() for p, f in session["deliveries"][t].items()} for t in turns]
    task = make_task(date.fromisoformat(session["task"]["cutoff"]), ())
    for entry in entry_points(group="finassay.grammars", name=GRAMMAR):
        kind = entry.load()
        grammar = kind(kind.Options())
        strategy = grammar.strategy_of(dict(_value(i) for i in session["task"]["items"]), session["task"]["grammar_seed"])
        task = evolve(task, strategy=strategy, belief=grammar.belief(strategy), observables=dict(grammar.observables(strategy)))
    return make_package(folder, trees, [m["text"] for m in session["conversation"]], task)


_READ: dict[str, Package] = {}


@pytest.fixture
def sessions(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Package]:
    """Each is read once, whatever the order of the tests."""
    for name in (WEEKLY, QUARTERLY, MONTHLY):
        if name not in _READ:
            _READ[name] = _made(tmp_path_factory.mktemp(name), name)
    return _READ


def agreement(pairs: Iterator[tuple[str, bool]]) -> tuple[int, int, list[str]]:
    """(agreeing, compared, what does not agree)."""
    found = list(pairs)
    return sum(ok for _, ok in found), len(found), [what for what, ok in found if not ok]


# -- roles --------------------------------------------------------------------------------------------------------------


def _wanted(text: str) -> set[str]:
    """The roles that an expert's description names first."""
    lead = text.split("(")[0].strip().lower()
    inner = text[text.find("(") + 1 : text.find(")")] if lead in ("benchmark", "other", "trades") and "(" in text else ""
    if lead == "benchmark":
        return {"equity": {"benchmark", "equity"}, "trades": {"trades"}, "positions": {"positions"}}.get(
            inner.split(",")[0], {"round_trips"}
        )
    if lead == "trades" and "spell" in inner:
        return {"round_trips"}
    if lead == "metrics" and "variants" in text:
        return {"metrics", "variants"}
    first = re.split(r"[/+,]", lead)[0].strip()
    return ROLES.get(first, {first})


def _roles(name: str, package: Package) -> Iterator[tuple[str, bool]]:
    found: dict[str, set[str]] = {}
    for one in package.fact(read_delivery).role_tables:
        found.setdefault(one.table.where, set()).add(one.role)
        found.setdefault(one.table.path, set()).add(one.role)
    for table in expert(name)["tables"]:
        path, role = table["path"], table["role"]
        if path.startswith("(") or role.startswith("twins"):
            continue
        where = "a6" if path == "message turn 6" else path.split(" (")[0] if path.startswith("report.md") else path
        mine = found.get(where, set())
        yield (
            f"{path}: {role[:40]!r}, found {sorted(mine)}",
            bool(mine & (_wanted(role) | ({"metrics", "variants"} if "comparison" in path else set()))),
        )


# -- figures ------------------------------------------------------------------------------------------------------------


def _named(rows: list[dict[str, Any]], key: str) -> dict[str, float]:
    found: dict[str, float] = {}
    for row in rows:
        name = NAMES.get(str(row["name"]).lower(), str(row["name"]).lower())
        if name in METRICS and isinstance(row.get(key), int | float):
            found.setdefault(name, float(row[key]))
    return found


def _own(name: str) -> dict[str, float]:
    found = expert(name)["recomputed"]
    if "values" in found:
        return _named(found["values"], "own")
    if "metrics" in found:
        return _named([row for row in found["metrics"] if row["reported"] is not None], "value")
    return _named([{"name": k, "own": v} for k, v in found["daily_with_channel_prices"].items()], "own")


def _reported(name: str, package: Package) -> Iterator[tuple[str, bool]]:
    mine = {f.metric: f for f in matches.first_figures(package.fact(read_delivery).figures)}
    for metric, value in _named(expert(name)["reported"], "value").items():
        figure = mine.get(metric)  # type: ignore[call-overload]  # a metric by its name
        digits = len(f"{value:.8f}".rstrip("0").partition(".")[2])
        slack = 0.0 if figure is None else 1.02 * figure.precision + 0.51 * 10.0**-digits
        yield f"{metric}: {value}, read {figure and figure.value}", figure is not None and abs(figure.value - value) <= slack


def _recomputed(name: str, package: Package) -> Iterator[tuple[str, bool]]:
    mine = {m.metric: m for m in package.fact(matches.metric_matches)}
    for metric, own in _own(name).items():
        match = mine.get(metric)
        value = None if match is None else match.recomputed
        close = value is not None and abs(value - own) <= max(0.01 * abs(own), 0.002)
        yield f"{metric}: {own}, recomputed {value}", close and match is not None and match.matches


# -- the other facts ----------------------------------------------------------------------------------------------------


def _late(name: str, package: Package) -> Iterator[tuple[str, bool]]:
    found = package.fact(late_rows)
    yield f"late rows {found.late}", found.late == len(expert(name)["late_rows"])


def _lags(name: str, package: Package) -> Iterator[tuple[str, bool]]:
    found = package.fact(lags)
    assert found is not None
    known = sorted(float(x) for x in found.sessions if x == x)
    wanted = {WEEKLY: (1, 1, 8038), QUARTERLY: (1, 23, 995), MONTHLY: (15, 23, 1913)}[name]
    yield f"fills {len(found.sessions)}", len(found.sessions) == wanted[2]
    yield f"shortest {known[0]}", known[0] == wanted[0]
    yield f"longest {known[-1]}", known[-1] == wanted[1]
    yield f"at or before their decision {len(found.late)}", len(found.late) == 0


def _items(name: str, package: Package) -> Iterator[tuple[str, bool]]:
    mine = {f.item.id: f for f in package.fact(fidelity).findings}
    for item in expert(name)["items"]:
        found = mine[_value(item.get("id", item.get("item")))[0]]
        delivered = found.words.condition is Condition.MATCHED and not found.missing
        yield f"{found.item.id} delivered: {found.words.condition}", delivered == str(item["delivered"]).startswith("yes")
        turn = item["stated"]["turn"] if "stated" in item else item["stated_turn"]
        yield f"{found.item.id} stated: {found.stated}", found.stated == (turn is not None)
        supported = found.shown.stance is Stance.SUPPORTS
        yield f"{found.item.id} shown by the trades: {found.shown.stance}", supported == bool(item["confirmed"])


def _audit(name: str, package: Package) -> Iterator[tuple[str, bool]]:
    mine = {o.letter: o.status for o in package.fact(audit)}
    for letter, wanted in expert(name)["audit"].items():
        if len(letter) == 1:
            text = wanted.get("r", wanted.get("result")) if isinstance(wanted, dict) else wanted
            yield f"({letter}) {text[:30]}: {mine[letter]}", text.startswith(mine[letter])


def _chain(name: str, package: Package) -> Iterator[tuple[str, bool]]:
    mine = {p.name: p for p in package.fact(chain)}
    spelled = {"weights_positions": "target weights or positions", "weights_or_positions": "target weights or positions"}
    for part, wanted in expert(name)["chain"].items():
        if part == "count":
            continue
        found = mine[spelled.get(part, "target weights or positions" if part == "targets" else part)]
        present = not str(wanted).upper().startswith("MISSING")
        yield f"{part} present: {found.present}", found.present == present
        if present and name != MONTHLY:  # there every link that the prices carry is open
            yield f"{part} linked: {found.linked}", found.linked is not False


def _quality(name: str, package: Package) -> Iterator[tuple[str, bool]]:
    wanted, found = expert(name)["data_quality"], package.fact(price_quality)
    if name == MONTHLY:
        yield "no price table", not found
        return
    (mine,) = found.values()
    for kind in ("m", "g", "u"):
        yield f"{kind} {mine.shares[kind]}", mine.shares[kind] == wanted[kind]
    # The expert counted the first close of a run too; the wording that now holds does not, and the expert gives that count in words.
    yield f"s {mine.counts['s']}", "629" in wanted["notes"] and mine.counts["s"] == 629
    yield f"o {mine.shares['o']:.2e}", abs(mine.shares["o"] - wanted["o"]) < 1e-5


REACHED = {
    "roles": (_roles, {WEEKLY: (39, 39), QUARTERLY: (17, 17), MONTHLY: (9, 9)}),
    "reported": (_reported, {WEEKLY: (10, 10), QUARTERLY: (10, 10), MONTHLY: (8, 8)}),
    "recomputed": (_recomputed, {WEEKLY: (10, 10), QUARTERLY: (10, 10), MONTHLY: (1, 9)}),
    "late rows": (_late, {WEEKLY: (1, 1), QUARTERLY: (1, 1), MONTHLY: (1, 1)}),
    "lags": (_lags, {WEEKLY: (4, 4), QUARTERLY: (4, 4), MONTHLY: (4, 4)}),
    "items": (_items, {WEEKLY: (21, 21), QUARTERLY: (18, 18), MONTHLY: (21, 21)}),
    "audit": (_audit, {WEEKLY: (10, 10), QUARTERLY: (10, 10), MONTHLY: (10, 10)}),
    "chain": (_chain, {WEEKLY: (14, 14), QUARTERLY: (14, 14), MONTHLY: (7, 7)}),
    "data quality": (_quality, {WEEKLY: (5, 5), QUARTERLY: (5, 5), MONTHLY: (1, 1)}),
}
"""Kind to how it is compared, and (agreeing, compared) for each session. The expert recomputed the monthly session from prices that
were not delivered: of its nine figures only the count of trades can be."""


@pytest.mark.parametrize("name", [WEEKLY, QUARTERLY, MONTHLY])
@pytest.mark.parametrize("kind", REACHED)
def test_agreement_with_the_expert(sessions: dict[str, Package], kind: str, name: str) -> None:
    if kind == "items" and not sessions[name].task.belief.items:
        pytest.skip(f"the grammar {GRAMMAR} is not installed beside this distribution")
    compare, reached = REACHED[kind]
    agreeing, compared, off = agreement(compare(name, sessions[name]))
    assert (agreeing, compared) == reached[name], off


VETOES = {WEEKLY: set[str](), QUARTERLY: set[str](), MONTHLY: {"3.2", "3.7", "3.8"}}
PROGRAMS = {"1.1": 4, "3.1": 2, "3.2": 1, "3.7": 4, "3.8": 4, "2.1": 2, "2.2": 2, "2.3": 2, "2.4": 2, "2.5": 2, "2.6": 2}
"""Vetoes that a program decides, and the level below which each fails."""


@pytest.mark.parametrize("name", [WEEKLY, QUARTERLY, MONTHLY])
def test_the_vetoes_that_programs_decide(sessions: dict[str, Package], name: str) -> None:
    failed = set()
    for entry in entry_points(group="finassay.checks"):
        dimension = ".".join(entry.name.split("-")[:2])
        if dimension in PROGRAMS and entry.value.startswith("finassay_checks."):
            verdict = entry.load()(NoOptions()).run(sessions[name], {})
            if isinstance(verdict, Scored) and verdict.level < PROGRAMS[dimension]:
                failed.add(dimension)
    assert failed == VETOES[name]
