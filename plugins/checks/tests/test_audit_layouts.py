"""One small backtest in layouts of brokers, data vendors and libraries that the shared cases do not hold: fills and prices, each read alone."""

import io
import json

import numpy as np
import pandas as pd
import pytest

from finassay_checks.audit.folder import open_folder
from finassay_checks.audit.run import audit_folder
from finassay_checks.audit.shown import as_json
from finassay_checks.sessions import sessions_between

CAPITAL = 150_000.0
DAYS = sessions_between("XNYS", pd.Timestamp("2022-03-01"), pd.Timestamp("2022-03-31"))
CLOSE = pd.DataFrame({"QAA": 48 + 0.37 * np.sin(np.arange(len(DAYS))), "QBB": 121 - 0.4 * np.arange(len(DAYS))}, index=DAYS).round(2)
FILLS = pd.DataFrame(
    [
        (1, "QAA", 1200, 48.05, 1.8),
        (3, "QBB", 350, 119.38, 1.0),
        (6, "QAA", -700, 47.5, 1.05),
        (9, "QAA", -500, 47.52, 1.0),
        (15, "QBB", -350, 114.56, 1.0),
    ],
    columns=["day", "symbol", "qty", "price", "fee"],
)
FILLS["date"] = DAYS[FILLS["day"]]
END = CAPITAL - float((FILLS["qty"] * FILLS["price"]).sum())
SIDE, SIZE, NOTIONAL = np.where(FILLS["qty"] > 0, "BUY", "SELL"), FILLS["qty"].abs(), FILLS["qty"].abs() * FILLS["price"]
ISO = FILLS["date"].dt.strftime("%Y-%m-%d")
PLAIN = pd.DataFrame({"date": ISO, "ticker": FILLS["symbol"], "side": SIDE, "shares": SIZE, "price": FILLS["price"], "fee": FILLS["fee"]})
OPEN = (CLOSE * 0.999).round(3)


def csv(frame: pd.DataFrame, **options: str) -> bytes:
    return frame.to_csv(index=False, **options).encode()  # type: ignore[call-overload]


def bars(ticker: str) -> pd.DataFrame:
    return pd.DataFrame(
        {"date": DAYS, "open": OPEN[ticker], "high": CLOSE[ticker] + 1, "low": CLOSE[ticker] - 1, "close": CLOSE[ticker], "volume": 1000}
    )


def workbook(**sheets: tuple[pd.DataFrame, int]) -> bytes:
    buffer = io.BytesIO()
    with pd.ExcelWriter(buffer) as writer:
        for name, (frame, above) in sheets.items():
            frame.to_excel(writer, sheet_name=name, index=False, startrow=above)
    return buffer.getvalue()


def rate(**column: object) -> bytes:
    return csv(PLAIN.drop(columns="fee").assign(**column))


ORDERS = pd.DataFrame(
    {
        "Time": ISO + "T14:31:00Z",
        "Symbol": FILLS["symbol"],
        "Price": FILLS["price"],
        "Quantity": FILLS["qty"],
        "Status": "Filled",
        "Tag": "",
    }
)
LOGS: dict[str, dict[str, bytes]] = {
    "money as text, parentheses for sales": {
        "trades.csv": csv(
            pd.DataFrame(
                {
                    "Trade Date": FILLS["date"].dt.strftime("%d-%b-%Y"),
                    "Ticker": FILLS["symbol"],
                    "Shares": [f"{q:,.0f}" if q > 0 else f"({-q:,.0f})" for q in FILLS["qty"]],
                    "Fill Price": [f"${p:.2f}" for p in FILLS["price"]],
                    "Commission": [f"${f:.2f}" for f in FILLS["fee"]],
                }
            )
        )
    },
    "BOT and SLD": {"executions.csv": csv(PLAIN.assign(side=np.where(FILLS["qty"] > 0, "BOT", "SLD"), fee=-FILLS["fee"]))},
    "session close in UTC, sid as an object": {
        "transactions.csv": csv(
            pd.DataFrame(
                {
                    "amount": FILLS["qty"],
                    "dt": ISO + " 21:00:00+00:00",
                    "price": FILLS["price"],
                    "sid": [f"Equity(0 [{s}])" for s in FILLS["symbol"]],
                    "commission": FILLS["fee"],
                }
            )
        )
    },
    "broker's flex file": {
        "flex.csv": csv(
            pd.DataFrame(
                {
                    "Symbol": FILLS["symbol"],
                    "DateTime": FILLS["date"].dt.strftime("%Y%m%d;093001"),
                    "Buy/Sell": SIDE,
                    "Quantity": FILLS["qty"],
                    "TradePrice": FILLS["price"],
                    "IBCommission": -FILLS["fee"],
                }
            )
        )
    },
    "orders, one cancelled": {
        "orders.csv": csv(pd.concat([ORDERS.assign(Fee=FILLS["fee"]), ORDERS.iloc[[0]].assign(Status="Canceled", Quantity=999, Fee=0)]))
    },
    "fees in basis points": {"fills.csv": rate(fee_bps=FILLS["fee"] / NOTIONAL * 1e4)},
    "fees in percent": {"fills.csv": rate(commission_pct=[f"{100 * x:.9f}%" for x in FILLS["fee"] / NOTIONAL])},
    "fees a share": {"fills.csv": rate(fee_per_share=FILLS["fee"] / SIZE)},
    "bought and sold apart": {
        "fills.csv": csv(
            PLAIN.drop(columns=["side", "shares"]).assign(bought=SIZE.where(FILLS["qty"] > 0, 0), sold=SIZE.where(FILLS["qty"] < 0, 0))
        )
    },
    "value instead of shares": {"fills.csv": csv(PLAIN.drop(columns="shares").assign(notional=NOTIONAL))},
    "local stamps": {"fills.csv": csv(PLAIN.assign(date=ISO + "T09:30:00-05:00"))},
    "JSON split": {"fills.json": PLAIN.to_json(orient="split").encode()},
    "JSON columns": {"fills.json": PLAIN.to_json(orient="columns").encode()},
    "JSON index": {"fills.json": PLAIN.to_json(orient="index").encode()},
    "JSON by ticker": {
        "fills.json": json.dumps({t: g.drop(columns="ticker").to_dict("records") for t, g in PLAIN.groupby("ticker")}).encode()
    },
    "JSON lines": {"fills.jsonl": PLAIN.to_json(orient="records", lines=True).encode()},
    "milliseconds": {
        "fills.json": json.dumps(
            {
                "fills": [
                    {"t": int((d + pd.Timedelta(hours=15)).timestamp() * 1000), "symbol": s, "side": x, "qty": int(q), "price": p, "fee": f}
                    for d, s, x, q, p, f in zip(FILLS["date"], FILLS["symbol"], SIDE, SIZE, FILLS["price"], FILLS["fee"], strict=True)
                ]
            }
        ).encode()
    },
    "Markdown": {
        "REPORT.md": (
            "# Report\n\n## Trades\n\n| "
            + " | ".join(PLAIN)
            + " |\n|"
            + "---|" * 6
            + "\n"
            + "\n".join("| " + " | ".join(map(str, row)) + " |" for row in PLAIN.itertuples(index=False))
        ).encode()
    },
    "HTML": {"report.html": ("<html><body><h2>Trades</h2>" + PLAIN.to_html(index=False) + "</body></html>").encode()},
    "workbook with titles": {"book.xlsx": workbook(Blotter=(PLAIN, 4))},
    "pipes": {"fills.psv": csv(PLAIN, sep="|")},
}
TICKERS = tuple(CLOSE)
PRICES: dict[str, dict[str, bytes]] = {
    "numbered names in JSON": {
        f"{t}.json": json.dumps(
            {
                "Time Series (Daily)": {
                    str(r.date.date()): {"1. open": f"{r.open}", "4. close": f"{r.close:.4f}"} for r in bars(t).iloc[::-1].itertuples()
                }
            }
        ).encode()
        for t in TICKERS
    },
    "one letter a field, milliseconds at New York's midnight": {
        f"{t}.json": json.dumps(
            {
                "ticker": t,
                "results": [
                    {
                        "o": r.open,
                        "h": r.high,
                        "l": r.low,
                        "c": r.close,
                        "v": 9,
                        "t": int(r.date.tz_localize("America/New_York").timestamp() * 1000),
                    }
                    for r in bars(t).itertuples()
                ],
            }
        ).encode()
        for t in TICKERS
    },
    "angle brackets in text files": {
        f"{t.lower()}.us.txt": (
            "<TICKER>,<PER>,<DATE>,<TIME>,<OPEN>,<HIGH>,<LOW>,<CLOSE>,<VOL>,<OPENINT>\n"
            + "".join(f"{t}.US,D,{r.date:%Y%m%d},000000,{r.open},{r.high},{r.low},{r.close},9,0\n" for r in bars(t).itertuples())
        ).encode()
        for t in TICKERS
    },
    "UTC midnight means the date": {
        f"{t}.csv": csv(bars(t).assign(date=[f"{d.date()}T00:00:00.000Z" for d in DAYS], divCash=0.0, splitFactor=1.0)) for t in TICKERS
    },
    "a sheet a ticker": {"prices.xlsx": workbook(**{t: (bars(t), 0) for t in TICKERS})},
    "dates by ticker in JSON": {
        "prices.json": json.dumps({t: {str(d.date()): float(v) for d, v in CLOSE[t].items()} for t in TICKERS}).encode()
    },
    "records by ticker in JSON": {
        "prices.json": json.dumps({t: [{"date": str(d.date()), "close": float(v)} for d, v in CLOSE[t].items()] for t in TICKERS}).encode()
    },
    "grouped by ticker, three header rows": {
        "prices.csv": (
            "Ticker,QAA,QAA,QBB,QBB\nPrice,Open,Close,Open,Close\nDate,,,,\n"
            + "".join(f"{d.date()},{OPEN.QAA[d]},{CLOSE.QAA[d]},{OPEN.QBB[d]},{CLOSE.QBB[d]}\n" for d in DAYS)
        ).encode()
    },
    "decimal commas": {"prices.csv": csv(CLOSE.reset_index(names="Datum").assign(Datum=DAYS.strftime("%d.%m.%Y")), sep=";", decimal=",")},
}


def rebuilt(folder, files):
    for name, content in files.items():
        (folder / name).write_bytes(content)
    (folder / "report.json").write_text(json.dumps({"initial_cash": CAPITAL}), encoding="utf-8")
    found = as_json(audit_folder(open_folder(folder)))
    assert found["verdict"] in ("pass", "pass_with_note"), found["reason"]
    return found["rebuilt"]


@pytest.mark.parametrize("layout", sorted(LOGS))
def test_fills_are_read_in_every_layout(layout, tmp_path):
    found = rebuilt(tmp_path, {**LOGS[layout], "prices.csv": csv(CLOSE.reset_index(names="date"))})
    assert found["n_fills"] == 5
    assert found["n_round_trips"] == 2
    assert found["equity_end"] == pytest.approx(END - float(FILLS["fee"].sum()), abs=0.01)


@pytest.mark.parametrize("layout", sorted(PRICES))
def test_prices_are_read_in_every_layout(layout, tmp_path):
    found = rebuilt(tmp_path, {**PRICES[layout], "fills.csv": csv(PLAIN)})
    assert found["equity_end"] == pytest.approx(END - float(FILLS["fee"].sum()), abs=0.01)
    assert found["start"] == str((DAYS[0] - pd.offsets.BDay(1)).date())
    assert found["n_returns"] == len(DAYS)
