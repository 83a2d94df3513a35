"""Dimensions 1.1, 1.4, 3.3 and the bound of 5.4 on clean deliveries and on planted faults."""

import json
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from attrs import evolve

from finassay.api.delivery import LogEvent, Package, RunResult
from finassay.api.verdict import Scored
from finassay_checks.checks.data_core_metrics import CoreMetricsReported
from finassay_checks.checks.data_point_in_time import PointInTimeStrictness
from finassay_checks.checks.data_quality import DeliveredDataQuality
from finassay_checks.checks.data_stated_basis import StatedBasis
from finassay_checks.facts.late_rows import late_rows
from finassay_checks.facts.late_use import late_use
from finassay_checks.facts.prices_in_use import price_quality
from finassay_checks.facts.quality import Quality, quality_of
from finassay_checks.options import NoOptions
from finassay_checks.reruns.harness import CONFIG

from .deliveries import Bytes, clean_delivery, make_package, make_task, report_text, sessions, simulate

CHECKS = (PointInTimeStrictness, DeliveredDataQuality, CoreMetricsReported, StatedBasis)


def grade(check: type, package: Package) -> Scored:
    verdict = check(NoOptions()).run(package, {})
    assert isinstance(verdict, Scored)
    return verdict


@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize("seed", [1])
def test_a_clean_delivery_has_the_highest_level(tmp_path: Path, check: type, seed: int) -> None:
    verdict = grade(check, make_package(tmp_path, clean_delivery(seed)))
    assert verdict.level == 4, verdict.reason


@pytest.mark.parametrize("check", CHECKS)
def test_nothing_delivered_is_no_pass(tmp_path: Path, check: type) -> None:
    assert grade(check, make_package(tmp_path, {}, messages=("Go.", "I need more time."))).level == 0


def late_price_rows(count: int) -> dict[str, Bytes]:
    clean = clean_delivery(0)
    prices = clean["data/prices.csv"]
    assert isinstance(prices, pd.DataFrame)
    extra = pd.DataFrame({"date": pd.to_datetime("2017-01-03") + pd.to_timedelta(np.arange(count), "D"), "ticker": "AAPL", "close": 100.0})
    return clean | {"data/prices.csv": pd.concat([prices, extra])}


@pytest.mark.parametrize(("count", "level"), [(1, 3), (2, 2), (90, 2), (120, 1)])
def test_rows_after_the_cutoff(tmp_path: Path, count: int, level: int) -> None:
    package = make_package(tmp_path, late_price_rows(count))
    found = package.fact(late_rows)
    assert found.late == count
    verdict = grade(PointInTimeStrictness, package)
    assert verdict.level == level
    assert verdict.evidence[0].where == "data/prices.csv"
    assert "2017-01-03" in verdict.evidence[0].rows[0]


def test_late_rows_of_an_earlier_turn_count(tmp_path: Path) -> None:
    package = make_package(tmp_path, [late_price_rows(3), clean_delivery(0)], messages=("a", "b", "c", "d"))
    found = package.fact(late_rows)
    assert found.late == 3
    assert found.tables[0].turn == 1
    assert grade(PointInTimeStrictness, package).level == 2


def test_equal_tables_count_once(tmp_path: Path) -> None:
    clean = clean_delivery(0)
    once = make_package(tmp_path / "a", clean).fact(late_rows)
    twice = make_package(
        tmp_path / "b", [clean, clean | {"copy/prices.csv": clean["data/prices.csv"]}], messages=("a", "b", "c", "d")
    ).fact(late_rows)
    assert once.dated == twice.dated


@pytest.mark.parametrize(
    ("name", "content", "late"),
    [
        ("news.csv", "date,headline\n2016-12-29,before\n2017-01-05,after\n", 1),
        (
            "fundamentals.csv",
            "ticker,period_end,announced,eps\nAAPL,2016-09-30,2016-10-25,1.2\nAAPL,2016-12-31,2017-01-31,1.3\nKO,2016-12-31,,0.4\n",
            2,
        ),
        ("universe.csv", "ticker,retrieved_at\nAAPL,2026-01-05\nKO,2026-01-05\nGE,2026-01-05\n", 0),
        ("ratios.csv", "ticker,market_cap,retrieved_at\nAAPL,600.5,2026-01-05\nKO,180.2,2026-01-05\n", 2),
        ("sources.csv", "series,source,url,retrieved\nprices,package,x,2026-01-05\nindex,package,y,2026-01-05\n", 0),
        ("plan.csv", "decision_date,fill_date,ticker,target_weight\n2016-11-30,2016-12-01,AAPL,1.0\n2016-12-30,2017-01-03,KO,1.0\n", 0),
        ("fills.csv", "fill_date,ticker,side,shares,price\n2016-12-29,AAPL,BUY,1,10\n2017-01-03,AAPL,SELL,1,10\n", 1),
    ],
)
def test_data_dates(tmp_path: Path, name: str, content: str, late: int) -> None:
    found = make_package(tmp_path, clean_delivery(0) | {name: content}).fact(late_rows)
    assert found.late == late, found.tables


def test_period_labels_that_hold_the_cutoff(tmp_path: Path) -> None:
    made = simulate(0)
    curve = made.equity.set_index("date")["equity"]
    cutoff = date(2016, 6, 30)
    curve = curve[curve.index <= pd.Timestamp(cutoff)]
    years = curve.resample("YE").last().pct_change()
    right = pd.DataFrame({"year": [2014, 2015, 2016], "return": [years.iloc[1], years.iloc[2], years.iloc[3]]})
    equity = made.equity[made.equity["date"] <= pd.Timestamp(cutoff)]
    task = make_task(cutoff=cutoff)
    assert make_package(tmp_path / "a", {"equity.csv": equity, "by_year.csv": right}, task=task).fact(late_rows).late == 0
    whole = right.assign(**{"return": [0.1, 0.2, 0.7]})
    assert make_package(tmp_path / "b", {"equity.csv": equity, "by_year.csv": whole}, task=task).fact(late_rows).late == 1
    later = pd.concat([right, pd.DataFrame({"year": [2017], "return": [0.1]})])
    assert make_package(tmp_path / "c", {"equity.csv": equity, "by_year.csv": later}, task=task).fact(late_rows).late == 1


def test_month_end_labels_at_the_last_session_are_not_late(tmp_path: Path) -> None:
    equity = simulate(0).equity.set_index("date")["equity"]
    monthly = equity.resample("ME").last().reset_index()
    assert str(monthly["date"].iloc[-1].date()) == "2016-12-31"
    assert make_package(tmp_path, clean_delivery(0) | {"monthly.csv": monthly}).fact(late_rows).late == 0


def test_a_logged_late_result_in_the_report(tmp_path: Path) -> None:
    clean = clean_delivery(0)
    report = clean["REPORT.md"]
    assert isinstance(report, str)
    log = (
        LogEvent(1, "tool-call", {"id": "1", "name": "python", "input": "x"}),
        LogEvent(1, "tool-result", {"id": "1", "output": "2017-06-30 AAPL 143.73", "exit_code": 0}),
    )
    package = make_package(
        tmp_path, clean | {"REPORT.md": report + "\nBy 2017-06-30 it stood at 143.73, which confirms the choice.\n"}, log=log
    )
    assert package.fact(late_use).found
    assert grade(PointInTimeStrictness, package).level == 3
    assert not make_package(tmp_path / "b", clean, log=log).fact(late_use).found


class FakeRunner:
    """Writes `whole` where the script runs on the data as they are, `cut` where the data is cut."""

    def __init__(self, folder: Path, whole: bytes, cut: bytes) -> None:
        self.folder, self.whole, self.cut = folder, whole, cut
        self.seen: list[str] = []

    def run(self, files: Mapping[str, Path], argv: tuple[str, ...], *, seconds: float) -> RunResult:
        config = json.loads(files[CONFIG].read_text()) if CONFIG in files else {}
        self.seen.append("perturbed" if "after" in config else "cut" if "cut" in config else "as it is")
        target = self.folder / f"out{len(self.seen)}"
        target.write_bytes(self.cut if self.seen[-1] == "cut" else self.whole)
        return RunResult(0, "", "", 1.0, {"results/trades.csv": target})


@pytest.mark.parametrize("differs", [True, False])
def test_code_that_needs_data_after_the_cutoff(tmp_path: Path, differs: bool) -> None:
    clean = clean_delivery(0)
    trades = clean["results/trades.csv"]
    assert isinstance(trades, pd.DataFrame)
    whole, other = trades.to_csv(index=False).encode(), trades.assign(price=1.0).to_csv(index=False).encode()
    files = clean | {"code/backtest.py": "from somewhere.datasets import load_prices\n"}
    runner = FakeRunner(tmp_path, whole, other if differs else whole)
    package = evolve(make_package(tmp_path, files), runner=runner, facts={})
    used = package.fact(late_use)
    assert used.found is differs
    assert runner.seen[0] == "as it is"
    assert runner.seen.count("cut") == 1
    assert grade(PointInTimeStrictness, package).level == (3 if differs else 4)


def test_code_that_reads_delivered_files_is_not_run_on_cut_data(tmp_path: Path) -> None:
    clean = clean_delivery(0)
    trades = clean["results/trades.csv"]
    assert isinstance(trades, pd.DataFrame)
    runner = FakeRunner(tmp_path, trades.to_csv(index=False).encode(), b"")
    package = evolve(make_package(tmp_path, clean | {"code/backtest.py": "import pandas as pd\nprint(1)\n"}), runner=runner, facts={})
    used = package.fact(late_use)
    assert not used.found
    assert "the delivered rows tell" in used.status
    assert "cut" not in runner.seen


def spoiled(edit: str) -> pd.DataFrame:
    """The clean price table with one kind of fault planted well beyond its limit."""
    prices = simulate(0).prices.reset_index(drop=True)
    days = sorted(prices["date"].unique())
    if edit == "m":
        prices.loc[prices.index[200:400], "close"] = np.nan
    elif edit == "g":
        prices = prices[~((prices["ticker"] == "KO") & prices["date"].isin(days[300:420]))]
    elif edit == "u":
        prices = pd.concat([prices, prices.iloc[[500]]])
    elif edit == "s":
        ko = prices.index[prices["ticker"] == "KO"]
        prices.loc[ko[100:160], "close"] = 12.0
    elif edit == "o":
        ko = prices.index[prices["ticker"] == "KO"]
        prices.loc[ko[50:950:60], "close"] *= 3
    return prices


@pytest.mark.parametrize("edit", ["m", "g", "u", "s", "o"])
def test_planted_data_faults(tmp_path: Path, edit: str) -> None:
    package = make_package(tmp_path, clean_delivery(0) | {"data/prices.csv": spoiled(edit)})
    (quality,) = package.fact(price_quality).values()
    assert set("mguso") - set(quality.kept) == {edit}
    verdict = grade(DeliveredDataQuality, package)
    assert verdict.level == 3
    if edit not in "mu":
        assert quality.worst[edit][0] == "KO"


def test_levels_follow_the_number_of_limits_kept(tmp_path: Path) -> None:
    prices = spoiled("s")
    prices = pd.concat([prices, prices.iloc[[3]]], ignore_index=True)
    assert grade(DeliveredDataQuality, make_package(tmp_path / "a", {"prices.csv": prices})).level == 2
    prices = prices[~((prices["ticker"] == "GE") & prices["date"].between("2014-01-01", "2015-01-01"))]
    prices.loc[(prices["ticker"] == "KO") & (prices["close"] != 12.0) & (prices["date"].dt.day == 7), "close"] *= 4
    assert grade(DeliveredDataQuality, make_package(tmp_path / "b", {"prices.csv": prices})).level == 1


def frame(closes: Sequence[float], **extra: Sequence[float]) -> pd.DataFrame:
    days = sessions()[: len(closes)]
    columns = {name: extra.get(name, [np.nan] * len(closes)) for name in ("open", "high", "low", "adj_close", "volume")}
    return pd.DataFrame({"date": days, "ticker": "AAPL", "close": closes, **columns, "row": range(1, len(closes) + 1)})


def quality(closes: Sequence[float], **extra: Sequence[float]) -> Quality:
    return quality_of(frame(closes, **extra), "XNYS")


def test_stale_counts_repeats_after_the_first_close_of_runs_of_five() -> None:
    assert quality([1, 2, 2, 2, 2, 3]).counts["s"] == 0
    assert quality([1, 2, 2, 2, 2, 2, 3]).counts["s"] == 4
    assert quality([5.0] * 10).counts["s"] == 9


def test_jumps_with_and_without_an_explanation() -> None:
    split = [100.0, 101, 102, 51, 51.5, 52]
    assert quality(split).counts["o"] == 0, "a half is no move beyond 50 %"
    crash = [100.0, 101, 102, 40, 41, 42]
    assert quality(crash).counts["o"] == 1
    assert quality(crash, volume=[1e6, 1e6, 1e6, 9e6, 2e6, 2e6]).counts["o"] == 0
    assert quality(crash, adj_close=[39, 39.4, 39.8, 40, 41, 42]).counts["o"] == 0
    assert quality(crash, open=[100, 101, 102, 42, 41, 42]).counts["o"] == 0
    spike = [100.0, 101, 140, 101, 102, 103]
    assert quality(spike).counts["o"] == 1
    assert quality(spike).listed["o"] == ("2013-01-04 AAPL",)


def test_a_day_missing_for_everyone_is_a_note() -> None:
    prices = simulate(0).prices
    canonical = prices.assign(open=np.nan, high=np.nan, low=np.nan, adj_close=np.nan, volume=np.nan)
    one = quality_of(canonical[canonical["date"] != pd.Timestamp("2014-05-06")], "XNYS")
    assert one.counts["g"] == 0
    assert any("2014-05-06" in note for note in one.notes)
    month = quality_of(canonical[~canonical["date"].between("2014-05-01", "2014-06-30")], "XNYS")
    assert month.shares["g"] > 0.01


def test_gaps_before_the_first_and_after_the_last_date_are_none() -> None:
    prices = simulate(0).prices
    canonical = prices.assign(open=np.nan, high=np.nan, low=np.nan, adj_close=np.nan, volume=np.nan)
    late_starter = canonical[~((canonical["ticker"] == "KO") & (canonical["date"] < "2014-01-01"))]
    assert quality_of(late_starter, "XNYS").counts["g"] == 0


def with_report(tmp_path: Path, text: str) -> Package:
    return make_package(tmp_path, {"REPORT.md": text + "\n" + "Further words that say nothing about figures. " * 5})


@pytest.mark.parametrize(
    ("text", "level"),
    [
        ("# Summary\n\nIt went well.", 0),
        ("# Summary\n\nThe Sharpe ratio is 1.02.", 1),
        ("# Summary\n\nSharpe 1.02, max drawdown -23%.", 1),
        ("# Summary\n\nIt returned 11.1% a year, Sharpe 1.02, max drawdown -23%.", 2),
        ("# Summary\n\nIt returned 11.1% a year, Sharpe 1.02, max drawdown -23%, 1,913 trades.", 3),
        (
            "# Summary\n\nFrom 2013-01-02 to 2016-12-30 it returned 11.1% a year net of costs, Sharpe 1.02, max drawdown -23%, 1,913 trades, 10.9% vol, win rate 54%.",
            4,
        ),
    ],
)
def test_core_metrics(tmp_path: Path, text: str, level: int) -> None:
    assert grade(CoreMetricsReported, with_report(tmp_path, text)).level == level


def test_bound_is_the_share_that_states_its_basis(tmp_path: Path) -> None:
    bare = "# Summary\n\nIt returned 11.1% a year, Sharpe 1.02, max drawdown -23%, 1,913 trades."
    verdict = grade(StatedBasis, with_report(tmp_path / "a", bare))
    assert verdict.level == 0
    assert any("gross or net" in e.text for e in verdict.evidence)
    dated = "# Summary\n\nFrom 2013-01-02 to 2016-12-30 it made 1,913 trades (fills) with a turnover of 300% a year. Sharpe 1.02, max drawdown -23%."
    assert grade(StatedBasis, with_report(tmp_path / "b", dated)).level == 2
    brief = StatedBasis(NoOptions()).brief(with_report(tmp_path / "b", dated))
    assert set(brief.facts["metrics_without_basis"]) == {"sharpe", "max_drawdown"}


def test_evidence_quotes_stand_in_the_report(tmp_path: Path) -> None:
    from finassay.api.matching import contains_quote

    package = make_package(tmp_path, clean_delivery(0))
    text = report_text(simulate(0))
    quotes = [e.text for e in grade(CoreMetricsReported, package).evidence if e.kind.value == "quote"]
    assert quotes
    assert all(contains_quote(quote, text) for quote in quotes)


@pytest.mark.parametrize("hole", ["NaN", "inf", "-inf", "N/A"])
def test_holes_written_out_leave_a_price_table_one(tmp_path: Path, hole: str) -> None:
    """A second, tiny and clean table must not take the place of the one with holes."""
    days = pd.bdate_range("2016-01-04", periods=50).strftime("%Y-%m-%d")
    rows = [f"{day},AAPL,{hole if number % 5 == 0 else 20 + number / 10}" for number, day in enumerate(days)]
    files = {
        "data/prices.csv": "date,ticker,close\n" + "\n".join(rows) + "\n",
        "data/tiny.csv": "date,ticker,close\n2016-01-04,KO,42\n2016-01-05,KO,42.5\n",
    }
    package = make_package(tmp_path, [files])
    verdict = DeliveredDataQuality(NoOptions()).run(package, {})
    assert isinstance(verdict, Scored)
    assert verdict.level < 4, verdict.reason


def test_a_close_below_zero_is_an_outlier() -> None:
    frame = pd.DataFrame({"date": pd.bdate_range("2016-01-04", periods=20), "ticker": "AAPL", "close": [20.0 + n / 10 for n in range(20)]})
    for name in ("open", "high", "low", "adj_close", "volume"):
        frame[name] = float("nan")
    frame.loc[7, "close"] = -5.0
    assert quality_of(frame, "XNYS").counts["o"] >= 1
