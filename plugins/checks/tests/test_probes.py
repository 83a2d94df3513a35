"""Delivered code on perturbed, cut and shuffled data: leaks of every kind are seen, clean code is left alone.

The runner here runs a plain subprocess in a copy; the same in a real sandbox is a test of tests/end_to_end.
"""

import contextlib
import io
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from attrs import evolve

from finassay.api.delivery import Package, RunResult
from finassay_checks.delivered import read_delivery
from finassay_checks.model import Document
from finassay_checks.recompute.timing import timing
from finassay_checks.reruns import harness
from finassay_checks.reruns.entry import defines_only, entries, loads_other_data
from finassay_checks.reruns.probes import Probes, probes

from .deliveries import make_package, sessions, simulate

SCRIPT = """import numpy as np
import pandas as pd

prices = pd.read_csv("data/prices.csv", parse_dates=["date"]).pivot(index="date", columns="ticker", values="close")
returns = prices.pct_change()
{score}
ends = [d for d, n in zip(prices.index[:-1], prices.index[1:]) if d.{period} != n.{period}]
cash, held, trades, curve = 1_000_000.0, dict.fromkeys(prices.columns, 0.0), [], []
after = {{prices.index[i + {lag}]: prices.index[i] for i in (prices.index.get_loc(d) for d in ends) if i + {lag} < len(prices)}}
for day, row in prices.iterrows():
    decision = after.get(day)
    if decision is not None and score.loc[decision].notna().sum() >= 3:
        best = score.loc[decision].dropna().sort_values(ascending=False).index[:3]
        value = cash + sum(held[t] * row[t] for t in held)
        for ticker in prices.columns:
            wanted = (value / 1.004 / 3 / row[ticker]) if ticker in best else 0.0
            change = wanted - held[ticker]
            if abs(change) * row[ticker] > 1:
                fee = 0.001 * abs(change) * row[ticker]
                cash -= change * row[ticker] + fee
                held[ticker] = wanted
                trades.append((decision.date(), day.date(), ticker, "BUY" if change > 0 else "SELL", abs(change), row[ticker], fee))
    if trades:
        curve.append((day.date(), cash + sum(held[t] * row[t] for t in held)))
names = ["signal_date", "fill_date", "ticker", "side", "shares", "price", "fee"]
pd.DataFrame(trades, columns=names).to_csv("results/trades.csv", index=False)
pd.DataFrame(curve, columns=["date", "equity"]).to_csv("results/equity.csv", index=False)
print("total return:", curve[-1][1] / 1_000_000 - 1)
"""
CLEAN = {
    "momentum": "score = prices.shift(21) / prices.shift(126) - 1",
    "trailing average": "score = prices / prices.rolling(60).mean()",
    "z-score of the day": "m = prices.pct_change(60)\nscore = m.sub(m.mean(axis=1), axis=0).div(m.std(axis=1), axis=0)",
    "expanding z-score": "m = prices.pct_change(20)\nscore = (m - m.expanding(60).mean()) / m.expanding(60).std()",
    "forward returns for a statistic only": "score = prices.pct_change(60)\nic = score.corrwith(returns.shift(-1), axis=1).mean()",
}
AHEAD = {
    "negative shift": "score = prices.shift(-5) / prices - 1",
    "centred average": "score = prices.rolling(41, center=True).mean() / prices",
    "full-sample z-score": "m = prices.pct_change(20)\nscore = (m - m.mean()) / m.std()",
    "back-filled": "score = prices.pct_change(60).where(returns > 0.02).bfill()",
    "universe picked by its end": "score = prices.pct_change(60)[prices.iloc[-1].div(prices.iloc[0]).nlargest(4).index]",
    "smoothed both ways": "score = prices[::-1].ewm(span=20).mean()[::-1] / prices",
}


class PlainRunner:
    """Runs in a copy of the files, without a sandbox."""

    def __init__(self, root: Path) -> None:
        self.root, self.runs = root, 0

    def run(self, files: Mapping[str, Path], argv: tuple[str, ...], *, seconds: float) -> RunResult:
        self.runs += 1
        place = self.root / str(self.runs)
        for name, source in files.items():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            (place / name).write_bytes(source.read_bytes())
        (place / "results").mkdir(exist_ok=True)
        for path in place.rglob("*"):
            os.utime(path, (1, 1))
        done = subprocess.run([sys.executable, *argv[1:]], cwd=place, capture_output=True, text=True, timeout=60, check=False)
        written = {p.relative_to(place).as_posix(): p for p in place.rglob("*") if p.is_file() and p.stat().st_mtime != 1}
        return RunResult(done.returncode, done.stdout, done.stderr, 0.1, written)


def package(tmp_path: Path, score: str, *, lag: int = 1, period: str = "month", extra: Mapping[str, str] | None = None) -> Package:
    """A delivery whose tables this script made."""
    made = simulate()
    script = SCRIPT.format(score=score, lag=lag, period=period)
    place = tmp_path / "made"
    (place / "data").mkdir(parents=True)
    (place / "results").mkdir()
    made.prices.to_csv(place / "data" / "prices.csv", index=False)
    (place / "run_backtest.py").write_text(script)
    with contextlib.chdir(place), contextlib.redirect_stdout(io.StringIO()):
        exec(compile(script, "run_backtest.py", "exec"), {"__name__": "__main__"})
    files: dict[str, bytes | str | pd.DataFrame] = {
        p.relative_to(place).as_posix(): p.read_bytes() for p in place.rglob("*") if p.is_file()
    }
    report = "# Report\n\n## Results\n\nRun `run_backtest.py`. Decided at the close, filled at the next close.\n"
    files |= {"REPORT.md": report, **(extra or {})}
    return evolve(make_package(tmp_path, files), runner=PlainRunner(tmp_path / "copies"), facts={})


def probed(made: Package) -> Probes:
    found = made.fact(probes)
    assert found.compared > 0, found
    return found


@pytest.mark.parametrize("name", CLEAN)
def test_clean_code_is_left_alone(tmp_path: Path, name: str) -> None:
    made = package(tmp_path, CLEAN[name])
    found = probed(made)
    assert found.moved == ()
    assert found.no_edge is not None
    assert not found.no_edge.leak
    assert not [text for text, *_ in made.fact(timing).rows if "move" in text or "foretell" in text]


@pytest.mark.parametrize("name", AHEAD)
def test_what_reaches_ahead_is_seen(tmp_path: Path, name: str) -> None:
    made = package(tmp_path, AHEAD[name])
    assert probed(made).moved, name
    assert made.fact(timing).level == 1


def test_a_day_ahead_of_the_decision_and_no_later_than_the_fill(tmp_path: Path) -> None:
    assert probed(package(tmp_path, "score = prices.shift(-1) / prices.shift(20) - 1")).moved


def test_a_fill_at_the_close_that_ranks_moves_nothing_and_earns_on_shuffled_returns(tmp_path: Path) -> None:
    """Bought at yesterday's close for today's return: the log hides it, returns without an edge do not."""
    made = package(tmp_path, "score = returns.shift(-1)", period="day")
    found = probed(made)
    assert found.no_edge is not None
    assert found.no_edge.leak or found.moved
    assert made.fact(timing).level == 1


def test_code_that_does_not_rerun_is_not_tested(tmp_path: Path) -> None:
    made = package(tmp_path, CLEAN["momentum"])
    broken = [evolve(f) for f in made.tree.files if f.path != "data/prices.csv"]
    cut = evolve(made, deliveries=(evolve(made.tree, files=tuple(broken)),), facts={})
    found = cut.fact(probes)
    assert found.compared == 0
    assert "did not reproduce" in found.status


def test_code_that_fails_on_other_data_is_not_tested(tmp_path: Path) -> None:
    guard = "\nassert abs(prices.iloc[-1].sum() - {total!r}) < 1e-6"
    closes = simulate().prices.pivot(index="date", columns="ticker", values="close")
    made = package(tmp_path, CLEAN["momentum"] + guard.format(total=float(closes.iloc[-1].sum())))
    found = made.fact(probes)
    assert found.moved == ()
    assert "did not end well" in found.moved_status


def test_without_a_runner_nothing_is_said(tmp_path: Path) -> None:
    made = evolve(package(tmp_path, AHEAD["negative shift"]), runner=None, facts={})
    assert made.fact(probes).compared == 0
    assert "future_perturbation" not in made.fact(timing).facts


# -- the choice of scripts ----------------------------------------------------------------------------------------------


def test_one_choice_of_the_entry_script(tmp_path: Path) -> None:
    made = package(tmp_path, CLEAN["momentum"], extra={"helpers.py": "import numpy as np\n\nK = 3\n\ndef f(x):\n    return np.sqrt(x)\n"})
    assert [e.path for e in entries(made.fact(read_delivery))] == ["run_backtest.py"]


@pytest.mark.parametrize(
    ("source", "only"),
    [
        ("def f():\n    return 1\n", True),
        ('"""Doc."""\nimport re\nX = re.compile("a")\n', True),
        ("def main():\n    pass\n\nif __name__ == '__main__':\n    main()\n", False),
        ("def main():\n    return 1\n\nresult = main()\n", False),
        ("import pandas as pd\nframe = pd.read_csv('a.csv')\n", False),
        ("print(1)\n", False),
        ("def broken(:\n", False),
    ],
)
def test_modules_that_only_define(source: str, only: bool) -> None:
    assert defines_only(source) is only


@pytest.mark.parametrize(
    ("source", "loads"),
    [
        ("import pandas as pd\npd.read_csv('data/prices.csv')\n", False),
        ("from skfolio.datasets import load_sp500_dataset\n", True),
        ("from engine import data\n", True),
        ("import yfinance\n", True),
        ("import pandas as pd\npd.read_csv('/data/prices.csv')\n", True),
        ("import pandas as pd\npd.read_csv('https://example.org/p.csv')\n", True),
        ("import subprocess\nsubprocess.run(['python', 'engine/data.py'])\n", True),
        ("def broken(:\n", True),
    ],
)
def test_what_a_script_loads(source: str, loads: bool) -> None:
    script = Document("run.py", source, 1, True)
    others = [script, Document("engine/__init__.py", "", 1, True), Document("engine/data.py", "import urllib.request\n", 1, True)]
    assert loads_other_data(script, others) is loads


# -- surrogates ---------------------------------------------------------------------------------------------------------


def closes(names: int = 6, days: int = 400) -> pd.DataFrame:
    steps = np.random.default_rng(1).normal(0.001, 0.015, (days, names))
    index = sessions()[:days].rename("date")
    return pd.DataFrame(50 * np.exp(np.cumsum(steps, axis=0)), index=index, columns=[f"T{i}" for i in range(names)])


@pytest.mark.parametrize("layout", ["wide by index", "wide by column", "long", "ohlcv long", "series", "returns"])
def test_surrogates_change_what_comes_after_and_nothing_before(layout: str) -> None:
    wide = closes()
    after = wide.index[200]
    long = wide.reset_index().melt("date", var_name="ticker", value_name="close")
    frames = {
        "wide by index": wide,
        "wide by column": wide.reset_index().assign(date=lambda f: f["date"].astype(str)),
        "long": long,
        "ohlcv long": long.assign(open=long["close"] * 1.01, volume=np.arange(len(long)) % 977 + 1.0),
        "series": wide["T0"],
        "returns": wide.pct_change(),
    }
    frame = frames[layout]
    made, cells = harness.surrogate(frame, after, 1)
    assert cells > 0
    days = harness.day_of(frame)
    assert days is not None
    early = (days <= after).to_numpy()
    pd.testing.assert_frame_equal(pd.DataFrame(made[early]), pd.DataFrame(frame[early]))
    one, other = (pd.DataFrame(f[~early]).select_dtypes("number") for f in (made, frame))
    assert (one.drop(columns=["volume"], errors="ignore") != other.drop(columns=["volume"], errors="ignore")).to_numpy().mean() > 0.9
    if layout == "ohlcv long":
        assert np.allclose(one["open"] / one["close"], 1.01)
        assert (one["volume"] == other["volume"]).all()
    elif layout != "returns":
        assert (one.to_numpy() > 0).all()


def test_nothing_is_left_to_earn_on_surrogates() -> None:
    wide = closes(12, 900)
    late = np.asarray(wide.index > wide.index[100])
    fresh = harness.paths(wide.to_numpy(), late, 3)
    steps = fresh[102:] / fresh[101:-1] - 1
    assert abs(steps.mean()) < 2e-4
    assert abs(np.corrcoef(steps[:-1].ravel(), steps[1:].ravel())[0, 1]) < 0.05


@pytest.mark.parametrize("table", ["trades", "targets", "equity"])
def test_logs_are_left_as_they_are(table: str) -> None:
    frame = getattr(simulate(), table)
    made, cells = harness.surrogate(frame, pd.Timestamp("2014-06-30"), 1)
    assert cells == 0
    assert made is frame


def test_an_undated_table_is_left_as_it_is() -> None:
    frame = pd.DataFrame({"ticker": ["A", "B"], "sector": ["x", "y"], "weight": [0.1, 0.2]})
    assert harness.cut(frame, pd.Timestamp("2000-01-01")) is frame
    assert harness.surrogate(frame, pd.Timestamp("2000-01-01"), 1)[1] == 0


def test_the_cut_day_itself_stays() -> None:
    frame = closes()
    assert harness.cut(frame, frame.index[10]).index[-1] == frame.index[10]
    zoned = frame.tz_localize("America/New_York")
    assert len(harness.cut(zoned, frame.index[10])) in (10, 11)


def test_the_harness_stands_alone(tmp_path: Path) -> None:
    """It runs where nothing of ours is installed, and tells what it changed."""
    closes().reset_index().to_csv(tmp_path / "p.csv", index=False)
    (tmp_path / "go.py").write_text("import pandas as pd\nf = pd.read_csv('p.csv')\nprint(len(f), f.iloc[-1, 1])\n")
    (tmp_path / harness.CONFIG).write_text(
        json.dumps({"script": "go.py", "cut": str(closes().index[300].date()), "after": str(closes().index[200].date())})
    )
    done = subprocess.run(
        [
            sys.executable,
            "-S",
            "-c",
            "import sys; sys.path[:0] = "
            + repr([p for p in sys.path if p.endswith("site-packages")])
            + f"; sys.argv = ['x']; import runpy; runpy.run_path({harness.__file__!r}, run_name='__main__')",
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("301 ")
    assert json.loads((tmp_path / harness.REPORT).read_text())["cells"] == 600
