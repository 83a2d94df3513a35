"""Which candidate of a role counts (spec D.0.3): current, not benchmark, not variant; then by what fits; then what the report names."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import get_args

import numpy as np
import pandas as pd
from attrs import frozen

from finassay_checks.model import Choice, Figure, Role, RoleTable
from finassay_checks.roles import names

PLAIN: frozenset[Role] = frozenset({"metrics", "variants", "periods", "spec", "sources", "checks", "unknown"})
Score = Callable[[RoleTable], float]


@frozen
class Selector:
    """Chooses among candidates. `named` is the text of the last report and message, `figures` what they report."""

    candidates: Mapping[Role, tuple[RoleTable, ...]]
    figures: Sequence[Figure]
    named: str

    def choose(self) -> dict[Role, Choice]:
        """One choice a role; the log is chosen before what is joined with it."""
        chosen: dict[Role, Choice] = {}
        order: list[Role] = ["trades", "equity", "prices"]
        for role in [*order, *(r for r in get_args(Role) if r not in order and r != "unknown")]:
            chosen[role] = self._one(role, chosen)
        return chosen

    def _one(self, role: Role, chosen: Mapping[Role, Choice]) -> Choice:
        everyone = self.candidates.get(role, ())
        if not everyone:
            return Choice(role, "missing", None, (), ("no table in this role",))
        left = [c for c in everyone if c.table.current]
        reasons: list[str] = []
        if not left:
            return Choice(role, "missing", None, everyone, ("only superseded tables in this role",))
        if role != "benchmark":
            left = _without(left, _is_benchmark, "benchmark", reasons)
        if role not in ("variants", "periods"):
            left = _without(left, _is_variant, "variant", reasons)
        left = _without(left, _is_column_of_log, "column of the fill log", reasons)
        if role == "prices":
            left = _without(left, _holds_no_closes, "table of opens, highs, lows or volumes", reasons)
            left = self._covering(left, chosen, reasons)
            if not left:
                return Choice(role, "missing", None, everyone, tuple(reasons))
        for test, why in self._tests(role, chosen):
            if len(left) < 2:
                break
            left = _best(left, test, why, reasons)
        if len(left) == 1 or role in PLAIN or role == "benchmark" or _same_frames(left):
            return Choice(role, "found", left[0], everyone, tuple(reasons) or ("the only candidate",))
        where = ", ".join(c.table.where for c in left[:4])
        return Choice(role, "ambiguous", None, everyone, (*reasons, f"fit equally well: {where}"))

    def _covering(self, left: list[RoleTable], chosen: Mapping[Role, Choice], reasons: list[str]) -> list[RoleTable]:
        """Price tables with a row on at least 95 % of the days on which something is held: between the first and the last fill (spec D.0.6)."""
        log, curve = _frame(chosen, "trades"), _frame(chosen, "equity")
        if log is None or not len(log):
            return left
        first, last = log["fill_date"].min(), log["fill_date"].max()
        days = pd.bdate_range(first, last)
        wanted = 0.9  # weekdays hold up to one holiday in twenty-five
        if curve is not None and _dates_density(curve["date"]) == 3.0:
            days, wanted = pd.DatetimeIndex(curve["date"][curve["date"].between(first, last)].unique()), 0.95
        kept = []
        for candidate in left:
            share = float(days.isin(candidate.frame["date"].unique()).mean()) if len(days) else 1.0
            if share >= wanted:
                kept.append(candidate)
            else:
                reasons.append(f"{candidate.table.where} has prices on {share:.0%} of the days between the first and the last fill")
        return kept

    def _tests(self, role: Role, chosen: Mapping[Role, Choice]) -> list[tuple[Score, str]]:
        log = _frame(chosen, "trades")
        tests: list[tuple[Score, str]] = []
        if role == "equity":
            tests += [
                (_is_level, "values rather than returns"),
                (_density, "one row a session"),
                (self._near_return, "nearest the reported return"),
            ]
            if log is not None:
                tests.append((lambda c: _ends_like(c, log), "ends as the log does"))
        elif role == "trades":
            tests += [(self._near_count, "the stated trade count")]
        elif role == "prices":
            tests += [] if log is None else [(lambda c: fill_match(c.frame, log), "the fills match it")]
            tests += [(lambda c: float(np.log10(1 + len(c.frame))), "most rows")]
        elif role == "metrics":
            tests += [(self._figure_overlap, "holds the figures of the report"), (_metric_count, "most metrics")]
        if role == "signals":
            tests.append((_is_score, "named as the score"))
        if role == "weights":
            if log is not None:
                # Daily weights of every name join with any log; targets, of which sales have none, with part of it.
                tests.append((lambda c: float(join_share(c, log) >= JOINS), "joins with the log"))
            tests.append((lambda c: float("kind" in c.frame and (c.frame["kind"] == "target").any()), "targets before held weights"))
        if log is not None and role in ("signals", "weights", "positions"):
            tests.append((lambda c: join_share(c, log), "the best join with the log"))
        if role == "universe":
            tests.append((lambda c: float("named as a universe" in c.reasons), "named as a universe"))
        if role == "benchmark":
            tests.append((_is_level, "values rather than returns"))
            tests.append((_density, "one row a session"))
        tests += [(self._is_named, "named by the report"), (lambda c: -c.table.where.count("/"), "nearest the top folder")]
        return tests

    def _near_return(self, candidate: RoleTable) -> float:
        reported = next((f.value for f in self.figures if f.metric == "total_return"), None)
        annual = next((f.value for f in self.figures if f.metric == "annual_return"), None)
        total, years = _total_return(candidate.frame)
        if total is None:
            return -9.0
        if reported is not None:
            return -round(min(abs(total - reported) / (1 + abs(reported)), 9.0), 3)
        if annual is not None and years > 0.2 and total > -1:
            return -round(min(abs(float((1 + total) ** (1 / years)) - 1 - annual), 9.0), 3)
        return 0.0

    def _near_count(self, candidate: RoleTable) -> float:
        counts = [f.value for f in self.figures if f.metric == "trades"]
        return -min((abs(len(candidate.frame) - c) / max(c, 1) for c in counts), default=0.0)

    def _figure_overlap(self, candidate: RoleTable) -> float:
        own = {f.metric for f in self.figures if f.where.split("#")[0] == candidate.table.path or f.where == candidate.table.where}
        return float(len(own))

    def _is_named(self, candidate: RoleTable) -> float:
        path, _, label = candidate.table.where.partition("#")
        name = path.rpartition("/")[2]
        return float(bool(name) and name in self.named) + float(bool(label) and label in self.named) / 2


JOINS = 0.25
"""Share of the log's keys from which on a table of weights may be the plan behind it."""


def _frame(chosen: Mapping[Role, Choice], role: Role) -> pd.DataFrame | None:
    choice = chosen.get(role)
    return choice.chosen.frame if choice is not None and choice.chosen is not None else None


def _without(left: list[RoleTable], test: Callable[[RoleTable], bool], what: str, reasons: list[str]) -> list[RoleTable]:
    kept = [c for c in left if not test(c)]
    if kept and len(kept) < len(left):
        reasons.append(f"left out as {what}: {', '.join(c.table.where for c in left if test(c))[:300]}")
        return kept
    return left


def _is_benchmark(candidate: RoleTable) -> bool:
    return names.is_benchmark(candidate.table.where.replace("/", " ").rsplit(".", 1)[0]) or any(
        names.is_benchmark(part)
        for part in (candidate.table.path.rpartition("/")[2].rsplit(".", 1)[0], candidate.table.where.partition("#")[2])
    )


def _holds_no_closes(candidate: RoleTable) -> bool:
    """A wide table of another field than the close, by its name."""
    words = set(names.parts(candidate.table.where.rpartition("/")[2]))
    return (
        bool(words & {"open", "opens", "high", "highs", "low", "lows", "volume", "volumes"})
        and not words & {"close", "closes"}
        and "ticker" not in candidate.columns
    )


def _is_variant(candidate: RoleTable) -> bool:
    return names.is_variant(candidate.table.path.rpartition("/")[2].rsplit(".", 1)[0]) or names.is_variant(
        candidate.table.where.partition("#")[2]
    )


def _is_column_of_log(candidate: RoleTable) -> bool:
    return any("of the fill log" in reason for reason in candidate.reasons)


def _best(left: list[RoleTable], test: Score, why: str, reasons: list[str]) -> list[RoleTable]:
    scores = [test(c) for c in left]
    top = max(scores)
    kept = [c for c, score in zip(left, scores, strict=True) if score >= top - 1e-9]
    if len(kept) < len(left):
        reasons.append(f"{why}: {', '.join(c.table.where for c in kept)[:300]}")
    return kept


def _same_frames(left: list[RoleTable]) -> bool:
    first = left[0].frame
    return all(
        c.frame.shape == first.shape and c.frame.drop(columns="row", errors="ignore").equals(first.drop(columns="row", errors="ignore"))
        for c in left[1:]
    )


def _density(candidate: RoleTable) -> float:
    """3 for a row a session, 2 a week, 1 a month, 0 beyond: by the median spacing of dates."""
    return _dates_density(candidate.frame["date"])


def _dates_density(column: "pd.Series[pd.Timestamp]") -> float:
    dates = np.sort(column.dropna().unique())
    if len(dates) < 2:
        return 0.0
    spacing = float(np.median(np.diff(dates)).astype("timedelta64[D]").astype(int))
    return 3.0 if spacing <= 4 else 2.0 if spacing <= 8 else 1.0 if spacing <= 35 else 0.0


def _is_level(candidate: RoleTable) -> float:
    return float(candidate.frame["equity"].notna().any())


_SCORE = re.compile(r"signal|score|rank|factor")


def _is_score(candidate: RoleTable) -> float:
    """2 for a table, 1 for a column that is called a signal, score or rank; a number of another name is none."""
    stem = candidate.table.where.rpartition("/")[2].lower()
    delivered = " ".join(str(candidate.columns.get(role, "")) for role in ("score", "rank")).lower()
    return 2.0 if _SCORE.search(stem) else 1.0 if _SCORE.search(delivered) else 0.0


def _metric_count(candidate: RoleTable) -> float:
    from finassay_checks.roles.metric_names import metric_of

    frame = candidate.frame
    by_column = {metric_of(str(c)) for c in frame.columns}
    by_row = {metric_of(str(v)) for v in frame.iloc[:200, 0]} if len(frame.columns) else set()
    return float(max(len(by_column - {None}), len(by_row - {None})))


def _total_return(frame: pd.DataFrame) -> tuple[float | None, float]:
    """(total return, years) of an equity frame."""
    dates = frame["date"].dropna()
    years = (dates.max() - dates.min()).days / 365.25 if len(dates) > 1 else 0.0
    ordered = frame.sort_values("date")
    level = ordered["equity"].dropna()
    if len(level) > 1 and level.iloc[0] > 0:
        return float(level.iloc[-1] / level.iloc[0] - 1), years
    rets = ordered["ret"].dropna() if "ret" in frame else pd.Series(dtype="float64")
    return (float(np.prod(1 + rets.clip(lower=-0.9999)) - 1), years) if len(rets) > 1 else (None, years)


def _ends_like(candidate: RoleTable, log: pd.DataFrame) -> float:
    """How well equity starts and ends where the fills do: share of fill dates that it has."""
    return round(float(log["fill_date"].isin(candidate.frame["date"]).mean()), 2)


def fill_match(prices: pd.DataFrame, log: pd.DataFrame) -> float:
    """Share of (at most 4,000) fills whose close in the price table is within 1 % of the fill price; -1 if none has a price.

    Shape: canonical prices and trades. Open, high and low count where they are delivered.
    """
    fills = log if len(log) <= 4_000 else log.iloc[np.linspace(0, len(log) - 1, 4_000).astype(int)]
    wanted = prices[prices["date"].isin(fills["fill_date"].unique())]
    wanted = wanted.drop_duplicates(["date", "ticker"])
    joined = fills.merge(wanted, left_on=["fill_date", "ticker"], right_on=["date", "ticker"], how="left", suffixes=("", "_table"))
    near = pd.Series(False, index=joined.index)
    for name in ("close", "open", "adj_close"):
        near |= (joined[name] / joined["price"] - 1).abs() <= 0.01
    near |= (joined["price"] >= joined["low"] * 0.99) & (joined["price"] <= joined["high"] * 1.01)
    return round(float(near.mean()), 2) if len(joined) else -1.0


def join_share(candidate: RoleTable, log: pd.DataFrame) -> float:
    """Share of the log's (date, ticker) keys that a table has, by signal date where the log has one, else by fill date."""
    frame = candidate.frame
    sample = log if len(log) <= 20_000 else log.iloc[np.linspace(0, len(log) - 1, 20_000).astype(int)]
    best = 0.0
    for date in ("signal_date", "fill_date"):
        for column in ("date", "fill_date"):
            if column not in frame or sample[date].isna().all() or frame[column].isna().all():
                continue
            keys = pd.MultiIndex.from_arrays([sample[date], sample["ticker"]])
            mine = frame[frame[column].isin(sample[date].unique())]
            best = max(best, float(keys.isin(pd.MultiIndex.from_arrays([mine[column], mine["ticker"]])).mean()))
    return round(best, 2)
