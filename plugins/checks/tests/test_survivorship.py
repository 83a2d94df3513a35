"""Survivorship is told to 1.5 and beside 3.1, and lowers neither."""

import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

sys.path.insert(0, str(Path(__file__).parent))
from backtest_faults import Files, package_of, told, verdict

from finassay_checks.checks.assessment_sources import EvidenceGradeMatch
from finassay_checks.checks.backtest_timing import PointInTimeCorrectness
from finassay_checks.facts.survivorship import Survivorship, survivorship
from finassay_checks.options import NoOptions

NAMES = tuple(f"{a}{b}X" for a in "ABCDEFGHIJ" for b in "KLM")


def delivery(text: str, ended: int = 0, names: int = 30, years: int = 6) -> Files:
    """Prices of many names over years, `ended` of which stop half way, weights, and a report with a sentence on the universe."""
    days = pd.bdate_range("2010-01-04", periods=252 * years)
    random = np.random.default_rng(2)
    frames = []
    for number, ticker in enumerate(NAMES[:names]):
        own = days[: len(days) // 2] if number < ended else days
        close = np.round(50 * np.exp(np.cumsum(random.normal(0, 0.01, len(own)))), 4)
        frames.append(pd.DataFrame({"date": own, "ticker": ticker, "close": close}))
    weights = pd.DataFrame([(d, t, 0.25) for d in days[::60] for t in NAMES[8:12]], columns=["date", "ticker", "weight"])
    return {"REPORT.md": f"# Report\n\n{text}\n", "prices.csv": pd.concat(frames), "weights.csv": weights}


def of(tmp_path: Path, files: Files) -> Survivorship:
    found = package_of(tmp_path, files).fact(survivorship)
    assert found is not None
    return found


def test_an_index_of_which_nobody_ever_left_is_noted_and_lowers_nothing(tmp_path: Path) -> None:
    package = package_of(tmp_path, delivery("The universe is the S&P 500, free of survivorship bias."))
    found = verdict(PointInTimeCorrectness, package)
    assert found.level == 2
    assert "a list of survivors" in told(found)
    facts = EvidenceGradeMatch(NoOptions()).facts(package)["survivorship"]
    assert isinstance(facts, dict)
    assert facts["stop_trading_before_the_end"] == 0
    assert "free of survivorship" in str(facts["claimed_to_be_free_of_it"])


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("The universe is thirty names that the user chose.", {}),
        ("The universe is the S&P 500.", {"ended": 4}),
        ("The universe is the S&P 500.", {"names": 12, "years": 4}),
        ("The benchmark is the S&P 500.", {}),
    ],
    ids=["no-index", "names-leave", "few-and-short", "index-as-benchmark"],
)
def test_what_shows_no_survivors_is_not_noted(tmp_path: Path, text: str, options: dict[str, int]) -> None:
    assert not list(of(tmp_path, delivery(text, **options)).notes())


def test_members_that_left_and_have_no_prices_are_named(tmp_path: Path) -> None:
    files = delivery("The universe is an index.", ended=3)
    gone = {"ZZQ": "2012-03-01", "ZZR": "2013-05-01", "ZZS": "2025-01-02"}
    table = pd.DataFrame({"ticker": [*NAMES, *gone], "date_added": "2005-01-03", "date_removed": [None] * len(NAMES) + list(gone.values())})
    found = of(tmp_path, files | {"universe.csv": table})
    assert found.departed == ("ZZQ", "ZZR")
    assert any("2 names left the universe" in note for note in found.notes())


def test_speaking_of_the_bias_is_no_claim_to_be_free_of_it(tmp_path: Path) -> None:
    found = of(tmp_path, delivery("The list is not survivorship-bias-free: it holds today's members of the S&P 500 index."))
    assert not found.denied
    assert "survivorship" in found.said
