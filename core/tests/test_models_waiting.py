"""Patience and limits: what passes is waited out, what does not is told at once, and a provider is never asked more than it may be."""

import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from scripted_models import request, scripted_catalog

from finassay.api.errors import ProviderError, ProviderRefusedError
from finassay.api.model import ChatReply
from finassay.config.settings import ProviderSettings
from finassay.models.limits import Limiter
from finassay.models.patience import LONGEST_WAIT, Patience
from finassay.models.service import BRIEF_SECONDS, ModelService

REPLY = ChatReply("Yes.", "stop", "m")


class Failing:
    """Fails with the given errors, one a call, then replies."""

    def __init__(self, *errors: Exception) -> None:
        self.errors, self.calls = list(errors), 0

    def __call__(self) -> ChatReply:
        self.calls += 1
        if self.errors:
            raise self.errors.pop(0)
        return REPLY


def patience(seconds: float = 600.0) -> tuple[Patience, list[float], list[tuple[str, float, str]]]:
    slept: list[float] = []
    told: list[tuple[str, float, str]] = []
    return Patience(seconds, lambda model, wait, error: told.append((model, wait, str(error))), slept.append), slept, told


def test_what_passes_is_waited_out_and_told():
    patient, slept, told = patience()
    call = Failing(ProviderError("busy"), ProviderError("busy still"))
    assert patient.call("p/m", call) is REPLY
    assert call.calls == 3
    assert [(model, said) for model, _, said in told] == [("p/m", "busy"), ("p/m", "busy still")]
    assert [wait for _, wait, _ in told] == slept
    assert all(0 <= wait <= LONGEST_WAIT for wait in slept)


def test_the_provider_says_how_long():
    patient, slept, _ = patience()
    patient.call("p/m", Failing(ProviderError("slow down", retry_after=17.0), ProviderError("slow down", retry_after=0.0)))
    assert 17.0 <= slept[0] <= 17.0 + LONGEST_WAIT / 10
    assert slept[1] <= LONGEST_WAIT


@pytest.mark.parametrize("error", [ProviderRefusedError("wrong key"), ValueError("a bug")])
def test_what_will_not_pass_is_told_at_once(error):
    patient, slept, _ = patience()
    call = Failing(error)
    with pytest.raises(type(error)):
        patient.call("p/m", call)
    assert (call.calls, slept) == (1, [])


def test_patience_ends():
    started = time.monotonic()
    call = Failing(*[ProviderError(f"busy {n}") for n in range(100)])
    with pytest.raises(ProviderError, match="busy"):
        Patience(0.3).call("p/m", call)
    assert time.monotonic() - started < 1.5
    assert 0 < call.calls < 100


def test_a_wait_that_would_outlast_the_patience_is_not_begun():
    patient, slept, _ = patience(10)
    with pytest.raises(ProviderError) as told:
        patient.call("p/m", Failing(ProviderError("come back tomorrow", retry_after=86_400.0)))
    assert slept == []
    assert told.value.retry_after == 86_400.0


def test_after_one_call_has_waited_in_vain_the_others_wait_briefly_until_one_gets_through():
    slept: list[float] = []
    away = ProviderError("down", retry_after=BRIEF_SECONDS + 1)
    catalog, asked = scripted_catalog(away, ProviderError("still down", retry_after=1000.0), away, REPLY, away, REPLY)
    service = ModelService(catalog, {"scripted": ProviderSettings(patience_seconds=100)}, sleep=slept.append)
    first, second = service.get("scripted/a"), service.get("scripted/b")
    with pytest.raises(ProviderError, match="still down"):
        first.complete(request())
    assert (len(slept), len(asked)) == (1, 2), "it waited as long as it may"
    with pytest.raises(ProviderError, match="down"):
        second.complete(request())
    assert (len(slept), len(asked)) == (1, 3), "the other did not wait that long any more"
    assert second.complete(request()).text == "Yes."
    assert second.complete(request()).text == "Yes."
    assert (len(slept), len(asked)) == (2, 6), "once one has got through, there is patience again"


# -- limits -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shared", [False, True])
def test_no_more_calls_at_once_than_allowed(tmp_path, shared):
    limiter = Limiter("p", concurrency=2, folder=tmp_path / "sealed" / "limits" if shared else None)
    now, most, lock = [0], [0], threading.Lock()

    def work() -> None:
        with limiter.place():
            with lock:
                now[0] += 1
                most[0] = max(most[0], now[0])
            time.sleep(0.02)
            with lock:
                now[0] -= 1

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert most[0] == 2
    assert now[0] == 0


def test_places_are_shared_by_processes_and_fall_free_when_one_dies(tmp_path):
    program = (
        "import sys, time; from pathlib import Path; from finassay.models.limits import Limiter\n"
        "with Limiter('p', concurrency=1, folder=Path(sys.argv[1])).place():\n    print('in', flush=True); time.sleep(60)\n"
    )
    other = subprocess.Popen([sys.executable, "-c", program, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert other.stdout is not None
    assert other.stdout.readline() == "in\n"
    entered = threading.Event()

    def enter() -> None:
        with Limiter("p", concurrency=1, folder=tmp_path).place():
            entered.set()

    thread = threading.Thread(target=enter, daemon=True)
    thread.start()
    assert not entered.wait(0.3)
    other.kill()
    other.wait(10)
    other.stdout.close()
    assert entered.wait(10)
    thread.join(10)


@pytest.mark.parametrize("shared", [False, True])
def test_no_more_calls_begin_in_a_minute_than_allowed(tmp_path, shared):
    time_now = [1000.0]
    slept: list[float] = []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        time_now[0] += seconds

    def limiter() -> Limiter:
        return Limiter("p", per_minute=3, folder=tmp_path if shared else None, sleep=sleep, clock=lambda: time_now[0])

    one = limiter()
    for number in range(7):
        with (limiter() if shared else one).place():
            time_now[0] += 1
        if number < 3:
            assert slept == []
    assert 57 <= sum(slept[:1]) <= 60
    assert time_now[0] - 1000 >= 120
    assert time_now[0] - 1000 < 130


def test_a_damaged_count_is_begun_anew(tmp_path: Path):
    (tmp_path / "p.minute").write_text("[1, {")
    with Limiter("p", per_minute=1, folder=tmp_path).place():
        pass
    assert (tmp_path / "p.minute").read_text().startswith("[")


def test_a_failed_try_gives_its_place_back():
    limiter = Limiter("p", concurrency=1)
    for _ in range(3):
        with pytest.raises(ValueError), limiter.place():
            raise ValueError
    with limiter.place():
        pass
