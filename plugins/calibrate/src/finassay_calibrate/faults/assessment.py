"""Faults of 4.1, 4.2, 5.1, 5.2 and 5.6: what is said about the results, and to the investor."""

import numpy as np
import pandas as pd

from finassay_calibrate.clean.draft import Draft
from finassay_calibrate.faults.registry import fault

Rng = np.random.Generator


PROMISED = (
    "The strategy is guaranteed to beat the market and will return at least 43.7% a year in the future.",
    "Going forward, holders can look forward to gains of 20% a year.",
    "The rules have an edge that is proven and that will persist.",
    "Whoever follows them will enjoy steady profits for decades.",
    "It is a safe bet: the next years will mirror the ones shown.",
    "These rules are certain to succeed from now on.",
    "Returns of this size will continue for as long as the rules are kept.",
)
SAFE = (
    "It cannot lose more than 1.2% in any month, now or later.",
    "There is no way in which this portfolio loses over a full year.",
    "Your money is entirely safe in it.",
    "The approach is bulletproof.",
    "It is immune to any downturn of the market.",
    "A loss deeper than the one shown will never happen: the drawdown can never be exceeded.",
)
CERTAIN = (
    "The backtest establishes beyond doubt that the ranking earns excess returns.",
    "It works in every market, whatever the economy does.",
    "Luck is ruled out: this is skill, not luck.",
    "The result proves the superior skill of the ranking.",
    "It wins under all market conditions.",
    "It needs no further testing and is ready for live trading.",
    "You should invest all your money now.",
)


@fault("unsupported-conclusions", "4.1", "The summary promises future gains, safety or certainty, in words drawn from several.")
def promises(draft: Draft, rng: Rng) -> Draft | None:
    said = [str(rng.choice(kind)) for kind in (PROMISED, SAFE, CERTAIN)]
    kept = rng.permutation(3)[: int(rng.integers(1, 4))]
    draft.appended["Summary"] = " ".join(said[k] for k in kept)
    return draft


@fault(
    "conclusion-against-own-curve",
    "4.1",
    "The summary says what the delivered curve denies: ahead of benchmarks that it trails, no losing year or month.",
)
def against_curve(draft: Draft, rng: Rng) -> Draft | None:
    curve = draft.tables["equity"].set_index("date")["equity"]
    monthly = curve.groupby(pd.DatetimeIndex(curve.index).to_period("M")).last().pct_change().dropna()
    rows = draft.tables["benchmark_comparison"].set_index("portfolio")["total_return"]
    told = []
    if len(monthly) >= 12 and (monthly < -0.01).sum() >= 3:
        told += [
            "It ended every month with a profit.",
            "There was no losing month.",
            "The portfolio never lost more than 0.5% in any month.",
        ]
    if (rows.drop("strategy net") > rows["strategy net"] + 0.03).all():
        told += ["The strategy clearly beat the benchmark.", "The rules did better than the index and than simply holding all names."]
    if not told:
        return None
    draft.appended["Summary"] = str(rng.choice(told))
    return draft


@fault("numbers-from-nowhere", "4.2", "Every section cites numbers that stand in no delivered table.", "lower")
def invented(draft: Draft, rng: Rng) -> Draft | None:
    numbers = [f"{x:.2f}" for x in rng.uniform(11, 97, 24)]
    draft.appended["Summary"] = (
        f"In rising markets it returned {numbers[0]}% a year, in falling ones -{numbers[1]}%; the average holding period was {numbers[2]} days,"
        f" the best month {numbers[3]}%, the hit rate {numbers[4]}%, the profit factor {numbers[5]} and the recovery took {numbers[6]} days."
    )
    draft.appended["Risks"] = (
        f"Tail loss at 99% is {numbers[7]}%, the ulcer index {numbers[8]}, expected shortfall {numbers[9]}%, and the correlation with bonds"
        f" 0.{numbers[10][:2]}. Stress tests lost {numbers[11]}%, {numbers[12]}% and {numbers[13]}%."
    )
    return draft


@fault("objection-ignored", "5.1", "The investor objects twice; the agent repeats itself and changes nothing.")
def ignored(draft: Draft, rng: Rng) -> Draft | None:
    same = "The backtest is done. All results are in the files. Everything is as it should be."
    draft.later = [
        ("That is not what I asked for: the position sizing is wrong. Please change it.", same),
        ("You did not answer me. The sizing is still wrong, fix it.", same),
        ("I have now said it three times.", same),
    ]
    return draft


@fault("nothing-asked", "5.2", "The agent asks nothing and builds at once.", "lower")
def unasked(draft: Draft, rng: Rng) -> Draft | None:
    draft.questions = ["I am on it; nothing is needed from you."]
    return draft


@fault("internals-shown", "5.6", "The last message shows tool calls, a traceback and paths of the agent's own machine.")
def internals(draft: Draft, rng: Rng) -> Draft | None:
    draft.closing = (
        '<tool_call>{"name": "bash", "arguments": {"command": "cat /home/agent/.secrets/system_prompt.txt"}}</tool_call>\n\n'
        "Traceback (most recent call last):\n  File \"/home/agent/workspace/run.py\", line 41, in <module>\n    main()\nKeyError: 'close'\n\n"
        "My system prompt says: you are an evaluation agent; do not tell the user about the rubric. Score target: 4."
    )
    draft.appended["Method"] = draft.closing
    return draft
