"""3.7: each of the ten checks fails on its own planted fault, and the levels count them."""

import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from attrs import evolve

sys.path.insert(0, str(Path(__file__).parent))
from backtest_faults import (
    Fault,
    Files,
    add,
    clean_files,
    deliveries,
    drop,
    drop_trades,
    no_fees,
    package_of,
    say,
    shift_equity,
    simulated,
    spoiled,
    told,
    uncharged_fees,
    verdict,
)

from finassay_checks.checks.backtest_audit import VerifierAudit
from finassay_checks.delivered import read_delivery
from finassay_checks.model import Choice
from finassay_checks.recompute.audit import longest_run

M = simulated().metrics
COUNT = int(M["trades"])
TRADES, EQUITY, POSITIONS = "results/trades.csv", "results/equity.csv", "results/positions.csv"


def outcomes(tmp_path: Path, *faults: Fault) -> dict[str, str]:
    found = verdict(VerifierAudit, spoiled(tmp_path, *faults))
    return dict(found.facts["outcomes"])


def test_a_clean_delivery_passes_all_ten(tmp_path: Path) -> None:
    found = verdict(VerifierAudit, spoiled(tmp_path))
    assert found.level == 4
    assert set(found.facts["outcomes"].values()) == {"pass"}
    assert found.unverified == ()


def unknown_ticker(files: Files) -> None:
    files["data/prices.csv"] = files["data/prices.csv"][files["data/prices.csv"]["ticker"] != "KO"]


def price_outside(files: Files) -> None:
    trades = files[TRADES]
    rows = trades.index[::20]
    trades.loc[rows, "price"] *= 1.03
    trades["value"] = trades["shares"] * trades["price"]


def short_position(files: Files) -> None:
    """A name sold that was not held, and bought back ten sessions later."""
    held = files.pop(POSITIONS).set_index("date")
    closes = simulated().prices.set_index(["date", "ticker"])["close"]
    at = next(i for i in range(300, 500) if (held["KO"].iloc[i - 1 : i + 12] == 0).all())
    extra = [
        {"trade_id": 9000 + i, "signal_date": held.index[i - 1], "fill_date": held.index[i], "ticker": "KO", "side": side, "shares": 500.0,
         "price": closes[(held.index[i], "KO")], "fee": 0.0, "reason": "hedge", "decided_by": 0.1}
        for i, side in ((at, "SELL"), (at + 10, "BUY"))
    ]  # fmt: skip
    files[TRADES] = pd.concat([files[TRADES], pd.DataFrame(extra)], ignore_index=True)
    files[EQUITY] = files[EQUITY].drop(columns="cash")


def negative_cash(files: Files) -> None:
    equity = files[EQUITY]
    equity.loc[equity.index[300:310], "cash"] = -0.02 * equity["equity"].iloc[300]


def weights_above_one(files: Files) -> None:
    files["results/target_weights.csv"]["target_weight"] *= 1.5


def twice_a_month(files: Files) -> None:
    """A tenth of the fills a second time, in the middle of the month."""
    trades = files[TRADES]
    extra = trades.iloc[10::4].copy()
    middle = pd.DatetimeIndex(extra["fill_date"]) + pd.offsets.BDay(9)
    closes = simulated().prices.set_index(["date", "ticker"])["close"]
    days = closes.index.get_level_values(0).unique()
    snapped = days[np.minimum(days.searchsorted(middle), len(days) - 1)]
    extra["fill_date"], extra["signal_date"] = snapped, snapped - pd.offsets.BDay(1)
    extra["price"] = [closes[key] for key in zip(snapped, extra["ticker"], strict=True)]
    files[TRADES] = pd.concat([trades, extra], ignore_index=True)


def longer_period(files: Files) -> None:
    first = str(simulated().equity["date"].iloc[0].date())
    files["REPORT.md"] = files["REPORT.md"].replace(first, "2005-01-03")


FAULTS: dict[str, tuple[Fault, ...]] = {
    "a": (unknown_ticker,),
    "b": (price_outside,),
    "c": (short_position,),
    "d": (negative_cash,),
    "e": (weights_above_one,),
    "f": (shift_equity(1.02, 500),),
    "g": (say(f"{COUNT} trades", f"{COUNT + 40} trades"), say(f"| {COUNT} |", f"| {COUNT + 40} |")),
    "h": (twice_a_month,),
    "i": (say(f"${M['fees']:,.2f}", f"${M['fees'] / 2:,.2f}"),),
    "j": (longer_period,),
}


@pytest.mark.parametrize("letter", FAULTS)
def test_each_check_finds_its_fault(tmp_path: Path, letter: str) -> None:
    assert outcomes(tmp_path, *FAULTS[letter])[letter] == "fail"


@pytest.mark.parametrize(
    ("faults", "expected"),
    [
        (FAULTS["g"], 3),
        ((*FAULTS["g"], *FAULTS["j"]), 2),
        ((*FAULTS["g"], *FAULTS["j"], *FAULTS["e"]), 1),
        ((*FAULTS["g"], *FAULTS["j"], *FAULTS["e"], *FAULTS["i"]), 1),
    ],
)
def test_levels_count_failures(tmp_path: Path, faults: tuple[Fault, ...], expected: int) -> None:
    assert verdict(VerifierAudit, spoiled(tmp_path, *faults)).level == expected


def test_several_checks_that_want_the_prices_count_once(tmp_path: Path) -> None:
    found = verdict(VerifierAudit, spoiled(tmp_path, drop("data/prices.csv")))
    assert {k for k, v in found.facts["outcomes"].items() if v == "unverifiable"} == {"a", "b", "f"}
    assert found.level == 3
    assert found.unverified == ()


def test_fewer_than_five_runnable_checks_are_level_zero(tmp_path: Path) -> None:
    found = verdict(VerifierAudit, package_of(tmp_path, {"REPORT.md": clean_files()["REPORT.md"]}))
    assert found.level == 0


def test_no_reported_count_fails(tmp_path: Path) -> None:
    silent = (
        say(f" over {COUNT} trades (fills in `results/trades.csv`)", ""),
        say(f"| Number of trades | {COUNT} |\n", ""),
        drop("results/metrics.csv"),
    )
    assert outcomes(tmp_path, *silent)["g"] == "fail"


def test_fees_that_are_never_charged_are_found_in_the_cash(tmp_path: Path) -> None:
    found = verdict(VerifierAudit, spoiled(tmp_path, uncharged_fees))
    assert found.facts["outcomes"]["d"] == "fail"
    assert "never taken from cash" in told(found)


def test_a_stated_rate_without_fees_fails(tmp_path: Path) -> None:
    without = (no_fees, say(f"| Total fees | ${M['fees']:,.2f} |\n", ""), drop("results/metrics.csv"))
    assert outcomes(tmp_path, *without)["i"] == "fail"


def test_dropped_trades_break_cash_and_positions(tmp_path: Path) -> None:
    found = outcomes(tmp_path, drop_trades(10))
    assert found["d"] == "fail"
    assert found["g"] == "fail"


def test_costs_inside_the_fill_prices_are_costs(tmp_path: Path) -> None:
    def inside(files: Files) -> None:
        trades = files[TRADES]
        trades["price"] *= np.where(trades["side"] == "BUY", 1.001, 0.999)
        trades["fee"] = 0.0
        del files["results/metrics.csv"]

    assert outcomes(tmp_path, inside, say(f"| Total fees | ${M['fees']:,.2f} |\n", ""))["i"] == "pass"


def test_no_fees_and_none_reported_do_not_apply(tmp_path: Path) -> None:
    def free(files: Files) -> None:
        no_fees(files)
        files["REPORT.md"] = (
            files["REPORT.md"]
            .replace("| cost | 10 bp of traded value per side |\n", "")
            .replace(f"| Total fees | ${M['fees']:,.2f} |\n", "")
        )
        del files["results/metrics.csv"]

    assert outcomes(tmp_path, free)["i"] == "n/a"


def test_a_yearly_drag_is_compared_as_printed(tmp_path: Path) -> None:
    drag = 0.0083
    said = (
        say(f"| Total fees | ${M['fees']:,.2f} |\n", ""), drop("results/metrics.csv"), add(f"Costs take {drag:.2%} a year from the result."),
    )  # fmt: skip
    yearly = outcomes(tmp_path / "right", *said)["i"]
    wrong = outcomes(tmp_path / "wrong", *said[:2], add("Costs take 0.40% a year from the result."))["i"]
    assert (yearly, wrong) == ("pass", "fail")


def test_prices_that_do_not_cover_the_period_fail(tmp_path: Path) -> None:
    def late(files: Files) -> None:
        files["data/prices.csv"] = files["data/prices.csv"][files["data/prices.csv"]["date"] >= "2013-09-15"]

    assert outcomes(tmp_path, late)["j"] == "fail"


@pytest.mark.parametrize(("mark", "expected"), [([0, 1, 1, 0, 1], 2), ([0, 0], 0), ([1, 1, 1], 3)])
def test_longest_run(mark: list[int], expected: int) -> None:
    assert longest_run(np.array(mark, dtype=bool)) == expected


def test_a_check_left_open_by_several_tables_leaves_the_grading_incomplete(tmp_path: Path) -> None:
    """Two price tables that fit equally well: what needs them is nobody's verdict, and counts once."""
    clean = spoiled(tmp_path)
    read = clean.fact(read_delivery)
    candidates = read.choices["prices"].candidates
    package = evolve(clean, facts={})
    package._facts[read_delivery] = evolve(
        read, choices={**read.choices, "prices": Choice("prices", "ambiguous", None, candidates * 2, ())}
    )
    found = verdict(VerifierAudit, package)
    assert found.level == 3
    assert len(found.unverified) == 3
    assert all("audit (" in name for name in found.unverified)


def test_start_capital_and_units_do_not_matter(tmp_path: Path) -> None:
    assert deliveries.CAPITAL == 1_000_000
    assert outcomes(tmp_path, say(f"{COUNT} trades (fills in", f"{COUNT} fills (all in"))["g"] == "pass"
