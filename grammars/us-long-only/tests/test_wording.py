"""How options are said and asked about: natural wordings are found, and found by nothing else."""

import pytest

from finassay.api.matching import Polarity, asks_about, mentions
from finassay.api.strategy import Item, Unit
from finassay_us_long_only.belief import _item
from finassay_us_long_only.wording import portfolio, rules, stock

SLOTS = {
    "factor": (stock.FACTOR_ASKING, stock.FACTORS),
    "combination": (stock.COMBINATION_ASKING, stock.COMBINATIONS),
    "timing": (rules.TIMING_ASKING, rules.TIMINGS),
    "weighting": (portfolio.WEIGHTING_ASKING, portfolio.WEIGHTINGS),
    "covariance": (portfolio.COVARIANCE_ASKING, portfolio.COVARIANCES),
    "risk": (rules.RISK_ASKING, rules.RISKS),
    "schedule": (rules.SCHEDULE_ASKING, rules.SCHEDULES),
}


def item(slot: str, option: str) -> Item:
    asking, table = SLOTS[slot]
    return _item(f"x.{slot}:{option}", slot, asking, table[option], table)


def threshold(option: str, value: float) -> Item:
    return _item("risk.threshold", "threshold", rules.THRESHOLD_ASKING, rules.THRESHOLDS[option], {}, value)


def cost(value: float) -> Item:
    return _item("cost.rate", "cost", rules.COST_ASKING, rules.COST, {}, value, Unit.BASIS_POINTS)


def polarity(of: Item, text: str) -> Polarity | None:
    found = mentions(of, text)
    return found[-1].polarity if found else None


SAID = {
    ("factor", "mom_12_1"): [
        "12-1 momentum",
        "we rank by mom_12_1",
        "last year's winners",
        "12-month return skipping the most recent month",
        "momentum (12-1)",
        "the winners of the past twelve months",
        "12-month momentum",
        "the past year's return, leaving out the latest month",
    ],
    ("factor", "mom_6_1"): [
        "6-1 momentum",
        "mom_6_1",
        "winners of the last half year",
        "six-month momentum",
        "the half-year return",
        "6-month return skipping a month",
        "winners over the past six months",
        "half-year momentum",
    ],
    ("factor", "high_52w"): [
        "close to the 52-week high",
        "high_52w",
        "nearness to the 52 week high",
        "the one-year high",
        "price over the highest close of the last 252 sessions",
        "their 52w high",
        "stocks near yearly highs",
        "the 12-month high",
    ],
    ("factor", "rev_5d"): [
        "what got hit hardest this week",
        "one-week reversal",
        "rev_5d",
        "the last week's losers",
        "the worst of the past five days",
        "5-day reversal",
        "stocks that fell the most over the past week",
        "weekly reversal",
    ],
    ("factor", "rev_21d"): [
        "the biggest losers of the past month",
        "one-month reversal",
        "rev_21d",
        "last month's losers",
        "the worst of the past 21 trading days",
        "21-day reversal",
        "stocks that dropped the most in the last month",
        "monthly reversal",
    ],
    ("factor", "low_vol"): [
        "low volatility",
        "the calmer stocks",
        "low_vol",
        "lowest 60-day volatility",
        "the least volatile names",
        "low recent vol",
        "minimum volatility",
        "low-vol names",
    ],
    ("factor", "low_beta"): [
        "low beta",
        "low_beta",
        "stocks that move less than the market",
        "the lowest 252-day beta",
        "names with a beta that is low",
        "lower beta",
        "low market beta",
        "shares less sensitive to the index",
    ],
    ("factor", "earnings_yield"): [
        "earnings yield",
        "cheap on earnings",
        "low P/E",
        "earnings-to-price",
        "EPS over price",
        "a low price/earnings ratio",
        "earnings_yield",
        "the P/E ratio",
    ],
    ("factor", "book_to_market"): [
        "book-to-market",
        "cheap on book",
        "low P/B",
        "price to book",
        "book_to_market",
        "book value relative to the price",
        "the P/B ratio",
        "book equity over market value",
    ],
    ("factor", "roe"): [
        "return on equity",
        "ROE",
        "high ROE",
        "net income over average equity",
        "a high return on average equity",
        "roe",
        "return-on-equity",
        "strong return on equity",
    ],
    ("factor", "gross_profitability"): [
        "gross profitability",
        "gross profit over assets",
        "gross profit to total assets",
        "gross_profitability",
        "strong gross profit for their assets",
        "gross profits relative to total assets",
        "gross margin on assets",
        "gross profit / assets",
    ],
    ("factor", "sales_growth"): [
        "sales growth",
        "revenue growth",
        "growing revenue",
        "revenue that grows fast",
        "sales_growth",
        "fast growing sales",
        "revenues grow",
        "sales growing quickly",
    ],
    ("factor", "eps_growth"): [
        "EPS growth",
        "earnings growth",
        "growing earnings",
        "earnings grow fast",
        "eps_growth",
        "profit growth",
        "growing their profits",
        "earnings are growing",
    ],
    ("factor", "small_size"): [
        "small caps",
        "smaller companies",
        "small size",
        "small_size",
        "the smallest stocks",
        "low market cap",
        "smaller names",
        "small firms",
    ],
    ("factor", "earnings_surprise"): [
        "earnings surprise",
        "beat earnings",
        "just beat expectations",
        "beat the consensus",
        "earnings_surprise",
        "a positive surprise",
        "beats on estimates",
        "an earnings beat",
    ],
    ("combination", "zscore_mean"): [
        "average the z-scores",
        "z-score mean",
        "zscore_mean",
        "the mean of the z scores",
        "standardise and add the z-scores",
        "z-scores, averaged",
        "sum of z-scores",
        "combined z-score",
    ],
    ("combination", "rank_mean"): [
        "average the ranks",
        "mean rank",
        "rank_mean",
        "the average of both ranks",
        "averaged ranks",
        "the sum of the ranks",
        "ranks are averaged",
        "average rank",
    ],
    ("combination", "screen_then_rank"): [
        "screen then rank",
        "screen_then_rank",
        "keep the best half, then rank",
        "the top half by the first, ranked by the second",
        "first filter, then rank",
        "screen on momentum first",
        "keep half and rank the rest",
        "a two-step screen",
    ],
    ("combination", "ic_weighted"): [
        "IC-weighted",
        "weights from the information coefficient",
        "ic_weighted",
        "trailing IC",
        "weighted by past ICs",
        "rolling ICs",
        "weighted by their predictive power: information coefficients",
        "weight each by how well it predicted",
    ],
    ("timing", "index_ma"): [
        "only when the index is above its moving average",
        "index_ma",
        "the index is below its 200-day average",
        "S&P 500 above its 200-day moving average",
        "the market is over its moving average",
        "an index trend filter",
        "the moving average of the index",
        "200-day moving average on the index",
    ],
    ("timing", "index_abs_mom"): [
        "the index's 12-month return is positive",
        "absolute momentum",
        "index_abs_mom",
        "market up over the past year",
        "the market's 12-month return",
        "time-series momentum",
        "12-month return of the index being positive",
        "the S&P 500's one-year return: index 12-month return",
    ],
    ("timing", "vol_regime"): [
        "volatility regime",
        "vol_regime",
        "index volatility in its top fifth",
        "when volatility is in the top quintile",
        "market volatility in the highest 20%",
        "the top fifth of volatility",
        "a vol regime filter",
        "index volatility is high",
    ],
    ("timing", "breadth"): [
        "breadth",
        "more than half of the names above their own average",
        "market breadth",
        "the share of stocks above their average",
        "half the universe is over its average",
        "the percentage of members above their own moving average",
        "breadth > 50%",
        "a majority of stocks above average",
    ],
    ("timing", "yield_curve"): [
        "the yield curve",
        "10y-2y spread",
        "yield_curve",
        "an inverted curve",
        "when the curve inverts",
        "the term spread",
        "10-year minus 2-year",
        "2s10s",
    ],
    ("weighting", "equal"): [
        "equal weights",
        "equally weighted",
        "equal-weight",
        "the same weight for each",
        "1/N weights",
        "weight them equally",
        "equal position sizes: equal sizes",
        "equal dollar amounts",
    ],
    ("weighting", "score_prop"): [
        "proportional to the score",
        "score-weighted",
        "score_prop",
        "in proportion to their scores",
        "weights by the score",
        "higher scores get more weight",
        "score-proportional",
        "sized by their score",
    ],
    ("weighting", "market_cap"): [
        "market-cap weights",
        "cap-weighted",
        "capitalisation weighted",
        "weighted by market cap",
        "sized by market value",
        "in proportion to their market cap",
        "market capitalization weighting",
        "cap weights",
    ],
    ("weighting", "inverse_vol"): [
        "inverse volatility",
        "inverse-vol weights",
        "inverse_vol",
        "inversely proportional to volatility",
        "1/vol",
        "the inverse of volatility",
        "volatility-weighted",
        "weights by inverse vol",
    ],
    ("weighting", "risk_parity"): [
        "risk parity",
        "equal risk contribution",
        "risk_parity",
        "equal-risk weights",
        "the same risk contribution",
        "risk budgeting",
        "equal risk contributions",
        "ERC",
    ],
    ("weighting", "mean_variance"): [
        "mean-variance",
        "Markowitz",
        "mean variance optimisation",
        "mean_variance",
        "MVO",
        "the efficient frontier",
        "a mean/variance optimiser",
        "max Sharpe optimisation",
    ],
    ("covariance", "sample"): [
        "sample covariance",
        "the plain covariance",
        "the historical covariance matrix",
        "sample estimator",
        "an ordinary covariance",
        "covariance: sample",
        "empirical covariance",
        "a simple sample covariance",
    ],
    ("covariance", "ewma"): [
        "EWMA",
        "exponentially weighted covariance",
        "exponential weighting: exponentially weighted",
        "an exponentially decaying covariance",
        "exponentially weighted moving",
        "ewma covariance",
        "with a decay factor",
        "an exponential covariance",
    ],
    ("covariance", "shrinkage"): [
        "shrinkage",
        "Ledoit-Wolf",
        "a shrunk covariance",
        "shrink the covariance",
        "shrinkage estimator",
        "shrinking it",
        "ledoit wolf",
        "shrunken: shrunk",
    ],
    ("risk", "position_stop"): [
        "a stop-loss",
        "stop loss on each position",
        "sell when it falls below the entry price",
        "position_stop",
        "a fixed stop",
        "a hard stop",
        "down from its entry price",
        "sold once it has fallen from entry",
    ],
    ("risk", "trailing_stop"): [
        "a trailing stop",
        "trailing stop-loss",
        "trailing_stop",
        "stops that trail the price",
        "sell a position that drops from its peak",
        "a stock falls below its high",
        "trailing exits",
        "a trailing loss limit",
    ],
    ("risk", "drawdown_to_cash"): [
        "cut to cash if the drawdown is too deep",
        "drawdown_to_cash",
        "move everything into cash at a drawdown",
        "a drawdown limit",
        "the portfolio falls from its peak",
        "drawdown stop",
        "cash once drawdown reaches the level",
        "a drawdown brake",
    ],
    ("risk", "sector_cap"): [
        "a sector cap",
        "sector limits",
        "sector_cap",
        "no more than that in one sector: no sector above it",
        "cap per sector",
        "limit each sector",
        "the sector maximum",
        "sector is capped",
    ],
    ("risk", "vol_target"): [
        "a volatility target",
        "vol targeting",
        "vol_target",
        "target a volatility",
        "scale exposure to volatility",
        "volatility-targeting",
        "targeted vol",
        "constant volatility",
    ],
    ("schedule", "monthly"): [
        "monthly",
        "once a month",
        "every month",
        "month-end rebalancing",
        "rebalanced monthly",
        "each month",
        "the last session of each month",
        "once per month",
    ],
    ("schedule", "quarterly"): [
        "quarterly",
        "once a quarter",
        "every quarter",
        "every three months",
        "rebalanced quarterly",
        "each quarter",
        "four times a year",
        "once per quarter",
    ],
    ("schedule", "weekly"): [
        "weekly",
        "once a week",
        "every week",
        "every Friday",
        "rebalanced weekly",
        "each week",
        "the last session of each week",
        "once per week",
    ],
    ("schedule", "drift_band"): [
        "a drift band",
        "drift_band",
        "when a weight drifts",
        "tolerance bands",
        "rebalancing band",
        "off its target by five points",
        "a no-trade band",
        "weights stray from target",
    ],
    ("schedule", "on_event"): [
        "the day after an announcement",
        "on_event",
        "after each earnings announcement",
        "event-driven trading",
        "the session after earnings",
        "the day after it reports",
        "following an announcement",
        "event-based rebalancing",
    ],
}

ASKED = {
    "factor": [
        "Which factors should I use to rank the stocks?",
        "How do you pick the names?",
        "What signal decides which stocks we buy?",
        "Please tell me the selection criteria.",
        "Any other factor besides that?",
        "Is momentum the only factor?",
        "How should stocks be ranked?",
        "What makes a stock attractive to you?",
        "Could you describe the ranking rule?",
        "Which measure do you select companies by?",
    ],
    "combination": [
        "How should I combine the two signals?",
        "How do you want the factors blended?",
        "Should the scores be put together by averaging?",
        "What weight does each factor get when you combine them?",
        "How do I aggregate the rankings?",
        "Do you want a composite?",
        "How are both measures merged together?",
        "What is the relative importance of the factors?",
        "Z-scores or ranks?",
        "Should I build one overall score?",
    ],
    "timing": [
        "Do you want any market timing?",
        "Should we go to cash in bad markets?",
        "Is there a regime filter?",
        "Should the portfolio always be fully invested?",
        "When should we be out of the market?",
        "Any trend filter on the index?",
        "Do you time the market?",
        "Should I move to cash when the market falls?",
        "What about bear markets?",
        "Would you like a market filter?",
    ],
    "weighting": [
        "How should I size the positions?",
        "What weights do you want?",
        "How is the money allocated?",
        "How much goes into each stock?",
        "What about position sizing?",
        "How should the portfolio be constructed: portfolio construction?",
        "Do you want it optimised?",
        "How do we split the capital?",
        "How big should positions be?",
        "Please specify the weighting.",
    ],
    "covariance": [
        "Which covariance estimator?",
        "How should I estimate the covariance?",
        "What risk model do you want?",
        "Sample or shrinkage covariance?",
        "How do we estimate correlations?",
        "Which estimator should the optimiser use?",
        "What correlation matrix?",
        "How do you want risk to be estimated?",
        "Any view on the covariance matrix?",
        "Which inputs does the optimiser take: optimiser inputs?",
    ],
    "risk": [
        "Do you want a stop-loss?",
        "Any risk control?",
        "How should I limit losses?",
        "Is there a drawdown limit?",
        "What risk management do you have in mind?",
        "When do we sell a loser?",
        "Should there be any stops?",
        "Do you want a volatility target?",
        "Are there exit rules?",
        "What downside protection would you like?",
    ],
    "schedule": [
        "How often should I rebalance?",
        "What is the rebalancing frequency?",
        "When do we trade?",
        "Weekly or monthly?",
        "How frequently is the portfolio refreshed?",
        "What holding period?",
        "What trading schedule do you prefer?",
        "How often do you want it reviewed?",
        "Please confirm the rebalancing.",
        "What cadence?",
    ],
    "cost": [
        "What trading costs should I assume?",
        "Any commissions?",
        "How many basis points for costs?",
        "What about slippage?",
        "Should results be net of fees?",
        "What transaction costs?",
        "Is there a fee per trade?",
        "What do trades cost you?",
        "Which execution costs apply?",
        "Do you want costs included?",
    ],
    "threshold": [
        "At what level is the stop?",
        "What stop-loss percentage?",
        "How far may it fall before the stop?",
        "What is the stop's threshold?",
        "Which drawdown triggers the exit?",
        "How deep a drawdown?",
        "What is the volatility target's level?",
        "How tight should the stop be?",
        "What size is the sector cap?",
        "Where should the stop be set?",
    ],
}


@pytest.mark.parametrize(("slot", "option"), SAID, ids=lambda v: v)
def test_eight_ways_to_say_each_option(slot, option):
    assert len(SAID[slot, option]) >= 8
    missed = [text for text in SAID[slot, option] if polarity(item(slot, option), text) is not Polarity.ACCEPTS]
    assert not missed


@pytest.mark.parametrize(("slot", "option"), SAID, ids=lambda v: v)
def test_no_way_to_say_it_says_a_sibling(slot, option):
    for other in SLOTS[slot][1]:
        if other != option:
            wrong = [text for text in SAID[slot, option] if polarity(item(slot, other), text) is Polarity.ACCEPTS]
            assert not wrong, other


def test_every_option_has_its_ways():
    assert set(SAID) == {(slot, option) for slot, (_, table) in SLOTS.items() for option in table}


@pytest.mark.parametrize("slot", ASKED)
def test_ten_ways_to_ask(slot):
    topics = {"cost": rules.COST_ASKING, "threshold": rules.THRESHOLD_ASKING, **{name: asking for name, (asking, _) in SLOTS.items()}}[
        slot
    ].topics
    assert len(ASKED[slot]) >= 10
    missed = [text for text in ASKED[slot] if not asks_about(topics, text)]
    assert not missed


@pytest.mark.parametrize(
    "text",
    [
        "sell at a 10% fall from entry",
        "a stop-loss of ten percent",
        "the stop is 0.10",
        "stop at 1000 bps below entry",
        "stop: 10 %",
        "a tenth below the entry price",
    ],
)
def test_a_value_in_any_notation(text):
    assert polarity(threshold("position_stop", 10), text) is Polarity.ACCEPTS
    assert polarity(threshold("position_stop", 12), text) is Polarity.CONTRADICTS


@pytest.mark.parametrize(
    "text",
    [
        "15 basis points per side",
        "costs of 0.15%",
        "15bps a side",
        "fees: fifteen bp per trade",
        "transaction costs of 15 bps",
        "0.0015 per side",
    ],
)
def test_a_cost_in_any_notation(text):
    assert polarity(cost(15), text) is Polarity.ACCEPTS
    assert polarity(cost(10), text) is Polarity.CONTRADICTS


@pytest.mark.parametrize(
    ("of", "text"),
    [
        (threshold("position_stop", 10), "no position exceeds a 10% cap"),
        (threshold("position_stop", 10), "the stop was triggered 10 times"),
        (threshold("drawdown_to_cash", 20), "we hold 20 names"),
        (cost(10), "the band is 10% wide"),
        (item("factor", "low_vol"), "positions are sized by inverse volatility"),
        (item("factor", "low_vol"), "out of the market in a low volatility regime"),
        (item("factor", "mom_12_1"), "in the market while the index's 12-month return is positive"),
        (item("factor", "small_size"), "weights by market cap"),
        (item("schedule", "monthly"), "the table of monthly returns"),
        (item("schedule", "weekly"), "one-week reversal, also called weekly reversal"),
    ],
)
def test_what_belongs_to_something_else_is_no_match(of, text):
    assert polarity(of, text) is not Polarity.ACCEPTS


@pytest.mark.parametrize(
    ("slot", "option", "text", "expected"),
    [
        ("schedule", "monthly", "We do not rebalance monthly.", Polarity.CONTRADICTS),
        ("schedule", "weekly", "Weekly, not monthly.", Polarity.ACCEPTS),
        ("schedule", "monthly", "Weekly instead of monthly.", Polarity.CONTRADICTS),
        ("weighting", "equal", "Positions are sized by risk parity rather than equal weights.", Polarity.CONTRADICTS),
        ("covariance", "sample", "The covariance is shrunk (Ledoit-Wolf).", Polarity.CONTRADICTS),
    ],
)
def test_negation_and_alternatives(slot, option, text, expected):
    assert polarity(item(slot, option), text) is expected
