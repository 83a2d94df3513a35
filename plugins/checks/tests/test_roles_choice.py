"""Which table plays which part, which version counts, and what the headline is."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from finassay.api.delivery import DeliveredFile, Delivery
from finassay_checks.delivered import read_delivery
from finassay_checks.figures.basis import basis_of, is_stated
from finassay_checks.figures.prose import said
from finassay_checks.figures.values import in_unit, printed
from finassay_checks.model import Delivered, Document
from finassay_checks.reports import last_report
from finassay_checks.roles.metric_names import metric_of
from finassay_checks.roles.names import is_benchmark, is_variant
from finassay_checks.versions import changed_in, superseded

from .deliveries import Bytes, Simulated, clean_delivery, make_package, report_text, simulate

EXPECTED = {
    "prices": "data/prices.csv",
    "signals": "results/signals.csv",
    "weights": "results/target_weights.csv",
    "positions": "results/positions.csv",
    "trades": "results/trades.csv",
    "equity": "results/equity.csv",
    "benchmark": "results/benchmark.csv",
    "universe": "data/universe.csv",
    "spec": "REPORT.md#table1",
}


@pytest.fixture(scope="module")
def made() -> Simulated:
    return simulate(0)


def delivered(tmp_path: Path, files: Mapping[str, Bytes] | list[Mapping[str, Bytes]], **options: object) -> Delivered:
    return make_package(tmp_path, files, **options).fact(read_delivery)  # type: ignore[arg-type]


def chosen(found: Delivered, role: str) -> str | None:
    choice = found.choices[role]  # type: ignore[index]
    return choice.chosen.table.where if choice.chosen is not None else None


@pytest.mark.parametrize("seed", [0, 2])
def test_every_role_of_a_clean_delivery(tmp_path: Path, seed: int) -> None:
    found = delivered(tmp_path, clean_delivery(seed))
    assert {role: chosen(found, role) for role in EXPECTED} == EXPECTED
    assert chosen(found, "metrics") in ("REPORT.md#table2", "results/metrics.csv")
    assert found.choices["round_trips"].status == "missing"


def test_roles_do_not_hang_on_file_names(tmp_path: Path) -> None:
    clean = clean_delivery(0)
    names = {path: f"d/{number}.csv" for number, path in enumerate(sorted(p for p in clean if p.endswith(".csv")))}
    found = delivered(tmp_path, {names.get(path, path): content for path, content in clean.items()})
    for role in ("prices", "signals", "weights", "positions", "trades", "equity", "universe"):
        assert chosen(found, role) == names[EXPECTED[role]], role


def test_a_larger_benchmark_log_is_left_out(tmp_path: Path, made: Simulated) -> None:
    bench = pd.concat([made.trades.assign(ticker=t) for t in ("AAPL", "KO", "GE")])
    found = delivered(
        tmp_path,
        clean_delivery(0)
        | {"results/equal_weight_8_trades.csv": bench, "results/equal_weight_8_equity.csv": made.equity.assign(equity=1.0)},
    )
    assert chosen(found, "trades") == "results/trades.csv"
    assert chosen(found, "equity") == "results/equity.csv"


def test_a_benchmark_alone_is_no_equity_and_a_column_of_the_equity_table_is_one(tmp_path: Path, made: Simulated) -> None:
    joined = made.equity.assign(spy_nav=made.benchmark["benchmark_equity"].to_numpy())
    found = delivered(tmp_path, {"curve.csv": joined})
    assert chosen(found, "equity") == "curve.csv"
    bench = found.frame("benchmark")
    assert bench is not None
    assert bench["equity"].to_numpy() == pytest.approx(made.benchmark["benchmark_equity"].to_numpy())
    assert set(bench["name"]) == {"spy_nav"}


def test_equity_nearest_the_reported_return(tmp_path: Path, made: Simulated) -> None:
    other = made.equity.assign(equity=made.equity["equity"] * np.linspace(1, 1.4, len(made.equity)))
    clean = clean_delivery(0)
    clean.pop("results/equity.csv")
    found = delivered(tmp_path, clean | {"a/one.csv": other, "b/two.csv": made.equity})
    assert chosen(found, "equity") == "b/two.csv"
    assert any("nearest the reported return" in reason for reason in found.choices["equity"].reasons)


def test_two_logs_that_fit_equally_well_are_ambiguous(tmp_path: Path, made: Simulated) -> None:
    other = made.trades.assign(price=made.trades["price"] * 1.001)
    found = delivered(tmp_path, {"a/trades.csv": made.trades, "b/trades.csv": other})
    assert found.choices["trades"].status == "ambiguous"
    assert found.frame("trades") is None
    named = delivered(
        tmp_path / "n",
        {"a/fills_one.csv": made.trades, "b/fills_two.csv": other, "REPORT.md": report_text(made) + "\nSee fills_two.csv.\n"},
    )
    assert chosen(named, "trades") == "b/fills_two.csv"


def test_price_table_that_the_fills_use(tmp_path: Path, made: Simulated) -> None:
    scaled = made.prices.assign(close=made.prices["close"] * 2)
    extended = pd.concat([scaled, scaled.assign(ticker="ZZZ")])
    found = delivered(tmp_path, {"raw_prices.csv": extended, "prices.csv": made.prices, "trades.csv": made.trades})
    assert chosen(found, "prices") == "prices.csv"


def test_prices_on_fill_dates_only_are_no_price_table(tmp_path: Path, made: Simulated) -> None:
    only = made.prices[made.prices["date"].isin(made.trades["fill_date"])]
    found = delivered(tmp_path, clean_delivery(0) | {"data/prices.csv": only})
    assert found.choices["prices"].status == "missing"
    assert "of the days between the first and the last fill" in found.choices["prices"].reasons[0]
    log_only = delivered(tmp_path / "log", {"transactions.csv": made.trades, "equity.csv": made.equity})
    assert log_only.choices["prices"].candidates == ()


def test_opens_are_not_the_price_table(tmp_path: Path, made: Simulated) -> None:
    wide = made.prices.pivot(index="date", columns="ticker", values="close")
    found = delivered(
        tmp_path, {"close_wide.csv": (wide * 1.001).reset_index(), "open_wide.csv": wide.reset_index(), "trades.csv": made.trades}
    )
    assert chosen(found, "prices") == "close_wide.csv"


def test_a_cross_check_is_no_price_table(tmp_path: Path, made: Simulated) -> None:
    second = made.prices.assign(second_close=made.prices["close"] * 1.0001)
    found = delivered(tmp_path, {"second_source_check.csv": second, "trades.csv": made.trades})
    assert found.choices["prices"].status == "missing"
    assert chosen(found, "checks") == "second_source_check.csv"


def test_the_logs_own_columns_serve_when_there_is_no_table(tmp_path: Path, made: Simulated) -> None:
    found = delivered(tmp_path, {"blotter.csv": made.trades.rename(columns={"decided_by": "signal_6_1"})})
    assert chosen(found, "trades") == "blotter.csv"
    assert chosen(found, "weights") == "blotter.csv"
    assert chosen(found, "signals") == "blotter.csv"


def test_round_trips_are_no_fill_log(tmp_path: Path) -> None:
    trips = pd.DataFrame(
        {
            "ticker": ["AAPL", "KO"],
            "entry_date": ["2015-01-05", "2015-02-03"],
            "exit_date": ["2015-03-02", "OPEN"],
            "shares": [10, 20],
            "entry_price": [100.0, 40.0],
            "exit_price": [110.0, 42.0],
            "pnl": [100.0, 40.0],
        }
    )
    found = delivered(tmp_path, {"closed.csv": trips})
    frame = found.frame("round_trips")
    assert frame is not None
    assert found.choices["trades"].status == "missing"
    assert frame["open"].tolist() == [False, True]


def test_sensitivity_and_yearly_tables_are_no_headline(tmp_path: Path, made: Simulated) -> None:
    extra = (
        "\n## Sensitivity\n\n| setting | CAGR | Sharpe | Max drawdown |\n|---|---|---|---|\n| 5 names | 99% | 9.9 | -1% |\n| 7 names | 98% | 9.8 | -2% |\n"
        "\n## Sub-periods\n\n| period | CAGR | Sharpe |\n|---|---|---|\n| 2013-2014 | 77% | 7.7 |\n| 2015-2016 | 66% | 6.6 |\n"
    )
    found = delivered(tmp_path, clean_delivery(0) | {"REPORT.md": report_text(made) + extra})
    assert {c.table.where for c in found.choices["variants"].candidates} == {"REPORT.md#table3"}
    assert {c.table.where for c in found.choices["periods"].candidates} == {"REPORT.md#table4"}
    assert not any(f.value in (9.9, 7.7, 0.99, 0.77) for f in found.figures)


def test_twins_are_one_table_and_differing_twins_a_finding(tmp_path: Path, made: Simulated) -> None:
    equal = delivered(tmp_path / "a", {"trades.csv": made.trades, "trades.parquet": made.trades})
    assert chosen(equal, "trades") == "trades.parquet"
    assert equal.findings == ()
    other = made.trades.assign(price=made.trades["price"] + 1)
    differ = delivered(tmp_path / "b", {"trades.csv": made.trades, "trades.parquet": other, "REPORT.md": report_text(made)})
    assert [f.check for f in differ.findings] == ["twins-differ"]
    assert chosen(differ, "trades") == "trades.csv"


def tree(turn: int, **files: str) -> Delivery:
    """Files by path (`__` for a slash, `_dot_` for a dot is not needed) to a letter that stands for their bytes."""
    return Delivery(turn, tuple(DeliveredFile(path, content * 64, 1) for path, content in files.items()))


def rules(*deliveries: Delivery, ledgers: tuple[str, ...] = ()) -> dict[str, str]:
    return {path: why[5:6] if why.startswith("rule ") else why for path, why in superseded(deliveries, lambda p: p in ledgers).items()}


def test_archive_folders_are_superseded() -> None:
    delivery = tree(
        1,
        **{
            "archive/trades.csv": "a",
            "old_runs/x.csv": "b",
            "previous results/y.csv": "c",
            "results/z.csv": "d",
            "gold/w.csv": "e",
            "backup-2/q.csv": "f",
        },
    )
    assert rules(delivery) == {"archive/trades.csv": "b", "old_runs/x.csv": "b", "previous results/y.csv": "b", "backup-2/q.csv": "b"}


def test_version_folders() -> None:
    files = {"v1/trades.csv": "a", "v2/trades.csv": "b", "run_v3/trades.csv": "c", "code/run.py": "d"}
    assert rules(tree(1, **files)) == {"v1/trades.csv": "b", "v2/trades.csv": "b"}
    assert set(rules(tree(1, **files, **{"trades.csv": "e"}), ledgers=("trades.csv",))) == {
        "v1/trades.csv",
        "v2/trades.csv",
        "run_v3/trades.csv",
    }


def test_files_moved_aside() -> None:
    first, second = tree(1, **{"REPORT.md": "a", "x.csv": "b"}), tree(2, **{"REPORT.md": "c", "first/REPORT_before.md": "a", "x.csv": "b"})
    assert rules(first, second) == {"first/REPORT_before.md": "c"}
    assert changed_in((first, second), "x.csv") == 1
    assert changed_in((first, second), "REPORT.md") == 2


def test_names_that_differ_by_a_version_number() -> None:
    first = tree(
        1,
        **{
            "report.md": "a",
            "code/run_v1.py": "b",
            "part_1.csv": "p",
            "part_2.csv": "q",
            "AAPL_2015.csv": "r",
            "AAPL_2016.csv": "s",
            "trades_v1.csv": "t",
        },
    )
    second = Delivery(2, (*first.files, *tree(2, **{"report2.md": "c", "code/run_v2.py": "d", "trades_v2.csv": "u"}).files))
    assert rules(first, second) == {"report.md": "d", "code/run_v1.py": "d", "trades_v1.csv": "d"}
    assert rules(tree(1, **{"report_v9.md": "a", "report_v10.md": "b"})) == {"report_v9.md": "d"}


def test_only_current_files_are_chosen(tmp_path: Path, made: Simulated) -> None:
    older = made.trades.assign(price=made.trades["price"] * 3)
    found = delivered(
        tmp_path,
        [clean_delivery(0) | {"results/trades.csv": older}, clean_delivery(0) | {"old/trades.csv": older}],
        messages=("a", "b", "c", "See REPORT.md"),
    )
    assert chosen(found, "trades") == "results/trades.csv"
    assert found.superseded["old/trades.csv"].startswith("rule")
    turns = {(t.path, t.turn): t.current for t in found.tables}
    assert turns[("results/trades.csv", 1)] is False
    assert turns[("results/trades.csv", 2)] is True
    frame = found.frame("trades")
    assert frame is not None
    assert frame["price"].to_numpy() == pytest.approx(made.trades["price"].to_numpy())


def document(where: str, text: str = "word " * 30) -> Document:
    return Document(where, text, 1, True)


def test_last_report_is_what_the_message_names_first() -> None:
    deliveries = (tree(1, **{"REPORT.md": "a", "notes.md": "b", "CHECKING.md": "c"}),)
    documents = [document("CHECKING.md"), document("REPORT.md", "word " * 30 + "Start with CHECKING.md"), document("notes.md")]
    assert [d.where for d in last_report(documents, deliveries, "Start with CHECKING.md, then REPORT.md")] == ["REPORT.md", "CHECKING.md"]
    assert [d.where for d in last_report(documents, deliveries, "Done")] == ["REPORT.md", "CHECKING.md"]
    two = [document("report_a.md"), document("report_b.md")]
    assert (
        last_report(two, (tree(1, **{"report_a.md": "a", "report_b.md": "b"}),), "read report_b.md first, then report_a.md")[0].where
        == "report_b.md"
    )
    assert last_report([], (), "nothing") == ()


def test_earlier_report(tmp_path: Path, made: Simulated) -> None:
    first = clean_delivery(0) | {"REPORT.md": report_text(made).replace("Six-month", "First version of six-month")}
    found = delivered(tmp_path, [first, clean_delivery(0)], messages=("a", "b", "c", "d"))
    assert found.earlier_report is not None
    assert "First version" in found.earlier_report.text
    assert found.earlier_report.turn == 1


@pytest.mark.parametrize(
    ("text", "value", "precision", "unit"),
    [
        ("11.1%", 0.111, 0.0005, "%"),
        ("-0.23", -0.23, 0.005, ""),
        ("1,913", 1913, 0.5, ""),
        ("$885,694", 885694, 0.5, ""),
        ("9.4x", 9.4, 0.05, "x"),
        ("(3.1)", -3.1, 0.05, ""),
        ("15 bp", 0.0015, 0.00005, "bp"),
        ("$1.2m", 1.2e6, 5e4, "m"),
        (0.5, 0.5, 0.05, ""),
        (162.0, 162, 0.5, ""),
        ("−23.0%", -0.23, 0.0005, "%"),
    ],
)
def test_printed_values(text: object, value: float, precision: float, unit: str) -> None:
    number = printed(text)
    assert number is not None
    assert (number.value, number.precision, number.unit) == (pytest.approx(value), pytest.approx(precision), unit)


@pytest.mark.parametrize("text", ["", "n/a", None, True, "abc", float("nan"), float("inf"), "9" * 100])
def test_what_is_no_number(text: object) -> None:
    assert printed(text) is None


def test_units_of_metrics() -> None:
    def value(metric: str, text: str, hint: str = "") -> float | None:
        number = printed(text)
        assert number is not None
        scaled = in_unit(metric, number, hint)  # type: ignore[arg-type]
        return scaled.value if scaled is not None else None

    assert value("max_drawdown", "23%") == pytest.approx(-0.23)
    assert value("max_drawdown", "23.0", "Max. Drawdown [%]") == pytest.approx(-0.23)
    assert value("annual_return", "11.1", "CAGR (%)") == pytest.approx(0.111)
    assert value("total_return", "138.69") == pytest.approx(138.69)
    assert value("trades", "12%") is None
    assert value("sharpe", "110%") is None
    assert value("max_drawdown", "150%") is None


@pytest.mark.parametrize(
    ("label", "metric"),
    [
        ("CAGR", "annual_return"),
        ("sharpe_rf0", "sharpe"),
        ("Max Drawdown [%]", "max_drawdown"),
        ("n_trades", "trades"),
        ("Turnover_1way_pa", "turnover"),
        ("return_pa", "annual_return"),
        ("Total return", "total_return"),
        ("annualised_volatility", "annual_vol"),
        ("Win Rate [%]", "win_rate"),
        ("average_exposure", "exposure"),
        ("total_fees", "fees"),
        ("beta", "beta"),
        ("Worst month", None),
        ("cost rate", None),
        ("start_capital", None),
        ("ticker", None),
        ("fee per trade", None),
    ],
)
def test_names_of_metrics(label: str, metric: str | None) -> None:
    assert metric_of(label) == metric


@pytest.mark.parametrize(
    ("name", "benchmark"),
    [
        ("spy", True),
        ("S&P 500", True),
        ("ew20_net", True),
        ("equal_weight_20", True),
        ("Equal weight 20 NAV", True),
        ("buy_hold", True),
        ("benchmark_equity", True),
        ("all_20", True),
        ("strategy", False),
        ("equity", False),
        ("view", False),
        ("new_nav", False),
        ("market_cap", False),
        ("nav", False),
    ],
)
def test_names_of_benchmarks(name: str, benchmark: bool) -> None:
    assert is_benchmark(name) is benchmark


def test_names_of_variants() -> None:
    assert is_variant("cost_sensitivity")
    assert is_variant("Same, without the stop")
    assert not is_variant("trades")


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        (
            "It returned 11.1% a year net at 10.9% vol (Sharpe 1.02), with a max drawdown of -23.0% over 1,913 trades.",
            {"annual_return": "11.1%", "annual_vol": "10.9%", "sharpe": "1.02", "max_drawdown": "-23.0%", "trades": "1,913"},
        ),
        ("One-way turnover about 176% a year.", {"turnover": "176%"}),
        ("Trading costs take 2.8% a year, against 0.2% for equal weight.", {}),
        ("The S&P 500 returned 7.5% a year with a Sharpe of 0.49.", {}),
        ("The volatility target is 10% a year.", {}),
        ("Without the stop the Sharpe is 1.4.", {}),
        ("Number of trades: 42.", {"trades": "42"}),
        ("Worst year 2008 with 12 trades a day on average.", {}),
        ("Total return 135.2%.", {"total_return": "135.2%"}),
    ],
)
def test_figures_in_sentences(sentence: str, expected: dict[str, str]) -> None:
    assert {item.metric: item.token for item in said(f"# Summary\n\n{sentence}\n")} == expected


def test_sections_that_hold_no_headline_are_skipped() -> None:
    assert not list(said("# Robustness\n\nThe Sharpe is 1.4.\n\n## Sub-periods\n\nSharpe 1.1.\n"))


def test_basis() -> None:
    stated = basis_of("net of costs, 2013-01-02 to 2016-12-30, annualised with sqrt(252)")
    assert set(stated) >= {"period", "annualisation", "costs"}
    assert is_stated("sharpe", stated)
    assert not is_stated("sharpe", basis_of("net, annualised"))
    assert not is_stated("annual_return", basis_of("2013 to 2016, a year"))
    assert is_stated("trades", basis_of("2013 to 2016, fills"))
    assert basis_of("before costs")["costs"].startswith("gross")


def test_places_that_differ_are_a_finding(tmp_path: Path, made: Simulated) -> None:
    text = report_text(made).replace(f"Sharpe {made.metrics['sharpe']:.2f}", "Sharpe 1.50")
    found = delivered(tmp_path, clean_delivery(0) | {"REPORT.md": text})
    assert {f.check for f in found.findings} == {"figures-differ"}
    assert found.figures[0].metric == "sharpe"
    assert found.figures[0].value == 1.5
