"""A check that a hostile text makes slow gets no verdict, and the rest are graded."""

import time
from types import SimpleNamespace

import pytest
from attrs import define

from finassay.api.grading import CheckBrief
from finassay.api.scorecard import Evaluator
from finassay.api.verdict import Unscored
from finassay.grading.clock import CheckTimeoutError, Clock
from finassay.grading.engine import grade
from finassay.testing.samples import sample_package


@define
class SlowCheck:
    """Swallows the first alarm, as a guard inside a check would."""

    id: str = "slow"
    dimension: str = "1.4"
    role: str = "scores"
    by_turn: bool = False
    alarms: int = 0

    def brief(self, package):
        return CheckBrief()

    def run(self, package, answers):
        while True:
            try:
                time.sleep(30)
            except CheckTimeoutError:
                self.alarms += 1
                if self.alarms > 1:
                    raise


def test_a_slow_check_gets_no_verdict(tmp_path, monkeypatch):
    monkeypatch.setattr("finassay.grading.clock._AGAIN", 0.1)
    check = SlowCheck()
    card = grade(
        sample_package(tmp_path, {"a.csv": b"1\n"}, (("user", "Hi."), ("agent", "Done."))),
        {"slow": check},
        None,
        None,
        Evaluator("x", "none", ()),
        "s",
        clock=Clock(check_seconds=0.2),
    )
    verdict = card.graded("1.4").verdict
    assert isinstance(verdict, Unscored)
    assert "took longer than" in verdict.detail
    assert check.alarms == 2


def test_time_that_is_used_up_is_used_up():
    with pytest.raises(CheckTimeoutError, match="used up"), Clock(seconds=-1).limit():
        pass


def test_a_block_in_time_is_left_alone():
    with Clock(check_seconds=0.05).limit():
        pass
    time.sleep(0.1)  # no alarm may ring later


def test_blocks_of_one_check_share_its_time_and_waiting_between_them_costs_nothing(monkeypatch):
    now = [0.0]
    monkeypatch.setattr("finassay.grading.clock.time", SimpleNamespace(monotonic=lambda: now[0]))
    clock = Clock(seconds=100, check_seconds=50)

    def spend(check, seconds):
        with clock.limit(check):
            now[0] += seconds

    spend("one", 30)
    now[0] += 10_000  # a judge that is waited for
    spend("one", 20)
    with pytest.raises(CheckTimeoutError):
        spend("one", 1)
    spend("other", 40)
    spend("third", 10)
    with pytest.raises(CheckTimeoutError, match="used up"):
        spend("fourth", 1)
