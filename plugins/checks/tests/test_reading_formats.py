"""One table in every format and layout gives one canonical frame."""

import io
import json
import zipfile
from pathlib import Path

import openpyxl
import pandas as pd
import pytest

from finassay_checks.delivered import Reading, read_delivery
from finassay_checks.model import Delivered
from finassay_checks.reading.limits import DEFAULT_LIMITS

from .deliveries import Bytes, clean_delivery, make_package, simulate

FILLS = ["fill_date", "signal_date", "ticker", "shares", "price", "fee", "value"]


def delivered(tmp_path: Path, files: dict[str, Bytes], **options: object) -> Delivered:
    return make_package(tmp_path, files, **options).fact(read_delivery)  # type: ignore[arg-type]


def markdown(frame: pd.DataFrame) -> str:
    lines = ["| " + " | ".join(frame.columns) + " |", "|" + "---|" * len(frame.columns)]
    lines += ["| " + " | ".join(str(c) for c in row) + " |" for row in frame.itertuples(index=False)]
    return "# Fills\n\n" + "\n".join(lines) + "\n"


def html(frame: pd.DataFrame) -> str:
    return f"<html><head><style>td {{}}</style><script>alert(1)</script></head><body><h1>Fills</h1>{frame.to_html(index=False, border=0)}</body></html>"


@pytest.fixture(scope="module")
def fills() -> pd.DataFrame:
    return simulate(0).trades


@pytest.mark.parametrize("suffix", ["csv", "tsv", "parquet", "json", "xlsx"])
def test_fills_read_alike_in_every_file_format(tmp_path: Path, fills: pd.DataFrame, suffix: str) -> None:
    frame = delivered(tmp_path, {f"results/trades.{suffix}": fills}).frame("trades")
    assert frame is not None
    assert len(frame) == len(fills)
    signed = fills["shares"] * fills["side"].map({"BUY": 1.0, "SELL": -1.0})
    assert frame["shares"].to_numpy() == pytest.approx(signed.to_numpy())
    assert (frame["fill_date"].to_numpy() == fills["fill_date"].to_numpy(dtype="datetime64[ns]")).all()
    assert (frame["signal_date"].to_numpy() == fills["signal_date"].to_numpy(dtype="datetime64[ns]")).all()
    assert frame["ticker"].tolist() == fills["ticker"].tolist()
    assert frame["fee"].to_numpy() == pytest.approx(fills["fee"].to_numpy())
    assert frame["row"].tolist() == list(range(1, len(fills) + 1))


@pytest.mark.parametrize(("path", "write"), [("trades.md", markdown), ("trades.html", html)])
def test_fills_in_text_tables(tmp_path: Path, fills: pd.DataFrame, path: str, write: object) -> None:
    frame = delivered(tmp_path, {path: write(fills)}).frame("trades")  # type: ignore[operator]
    assert frame is not None
    assert len(frame) == len(fills)
    assert frame["price"].to_numpy() == pytest.approx(fills["price"].to_numpy(), rel=1e-4)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "cp1252"])
def test_encodings(tmp_path: Path, fills: pd.DataFrame, encoding: str) -> None:
    noted = fills.assign(reason="réévaluation")
    frame = delivered(tmp_path, {"trades.csv": noted.to_csv(index=False).encode(encoding)}).frame("trades")
    assert frame is not None
    assert frame["reason"].iloc[0] == "réévaluation"


def test_large_file_in_utf_16(tmp_path: Path) -> None:
    prices = simulate(0).prices
    files: dict[str, Bytes] = {"prices.csv": prices.to_csv(index=False).encode("utf-16")}
    assert len(files["prices.csv"]) > 192 * 1024
    frame = delivered(tmp_path, files).frame("prices")
    assert frame is not None
    assert frame["close"].to_numpy() == pytest.approx(prices["close"].to_numpy())


def test_small_and_large_files_give_the_same_frame(tmp_path: Path) -> None:
    prices = simulate(0).prices
    head = prices[prices["date"] < "2013-06-01"]
    small = delivered(tmp_path / "a", {"prices.csv": head}).frame("prices")
    large = delivered(tmp_path / "b", {"prices.csv": prices}).frame("prices")
    assert small is not None
    assert large is not None
    pd.testing.assert_frame_equal(small, large[large["date"] < "2013-06-01"].reset_index(drop=True), check_dtype=True)


@pytest.mark.parametrize("suffix", ["csv", "parquet", "xlsx"])
def test_wide_tables(tmp_path: Path, suffix: str) -> None:
    made = simulate(0)
    wide = made.prices.pivot(index="date", columns="ticker", values="close").reset_index()
    targets = made.targets.pivot(index="decision_date", columns="ticker", values="target_weight").fillna(0.0).reset_index()
    scores = made.signals.pivot(index="decision_date", columns="ticker", values="score").reset_index()
    found = delivered(
        tmp_path,
        {
            f"prices.{suffix}": wide,
            f"weights.{suffix}": targets,
            f"scores.{suffix}": scores,
            f"positions.{suffix}": made.positions,
            "trades.csv": made.trades,
        },
    )
    prices, weights, signals, positions = (found.frame(role) for role in ("prices", "weights", "signals", "positions"))  # type: ignore[arg-type]
    assert prices is not None
    assert weights is not None
    assert signals is not None
    assert positions is not None
    joined = prices.merge(made.prices.astype({"date": "datetime64[ns]"}), on=["date", "ticker"], suffixes=("", "_true"))
    assert len(joined) == len(made.prices)
    assert joined["close"].to_numpy() == pytest.approx(joined["close_true"].to_numpy())
    assert weights.groupby("date")["weight"].sum().to_numpy() == pytest.approx(1.0)
    assert set(weights["kind"]) == {"target"}
    assert len(signals) == len(made.signals)
    assert (positions["ticker"] == "$CASH").sum() == len(made.positions)


def test_wide_weights_in_percent_and_with_an_exposure_column(tmp_path: Path) -> None:
    made = simulate(0)
    targets = made.targets.pivot(index="decision_date", columns="ticker", values="target_weight").fillna(0.0)
    percent = delivered(tmp_path / "a", {"weights.csv": (targets * 100).reset_index()}).frame("weights")
    assert percent is not None
    assert percent.groupby("date")["weight"].sum().to_numpy() == pytest.approx(1.0)
    half = targets * 0.5
    half.insert(0, "invested", 0.5)
    scaled = delivered(tmp_path / "b", {"book.csv": half.reset_index()})
    assert scaled.frame("weights") is not None
    assert scaled.frame("states") is not None


def test_one_price_file_a_ticker(tmp_path: Path) -> None:
    made = simulate(0)
    files: dict[str, Bytes] = {}
    for ticker, frame in made.prices.groupby("ticker"):
        close = frame["close"].to_numpy()
        files[f"prices/{ticker}.csv"] = pd.DataFrame(
            {"Date": frame["date"], "Open": close, "High": close * 1.01, "Low": close * 0.99, "Close": close}
        )
    frame = delivered(tmp_path, files).frame("prices")
    assert frame is not None
    assert len(frame) == len(made.prices)
    assert set(frame["ticker"]) == set(made.prices["ticker"])


def test_workbook_with_titles_stacked_tables_and_formulas(tmp_path: Path, fills: pd.DataFrame) -> None:
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = "Ledger"
    sheet.append(["All orders of the strategy"])
    sheet.append(["Cost rate", 0.001])
    sheet.append([])
    sheet.append(list(fills.columns))
    for row in fills.itertuples(index=False):
        sheet.append([c.to_pydatetime() if isinstance(c, pd.Timestamp) else c for c in row])
    sheet.append([])
    sheet.append(["ticker", "sector name"])
    sheet.append(["AAPL", "technology"])
    sheet.append(["KO", "staples"])
    formulas = book.create_sheet("Formulas")
    formulas.append(["date", "equity"])
    formulas.append(["2016-01-04", "=1+1"])
    buffer = io.BytesIO()
    book.save(buffer)
    found = delivered(tmp_path, {"book.xlsx": buffer.getvalue()})
    trades = found.choices["trades"].chosen
    assert trades is not None
    assert trades.table.where == "book.xlsx#Ledger"
    assert trades.table.notes[0] == "All orders of the strategy"
    assert len(trades.frame) == len(fills)
    assert "book.xlsx#Ledger!2" in {t.where for t in found.tables}
    assert [f.check for f in found.findings] == ["formula-without-value"]


def test_json_layouts(tmp_path: Path, fills: pd.DataFrame) -> None:
    columns = fills.assign(fill_date=fills["fill_date"].astype(str), signal_date=fills["signal_date"].astype(str))
    nested = {
        "meta": {"name": "run", "capital": 1_000_000.0},
        "book": {"fills": columns.to_dict(orient="records")},
        "metrics": {"sharpe": 1.25, "max_drawdown": -0.2},
    }
    layouts: dict[str, object] = {
        "records": nested,
        "columns": columns.to_dict(orient="list"),
        "split": json.loads(columns.to_json(orient="split")),
    }
    for name, value in layouts.items():
        frame = delivered(tmp_path / name, {"trades.json": json.dumps(value)}).frame("trades")
        assert frame is not None, name
        assert len(frame) == len(fills)
    found = delivered(tmp_path / "records", {"trades.json": json.dumps(nested)})
    assert found.choices["metrics"].status == "found"


def test_notebook_word_and_html_are_prose_tables_and_code(tmp_path: Path) -> None:
    notebook = {
        "cells": [
            {"cell_type": "markdown", "source": ["# Report\n", "The Sharpe ratio is 1.25."]},
            {"cell_type": "code", "source": "print('hello')", "outputs": [{"output_type": "stream", "text": ["hello"]}]},
        ]
    }
    body = (
        '<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body><w:p><w:pPr><w:pStyle w:val="Heading1"/></w:pPr>'
        "<w:r><w:t>Summary</w:t></w:r></w:p><w:tbl><w:tr><w:tc><w:p><w:r><w:t>metric</w:t></w:r></w:p></w:tc><w:tc><w:p><w:r><w:t>value</w:t></w:r></w:p></w:tc></w:tr>"
        "<w:tr><w:tc><w:p><w:r><w:t>Sharpe</w:t></w:r></w:p></w:tc><w:tc><w:p><w:r><w:t>1.25</w:t></w:r></w:p></w:tc></w:tr>"
        "<w:tr><w:tc><w:p><w:r><w:t>Max drawdown</w:t></w:r></w:p></w:tc><w:tc><w:p><w:r><w:t>-20%</w:t></w:r></w:p></w:tc></w:tr></w:tbl></w:body></w:document>"
    )
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as container:
        container.writestr("word/document.xml", body)
    found = delivered(
        tmp_path,
        {"nb.ipynb": json.dumps(notebook), "memo.docx": buffer.getvalue(), "page.html": "<p>One <b>bold</b> word</p><script>x</script>"},
    )
    texts = {d.where: d.text for d in found.documents}
    assert "The Sharpe ratio is 1.25." in texts["nb.ipynb"]
    assert "# Summary" in texts["memo.docx"]
    assert texts["page.html"].split() == ["One", "bold", "word"]
    assert [c.text for c in found.code] == ["print('hello')"]
    assert found.choices["metrics"].status == "found"


def test_pdf_text(tmp_path: Path) -> None:
    stream = b"BT /F1 12 Tf 72 720 Td (The Sharpe ratio is 1.25 after costs) Tj ET"
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>>>",
        b"<</Length %d>>stream\n%s\nendstream" % (len(stream), stream),
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    ]
    data, offsets = b"%PDF-1.4\n", []
    for number, body in enumerate(objects, start=1):
        offsets.append(len(data))
        data += b"%d 0 obj%s endobj\n" % (number, body)
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    data += b"xref\n0 6\n0000000000 65535 f \n" + table + b"trailer<</Size 6/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF" % (len(data))
    found = delivered(tmp_path, {"report.pdf": data})
    assert "The Sharpe ratio is 1.25 after costs" in {d.where: d.text for d in found.documents}["report.pdf"]


def test_dates_and_numbers_as_people_write_them(tmp_path: Path) -> None:
    text = "Datum;Ticker;Seite;Side;Shares;Price;Fee\n" + "".join(
        f"{day:02d}.01.2016;AAPL;x;{side};{shares};{price};(1,50)\n"
        for day, side, shares, price in [(4, "Buy", "1.200", "48,05"), (5, "Sell", "700", "47,50"), (6, "Sell", "500", "46,52")]
    )
    frame = delivered(tmp_path, {"trades.csv": text}).frame("trades")
    assert frame is not None
    assert frame["fill_date"].dt.strftime("%Y-%m-%d").tolist() == ["2016-01-04", "2016-01-05", "2016-01-06"]
    assert frame["price"].tolist() == pytest.approx([48.05, 47.5, 46.52])
    assert frame["fee"].tolist() == pytest.approx([1.5, 1.5, 1.5])


def test_stamps_with_zones_keep_the_exchange_date(tmp_path: Path) -> None:
    base = "ticker,side,shares,price,time\n"
    stamps = {
        "midnight-offset": "2016-01-04 00:00:00-05:00",
        "utc-midnight": "2016-01-04T00:00:00Z",
        "utc-new-york-midnight": "2016-01-04 05:00:00+00:00",
        "utc-close": "2016-01-04T21:00:00Z",
        "utc-european-midnight": "2016-01-03T23:00:00Z",
        "tokyo-midnight": "2016-01-04 00:00:00+09:00",
    }
    for name, stamp in stamps.items():
        frame = delivered(tmp_path / name, {"trades.csv": base + f"AAPL,BUY,10,100,{stamp}\nAAPL,SELL,10,100,{stamp}\n"}).frame("trades")
        assert frame is not None, name
        assert set(frame["fill_date"].dt.strftime("%Y-%m-%d")) == {"2016-01-04"}, name


def test_a_message_table_is_read(tmp_path: Path) -> None:
    message = "Done.\n\n| | CAGR | Sharpe | Max drawdown |\n|---|---|---|---|\n| **Strategy (net)** | 11.1% | 1.02 | -23.0% |\n| S&P 500 | 7.5% | 0.49 | -56.8% |\n"
    found = delivered(tmp_path, {}, messages=("Go.", message))
    assert {(f.metric, round(f.value, 4)) for f in found.figures} == {("annual_return", 0.111), ("sharpe", 1.02), ("max_drawdown", -0.23)}


def test_clean_delivery_has_no_findings(tmp_path: Path) -> None:
    found = delivered(tmp_path, clean_delivery(3))
    assert found.findings == ()
    assert Reading(make_package(tmp_path / "again", {}), DEFAULT_LIMITS).delivered().tables == ()
