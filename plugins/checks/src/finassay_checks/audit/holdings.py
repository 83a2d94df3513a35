"""What is wrong with values and logs: holdings without a price, a curve that the log does not make, profits without the entry fee."""

from collections.abc import Iterator

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from finassay.api.delivery import Package
from finassay_checks.audit.basis import where_of
from finassay_checks.audit.book import books
from finassay_checks.audit.model import AuditFinding
from finassay_checks.audit.trips import exit_fees, trips
from finassay_checks.delivered import read_delivery
from finassay_checks.recompute.divergence import departure
from finassay_checks.recompute.entered import chosen
from finassay_checks.recompute.panel import Floats
from finassay_checks.recompute.rebuilt import rebuilding

APART = 0.002
"""Relative distance beyond which a delivered value leaves the rebuilt one."""
MAX_ROWS = 200


def held_findings(package: Package) -> Iterator[AuditFinding]:
    """Runs of dates on which a holding has no price of its own."""
    book = package.fact(books)
    if book is None or not book.unpriced.to_numpy().any():
        return
    where = where_of(package.fact(read_delivery), "prices")
    for ticker in [c for c, any_ in zip(book.unpriced.columns, book.unpriced.any(axis=0), strict=True) if any_][:50]:
        dates = book.unpriced.index[book.unpriced[ticker].to_numpy()]
        dates = dates[dates >= book.price_dates[0]] if len(book.price_dates) else dates
        if not len(dates):
            continue
        first, last = str(dates[0].date()), str(dates[-1].date())
        yield AuditFinding(
            "missing_price_while_held",
            f"{ticker} is held on {len(dates)} dates without a price and keeps its last traded value",
            "note",
            where,
            expected="a price on each date on which it is held",
            facts={
                "symbol": str(ticker),
                "rows": len(dates),
                "first": first,
                "last": last,
                "dates": [str(d.date()) for d in dates[:MAX_ROWS]],
            },
        )


def curve_findings(package: Package) -> Iterator[AuditFinding]:
    """Dates on which the delivered curve is not what the log and the prices make."""
    book = package.fact(books)
    if book is None or book.delivered is None:
        return
    own = book.equity
    common = own.index.intersection(pd.DatetimeIndex(book.delivered.index))
    if len(common) < 2:
        return
    given, mine = book.delivered.loc[common].to_numpy(dtype=float), own.loc[common].to_numpy(dtype=float)
    with np.errstate(all="ignore"):
        apart = given / mine - 1.0
    off = np.flatnonzero(~(np.abs(apart) <= APART))
    where = where_of(package.fact(read_delivery), "equity")
    for text in book.explained:
        yield AuditFinding("unlogged_amounts", f"the curve shows {text}", "note", where)
    if not len(off):
        return
    left = departure(package.fact(rebuilding))
    cause = f"; the amount is {left.cause}" if left is not None and left.cause else ""
    first = common[off[0]]
    yield AuditFinding(
        "equity_mismatch",
        f"the delivered value leaves the rebuilt one on {len(off)} of {len(common)} dates, first on {first.date()} by {given[off[0]] - mine[off[0]]:+,.2f}{cause}",
        "wrong",
        where,
        tuple(str(d.date()) for d in common[off][:MAX_ROWS]),
        f"{mine[off[0]]:,.2f}",
        f"{given[off[0]]:,.2f}",
        {"first": str(first.date()), "count": len(off)},
    )


def repeated_values(package: Package) -> Iterator[AuditFinding]:
    """Dates for which the delivered curve has several rows: equal ones are only noted."""
    table = chosen(package.fact(read_delivery), "equity")
    if table is None:
        return
    rows = table.frame[table.frame["date"].notna()]
    rows = rows[rows["date"].duplicated(keep=False)]
    for day, same in list(rows.groupby("date"))[:MAX_ROWS]:
        identical = len(same[["equity", "ret"]].drop_duplicates()) == 1
        stamp = pd.Timestamp(str(day)).date()
        yield AuditFinding(
            "duplicate_date",
            f"{stamp} is there {len(same)} times with {'equal' if identical else 'different'} values",
            "note" if identical else "data",
            table.table.where,
            tuple(f"row {r}" for r in same["row"]),
            "one row a date",
            facts={"date": str(stamp), "identical": identical},
        )


def log_findings(package: Package) -> Iterator[AuditFinding]:
    """The profit column of a log of round trips against shares, prices and fees; positions closed by the end of the data."""
    delivered = package.fact(read_delivery)
    table, found = chosen(delivered, "round_trips"), package.fact(trips)
    if table is not None:
        yield from _profit_column(table.frame, table.table.where)
    if found is not None and found.forced:
        where = where_of(delivered, "trades" if found.rows_net is None else "round_trips")
        yield AuditFinding(
            "trade_closed_on_last_session",
            f"{found.forced} positions were closed by the end of the data: counts with and without them are both in use",
            "note",
            where,
            found.forced_rows[:MAX_ROWS],
            facts={"count": found.forced},
        )


def _profit_column(log: pd.DataFrame, where: str) -> Iterator[AuditFinding]:
    rows = log[log[["pnl", "shares", "entry_price", "exit_price"]].notna().all(axis=1) & ~log["open"].fillna(False).astype(bool)]
    if rows.empty:
        return
    gross = (rows["shares"] * (rows["exit_price"] - rows["entry_price"])).to_numpy(dtype=float)
    fee = rows["fee"].fillna(0.0).to_numpy(dtype=float)
    leaving = exit_fees(rows)
    given = rows["pnl"].to_numpy(dtype=float)
    near = np.maximum(0.011, 1e-4 * np.abs(gross))

    def fits(values: Floats) -> float:
        return float(np.mean(np.abs(given - values) <= near))

    named = tuple(f"row {r}" for r in rows["row"].head(MAX_ROWS))
    if fits(gross - fee) >= 0.9:
        off = np.abs(given - (gross - fee)) > near
        if off.any():
            yield _mismatch(rows, off, given, gross - fee, where)
        return
    if (fee - leaving).any() and fits(gross - leaving) >= 0.9:
        yield AuditFinding(
            "pnl_column_gross_of_entry_fee",
            f"the profit of {len(rows)} rows takes off the exit's fee only",
            "wrong",
            where,
            expected=f"{(gross - fee).sum():,.2f} in all",
            found=f"{given.sum():,.2f}",
            facts={"rows": len(rows), "lines": named},
        )
    elif fits(gross) >= 0.9:
        yield AuditFinding(
            "pnl_column_gross_of_fees",
            f"the profit of {len(rows)} rows is before fees",
            "note",
            where,
            named,
            f"{(gross - fee).sum():,.2f} net",
            f"{given.sum():,.2f}",
        )
    else:
        off = np.abs(given - (gross - fee)) > near
        yield _mismatch(rows, off, given, gross - fee, where)


def _mismatch(rows: pd.DataFrame, off: NDArray[np.bool_], given: Floats, own: Floats, where: str) -> AuditFinding:
    lines = tuple(f"row {r}" for r in rows["row"].to_numpy()[off][:MAX_ROWS])
    at = int(np.argmax(off))
    text = f"the profit of {int(off.sum())} rows is not shares x (exit - entry) less fees"
    return AuditFinding(
        "pnl_column_mismatch", text, "wrong", where, lines, f"{own[at]:,.2f}", f"{given[at]:,.2f}", {"count": int(off.sum())}
    )
