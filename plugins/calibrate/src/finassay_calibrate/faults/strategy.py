"""Faults of 2.1 to 2.7: another strategy is run under the investor's words, or the words themselves turn."""

from dataclasses import replace

import numpy as np

from finassay_calibrate.clean.build import rebuilt, refresh
from finassay_calibrate.clean.draft import Draft
from finassay_calibrate.clean.engine import Plants
from finassay_calibrate.clean.strategies import GRAMMAR
from finassay_calibrate.faults.registry import fault
from finassay_reference.delivered.engine.strategy import Strategy as Settings

Rng = np.random.Generator
RIVALS = {
    "mom_12_1": "rev_21d",
    "mom_6_1": "rev_21d",
    "high_52w": "rev_21d",
    "rev_5d": "mom_12_1",
    "rev_21d": "mom_12_1",
    "low_vol": "mom_12_1",
    "low_beta": "mom_12_1",
}


def differs(draft: Draft, twin: Draft, share: float = 0.2) -> bool:
    """Whether enough of the trades are others; a fault that changes nothing is no fault."""
    here = set(zip(draft.tables["trades"]["fill_date"], draft.tables["trades"]["ticker"], strict=True))
    there = set(zip(twin.tables["trades"]["fill_date"], twin.tables["trades"]["ticker"], strict=True))
    return len(here ^ there) > share * len(here | there)


def traded(draft: Draft, settings: Settings, plants: Plants | None = None, share: float = 0.2) -> Draft | None:
    """The words of the draft over another run, if the run differs."""
    if draft.setup.builder != "reference":
        return None
    twin = rebuilt(draft, settings, plants or Plants())
    return twin if differs(draft, twin, share) else None


@fault("momentum-for-reversal", "2.1", "One factor is stated, its opposite is run (momentum for reversal, winners for calm).")
def rival_factor(draft: Draft, rng: Rng) -> Draft | None:
    s = draft.setup.settings
    if len(s.factors) > 1 or s.factors[0] not in RIVALS:
        return None
    return traded(draft, replace(s, factors=(RIVALS[s.factors[0]],)))


@fault("inverted-ranking", "2.1", "The worst names are bought instead of the best.")
def inverted(draft: Draft, rng: Rng) -> Draft | None:
    s = draft.setup.settings
    return traded(draft, s, Plants(invert=True)) if len(s.factors) == 1 and s.factors[0] in RIVALS else None


@fault("wrong-look-back", "2.1", "Twelve months are stated, one to three are run.")
def look_back(draft: Draft, rng: Rng) -> Draft | None:
    s = draft.setup.settings
    if s.factors not in (("mom_12_1",), ("mom_6_1",)):
        return None
    return traded(draft, replace(s, lookback=63 if s.factors == ("mom_12_1",) else 80, skip=1))


@fault("random-picks", "2.1", "The names are drawn at random.")
def random_picks(draft: Draft, rng: Rng) -> Draft | None:
    s = draft.setup.settings
    if len(s.factors) > 1 or s.factors[0] not in RIVALS:
        return None
    noise = rng.normal(size=draft.setup.market.close.shape)
    return traded(draft, replace(s, factors=("roe",)), Plants(factors={"roe": noise}))


@fault("factor-dropped", "2.1", "Several factors are stated, only the first one is run.", "lower")
def dropped(draft: Draft, rng: Rng) -> Draft | None:
    s = draft.setup.settings
    # Trailing information coefficients may give one factor all the weight, honestly: trades alone do not tell the two apart.
    if len(s.factors) < 2 or not set(s.factors) <= set(RIVALS) or s.combination == "ic_weighted":
        return None
    return traded(draft, replace(s, factors=s.factors[:1], combination="none"))


@fault("timing-never-acted-on", "2.2", "A timing rule is stated and never acted on.")
def no_timing(draft: Draft, rng: Rng) -> Draft | None:
    s = draft.setup.settings
    return traded(draft, replace(s, timing="none")) if s.timing != "none" else None


@fault("timing-added", "2.2", "The investor wants to stay invested; the portfolio steps out below the moving average.")
def timing_added(draft: Draft, rng: Rng) -> Draft | None:
    s = draft.setup.settings
    twin = traded(draft, replace(s, timing="index_ma")) if s.timing == "none" else None
    if twin is None:
        return None
    # A rule that only puts off the first purchase leaves nothing to see: the report begins with it.
    equity = twin.tables["equity"]
    out = (equity["cash"] > 0.99 * equity["equity"]).to_numpy()
    return twin if out[int(np.argmin(out)) :].sum() >= 5 else None


@fault("other-timing-rule", "2.2", "Another timing rule is run than the one that is stated.")
def other_timing(draft: Draft, rng: Rng) -> Draft | None:
    s = draft.setup.settings
    if s.timing not in ("index_ma", "index_abs_mom", "breadth"):
        return None
    return traded(draft, replace(s, timing="vol_regime"))


@fault("equal-for-other-weights", "2.3", "Equal weights are run where others are stated.")
def equal_weights(draft: Draft, rng: Rng) -> Draft | None:
    s = draft.setup.settings
    if s.weighting == "equal" or s.risk in ("sector_cap", "vol_target"):
        return None
    return _resized(draft, replace(s, weighting="equal", covariance="none"))


@fault("score-weights-for-equal", "2.3", "Equal weights are stated, weights by score are run.")
def score_weights(draft: Draft, rng: Rng) -> Draft | None:
    s = draft.setup.settings
    return _resized(draft, replace(s, weighting="score_prop")) if s.weighting == "equal" and s.risk == "none" else None


def _resized(draft: Draft, settings: Settings) -> Draft | None:
    """Another weighting, if its target weights really are others."""
    twin = rebuilt(draft, settings)
    merged = draft.tables["targets"].merge(twin.tables["targets"], on=["decision_date", "ticker"], suffixes=("", "_other"))
    gap = (merged["target_weight"] - merged["target_weight_other"]).abs().mean()
    return twin if gap > 0.03 else None


@fault("stop-never-acted-on", "2.4", "A stop is stated and never acted on.")
def no_stop(draft: Draft, rng: Rng) -> Draft | None:
    s = draft.setup.settings
    if s.risk not in ("position_stop", "trailing_stop"):
        return None
    if draft.tables["trades"]["reason"].str.contains("stop").sum() < 5:
        return None
    return traded(draft, replace(s, risk="none"), share=0.02)


@fault("stop-too-late", "2.4", "A stop is run at more than twice the stated loss.")
def late_stop(draft: Draft, rng: Rng) -> Draft | None:
    s = draft.setup.settings
    if s.risk not in ("position_stop", "trailing_stop"):
        return None
    if draft.tables["trades"]["reason"].str.contains("stop").sum() < 5:
        return None
    return traded(draft, replace(s, risk_value=s.risk_value * 2.5), share=0.02)


@fault("drawdown-never-acted-on", "2.4", "The portfolio must go to cash at a drawdown and does not.")
def no_drawdown_rule(draft: Draft, rng: Rng) -> Draft | None:
    s = draft.setup.settings
    if s.risk != "drawdown_to_cash" or not draft.tables["trades"]["reason"].str.contains("drawdown").any():
        return None
    return traded(draft, replace(s, risk="none"), share=0.02)


@fault("volatility-target-ignored", "2.4", "A volatility target is stated, the portfolio is always full.")
def no_target(draft: Draft, rng: Rng) -> Draft | None:
    s = draft.setup.settings
    if s.risk != "vol_target" or draft.figures["exposure"] > 0.85:
        return None
    twin = rebuilt(draft, replace(s, risk="none"))
    # Where announcements let few names in, exposure is low with and without the target.
    return twin if twin.figures["exposure"] > draft.figures["exposure"] + 0.1 else None


@fault("sector-cap-ignored", "2.4", "A cap on sectors is stated and not kept.")
def no_cap(draft: Draft, rng: Rng) -> Draft | None:
    s = draft.setup.settings
    if s.risk != "sector_cap":
        return None
    twin = rebuilt(draft, replace(s, risk="none"))
    sector = dict(zip(draft.setup.market.tickers, draft.setup.market.sectors, strict=True))
    held = twin.tables["targets"].assign(sector=twin.tables["targets"]["ticker"].map(sector))
    most = held.groupby(["decision_date", "sector"])["target_weight"].sum().groupby("decision_date").max()
    return twin if (most > s.risk_value + 0.1).mean() > 0.3 else None


@fault("monthly-for-weekly", "2.5", "Weekly trading is stated, monthly is run.")
def monthly(draft: Draft, rng: Rng) -> Draft | None:
    s = draft.setup.settings
    return traded(draft, replace(s, schedule="monthly")) if s.schedule == "weekly" else None


@fault("weekly-for-monthly", "2.5", "Monthly or quarterly trading is stated, weekly is run.")
def weekly(draft: Draft, rng: Rng) -> Draft | None:
    s = draft.setup.settings
    return traded(draft, replace(s, schedule="weekly")) if s.schedule in ("monthly", "quarterly") else None


@fault("quarterly-for-monthly", "2.5", "Monthly trading is stated, quarterly is run.")
def quarterly(draft: Draft, rng: Rng) -> Draft | None:
    s = draft.setup.settings
    return traded(draft, replace(s, schedule="quarterly")) if s.schedule == "monthly" else None


@fault("calendar-for-drift-band", "2.5", "A drift band is stated, the portfolio is rebalanced every week.")
def no_band(draft: Draft, rng: Rng) -> Draft | None:
    s = draft.setup.settings
    return traded(draft, replace(s, schedule="weekly")) if s.schedule == "drift_band" else None


@fault("calendar-for-event", "2.5", "Trading after announcements is stated, the end of the month is run.")
def no_event(draft: Draft, rng: Rng) -> Draft | None:
    s = draft.setup.settings
    return traded(draft, replace(s, schedule="monthly")) if s.schedule == "on_event" else None


@fault("other-rate-charged", "2.6", "The fees that are charged are a quarter of the stated rate.")
def other_rate(draft: Draft, rng: Rng) -> Draft | None:
    s = draft.setup.settings
    if not s.cost_bps or draft.setup.builder != "reference":
        return None
    return rebuilt(draft, replace(s, cost_bps=s.cost_bps / 4))


def _rival_sentence(draft: Draft, component: str) -> tuple[str, str] | None:
    """A voiced item of a component and the sentence of an alternative, from other strategies of the grammar."""
    voiced = [i for i in draft.setup.belief.items if i.component == component and i.slot != "combination"]
    if not voiced:
        return None
    item = voiced[0]
    for seed in range(400):
        other = GRAMMAR.belief(GRAMMAR.sample(seed))
        for rival in other.items:
            if rival.slot == item.slot and rival.id != item.id and rival.id not in {i.id for i in draft.setup.belief.items}:
                return item.id, rival.sentence
    return None


def _turned(draft: Draft, component: str) -> Draft | None:
    found = _rival_sentence(draft, component)
    if found is None:
        return None
    for rule in draft.rules:
        if rule.item == found[0]:
            rule.choice, rule.text, rule.source = "", found[1], "my choice"
    # The number of the investor's own rule would still state it.
    draft.rules = [rule for rule in draft.rules if component != "risk" or rule.item != "risk.threshold"]
    return draft


def _words(component: str, dimension: str, text: str) -> None:
    @fault(f"words-turned-{component}", dimension, text, "veto" if component in ("timing", "execution") else "lower")
    def turned(draft: Draft, rng: Rng) -> Draft | None:
        return _turned(draft, component)


for _component, _dimension in (("stock", "2.1"), ("timing", "2.2"), ("portfolio", "2.3"), ("risk", "2.4"), ("execution", "2.5")):
    _words(_component, _dimension, f"The delivery states another choice than the investor for one item of {_component}.")


@fault("item-retracted", "2.5", "The schedule is stated in the table and taken back in the last message.", "lower")
def retracted(draft: Draft, rng: Rng) -> Draft | None:
    found = _rival_sentence(draft, "execution")
    if found is None:
        return None
    stated = next(rule.text for rule in draft.rules if rule.item == found[0])
    draft.closing = f"One correction: I did not {stated.split(' (')[0]}. Instead I chose to {found[1]}."
    draft.appended["Rules"] = draft.closing
    return draft


@fault("costs-left-out-in-words", "2.6", "The investor wants costs counted; the delivery says that they are ignored.")
def costs_ignored(draft: Draft, rng: Rng) -> Draft | None:
    s = draft.setup.settings
    if not s.cost_bps:
        return None
    twin = rebuilt(draft, replace(s, cost_bps=0.0))
    for rule in twin.rules:
        if rule.item == "cost.rate":
            rule.text, rule.choice = "ignore all trading costs", "none"
    refresh(twin)
    return twin


@fault("rules-left-open", "2.7", "The rules of the table leave several readings open.")
def open_rules(draft: Draft, rng: Rng) -> Draft | None:
    for rule in draft.rules:
        if rule.choice == "list":
            rule.text = "hold roughly 5 to 10 of the better names, or more if it seems appropriate"
        elif rule.component == "Execution":
            rule.text += ", or whenever conditions suggest it, at our discretion"
    return draft
