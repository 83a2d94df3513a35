"""Logs: fills, and round trips with an entry and an exit a row."""

import pandas as pd

from finassay_checks.roles import canonical, names
from finassay_checks.roles.context import Context, Found, dates_of, made, stem_of
from finassay_checks.roles.shape import Column, Shape
from finassay_checks.roles.vocabulary import DECIDED, FEES, HINT_TRADES, IDS, PRICES, PROFITS, REASONS, SHARES, SIDES, VALUES


def round_trip_columns(shape: Shape) -> dict[str, str]:
    """Canonical to delivered columns if each row holds an entry and an exit, else nothing."""
    if "round_trips" not in shape.memo:
        shape.memo["round_trips"] = _round_trip_columns(shape)
    return shape.memo["round_trips"]


def _round_trip_columns(shape: Shape) -> dict[str, str]:
    def dated(words: set[str]) -> Column | None:
        for column in shape.columns:
            named = set(column.parts) | {column.key}
            if (
                named & words
                and (column.kind == "date" or (column.kind in ("text", "empty") and "date" in named))
                and not named & {"price", "px", "bar", "signal"}
            ):
                return column
        return None

    entry = dated({"entry", "bought", "open", "opened", "enter", "entered", "entrydate", "datein", "opendt"})
    exit_ = dated({"exit", "sold", "close", "closed", "exited", "exitdate", "dateout", "closedt"})
    if entry is None or exit_ is None or entry is exit_ or entry.kind != "date":
        return {}
    shares = shape.find((*SHARES, "sharesbought"), "number")
    prices = [c for c in shape.of("number") if {"price", "px", "pricein", "priceout", "rate"} & {*c.parts, c.key}]
    pnl = shape.find(PROFITS, "number") or shape.find_part(("pnl", "profit"), "number")
    if pnl is None and len(prices) < 2:
        return {}
    entry_price = next((c for c in prices if {"entry", "buy", "open", "in", "bought", "pricein"} & {*c.parts, c.key}), None)
    exit_price = next(
        (c for c in prices if c is not entry_price and {"exit", "sell", "close", "out", "sold", "priceout"} & {*c.parts, c.key}), None
    )
    columns = {"entry_date": entry.name, "exit_date": exit_.name}
    named = {
        "ticker": shape.ticker,
        "shares": shares,
        "entry_price": entry_price,
        "exit_price": exit_price,
        "pnl": pnl,
        "fee": shape.find(FEES, "number"),
        "entry_fee": _fee_of(shape, {"entry", "buy", "open", "in"}),
        "exit_fee": _fee_of(shape, {"exit", "sell", "close", "out"}),
        "direction": shape.find(("direction", "dir", "side", "positiontype", "type", "buysell", "ls", "longshort", "bs"), "text")
        or shape.find(("long", "islong", "isshort", "short"), "bool"),
    }
    return columns | {key: column.name for key, column in named.items() if column is not None}


def _fee_of(shape: Shape, side: set[str]) -> Column | None:
    """The fee column of one side of a round trip: `entry_fee`, `Exit Fees`, `commission_in`."""
    fees = {"fee", "fees", "commission", "commissions", "cost", "costs", "comm"}
    return next((c for c in shape.of("number") if fees & set(c.parts) and side & set(c.parts)), None)


def round_trips(shape: Shape, context: Context) -> Found:
    columns = round_trip_columns(shape)
    if not columns:
        return
    frame = canonical.simple("round_trips", shape.table.frame, columns, context.timezone)
    for fee in ("fee", "entry_fee", "exit_fee"):
        frame[fee] = frame[fee].abs()
    for side in ("entry", "exit"):
        notional = (frame["shares"] * frame[f"{side}_price"]).abs()
        # Less than a cent on thousands is a rate: such exports (`fee_open`) hold fractions of the traded value.
        if (frame[f"{side}_fee"].max() < 0.01) and notional.median() > 1_000:
            frame[f"{side}_fee"] *= notional
    both = frame["entry_fee"].fillna(0.0) + frame["exit_fee"].fillna(0.0)
    frame["fee"] = frame["fee"].where(frame["fee"].notna(), both.where(frame["entry_fee"].notna() | frame["exit_fee"].notna()))
    frame["shares"] = _directed(shape, columns, frame)
    if "ticker" not in columns:
        frame["ticker"] = next(iter(context.known)) if len(context.known) == 1 else ""
    status = shape.find(("status", "why", "reason", "exitreason", "isopen"), "text", "bool")
    frame["open"] = frame["exit_date"].isna()
    if status is not None:
        texts = shape.table.frame[status.name].iloc[frame["row"].to_numpy() - 1].astype(str).str.lower()
        frame["open"] |= texts.str.contains(r"\bopen\b|still held|cut.?off|marked", regex=True).to_numpy()
    yield from made("round_trips", shape, columns, frame, "an entry and an exit date in each row")


def _directed(shape: Shape, columns: dict[str, str], frame: pd.DataFrame) -> "pd.Series[float]":
    """Shares with the sign of the position: a direction column says which unsigned rows are short."""
    shares: pd.Series[float] = frame["shares"]
    name = columns.get("direction")
    if name is None or (shares < 0).any():
        return shares
    cells = shape.table.frame[name].iloc[frame["row"].to_numpy() - 1].astype(str).str.strip().str.lower()
    if "short" in names.key(name):
        short = cells.isin(["true", "1", "yes"])
    elif "long" in names.key(name):
        short = cells.isin(["false", "0", "no"])
    else:
        short = cells.str.contains(r"^(?:s|short|sell|sld|-1)", regex=True)
    return shares.where(~short.to_numpy(), -shares)


_BOUGHT = ("bought", "buy", "buyqty", "buyquantity", "buyshares", "sharesbought", "qtybought")
_SOLD = ("sold", "sell", "sellqty", "sellquantity", "sellshares", "sharessold", "qtysold")


def trade_columns(shape: Shape) -> dict[str, str]:
    """Canonical to delivered columns if each row is one execution, else nothing. The key `how` says what shows the side."""
    if "trades" not in shape.memo:
        shape.memo["trades"] = _trade_columns(shape)
    return shape.memo["trades"]


def _trade_columns(shape: Shape) -> dict[str, str]:
    fill, signal = dates_of(shape)
    ticker = shape.ticker
    if fill is None or ticker is None or round_trip_columns(shape):
        return {}
    side = shape.find(SIDES, "text")
    if side is not None and canonical.side_signs(side.sample).notna().mean() < 0.6:
        side = None
    shares = shape.find(SHARES, "number") or next(
        (
            c
            for c in shape.of("number")
            if c.parts[:1] in (("shares",), ("qty",), ("quantity",)) and not {"before", "after", "held"} & set(c.parts)
        ),
        None,
    )
    price = shape.find(PRICES, "number") or shape.find_part(("price", "px"), "number")
    used = {c.name for c in (shares, price) if c is not None}
    value = next((c for k in VALUES for c in shape.columns if c.key == k and c.kind == "number" and c.name not in used), None)
    signed = shares is not None and bool((shares.numbers < 0).any())
    hinted = bool(HINT_TRADES.search(stem_of(shape)))
    if price is None and value is None:
        return {}
    bought, sold = (shape.find(keys, "number") for keys in (_BOUGHT, _SOLD))
    if shares is None and bought is not None and sold is not None and price is not None:
        named = {
            "fill_date": fill,
            "signal_date": signal,
            "ticker": ticker,
            "bought": bought,
            "sold": sold,
            "price": price,
            "fee": shape.find(FEES, "number"),
        }
        return {key: column.name for key, column in named.items() if column is not None} | {"how": "bought and sold apart"}
    if shares is None and (value is None or side is None):
        return {}
    if side is None and not signed and not (hinted and price is not None and shares is not None and "held" not in stem_of(shape)):
        return {}
    found = {
        "fill_date": fill,
        "signal_date": signal,
        "ticker": ticker,
        "side": side,
        "shares": shares,
        "price": price,
        "value": value,
        "fee": shape.find(FEES, "number"),
        "reason": shape.find(REASONS, "text"),
        "id": shape.find(IDS),
        "weight_before": shape.find(("weightbefore", "currentweight", "oldweight", "drifted", "driftedweight", "preweight"), "number"),
        "target_weight": shape.find(("targetweight", "target", "weightafter", "newweight", "weighttarget"), "number"),
        "decided_by": shape.find(DECIDED)
        or next((c for c in shape.of("number") if c.parts[:1] in (("signal",), ("score",), ("rank",))), None),
    }
    how = "a side column" if side is not None else "signed quantities" if signed else "the file name"
    return {key: column.name for key, column in found.items() if column is not None} | {"how": how}


def trades(shape: Shape, context: Context) -> Found:
    columns = dict(trade_columns(shape))
    if not columns:
        return
    how = columns.pop("how")
    frame = _executed(shape, canonical.trades(shape.table.frame, columns, context.timezone))
    if "fee" not in columns and (rated := _rated_fee(shape)) is not None:
        columns["fee"], how_much = rated[0].name, rated[1]
        cells = canonical.column(shape.table.frame, rated[0].name, "number", context.timezone).to_numpy()[frame["row"].to_numpy() - 1]
        frame["fee"] = abs(cells) * how_much * (frame["shares"].abs() if rated[2] else (frame["shares"] * frame["price"]).abs())
    yield from made("trades", shape, columns, frame, f"date, ticker, quantity and price in each row, with {how}")


_FEE_WORDS = frozenset({"fee", "fees", "commission", "commissions", "cost", "costs"})
_NOT_DONE = r"^(?:cancel\w*|reject\w*|invalid|open|new|submitted|pending\w*|expired|none|0|2|3)$"


def _rated_fee(shape: Shape) -> tuple[Column, float, bool] | None:
    """(column, factor, whether a share) of a fee that is no money: `fee_bps`, `commission_pct`, `fee_rate`, `fee_per_share`."""
    for column in shape.of("number"):
        words = set(column.parts)
        if not words & _FEE_WORDS:
            continue
        if "share" in words or "shares" in words:
            return column, 1.0, True
        if words & {"bps", "bp"}:
            printed = column.texts.astype(str).str.contains("b", case=False).any()
            return column, 1.0 if printed else 1e-4, False
        if words & {"pct", "percent", "%"}:
            printed = column.texts.astype(str).str.contains("%").any()
            return column, 1.0 if printed else 0.01, False
        if "rate" in words:
            return column, 1.0, False
    return None


def _executed(shape: Shape, frame: pd.DataFrame) -> pd.DataFrame:
    """Rows that were filled, where a status column says which were."""
    status = shape.find(("status", "orderstatus", "state"))
    if status is None:
        return frame
    cells = shape.table.frame[status.name].iloc[frame["row"].to_numpy() - 1].astype(str).str.strip().str.lower().str.removesuffix(".0")
    undone = cells.str.match(_NOT_DONE).to_numpy()
    return frame[~undone].reset_index(drop=True) if undone.any() and not undone.all() else frame
