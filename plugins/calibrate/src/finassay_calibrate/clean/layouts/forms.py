"""Forms of the tables: long and wide, signed and unsigned, orders, round trips. Frames in, frames out; nothing is written here."""

from collections import defaultdict, deque
from typing import Any

import numpy as np
import pandas as pd

from finassay_calibrate.clean.layouts.spec import Layout

Frames = dict[str, pd.DataFrame]


def shaped(tables: Frames, layout: Layout) -> Frames:
    """The tables in the layout's forms, by file name without suffix; a column index of two levels stays one."""
    done = dict(tables)
    splits = done.pop("split_factor", None)
    if layout.prices == "raw-with-splits" and splits is not None:
        done = _unadjusted(done, splits)
    if "trades" in done:
        done = _trades(done, layout)
    done = _prices(done, layout)
    if "positions" in done:
        done = _positions(done, layout)
    if "targets" in done and layout.targets == "wide":
        done["targets"] = wide_targets(done["targets"], tuple(c for c in tables["positions"].columns if c not in ("date", "cash")))
    return done


def _unadjusted(tables: Frames, factor: pd.DataFrame) -> Frames:
    """Prices and shares as they were on the day, before later splits; the splits are in `actions`."""
    done, by_date = dict(tables), factor.set_index("date")

    def at(dates: pd.Series, tickers: pd.Series) -> np.ndarray[Any, Any]:
        rows, columns = by_date.index.get_indexer(pd.DatetimeIndex(dates)), by_date.columns.get_indexer(pd.Index(tickers))
        return np.where((rows >= 0) & (columns >= 0), by_date.to_numpy()[rows, columns], 1.0)

    prices = done["prices"].copy()
    ratio = at(prices["date"], prices["ticker"])
    for column in ("open", "high", "low", "close"):
        prices[column] = prices[column] * ratio
    prices["volume"] = (prices["volume"] / ratio).round()
    done["prices"] = prices
    if "trades" in done:
        trades = done["trades"].copy()
        ratio = at(trades["fill_date"], trades["ticker"])
        trades["price"], trades["shares"] = trades["price"] * ratio, trades["shares"] / ratio
        done["trades"] = trades
    if "positions" in done:
        positions = done["positions"].copy()
        for name in [c for c in positions.columns if c not in ("date", "cash")]:
            if name in by_date:
                positions[name] = positions[name].to_numpy() / by_date[name].reindex(positions["date"]).to_numpy()
        done["positions"] = positions
    return done


def _prices(tables: Frames, layout: Layout) -> Frames:
    done, prices = dict(tables), tables.get("prices")
    if prices is None or layout.prices in ("long", "raw-with-splits"):
        return done
    if layout.prices == "wide":
        done["prices"] = prices.pivot(index="date", columns="ticker", values="close").rename_axis(columns=None).reset_index()
    elif layout.prices == "wide-two-row-header":
        columns = ["close", "high", "low", "open", "volume"]
        whole = prices.pivot(index="date", columns="ticker", values=columns)
        whole.columns = pd.MultiIndex.from_tuples(
            [(str(c[0]).title(), str(c[1])) for c in whole.columns.to_flat_index()], names=["Price", "Ticker"]
        )
        done["prices"] = whole.rename_axis(index="Date")
    else:
        del done["prices"]
        for ticker, rows in prices.groupby("ticker"):
            done[f"prices/{ticker}"] = rows.drop(columns="ticker").reset_index(drop=True)
    return done


def _trades(tables: Frames, layout: Layout) -> Frames:
    done, trades = dict(tables), tables["trades"]
    if layout.trades == "signed-fills":
        sign = np.where(trades["side"] == "BUY", 1.0, -1.0)
        done["trades"] = trades.assign(shares=trades["shares"] * sign).drop(columns="side").rename(columns={"shares": "quantity"})
    elif layout.trades == "orders":
        done["trades"] = trades.rename(columns={"trade_id": "order_id"}).assign(type="market", status="FILLED", filled=trades["shares"])
    elif layout.trades == "net-changes":
        keep = ["fill_date", "ticker", "side", "shares", "price", "value", "fee", "reason", "signal_date"]
        done["trades"] = trades[[c for c in keep if c in trades]].sort_values(["ticker", "fill_date"], ignore_index=True)
    elif layout.trades == "round-trips":
        done["round_trips"] = round_trips(trades, last_prices(tables))
        del done["trades"]
    return done


def last_prices(tables: Frames) -> tuple[pd.Timestamp, dict[str, float]]:
    """The last date of the equity curve and the closes of that day, from prices in long form."""
    day = pd.Timestamp(tables["equity"]["date"].iloc[-1])
    rows = tables["prices"][tables["prices"]["date"] == day].drop_duplicates("ticker")
    return day, dict(zip(rows["ticker"], rows["close"].astype(float), strict=True))


def round_trips(trades: pd.DataFrame, last: tuple[pd.Timestamp, dict[str, float]]) -> pd.DataFrame:
    """First in, first out: one row for each matched piece; open pieces are marked at the last close and have no exit date."""
    lots: dict[str, deque[list[Any]]] = defaultdict(deque)
    rows: list[dict[str, Any]] = []
    ordered = trades.assign(_buy=trades["side"] == "BUY").sort_values(["fill_date", "_buy"], kind="stable")
    for t in ordered.to_dict("records"):
        rate, left = t["fee"] / t["shares"], t["shares"]
        if t["side"] == "BUY":
            lots[t["ticker"]].append([t["fill_date"], t["signal_date"], left, t["price"], rate])
            continue
        while left > 1e-9 and lots[t["ticker"]]:
            lot = lots[t["ticker"]][0]
            size = min(left, lot[2])
            rows.append(_trip(t["ticker"], lot, size, t["fill_date"], t["price"], rate * size, "closed"))
            lot[2] -= size
            left -= size
            if lot[2] <= 1e-9:
                lots[t["ticker"]].popleft()
    for ticker, open_lots in lots.items():
        rows += [_trip(ticker, lot, lot[2], pd.NaT, last[1].get(ticker, lot[3]), 0.0, "open") for lot in open_lots]
    return pd.DataFrame(rows).sort_values(["entry_date", "ticker"], ignore_index=True)


def _trip(ticker: str, lot: list[Any], size: float, day: Any, price: float, fee: float, status: str) -> dict[str, Any]:
    return {
        "ticker": ticker,
        "entry_date": lot[0],
        "exit_date": day,
        "size": size,
        "entry_price": lot[3],
        "exit_price": price,
        "entry_fee": lot[4] * size,
        "exit_fee": fee,
        "pnl": size * (price - lot[3]) - lot[4] * size - fee,
        "status": status,
    }


def _positions(tables: Frames, layout: Layout) -> Frames:
    done, wide = dict(tables), tables["positions"]
    if layout.positions == "none":
        del done["positions"]
        return done
    if layout.positions == "wide-shares":
        return done
    closes = tables["prices"] if "prices" in tables and "ticker" in tables["prices"] else None
    held = wide.drop(columns="cash").melt("date", var_name="ticker", value_name="shares")
    held = held[held["shares"] > 0].sort_values(["date", "ticker"], ignore_index=True)
    if closes is None:
        closes = _closes_of(tables)
    held = held.merge(closes[["date", "ticker", "close"]].drop_duplicates(["date", "ticker"]), on=["date", "ticker"], how="left")
    held["market_value"] = held["shares"] * held["close"]
    if layout.positions == "long-shares":
        done["positions"] = held[["date", "ticker", "shares", "close", "market_value"]]
    elif layout.positions == "long-values":
        done["positions"] = held[["date", "ticker", "market_value"]]
    else:
        worth = tables["equity"].set_index("date")["equity"]
        held["weight"] = held["market_value"] / held["date"].map(worth)
        names = [c for c in wide.columns if c not in ("date", "cash")]
        weights = held.pivot(index="date", columns="ticker", values="weight").reindex(index=wide["date"], columns=names).fillna(0.0)
        done["daily_weights"] = weights.rename_axis(columns=None).rename_axis(index="date").reset_index()
        del done["positions"]
    return done


def _closes_of(tables: Frames) -> pd.DataFrame:
    """Closes in long form from whatever form the prices have by now."""
    prices = tables.get("prices")
    if prices is None:
        parts = [frame.assign(ticker=name.split("/")[1]) for name, frame in tables.items() if name.startswith("prices/")]
        return pd.concat(parts, ignore_index=True)
    if isinstance(prices.columns, pd.MultiIndex):
        closes = pd.DataFrame(prices["Close"]).rename_axis(index="date").reset_index()
        return closes.melt("date", var_name="ticker", value_name="close").dropna(ignore_index=True)
    return prices.melt("date", var_name="ticker", value_name="close")


def wide_targets(targets: pd.DataFrame, tickers: tuple[str, ...]) -> pd.DataFrame:
    """One row a decision, one column a name; what is not wanted is 0."""
    whole = targets.pivot_table(index="decision_date", columns="ticker", values="target_weight", aggfunc="last")
    return whole.reindex(columns=list(tickers)).fillna(0.0).rename_axis(columns=None).reset_index()
