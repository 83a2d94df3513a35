"""The component: a deterministic user that keeps the disclosure policy by construction."""

from typing import ClassVar

from pydantic import BaseModel, ConfigDict, Field

from finassay.api.simulator import Decision, Rejection, Scene


class PolicyOptions(BaseModel):
    """What can be set."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    patience: int = Field(
        default=3,
        ge=2,
        le=50,
        description="Replies in a row without a question, a proposal or a delivery after which the user gives up.",
    )


class PolicySimulator:
    """Plays the user by rule; implements `finassay.api.simulator.Simulator`.

    What is said is a function of the scene alone; which wording of the persona is used hangs on a hash of seed, turn and place.
    """

    api_version: ClassVar[int] = 1
    description: ClassVar[str] = "user without a model: answers what is asked, in the persona's voice, and nothing else"
    Options: ClassVar[type[BaseModel]] = PolicyOptions
    id: ClassVar[str] = "policy"
    version: ClassVar[str] = "1"
    deterministic: ClassVar[bool] = True

    def __init__(self, options: PolicyOptions) -> None:
        self.options = options

    def open(self, scene: Scene, rejections: tuple[Rejection, ...] = ()) -> str:
        """u_0 with exactly the belief's opening items. `rejections` change the wording only."""
        from finassay_simulator_policy.opening import opening

        return opening(scene, salt=len(rejections))

    def decide(self, scene: Scene, rejections: tuple[Rejection, ...] = ()) -> Decision:
        """The user's turn. After a rejection other words are chosen."""
        from finassay_simulator_policy.turn import Turn

        return Turn(scene, self.options.patience, salt=len(rejections)).decision()
