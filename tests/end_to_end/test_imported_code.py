"""Work done elsewhere, imported and graded: its code is run again in the real sandbox, on its data and on data with another future."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from finassay.catalog.catalog import Catalog
from finassay.config.settings import RunSettings
from finassay.runs.folder import RunFolder
from finassay.runs.grade import Grader
from finassay.runs.importing import import_session

SCRIPT = """import pandas as pd

prices = pd.read_csv("data/prices.csv", parse_dates=["date"]).pivot(index="date", columns="ticker", values="close")
score = {score}
days = prices.index
cash, held, trades, curve = 1_000_000.0, dict.fromkeys(prices.columns, 0.0), [], []
decisions = {{days[i + 1]: days[i] for i in range(60, len(days) - 1) if days[i].month != days[i + 1].month}}
for day, row in prices.iterrows():
    decision = decisions.get(day)
    if decision is not None and score.loc[decision].notna().sum() >= 3:
        best = score.loc[decision].dropna().sort_values(ascending=False).index[:3]
        value = cash + sum(held[t] * row[t] for t in held)
        for ticker in prices.columns:
            change = ((value / 1.004 / 3 / row[ticker]) if ticker in best else 0.0) - held[ticker]
            if abs(change) * row[ticker] > 1:
                fee = 0.001 * abs(change) * row[ticker]
                cash -= change * row[ticker] + fee
                held[ticker] += change
                trades.append((decision.date(), day.date(), ticker, "BUY" if change > 0 else "SELL", abs(change), row[ticker], fee))
    if trades:
        curve.append((day.date(), cash + sum(held[t] * row[t] for t in held)))
names = ["signal_date", "fill_date", "ticker", "side", "shares", "price", "fee"]
pd.DataFrame(trades, columns=names).to_csv("results/trades.csv", index=False)
pd.DataFrame(curve, columns=["date", "equity"]).to_csv("results/equity.csv", index=False)
print("total return:", curve[-1][1] / 1_000_000 - 1)
"""
SCORES = {
    "clean": "prices.shift(21) / prices.shift(60) - 1",
    "ahead": "prices.shift(-10) / prices - 1",
    "centred": "prices.rolling(31, center=True).mean() / prices",
}


def session(folder: Path, score: str) -> Path:
    """A session folder whose only delivery is what the script made."""
    made = folder / "files" / "deliver"
    (made / "data").mkdir(parents=True)
    (made / "results").mkdir()
    days = pd.bdate_range("2012-01-02", "2015-12-31")
    steps = np.random.default_rng(5).normal(0.0004, 0.014, (len(days), 8))
    closes = pd.DataFrame(50 * np.exp(np.cumsum(steps, axis=0)), index=days, columns=["AAPL", "AMD", "BAC", "CVX", "GE", "HD", "JNJ", "KO"])
    closes.rename_axis("date").reset_index().melt("date", var_name="ticker", value_name="close").to_csv(
        made / "data" / "prices.csv", index=False
    )
    (made / "run_backtest.py").write_text(SCRIPT.format(score=score))
    subprocess.run([sys.executable, "run_backtest.py"], cwd=made, check=True, capture_output=True, timeout=60)
    (made / "REPORT.md").write_text("# Report\n\n## Results\n\nRun `run_backtest.py`. Decided at the close, filled at the next close.\n")
    told = {
        "task": {"cutoff": "2015-12-31"},
        "conversation": [
            {"turn": 0, "from": "user", "text": "Test a strategy on these eight names."},
            {"turn": 1, "from": "agent", "text": "Done, see `REPORT.md`."},
        ],
        "deliveries": {"1": "deliver"},
        "end": {"end_reason": "satisfied"},
    }
    (folder / "session.json").write_text(json.dumps(told))
    return folder


@pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not on this machine")
@pytest.mark.parametrize("name", SCORES)
def test_code_that_looks_ahead_is_seen_in_the_sandbox(tmp_path: Path, name: str) -> None:
    key = import_session(session(tmp_path / name, SCORES[name]), tmp_path / "run", Catalog.installed()).key
    folder = RunFolder(tmp_path / "run")
    settings = RunSettings.model_validate(folder.manifest()["settings"])
    grader = Grader(folder.root, settings)
    if grader.sandbox is None:
        pytest.skip("no sandbox here isolates files and network")
    verdict = grader.grade(key).graded("3.1")
    assert verdict is not None
    assert verdict.scored is not None
    told = str(verdict.scored.facts.get("future_perturbation"))
    assert "perturbed" in told, told
    moved = [e for e in verdict.scored.evidence if "positions move" in e.text]
    assert bool(moved) is (name != "clean"), told
    assert (verdict.scored.level == 1) is (name != "clean")
