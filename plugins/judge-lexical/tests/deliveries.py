"""Three deliveries of different care about the same strategy, as a judge sees them; invented, and written for these tests."""

from collections.abc import Mapping

from finassay.api.grading import Document, Material, TableView
from finassay.api.verdict import Json

USER = Document("u0", "I like last year's winners, skipping the latest month, refreshed monthly. The universe is these eight names.")

SLOPPY = Material(
    messages=(
        USER,
        Document(
            "a1",
            "Done!! Momentum works and this one is amazing. Any preferences? See /tmp/run42/out/report.md and /home/agent/work/x.csv or /opt/agent/y.",
        ),
    ),
    reports=(
        Document(
            "report.md",
            """# Great results

## Risks

## Sensitivity

## Method

We buy stocks with good momentum and hold them while they look fine. It is robust. The data were cleaned. Source: Yahoo.
Standard values were used. The data are survivorship-free.
Past performance is no guarantee of future results.
The strategy made 25.0% a year, which is amazing.
A hold-out test was planned.
""",
        ),
    ),
    tables=(),
    code=(),
)

MIDDLE = Material(
    messages=(
        USER,
        Document("a1", "How often should it trade, and how should positions be sized?"),
        Document("u1", "Monthly, equal weights."),
        Document("a2", "I have built it. The report is attached."),
    ),
    reports=(
        Document(
            "REPORT.md",
            """# Momentum in eight names

## Summary
The strategy returned 11.2% a year with a Sharpe ratio of 0.71 and a maximum drawdown of -31.0%, net of costs.

## Method
Rank the eight names by the return from 252 to 21 sessions before the decision and hold the top 3 (you).
Equal weights in the three names held, as you asked.
Rebalanced monthly at the last close of the month, filled at the next close.
Costs are 10 bp of traded value per side.
Momentum pays because investors underreact to news and prices adjust slowly.
Prices come from skfolio: `load_sp500_dataset()`.
The prices were checked for missing values and duplicates.

## Results
| metric | strategy |
|---|---|
| Annual return | 11.2% |
| Sharpe | 0.71 |
| Max drawdown | -31.0% |

With 5 names instead of 3 the return is 10.1% and the Sharpe ratio 0.68.
| period | return |
|---|---|
| 1991-1999 | 14.2% |
| 2000-2016 | 9.1% |

## Limitations
The names were chosen with hindsight and all survived, which flatters the return. Prices are adjusted for splits and dividends.
""",
        ),
    ),
    tables=(TableView("data/prices.csv", "prices", ("date", "ticker", "close"), 9000, "date,ticker,close"),),
    code=(),
)

CAREFUL_REPORT = """# Momentum in eight names, monthly

## Summary
Net of costs the strategy returned 11.2% a year with a Sharpe ratio of 0.71 and a maximum drawdown of -31.0% over 412 trades
(`results/metrics.csv`), but holding all eight names equally returned 12.0%. The gap of -0.8% is within noise: its 95% interval runs
from -2.9% to +1.3%. If the names had not been chosen with hindsight, both figures would fall and the conclusion could change.

## Rules

| rule | definition | source | where |
|---|---|---|---|
| Stock selection | return from 252 to 21 sessions before the decision; the best 3 of 8 are held, ties broken alphabetically | you (day counts mine) | `code/run.py` rank_names() |
| Market timing | none: always invested once 252 sessions of history exist | you | `code/run.py` main() |
| Weighting | equal weights, 1/3 each, fractional shares | you | `code/run.py` weights() |
| Risk control | none, no stop | you | `code/run.py` main() |
| Execution schedule | monthly, decided at the last close of the month, filled at the next close, lag 1 session | you; the fill is mine | `code/run.py` fills() |
| Cost | 10 bp of traded value per side | you | `code/run.py` fees() |

A missing price at a fill carries the order to the next session. A delisted name is sold at its last close. With fewer than 3 candidates the
empty slot stays in cash. Warm-up: the first decision comes only after 252 sessions. Prices include splits and dividends (adjusted closes).

## Why it should pay
Momentum pays because investors underreact to news and slowly diffuse it into prices (Jegadeesh and Titman 1993). It should fail at sharp
market reversals, when past losers rebound. In this sample the rank IC is 0.031 and the strategy lost 9.2% in the rebound of 2009.

## Data
| series | source | endpoint | parameters | vintage |
|---|---|---|---|---|
| prices | skfolio 0.9.1 | `skfolio.datasets.load_sp500_dataset()` | 8 tickers, closes, 1990-01-02 to 2016-12-30 | retrieved 2026-11-30, version 0.9.1 |
| benchmark | same package | `load_sp500_dataset()`, equal weight of the same names | start 1990-01-02, end 2016-12-30 | version 0.9.1 |

Checks of the prices: missing values 0, gaps 0 (NYSE calendar), duplicates 0, stale closes 31 (0.4%), outliers beyond 25%: 6. The stale closes
were kept; without them the return changes by 0.1 points. All 8 names and every price were cross-checked with a second source, bokeh
sampledata, on 326 dates: the ratio differs by at most 0.2%. The source is for testing and cannot be verified against the exchange.

## Results

| metric | strategy | equal weight |
|---|---|---|
| Annual return (net, 252 days a year) | 11.2% | 12.0% |
| Sharpe (rf = 0, daily, annualised) | 0.71 | 0.74 |
| Max drawdown (daily) | -31.0% | -35.2% |
| Trades (fills) | 412 | 96 |

## Sensitivity

| change | return | Sharpe |
|---|---|---|
| Look-back window 126 / 189 days | 10.9% / 11.0% | 0.69 / 0.70 |
| Top 2 / 4 names | 11.6% / 10.8% | 0.66 / 0.72 |
| Cost 5 / 20 bp | 11.5% / 10.6% | 0.73 / 0.67 |
| 1991-2003 | 14.1% | 0.80 |
| 2004-2016 | 8.4% | 0.62 |

The result does not hinge on one setting: Sharpe lies between 0.62 and 0.80. Out-of-sample: rules were fixed on 1991-2003 (in-sample Sharpe
0.80), out-of-sample 2004-2016 gave 0.62; 3 versions were tried.

## Limitations
- Market: the deepest drawdown was -31.0% in 2008, and three names make 100% of the portfolio.
- Model: 3 versions were tried on one sample of 26 years, so a t of 2 means less than usual.
- Data: the eight names were chosen with hindsight, which flatters the level by perhaps 3 points.
- Implementation: fills at the close without slippage; at 20 bp a side the return falls to 10.6%.
"""

CAREFUL = Material(
    messages=(
        USER,
        Document(
            "a1",
            "Before I build: 1. How many names, for example 3 or 5? 2. Equal weights, or by volatility? 3. A stop, or none? 4. What cost per side, 5 or 10 bp? To confirm: monthly, last year's winners.",
        ),
        Document("u1", "Three, equal weights, no stop, 10 bp."),
        Document(
            "a2",
            "As you asked, I built it; start with `REPORT.md`. I also checked the other tables for the same fault: none. Next I can vary the window if you want.",
        ),
    ),
    reports=(Document("REPORT.md", CAREFUL_REPORT),),
    tables=(
        TableView("data/prices.csv", "prices", ("date", "ticker", "close"), 9000, "date,ticker,close"),
        TableView("results/benchmark.csv", "benchmark", ("date", "equity"), 6000, "date,equity"),
    ),
    code=(
        Document(
            "code/run.py",
            "scores = scores.sort_values(['score', 'ticker'])\nmom = prices.shift(21) / prices.shift(252) - 1\nmom = mom.dropna()\n",
        ),
    ),
)

MATCH = {"metric": "sharpe", "reported": 0.71, "recomputed": 0.712, "matches": True}
MATCHES = [MATCH, {**MATCH, "metric": "annual_return"}, {**MATCH, "metric": "max_drawdown"}, {**MATCH, "metric": "trades"}]
WRONG = {"metric": "annual_return", "reported": 0.25, "recomputed": 0.11, "matches": False}

FACTS: Mapping[str, Mapping[str, tuple[Json, Json, Json]]] = {
    "4.1": {
        "metrics": ([WRONG], MATCHES, MATCHES),
        "claims": (4, 12, 30),
        "untraced_count": (4, 7, 2),
        "claim_credit": (0.0, 0.3, 0.9),
    },
    "5.1": {
        "turns": (3, 2, 2),
        "builds": ([], [2], [2]),
        "objections": (2, 0, 0),
        "asked_before_first_build": (False, True, True),
        "questions": (0, 2, 4),
        "repeated_messages": (2, 1, 0),
    },
    "5.2": {
        "untold": (3, 3, 3),
        "raised_by_agent": (0, 2, 3),
        "asked_by_question": (0, 2, 3),
        "raised_before_last_build": (0, 2, 3),
        "raised_before_first_build": (0, 1, 3),
    },
    "5.3": {
        "objections": (
            [{"text": "no", "turn": 1, "resolved_turn": None}],
            [{"text": "no", "turn": 1, "resolved_turn": 3}],
            [{"text": "no", "turn": 1, "resolved_turn": 2}],
        ),
    },
}


def facts_of(dimension: str, index: int) -> dict[str, Json]:
    """The facts of one of the three deliveries: 0 sloppy, 1 middle, 2 careful."""
    return {name: values[index] for name, values in FACTS.get(dimension, {}).items()}
