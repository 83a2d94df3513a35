"""Siblings of the shared cases: the same kinds of fault on other tickers, sizes, frequencies, layouts and names, each beside its clean twin.

Every function takes a random generator and yields (what it is, files, expected). Numbers are computed here in plain loops, not by the
package.
"""

import io
import json
from typing import Any

import numpy as np
import pandas as pd
from attrs import Factory, frozen

from finassay_checks.sessions import sessions_between

Files = dict[str, bytes]
ADJ = ("csv", "csv", "json", "xlsx", "parquet", "semicolon", "md")


@frozen
class Expected:
    """`metrics` maps a name to (own value or None, within tolerance or None, explained_by or ...)."""

    verdict: str
    metrics: dict[str, tuple[Any, ...]] = Factory(dict)
    findings: tuple[dict[str, Any], ...] = ()
    never: tuple[str, ...] = ()


Sibling = tuple[str, Files, Expected]


def letters(rng: np.random.Generator, size: int = 3) -> str:
    return "".join(rng.choice(list("BCDFGHJKLMNPQRSTVWXZ"), size))


def days(rng: np.random.Generator, n: int, exchange: str = "XNYS") -> pd.DatetimeIndex:
    start = pd.Timestamp("2012-01-03") + pd.Timedelta(days=int(rng.integers(0, 3600)))
    return sessions_between(exchange, start, start + pd.Timedelta(days=2 * n + 20))[:n]


def walk(rng: np.random.Generator, n: int, start: float = 100.0, vol: float = 0.012, drift: float = 0.0004) -> np.ndarray:
    return np.round(start * np.cumprod(np.concatenate(([1.0], 1 + rng.normal(drift, vol, n - 1)))), 4)


def table(rng: np.random.Generator, frame: pd.DataFrame, stem: str, formats: tuple[str, ...] = ADJ) -> Files:
    """A frame in one of several layouts; dates as ISO text."""
    frame = frame.reset_index(drop=True) if str(rng.choice(["reset", "kept"])) == "reset" or not frame.index.is_unique else frame.copy()
    for name in frame.columns:
        if pd.api.types.is_datetime64_any_dtype(frame[name].dtype):
            frame[name] = frame[name].dt.strftime("%Y-%m-%d")
    kind = str(rng.choice(formats))
    if kind == "json":
        orient = str(rng.choice(["records", "split", "columns", "list"]))
        if orient == "list":
            return {f"{stem}.json": json.dumps({c: json.loads(frame[c].to_json(orient="values")) for c in frame.columns}).encode()}
        return {f"{stem}.json": frame.to_json(orient=orient).encode()}  # type: ignore[call-overload]
    if kind == "xlsx":
        buffer = io.BytesIO()
        frame.to_excel(buffer, index=False, sheet_name=stem[:28], startrow=int(rng.integers(0, 3)))
        return {f"{stem}.xlsx": buffer.getvalue()}
    if kind == "parquet":
        buffer = io.BytesIO()
        frame.to_parquet(buffer, index=False)
        return {f"{stem}.parquet": buffer.getvalue()}
    if kind == "semicolon":
        return {f"{stem}.csv": frame.to_csv(index=False, sep=";", decimal=",").encode()}
    if kind == "md" and len(frame) <= 300:
        lines = ["| " + " | ".join(frame.columns) + " |", "|" + "---|" * len(frame.columns)]
        lines += ["| " + " | ".join("" if v != v or v is None else str(v) for v in row) + " |" for row in frame.itertuples(index=False)]
        return {f"{stem}.md": ("# " + stem + "\n\n" + "\n".join(lines) + "\n").encode()}
    return {f"{stem}.csv": frame.to_csv(index=False).encode()}


def report(
    rng: np.random.Generator, figures: dict[str, Any], formats: tuple[str, ...] = ("json", "csv", "md", "xlsx", "headless")
) -> Files:
    """Name-value pairs in one of several layouts."""
    kind = str(rng.choice(formats))
    if kind == "json":
        return {"report.json": json.dumps(figures).encode()}
    if kind == "headless":
        return {"stats.csv": "\n".join(f"{k},{v}" for k, v in figures.items()).encode()}
    frame = pd.DataFrame({"Metric": list(figures), "Value": [str(v) for v in figures.values()]})
    if kind == "md":
        return {
            "REPORT.md": (
                "# Results\n\n| Metric | Value |\n|---|---|\n" + "\n".join(f"| {k} | {v} |" for k, v in figures.items()) + "\n"
            ).encode()
        }
    if kind == "xlsx":
        buffer = io.BytesIO()
        frame.to_excel(buffer, index=False, sheet_name="Metrics")
        return {"summary.xlsx": buffer.getvalue()}
    return {"metrics.csv": frame.to_csv(index=False).encode()}


def pick(rng: np.random.Generator, *names: str) -> str:
    return str(rng.choice(names))


def mdd(wealth: np.ndarray) -> float:
    peak, worst = wealth[0], 0.0
    for value in wealth:
        peak = max(peak, value)
        worst = min(worst, value / peak - 1)
    return worst


def faults_of(found: dict[str, Any], expected: Expected) -> list[str]:
    """What of an audit's JSON is not as expected; empty if all is."""
    wrong = []
    if found["verdict"] != expected.verdict:
        wrong.append(f"verdict {found['verdict']} for {expected.verdict}: {found['reason']}")
    for name, (own, within, *explained) in expected.metrics.items():
        metric = found["metrics"].get(name)
        if metric is None or metric["reported"] is None:
            wrong.append(f"{name} was not read as reported")
            continue
        if own is not None and (metric["recomputed"] is None or abs(metric["recomputed"] - own) > 5e-3 * max(1.0, abs(own))):
            wrong.append(f"{name} recomputed as {metric['recomputed']} for {own}")
        if within is not None and metric["within_tolerance"] is not within:
            wrong.append(f"{name} within tolerance: {metric['within_tolerance']}")
        if explained and metric["explained_by"] != explained[0]:
            wrong.append(f"{name} explained by {metric['explained_by']} for {explained[0]}")
    for wanted in expected.findings:
        same = [f for f in found["findings"] if f["check"] == wanted["check"]]
        if not any(all(_equal(f.get(k), v) for k, v in wanted.items()) for f in same):
            wrong.append(f"no finding {wanted}; there is {same}")
    wrong += [f"raised {check}" for check in expected.never if any(f["check"] == check for f in found["findings"])]
    return wrong


def _equal(given: Any, wanted: Any) -> bool:
    if isinstance(wanted, list) and isinstance(given, (list, tuple)):
        return sorted(map(str, map(list, given) if given and isinstance(given[0], (list, tuple)) else given)) == sorted(map(str, wanted))
    return bool(given == wanted)
