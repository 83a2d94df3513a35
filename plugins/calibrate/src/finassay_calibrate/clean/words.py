"""What the investor and the agent say, and the rules in words: each item of the belief stands in the delivery in its own sentence."""

from finassay.api.strategy import Belief, Item, Universe
from finassay_calibrate.clean.draft import Rule
from finassay_reference.delivered.engine.strategy import Strategy as Settings

COMPONENTS = {
    "stock": "Stock selection",
    "timing": "Market timing",
    "portfolio": "Portfolio construction",
    "risk": "Risk control",
    "execution": "Execution",
    "cost": "Transaction cost",
}
ASKED = {
    "stock": "How should the stocks be picked and ranked, and if there are several signals, how are they put together?",
    "timing": "Should the portfolio step out of the market at times, or stay invested?",
    "portfolio": "How should the positions be sized?",
    "risk": "Do you want a stop or another risk rule, and at what level?",
    "execution": "How often should it trade?",
    "cost": "Which trading costs should be counted?",
}
DEFINED = {
    "mom_12_1": "return from t-252 to t-21 sessions, high is good",
    "mom_6_1": "return from t-126 to t-21 sessions, high is good",
    "high_52w": "close divided by the highest close of 252 sessions, high is good",
    "rev_5d": "return of the last 5 sessions, low is good",
    "rev_21d": "return of the last 21 sessions, low is good",
    "low_vol": "standard deviation of daily returns over 60 sessions, low is good",
    "low_beta": "beta of daily returns to the S&P 500 over 252 sessions, low is good",
    "earnings_yield": "earnings of the last four announced quarters divided by price, high is good",
    "book_to_market": "announced book value per share divided by price, high is good",
    "roe": "announced return on equity of the latest quarter, a year, high is good",
    "gross_profitability": "announced gross profit divided by total assets, high is good",
    "sales_growth": "announced revenue of the quarter against the same quarter of the year before, high is good",
    "eps_growth": "announced earnings per share against the same quarter of the year before, high is good",
    "small_size": "market capitalisation at the close, low is good",
    "earnings_surprise": "announced earnings per share less the estimate, over the size of the estimate, high is good",
}


def rules(belief: Belief, settings: Settings) -> list[Rule]:
    """The rule table: a row for every voiced item, and rows that say 'none' where nothing is voiced."""
    rows = [Rule(COMPONENTS[item.component], item.id.split(":")[-1], _rule(item, settings), item=item.id) for item in belief.items]
    rows.append(
        Rule("Stock selection", "list", f"hold the top {settings.slots} by score; ties go to the first in the alphabet", "my default")
    )
    rows += [
        Rule(COMPONENTS[item.component], "none", item.sentence, "you", item.id)
        for item in belief.absent
        if not any(voiced.component == item.component for voiced in belief.items)
    ]
    return rows


def _rule(item: Item, settings: Settings) -> str:
    detail = DEFINED.get(item.id.removeprefix("stock.factor:"), "")
    if item.id == "execution.schedule:drift_band":
        detail = f"a band of {settings.band * 100:g} percentage points, checked at every close"
    elif item.id == "execution.schedule:on_event":
        detail = "a name of the list is bought at the close after the day of its own announcement; names that left the list are sold on the same occasions"
    elif item.id == "portfolio.weighting:mean_variance":
        detail = f"maximise w'm - {settings.risk_aversion:g} w'Cw over {settings.cov_window} sessions, long only, no name above {settings.max_weight:.0%}"
    elif item.id == "portfolio.weighting:inverse_vol":
        detail = f"standard deviation of daily returns over {settings.vol_window} sessions"
    elif item.id.startswith("portfolio.covariance"):
        detail = f"daily returns of the picks over {settings.cov_window} sessions"
    elif item.id == "risk.option:vol_target":
        detail = f"exposure = min(1, target / estimate), the estimate from the picks at their weights over {settings.vol_window} sessions"
    elif item.id == "risk.option:sector_cap":
        detail = "a sector above the cap is scaled down to it, the rest stays in cash"
    elif item.id == "risk.option:drawdown_to_cash":
        detail = "re-entry at the first scheduled decision at least 21 sessions later, where the reference high restarts"
    elif item.id == "timing.option:index_ma":
        detail = f"the S&P 500 and its average of {settings.ma_window} sessions, checked at every close"
    elif item.id == "timing.option:breadth":
        detail = f"each name against its own average of {settings.ma_window} sessions, checked at every close"
    return item.sentence + (f" ({detail})" if detail else "")


def opening(belief: Belief, universe: Universe, cutoff: str) -> str:
    liked = [item.opening for item in belief.items if item.id in belief.opening]
    return f"I like {' and '.join(liked)}. Could you test that for me on {universe.text}? Use no data after {cutoff}."


def questions(belief: Belief) -> list[str]:
    return [ASKED[component] for component in COMPONENTS]


def answers(belief: Belief) -> list[str]:
    """One sentence for every item and for every absent component."""
    said = [f"I want to {item.sentence}." for item in belief.items]
    voiced = {item.component for item in belief.items}
    return said + [f"I want to {item.sentence}." for item in belief.absent if item.component not in voiced]
