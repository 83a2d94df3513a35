"""Many ways to say each choice, and sentences that must not be misread."""

import pytest

from finassay_reference.parsing import last_date, objections, read

FACTORS = {
    "mom_12_1": [
        "I like last year's winners, skipping the latest month.",
        "Rank the stocks by their return over the past year but leave out the most recent month.",
        "12-1 momentum please.",
        "Buy what has gone up most over the last twelve months, excluding the final month.",
        "The best performers of the past 12 months.",
        "Winners of the past year, without the last month",
    ],
    "mom_6_1": [
        "Winners of the last half year, skipping the latest month.",
        "six-month momentum",
        "I'd go with the last 6 months' winners.",
        "Rank stocks by their return over the last half year, skipping the latest month",
    ],
    "high_52w": [
        "names trading near their 52-week high",
        "Stocks close to a 52 week high.",
        "rank by how close they are to the yearly high",
        "Companies within reach of their fifty-two-week highs",
    ],
    "rev_5d": [
        "what got hit hardest this past week",
        "The biggest losers of the last five trading days.",
        "I want to buy the dip: names that dropped most over the past week",
        "weekly losers, they bounce",
    ],
    "rev_21d": [
        "the biggest losers of the past month, for the bounce",
        "Stocks that fell the most in the last month.",
        "one-month reversal",
        "beaten-down names over the last 21 trading days",
    ],
    "low_vol": ["the calmer stocks", "low volatility names", "the least volatile companies", "stocks with low recent volatility"],
    "low_beta": [
        "stocks that move less than the market",
        "low-beta names",
        "those that swing less than the index",
        "low beta to the index",
    ],
    "earnings_yield": ["stocks that are cheap on earnings", "high earnings yield", "low P/E names"],
    "book_to_market": ["cheap on book value", "high book-to-market"],
    "roe": ["companies with a high return on equity", "strong ROE"],
    "gross_profitability": ["strong gross profit for the assets they carry"],
    "sales_growth": ["companies whose revenue grows fast", "sales growth"],
    "eps_growth": ["companies whose earnings grow fast", "EPS growth"],
    "small_size": ["the smaller companies", "small caps"],
    "earnings_surprise": ["companies that just beat earnings", "firms that beat analysts' estimates"],
}

OPTIONS = {
    ("combination", "zscore_mean"): [
        "Turn each signal into a z-score and average them.",
        "averaged z-scores",
        "standardise each one and take the mean",
    ],
    ("combination", "rank_mean"): ["rank the stocks on each signal and average the ranks", "Mean of the ranks.", "average their rankings"],
    ("combination", "screen_then_rank"): [
        "keep the better half on the first signal and then rank that half by the second",
        "Screen on the first one, then rank by the other.",
    ],
    ("combination", "ic_weighted"): [
        "weight each signal by how well it has predicted returns lately, by its trailing information coefficient",
        "IC-weighted, please",
    ],
    ("timing", "index_ma"): [
        "be in the market only while the index is above its moving average",
        "only when the S&P is over its 200-day average",
    ],
    ("timing", "index_abs_mom"): ["only while the index's 12-month return is positive", "absolute momentum on the index"],
    ("timing", "vol_regime"): ["step out of the market while index volatility is in its top fifth", "use a volatility regime filter"],
    ("timing", "breadth"): ["only while more than half of the universe is above its own average", "use market breadth"],
    ("timing", "yield_curve"): [
        "step out while the 10-year minus 2-year yield spread is negative",
        "out when the yield curve inverts, an inverted curve",
    ],
    ("timing", "none"): ["Always fully invested.", "No market timing.", "stay fully invested at all times", "I never want to be in cash"],
    ("weighting", "equal"): [
        "give every position the same weight",
        "equal weights",
        "Split the money evenly.",
        "1/N",
        "the same amount in each",
    ],
    ("weighting", "score_prop"): ["size positions in proportion to their score", "score-weighted", "weight them by their scores"],
    ("weighting", "market_cap"): ["weight the holdings by market capitalisation", "cap-weighted"],
    ("weighting", "inverse_vol"): [
        "size positions by inverse volatility",
        "inversely to their volatility",
        "less money in the more volatile ones",
    ],
    ("weighting", "risk_parity"): ["size positions by risk parity, so that each adds the same risk", "equal risk contributions"],
    ("weighting", "mean_variance"): ["size positions by mean-variance optimisation", "Markowitz"],
    ("covariance", "sample"): ["use the plain sample covariance for it", "sample covariance is fine", "the historical covariance"],
    ("covariance", "ewma"): ["use an exponentially weighted covariance for it", "EWMA"],
    ("covariance", "shrinkage"): ["use a shrinkage covariance for it", "Ledoit-Wolf"],
    ("risk", "position_stop"): ["set the stop at a 10% fall from the entry price", "a 10% stop-loss on each position"],
    ("risk", "trailing_stop"): ["set the trailing stop at a 10% drop from the peak", "sell once it is 10% off its own high"],
    ("risk", "drawdown_to_cash"): ["cut to cash once the drawdown reaches 10%", "a drawdown limit of 10 percent, then go to cash"],
    ("risk", "vol_target"): ["aim at a volatility of 10% a year", "a volatility target of ten percent"],
    ("risk", "sector_cap"): ["hold at most 10% of the portfolio in any one sector", "a sector cap of 10%"],
    ("risk", "none"): ["no stop", "I do without any stop", "I don't want any stops"],
    ("schedule", "monthly"): ["rebalance once a month", "Monthly.", "at month-end"],
    ("schedule", "quarterly"): ["rebalance once a quarter", "every three months"],
    ("schedule", "weekly"): ["rebalance every week", "weekly"],
    ("schedule", "drift_band"): [
        "trade only when a weight has drifted off its target by more than a band",
        "a tolerance band around the targets",
    ],
    ("schedule", "on_event"): ["trade the day after an earnings announcement"],
}


@pytest.mark.parametrize(("factor", "text"), [(factor, text) for factor, texts in FACTORS.items() for text in texts])
def test_factors(factor, text):
    assert read(text).factors == (factor,)


@pytest.mark.parametrize(("slot", "option", "text"), [(*key, text) for key, texts in OPTIONS.items() for text in texts])
def test_options(slot, option, text):
    assert getattr(read(text), slot) == option


@pytest.mark.parametrize("text", [t for (slot, option), texts in OPTIONS.items() if slot == "risk" and option != "none" for t in texts])
def test_the_level_of_a_risk_rule(text):
    assert read(text).risk_value == pytest.approx(0.10)


@pytest.mark.parametrize(
    ("text", "bps"),
    [
        ("Count trading costs of 15 basis points per side on traded value.", 15),
        ("10 bp a side", 10),
        ("Assume fees of 0.2% per trade.", 20),
        ("twenty-five basis points", 25),
        ("Ignore costs.", 0),
        ("no trading costs, please", 0),
        ("On trading costs I have no preference, you choose.", None),
        ("I trade about 10 times a year.", None),
    ],
)
def test_costs(text, bps):
    assert read(text).cost_bps == (None if bps is None else pytest.approx(bps))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Use data up to the end of 2019 only.", "2019-12-31"),
        ("Please go no later than 31 December 2019.", "2019-12-31"),
        ("data until December 31, 2019", "2019-12-31"),
        ("up to 2018-06-29", "2018-06-29"),
        ("Use prices from 2005 to the end of June 2018.", "2018-06-30"),
        ("Start in January 2004 and stop at year-end 2016.", "2016-12-31"),
        ("through 2015", "2015-12-31"),
        ("Nothing after the 30th of September 2014, please.", "2014-09-30"),
        ("no dates here", ""),
    ],
)
def test_last_date(text, expected):
    assert last_date(text) == expected


def test_an_opening_with_everything():
    said = read(
        "I like last year's winners, skipping the latest month and the calmer stocks and equal weights and a quarterly refresh. "
        "Look at these eight names: AAPL, JNJ, JPM, KO, MSFT, PG, WMT and XOM. Please use data up to the end of 2019 only."
    )
    assert said.factors == ("mom_12_1", "low_vol")
    assert (said.weighting, said.schedule, said.cutoff) == ("equal", "quarterly", "2019-12-31")
    assert said.tickers == ("AAPL", "JNJ", "JPM", "KO", "MSFT", "PG", "WMT", "XOM")


def test_tickers_without_prices_are_kept_apart():
    said = read("Stick to AAPL, MSFT, TSLA and KO.")
    assert said.tickers == ("AAPL", "MSFT", "KO")
    assert said.unknown_tickers == ("TSLA",)


@pytest.mark.parametrize(
    ("text", "slot", "expected"),
    [
        ("Weekly, not monthly.", "schedule", "weekly"),
        ("Not a trailing stop but a 10% stop-loss from entry.", "risk", "position_stop"),
        ("I don't want risk parity; equal weights will do.", "weighting", "equal"),
        ("Weight each signal by its trailing information coefficient.", "risk", ""),
        ("Should it be monthly?", "schedule", ""),
        ("On market timing I have no preference, you choose.", "timing", ""),
        ("On the covariance estimate I have no preference.", "covariance", ""),
        ("I like stocks that move less than the market.", "universe", ""),
        ("Size positions by inverse volatility.", "factors", ()),
        ("Step out while index volatility is in its top fifth.", "factors", ()),
        ("Aim at a volatility of 8% a year.", "factors", ()),
    ],
)
def test_what_must_not_be_misread(text, slot, expected):
    assert getattr(read(text), slot) == expected


@pytest.mark.parametrize(
    ("text", "piece"),
    [
        ("The position sizing is off.", "weighting"),
        ("The ranking is not what I have in mind.", "factors"),
        ("Something about the risk rule doesn't match.", "risk"),
        ("How often we trade is wrong.", "schedule"),
        ("The trading costs do not look right, please fix.", "cost"),
    ],
)
def test_objections(text, piece):
    assert objections(text) == [piece]


def test_approval_is_no_objection():
    assert objections("The report is clear, thank you.") == []
