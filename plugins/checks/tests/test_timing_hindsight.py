"""3.1 on what only became known later: members, announcements, restated figures; and honest look-alikes that must stay clean."""

import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

sys.path.insert(0, str(Path(__file__).parent))
from backtest_faults import Files, package_of, really_spoiled, simulated, spoiled, told, verdict, weights_files

from finassay.api.verdict import Scored
from finassay_checks.audit.timing import announcement_findings
from finassay_checks.checks.backtest_timing import PointInTimeCorrectness

TICKERS = ("AAPL", "AMD", "BAC", "CVX", "GE", "HD", "JNJ", "KO")


def level_of(tmp_path: Path, files: Files) -> Scored:
    return verdict(PointInTimeCorrectness, package_of(tmp_path, files))


def members(**starts: str) -> pd.DataFrame:
    """A dated universe of all names since 2000; `starts` are those that joined later."""
    names = sorted(set(simulated().prices["ticker"]))
    return pd.DataFrame({"ticker": names, "date_added": [starts.get(n, "2000-01-03") for n in names], "date_removed": None})


def with_universe(table: pd.DataFrame) -> object:
    def fault(files: Files) -> None:
        files["data/universe.csv"] = table

    return fault


def test_names_bought_before_they_were_members_are_level_one(tmp_path: Path) -> None:
    bought = simulated().trades.query("shares > 0" if "shares" in simulated().trades else "side == 'BUY'")
    name = str(bought["ticker"].value_counts().index[0])
    found = verdict(PointInTimeCorrectness, really_spoiled(tmp_path, with_universe(members(**{name: "2016-12-01"}))))  # type: ignore[arg-type]
    assert found.level == 1
    assert int(str(found.facts["bought_before_membership"])) > 0
    assert f"{name} bought" in told(found)
    assert "member 2016-12-01" in told(found)


def test_members_of_all_the_years_change_nothing(tmp_path: Path) -> None:
    found = verdict(PointInTimeCorrectness, really_spoiled(tmp_path, with_universe(members())))  # type: ignore[arg-type]
    assert found.level == 4
    assert "bought_before_membership" not in found.facts


def test_a_removed_name_is_shown_and_is_no_look_ahead(tmp_path: Path) -> None:
    bought = simulated().trades
    name = str(bought["ticker"].value_counts().index[0])
    table = members()
    table.loc[table["ticker"] == name, "date_removed"] = "2014-01-02"
    found = verdict(PointInTimeCorrectness, really_spoiled(tmp_path, with_universe(table)))  # type: ignore[arg-type]
    assert found.level == 4
    assert int(str(found.facts["bought_after_removal"])) > 0


@pytest.mark.parametrize(("start", "level"), [("2015-06-01", 1), ("2000-01-03", 2)])
def test_weights_before_membership_count_as_purchases(tmp_path: Path, start: str, level: int) -> None:
    found = level_of(tmp_path, weights_files() | {"universe.csv": members(AAPL=start)})
    assert found.level == level


def entries(period: str = "fiscal_period_end", times: bool = False) -> Files:
    stamps = ["2023-05-04 07:00", "2023-04-26 07:00"] if times else ["2023-05-04", "2023-04-26"]
    return {
        "fundamentals.csv": pd.DataFrame(
            {"ticker": ["AAB", "AAC"], "fiscal_period_end": ["2023-03-31"] * 2, "announced": stamps, "eps": [1.12, 0.44]}
        ),
        "trades.csv": pd.DataFrame(
            {
                "signal_date": ["2023-05-02", "2023-04-25"],
                "fill_date": ["2023-05-03", "2023-04-26"],
                "ticker": ["AAB", "AAC"],
                "side": ["BUY"] * 2,
                "shares": [10, 10],
                "price": [41.2, 18.9],
                period: ["2023-03-31"] * 2,
            }
        ),
    }


def test_entries_before_their_announcement_are_level_one_with_both_rows(tmp_path: Path) -> None:
    found = level_of(tmp_path, entries())
    assert found.level == 1
    assert found.facts["entered_before_announcement"] == 1
    assert found.facts["entered_on_announcement_day"] == 1
    assert "row 1: AAB entered 2023-05-03, announced 2023-05-04 (row 1 of fundamentals.csv)" in told(found)


def test_an_announcement_before_the_open_is_in_order(tmp_path: Path) -> None:
    assert "entered_on_announcement_day" not in level_of(tmp_path, entries(times=True)).facts


def filings(restate: bool = True) -> pd.DataFrame:
    """Quarterly figures 2012 to 2016, announced 40 days after the quarter; every third is restated 150 days later."""
    random = np.random.default_rng(5)
    rows = []
    for ticker in TICKERS:
        for number, end in enumerate(pd.date_range("2012-03-31", "2016-09-30", freq="QE")):
            value = round(float(random.normal(2, 0.7)), 3)
            rows.append((ticker, end, end + pd.Timedelta(days=40), value))
            if restate and (number + len(ticker)) % 3 == 0:
                rows.append((ticker, end, end + pd.Timedelta(days=150), round(value * float(random.uniform(0.6, 1.4)), 3)))
    return pd.DataFrame(rows, columns=["ticker", "fiscal_period_end", "announced", "eps"])


def scored(table: pd.DataFrame, sight: str, over_price: bool = False, periods: int = 1) -> pd.DataFrame:
    """Monthly scores of the latest figures under a sight, computed by plain loops."""
    closes = simulated().prices.pivot(index="date", columns="ticker", values="close")
    rows = []
    for day in closes.resample("ME").last().index:
        at = closes.index[closes.index <= day][-1]
        for ticker in TICKERS:
            own = table[table["ticker"] == ticker].sort_values(["fiscal_period_end", "announced"])
            if sight == "restated":
                first = own.groupby("fiscal_period_end")["announced"].min()
                own = own.groupby("fiscal_period_end").last().drop(columns="announced").join(first).reset_index()
            if sight == "period":
                own = own.assign(announced=own["fiscal_period_end"]).groupby("fiscal_period_end").last().reset_index()
            seen = own[own["announced"] < at] if sight == "before" else own[own["announced"] <= at]
            last = seen.groupby("fiscal_period_end")["eps"].last()
            if len(last) >= periods:
                value = last.iloc[-periods:].sum() / (closes.loc[at, ticker] if over_price else 1.0)
                rows.append((at, ticker, value))
    return pd.DataFrame(rows, columns=["date", "ticker", "score"])


def of_filings(table: pd.DataFrame, scores: pd.DataFrame) -> Files:
    weights = scores.assign(weight=1 / len(TICKERS)).drop(columns="score")
    return {"prices.csv": simulated().prices, "fundamentals.csv": table, "signals.csv": scores, "weights.csv": weights}


@pytest.mark.parametrize(
    ("sight", "fact", "form"),
    [
        ("known", "", (False, 1)),
        ("known", "", (True, 4)),
        ("before", "", (True, 1)),
        ("restated", "restated_early", (False, 1)),
        ("restated", "restated_early", (True, 4)),
        ("period", "used_from_period_end", (True, 1)),
    ],
)
def test_the_version_of_the_figures_that_a_score_used(tmp_path: Path, sight: str, fact: str, form: tuple[bool, int]) -> None:
    table = filings()
    found = level_of(tmp_path, of_filings(table, scored(table, sight, *form)))
    assert found.level == (1 if fact else 2), found.reason
    if fact:
        assert int(str(found.facts[fact])) > 0
        assert "holds a value announced" in told(found)
    else:
        assert "as it was known on each date" in told(found)


@pytest.mark.parametrize(("sight", "level"), [("known", 2), ("restated", 1)])
def test_a_ratio_of_two_columns(tmp_path: Path, sight: str, level: int) -> None:
    table = filings()
    sizes = {
        (t, e): 1 + 0.1 * i for i, (t, e) in enumerate(table[["ticker", "fiscal_period_end"]].drop_duplicates().itertuples(index=False))
    }
    table["assets"] = [sizes[t, e] for t, e in zip(table["ticker"], table["fiscal_period_end"], strict=True)]
    scores = scored(table.assign(eps=table["eps"] / table["assets"]), sight)
    assert level_of(tmp_path, of_filings(table, scores)).level == level


@pytest.mark.parametrize(("sight", "level"), [("known", 2), ("restated", 1)])
def test_restated_values_in_columns_of_their_own(tmp_path: Path, sight: str, level: int) -> None:
    table = filings()
    keys = ["ticker", "fiscal_period_end"]
    first = table.drop_duplicates(keys)
    again = table[table.duplicated(keys)].rename(columns={"announced": "restated_on", "eps": "eps_restated"})
    wide = first.merge(again, on=keys, how="left")
    found = level_of(tmp_path, of_filings(wide, scored(table, sight)))
    assert found.level == level, told(found)


def test_scores_of_another_kind_leave_restatements_untold(tmp_path: Path) -> None:
    table = filings()
    scores = scored(table, "known")
    scores["score"] = np.random.default_rng(1).normal(size=len(scores))
    found = level_of(tmp_path, of_filings(table, scores))
    assert found.level == 2
    assert "cannot be told" in told(found)


def test_figures_without_restatements_that_follow_the_announcements_are_clean(tmp_path: Path) -> None:
    table = filings(restate=False)
    found = level_of(tmp_path, of_filings(table, scored(table, "known")))
    assert found.level == 2
    assert "cannot be told" not in told(found)


def test_the_clean_delivery_stays_clean(tmp_path: Path) -> None:
    assert verdict(PointInTimeCorrectness, spoiled(tmp_path)).level == 4


@pytest.mark.parametrize(("sight", "checks"), [("known", set()), ("restated", {"restated_before_it_was_public"})])
def test_the_audit_names_the_version_as_well(tmp_path: Path, sight: str, checks: set[str]) -> None:
    table = filings()
    found = list(announcement_findings(package_of(tmp_path, of_filings(table, scored(table, sight)))))
    assert {f.check for f in found} == checks
