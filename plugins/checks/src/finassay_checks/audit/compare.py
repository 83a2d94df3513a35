"""Every reported figure beside the program's own: inside the tolerance, right under a named convention, or wrong."""

import re
from collections.abc import Iterator, Sequence

import numpy as np
from attrs import evolve

from finassay.api.delivery import Package
from finassay_checks.audit.basis import Basis, basis, equity_basis, finite
from finassay_checks.audit.book import CAPITAL, books
from finassay_checks.audit.curve import delivered_curve
from finassay_checks.audit.explained import named
from finassay_checks.audit.labels import COUNTS, FRACTIONS, frequency_of, words_of
from finassay_checks.audit.model import AuditMetric
from finassay_checks.audit.relative import RELATIVE, exposure_readings, relative_readings
from finassay_checks.audit.reported import Reported, reported, statements
from finassay_checks.audit.trips import candidates, trips
from finassay_checks.audit.turnover import readings, turnover
from finassay_checks.delivered import read_delivery
from finassay_checks.recompute import metrics, stated
from finassay_checks.recompute.conventions import Alternative, Curve, alternatives, closeness, own_value
from finassay_checks.recompute.metrics import MIN_RETURNS, Path

SHARED = {"volatility": "annual_vol", "number_of_trades": "trades"}
CURVE = ("total_return", "annual_return", "volatility", "sharpe", "sortino", "max_drawdown", "calmar")
NO_CAPITAL = "start capital not delivered"
"""How a rebuilt portfolio says that its capital is only the money that the fills need."""
STRICT = 5e-4
"""Relative distance within which a fault's fingerprint counts inside the tolerance."""


def tolerance(name: str, own: float, dividends: bool = False) -> float:
    """The paper's tolerances, and for what it does not name a thousandth (money), none (counts), 0.02 (rates and factors)."""
    if name in ("total_return", "buy_and_hold_return"):
        return 0.005 if dividends else max(0.02, 0.005 * abs(1.0 + own))
    if name in ("sharpe", "sortino", "calmar", "information_ratio"):
        return 0.5
    if name in COUNTS:
        return 0.0
    if name in ("net_profit", "gross_pnl", "gross_profit", "gross_loss", "equity_end"):
        return max(0.01, 0.001 * abs(own))
    if name == "fees":
        return max(0.01, 0.02 * abs(own))
    return 0.1 if name == "beta" else 0.02


def compared(package: Package) -> tuple[AuditMetric, ...]:
    """One entry a reported figure, then the program's own values of what is not reported."""
    figures = package.fact(reported)
    found = _judged([_compared(figure, package) for figure in (*figures, *_of_delivered_curve(figures, package))])
    known = {m.name for m in found}
    return (*found, *(m for m in _unreported(package) if m.name not in known))


def _judged(found: list[AuditMetric]) -> list[AuditMetric]:
    """A table that tells of something else (a benchmark, a period, a variant) is not held against the portfolio: one in which most figures
    differ, where in another table of the folder most fit. A figure that is reported right as well goes before it."""
    fits: dict[str, list[bool]] = {}
    for metric in found:
        if metric.recomputed is not None:
            fits.setdefault(metric.file, []).append(metric.accepted)
    if len(fits) < 2:
        return found
    share = {file: sum(held) / len(held) for file, held in fits.items()}
    best = max(share.values())
    other = {file for file, value in share.items() if value < 0.5 <= best}
    kept = [
        evolve(
            m,
            recomputed=None,
            tolerance=None,
            within_tolerance=None,
            fault=None,
            accepted=True,
            aside=True,
            note="of another portfolio or period",
        )
        if m.file in other and not m.accepted
        else m
        for m in found
    ]
    leads: dict[str, AuditMetric] = {}
    for metric in kept:
        lead = metric.name.split(" (")[0]
        if lead not in leads or (leads[lead].aside and not metric.aside):
            leads[lead] = metric
    made = [
        m if leads[m.name.split(" (")[0]] is m or " (" in m.name else evolve(m, name=f"{m.name} ({m.label[:60]}, {m.file[-60:]})")
        for m in kept
    ]
    return [evolve(m, name=m.name.split(" (")[0]) if leads[m.name.split(" (")[0]] is old else m for m, old in zip(made, kept, strict=True)]


def _of_delivered_curve(figures: Sequence[Reported], package: Package) -> Iterator[Reported]:
    """What the delivered curve itself says, where the portfolio can be rebuilt beside it and no figure is reported."""
    book, curve = package.fact(books), package.fact(equity_basis)
    if book is None or curve is None or any(f.metric in CURVE for f in figures):
        return
    for name in ("total_return", "max_drawdown"):
        value = _own(name, curve)
        if np.isfinite(value):
            yield Reported(name, value, 1e-9, f"{name} of the delivered values", f"{value:.8f}", curve.file)


def _compared(figure: Reported, package: Package) -> AuditMetric:
    made = _by_kind(figure, package)
    return evolve(made, name=figure.name or made.name, label=figure.label, written=figure.written, file=figure.where)


def _by_kind(figure: Reported, package: Package) -> AuditMetric:
    own = package.fact(basis)
    if figure.metric == "buy_and_hold_return":
        return _buy_and_hold(figure, package)
    if figure.metric in CURVE and own is not None:
        return _of_curve(figure, own, package)
    if figure.metric.startswith("turnover"):
        rate = package.fact(turnover)
        if rate is not None:
            made = readings(figure.metric, rate)
            limit = 0.02 if "_mean" in figure.metric or not made else max(0.02, 0.1 * abs(made[0].value))
            return decide(figure, made, limit, "traded value over the portfolio's value")
        return _missing(figure, "neither fills nor weights with prices were delivered")
    return _of_trades(figure, package)


def _missing(figure: Reported, note: str) -> AuditMetric:
    return AuditMetric(figure.metric, figure.value, None, None, None, note=note)


def _of_trades(figure: Reported, package: Package) -> AuditMetric:
    found, book = package.fact(trips), package.fact(books)
    if figure.metric == "equity_end":
        own = package.fact(basis)
        if own is not None and own.source in ("fills", "round trips", "positions", "equity"):
            return decide(figure, [Alternative("", float(own.curve.equity.iloc[-1]), "same")], None, own.source)
        return _missing(figure, "no portfolio value could be rebuilt")
    paid = book.fills if book is not None else found.fills if found is not None else None
    if figure.metric == "fees" and paid is not None and float(paid["fee"].sum()):
        return decide(figure, [Alternative("", float(paid["fee"].sum()), "same")], None, "fees of the fills")
    if figure.metric == "total_return" and found is not None:
        capital = package.fact(statements).number(CAPITAL)
        if capital:
            gains = candidates("net_profit", "", found)
            return decide(figure, [evolve(a, value=a.value / capital) for a in gains], None, "closed trades over the stated capital")
    if found is None:
        return _others(figure, package)
    made = candidates(figure.metric, figure.label, found)
    if not made:
        return _others(figure, package)
    if figure.metric == "net_profit" and book is not None:
        gain = float(book.equity.iloc[-1]) - book.capital
        made.append(Alternative("open_positions_included", gain, "convention"))
    if figure.metric == "profit_factor" and (own := package.fact(basis)) is not None:
        r = own.curve.path.returns
        lost = -float(r[r < 0].sum())
        made.append(Alternative("of_periodic_returns", float(r[r > 0].sum()) / lost if lost > 0 else np.nan, "convention"))
    matched = decide(figure, made, None, "round trips of the fills" if found.rows_net is None else "the log of round trips")
    forced = found.forced and matched.within_tolerance and figure.metric in ("number_of_trades", "number_of_closed_trades")
    if forced and matched.explained_by is None:
        return evolve(matched, explained_by="open_position_closed_at_last_bar", noted=True)
    return matched


def _others(figure: Reported, package: Package) -> AuditMetric:
    """Exposure, alpha, beta and the information ratio in every reading in use: a figure that none gives is wrong."""
    if figure.metric == "exposure" and (near := exposure_readings(figure, package)):
        return decide(figure, near, tolerance("exposure", 0.0), "rebuilt holdings")
    if figure.metric in RELATIVE:
        near = relative_readings(figure, package)
        if near:
            return decide(figure, near, tolerance(figure.metric, near[0].value), "returns beside the delivered benchmark's")
        return _missing(figure, "no benchmark was delivered over enough of the same dates")
    if figure.metric == "net_profit" and (own := package.fact(basis)) is not None and own.source == "equity":
        return decide(figure, _gains(package), None, "the first and the last delivered value")
    if figure.metric == "profit_factor" and (own := package.fact(basis)) is not None:
        r = own.curve.path.returns
        lost = -float(r[r < 0].sum())
        if lost > 0:
            return decide(figure, [Alternative("", float(r[r > 0].sum()) / lost, "same")], None, "periodic returns")
    return _missing(figure, "what it is computed from was not delivered, or it has no agreed definition")


def _gains(package: Package) -> list[Alternative]:
    """Money earned by the values alone: what was paid in is no gain."""
    values = delivered_curve(package)
    assert values is not None  # the basis was made of them
    level, flows = values.to_numpy(dtype=float), package.fact(read_delivery).frame("cash_flows")
    paid = 0.0
    if flows is not None:
        inside = flows[(flows["date"] > values.index[0]) & (flows["date"] <= values.index[-1])]
        paid = float(inside["amount"].sum())
    capital = package.fact(statements).number(CAPITAL)
    found = [Alternative("", float(level[-1] - level[0]) - paid, "same")]
    found += [Alternative("from the stated capital", float(level[-1]) - capital - paid, "same")] if capital else []
    return found + ([Alternative("external_flows_counted_as_return", float(level[-1] - level[0]), "fault")] if paid else [])


def _buy_and_hold(figure: Reported, package: Package) -> AuditMetric:
    """The prices' own return. Beside a portfolio it is the benchmark's, which may begin after a warm-up."""
    from finassay_checks.audit.prices import held_prices

    held, own = package.fact(held_prices), package.fact(basis)
    if held is None:
        return _missing(figure, "no prices were delivered")
    if own is not None and own.prices_only and not any(f.metric == "total_return" for f in package.fact(reported)):
        return _of_curve(evolve(figure, metric="total_return"), own, package)
    total = metrics.total_return(Curve.of(held.curve).path.returns)
    made = decide(
        figure, [Alternative("", total, "same"), *held.others["total_return"], *_later_starts(held.curve, figure)], None, "prices"
    )
    return (
        made
        if made.accepted
        else _missing(figure, f"prices held from the first date give {total:.4f}; the start of the figure is not stated")
    )


def _later_starts(curve: "object", figure: Reported) -> Iterator[Alternative]:
    """The same from each of the first 260 rows on: a benchmark measured after an indicator's warm-up."""
    values = curve.to_numpy(dtype=float)  # type: ignore[attr-defined]
    for row in range(1, min(260, len(values) - 1)):
        total = float(values[-1] / values[row] - 1.0)
        if abs(total - figure.value) <= max(2 * figure.precision, 1e-7 * abs(total)):
            yield Alternative(f"measured_from_row_{row + 1}", total, "convention")


def _of_curve(figure: Reported, own: Basis, package: Package) -> AuditMetric:
    periods = frequency_of(figure.label)
    curves = [own.curve, *own.same]
    if periods in ("W", "M", "Y") and figure.metric in ("sharpe", "sortino", "volatility"):
        coarse = own.curve.every(periods).returns
        value = _value(
            figure.metric,
            Path(coarse, own.curve.path.dates[: len(coarse)], own.curve.path.start, {"W": 52.0, "M": 12.0, "Y": 1.0}[periods]),
        )
        years = {"W": 52.0, "M": 12.0, "Y": 1.0}[periods]
        whole = Path(coarse[1:], own.curve.path.dates[: len(coarse) - 1], own.curve.path.start, years)
        rest = [a for c in curves for a in _alternatives(figure.metric, c)]
        rest.insert(0, Alternative("first_part_period_left_out", _value(figure.metric, whole), "same"))
        if len(coarse) < 6:
            return AuditMetric(
                figure.metric, figure.value, None, None, None, basis=own.source, note=f"{len(coarse)} periods only: not compared"
            )
        return decide(
            figure, [Alternative("", value, "same"), *rest], tolerance(figure.metric, value), f"{own.source}, {words_of(figure.label)}"
        )
    first = Alternative("", _own(figure.metric, own), "same")
    rest = [a for curve in curves for a in _alternatives(figure.metric, curve)]
    rest += [Alternative("from the first fill on", _own(figure.metric, evolve(own, curve=c)), "same") for c in own.same]
    rest += list(own.others.get(SHARED.get(figure.metric, figure.metric), ()))
    if figure.metric in FRACTIONS and "%" in figure.written and np.isfinite(first.value):
        rest.append(Alternative("fraction_with_a_percent_sign", first.value / 100, "fault"))
    rest = [_as_labelled(a, figure, package) for a in rest]
    if figure.metric == "sharpe":
        rest += _risk_free(figure.value, first.value, own.curve, package)
    limit = tolerance(figure.metric, first.value, own.dividends)
    made = decide(figure, [first, *rest], limit, own.source)
    if not made.accepted and any(NO_CAPITAL in note for note in own.notes):
        return _missing(figure, "the starting capital was not delivered: what the log earns cannot be put over it")
    if figure.metric != "total_return" and figure.metric != "max_drawdown" and len(own.curve.path.returns) < MIN_RETURNS:
        made = evolve(made, note=f"{len(own.curve.path.returns)} returns only: an annual figure is noisy")
    return evolve(made, data_fault=not made.accepted and made.fault == "faulty_prices")


def _own(name: str, own: Basis) -> float:
    """Our own value. Years are periods for daily data, calendar days for coarser values whose dates are known."""
    path = own.curve.path
    if name == "annual_return" and path.periods < 200 and own.source != "returns" and path.years > 0:
        growth = 1.0 + metrics.total_return(path.returns)
        return float(growth ** (1.0 / path.years) - 1.0) if growth > 0 else float("nan")
    return _value(name, path)


def _value(name: str, path: Path) -> float:
    if name == "calmar":
        return metrics.ratio(own_value("annual_return", path), abs(own_value("max_drawdown", path)))
    return own_value(SHARED.get(name, name), path)


def _alternatives(name: str, curve: Curve) -> Iterator[Alternative]:
    if name == "calmar":
        fall = abs(own_value("max_drawdown", curve.path))
        for annual in alternatives("annual_return", curve):
            yield evolve(annual, value=metrics.ratio(annual.value, fall))
        yield Alternative("mean of the periodic returns over drawdown", metrics.ratio(float(curve.path.returns.mean()), fall), "convention")
        return
    yield from alternatives(SHARED.get(name, name), curve)
    if name == "sharpe":
        yearly = curve.every("Y").returns
        if len(yearly) >= 2:
            for rf in (0.01, 0.0):
                for ddof in (0, 1):
                    value = metrics.ratio(float(np.mean(yearly - rf)), float(np.std(yearly, ddof=ddof)))
                    yield Alternative(f"yearly returns, risk-free {rf:.0%}, ddof {ddof}", value, "convention")
    if name == "annual_return" and (curve.path.returns > -1).all():
        logs = np.log1p(curve.path.returns)
        yield Alternative("mean log return, annualised", float(np.expm1(logs.mean() * curve.path.periods)), "same")


def _as_labelled(alternative: Alternative, figure: Reported, package: Package) -> Alternative:
    """A fault that the figure's own label or the report states is the convention it says it is."""
    label = f"{words_of(figure.label)} {figure.around}".lower()
    said = {
        "not annualised": r"\bdaily\b(?!.*annuali)|not annuali|per (?:day|period)",
        "month-end values only": r"month[- ]end|monthly (?:values|data|drawdown)",
        "week-end values only": r"week[- ]end|weekly (?:values|data|drawdown)",
        "sum of returns, not compounded": r"constant stake|not compounded|uncompounded|sum of returns|simple sum",
        "not compounded": r"constant stake|not compounded|uncompounded|simple sum",
        "daily_rebalanced": r"rebalanced? (?:back )?daily|daily rebalanc|constant weights",
        "external_flows_counted_as_return": r"flows? (?:are )?(?:included|counted)|not adjusted for (?:deposits|flows)",
    }.get(alternative.name)
    words = f"{label} {package.fact(statements).words}"
    if alternative.kind == "fault" and said and re.search(said, words):
        return evolve(alternative, kind="convention")
    return alternative


def _risk_free(value: float, own: float, curve: Curve, package: Package) -> list[Alternative]:
    """A stated risk-free rate is taken off; stated without its number any quarter of a percent may be meant; unstated, a whole percent
    may explain what lies outside the tolerance."""
    vol = metrics.volatility(curve.path.returns, curve.path.periods)
    if not vol > 0:
        return []
    rate = package.fact(statements).number(r"risk ?-?free|^rf\b|\brf rate")
    said = stated.risk_free(package.fact(read_delivery))
    if rate is not None:
        rates = [rate / 100 if rate > 0.2 else rate]
    elif said is not None and np.isfinite(said.value):
        rates = [said.value]
    elif said is not None:
        rates = [0.0025 * step for step in range(1, 25)]
    else:
        rates = [0.01 * step for step in range(1, 6)] if own - value > tolerance("sharpe", own) else []
    return [Alternative(f"risk-free rate of {r:.2%}", own - r / vol, "convention") for r in rates if r > 0]


def decide(figure: Reported, readings_: Sequence[Alternative], limit: float | None, source: str) -> AuditMetric:
    """Our own reading first. Inside the tolerance a fingerprint is named too; outside it a convention accepts, a fault names the cause."""
    own = readings_[0].value
    if not np.isfinite(own):
        other = next((a for a in readings_[1:] if _explains(a, figure.value, figure.precision, figure.metric) and a.kind != "fault"), None)
        if other is not None:
            return AuditMetric(
                figure.metric,
                figure.value,
                other.value,
                tolerance(figure.metric, other.value),
                True,
                named(other),
                basis=source,
                noted=True,
            )
        return AuditMetric(figure.metric, figure.value, None, None, None, basis=source, note="no such figure exists for these data")
    wide = tolerance(figure.metric, own) if limit is None else limit
    blank = AuditMetric(figure.metric, figure.value, own, wide, False, basis=source)
    rest = [a for a in readings_[1:] if np.isfinite(a.value)]
    percent = figure.bare and abs(figure.value) >= 0.5 and abs(figure.value / 100 - own) <= max(figure.precision / 100, 0.005 * abs(own))
    values = [figure.value / 100] if percent and abs(figure.value - own) > wide else [figure.value]
    made = min((_decided(v, figure, own, wide, rest, blank) for v in values), key=lambda m: (not m.within_tolerance, not m.accepted))
    if figure.notation and made.within_tolerance and made.explained_by is None:
        return evolve(made, explained_by=figure.notation)
    return made


def _decided(value: float, figure: Reported, own: float, wide: float, rest: Sequence[Alternative], blank: AuditMetric) -> AuditMetric:
    precision = figure.precision * (value / figure.value if figure.value else 1.0)
    blank = evolve(blank, reported=value)
    order = {"same": 0, "convention": 1, "fault": 2}
    near = sorted(
        (a for a in rest if _explains(a, value, precision, figure.metric)),
        key=lambda a: (_coarse(a, value, precision), order[a.kind], abs(value - a.value)),
    )
    if abs(value - own) <= max(wide, precision * 1.0001) + 1e-12:
        inside = evolve(blank, within_tolerance=True)
        if abs(value - own) <= _exact(own, precision, figure.metric) or (near and near[0].kind == "same"):
            return evolve(inside, recomputed=near[0].value if near and abs(value - own) > _exact(own, precision, figure.metric) else own)
        return _fingerprint(inside, value, own, precision, near)
    if near and near[0].kind == "fault" and not _coarse(near[0], value, precision):
        return evolve(blank, accepted=False, fault=named(near[0]))
    near_own = [a for a in rest if a.kind == "same" and abs(a.value - own) <= 3 * wide + 1e-12]
    same = next((a for a in near_own if abs(value - a.value) <= max(wide, precision * 1.0001) + 1e-12), None)
    same = same or (near[0] if near and near[0].kind == "same" else None)
    if same is not None:
        return evolve(blank, recomputed=same.value, within_tolerance=True, note=named(same))
    if near and near[0].kind == "convention":
        return evolve(blank, explained_by=named(near[0]), noted=True)
    return evolve(blank, accepted=False, fault=named(near[0]) if near else None)


def _coarse(alternative: Alternative, value: float, precision: float) -> bool:
    """A reading that fits to the printed digits goes before one that is merely near."""
    return abs(value - alternative.value) > max(precision * 1.0001, 1e-3 * abs(value)) if alternative.kind != "same" else False


def _fingerprint(inside: AuditMetric, value: float, own: float, precision: float, near: list[Alternative]) -> AuditMetric:
    """Inside the tolerance but not our own value: a convention is named; a fault only where it fits far better than our own value."""
    for alternative in near:
        if alternative.kind == "convention":
            return evolve(inside, explained_by=named(alternative), noted=True)
        close = max(precision * 1.0001, STRICT * abs(alternative.value))
        if abs(value - alternative.value) <= close and abs(value - own) > 4 * close:
            return evolve(inside, explained_by=named(alternative), fault=named(alternative))
    return inside


def _explains(alternative: Alternative, value: float, precision: float, metric: str) -> bool:
    return abs(value - alternative.value) <= _exact(alternative.value, precision, metric)


def _exact(own: float, precision: float, metric: str) -> float:
    """How near a figure must lie to count as explained: its printed precision, else half a percent; counts must be equal."""
    if metric in COUNTS:
        return 1e-9
    return closeness(own, min(precision, 0.05 * abs(own) + 1e-9) if metric in ("net_profit", "gross_pnl", "equity_end") else precision)


def _unreported(package: Package) -> Iterator[AuditMetric]:
    """Our own values of the usual metrics."""
    own, found = package.fact(basis), package.fact(trips)
    if own is not None:
        for name in CURVE:
            yield AuditMetric(name, None, finite(_own(name, own)), None, None, basis=own.source)
    if found is not None:
        for name in ("number_of_trades", "win_rate", "profit_factor", "net_profit"):
            made = candidates(name, "", found)
            if made:
                yield AuditMetric(name, None, finite(made[0].value), None, None, basis="round trips")
    rate = package.fact(turnover)
    if rate is not None:
        for name in ("turnover_one_way_annual", "turnover_two_way_annual"):
            yield AuditMetric(
                name, None, finite(readings(name, rate)[0].value), None, None, basis="traded value over the portfolio's value"
            )
