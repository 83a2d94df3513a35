"""Steps of a price series that are no returns: splits applied to some rows, and changes of the unit. Pure arithmetic."""

import numpy as np
import pandas as pd
from attrs import frozen
from numpy.typing import NDArray

from finassay_checks.recompute.panel import Floats

RATIOS = (1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 12.0, 15.0, 20.0, 25.0, 30.0, 40.0, 50.0)
UNITS = (100.0, 1000.0)
NEAR = 0.12
"""How far a step may lie from a ratio, in logs, when the ratio is declared: the day's own return comes on top."""
UNDECLARED = 0.05
MOVE = 0.25


@frozen
class Step:
    """One thing found at row `at` (of the ticker's own rows): `unit`, `split` or `adjusted` (a row on the other side of a split)."""

    kind: str
    at: int
    ratio: float
    down: bool
    declared: bool = False


@frozen(eq=False)
class Steps:
    """What was found, and by what each close is multiplied to be in the unit of the first row and in shares of the last."""

    found: tuple[Step, ...]
    factor: Floats


def steps_of(
    dates: pd.DatetimeIndex,
    close: Floats,
    splits: "list[tuple[pd.Timestamp, float]]",
    calm: NDArray[np.bool_],
    measured: NDArray[np.bool_],
) -> Steps:
    """Steps of one ticker's closes (in date order, positive). `splits` are the declared ones (date, new shares for one old); `calm` marks
    rows whose volume does not show that the day's move was real; `measured` those that have a volume at all."""
    level = np.log(close)
    found: list[Step] = []
    unit = _units(level, splits, found)
    level = level + np.log(unit)
    factor = np.ones(len(level))
    for date, ratio in splits:
        if abs(np.log(ratio)) > 0.2:
            factor = factor * _declared(dates, level + np.log(factor), date, ratio, found)
    rest = level + np.log(factor)
    factor = factor * _undeclared(rest, calm, measured, found)
    return Steps(tuple(sorted(found, key=lambda s: s.at)), unit * factor)


def _units(level: Floats, splits: "list[tuple[pd.Timestamp, float]]", found: list[Step]) -> Floats:
    """Factors that bring every row to the unit of the first."""
    moves = np.diff(level)
    factor, now = np.ones(len(level)), 1.0
    declared = [abs(np.log(r)) for _, r in splits]
    for at in np.flatnonzero(np.abs(moves) > 3.0):
        unit = next((u for u in UNITS if abs(abs(moves[at]) - np.log(u)) < 0.3), None)
        if unit is None or any(abs(np.log(unit) - d) < 0.3 for d in declared):
            continue
        down = bool(moves[at] < 0)
        now = now * unit if down else now / unit
        factor[at + 1 :] = now
        found.append(Step("unit", int(at) + 1, unit, down))
    return factor


def _declared(dates: pd.DatetimeIndex, level: Floats, date: pd.Timestamp, ratio: float, found: list[Step]) -> Floats:
    """Rows before a declared split that are already in new shares, rows after it still in old ones, and whether the prices jump there at
    all. The factors bring every row to new shares."""
    size = np.log(ratio)
    jumps = np.diff(level)
    near = np.abs(np.abs(jumps) - abs(size)) < max(NEAR, 0.12 * abs(size))
    state = np.zeros(len(level))  # how many times a row is divided by the ratio, counted from the first row
    state[1:] = np.cumsum(np.where(near, -np.sign(jumps) * np.sign(size), 0.0))
    after = np.asarray(dates >= date)
    if not near.any() or after.all() or not after.any():
        return np.ones(len(level))
    new = float(np.median(state[after]))
    old = float(np.median(state[~after]))
    if new - old not in (0.0, 1.0):
        return np.ones(len(level))
    usual = np.where(after, new, old)
    found += [Step("adjusted", int(at), ratio, bool(state[at] > usual[at]), True) for at in np.flatnonzero(state != usual)]
    if new - old == 1.0:
        found.append(Step("split", int(np.argmax(after)), ratio, ratio > 1, True))
    return np.asarray(np.exp(-(new - state) * size))


def _undeclared(level: Floats, calm: NDArray[np.bool_], measured: NDArray[np.bool_], found: list[Step]) -> Floats:
    """Rows that step by a split's ratio and come back, and lasting steps on calm days. A loss of a third without a volume beside it is
    no split."""
    moves = np.diff(level)
    factor = np.ones(len(level))
    spread = 1.4826 * float(np.median(np.abs(moves - np.median(moves)))) if len(moves) else 0.0
    wild = np.flatnonzero(np.abs(moves) > max(MOVE, 6 * spread))
    at = 0
    while at < len(wild):
        day = int(wild[at])
        ratio = next((r for r in RATIOS if abs(abs(moves[day]) - np.log(r)) < max(UNDECLARED, 3 * spread)), None)
        back = int(wild[at + 1]) if at + 1 < len(wild) and wild[at + 1] - day <= 10 else None
        if ratio is not None and back is not None and abs(moves[day] + moves[back]) < max(0.1, 4 * spread):
            found += [Step("adjusted", row, ratio, bool(moves[day] < 0)) for row in range(day + 1, back + 1)]
            factor[day + 1 : back + 1] *= ratio if moves[day] < 0 else 1 / ratio
            at += 2
            continue
        sure = ratio is not None and (ratio >= 2 or bool(measured[day + 1]))
        if ratio is not None and sure and calm[day + 1] and abs(abs(moves[day]) - np.log(ratio)) < min(max(0.02, spread), 0.035):
            found.append(Step("split", day + 1, ratio if moves[day] < 0 else 1 / ratio, bool(moves[day] < 0)))
            factor[: day + 1] *= np.exp(-np.log(ratio) if moves[day] < 0 else np.log(ratio))
        at += 1
    return factor
