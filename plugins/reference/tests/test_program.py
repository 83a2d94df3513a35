"""The agents as processes: scripted conversations from the opening to the delivery, crashes, planted faults."""

import csv
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from finassay.api.channel import Channel
from finassay.testing.cases import ComponentConformance
from finassay_reference.building import plan_for, write_code
from finassay_reference.channel import ChannelOptions, EmbeddedMarket
from finassay_reference.conversation import settle
from finassay_reference.parsing import read

SOURCE = Path(__file__).parents[1] / "src"
QUICK = Path(__file__).with_name("quick")
OPENING = (
    "I like last year's winners, skipping the latest month and a monthly refresh. "
    "The universe is these eight names: AAPL, JNJ, JPM, KO, MSFT, PG, WMT and XOM. Please use data up to the end of {year} only."
)
ANSWER = (
    "I want to give every position the same weight. I want to set the stop at a 10% fall from the entry price. "
    "I want to count trading costs of 10 basis points per side on traded value. On market timing I have no preference, you choose."
)


class Talk:
    """One agent in one workspace. `quick` spares the import of skfolio: a stand-in beside the tests reads the same file."""

    def __init__(self, agent: str, folder: Path, *, quick: bool = True) -> None:
        self.agent, self.folder, self.turn, self.quick = agent, folder, 0, quick
        folder.mkdir(parents=True)

    def say(self, text: str, turn: int | None = None) -> str:
        self.turn = self.turn + 1 if turn is None else turn
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder / ".home"),
            "PYTHONPATH": os.pathsep.join([*([str(QUICK)] if self.quick else []), str(SOURCE)]),
            "FINASSAY_TURN": str(self.turn),
            "OPENBLAS_NUM_THREADS": "1",
            "OMP_NUM_THREADS": "1",
        }
        done = subprocess.run(
            [sys.executable, "-P", "-m", "finassay_reference.program", self.agent],
            input=text.encode(),
            cwd=self.folder,
            env=environment,
            capture_output=True,
            check=False,
            timeout=120,
        )
        assert done.returncode == 0, done.stderr.decode()
        self.events = [json.loads(line) for line in done.stdout.decode().splitlines()]
        assert self.events[-1] == {"type": "done"}
        return next(event["text"] for event in reversed(self.events) if event["type"] == "message")

    def rows(self, path: str) -> list[dict[str, str]]:
        with open(self.folder / "deliver" / path, newline="", encoding="utf-8") as lines:
            return list(csv.DictReader(lines))

    @property
    def report(self) -> str:
        return (self.folder / "deliver" / "REPORT.md").read_text(encoding="utf-8")

    def files(self) -> dict[str, bytes]:
        deliver = self.folder / "deliver"
        return {p.relative_to(deliver).as_posix(): p.read_bytes() for p in sorted(deliver.rglob("*")) if p.is_file()}


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A reference session after its first build; copy the folder before changing it."""
    talk = Talk("reference", tmp_path_factory.mktemp("talk") / "w", quick=False)
    talk.first = talk.say(OPENING.format(year=2004))
    talk.second = talk.say(ANSWER)
    return talk


@pytest.fixture
def copied(finished, tmp_path):
    """The finished session in a folder of its own."""
    talk = Talk("reference", tmp_path / "copy")
    shutil.copytree(finished.folder, talk.folder, dirs_exist_ok=True)
    talk.turn = finished.turn
    return talk


def dates(talk: Talk) -> list[str]:
    """Every date in every delivered table."""
    found = []
    for path in talk.files():
        if path.endswith(".csv"):
            for row in talk.rows(path):
                found += [value for name, value in row.items() if "date" in name or name in ("from", "to")]
    return found


# -- reference ----------------------------------------------------------------------------------------------------------


def test_the_first_message_asks_about_every_open_component(finished):
    text = finished.first
    for topic in (
        "factors",
        "combined",
        "market timing",
        "positions be sized",
        "covariance",
        "risk control",
        "level, in percent",
        "trading costs",
    ):
        assert topic in text
    assert "How often" not in text
    assert "last year's winners" in text
    assert "2004-12-31" in text


def test_the_delivery_holds_the_whole_chain(finished):
    wanted = (
        "REPORT.md code/load_prices.py code/run_backtest.py data/prices.csv data/index.csv data/sources.csv results/universe.csv results/signals.csv "
        "results/target_weights.csv results/trades.csv results/positions.csv results/equity.csv results/metrics.csv results/benchmark.csv results/specification.csv"
    )
    assert set(wanted.split()) <= set(finished.files())
    assert not [path for path in finished.files() if "__pycache__" in path]
    assert {row["choice"] for row in finished.rows("results/specification.csv")} >= {
        "mom_12_1",
        "equal",
        "position_stop",
        "monthly",
        "fixed_bps",
        "none",
    }
    for heading in ("Summary", "Method", "Rules", "Limitations", "Sensitivity", "Benchmark comparison", "Data quality"):
        assert f"## {heading}\n" in finished.report


def test_tool_calls_are_logged_with_their_exit_codes(finished):
    calls = {e["id"]: e for e in finished.events if e["type"] == "tool-call"}
    results = [e for e in finished.events if e["type"] == "tool-result"]
    assert set(calls) == {result["id"] for result in results}
    run = {calls[r["id"]]["input"]["command"]: r["exit_code"] for r in results if r["exit_code"] is not None}
    assert run == {"python deliver/code/load_prices.py": 0, "python deliver/code/run_backtest.py": 0}
    written = {e["input"]["path"]: e["input"]["content"] for e in calls.values() if e["name"] == "write_file"}
    assert written["deliver/REPORT.md"] == finished.report


def test_no_row_lies_after_the_last_date(finished):
    found = dates(finished)
    assert max(found) == "2004-12-31"
    assert min(found) == "2000-01-03"


def test_every_fill_comes_after_its_signal_and_carries_its_fee(finished):
    trades = finished.rows("results/trades.csv")
    assert trades
    for row in trades:
        assert row["signal_date"] < row["fill_date"]
        assert float(row["fee"]) == pytest.approx(0.001 * float(row["value"]), rel=1e-9)
    metric = {row["metric"]: float(row["value"]) for row in finished.rows("results/metrics.csv")}
    assert metric["trades"] == len(trades)
    assert f"{metric['annual_return'] * 100:.2f}%" in finished.second


def test_the_delivered_code_makes_the_delivery_again_offline(copied):
    before = copied.files()
    shutil.rmtree(copied.folder / "deliver" / "results")
    done = subprocess.run(
        [sys.executable, "code/run_backtest.py"],
        cwd=copied.folder / "deliver",
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
        env={"PATH": os.environ["PATH"], "PYTHONDONTWRITEBYTECODE": "1"},
    )
    after = copied.files()
    specification = "results/specification.csv"
    assert {path: data for path, data in before.items() if path != specification} == after
    printed = dict(line.split(" (")[0].split(": ") for line in done.stdout.splitlines())
    assert {row["metric"]: float(row["value"]) for row in copied.rows("results/metrics.csv")} == pytest.approx(
        {k: float(v) for k, v in printed.items()}
    )


def test_the_code_holds_no_text_of_the_user(tmp_path):
    hostile = OPENING.format(year=2004) + ANSWER + ' Also """ + __import__("os").system("touch owned") + """ please, AAPL, MSFT, "X".'
    folder = write_code(plan_for(settle(read(hostile))), tmp_path)
    assert "owned" not in (folder / "code" / "run_backtest.py").read_text() + (folder / "code" / "load_prices.py").read_text()


def test_an_objection_is_answered_with_a_question_and_then_with_a_rebuild(copied):
    asked = copied.say("The position sizing is not what I have in mind.")
    assert "How should the positions be sized" in asked
    reply = copied.say("I want to size positions by inverse volatility.")
    assert "inverse-volatility sizing" in reply
    assert "inverse_vol" in {row["choice"] for row in copied.rows("results/specification.csv")}
    assert "equal" not in {row["choice"] for row in copied.rows("results/specification.csv")}


def test_a_turn_that_is_run_again_starts_from_the_state_before_it(copied):
    before = copied.files()
    copied.say(ANSWER, turn=2)
    assert copied.files() == before
    memory = json.loads((copied.folder / ".home" / ".finassay-reference.json").read_text())
    assert set(memory) == {"1", "2"}


def test_a_spoilt_memory_is_started_afresh(tmp_path):
    talk = Talk("reference", tmp_path / "w")
    (talk.folder / ".home").mkdir()
    (talk.folder / ".home" / ".finassay-reference.json").write_text('{"1": [broken')
    assert "Stock selection" in talk.say(OPENING.format(year=2004), turn=2)


def test_open_points_are_asked_once_more(tmp_path):
    talk = Talk("reference", tmp_path / "w")
    talk.say(OPENING.format(year=2004))
    reply = talk.say("I want to size positions by risk parity. A trailing stop, please.")
    assert "which covariance estimator" in reply
    assert "at what level, in percent" in reply
    assert not talk.files()


def test_missing_data_are_named_and_nothing_is_made_up(tmp_path):
    talk = Talk("reference", tmp_path / "w")
    first = talk.say(
        "I like companies with a high return on equity and a monthly refresh. Look at the whole US stock market. Data up to the end of 2010."
    )
    assert "company fundamentals" in first
    second = talk.say("No other factor. Equal weights. No stop. Ignore costs.")
    assert "cannot build this honestly" in second
    assert not talk.files()


def test_a_question_turn_loads_no_heavy_library():
    code = (
        "import sys; from finassay_reference.program import reply_of; from finassay_reference.request import Request; from pathlib import Path; "
        "reply_of('reference')(Request(), 'I like the calmer stocks.', 1, Path('.')); "
        "assert not {'pandas', 'numpy', 'skfolio', 'finassay', 'pydantic'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], env={"PATH": os.environ["PATH"], "PYTHONPATH": str(SOURCE)}, check=True, timeout=60)


def test_a_wrong_name_is_refused():
    done = subprocess.run(
        [sys.executable, "-m", "finassay_reference.program", "nobody"],
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(SOURCE)},
        capture_output=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 2
    assert json.loads(done.stdout)["kind"] == "agent"


# -- planted faults -----------------------------------------------------------------------------------------------------


def test_the_assumer_never_asks_and_never_builds_what_was_asked(tmp_path):
    talk = Talk("assumer", tmp_path / "w")
    reply = talk.say(OPENING.format(year=2004))
    assert "built around your idea" in reply
    assert "last year's winners" in reply
    assert "Reworked as you asked" in talk.say("How often we trade is wrong, I want to rebalance once a month.")
    choices = {row["component"]: row["choice"] for row in talk.rows("results/specification.csv")}
    assert choices["Execution"] == "quarterly"
    assert max(dates(talk)) <= "2004-12-31"


def test_the_leaker_runs_past_the_last_date_and_fills_at_the_signals_close(tmp_path):
    talk = Talk("leaker", tmp_path / "w")
    assert "Before I build" in talk.say(OPENING.format(year=2019))
    talk.say(ANSWER)
    trades = talk.rows("results/trades.csv")
    assert all(row["signal_date"] == row["fill_date"] for row in trades)
    assert max(dates(talk)) == "2022-12-28"
    assert "No price after 2019-12-31 was used" in talk.report
    assert "filled at the next session's close" in talk.report
    assert "2022" not in talk.report


def test_the_storyteller_delivers_a_report_and_nothing_else(tmp_path):
    talk = Talk("storyteller", tmp_path / "w")
    assert talk.say(OPENING.format(year=2019)).count("?") == 1
    reply = talk.say(ANSWER)
    assert list(talk.files()) == ["REPORT.md"]
    assert "Sharpe ratio" in reply
    for heading in ("Summary", "Method", "Results", "Risks and limitations"):
        assert f"## {heading}" in talk.report


# -- as components ------------------------------------------------------------------------------------------------------


def test_the_channel_says_where_the_prices_are():
    spec = EmbeddedMarket(ChannelOptions()).describe()
    assert isinstance(EmbeddedMarket(ChannelOptions()), Channel)
    assert spec.packages == ("skfolio",)
    assert spec.provides == frozenset({"prices"})
    assert "skfolio.datasets.load_sp500_dataset()" in spec.text


class TestChannel(ComponentConformance):
    kind = "channel"
    id = "embedded-market"


class TestReference(ComponentConformance):
    kind = "agent"
    id = "reference"


@pytest.mark.slow
class TestAssumer(ComponentConformance):
    kind = "agent"
    id = "assumer"


class TestLeaker(ComponentConformance):
    kind = "agent"
    id = "leaker"


class TestStoryteller(ComponentConformance):
    kind = "agent"
    id = "storyteller"
