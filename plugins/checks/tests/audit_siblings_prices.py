"""Siblings of the shared cases about prices, each beside its clean twin."""

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from finassay_checks.sessions import sessions_between

from .audit_siblings_base import Expected, Files, Sibling, days, letters, mdd, pick, report, table, walk


def splits(rng: np.random.Generator) -> Iterator[Sibling]:
    n, ratio = int(rng.integers(25, 150)), int(rng.choice([2, 3, 4, 5, 10, 20]))
    dates, at = days(rng, n), int(rng.integers(14, n - 6))
    true = walk(rng, n, 128, 0.012)
    raw = np.round(np.where(np.arange(n) < at, true, true / ratio), 4)
    name = {"Ticker": letters(rng)} if rng.random() < 0.3 else {}
    actions = {
        "actions.csv": f"Date,Action,Value\n{dates[at].date()},SPLIT,{pick(rng, f'{ratio}:1', f'{ratio}-for-1', f'{ratio}', f'{ratio}/1')}\n".encode()
    }
    volume = rng.integers(1_000_000, 4_000_000, n)
    right, wrong = true[-1] / true[0] - 1, raw[-1] / raw[0] - 1
    label = pick(rng, "buy_and_hold_return", "Buy & Hold Return", "total_return")
    frame = pd.DataFrame({"Date": dates, **name, "Close": raw, "Volume": volume})
    yield (
        "clean",
        {**table(rng, frame, "prices"), **actions, **report(rng, {label: round(right, 6), "symbol": "one"})},
        Expected("pass", {"total_return": (right, True)}, (), ("inconsistent_adjustment",)),
    )
    smooth = pd.DataFrame({"Date": dates, **name, "Close": np.round(true / ratio, 4), "Volume": volume})
    yield (
        "adjusted",
        {**table(rng, smooth, "prices"), **actions, **report(rng, {label: round(right, 6), "symbol": "one"})},
        Expected("pass", {"total_return": (right, True)}, (), ("inconsistent_adjustment", "split_jump")),
    )
    off = int(rng.integers(3, at - 3))
    bad = raw.copy()
    bad[off] = round(bad[off] / ratio, 4)
    found = (
        {"check": "split_jump", "date": str(dates[at].date()), "ratio": ratio},
        {"check": "inconsistent_adjustment", "date": str(dates[off].date()), "ratio": ratio},
    )
    files = {**table(rng, frame.assign(Close=bad), "prices"), **actions, **report(rng, {label: round(wrong, 6), "symbol": "one"})}
    yield "wrong", files, Expected("data_problem", {"total_return": (right, False, None)}, found)


def duplicates(rng: np.random.Generator) -> Iterator[Sibling]:
    n = int(rng.integers(8, 120))
    dates, close = days(rng, n), np.round(walk(rng, n, 15), 2)
    frame = pd.DataFrame(
        {"Date": dates, "Open": close, "High": close + 0.2, "Low": close - 0.2, "Close": close, "Volume": rng.integers(1000, 90000, n)}
    )
    yield "clean", table(rng, frame, "prices"), Expected("pass", {}, (), ("duplicate_date",))
    a, b = int(rng.integers(1, n // 2)), n - 1
    other = frame.iloc[[a]].assign(Close=lambda f: f["Close"] + 0.15, Volume=12)
    made = pd.concat([frame.iloc[: a + 1], other, frame.iloc[a + 1 :], frame.iloc[[b]]])
    found = (
        {"check": "duplicate_date", "date": str(dates[b].date()), "identical": True},
        {"check": "duplicate_date", "date": str(dates[a].date()), "identical": False},
    )
    yield "wrong", table(rng, made, "prices"), Expected("data_problem", {}, found)


def dividends(rng: np.random.Generator) -> Iterator[Sibling]:
    n = int(rng.integers(40, 200))
    dates, close = days(rng, n), np.round(walk(rng, n, 50, 0.006), 2)
    at = np.sort(rng.choice(np.arange(5, n - 3), int(rng.integers(2, 4)), replace=False))
    paid = [round(float(rng.uniform(0.5, 1.0)), 2) for _ in at]
    adjusted = close.astype(float).copy()
    for i, d in zip(at, paid, strict=True):
        adjusted[:i] *= 1 - d / close[i - 1]
    prices = table(
        rng,
        pd.DataFrame({"date": dates, "close": close, pick(rng, "adj_close", "Adj Close", "adjusted_close"): np.round(adjusted, 6)}),
        "prices",
    )
    cash = table(
        rng,
        pd.DataFrame({pick(rng, "ex_date", "date"): dates[at], pick(rng, "per_share", "dividend", "amount"): paid}),
        "dividends",
        ("csv", "json"),
    )
    right = adjusted[-1] / adjusted[0] - 1
    double = right + sum(paid) / adjusted[0]
    yield (
        "clean",
        {**prices, **cash, **report(rng, {"total_return": round(right, 8), "basis": "adj_close"})},
        Expected("pass", {"total_return": (right, True)}, (), ("dividend_double_count",)),
    )
    raw = close[-1] / close[0] - 1 + sum(paid) / close[0]
    yield (
        "close and dividends",
        {**prices, **cash, **report(rng, {"total_return": round(raw, 8), "basis": "close plus dividends"})},
        Expected("pass", {"total_return": (None, True)}, (), ("dividend_double_count",)),
    )
    yield (
        "wrong",
        {**prices, **cash, **report(rng, {"total_return": round(double, 8), "basis": "adj_close plus dividends"})},
        Expected("wrong", {"total_return": (right, False, None)}, ({"check": "dividend_double_count", "amount": round(sum(paid), 9)},)),
    )


def midnight(rng: np.random.Generator) -> Iterator[Sibling]:
    exchange, zone, suffix = [
        ("XPAR", "Europe/Paris", ".PA"),
        ("XETR", "Europe/Berlin", ".DE"),
        ("XTKS", "Asia/Tokyo", ".T"),
        ("XHKG", "Asia/Hong_Kong", ".HK"),
    ][int(rng.integers(0, 4))]
    n = int(rng.integers(15, 60))
    dates = days(rng, n, exchange)
    local = dates.tz_localize(zone)
    name = letters(rng) + suffix if suffix not in (".T", ".HK") else str(int(rng.integers(1000, 9999))) + suffix
    close = np.round(walk(rng, n, 63, 0.01), 2)
    meta = (
        {"meta.json": json.dumps({"exchange": exchange, "timezone": zone}).encode()}
        if rng.random() < 0.6 or suffix in (".T", ".HK")
        else {}
    )
    utc = local.tz_convert("UTC")

    def bars(stamps: list[str]) -> Files:
        return {
            "bars.csv": pd.DataFrame({pick(rng, "time", "timestamp", "date"): stamps, "symbol": name, "close": close})
            .to_csv(index=False)
            .encode(),
            **meta,
        }

    offsets = [t.isoformat() for t in local]
    for label, stamps in (("clean offset", offsets), ("clean dates", [str(d.date()) for d in dates])):
        yield label, bars(stamps), Expected("pass", {}, (), ("utc_date_is_previous_day", "missing_session", "row_on_no_session"))
    sundays = int((utc.tz_localize(None).normalize().day_of_week == 6).sum())
    found: tuple[dict[str, Any], ...] = ({"check": "utc_date_is_previous_day", "rows": n},)
    if sundays:
        found += ({"check": "rows_on_sunday_if_cut_in_utc", "value": sundays},)
    yield "wrong", bars([f"{t:%Y-%m-%dT%H:%M:%SZ}" for t in utc]), Expected("data_problem", {}, found, ("missing_session",))


CLOSURES = ("2018-12-05", "2012-10-29", "2012-10-30", "2007-01-02", "2025-01-09", "2004-06-11")


def closures(rng: np.random.Generator) -> Iterator[Sibling]:
    day = pd.Timestamp(pick(rng, *CLOSURES))
    dates = sessions_between("XNYS", day - pd.Timedelta(days=int(rng.integers(8, 60))), day + pd.Timedelta(days=int(rng.integers(8, 60))))
    close = np.round(walk(rng, len(dates), 25), 2)
    shape = pick(rng, "%Y%m%d", "%Y-%m-%d", "%m/%d/%Y")
    frame = pd.DataFrame({"date": dates.strftime(shape), "close": close})
    yield "clean", {"prices.csv": frame.to_csv(index=False).encode()}, Expected("pass", {}, (), ("missing_session",))
    gone = int(rng.integers(1, len(dates) - 1))
    found = ({"check": "missing_session", "rows": [str(dates[gone].date())]},)
    yield "wrong", {"prices.csv": frame.drop(index=gone).to_csv(index=False).encode()}, Expected("data_problem", {}, found)


def halted(rng: np.random.Generator) -> Iterator[Sibling]:
    n = int(rng.integers(25, 90))
    dates, names = days(rng, n), [letters(rng, 3), letters(rng, 4)]
    close = np.column_stack([walk(rng, n, 10, 0.02, 0.01), walk(rng, n, 20, 0.006)]).round(2)
    start, length = int(rng.integers(8, n - 14)), int(rng.integers(5, 9))
    shares, cash = [int(rng.integers(100, 500)), int(rng.integers(80, 300))], 4000.0
    given = close.copy()
    given[start : start + length, 0] = np.nan
    carried = pd.DataFrame(given).ffill().to_numpy()
    equity = carried @ np.array(shares) + cash
    wrong = equity.copy()
    wrong[start + 3 : start + length] = equity[start + 3 : start + length] - shares[0] * (carried[start, 0] - close[0, 0])
    held = pd.DataFrame(
        [(dates[0], names[0], shares[0]), (dates[0], names[1], shares[1]), (dates[0], "CASH", cash)], columns=["date", "symbol", "shares"]
    )
    positions = table(rng, held, "positions", ("csv", "json", "xlsx"))
    prices = {
        "prices.csv": pd.DataFrame({"date": dates.strftime("%Y-%m-%d"), names[0]: given[:, 0], names[1]: given[:, 1]})
        .to_csv(index=False)
        .encode()
    }
    whole = {
        "prices.csv": pd.DataFrame({"date": dates.strftime("%Y-%m-%d"), names[0]: close[:, 0], names[1]: close[:, 1]})
        .to_csv(index=False)
        .encode()
    }

    def curve(values: np.ndarray) -> Files:
        return table(
            rng,
            pd.DataFrame({"date": dates, pick(rng, "equity", "portfolio_value"): np.round(values, 4)}),
            "equity",
            ("csv", "json", "parquet"),
        )

    straight = close @ np.array(shares) + cash
    yield (
        "clean",
        {**positions, **whole, **curve(straight)},
        Expected("pass", {"max_drawdown": (mdd(straight), True)}, (), ("missing_price_while_held", "equity_mismatch")),
    )
    stale = {
        "check": "missing_price_while_held",
        "symbol": names[0],
        "rows": length,
        "first": str(dates[start].date()),
        "last": str(dates[start + length - 1].date()),
    }
    yield (
        "carried",
        {**positions, **prices, **curve(equity)},
        Expected("pass_with_note", {"max_drawdown": (mdd(equity), True)}, (stale,), ("equity_mismatch",)),
    )
    if abs(carried[start, 0] - close[0, 0]) * shares[0] > 0.01 * equity.max():
        rows = [str(d.date()) for d in dates[start + 3 : start + length]]
        yield (
            "wrong",
            {**positions, **prices, **curve(wrong)},
            Expected("wrong", {"total_return": (equity[-1] / equity[0] - 1, True)}, (stale, {"check": "equity_mismatch", "rows": rows})),
        )


def units(rng: np.random.Generator) -> Iterator[Sibling]:
    n = int(rng.integers(12, 90))
    dates = days(rng, n, "XLON")
    close = np.round(walk(rng, n, float(rng.uniform(150, 3000)), 0.01), 2)
    at = int(rng.integers(4, n - 4))
    up = rng.random() < 0.4
    given = np.round(np.where(np.arange(n) < at, close, close * 100 if up else close / 100), 4)
    name = letters(rng) + ".L"
    shape = pick(rng, "%d/%m/%Y", "%Y-%m-%d")

    def prices(values: np.ndarray) -> Files:
        return {
            "prices.csv": pd.DataFrame({"Date": dates.strftime(shape), pick(rng, "Price", "Close"): values, "Symbol": name})
            .to_csv(index=False)
            .encode()
        }

    right, wrong = close[-1] / close[0] - 1, given[-1] / given[0] - 1
    label = pick(rng, "buy_and_hold_return", "total_return")
    yield (
        "clean",
        {**prices(close), **report(rng, {label: round(right, 7)}, ("json",))},
        Expected("pass", {"total_return": (right, True)}, (), ("unit_switch", "missing_session", "row_on_no_session")),
    )
    found = ({"check": "unit_switch", "date": str(dates[at].date()), "factor": 100},)
    yield (
        "wrong",
        {**prices(given), **report(rng, {label: round(wrong, 8)}, ("json",))},
        Expected("data_problem", {"total_return": (right, False, None)}, found),
    )
