"""Logs and prices that do not belong together, and real sessions that an audit must leave alone."""

import json
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from finassay_checks.audit.folder import open_folder
from finassay_checks.audit.run import audit_folder
from finassay_checks.audit.shown import as_json
from finassay_checks.sessions import sessions_between

CASES = Path(os.environ.get("FINASSAY_SHARED", Path(__file__).resolve().parents[4] / "shared")) / "cases"
DAYS = sessions_between("XNYS", pd.Timestamp("2018-02-01"), pd.Timestamp("2018-06-29"))


def folder(tmp_path, factor, bars=True):
    close = 40 + np.round(np.sin(np.arange(len(DAYS)) / 5), 2)
    prices = pd.DataFrame({"date": DAYS, "ticker": "QXA", "close": close})
    if bars:
        prices = prices.assign(open=close, high=close + 0.5, low=close - 0.5)
    at = [5, 20, 30, 60]
    fills = pd.DataFrame({"date": DAYS[at], "ticker": "QXA", "side": ["BUY", "SELL"] * 2, "shares": 10, "price": close[at] * factor})
    prices.to_csv(tmp_path / "prices.csv", index=False)
    fills.to_csv(tmp_path / "fills.csv", index=False)
    return as_json(audit_folder(open_folder(tmp_path)))


@pytest.mark.parametrize("bars", [True, False])
@pytest.mark.parametrize(
    ("factor", "verdict", "check"),
    [(1.0, "pass", None), (1.004, "pass", None), (2.0, "wrong", "fill_price_outside_day_range"), (0.01, "data_problem", "unit_mismatch")],
)
def test_fills_are_on_the_level_and_in_the_unit_of_the_prices(factor, verdict, check, bars, tmp_path):
    found = folder(tmp_path, factor, bars)
    assert found["verdict"] == verdict, found["reason"]
    assert {f["check"] for f in found["findings"]} == ({check} if check else set())


@pytest.mark.skipif(not CASES.is_dir(), reason="the shared cases are not beside this checkout (FINASSAY_SHARED)")
@pytest.mark.parametrize(
    "name",
    [
        "monthly-vol-target-no-prices",
        pytest.param("quarterly-trailing-stop", marks=pytest.mark.slow),
        pytest.param("weekly-mean-variance", marks=pytest.mark.slow),
    ],
)
def test_nothing_is_wrong_with_a_real_session_whose_figures_are_true(name, tmp_path):
    source = CASES / "sessions" / name
    session = json.loads((source / "session.json").read_text(encoding="utf-8"))
    last = session["deliveries"][max(session["deliveries"], key=int)]
    for path, stored in last.items():
        target = tmp_path / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes((source / "files" / stored).read_bytes())
    (tmp_path / "task.json").write_text(json.dumps({"data_cutoff": session["task"]["cutoff"]}), encoding="utf-8")
    found = as_json(audit_folder(open_folder(tmp_path)))
    assert found["verdict"] == "pass_with_note", found["reason"]
    assert not [f for f in found["findings"] if f["severity"] in ("wrong", "data")]
    assert sum(m["matches"] is True for m in found["metrics"].values()) >= 5
