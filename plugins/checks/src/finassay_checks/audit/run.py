"""One audit: read the folder, recompute, collect findings, decide."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd

from finassay.api.delivery import Package
from finassay_checks.audit.basis import basis, where_of
from finassay_checks.audit.book import books
from finassay_checks.audit.capital import flow_findings
from finassay_checks.audit.compare import compared
from finassay_checks.audit.explained import FREQUENCY, is_annualisation
from finassay_checks.audit.folder import Folder, of_suffix, with_exchange
from finassay_checks.audit.holdings import curve_findings, held_findings, log_findings, repeated_values
from finassay_checks.audit.levels import level_findings
from finassay_checks.audit.market import fitting_exchange
from finassay_checks.audit.model import Audit, AuditFinding, AuditMetric, AuditVerdict
from finassay_checks.audit.one_file import one_file_findings
from finassay_checks.audit.price_faults import price_faults
from finassay_checks.audit.process import process_findings
from finassay_checks.audit.timing import announcement_findings, cutoff_findings, membership_findings, signal_findings, weight_findings
from finassay_checks.audit.trips import trips
from finassay_checks.audit.turnover import readings, turnover
from finassay_checks.delivered import read_delivery
from finassay_checks.facts.tables_read import TableRead, tables_read
from finassay_checks.recompute.round_trips import RoundTrips


def audit_folder(folder: Folder) -> Audit:
    """The audit of an opened folder. Where no market is stated, tickers' suffixes or the dates of the prices decide the calendar."""
    folder = _on_its_market(folder)
    package = folder.package
    metrics = package.fact(compared)
    findings = [*_metric_findings(package, metrics), *_findings(folder, metrics)]
    delivered = package.fact(read_delivery)
    findings += [
        AuditFinding(f.check.replace("-", "_"), f"{f.message}", "note", f.file, f.rows, f.expected, f.found)
        for f in delivered.findings
        if f.check not in ("no-role",)
    ]
    tables = package.fact(tables_read)
    findings += [
        AuditFinding("ambiguous_role", f"several tables fit the role of {c.role} equally well: {'; '.join(c.reasons)[:300]}", "note")
        for c in delivered.choices.values()
        if c.status == "ambiguous"
    ]
    verdict, reason = decided(metrics, findings, tables)
    return Audit(verdict, reason, metrics, tuple(findings), tables, _rebuilt(package), _settings(folder))


def _on_its_market(folder: Folder) -> Folder:
    if folder.exchange_from != "default":
        return folder
    choice = folder.package.fact(read_delivery).choices.get("prices")
    if choice is None or choice.chosen is None or choice.chosen.frame.empty:
        return folder
    frame, table = choice.chosen.frame, choice.chosen
    name = table.columns.get("ticker")
    cells = table.table.frame[name].dropna().unique()[:2_000] if name else [c for c in table.columns.values() if c != table.columns["date"]]
    tickers = [str(t).strip().upper() for t in cells]
    suffixed = of_suffix(tickers)
    if suffixed is not None:
        return with_exchange(folder, suffixed, "ticker suffix")
    fitting = fitting_exchange(pd.DatetimeIndex(frame["date"].dropna().unique()))
    return with_exchange(folder, fitting, "dates of the prices") if fitting is not None else folder


def _findings(folder: Folder, metrics: tuple[AuditMetric, ...]) -> Iterable[AuditFinding]:
    package = folder.package
    faults = package.fact(price_faults)
    if faults is not None:
        yield from faults.findings
    yield from cutoff_findings(package, folder.cutoff)
    yield from signal_findings(package)
    yield from weight_findings(package, metrics)
    yield from announcement_findings(package)
    yield from membership_findings(package)
    yield from held_findings(package)
    yield from level_findings(package)
    yield from curve_findings(package)
    yield from repeated_values(package)
    yield from log_findings(package)
    yield from flow_findings(package)
    yield from process_findings(package)
    yield from one_file_findings(package)


def _metric_findings(package: Package, metrics: tuple[AuditMetric, ...]) -> Iterable[AuditFinding]:
    own = package.fact(basis)
    periods = own.curve.path.periods if own is not None else 252.0
    clocks = [m for m in metrics if m.fault and is_annualisation(m.fault)]
    if clocks and own is not None:
        named = ", ".join(f"{m.name} ({m.fault})" for m in clocks)
        if any("365" in str(m.fault) for m in clocks) and periods == 252.0:
            text = f"365 periods a year on data of a five-day week: {named}"
            yield AuditFinding(
                "annualisation_basis",
                text,
                "wrong",
                clocks[0].file,
                expected="252",
                found="365",
                facts={"value": "365 periods a year on 5-day-week data"},
            )
        elif periods < 200 or any("_on_" in str(m.fault) for m in clocks):
            text = f"the data are {FREQUENCY.get(periods, 'irregular')}, {periods:g} periods a year; scaled otherwise: {named}"
            facts = {"value": FREQUENCY.get(periods, "irregular"), "periods_per_year": int(periods)}
            if not all(str(m.fault).startswith("years_counted") for m in clocks):
                yield AuditFinding("frequency", text, "wrong", own.file, expected=f"{periods:g} periods a year", facts=facts)
        elif any(m.within_tolerance for m in clocks):
            yield AuditFinding(
                "annualisation_basis", f"inside the tolerance, but not annualised as the data are: {named}", "wrong", clocks[0].file
            )
    for metric in metrics:
        if _implausible(metric):
            text = f"{metric.name} of {metric.reported:.6g} is no plausible value"
            yield AuditFinding(
                "implausible_metric", text, "wrong", metric.file, expected=f"{metric.recomputed:.6g}", facts={"metric": metric.name}
            )
        if metric.fault and metric.within_tolerance and not is_annualisation(metric.fault):
            text = f"{metric.name} lies inside its tolerance but follows from a fault: {metric.fault}"
            yield AuditFinding(
                metric.fault,
                text,
                "wrong",
                metric.file,
                expected=f"{metric.recomputed:.6g}",
                found=f"{metric.reported:.6g}",
                facts={"metric": metric.name},
            )
        if metric.fault == "dividend_double_count":
            actions = package.fact(read_delivery).frame("actions")
            paid = actions[actions["kind"] == "dividend"]["value"].sum() if actions is not None else np.nan
            text = "cash dividends are added to a return on prices that hold them already"
            yield AuditFinding(
                "dividend_double_count",
                text,
                "wrong",
                where_of(package.fact(read_delivery), "actions"),
                facts={"amount": round(float(paid), 9)},
            )


def _implausible(metric: AuditMetric) -> bool:
    if metric.accepted or metric.reported is None or metric.recomputed is None:
        return False
    name = metric.name.split(" ")[0]
    limits = {"sharpe": 15.0, "sortino": 50.0, "calmar": 200.0, "profit_factor": 1e4}
    if name in limits:
        return abs(metric.reported) > limits[name]
    return (name == "max_drawdown" and metric.reported < -1.0) or (name == "win_rate" and not 0 <= metric.reported <= 1)


def decided(metrics: tuple[AuditMetric, ...], findings: Iterable[AuditFinding], tables: tuple[TableRead, ...]) -> tuple[AuditVerdict, str]:
    """The verdict with its reason: what is wrong first, then faulty data, then what cannot be told."""
    findings = list(findings)
    mismatched = [m for m in metrics if not m.accepted]
    wrong = [f for f in findings if f.severity == "wrong"]
    faulty = any(f.severity == "data" for f in findings) or any(m.data_fault for m in mismatched)
    own = [m for m in mismatched if not m.data_fault]
    if own or wrong:
        names = dict.fromkeys([*(m.name for m in own), *(f.check for f in wrong)])
        return "wrong", f"not as it should be: {', '.join(names)}"
    if faulty:
        names = dict.fromkeys(f.check for f in findings if f.severity == "data")
        return "data_problem", f"the input data are faulty: {', '.join(names) or 'prices'}"
    reported = [m for m in metrics if m.reported is not None]
    told = [m for m in reported if m.recomputed is not None]
    if reported and not told:
        return "unverifiable", f"nothing that was delivered makes the reported figures: {reported[0].note}"
    if not any(t.role not in ("unknown", "metrics") for t in tables):
        return "unverifiable", "no table of prices, trades, weights, values or returns could be read"
    notes = [f for f in findings if f.severity == "note"]
    noted = [m for m in told if m.noted]
    untold = [m for m in reported if m.recomputed is None and not m.aside]
    if noted or notes or untold:
        names = dict.fromkeys(
            [*(f"{m.name} ({m.explained_by})" for m in noted), *(f.check for f in notes), *(f"{m.name} not verified" for m in untold)]
        )
        return "pass_with_note", f"right, with notes: {', '.join(names)}"
    return "pass", f"{len(told)} figures recomputed" if told else "nothing wrong was found; no figures are reported"


def _rebuilt(package: Package) -> dict[str, Any]:
    """What the program's own computation gives: source, values and counts in the units of the conventions."""
    own, book, found = package.fact(basis), package.fact(books), package.fact(trips)
    made: dict[str, Any] = {}
    if own is not None:
        path = own.curve.path
        made |= {
            "source": own.source,
            "file": own.file,
            "notes": list(own.notes),
            "frequency": FREQUENCY.get(path.periods, ""),
            "periods_per_year": path.periods,
        }
        made |= {
            "n_returns": len(path.returns),
            "start": str(path.start.date()),
            "end": str(path.dates[-1].date()) if len(path.dates) else None,
        }
        made |= {"equity_start": float(own.curve.equity.iloc[0]), "equity_end": float(own.curve.equity.iloc[-1])}
    if book is not None:
        made["capital"] = book.capital
        fees = float(book.fills["fee"].sum()) if book.fills is not None else 0.0
        made |= {"total_fees": fees, "equity_end_without_fees": float(book.equity.iloc[-1]) + fees}
        if book.delivered is not None:
            common = book.equity.index.intersection(pd.DatetimeIndex(book.delivered.index))
            if len(common):
                apart = (book.delivered.loc[common] - book.equity.loc[common]).abs()
                made |= {
                    "max_abs_difference": float(apart.max()),
                    "max_relative_difference": float((apart / book.equity.loc[common].abs()).max()),
                }
    if found is not None:
        made |= rates(found.trips)
    rate = package.fact(turnover)
    if rate is not None:
        made["turnover"] = {a.name: a.value for a in readings("turnover", rate)[:20] if a.name}
    return made


def rates(found: RoundTrips) -> dict[str, Any]:
    """Counts and win rates of a log in the units of the conventions."""
    c = found.counts
    net, gross = found.spell_net, found.spell_gross
    return {
        "n_fills": c.fills,
        "n_round_trips": c.round_trips,
        "n_positions_open_at_end": c.open,
        "n_closing_fills": c.closing,
        "n_matched_pairs": c.matched,
        "win_rate_net": float(np.mean(net > 0)) if len(net) else None,
        "win_rate_gross": float(np.mean(gross > 0)) if len(gross) else None,
    }


def _settings(folder: Folder) -> dict[str, Any]:
    return {
        "exchange": folder.exchange,
        "exchange_from": folder.exchange_from,
        "timezone": folder.timezone,
        "cutoff": folder.cutoff.isoformat() if folder.cutoff else None,
    }
