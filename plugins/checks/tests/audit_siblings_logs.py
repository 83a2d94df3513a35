"""Siblings of the shared cases about logs, each beside its clean twin."""

import io
import json
from collections.abc import Iterator

import numpy as np
import pandas as pd

from .audit_siblings_base import Expected, Sibling, days, letters, mdd, pick, report, table, walk


def entry_fees(rng: np.random.Generator) -> Iterator[Sibling]:
    n = int(rng.integers(5, 40))
    dates = days(rng, 10 * n)
    rows = []
    for k in range(n):
        size, entry = int(rng.integers(10, 600)), round(float(rng.uniform(10, 300)), 2)
        leave = round(entry * (1 + rng.normal(0.004, 0.02)), 2)
        fees = [round(float(0.004 * size * p), 2) for p in (entry, leave)]
        rows.append([letters(rng), dates[10 * k], dates[10 * k + int(rng.integers(2, 9))], size, entry, leave, *fees])
    columns = [
        pick(rng, "symbol", "ticker"),
        pick(rng, "entry_date", "Entry Date", "date_in"),
        pick(rng, "exit_date", "Exit Date"),
        pick(rng, "shares", "quantity", "size"),
        pick(rng, "entry_price", "Entry Price", "avg_entry_price"),
        pick(rng, "exit_price", "Exit Price", "avg_exit_price"),
        pick(rng, "entry_fee", "Entry Fees", "entry_commission"),
        pick(rng, "exit_fee", "Exit Fees", "exit_commission"),
    ]
    if columns[1] == "date_in":
        columns[2] = "date_out"
    log = pd.DataFrame(rows, columns=columns)
    gross = log[columns[3]] * (log[columns[5]] - log[columns[4]])
    for label, pnl in (("clean", gross - log[columns[6]] - log[columns[7]]), ("wrong", gross - log[columns[7]])):
        net = (gross - log[columns[6]] - log[columns[7]]).round(2)
        pnl = pnl.round(2)
        trades = table(rng, log.assign(**{pick(rng, "pnl", "PnL", "profit"): pnl}), pick(rng, "trades", "closed_trades"))
        figures = {"number_of_trades": n, "win_rate": round(float((pnl > 0).mean()), 8), "net_profit": round(float(pnl.sum()), 2)}
        if (pnl < 0).any():
            figures["profit_factor"] = round(float(pnl[pnl > 0].sum() / -pnl[pnl < 0].sum()), 8)
        files = {**trades, **report(rng, {**figures, "initial_capital": 50000})}
        own = {"net_profit": (float(net.sum()), label == "clean"), "number_of_trades": (n, True)}
        if label == "clean":
            yield label, files, Expected("pass", {**own, "win_rate": (float((net > 0).mean()), True)})
        else:
            yield label, files, Expected("wrong", own, ({"check": "pnl_column_gross_of_entry_fee", "rows": n},))


def end_of_data(rng: np.random.Generator) -> Iterator[Sibling]:
    n = int(rng.integers(4, 15))
    dates = days(rng, 8 * n)
    rows = [[100, dates[8 * k], dates[8 * k + 5], 30 + k, round(float(30 + k + rng.normal(0.3, 2)), 2)] for k in range(n)]
    log = pd.DataFrame(rows, columns=["Size", "EntryTime", "ExitTime", "EntryPrice", "ExitPrice"])
    log["PnL"] = (log["Size"] * (log["ExitPrice"] - log["EntryPrice"])).round(2)
    for label, tag in (("clean", None), ("forced", pick(rng, "end_of_data", "forced close", "end of backtest", "finalize"))):
        frame = log.assign(Tag=[None] * (n - 1) + [tag])
        buffer = io.BytesIO()
        with pd.ExcelWriter(buffer) as writer:
            pd.DataFrame({"Strategy": ["Initial cash"], "demo": ["10,000"]}).to_excel(writer, index=False, sheet_name="Summary")
            frame.assign(EntryTime=frame["EntryTime"].dt.strftime("%Y-%m-%d"), ExitTime=frame["ExitTime"].dt.strftime("%Y-%m-%d")).to_excel(
                writer, index=False, sheet_name="Trades", startrow=2
            )
            wins = float((log["PnL"] > 0).mean())
            pd.DataFrame({"Metric": ["# Trades", "Win Rate [%]"], "Value": [n, round(100 * wins, 4)]}).to_excel(
                writer, index=False, sheet_name="Metrics"
            )
        files = {"backtest.xlsx": buffer.getvalue()}
        if tag is None:
            yield (
                label,
                files,
                Expected(
                    "pass", {"number_of_trades": (n, True, None), "win_rate": (wins, True, None)}, (), ("trade_closed_on_last_session",)
                ),
            )
        else:
            metrics = {"number_of_trades": (n, True, "open_position_closed_at_last_bar"), "win_rate": (wins, True, None)}
            yield label, files, Expected("pass_with_note", metrics, ({"check": "trade_closed_on_last_session", "count": 1},))


def partial_exits(rng: np.random.Generator) -> Iterator[Sibling]:
    rows, count = [], int(rng.integers(2, 6))
    dates = days(rng, 12 * count)
    wins_exit = wins_pos = exits = 0
    for k in range(count):
        name, entry = letters(rng, 4), round(float(rng.uniform(20, 80)), 2)
        parts = [int(p) for p in rng.integers(10, 60, int(rng.integers(2, 5)))]
        rows.append([name, dates[12 * k], "BUY", sum(parts), entry])
        total = 0.0
        for j, part in enumerate(parts):
            price = round(entry + float(rng.choice([-1.5, 0.8, 1.7])) - 0.1 * j, 2)
            rows.append([name, dates[12 * k + 1 + j], "SELL", part, price])
            wins_exit += price > entry
            exits += 1
            total += part * (price - entry)
        wins_pos += total > 0
    log = pd.DataFrame(
        rows,
        columns=[
            "ticker",
            pick(rng, "time", "date", "fill_date"),
            pick(rng, "side", "action"),
            pick(rng, "quantity", "shares", "qty"),
            "price",
        ],
    )
    fills = table(rng, log, pick(rng, "fills", "trades", "transactions"))
    if exits == count or wins_exit / exits == wins_pos / count:
        return
    yield (
        "clean",
        {**fills, **report(rng, {"total_trades": count, "win_rate_pct": round(100 * wins_pos / count, 3)})},
        Expected("pass", {"number_of_trades": (count, True, None), "win_rate": (wins_pos / count, True, None)}),
    )
    wrong_rate = wins_exit / exits
    expected = Expected("pass_with_note", {"number_of_trades": (count, False, "one_trade_per_closing_fill")})
    if abs(wrong_rate - wins_pos / count) > 0.02:
        expected = Expected(
            "pass_with_note",
            {
                "number_of_trades": (count, False, "one_trade_per_closing_fill"),
                "win_rate": (wins_pos / count, False, "counted_per_closing_fill"),
            },
        )
    yield "per exit", {**fills, **report(rng, {"total_trades": exits, "win_rate_pct": round(100 * wrong_rate, 3)})}, expected
    yield (
        "wrong",
        {**fills, **report(rng, {"total_trades": 7 * count + 31, "win_rate_pct": 99.2})},
        Expected("wrong", {"number_of_trades": (count, False, None)}),
    )


def fractional(rng: np.random.Generator) -> Iterator[Sibling]:
    dates = days(rng, 60)
    rows, profit = [], 0.0
    names = [letters(rng, 3), letters(rng, 4)]
    for k, name in enumerate(names):
        a, b = round(float(rng.uniform(0.3, 0.9)), 2), round(float(rng.uniform(0.2, 3.6)), 2)
        p = [round(float(rng.uniform(50, 200)), 2) for _ in range(3)]
        rows += [[dates[3 * k], name, a, p[0]], [dates[3 * k + 8], name, b, p[1]], [dates[3 * k + 20], name, -round(a + b, 2), p[2]]]
        profit += (a + b) * p[2] - a * p[0] - b * p[1]
    log = pd.DataFrame(rows, columns=[pick(rng, "dt", "date"), "symbol", pick(rng, "amount", "quantity"), "price"]).sort_values(
        "symbol", kind="stable"
    )
    fills = table(rng, log, "transactions", ("csv", "json", "parquet", "xlsx"))
    label = pick(rng, "total_profit", "net_profit", "Net Profit", "total_pnl")
    yield (
        "clean",
        {**fills, **report(rng, {"round_trips": 2, label: round(profit, 2)})},
        Expected("pass", {"net_profit": (profit, True), "number_of_trades": (2, True)}),
    )
    wrong = round(profit + float(rng.choice([-3.5, 6.25, 11.0])), 2)
    yield "wrong", {**fills, **report(rng, {"round_trips": 2, label: wrong})}, Expected("wrong", {"net_profit": (profit, False)})


def signal_bar(rng: np.random.Generator) -> Iterator[Sibling]:
    n = int(rng.integers(40, 120))
    dates, name = days(rng, n), letters(rng, 4)
    close = walk(rng, n, 60, 0.02)
    opened = np.round(close * (1 + rng.normal(0, 0.006, n)), 4)
    prices = table(rng, pd.DataFrame({"date": dates, "ticker": name, "open": opened, "close": close}), "prices")
    at = np.sort(rng.choice(np.arange(2, n - 3), 6, replace=False))
    at = at[np.concatenate(([True], np.diff(at) > 1))]
    at = at[: len(at) // 2 * 2]
    sides = ["BUY", "SELL"] * (len(at) // 2)
    clock = pick(rng, " 16:00", "T16:00:00", " 16:00:00")
    words = {"based_on": "close of the same session"} if rng.random() < 0.5 else {}
    signals = pd.DataFrame(
        {
            pick(rng, "signal_time", "signal_date"): [f"{d.date()}{clock}" for d in dates[at]],
            "ticker": name,
            "signal": sides,
            **words,
        }
    )
    for label, lag, price in (("clean", 1, opened), ("wrong", 0, close)):
        fills = pd.DataFrame(
            {
                pick(rng, "fill_date", "date", "trade_date"): dates[at + lag],
                "ticker": name,
                pick(rng, "action", "side"): sides,
                "shares": 100,
                pick(rng, "fill_price", "price"): price[at + lag],
            }
        )
        total = sum((1 if s == "SELL" else -1) * 100 * price[i + lag] for s, i in zip(sides, at, strict=True)) / 10000
        files = {
            **prices,
            **table(rng, fills, "fills"),
            **table(rng, signals, "signals", ("csv", "json")),
            **report(rng, {"total_return": round(total, 8), "initial_cash": 10000}),
        }
        if label == "clean":
            yield label, files, Expected("pass", {"total_return": (total, True)}, (), ("fill_not_after_signal",))
        else:
            found = {"check": "fill_not_after_signal", "count": len(at), "rows": [str(d.date()) for d in dates[at]]}
            yield label, files, Expected("wrong", {"total_return": (total, True, None)}, (found,))


def announcements(rng: np.random.Generator) -> Iterator[Sibling]:
    count = int(rng.integers(4, 20))
    names = [letters(rng, 4) for _ in range(count)]
    period = pd.Timestamp("2018-03-31") + pd.DateOffset(years=int(rng.integers(0, 5)))
    announced = [period + pd.Timedelta(days=int(d)) for d in rng.integers(20, 60, count)]
    facts = table(
        rng,
        pd.DataFrame(
            {
                "ticker": names,
                pick(rng, "fiscal_period_end", "period_end"): period,
                pick(rng, "announced", "announcement_date", "filing_date"): announced,
                "eps": np.round(rng.normal(1, 0.5, count), 2),
            }
        ),
        "fundamentals",
        ("csv", "json", "parquet", "xlsx"),
    )
    early, same = names[1], names[2]
    for label in ("clean", "wrong"):
        entry = [a + pd.Timedelta(days=int(d)) for a, d in zip(announced, rng.integers(1, 20, count), strict=True)]
        if label == "wrong":
            entry[1], entry[2] = announced[1] - pd.Timedelta(days=9), announced[2]
        frame = pd.DataFrame(
            {
                "ticker": names,
                pick(rng, "entry_date", "buy_date", "Entry Date"): entry,
                "entry_price": np.round(rng.uniform(10, 90, count), 2),
            }
        )
        files = {
            **facts,
            **table(rng, frame, pick(rng, "entries", "trades"), ("csv", "json", "xlsx")),
            "report.json": json.dumps({"rule": "buy on eps of the last quarter"}).encode(),
        }
        if label == "clean":
            yield label, files, Expected("pass", {}, (), ("entry_before_announcement", "entry_on_announcement_day"))
        else:
            found = ({"check": "entry_before_announcement", "rows": [early]}, {"check": "entry_on_announcement_day", "rows": [same]})
            yield label, files, Expected("wrong", {}, found)


def cutoff(rng: np.random.Generator) -> Iterator[Sibling]:
    n = int(rng.integers(30, 200))
    dates = days(rng, n)
    last = dates[n - 4]
    frame = pd.DataFrame({"date": dates, "close": walk(rng, n)})
    task = {"task.json": json.dumps({"data_cutoff": str(last.date()), "exchange_timezone": "America/New_York"}).encode()}
    night = pd.Timestamp(last) + pd.Timedelta(hours=24, minutes=30)
    news = {
        "news.csv": f"published,headline\n{(last - pd.Timedelta(days=1)).date()}T14:00:00Z,guidance kept\n{night:%Y-%m-%dT%H:%M:%SZ},buyback widened\n".encode()
    }
    snap = {
        "ticker": letters(rng),
        pick(rng, "retrieved_at", "fetched_at", "as_of"): f"{(last - pd.Timedelta(days=3)).date()}T15:00:00Z",
        "marketCap": 512000,
    }
    yield (
        "clean",
        {**table(rng, frame.iloc[: n - 3], "prices"), **task, **news, "snapshot.json": json.dumps(snap).encode()},
        Expected("pass", {}, (), ("future_row",)),
    )
    late = [str(d.date()) for d in dates[n - 3 :]]
    key = next(k for k in snap if k not in ("ticker", "marketCap"))
    stamp = f"{(last + pd.Timedelta(days=400)).date()}T08:02:11Z"
    made = table(rng, frame, "prices")
    files = {**made, **task, **news, "snapshot.json": json.dumps({**snap, key: stamp}).encode()}
    yield (
        "wrong",
        files,
        Expected(
            "wrong",
            {},
            (
                {"check": "future_row", "file": next(iter(made)), "rows": late},
                {"check": "future_row", "file": "snapshot.json", "field": key, "rows": [stamp]},
            ),
        ),
    )


def membership(rng: np.random.Generator) -> Iterator[Sibling]:
    names = [letters(rng, 4) for _ in range(6)]
    start = [f"201{int(rng.integers(0, 5))}-0{int(rng.integers(1, 9))}-15" for _ in names]
    start[1], end = "2021-09-20", ["", "", "2020-03-23", "", "", ""]
    columns = {
        pick(rng, "ticker", "symbol"): names,
        pick(rng, "date_added", "added", "start_date", "from"): start,
        pick(rng, "date_removed", "removed", "end_date"): end,
    }
    if "from" in columns:
        columns = dict(zip([*list(columns)[:2], "to"], columns.values(), strict=True))
    members = {pick(rng, "membership.csv", "index_members.csv", "constituents.csv"): pd.DataFrame(columns).to_csv(index=False).encode()}
    good = [
        (names[0], "2019-05-01"),
        (names[1], "2021-09-20"),
        (names[2], "2019-05-01"),
        (names[3], "2022-02-01"),
        (names[2], "2020-03-20"),
    ]
    bad = [*good, (names[1], "2019-05-01"), (names[2], "2020-06-01")]
    for label, rows in (("clean", good), ("wrong", bad)):
        frame = pd.DataFrame(rows, columns=["ticker", pick(rng, "entry_date", "buy_date")])
        if rng.random() < 0.5:
            frame = pd.DataFrame([(d, t, "BUY", 100, 50.0) for t, d in rows], columns=["date", "ticker", "side", "shares", "price"])
        files = {**members, **table(rng, frame, "trades", ("csv", "json", "xlsx"))}
        if label == "clean":
            yield label, files, Expected("pass", {}, (), ("traded_before_membership", "traded_after_removal"))
        else:
            found = (
                {"check": "traded_before_membership", "rows": [[names[1], "2019-05-01"]]},
                {"check": "traded_after_removal", "rows": [[names[2], "2020-06-01"]]},
            )
            yield label, files, Expected("wrong", {}, found)


def deposits(rng: np.random.Generator) -> Iterator[Sibling]:
    n = int(rng.integers(40, 160))
    dates = days(rng, n)
    r = rng.normal(0.001, 0.008, n - 1)
    at = np.sort(rng.choice(np.arange(4, n - 4), 3, replace=False))
    amount = [float(rng.integers(3, 9)) * 1000, float(rng.integers(3, 9)) * 1000, -2000.0]
    value = [10000.0]
    for i in range(1, n):
        value.append(value[-1] * (1 + r[i - 1]) + sum(a for j, a in zip(at, amount, strict=True) if j == i))
    money = np.round(value, 2)
    chained = [1.0]
    for i in range(1, n):
        flow = sum(a for j, a in zip(at, amount, strict=True) if j == i)
        chained.append(chained[-1] * (money[i] - flow) / money[i - 1])
    right, wrong = chained[-1] - 1, money[-1] / money[0] - 1
    shape = pick(rng, "%d-%b-%Y", "%Y-%m-%d", "%m/%d/%Y")
    curve = {
        "account_value.csv": pd.DataFrame({"date": dates.strftime(shape), "value": [f"{m:,.2f}" for m in money]})
        .to_csv(index=False)
        .encode()
    }
    kinds = ["deposit", "deposit", "withdrawal"]
    signed = rng.random() < 0.5
    flows = pd.DataFrame({"date": dates[at].strftime(shape), "type": kinds, "amount": [f"{a if signed else abs(a):,.2f}" for a in amount]})
    if rng.random() < 0.5:
        flows["timing"] = "after close"
    cash = {pick(rng, "cash_flows.csv", "deposits_withdrawals.csv", "flows.csv"): flows.to_csv(index=False).encode()}
    dates_found = {"check": "external_cash_flow", "rows": [str(d.date()) for d in dates[at]]}
    fall = mdd(np.array(chained))
    yield (
        "clean",
        {**curve, **cash, **report(rng, {"total_return": round(right, 7), "max_drawdown": round(fall, 7)})},
        Expected("pass", {"total_return": (right, True), "max_drawdown": (fall, True)}, (dates_found,)),
    )
    if abs(wrong - right) > 0.03:
        yield (
            "wrong",
            {**curve, **cash, **report(rng, {"total_return": round(wrong, 6), "max_drawdown": round(mdd(money), 8)})},
            Expected("wrong", {"total_return": (right, False, None)}, (dates_found,)),
        )
