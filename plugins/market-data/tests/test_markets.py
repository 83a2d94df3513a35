"""What is found in folders, told by the tools' functions."""

import csv
import hashlib
import io
import json
import os
from datetime import date

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from folders import CLOSE, DAYS, long, single, wide

from finassay_market_data import answers, folder, reading
from finassay_market_data.market import EMBEDDED, embedded_market, folder_market
from finassay_market_data.series import MarketError

SHAPES = {"wide": wide, "long": long, "single": single}
NAN = float("nan")


def prices(market, **arguments):
    return answers.get_prices(market, answers.GetPrices.model_validate(arguments)).about


def tickers(market, **arguments):
    return answers.list_tickers(market, answers.ListTickers.model_validate(arguments)).about


def described(market):
    return answers.describe(market, answers.Nothing()).about


def market_in(path, cutoff=None, **how):
    return folder_market(path, cutoff, **how)[0]


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".csv.gz"])
@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_tells_the_same_prices(tmp_path, shape, ending):
    market = market_in(SHAPES[shape](tmp_path, ending))
    told = prices(market, tickers=["BBB", "AAA", "NEW"])
    assert told["columns"] == ["date", "BBB", "AAA", "NEW"]
    assert [row[0] for row in told["rows"]] == [str(day) for day in DAYS]
    for number, name in enumerate(told["columns"][1:], start=1):
        assert [row[number] for row in told["rows"]] == [None if v != v else v for v in CLOSE[name]]
    assert tickers(market)["rows"] == [
        ("AAA", "2019-12-27", "2020-01-06", 6),
        ("BBB", "2019-12-27", "2020-01-06", 4),
        ("NEW", "2020-01-03", "2020-01-06", 2),
    ]


@pytest.mark.parametrize("shape", SHAPES)
def test_nothing_after_the_cutoff_is_ever_told(tmp_path, shape):
    """Also not that there is a ticker, a field, a row, a page or a wrong line."""
    whole, short = tmp_path / "whole", tmp_path / "short"
    for path in (whole, short):
        path.mkdir()
        SHAPES[shape](path)
    cut = date(2020, 1, 2)
    market = market_in(whole, cut)
    assert [row[0] for row in tickers(market)["rows"]] == ["AAA", "BBB"]
    assert described(market)["fields"][0]["last_date"] == "2020-01-02"
    assert prices(market, tickers="AAA", start="2020-01-01", end="2020-12-31")["rows"] == [("2020-01-02", 11.25)]
    assert prices(market, tickers="AAA", start="2020-01-03")["rows"] == []
    with pytest.raises(MarketError) as known:
        prices(market, tickers="NEW")
    with pytest.raises(MarketError) as unknown:
        prices(market, tickers="NIL")
    assert str(known.value).replace("NEW", "NIL") == str(unknown.value)
    assert "2020-01-03" not in json.dumps([described(market), tickers(market), prices(market, tickers="AAA,BBB", frequency="monthly")])


def test_errors_after_the_cutoff_are_not_told(tmp_path):
    (tmp_path / "a.csv").write_text("date,ticker,close\n2020-01-02,AAA,1.5\n2020-02-03,AAA,2\n2020-02-03,AAA,3\n")
    assert prices(market_in(tmp_path, date(2020, 1, 31)), tickers="AAA")["rows"] == [("2020-01-02", 1.5)]
    with pytest.raises(MarketError, match="AAA has two different values of close on 2020-02-03"):
        prices(market_in(tmp_path), tickers="AAA")


@pytest.mark.parametrize("cutoff", [None, date(2019, 6, 28), date(1985, 1, 1)])
def test_the_embedded_market(cutoff):
    market = embedded_market(cutoff)
    told = described(market)
    assert told["source"] == EMBEDDED
    if cutoff == date(1985, 1, 1):
        assert (told["tickers"], told["fields"], told["index"]) == (0, [], None)
        return
    last = "2022-12-28" if cutoff is None else "2019-06-28"
    assert told["tickers"] == 20
    assert told["fields"][0]["last_date"] == told["index"]["last_date"] == last
    assert "splits and dividends" in told["fields"][0]["adjustment"]
    assert prices(market, tickers="AAPL", start="2019-06-28", end="2019-06-28")["rows"] == [("2019-06-28", 48.007)]
    level = answers.get_index(market, answers.GetIndex(start="2019-06-27", end="2019-06-28")).about
    assert level["rows"] == [("2019-06-27", 2924.92), ("2019-06-28", 2941.76)]


def test_embedded_prices_are_those_that_the_package_loads():
    skfolio = pytest.importorskip("skfolio.datasets")
    frame = skfolio.load_sp500_dataset()
    market = embedded_market()
    for name in frame.columns:
        series = market.prices.series(name)
        known = frame[name].dropna()
        assert (series.days == known.index.to_numpy().astype("datetime64[D]")).all()
        assert (series.fields["close"] == known.to_numpy()).all()


@pytest.mark.parametrize(
    "files",
    [
        {"a.csv": "date,ticker,close\n2020-01-02,AAA,1\n2020-01-02,AAA,2\n2020-01-02,BBB,3\n"},
        {"a.csv": "date,AAA,BBB\n2020-01-02,1,3\n2020-01-02,2,3\n"},
        {"a.csv": "date,AAA,BBB\n2020-01-02,1,3\n", "b.csv": "date,AAA,BBB\n2020-01-02,2,3\n"},
        {"AAA.csv": "date,open,close\n2020-01-02,1,1\n2020-01-02,1,2\n", "BBB.csv": "date,open,close\n2020-01-02,3,3\n"},
    ],
    ids=["long", "wide", "two-files", "single"],
)
def test_a_ticker_with_two_values_is_an_error_of_its_own(tmp_path, files):
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    market = market_in(tmp_path)
    assert [row[0] for row in tickers(market)["rows"]] == ["BBB"]
    assert prices(market, tickers="BBB")["rows"] == [("2020-01-02", 3)]
    for _ in range(2):
        with pytest.raises(MarketError, match="AAA has two different values of close on 2020-01-02"):
            prices(market, tickers="AAA,BBB")


# -- rows, pages, digests ---------------------------------------------------------------------------------------------


def test_several_fields_are_rows_by_date_and_ticker(tmp_path):
    told = prices(market_in(single(tmp_path)), tickers="AAA,BBB", fields="close,volume", end="2019-12-30")
    assert told["columns"] == ["date", "ticker", "close", "volume"]
    assert told["rows"] == [("2019-12-27", "AAA", 10, 10000), ("2019-12-27", "BBB", 20, 20000), ("2019-12-30", "AAA", 10.5, 10500)]


def test_months_and_weeks_follow_each_fields_rule(tmp_path):
    market = market_in(single(tmp_path))
    fields = "open,high,low,close,volume"
    monthly = prices(market, tickers="AAA", fields=fields, frequency="monthly")
    assert monthly["rows"] == [
        ("2019-12-31", "AAA", 9.5, 12, 9, 11, 31500),
        ("2020-01-06", "AAA", 10.75, 13, 10.25, 12, 34750),
    ]
    assert monthly["aggregation"] == {"open": "first", "high": "max", "low": "min", "close": "last", "volume": "sum"}
    weekly = prices(market, tickers=["BBB"], frequency="weekly")
    assert weekly["rows"] == [("2019-12-27", 20), ("2020-01-02", 22), ("2020-01-06", 23.5)]
    with_other = prices(market, tickers=["BBB", "AAA"], frequency="weekly")
    assert with_other["rows"] == [("2019-12-27", 20, 10), ("2020-01-03", 22, 11.5), ("2020-01-06", 23.5, 12)]


def test_pages_together_are_the_whole_and_digests_are_of_the_csv(tmp_path):
    market = market_in(wide(tmp_path))
    arguments = {"tickers": ["AAA", "BBB"], "format": "csv"}
    whole = answers.get_prices(market, answers.GetPrices.model_validate(arguments))
    pages = [answers.get_prices(market, answers.GetPrices.model_validate({**arguments, "rows": 4, "page": p})) for p in (1, 2)]
    assert [p.about["pages"] for p in pages] == [2, 2]
    assert "".join([pages[0].text, *pages[1].text.splitlines(True)[1:]]) == whole.text
    for answer in (whole, *pages):
        assert hashlib.sha256(answer.text.encode()).hexdigest() == answer.about["sha256"]
    assert prices(market, tickers=["AAA", "BBB"])["sha256"] == whole.about["sha256"]
    assert whole.text == (
        "date,AAA,BBB\n2019-12-27,10,20\n2019-12-30,10.5,\n2019-12-31,11,21\n2020-01-02,11.25,22\n2020-01-03,11.5,\n2020-01-06,12,23.5\n"
    )


def test_csv_reads_back_to_the_same_numbers():
    market = embedded_market()
    text = answers.get_prices(market, answers.GetPrices(tickers="AAPL,XOM", format="csv", rows=10_000)).text
    rows = list(csv.DictReader(io.StringIO(text)))
    assert len(rows) == 8313
    series = market.prices.series("XOM")
    assert [float(row["XOM"]) for row in rows] == series.fields["close"].tolist()


def test_answers_are_bounded_and_carry_their_source():
    market = embedded_market()
    every = [row[0] for row in tickers(market)["rows"]]
    told = prices(market, tickers=every, rows=10_000)
    assert told["rows_here"] * 21 <= answers.MAX_CELLS
    assert told["pages"] == 2
    unasked = prices(market, tickers=every)
    assert unasked["rows_here"] * 21 <= answers.DEFAULT_CELLS
    for about in (told, tickers(market), described(market), answers.get_index(market, answers.GetIndex()).about):
        assert about["source"] == EMBEDDED
        assert len(about["sha256"]) == 64
        json.loads(answers.as_json(about))


def test_names_in_any_case_and_a_guess(tmp_path):
    market = market_in(single(tmp_path))
    assert prices(market, tickers=" aaa , AAA")["columns"] == ["date", "AAA"]
    with pytest.raises(MarketError, match="no prices of AAB; did you mean AAA"):
        prices(market, tickers="AAB")
    with pytest.raises(MarketError, match="there is no field 'bid'; there are open, high, low, close, adj_close, volume"):
        prices(market, tickers="AAA", fields="bid")
    with pytest.raises(MarketError, match="there is no page 2: there is 1"):
        prices(market, tickers="AAA", page=2)
    with pytest.raises(MarketError, match="start lies after end"):
        prices(market, tickers="AAA", start="2020-01-02", end="2020-01-01")
    with pytest.raises(MarketError, match="no index"):
        answers.get_index(market, answers.GetIndex())


def test_adjustments_are_what_is_known_of_them(tmp_path):
    fields = {f["field"]: f["adjustment"] for f in described(market_in(single(tmp_path)))["fields"]}
    assert fields["close"].startswith("unknown")
    assert "splits and dividends" in fields["adj_close"]
    assert fields["volume"] == ""
    told = described(market_in(tmp_path, adjusted="none", source="our own feed"))
    assert told["source"] == "our own feed"
    assert {f["adjustment"] for f in told["fields"] if f["field"] in ("open", "close")} == {"not adjusted"}


@pytest.mark.parametrize(("given", "ticker"), [("", "^GSPC"), ("AAA", "AAA")])
def test_the_index_of_a_folder(tmp_path, given, ticker):
    single(tmp_path)
    (tmp_path / "^GSPC.csv").write_text("Date,Close\n2020-01-02,3257.85\n")
    assert described(market_in(tmp_path, index=given))["index"]["ticker"] == ticker
    with pytest.raises(MarketError, match="no prices of the index 'DAX'"):
        market_in(tmp_path, index="DAX")


# -- what lies in folders ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("semicolons.csv", "date;AAA;BBB\n2020-01-02;1,5;2,5\n"),
        ("tabs.tsv", "date\tAAA\tBBB\n2020-01-02\t1.5\t2.5\n"),
        ("unnamed.csv", ",AAA,BBB\n2020-01-02,1.5,2.5\n"),
        ("rownames.csv", '"AAA","BBB"\n"2020-01-02",1.5,2.5\n'),
        ("numbers.csv", "date,AAA,BBB\n20200102,1.5,2.5\n"),
        ("times.csv", "Datetime,AAA,BBB\n2020-01-02 16:00:00-05:00,1.5,2.5\n"),
        ("bom.csv", "\ufeffDate,AAA,BBB\r\n2020-01-02,1.5,2.5\r\n"),
        ("gaps.csv", "date,AAA,BBB\n2020-01-02,1.5,2.5\n2020-01-03,NaN,\n,9,9\n"),
        ("twice.csv", "date,AAA,BBB\n2020-01-02,1.5,2.5\n2020-01-02,1.5,2.5\n"),
        ("marks.csv", "date,AAA,BBB\n2020-01-02,1.5,2.5\n2020-01-03,-,n.a.\n"),
        ("sector.csv", "date,AAA,note,BBB\n2020-01-02,1.5,fine,2.5\n"),
        ("infinite.csv", "date,AAA,BBB\n2020-01-02,1.5,2.5\n2020-01-03,inf,-inf\n"),
    ],
)
def test_notations(tmp_path, name, text):
    (tmp_path / name).write_text(text, "utf-8")
    assert prices(market_in(tmp_path), tickers="AAA,BBB")["rows"] == [("2020-01-02", 1.5, 2.5)]


def test_a_ticker_that_begins_late_in_a_large_file(tmp_path):
    """Types are not guessed from a file's beginning."""
    rows = [f"{1800 + n // 360:04d}-{n % 360 // 30 + 1:02d}-{n % 30 % 28 + 1:02d}" for n in range(70_000)]
    days = sorted(set(rows))
    half = len(days) // 2
    lines = [f"{day},{n},{'1.5' if n > half else ''},{'x' * 300}" for n, day in enumerate(days)]
    (tmp_path / "all.csv").write_text("date,OLD,LATE,note\n" + "\n".join(lines) + "\n")
    assert (tmp_path / "all.csv").stat().st_size > 3 * 4 * 2**20
    market = market_in(tmp_path)
    assert market.prices.series("LATE").fields["close"].tolist() == [1.5] * (len(days) - half - 1)
    assert len(market.prices.series("OLD").days) == len(days)


def test_a_wide_file_with_a_ticker_that_is_a_word(tmp_path):
    (tmp_path / "us.csv").write_text("date,CODE,AAA\n2020-01-02,1,2\n")
    assert [row[0] for row in tickers(market_in(tmp_path))["rows"]] == ["AAA", "CODE"]


def test_parquet_as_pandas_writes_it(tmp_path):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"AAA": [1.5], "BBB": [2.5]}, index=pd.DatetimeIndex(["2020-01-02"]))
    frame.to_parquet(tmp_path / "close.parquet")
    frame.rename_axis("Datum").reset_index().to_parquet(tmp_path / "open.parquet")
    market = market_in(tmp_path)
    assert prices(market, tickers="AAA,BBB", fields="open,close")["rows"] == [
        ("2020-01-02", "AAA", 1.5, 1.5),
        ("2020-01-02", "BBB", 2.5, 2.5),
    ]


def test_files_by_year_and_by_field_are_one_market(tmp_path):
    for year in (2019, 2020):
        (tmp_path / f"{year}.csv").write_text(f"date,AAA\n{year}-01-02,{year}\n{year}-01-03,1.5\n")
    (tmp_path / "volume.csv").write_text("date,AAA\n2020-01-02,7\n")
    told = prices(market_in(tmp_path), tickers="AAA", fields="close,volume")
    assert told["rows"] == [
        ("2019-01-02", "AAA", 2019, None),
        ("2019-01-03", "AAA", 1.5, None),
        ("2020-01-02", "AAA", 2020, 7),
        ("2020-01-03", "AAA", 1.5, None),
    ]


def test_partitions_name_their_ticker(tmp_path):
    (tmp_path / "ticker=AAA").mkdir()
    (tmp_path / "ticker=AAA" / "part-0.csv").write_text("date,close,volume\n2020-01-02,1.5,3\n")
    assert [row[0] for row in tickers(market_in(tmp_path))["rows"]] == ["AAA"]


def test_a_ticker_called_like_a_field(tmp_path):
    (tmp_path / "us.csv").write_text("date,LOW,OPEN,HD\n2020-01-02,1,2,3\n")
    (tmp_path / "more.csv").write_text("date,LOW,MSFT,KO,PG\n2020-01-03,1,2,3,4\n")
    assert "LOW" in [row[0] for row in tickers(market_in(tmp_path))["rows"]]


BAD = {
    "empty.csv": b"",
    "header.csv": b"date,AAA\n",
    "one.csv": b"date\n2020-01-02\n",
    "zeros.csv": b"date,AAA\n2020-01-02,\0\n",
    "american.csv": b"date,close\n01/02/2020,1\n",
    "never.csv": b"date,close\n2020-02-31,1\n",
    "ragged.csv": b"date,close\n2020-01-02,1\n2020-01-03,1,2,3\n",
    "words.csv": b"date,close\n2020-01-02,abc\n",
    "names.csv": b"date,AAA,AAA\n2020-01-02,1,2\n",
    "fundamentals.csv": b"date,ticker,eps\n2020-01-02,AAA,1.5\n",
    "sectors.csv": b"ticker,sector\nAAA,energy\n",
    "thousands.csv": b'date,close\n2020-01-02,"1,234.5"\n',
    "old.csv": b"date,close\n1066-10-14,1\n",
    "no-dates.csv": b"a,b,c\n1,2,3\n",
    "cut.parquet": b"PAR1",
    "fake.parquet": b"date,close\n2020-01-02,1\n",
    "fake.csv.gz": b"date,close\n2020-01-02,1\n",
    "\u202eevil.csv": b"date,close\n2020-01-02,1\n",
}


@pytest.mark.parametrize("name", BAD)
def test_what_cannot_be_read_is_left_out_and_does_no_harm(tmp_path, name):
    (tmp_path / name).write_bytes(BAD[name])
    try:
        market = market_in(tmp_path)
    except MarketError:
        market = None
    assert market is None or described(market)["tickers"] == 0
    (tmp_path / "good.csv").write_text("date,AAA,BBB\n2020-01-02,1.5,2.5\n")
    assert prices(market_in(tmp_path), tickers="AAA")["rows"] == [("2020-01-02", 1.5)]


def test_links_pipes_and_hidden_files_are_not_followed(tmp_path):
    secret = tmp_path / "secret.csv"
    secret.write_text("date,SECRET,X\n2020-01-02,1,2\n")
    here = tmp_path / "here"
    here.mkdir()
    (here / "link.csv").symlink_to(secret)
    (here / "folder").symlink_to(tmp_path)
    os.mkfifo(here / "pipe.csv")
    (here / ".hidden.csv").write_text(secret.read_text())
    with pytest.raises(MarketError, match="no file of prices"):
        market_in(here)


def test_sizes_are_bounded(tmp_path, monkeypatch):
    wide(tmp_path, ".csv.gz")
    wide(tmp_path, ".parquet")
    single(tmp_path)
    monkeypatch.setattr(reading, "MAX_CELLS", 10)
    assert described(market_in(tmp_path))["tickers"] == 0
    monkeypatch.undo()
    monkeypatch.setattr(reading, "MAX_COLUMNS", 1)
    with pytest.raises(MarketError):
        market_in(tmp_path)
    monkeypatch.undo()
    monkeypatch.setattr(folder, "MAX_FILES", 3)
    with pytest.raises(MarketError, match="more than 3 files"):
        market_in(tmp_path)
    monkeypatch.undo()
    monkeypatch.setattr(folder, "MAX_HELD", 10)
    with pytest.raises(MarketError, match="more than 10 values"):
        tickers(market_in(tmp_path))


def test_single_files_are_held_only_as_long_as_there_is_room(tmp_path, monkeypatch):
    monkeypatch.setattr(folder, "MAX_HELD", 40)
    market = market_in(single(tmp_path))
    for _ in range(2):
        assert len(tickers(market)["rows"]) == 3
        assert len(market.prices._held) < 3


def test_a_packed_file_does_not_unpack_without_end(tmp_path, monkeypatch):
    import gzip

    monkeypatch.setattr(reading, "MAX_BYTES", 5 * 2**20)
    lines = b"date,close\n" + b"".join(b"2020-01-02,1\n" for _ in range(500_000))
    (tmp_path / "AAA.csv.gz").write_bytes(gzip.compress(lines))
    pq.write_table(
        pa.table({"date": np.repeat(DAYS[:1], 10**6), "close": np.random.default_rng(1).random(10**6)}), tmp_path / "BBB.parquet"
    )
    market, left = folder_market(tmp_path)
    assert described(market)["tickers"] == 0
    assert len(left) + len(market.prices.left) == 2


def test_no_folder_is_one_clear_error(tmp_path):
    with pytest.raises(MarketError, match="cannot be read"):
        market_in(tmp_path / "missing")
    with pytest.raises(MarketError, match="no file of prices"):
        market_in(tmp_path)
