"""Errors that carry an answer: whose failure it was, and what the harness does about it.

Three questions are asked about every failure inside a session: may it be retried, is what was delivered still
graded, and does the session count? The answers stand on the classes, so that a plugin decides by choosing what it raises.
An exception that is none of these is unknown and therefore does not count.
"""

from enum import StrEnum
from typing import ClassVar, Final


class Blame(StrEnum):
    """Whose failure ended or disturbed a session."""

    USER = "user"
    AGENT = "agent"
    SIMULATOR = "simulator"
    SANDBOX = "sandbox"
    JUDGE = "judge"
    HARNESS = "harness"


FILE_REFUSED: Final = 8
"""Exit code where the system refused a file: no space, no permission, a folder in the way."""


class FinassayError(Exception):
    """Base of every error that finassay raises on purpose.

    `hint` is one sentence that tells a person what to do next; it is printed under the message.
    """

    blame: ClassVar[Blame] = Blame.HARNESS
    retry: ClassVar[bool] = False
    graded: ClassVar[bool] = False
    counts: ClassVar[bool] = False
    exit_code: ClassVar[int] = 1

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


class UsageError(FinassayError):
    """A person asked for something that cannot be done as asked: a wrong option, file or name."""

    blame = Blame.USER
    exit_code = 2


class InvalidFileError(UsageError):
    """A task, run folder, configuration or record cannot be read; the message names the file and what was expected."""

    exit_code = 3


class CatalogError(FinassayError):
    """A component could not be found or used."""

    exit_code = 4


class PreflightError(FinassayError):
    """A run was refused before it spent anything; the message lists every problem found."""

    exit_code = 5

    def __init__(self, message: str, *, hint: str = "", problems: tuple[str, ...] = ()) -> None:
        super().__init__(message, hint=hint)
        self.problems = problems


class RunLockedError(FinassayError):
    """Another program is writing this run folder."""

    exit_code = 6


class NothingGradedError(FinassayError):
    """No session of the run is valid or could be graded; the lines above the message say how each ended."""

    exit_code = 9


class AgentError(FinassayError):
    """The agent's program or protocol failed. Retried once in the turn; what was delivered is graded and counts."""

    blame = Blame.AGENT
    retry = True
    graded = True
    counts = True


class ProviderError(FinassayError):
    """A model's provider failed in a way that may pass (overload, network, rate limit): not the agent's fault, what waited is done later.

    `retry_after` is the number of seconds that the provider asks to wait, where it does. The message never holds a key or a prompt.
    """

    blame = Blame.HARNESS
    retry = True

    def __init__(self, message: str, *, hint: str = "", retry_after: float | None = None) -> None:
        super().__init__(message, hint=hint)
        self.retry_after = retry_after


class ProviderRefusedError(ProviderError):
    """A provider failed in a way that waiting does not mend: a wrong key, an unknown model, no credit, a request that it does not take.

    `any_request` says that it is not about the one request: whatever the model is asked now is refused (wrong key, unknown model, no credit).
    """

    retry = False

    def __init__(self, message: str, *, hint: str = "", any_request: bool = False) -> None:
        super().__init__(message, hint=hint)
        self.any_request = any_request


class BudgetError(FinassayError):
    """The money that a session or a run may cost is spent. What is finished stands; with a larger budget the same command goes on."""

    exit_code = 10


class UnfinishedError(FinassayError):
    """Sessions of the run wait, or are not graded, because a model's provider was out of reach or refused; the same command goes on with them."""

    exit_code = 11


class SandboxError(FinassayError):
    """The sandbox could not start or failed its probe: the environment's failure, the session is run again."""

    blame = Blame.SANDBOX
    retry = True


class SimulatorError(FinassayError):
    """The simulated user could not produce a decision at all."""

    blame = Blame.SIMULATOR
    retry = True


class JudgeError(FinassayError):
    """A judge gave no verdict that can be read: the dimension stays unscored and the grading incomplete."""

    blame = Blame.JUDGE
    retry = True


class ResourceLimitError(FinassayError):
    """A session used up its money, tokens, disk or total time."""

    blame = Blame.AGENT
    graded = True
    counts = True


class IntegrityError(FinassayError):
    """The agent read sealed material, left its sandbox or tampered with the grading."""

    blame = Blame.AGENT
    graded = True
    counts = True
