"""Trades in every unit that people count them in: how many, how many won, what they earned. From fills, else from a log of round trips."""

import re
from collections.abc import Callable, Iterator

import numpy as np
import pandas as pd
from attrs import frozen
from numpy.typing import NDArray

from finassay.api.delivery import Package
from finassay_checks.audit.book import Books, books
from finassay_checks.audit.curve import delivered_curve
from finassay_checks.delivered import read_delivery
from finassay_checks.recompute.conventions import Alternative, Kind
from finassay_checks.recompute.panel import Floats
from finassay_checks.recompute.portfolio import clean_fills, fills_of_round_trips
from finassay_checks.recompute.rebuilt import price_panel, rebuilding
from finassay_checks.recompute.round_trips import RoundTrips, round_trips

_FORCED = re.compile(
    r"end[ _-]*of[ _-]*(?:data|test|backtest|period|sample)|forced|finali[sz]e|last[ _-]*bar|liquidat\w* at end|force[ _-]*exit", re.I
)


@frozen(eq=False)
class Trips:
    """`trips` counts flat to flat. `rows_net` and `rows_gross` are the profits of a log of round trips row by row, None for fills."""

    trips: RoundTrips
    fills: pd.DataFrame
    rows_net: Floats | None
    rows_gross: Floats | None
    rows_exit_only: Floats | None
    """Gross less the exit's fee."""
    rows_return: Floats | None
    """Net profit over the entry's value."""
    by_row: bool
    """The log names no tickers, so that a row is a trade."""
    forced: int
    """Closed positions whose exit is the end of the data."""
    forced_rows: tuple[str, ...]
    forced_net: Floats
    capital: float | None = None


def trips(package: Package) -> Trips | None:
    """None without fills or priced round trips."""
    delivered = package.fact(read_delivery)
    book = package.fact(books)
    log, made = delivered.frame("round_trips"), package.fact(rebuilding)
    if delivered.frame("trades") is not None and made.fills is not None and len(made.fills):
        fills = book.fills if book is not None and book.fills is not None else made.fills
        found = round_trips(fills)
        forced, named, nets = _forced_of_fills(package, fills, found)
        return Trips(found, fills, None, None, None, None, False, forced, named, nets, _capital(book))
    if log is None or log.empty:
        return None
    return _of_log(package, log, book)


def _capital(book: Books | None) -> float | None:
    return book.capital if book is not None else None


def _of_log(package: Package, log: pd.DataFrame, book: Books | None) -> Trips | None:
    priced = log["shares"].notna() & log["entry_price"].notna()
    if priced.mean() < 0.95:
        return None
    fills = merged(clean_fills(fills_of_round_trips(log[priced])), int(priced.sum()))
    if fills.empty:
        return None
    found = round_trips(fills)
    closed = priced & ~log["open"].fillna(False).astype(bool) & log["exit_price"].notna()
    rows = log[closed]
    gross = (rows["shares"] * (rows["exit_price"] - rows["entry_price"])).to_numpy(dtype=float)
    fee = rows["fee"].fillna(0.0).to_numpy(dtype=float)
    leaving = exit_fees(rows)
    texts = _texts(package, rows)
    tagged = texts.str.contains(_FORCED).to_numpy()
    forced = tagged if tagged.any() else _at_the_end(package, pd.DatetimeIndex(rows["exit_date"]))
    named = tuple(f"row {r}" for r in rows["row"].to_numpy()[forced])
    return Trips(
        found,
        fills,
        gross - fee,
        gross,
        gross - leaving,
        (gross - fee) / np.abs((rows["shares"] * rows["entry_price"]).to_numpy(dtype=float)),
        bool((log["ticker"].fillna("") == "").all()),
        int(forced.sum()),
        named,
        (gross - fee)[forced],
        _capital(book),
    )


def merged(fills: pd.DataFrame, rows: int) -> pd.DataFrame:
    """Fills of one time, ticker, price and side of one kind are one order: round trips repeat the entry that several exits share. The
    index of an exit is `rows` or more."""
    leaving = fills.index.to_numpy() >= rows
    keys = [fills["date"], fills["ticker"], fills["price"], np.sign(fills["shares"]), leaving]
    order = fills.groupby(keys, sort=False).ngroup().to_numpy()
    grouped = fills.assign(_g=order).groupby("_g", sort=False)
    out = grouped.agg({"date": "first", "ticker": "first", "shares": "sum", "price": "first", "fee": "sum"})
    return out.reset_index(drop=True)


def exit_fees(rows: pd.DataFrame) -> Floats:
    """The exit's fee of each closed round trip: its own, else the part of the row's fee by traded value."""
    part = rows["exit_price"] / (rows["entry_price"] + rows["exit_price"])
    return rows["exit_fee"].where(rows["exit_fee"].notna(), rows["fee"] * part).fillna(0.0).to_numpy(dtype=float)


def _texts(package: Package, rows: pd.DataFrame) -> "pd.Series[str]":
    """The words of each row of the log's delivered table."""
    choice = package.fact(read_delivery).choices.get("round_trips")
    assert choice is not None
    assert choice.chosen is not None
    frame = choice.chosen.table.frame.iloc[rows["row"].to_numpy() - 1]
    words = [c for c in frame.columns if not pd.api.types.is_numeric_dtype(frame[c].dtype)]
    return joined_words(frame[words])


def joined_words(frame: pd.DataFrame) -> "pd.Series[str]":
    """The cells of each row in one text."""
    return pd.Series([" ".join(map(str, row)) for row in frame.itertuples(index=False)], index=frame.index, dtype=object)


def _last_session(package: Package) -> pd.Timestamp | None:
    """The last date of the prices, else of the delivered curve."""
    panel = package.fact(price_panel)
    if panel is not None and len(panel.dates):
        return pd.Timestamp(panel.dates[-1])
    curve = delivered_curve(package)
    return pd.Timestamp(curve.index[-1]) if curve is not None and len(curve) else None


def _at_the_end(package: Package, exits: pd.DatetimeIndex) -> NDArray[np.bool_]:
    last = _last_session(package)
    return np.asarray(exits == last) if last is not None else np.zeros(len(exits), dtype=bool)


def _forced_of_fills(package: Package, fills: pd.DataFrame, found: RoundTrips) -> tuple[int, tuple[str, ...], Floats]:
    """Positions that end on the last session of the data, all of them at its close."""
    last = _last_session(package)
    ended = found.spells["exit_date"].notna()
    at_end = ended & (found.spells["exit_date"] == last) if last is not None else ended & False
    names = tuple(f"{t} on {pd.Timestamp(d).date()}" for t, d in found.spells.loc[at_end, ["ticker", "exit_date"]].itertuples(index=False))
    nets = found.spells.loc[at_end, "net"].to_numpy(dtype=float)
    return int(at_end.sum()), names, nets


def candidates(metric: str, label: str, found: Trips) -> list[Alternative]:
    """Readings of a figure of trades, our own first; empty for other metrics."""
    maker: Callable[[Trips, str], Iterator[Alternative]] | None = {
        "number_of_trades": _counts,
        "number_of_closed_trades": _counts,
        "number_of_open_trades": lambda t, _: iter([Alternative("", float(t.trips.counts.open), "same")]),
        "number_of_fills": lambda t, _: iter([Alternative("", float(t.trips.counts.fills), "same"), *_counts(t, "")]),
        "winning_trades": lambda t, _: _winners(t, 1),
        "losing_trades": lambda t, _: _winners(t, -1),
        "win_rate": _win_rates,
        "profit_factor": lambda t, _: _factors(t),
        "net_profit": _profits,
        "gross_pnl": lambda t, _: iter(
            [Alternative("", float(_gross(t).sum()), "same"), Alternative("net_of_fees", float(_net(t).sum()), "fault")]
        ),
        "gross_profit": lambda t, _: _sided(t, 1),
        "gross_loss": lambda t, _: _sided(t, -1),
    }.get(metric)
    made = list(maker(found, label)) if maker is not None else []
    return [*made[:1], *(a for a in made[1:] if np.isfinite(a.value))]


def _net(found: Trips) -> Floats:
    """Profits of the closed trades in our own unit."""
    return found.rows_net if found.by_row and found.rows_net is not None else found.trips.spell_net


def _gross(found: Trips) -> Floats:
    return found.rows_gross if found.by_row and found.rows_gross is not None else found.trips.spell_gross


def _counts(found: Trips, label: str) -> Iterator[Alternative]:
    c = found.trips.counts
    own = len(_net(found))
    yield Alternative("", float(own), "same")
    rows: list[tuple[str, int]] = [("closed_plus_open", own + c.open)] if c.open else []
    if found.rows_net is not None:
        rows.append(("one_trade_per_row_of_the_log", len(found.rows_net)))
    rows += [
        ("one_trade_per_closing_fill", c.closing),
        ("one_trade_per_fill", c.fills),
        ("one_trade_per_matched_pair", c.matched),
        ("one_trade_per_entry_fill", c.entries),
        ("one_trade_per_order", c.orders),
        ("one_trade_per_buy", c.buys),
        ("one_trade_per_sell", c.sells),
        ("closing_fills_plus_open", c.closing + c.open),
        ("matched_pairs_plus_open", c.matched + c.open),
        ("one_trade_per_day_with_fills", c.order_days),
    ]
    if found.forced:
        rows.append(("forced_close_left_out", own - found.forced))
    yield from (Alternative(name, float(value), "convention") for name, value in rows)


def _winners(found: Trips, sign: int) -> Iterator[Alternative]:
    yield Alternative("", float((sign * _net(found) > 0).sum()), "same")
    if sign < 0:
        yield Alternative("zero_pnl_counted_as_loss", float((_net(found) <= 0).sum()), "convention")
    else:
        yield Alternative("zero_pnl_counted_as_win", float((_net(found) >= 0).sum()), "convention")
    yield Alternative("counted_per_closing_fill", float((sign * found.trips.closing_net > 0).sum()), "convention")
    yield Alternative("gross_of_fees", float((sign * _gross(found) > 0).sum()), "fault")


def _share(values: Floats) -> float:
    return float(np.mean(values > 0)) if len(values) else float("nan")


def _win_rates(found: Trips, label: str) -> Iterator[Alternative]:
    net, gross = _net(found), _gross(found)
    own = _share(net)
    yield Alternative("", own, "same")
    yield Alternative("counted_per_closing_fill", _share(found.trips.closing_net), "convention")
    if found.rows_net is not None:
        yield Alternative("counted_per_row_of_the_log", _share(found.rows_net), "convention")
    if len(net):
        yield Alternative("zero_pnl_counted_as_win", float(np.mean(net >= 0)), "convention")
        yield Alternative("zero_pnl_left_out", _share(net[net != 0]), "convention")
    if found.forced and len(net) > found.forced:
        left = (net > 0).sum() - (found.forced_net > 0).sum()
        yield Alternative("forced_close_left_out", float(left) / (len(net) - found.forced), "convention")
    said = bool(re.search(r"gross|before|excl", label, re.I))
    for name, values, unit in (
        ("gross_of_fees", gross, net),
        ("counted_per_closing_fill_gross_of_fees", found.trips.closing_gross, found.trips.closing_net),
    ):
        near = len(unit) > 0 and abs(_share(values) - _share(unit)) <= 1.0001 / len(unit)
        yield Alternative(name, _share(values), "convention" if said or near else "fault")
    if found.rows_exit_only is not None:
        yield Alternative("entry_fee_left_out", _share(found.rows_exit_only), "fault")


def _factor(values: Floats) -> float:
    lost = -float(values[values < 0].sum())
    return float(values[values > 0].sum()) / lost if lost > 0 else float("nan")


def _factors(found: Trips) -> Iterator[Alternative]:
    yield Alternative("", _factor(_net(found)), "same")
    yield Alternative("counted_per_closing_fill", _factor(found.trips.closing_net), "convention")
    if found.rows_net is not None:
        yield Alternative("counted_per_row_of_the_log", _factor(found.rows_net), "convention")
    if found.rows_return is not None:
        yield Alternative("of_trade_returns", _factor(found.rows_return), "convention")
    yield Alternative("gross_of_fees", _factor(_gross(found)), "fault")
    if found.rows_exit_only is not None:
        yield Alternative("entry_fee_left_out", _factor(found.rows_exit_only), "fault")


def _profits(found: Trips, label: str) -> Iterator[Alternative]:
    yield Alternative("", float(_net(found).sum()), "same")
    yield Alternative("counted_per_closing_fill", float(found.trips.closing_net.sum()), "convention")
    kind: Kind = "convention" if re.search(r"gross|before", label, re.I) else "fault"
    if abs(float(_gross(found).sum() - _net(found).sum())) > 1e-9:
        yield Alternative("gross_of_fees", float(_gross(found).sum()), kind)
        yield Alternative("gross_of_fees", float(found.trips.closing_gross.sum()), kind)
    if found.rows_exit_only is not None:
        yield Alternative("entry_fee_left_out", float(found.rows_exit_only.sum()), "fault")
    whole = found.fills.assign(shares=np.trunc(found.fills["shares"]))
    whole = whole[whole["shares"] != 0]
    if len(whole) and not np.allclose(found.fills["shares"], np.round(found.fills["shares"])):
        yield Alternative("fractional_shares_cast_to_whole", float(round_trips(whole).closing_gross.sum()), "fault")


def _sided(found: Trips, sign: int) -> Iterator[Alternative]:
    for name, values, kind in (
        ("", _net(found), "same"),
        ("counted_per_closing_fill", found.trips.closing_net, "convention"),
        ("gross_of_fees", _gross(found), "convention"),
    ):
        side = values[sign * values > 0]
        yield Alternative(name, float(side.sum()), kind)  # type: ignore[arg-type]  # one of the three
        yield Alternative(name, abs(float(side.sum())), kind)  # type: ignore[arg-type]
