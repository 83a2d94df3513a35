"""1.1: which dates are data dates. Dates in names, headers, text and stamps are none; the cutoff's own day is inside, whatever the zone."""

import sys
from datetime import date
from pathlib import Path

import pandas as pd
import pytest

sys.path.insert(0, str(Path(__file__).parent))
from backtest_faults import deliveries, verdict

from finassay_checks.checks.data_point_in_time import PointInTimeStrictness
from finassay_checks.facts.late_rows import late_rows

CUTOFF = date(2019, 12, 31)
DAYS = pd.bdate_range("2019-12-02", "2019-12-31")
TICKERS = ("AAPL", "MSFT")
Content = dict[str, bytes | str | pd.DataFrame]


def prices(stamps: list[str] | None = None, **extra: str) -> pd.DataFrame:
    """Closes of two names on `stamps`, or on the days of the month up to the cutoff."""
    dates = stamps or [str(d.date()) for d in DAYS]
    rows = [(d, t, 100.0 + i + 0.25 * n) for i, d in enumerate(dates) for n, t in enumerate(TICKERS)]
    return pd.DataFrame(rows, columns=["date", "ticker", "close"]).assign(**extra)


def late(tmp_path: Path, files: Content) -> int:
    package = deliveries.make_package(tmp_path, files, task=deliveries.make_task(CUTOFF, TICKERS))
    found = package.fact(late_rows)
    assert found.dated > 0
    scored = verdict(PointInTimeStrictness, package)
    assert scored.level == 4 if not found.late else scored.level is not None and scored.level < 4
    return int(found.late)


REPORT = """# Backtest report

Written on 2026-11-30, data retrieved 2026-11-29, next rebalance planned for 2020-01-31.

| item | value |
|---|---|
| Report date | 2026-11-30 |
| Data retrieved | 2026-11-29 |
| Last data date | 2019-12-31 |
"""


def test_a_report_of_today_has_no_late_rows(tmp_path: Path) -> None:
    assert late(tmp_path, {"REPORT.md": REPORT, "prices.csv": prices()}) == 0


@pytest.mark.parametrize(
    "name", ["prices_2024-01-31.csv", "2026-11-30/prices.csv", "prices_asof_20261130.csv", "run 2026-11-30 0915/prices.csv"]
)
def test_a_date_in_a_name_is_no_row(tmp_path: Path, name: str) -> None:
    assert late(tmp_path, {name: prices()}) == 0


@pytest.mark.parametrize(
    "head",
    [
        "# retrieved 2026-11-30\n",
        "retrieved 2026-11-30T10:00:00Z\n\n",
        "Source: a vendor, downloaded 2026-11-30,,\n",
        "Generated,2026-11-30,\nRange,2019-12-02 to 2026-11-30,\n\n",
        "# run 2026-11-30\n# cutoff 2019-12-31\n",
    ],
)
def test_a_line_above_the_header_is_no_row(tmp_path: Path, head: str) -> None:
    assert late(tmp_path, {"prices.csv": head + prices().to_csv(index=False)}) == 0


@pytest.mark.parametrize("tail", ["# retrieved 2026-11-30\n", "\nSource: a vendor, 2026-11-30\n", "Downloaded 2026-11-30,,\n"])
def test_a_line_below_the_table_is_no_row(tmp_path: Path, tail: str) -> None:
    assert late(tmp_path, {"prices.csv": prices().to_csv(index=False) + tail}) == 0


@pytest.mark.parametrize(
    "column", ["retrieved_at", "downloaded", "fetched_on", "last_updated", "created_at", "as_of", "next_earnings_date"]
)
def test_a_stamp_beside_the_date_is_no_data_date(tmp_path: Path, column: str) -> None:
    assert late(tmp_path, {"prices.csv": prices(None, **{column: "2026-11-30"})}) == 0


def test_a_stamp_in_front_of_the_date_is_no_data_date(tmp_path: Path) -> None:
    frame = prices()
    frame.insert(0, "retrieved_at", "2026-11-30")
    assert late(tmp_path, {"prices.csv": frame}) == 0


def test_sources_and_settings_are_no_rows(tmp_path: Path) -> None:
    sources = pd.DataFrame(
        {
            "source": ["a vendor", "an exchange"],
            "url": ["https://example.org/a", "https://example.org/b"],
            "retrieved": ["2026-11-29", "2026-11-30"],
        }
    )
    settings = '{"run_date": "2026-11-30", "cutoff": "2019-12-31", "generated_at": "2026-11-30T09:15:00Z", "planned_start": "2020-01-02"}'
    assert late(tmp_path, {"prices.csv": prices(), "sources.csv": sources, "config.json": settings}) == 0


def test_columns_that_are_dates_are_rows_of_their_own_kind(tmp_path: Path) -> None:
    """A table turned on its side: its dates are data dates all the same, late ones included."""
    wide = prices().pivot(index="ticker", columns="date", values="close").reset_index()
    assert late(tmp_path, {"wide.csv": wide, "prices.csv": prices()}) == 0


@pytest.mark.parametrize(
    "stamps",
    [
        ["2019-12-30T21:00:00Z", "2019-12-31T21:00:00Z"],
        ["2019-12-31T15:00:00Z", "2020-01-01T02:00:00Z"],
        ["2019-12-31T21:00Z", "2020-01-01T02:00Z"],
        ["2019-12-30T16:00:00-05:00", "2019-12-31T16:00:00-05:00"],
        ["2019-12-31T20:00:00-05:00", "2019-12-31T23:30:00-05:00"],
        ["2019-12-30 00:00:00-05:00", "2019-12-31 00:00:00-05:00"],
        ["2019-12-30T05:00:00Z", "2019-12-31T05:00:00Z"],
        ["2019-12-30T00:00:00.000Z", "2019-12-31T00:00:00.000Z"],
        ["2019-12-31 21:00:00+00:00", "2020-01-01 02:00:00+00:00"],
        ["2019-12-30 16:00:00", "2019-12-31 23:59:59"],
        ["2019-12-31T21:00:00+0000", "2020-01-01T04:59:59+0000"],
        ["20191230", "20191231"],
        ["30.12.2019", "31.12.2019"],
        ["12/30/2019", "12/31/2019"],
    ],
)
def test_the_cutoff_day_is_inside_in_the_exchange_zone(tmp_path: Path, stamps: list[str]) -> None:
    assert late(tmp_path, {"prices.csv": prices(stamps)}) == 0


@pytest.mark.parametrize(
    "stamps",
    [
        ["2019-12-31T21:00:00Z", "2020-01-02T21:00:00Z"],
        ["2019-12-31T15:00:00Z", "2020-01-01T15:00:00Z"],
        ["2019-12-31T16:00:00-05:00", "2020-01-02T09:30:00-05:00"],
        ["2019-12-31", "2020-01-01"],
        ["2019-12-31T05:00:00Z", "2020-01-02T05:00:00Z"],
        ["2019-12-31T21:00:00+0000", "2020-01-02T02:00:00+0000"],
    ],
)
def test_the_day_after_the_cutoff_is_outside(tmp_path: Path, stamps: list[str]) -> None:
    assert late(tmp_path, {"prices.csv": prices(stamps)}) == len(TICKERS)


def test_epochs_of_the_cutoff_evening_are_inside(tmp_path: Path) -> None:
    stamps = [int(pd.Timestamp(t, tz="UTC").timestamp()) for t in ("2019-12-31 20:30", "2020-01-01 02:00")]
    assert late(tmp_path, {"prices.csv": prices([str(s) for s in stamps])}) == 0


def test_a_parquet_column_with_a_zone(tmp_path: Path) -> None:
    frame = prices(["2019-12-31T15:00:00Z", "2020-01-01T02:00:00Z"])
    frame["date"] = pd.to_datetime(frame["date"], utc=True)
    assert late(tmp_path, {"prices.parquet": frame}) == 0
    frame["date"] += pd.Timedelta(hours=4)
    assert late(tmp_path / "later", {"prices.parquet": frame}) == len(TICKERS)


def test_a_late_row_is_found_among_all_these_dates(tmp_path: Path) -> None:
    frame = pd.concat([prices(retrieved_at="2026-11-30"), prices(["2020-01-02"], retrieved_at="2026-11-30")])
    assert late(tmp_path, {"REPORT.md": REPORT, "prices_2019-12-31.csv": "# retrieved 2026-11-30\n" + frame.to_csv(index=False)}) == len(
        TICKERS
    )


def test_an_undated_record_is_dated_by_its_stamp(tmp_path: Path) -> None:
    caps = pd.DataFrame({"ticker": ["AAPL", "MSFT", "KO"], "market_cap": [3.1e12, 2.9e12, 2.6e11], "retrieved_at": ["2026-11-30"] * 3})
    assert late(tmp_path, {"prices.csv": prices(), "caps.csv": caps}) == 3
