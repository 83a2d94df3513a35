"""An agent that talks well and tests nothing: a polished report with invented figures, no data, no trades, no code."""

import hashlib
from pathlib import Path

from attrs import evolve

from finassay_reference.parsing import read, sentences
from finassay_reference.protocol import write_file
from finassay_reference.request import LAST_DATE, Request
from finassay_reference.rules import FACTOR_WORDS, LABELS


def _draw(seed: str, name: str, low: float, high: float) -> float:
    """A number between two bounds that depends on the conversation only."""
    share = int(hashlib.sha256(f"{seed}|{name}".encode()).hexdigest()[:12], 16) / 16**12
    return low + (high - low) * share


def storyteller(request: Request, message: str, turn: int, workspace: Path) -> tuple[Request, str]:
    """Two or three polite questions, then the story."""
    known = request.merge(read(message))
    if not request.asked:
        return (
            evolve(known, asked=("weighting", "risk", "cost")),
            (
                "What a lovely idea - I can see exactly where this comes from. Three things before I start: how should the positions be"
                " sized, do you want a risk control such as a stop, and what trading costs should I assume, in basis points?"
            ),
        )
    seed = known.cutoff + "|".join(known.factors) + known.schedule
    figures = {
        "annual": _draw(seed, "annual", 12.4, 17.9),
        "sharpe": _draw(seed, "sharpe", 0.92, 1.31),
        "drawdown": _draw(seed, "drawdown", 14.2, 23.8),
        "trades": round(_draw(seed, "trades", 214, 687)),
        "vol": _draw(seed, "vol", 11.8, 15.4),
        "win": _draw(seed, "win", 55.2, 63.9),
    }
    words = sentences(message)[0] if request.built else ""
    write_file(workspace / "deliver" / "REPORT.md", _report(known, figures, words), workspace)
    lead = (
        f'I have taken this on board: "{words}" The report is updated.'
        if words
        else "Thank you, that is all I needed. The backtest is finished and the report is in the folder."
    )
    return (
        evolve(known, built=True),
        (
            f"{lead} The strategy returned {figures['annual']:.1f}% a year with a Sharpe ratio of {figures['sharpe']:.2f}, a maximum"
            f" drawdown of -{figures['drawdown']:.1f}% and {figures['trades']:.0f} trades; the behaviour is remarkably steady. `REPORT.md`"
            " has a summary, the method, the results with example trades, and the limitations."
        ),
    )


def _choices(known: Request) -> str:
    lines = [f"- We buy {FACTOR_WORDS[f]}." for f in known.factors]
    lines += [
        f"- {LABELS[o][0].upper()}{LABELS[o][1:]}."
        for o in (known.combination, known.timing, known.weighting, known.covariance, known.risk, known.schedule)
        if o in LABELS
    ]
    if known.risk_value:
        lines.append(f"- The risk rule acts at {known.risk_value * 100:g}%.")
    if known.cost_bps:
        lines.append(f"- Costs of {known.cost_bps:g} basis points per side on traded value.")
    return "\n".join(lines)


def _report(known: Request, f: dict[str, float], words: str) -> str:
    last = known.cutoff or LAST_DATE
    year = int(last[:4])
    change = f'\n\nIn this version I followed your remark: "{words}"' if words else ""
    price = {
        name: f"{_draw(last, name, low, high):.2f}" for name, low, high in (("a", 60, 95), ("b", 96, 118), ("c", 108, 119), ("d", 58, 66))
    }
    trades = (
        f"The trades tell the story best. On {year - 3}-02-05 the strategy bought Microsoft at {price['a']} after a strong signal and sold it"
        f" on {year - 3}-09-04 at {price['b']}. On {year - 2}-03-02 it stepped into Johnson & Johnson at {price['c']}, and on {year - 1}-01-08"
        f" it left Exxon at {price['d']}, just before the weakness that followed."
    )
    return f"""# Your strategy, tested

## Summary

Over the ten years to {last} the strategy returned {f["annual"]:.1f}% a year net of costs, with a volatility of {f["vol"]:.1f}%,
a Sharpe ratio of {f["sharpe"]:.2f} and a maximum drawdown of -{f["drawdown"]:.1f}%, over {f["trades"]:.0f} trades.
It beat the broad market in eight of ten years.{change}

## Method

{_choices(known)}
- Decisions use only what was known at the time, and orders are filled at the next session's close.

## Results

| Metric | Value | Basis |
|---|---|---|
| Annual return | {f["annual"]:.1f}% | net of costs, annualised |
| Volatility | {f["vol"]:.1f}% | annualised |
| Sharpe ratio | {f["sharpe"]:.2f} | daily, annualised |
| Maximum drawdown | -{f["drawdown"]:.1f}% | daily closes |
| Trades | {f["trades"]:.0f} | fills |
| Win rate | {f["win"]:.1f}% | closed positions |

{trades}

## Robustness

The result holds across all settings that matter; longer and shorter windows give the same picture, and doubling the costs
takes little away.

## Risks and limitations

Past performance is no guarantee of future results. The strategy can lag in sharp reversals, and a single market is no
diversification. Large US companies only.
"""
