"""The component `model` (paper, section 3.3 and appendix D)."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field

from finassay.api.errors import SimulatorError
from finassay.api.model import ChatMessage, ChatModel, ChatReply, ChatRequest, Models
from finassay.api.simulator import Decision, DisclosureVerdict, Rejection, Scene
from finassay.api.verdict import Json

if TYPE_CHECKING:
    from finassay.api.strategy import Item


class ModelOptions(BaseModel):
    """Settings of the simulated user."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    model: str = Field(min_length=3, description="Who plays the user, as PROVIDER/NAME.")
    effort: str | None = Field(
        default=None, description="How much the model thinks, in its provider's words; the paper's user plays on 'low'."
    )
    model_options: dict[str, Any] = Field(default_factory=dict, description="More options of the model's provider.")
    check_model: str | None = Field(
        default=None, description="Who decides what the phrase matcher leaves open; the same model if not named."
    )
    check: bool = Field(default=True, description="Whether what the phrase matcher leaves open is decided by a model at all.")
    summary_words: int = Field(
        default=250, ge=0, le=2_000, description="Length of the summary of messages before the last six; 0 takes their beginnings instead."
    )
    max_output_tokens: int = Field(
        default=8_192, ge=256, le=64_000, description="Limit of one reply, thinking included where the provider counts it."
    )
    temperature: float | None = Field(default=None, ge=0, le=2, description="Left to the provider if not given.")


class ModelSimulator:
    """A user that a chat model plays by the paper's five rules.

    It keeps no state: every call is made of its scene alone, so that sessions may be held at the same time and resumed. `ProviderError`
    passes through; a refusal, an empty or an unusable reply is a `SimulatorError`, which costs one of the tries.
    """

    api_version: ClassVar[int] = 1
    takes_models: ClassVar[bool] = True
    description: ClassVar[str] = "user played by a chat model: persona, convictions, five rules, structured decisions"
    Options: ClassVar[type[BaseModel]] = ModelOptions
    id: ClassVar[str] = "model"
    version: ClassVar[str] = "1"
    deterministic: ClassVar[bool] = False

    def __init__(self, options: ModelOptions, models: Models) -> None:
        from finassay_simulator_model.wording import digest

        self.options = options
        settings = {**options.model_options, **({"effort": options.effort} if options.effort is not None else {})}
        self.model: ChatModel = models.get(options.model, settings)
        other = options.check_model is not None and options.check_model != options.model
        self.checker: ChatModel = models.get(str(options.check_model), {}) if other else self.model
        self.identity: Mapping[str, Json] = {
            "model": options.model,
            "family": self.model.family,
            "model_options": settings,
            "check_model": (options.check_model or options.model) if options.check else None,
            "summary_words": options.summary_words,
            "temperature": options.temperature,
            "prompt": digest(),
        }

    def open(self, scene: Scene, rejections: tuple[Rejection, ...] = ()) -> str:
        """u_0: one vague idea with the opening items, the universe and the last date of data. Raises `SimulatorError`, `ProviderError`."""
        from finassay_simulator_model import prompts, replies

        asked = self._request(prompts.opening(scene, rejections), replies.OPENING_SCHEMA, scene.seed + len(rejections))
        return replies.text_of(self.model.complete(asked), "message")

    def decide(self, scene: Scene, rejections: tuple[Rejection, ...] = ()) -> Decision:
        """The user's turn. Raises `SimulatorError`, `ProviderError`."""
        from finassay_simulator_model import prompts, replies

        earlier = scene.conversation.messages[: -prompts.LAST_MESSAGES]
        messages = prompts.turn(scene, rejections, self._summary(earlier, scene.seed) if earlier else "")
        asked = self._request(messages, replies.decision_schema(scene.task.goals), scene.seed + len(rejections))
        return replies.decision(self.model.complete(asked))

    def check_disclosure(self, items: "Sequence[Item]", user_message: str, agent_message: str, seed: int = 0) -> DisclosureVerdict:
        """Which of the items were told and raised, with the words that show it. Raises `SimulatorError`, `ProviderError`."""
        from finassay_simulator_model import prompts, replies

        if not self.options.check:
            raise SimulatorError("the check by a model is switched off")
        asked = self._request(prompts.checking(items, user_message, agent_message), replies.CHECK_SCHEMA, seed)
        return replies.verdict(self.checker.complete(asked), items)

    def _summary(self, earlier: Sequence[Any], seed: int) -> str:
        """What came before the last six messages; their beginnings where no summary can be had."""
        from finassay_simulator_model import prompts, replies

        if not self.options.summary_words:
            return prompts.extract(earlier)
        asked = self._request(prompts.summing_up(earlier, self.options.summary_words), replies.SUMMARY_SCHEMA, seed)
        reply: ChatReply = self.model.complete(asked)
        try:
            return replies.text_of(reply, "summary") or prompts.extract(earlier)
        except SimulatorError:
            return prompts.extract(earlier)

    def _request(self, messages: tuple[ChatMessage, ...], schema: Mapping[str, Json], seed: int) -> ChatRequest:
        """`repeat` is the session's seed and, for what may be refused, the number of refusals: repeats of a session and tries of one turn
        are asked anew, also where a try is told nothing that the one before it was not; agents that meet the same user meet the same words.
        """
        return ChatRequest(
            messages=messages,
            schema=schema,
            max_output_tokens=self.options.max_output_tokens,
            temperature=self.options.temperature,
            repeat=seed,
            role="simulator",
        )
