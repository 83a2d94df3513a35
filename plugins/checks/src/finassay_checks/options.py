"""Options of components that have nothing to set."""

from pydantic import BaseModel, ConfigDict


class NoOptions(BaseModel):
    """Nothing to set; every key is refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")
