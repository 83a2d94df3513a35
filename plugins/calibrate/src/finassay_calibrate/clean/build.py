"""From a strategy to a draft: the market, the run, the tables, the words."""

from collections.abc import Callable

import numpy as np
import pandas as pd

from finassay.api.strategy import Strategy
from finassay_calibrate.clean import words
from finassay_calibrate.clean.draft import Draft, Setup
from finassay_calibrate.clean.engine import NOTHING, Plants, frames, run_backtest
from finassay_calibrate.clean.figures import figures, short
from finassay_calibrate.clean.layouts.forms import last_prices, round_trips
from finassay_calibrate.clean.layouts.spec import Layout, draw_layout
from finassay_calibrate.clean.strategies import GRAMMAR, settings_of
from finassay_calibrate.market.synthetic import LABEL, SyntheticMarket, synthetic_market
from finassay_reference.delivered.engine.strategy import Strategy as Settings

Builder = Callable[[SyntheticMarket, Settings], dict[str, pd.DataFrame]]
FUNDAMENTAL = frozenset(
    {"earnings_yield", "book_to_market", "roe", "gross_profitability", "sales_growth", "eps_growth", "earnings_surprise"}
)


def setup_of(strategy: Strategy, seed: int, builder: str = "reference", layout: Layout | None = None) -> Setup:
    """The whole setup of a strategy; the layout is drawn from the seed unless given. Some cutoffs fall on a day without a session."""
    rng = np.random.default_rng([seed, strategy.seed % 2**32, 7])
    universe = GRAMMAR.universe(strategy, frozenset({"prices"}))
    market = synthetic_market(strategy.seed % 2**31, tickers=tuple(sorted(universe.tickers)))
    last = market.dates[-1]
    cutoff = (last + pd.Timedelta(days=int(rng.choice([0, 0, 1, 3])))).date()
    settings = settings_of(strategy, market.tickers, str(market.dates[0].date()), str(cutoff))
    drawn = layout or draw_layout(rng)
    return Setup(seed, strategy, GRAMMAR.belief(strategy), universe, settings, market, builder, drawn, cutoff)


def reference(market: SyntheticMarket, settings: Settings, plants: Plants = NOTHING) -> dict[str, pd.DataFrame]:
    """Tables of the reference engine."""
    return frames(run_backtest(market, settings, plants), market)


def draft_of(setup: Setup, build: Builder = reference) -> Draft:
    """The clean draft. Raises `ValueError` if the strategy trades nothing on its market."""
    tables = build(setup.market, setup.settings) | market_tables(setup.market, setup.settings)
    draft = Draft(
        setup,
        tables,
        {},
        words.rules(setup.belief, setup.settings),
        words.answers(setup.belief),
        words.questions(setup.belief),
        "decided at a session's close, filled at the next session's close",
    )
    refresh(draft)
    draft.tables |= _sensitivity(setup, draft, build) | _periods(draft)
    draft.code = {"code/README.txt": "The run was made by a program that is kept elsewhere; the tables repeat every figure.\n"}
    return draft


def rebuilt(draft: Draft, settings: Settings, plants: Plants = NOTHING) -> Draft:
    """The same words with the tables of another run of the reference engine: what a fault trades instead."""
    twin = draft.copy()
    tables = reference(draft.setup.market, settings, plants)
    for name in ("trades", "targets", "positions", "equity", "signals", "benchmark", "states", "signal_statistics"):
        twin.tables.pop(name, None)
        if name in tables:
            twin.tables[name] = tables[name]
    for name in draft.setup.settings.factors:
        if name not in twin.tables["signals"]:
            twin.tables["signals"] = twin.tables["signals"].rename(columns={settings.factors[0]: name})
    refresh(twin)
    twin.tables |= _periods(twin)
    return twin


def refresh(draft: Draft) -> None:
    """Figures, comparison and metrics from the draft's own tables."""
    equity = draft.tables["equity"]
    curve = equity.set_index("date")["equity"]
    draft.figures = figures(curve, draft.tables["trades"], equity["cash"])
    if draft.setup.layout.trades == "round-trips":
        trips = round_trips(draft.tables["trades"], last_prices(draft.tables))
        draft.figures["trades"] = float((trips["status"] == "closed").sum())
    bench = draft.tables["benchmark"].set_index("date")
    rows = [{"portfolio": "strategy net"} | short(curve)]
    rows += [
        {"portfolio": "S&P 500 index benchmark"} | short(bench["sp500_index"]),
        {"portfolio": "equal-weight benchmark"} | short(bench["equal_weight_universe"]),
    ]
    draft.tables["benchmark_comparison"] = pd.DataFrame(rows)


def market_tables(market: SyntheticMarket, settings: Settings) -> dict[str, pd.DataFrame]:
    """What the run used of the market, and where it comes from."""
    at = np.argwhere(~np.isnan(market.close))
    prices = pd.DataFrame({"date": market.dates[at[:, 0]], "ticker": np.array(market.tickers)[at[:, 1]]})
    for name in ("open", "high", "low", "close", "volume"):
        prices[name] = getattr(market, name)[at[:, 0], at[:, 1]]
    prices["volume"] = prices["volume"].astype("int64")
    ends = dict(zip(market.delisted["ticker"], market.delisted["last_date"], strict=True))
    universe = pd.DataFrame({"ticker": market.tickers, "sector": market.sectors, "first_date": market.dates[0]})
    universe["last_date"] = [ends.get(t, pd.NaT) for t in market.tickers]
    found = {
        "prices": prices,
        "index": pd.DataFrame({"date": market.dates, "close": market.index}),
        "universe": universe,
        "split_factor": pd.DataFrame(market.split_factor, columns=list(market.tickers)).assign(date=market.dates),
    }
    if FUNDAMENTAL & set(settings.factors) or settings.schedule == "on_event":
        found["fundamentals"] = market.fundamentals
    if "small_size" in settings.factors or settings.weighting == "market_cap":
        found["market_caps"] = (
            pd.DataFrame(market.market_cap, columns=list(market.tickers))
            .assign(date=market.dates)
            .melt("date", var_name="ticker", value_name="market_cap")
            .dropna(ignore_index=True)
        )
    if settings.timing == "yield_curve":
        found["rates"] = market.yields
    return found | {"sources": _sources(found, market)}


def _sources(tables: dict[str, pd.DataFrame], market: SyntheticMarket) -> pd.DataFrame:
    rows = [
        {
            "series": name,
            "source": LABEL,
            "first_date": market.dates[0],
            "last_date": market.dates[-1],
            "rows": len(frame),
            "note": "invented by a program, not data of a real company",
        }
        for name, frame in tables.items()
        if name not in ("split_factor", "universe")
    ]
    return pd.DataFrame(rows)


def _sensitivity(setup: Setup, draft: Draft, build: Builder) -> dict[str, pd.DataFrame]:
    """The number of names moved by one; the first row is the strategy as delivered."""
    rows = [{"parameter": "as delivered", "value": ""} | _row(draft.tables)]
    slots = setup.settings.slots
    for other in (slots + 1,):
        try:
            tables = build(setup.market, _moved(setup.settings, other))
        except ValueError:
            continue
        rows.append({"parameter": "names held", "value": str(other)} | _row(tables))
    return {"sensitivity": pd.DataFrame(rows)}


def _moved(settings: Settings, slots: int) -> Settings:
    from dataclasses import replace

    return replace(settings, slots=slots)


def _row(tables: dict[str, pd.DataFrame]) -> dict[str, float]:
    curve = tables["equity"].set_index("date")["equity"]
    return short(curve) | {"trades": float(len(tables["trades"]))}


def _periods(draft: Draft) -> dict[str, pd.DataFrame]:
    """The same rules over both halves of the sample."""
    curve = draft.tables["equity"].set_index("date")["equity"]
    middle = len(curve) // 2
    rows = []
    for name, part in (("first half", curve[: middle + 1]), ("second half", curve[middle:])):
        rows.append({"period": name, "from": part.index[0], "to": part.index[-1]} | short(part))
    return {"sub_periods": pd.DataFrame(rows)}
