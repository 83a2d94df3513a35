"""Somebody else's rule has its time: one that never returns must not hold up a rubric."""

import ctypes
import threading
from collections.abc import Callable
from typing import Final, TypeVar

from finassay.grading.clock import CheckTimeoutError, Clock

T = TypeVar("T")
RULE_SECONDS: Final = 10.0
"""How long a rule may look at one product."""


def within(seconds: float, call: Callable[[], T]) -> T:
    """What `call` gives. Raises what it raises, and `CheckTimeoutError` once its time is over.

    In the main thread an alarm ends it, wherever it hangs but in foreign code that looks at no signal. In another thread it is run beside and
    told to end; a call that does not heed that is left behind, in a thread that keeps no process alive.
    """
    if threading.current_thread() is threading.main_thread():
        with Clock(seconds, seconds).limit():
            return call()
    return _beside(seconds, call)


def _beside(seconds: float, call: Callable[[], T]) -> T:
    given: list[T] = []
    raised: list[BaseException] = []

    def work() -> None:
        try:
            given.append(call())
        except BaseException as error:  # told where it was asked for
            raised.append(error)

    thread = threading.Thread(target=work, name="rule", daemon=True)
    thread.start()
    thread.join(seconds)
    if thread.is_alive():
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident or 0), ctypes.py_object(SystemExit))
        thread.join(1.0)
        raise CheckTimeoutError(f"took longer than {seconds:.0f} s")
    if raised:
        raise raised[0]
    return given[0]
