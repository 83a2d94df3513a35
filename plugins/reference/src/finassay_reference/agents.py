"""The agents as components: thin adapters around the program, which runs in the box as a process of its own."""

from typing import ClassVar

from pydantic import BaseModel, ConfigDict

from finassay.api.agent import AgentCapabilities
from finassay_cli_kit import JsonLinesAgent, python_program

VERSION = "0.1.0"
THREADS = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
"""Small matrices: more threads only get into each other's way."""


class AgentOptions(BaseModel):
    """Nothing to set."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class _ProgramAgent(JsonLinesAgent):
    """Runs `finassay_reference.program` with the subclass's name."""

    api_version: ClassVar[int] = 1
    Options: ClassVar[type[BaseModel]] = AgentOptions
    name: ClassVar[str]

    def __init__(self, options: AgentOptions, /) -> None:
        program = python_program("finassay_reference.program", self.name)
        super().__init__(
            self.name,
            program.argv,
            version=VERSION,
            capabilities=AgentCapabilities(
                reports_usage=True, reports_cost=True, readable=program.readable, environment={**program.environment, **THREADS}
            ),
        )


class ReferenceAgent(_ProgramAgent):
    """Asks until every component is pinned down, builds the backtest and hands over everything it takes to check it."""

    description: ClassVar[str] = "asks, builds the backtest on the embedded market and delivers the whole chain; no model"
    name = "reference"


class AssumerAgent(_ProgramAgent):
    """Never asks; builds a house strategy and says that it is the user's."""

    description: ClassVar[str] = "planted fault: never asks, builds its own strategy in the user's words"
    name = "assumer"


class LeakerAgent(_ProgramAgent):
    """Asks and builds what was asked, on data past the last date and with fills at the decision's own close."""

    description: ClassVar[str] = "planted fault: uses rows after the cutoff and fills at the signal's own close"
    name = "leaker"


class StorytellerAgent(_ProgramAgent):
    """A fluent report with invented figures, without data, trades or code."""

    description: ClassVar[str] = "planted fault: a fluent report that nothing supports"
    name = "storyteller"
