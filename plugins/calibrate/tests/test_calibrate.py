"""The market, the clean deliveries and their faults; a small calibration from end to end."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from attrs import evolve
from click.testing import CliRunner

from finassay_calibrate.clean.build import draft_of, setup_of
from finassay_calibrate.clean.deliver import conversation, files, package_of
from finassay_calibrate.clean.draft import Draft
from finassay_calibrate.clean.figures import figures
from finassay_calibrate.clean.layouts.forms import last_prices, round_trips
from finassay_calibrate.clean.layouts.spec import CHOICES, Layout, draw_layout
from finassay_calibrate.clean.strategies import GRAMMAR, parts, strategies
from finassay_calibrate.command import calibrate
from finassay_calibrate.faults import FAULTS, plant
from finassay_calibrate.market.known import known_factors
from finassay_calibrate.market.synthetic import synthetic_market
from finassay_calibrate.measure.grading import VETOES


@pytest.fixture(scope="module")
def draft() -> Draft:
    """A clean draft of a plain strategy: one price factor, monthly, with costs."""
    seed = next(
        k
        for k in range(5_000)
        if (c := GRAMMAR.sample(k).choices)["factor"] == ("mom_12_1",)
        and c["schedule"] == ("monthly",)
        and c["cost"] == ("fixed_bps",)
        and c["timing"] == ("none",)
        and c["risk"] == ("none",)
    )
    return draft_of(setup_of(GRAMMAR.sample(seed), 1, layout=Layout()))


def test_a_market_is_a_function_of_its_seed():
    one, two = synthetic_market(5), synthetic_market.__wrapped__(5)
    assert np.array_equal(one.close, two.close, equal_nan=True)
    pd.testing.assert_frame_equal(one.fundamentals, two.fundamentals)
    assert not np.array_equal(one.close, synthetic_market(6).close, equal_nan=True)


def test_a_market_has_everything_that_is_promised():
    market = synthetic_market(5)
    assert len(market.delisted) == 2
    assert np.isnan(market.close).any()
    assert set(market.actions["kind"]) == {"split", "dividend"}
    assert (market.fundamentals["announced"] > market.fundamentals["period_end"]).all()
    assert (market.fundamentals["version"] == 2).any()
    assert ((market.high >= market.low) | np.isnan(market.close)).all()
    inverted = market.yields["y10"] < market.yields["y2"]
    assert 0 < inverted.mean() < 1


def test_company_figures_are_known_from_their_announcement_on():
    market = synthetic_market(5)
    row = market.fundamentals[market.fundamentals["announced"] > market.dates[400]].iloc[0]
    name, day = market.tickers.index(row["ticker"]), int(market.dates.searchsorted(row["announced"]))
    roe = known_factors(market)["roe"]
    assert roe[day, name] == row["roe"]
    assert roe[day - 1, name] != row["roe"]
    assert known_factors(market, "period_end")["roe"][day - 1, name] == row["roe"] or row["version"] == 2


def test_few_strategies_reach_every_part_of_the_grammar():
    seen = set().union(*(parts(s) for s in strategies(1, 60)))
    wanted = {p for k in range(1_500) for p in parts(GRAMMAR.sample(k))}
    assert seen == wanted


def test_every_value_of_a_layout_is_drawn():
    drawn = [draw_layout(np.random.default_rng(k)) for k in range(400)]
    for name, options in CHOICES.items():
        assert {getattr(one, name) for one in drawn} == set(options)
    assert not any(one.prices == "raw-with-splits" and one.trades == "round-trips" for one in drawn)


def test_round_trips_and_two_header_rows_are_written_beside_prices_of_every_form(draft):
    for prices in CHOICES["prices"]:
        for made in (Layout(prices=prices, trades="signed-fills", files="json-records"), Layout(prices=prices, trades="round-trips")):
            twin = draft.copy()
            twin.setup = evolve(draft.setup, layout=made)
            found = files(twin)
            if prices == "wide-two-row-header":
                assert "data/prices.csv" in found
            assert made.trades != "round-trips" or len(found["results/round_trips.csv"]) > 1_000


def test_the_books_of_a_clean_draft_balance(draft):
    trades, equity, positions = (draft.tables[n] for n in ("trades", "equity", "positions"))
    sign = np.where(trades["side"] == "BUY", -1.0, 1.0)
    flow = (sign * trades["shares"] * trades["price"] - trades["fee"]).groupby(trades["fill_date"]).sum()
    cash = 1_000_000.0 + flow.reindex(equity["date"]).fillna(0.0).cumsum().to_numpy()
    assert np.allclose(cash, equity["cash"], atol=0.01)
    closes = draft.tables["prices"].pivot(index="date", columns="ticker", values="close").ffill().reindex(equity["date"])
    names = [c for c in positions if c not in ("date", "cash")]
    worth = (positions[names].to_numpy() * closes[names].to_numpy()).sum(axis=1) + positions["cash"].to_numpy()
    assert np.allclose(worth, equity["equity"], atol=0.01)
    assert (trades["fill_date"] > trades["signal_date"]).all()


def test_figures_by_hand():
    curve = pd.Series([100.0, 110.0, 99.0], index=pd.to_datetime(["2020-01-02", "2020-01-03", "2020-01-06"]))
    found = figures(curve, pd.DataFrame({"fill_date": [curve.index[1]], "value": [55.0], "fee": [0.5]}))
    assert found["total_return"] == pytest.approx(-0.01)
    assert found["max_drawdown"] == pytest.approx(-0.1)
    assert found["sharpe"] == pytest.approx(0.0, abs=1e-12)
    assert found["turnover"] == pytest.approx(0.5 / 2 / (2 / 252))


def test_round_trips_add_up_to_the_profit(draft):
    trips = round_trips(draft.tables["trades"], last_prices(draft.tables))
    gained = draft.tables["equity"]["equity"].iloc[-1] - 1_000_000
    assert trips["pnl"].sum() == pytest.approx(gained, abs=0.05)


def test_the_investor_says_everything_and_the_delivery_states_it(draft):
    said = " ".join(m.text for m in conversation(draft).of("user"))
    report = files(draft)["REPORT.md"].decode()
    for item in draft.setup.belief.items:
        assert item.sentence in said
        assert item.sentence in report
    assert "synthetic" in report


@pytest.mark.parametrize("name", ["json-columns", "workbook", "parquet", "semicolon-csv"])
def test_formats_are_written(draft, tmp_path, name):
    spoiled = draft.copy()
    spoiled.setup = evolve(draft.setup, layout=Layout(files=name, prices="wide-two-row-header", positions="long-shares"))
    package = package_of(spoiled, tmp_path)
    assert all(package.path(f).stat().st_size == f.size for f in package.tree.files)


def test_sixty_kinds_of_faults_over_all_vetoes():
    assert len(FAULTS) >= 60
    assert {f.dimension for f in FAULTS.values()} >= set(VETOES)


def test_a_fault_leaves_the_clean_draft_alone(draft):
    before = files(draft)
    planted = [name for name in FAULTS if plant(name, draft, 1) is not None]
    assert len(planted) > 50
    assert files(draft) == before


def test_a_fault_that_changes_nothing_is_not_planted(draft):
    unpaid = draft.copy()
    unpaid.setup = unpaid.setup.__class__(
        **{a: getattr(draft.setup, a) for a in ("seed", "strategy", "belief", "universe", "market", "builder", "layout", "cutoff")},
        settings=replace(draft.setup.settings, cost_bps=0.0),
    )
    assert plant("costs-not-charged", unpaid, 1) is None
    assert plant("stop-never-acted-on", draft, 1) is None


def test_the_command_writes_a_page_and_a_record(tmp_path):
    done = CliRunner().invoke(
        calibrate,
        ["--only", "checks", "--clean", "1", "--per-fault", "1", "--fault", "trade-after-cutoff", "--jobs", "1", "--out", str(tmp_path)],
        catch_exceptions=False,
    )
    assert done.exit_code == 0
    record = json.loads((tmp_path / "calibration.json").read_text("utf-8"))
    assert record["clean"]["graded"] == 1
    assert record["faults"][0]["fault"] == "trade-after-cutoff"
    assert record["faults"][0]["planted"] == record["faults"][0]["found"] == 1
    page = (tmp_path / "calibration.html").read_text("utf-8")
    assert "Planted faults" in page
    assert "<script" not in page


def test_an_unknown_fault_is_an_error(tmp_path):
    done = CliRunner().invoke(calibrate, ["--only", "checks", "--fault", "no-such-fault", "--out", str(tmp_path)])
    assert done.exit_code == 2
    assert "no-such-fault" in done.output
