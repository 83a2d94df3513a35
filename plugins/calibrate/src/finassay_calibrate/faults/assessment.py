"""Faults of 4.1, 4.2, 5.1, 5.2 and 5.6: what is said about the results, and to the investor."""

import numpy as np

from finassay_calibrate.clean.draft import Draft
from finassay_calibrate.faults.registry import fault

Rng = np.random.Generator


@fault("unsupported-conclusions", "4.1", "The report promises future gains and cites figures that nothing bears out.")
def promises(draft: Draft, rng: Rng) -> Draft | None:
    draft.appended["Summary"] = (
        "The strategy is guaranteed to beat the market and will return at least 43.7% a year in the future. It has proven alpha of 19.3% a"
        " year, it cannot lose more than 1.2% in any month, and it is certain to work in every market. You should invest all your money now."
    )
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
