"""What is wrong with delivered prices: repeated dates, missing sessions, splits applied to some rows, changes of the unit, stamps that name
the day before."""

import re
from typing import Any

import numpy as np
import pandas as pd
from attrs import frozen

from finassay.api.delivery import Package
from finassay_checks.audit.model import AuditFinding, Severity
from finassay_checks.audit.steps import steps_of
from finassay_checks.delivered import read_delivery
from finassay_checks.model import RoleTable
from finassay_checks.recompute.metrics import periods_per_year
from finassay_checks.sessions import sessions_between

MAX_FOUND = 200
_ZONED = re.compile(r"(?:Z|[+-]00:?00)$")


@frozen(eq=False)
class PriceFaults:
    """`delivered` and `corrected` are canonical price frames of the chosen table, in date order: one row a date and ticker in `corrected`,
    every close in one unit and in the last date's shares."""

    findings: tuple[AuditFinding, ...]
    delivered: pd.DataFrame
    corrected: pd.DataFrame
    changed: bool
    """A correction moves at least one close."""


def price_faults(package: Package) -> PriceFaults | None:
    """None without a price table."""
    delivered = package.fact(read_delivery)
    choice = delivered.choices.get("prices")
    tables = [r for r in delivered.role_tables if r.role == "prices" and r.table.current]
    if not tables:
        return None
    chosen = choice.chosen if choice is not None and choice.chosen is not None else tables[0]
    actions = delivered.frame("actions")
    findings: list[AuditFinding] = []
    kept: tuple[pd.DataFrame, bool] | None = None
    for table in tables[:20]:
        corrected, changed = _of_table(table, actions, package.task.conditions.exchange, findings)
        if table is chosen:
            kept = corrected, changed
    assert kept is not None
    return PriceFaults(tuple(findings[:MAX_FOUND]), chosen.frame.sort_values(["date"], kind="stable"), kept[0], kept[1])


def _of_table(table: RoleTable, actions: pd.DataFrame | None, exchange: str, findings: list[AuditFinding]) -> tuple[pd.DataFrame, bool]:
    frame = table.frame[table.frame["date"].notna()]
    findings += stamp_findings(table)
    intraday = _is_intraday(table)
    if not intraday:
        findings += _duplicates(table, frame)
    single = frame.drop_duplicates(["date", "ticker"], keep="last" if intraday else "first").sort_values(["ticker", "date"], kind="stable")
    single = single.reset_index(drop=True)
    findings += _calendar(table, single, exchange)
    findings += _cells(table, single)
    return _stepped(table, single, actions, findings)


def named_ticker(table: RoleTable, ticker: str) -> dict[str, str]:
    """The symbol of a finding, where the table names tickers at all."""
    return {"symbol": ticker} if "ticker" in table.columns or len(table.frame["ticker"].unique()) > 1 else {}


def _own_rows(table: RoleTable) -> pd.DataFrame:
    """Canonical rows whose delivered cells are in the table at hand: of several files of one layout, one file's."""
    frame = table.frame
    if not any("files of one layout" in reason for reason in table.reasons):
        return frame
    sizes = frame.groupby("ticker").size()
    fitting = sizes.index[sizes == len(table.table.frame)]
    return frame[frame["ticker"] == fitting[0]] if len(fitting) else frame.iloc[:0]


def _is_intraday(table: RoleTable) -> bool:
    """Several different stamps a day and ticker."""
    column = table.columns.get("date")
    frame = _own_rows(table)
    if column is None or column not in table.table.frame or not frame.duplicated(["date", "ticker"]).any():
        return False
    raw = table.table.frame[column].iloc[frame["row"].to_numpy() - 1].astype(str).to_numpy()
    return not pd.DataFrame({"raw": raw, "ticker": frame["ticker"].to_numpy()}).duplicated().any()


def _duplicates(table: RoleTable, frame: pd.DataFrame) -> list[AuditFinding]:
    repeated = frame[frame.duplicated(["date", "ticker"], keep=False)]
    values = [c for c in ("open", "high", "low", "close", "adj_close", "volume") if repeated[c].notna().any()]
    found = []
    for (stamp, ticker), rows in list(repeated.groupby(["date", "ticker"], sort=True))[:MAX_FOUND]:
        day = pd.Timestamp(str(stamp))
        identical = len(rows[values].drop_duplicates()) == 1
        found.append(
            AuditFinding(
                "duplicate_date",
                f"{day.date()} is there {len(rows)} times with {'equal' if identical else 'different'} values",
                "data",
                table.table.where,
                tuple(f"row {r}" for r in rows["row"]),
                "one row a date",
                ", ".join(f"{v:g}" for v in rows["close"].head(5)),
                {"date": str(day.date()), "identical": identical, **named_ticker(table, str(ticker))},
            )
        )
    return found


def _calendar(table: RoleTable, frame: pd.DataFrame, exchange: str) -> list[AuditFinding]:
    """Sessions without a row and rows on no session, for daily prices of an exchange with weekends."""
    dates = pd.DatetimeIndex(np.sort(frame["date"].unique()))
    if len(dates) > 20 and periods_per_year(dates) == 365.0 and exchange != "24/7":
        return _filled_weekends(table, frame)
    if (
        len(dates) < 3
        or periods_per_year(dates) != 252.0
        or float(np.median(np.diff(dates.to_numpy()).astype("timedelta64[D]").astype(int))) > 1.5
    ):
        return []
    found: list[AuditFinding] = []
    sessions = sessions_between(exchange, dates[0], dates[-1])
    absent = sessions[~sessions.isin(dates)]
    one = frame["ticker"].nunique() == 1
    # A closure that a calendar does not know is missing for every ticker; the New York calendar knows its own.
    sure = one or exchange == "XNYS" or len(absent) > max(2, 0.002 * len(sessions))
    if len(absent):
        found.append(
            AuditFinding(
                "missing_session",
                f"{len(absent)} sessions of {exchange} have no row" + ("" if sure else " for any ticker: the calendar may be wrong"),
                "data" if sure else "note",
                table.table.where,
                tuple(str(d.date()) for d in absent[:MAX_FOUND]),
                f"a row on each of {len(sessions)} sessions",
                f"{len(sessions) - len(absent)}",
            )
        )
    if not one and "ticker" in table.columns:
        found += _by_ticker(table, frame, sessions[sessions.isin(dates)])
    extra = dates[~dates.isin(sessions)]
    if len(extra):
        found.append(
            AuditFinding(
                "row_on_no_session",
                f"{len(extra)} dates are no sessions of {exchange}",
                "note",
                table.table.where,
                tuple(str(d.date()) for d in extra[:MAX_FOUND]),
                "sessions only",
            )
        )
    return found


def _filled_weekends(table: RoleTable, frame: pd.DataFrame) -> list[AuditFinding]:
    """Every day of the calendar, where no close of a weekend differs from the one before: closes carried over days without a session."""
    before = frame.groupby("ticker")["close"].shift(1)
    weekend = (frame["date"].dt.day_of_week >= 5) & before.notna() & frame["close"].notna()
    if (
        weekend.sum() < 6
        or float((frame["close"] == before)[weekend].mean()) < 0.98
        or float((frame["close"] == before)[~weekend].mean()) > 0.5
    ):
        return []
    dates = tuple(str(d.date()) for d in pd.DatetimeIndex(frame.loc[weekend, "date"].unique())[:MAX_FOUND])
    text = f"{len(dates)} dates of weekends repeat the close before: they are no sessions, and returns over them are no returns"
    return [AuditFinding("row_on_no_session", text, "note", table.table.where, dates, "sessions only")]


def _by_ticker(table: RoleTable, frame: pd.DataFrame, sessions: pd.DatetimeIndex) -> list[AuditFinding]:
    """Sessions that other tickers have and one lacks inside its own span."""
    counts = frame[frame["date"].isin(sessions)].groupby("ticker")["date"].agg(["min", "max", "count"])
    wanted = sessions.searchsorted(counts["max"], side="right") - sessions.searchsorted(counts["min"], side="left")
    found = []
    for ticker in counts.index[counts["count"].to_numpy() < wanted][:MAX_FOUND]:
        own = pd.DatetimeIndex(frame.loc[frame["ticker"] == ticker, "date"])
        gone = sessions[(sessions >= own.min()) & (sessions <= own.max()) & ~sessions.isin(own)]
        found.append(
            AuditFinding(
                "missing_session",
                f"{ticker} has no row on {len(gone)} sessions that other tickers have",
                "data",
                table.table.where,
                tuple(str(d.date()) for d in gone[:MAX_FOUND]),
                facts={"symbol": str(ticker)},
            )
        )
    return found


def _cells(table: RoleTable, frame: pd.DataFrame) -> list[AuditFinding]:
    """Prices of zero or below, and closes outside the day's own range."""
    found = []
    low = frame[frame["close"] <= 0]
    if len(low):
        rows = tuple(f"row {r}" for r in low["row"].head(MAX_FOUND))
        found.append(
            AuditFinding("price_not_positive", f"{len(low)} closes are zero or below", "data", table.table.where, rows, "above zero")
        )
    if frame["high"].notna().any() and frame["low"].notna().any():
        off = frame[
            (frame["high"] < frame["low"] * 0.9999) | (frame["close"] > frame["high"] * 1.005) | (frame["close"] < frame["low"] * 0.995)
        ]
        if len(off):
            dates = tuple(str(d.date()) for d in off["date"].head(MAX_FOUND))
            found.append(
                AuditFinding(
                    "close_outside_range", f"{len(off)} closes lie outside the day's high and low", "note", table.table.where, dates
                )
            )
    return found


def _stepped(
    table: RoleTable, frame: pd.DataFrame, actions: pd.DataFrame | None, findings: list[AuditFinding]
) -> tuple[pd.DataFrame, bool]:
    """Splits and units ticker by ticker; the corrected frame."""
    close = frame["close"].to_numpy(dtype=float).copy()
    adjusted = frame["adj_close"].to_numpy(dtype=float)
    changed = False
    tickers = frame["ticker"].to_numpy()
    edges = np.flatnonzero(np.append(True, tickers[1:] != tickers[:-1])) if len(frame) else np.empty(0, dtype=int)
    several = len(edges) > 1
    for start, end in zip(edges, [*edges[1:], len(frame)], strict=True):
        rows = np.arange(start, end)[np.isfinite(close[start:end]) & (close[start:end] > 0)]
        if len(rows) < 3 or (actions is None and not (np.abs(np.diff(np.log(close[rows]))) > 0.25).any()):
            continue
        declared = _splits_of(actions, str(tickers[start]), several)
        covered = np.isfinite(adjusted[rows]).all() and not np.allclose(adjusted[rows], close[rows], rtol=1e-6)
        found = steps_of(
            pd.DatetimeIndex(frame["date"].to_numpy()[rows]),
            close[rows],
            declared,
            _calm(frame, rows, adjusted[rows] if covered else None),
            np.isfinite(frame["volume"].to_numpy(dtype=float)[rows]),
        )
        for step in found.found:
            findings += _step_finding(table, frame, rows, step, str(tickers[start]), covered)
        if not np.allclose(found.factor, 1.0):
            changed = True
            close[rows] = close[rows] * found.factor
    return frame.assign(close=close), changed


def _splits_of(actions: pd.DataFrame | None, ticker: str, several: bool) -> "list[tuple[pd.Timestamp, float]]":
    if actions is None:
        return []
    rows = actions[actions["kind"] == "split"]
    own = rows[rows["ticker"] == ticker] if several or (rows["ticker"].notna().any() and (rows["ticker"] == ticker).any()) else rows
    return [(pd.Timestamp(d), float(v)) for d, v in zip(own["date"], own["value"], strict=True)]


def _calm(frame: pd.DataFrame, rows: Any, adjusted: Any) -> Any:
    """Rows whose volume is not far above its recent median, and whose adjusted close moved along with a jump of the raw one."""
    calm = np.ones(len(rows), dtype=bool)
    volume = frame["volume"].to_numpy(dtype=float)[rows]
    if np.isfinite(volume).any():
        recent = pd.Series(volume).rolling(21, min_periods=3).median().shift(1).to_numpy()
        with np.errstate(all="ignore"):
            calm &= ~(volume > 2.0 * recent)
    if adjusted is not None:
        moved = np.append(0.0, np.abs(np.diff(np.log(np.where(adjusted > 0, adjusted, np.nan)))))
        calm &= ~(moved < 0.25)  # the adjusted close knows the split: both are delivered, and nothing is wrong
    return calm


def _step_finding(table: RoleTable, frame: pd.DataFrame, rows: Any, step: Any, ticker: str, covered: bool) -> list[AuditFinding]:
    day = str(frame["date"].iloc[rows[step.at]].date())
    before = frame["close"].iloc[rows[max(step.at - 1, 0)]]
    now = frame["close"].iloc[rows[step.at]]
    facts: dict[str, Any] = {"date": day, **named_ticker(table, ticker)}
    ratio = int(step.ratio) if float(step.ratio).is_integer() else round(float(step.ratio), 6)
    row, found = (f"row {frame['row'].iloc[rows[step.at]]}",), f"{before:g} then {now:g}"
    if step.kind == "unit":
        text = f"the price steps by a factor of {ratio} and stays: another unit from here on"
        return [AuditFinding("unit_switch", text, "data", table.table.where, row, "one unit", found, facts | {"factor": ratio})]
    if step.kind == "split":
        known = "the declared split" if step.declared else "a split that is not declared"
        # Without a volume beside it, a move by two thirds may be real: a wild day of a wide table of closes is worth a look, no more.
        measured = bool(np.isfinite(frame["volume"].iloc[rows[step.at]]))
        severity: Severity = "info" if step.declared or covered else "data" if measured else "note"
        text = f"the price steps by {ratio} to 1, {known}: returns across it need adjusted prices"
        return [AuditFinding("split_jump", text, severity, table.table.where, row, "adjusted prices", found, facts | {"ratio": ratio})]
    text = f"one row is on the other side of a {ratio}-for-1 split than the rows around it"
    return [
        AuditFinding("inconsistent_adjustment", text, "data", table.table.where, row, "one adjustment", found, facts | {"ratio": ratio})
    ]


def _in_utc(cells: "pd.Series[Any]") -> "pd.Series[pd.Timestamp] | None":
    """Stamps that are in UTC: texts that say so, and epoch seconds or milliseconds; None for anything else."""
    if isinstance(cells.dtype, pd.DatetimeTZDtype) or pd.api.types.is_datetime64_any_dtype(cells.dtype):
        return None
    numbers = pd.to_numeric(cells, errors="coerce")
    if len(cells) and numbers.notna().all():
        unit = next(
            (u for u, least, most in (("s", 1e8, 7e9), ("ms", 1e11, 7e12)) if numbers.min() >= least and numbers.max() <= most), None
        )
        return pd.to_datetime(numbers, unit=unit, errors="coerce") if unit is not None else None  # type: ignore[call-overload]  # a unit
    texts = cells.astype(str)
    sample = texts.head(50)
    if not len(sample) or sample.str.strip().str.contains(_ZONED).mean() < 0.9 or sample.str.contains(":").mean() < 0.9:
        return None
    return pd.to_datetime(texts, utc=True, errors="coerce", format="ISO8601").dt.tz_localize(None)


def stamp_findings(table: RoleTable) -> list[AuditFinding]:
    """Stamps in UTC whose UTC date is the day before the session that they mean."""
    column = table.columns.get("date")
    if column is None or column not in table.table.frame:
        return []
    frame = _own_rows(table)
    utc = _in_utc(table.table.frame[column].iloc[frame["row"].to_numpy() - 1])
    if utc is None:
        return []
    cut = utc.dt.normalize().to_numpy()
    apart = (frame["date"].to_numpy() - cut).astype("timedelta64[D]").astype(int)
    late = apart == 1
    if late.mean() < 0.5:
        return []
    sundays = int((pd.DatetimeIndex(cut).day_of_week == 6).sum())
    first, last = table.frame["date"].min(), table.frame["date"].max()
    made = [
        AuditFinding(
            "utc_date_is_previous_day",
            f"{int(late.sum())} stamps in UTC fall on the day before their session: convert to the exchange's time before taking the date",
            "data",
            table.table.where,
            expected=f"sessions {first.date()} to {last.date()}",
            found=f"UTC dates {pd.Timestamp(cut.min()).date()} to {pd.Timestamp(cut.max()).date()}",
            facts={"rows": int(late.sum()), "first_session": str(first.date()), "last_session": str(last.date())},
        )
    ]
    if sundays:
        text = f"{sundays} rows fall on a Sunday if the UTC date is taken"
        made.append(AuditFinding("rows_on_sunday_if_cut_in_utc", text, "data", table.table.where, facts={"value": sundays}))
    return made
