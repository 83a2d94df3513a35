"""The agent `bare-model`: the paper's baseline, a model that answers the same requests without tools."""

import threading
from collections.abc import Callable
from contextvars import copy_context
from typing import Any, ClassVar, Final

from attrs import asdict, define
from pydantic import BaseModel, ConfigDict, Field

from finassay.api.agent import AgentCapabilities, AgentTurn, Setting, TurnContext
from finassay.api.conversation import Conversation, Message
from finassay.api.delivery import LogEvent
from finassay.api.errors import AgentError
from finassay.api.model import ChatMessage, ChatModel, ChatReply, ChatRequest, Models
from finassay.api.usage import Usage

NO_TOOLS: Final = (
    "In this conversation you have no tools: you cannot search, run code or write files, and ./deliver stays empty. The person receives your"
    " messages and nothing else."
)
CUT: Final = "(The reply was stopped by the clock.)"
"""Stands for a reply of which nothing came: providers refuse an empty message."""
_POLL_SECONDS: Final = 0.05


class BareModelOptions(BaseModel):
    """Which model talks, and how."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    model: str = Field(min_length=3, max_length=300, description="The model, as PROVIDER/NAME.")
    effort: str | None = Field(default=None, max_length=100, description="How much the model thinks, in its provider's words.")
    model_options: dict[str, Any] = Field(default_factory=dict, description="More options of the model's provider.")
    max_output_tokens: int = Field(
        default=16_384, ge=256, le=1_000_000, description="Limit of one reply, thinking included where the provider counts it."
    )
    temperature: float | None = Field(default=None, ge=0, le=2, description="Left to the provider if not given.")
    say_no_tools: bool = Field(
        default=True,
        description="Add to the brief, which is the same for every agent, that this one has no tools; false gives the brief alone.",
    )


@define
class _Call:
    """One exchange, in a thread of its own: what a provider takes its time over must not outlast the turn."""

    reply: ChatReply | None = None
    error: BaseException | None = None

    def run(self, ask: Callable[[], ChatReply], cut: Callable[[], bool]) -> ChatReply | None:
        """The reply; None if the turn was cut first. A call that was left behind ends by itself and is metered; its answer is dropped."""
        over, context = threading.Event(), copy_context()  # whom the call serves: the ledger and the budget look there

        def work() -> None:
            try:
                self.reply = context.run(ask)
            except BaseException as error:  # raised again where the turn is
                self.error = error
            finally:
                over.set()

        threading.Thread(target=work, name="bare-model", daemon=True).start()
        while not over.wait(_POLL_SECONDS):
            if cut():
                return None
        if self.error is not None:
            raise self.error
        return self.reply


class BareModel:
    """Implements `finassay.api.agent.Agent`.

    Each turn the whole conversation goes to the model, with the brief as system text. It delivers messages only: what it writes in them, also
    as blocks with file names, stays part of the message (in the paper a turn is a message and a set of files, and a model without tools has no way
    to the second). `ProviderError` and `BudgetError` pass through as they are.
    """

    api_version: ClassVar[int] = 1
    takes_models: ClassVar[bool] = True
    description: ClassVar[str] = "a chat model without tools, the paper's baseline: it only talks"
    Options: ClassVar[type[BaseModel]] = BareModelOptions
    id = "bare-model"
    capabilities = AgentCapabilities(uses_box=False, resumes=True, reports_usage=True)

    def __init__(self, options: BareModelOptions, models: Models, /) -> None:
        self.options = options
        settings = {**options.model_options, **({"effort": options.effort} if options.effort is not None else {})}
        self._model: ChatModel = models.get(options.model, settings)
        self.version = self._model.id
        self._system = ""
        self._said = Conversation()

    def start(self, setting: Setting) -> None:
        self._system = f"{setting.brief.instructions}\n\n{NO_TOOLS}" if self.options.say_no_tools else setting.brief.instructions
        messages = setting.history.messages
        while messages and messages[-1].sender == "user":  # it comes again with the next turn
            messages = messages[:-1]
        self._said = Conversation(messages)

    def send(self, message: str, context: TurnContext) -> AgentTurn:
        heard = self._said.with_message(Message(f"u{context.turn - 1}", context.turn - 1, "user", message))
        request = ChatRequest(
            messages=(ChatMessage("system", self._system), *_messages(heard)),
            max_output_tokens=self.options.max_output_tokens,
            temperature=self.options.temperature,
            role="agent",
            about=f"turn-{context.turn}",
            seconds=max(context.seconds, 1.0),
        )
        reply = _Call().run(lambda: self._model.complete(request), context.cut)
        if reply is not None:
            _log(reply, context)
        text = reply.text.strip() if reply is not None else ""
        if reply is not None and not text:
            raise AgentError(f"{self._model.id} {_NOTHING.get(reply.finish, 'said nothing')}")
        self._said = heard.with_message(Message(f"a{context.turn}", context.turn, "agent", text, cut=reply is None))
        return AgentTurn(text, reply.usage if reply is not None else Usage())

    def finalize(self) -> None:
        """Nothing is held: a call that a cut turn left behind ends with its own time."""


_NOTHING: Final = {
    "length": "used up max_output_tokens before it said anything",
    "refusal": "refused to answer and said nothing",
}
_WORTH_KNOWING: Final = {"length": "the reply was cut at max_output_tokens", "refusal": "the provider marks the reply as a refusal"}


def _messages(said: Conversation) -> tuple[ChatMessage, ...]:
    return tuple(ChatMessage("user" if m.sender == "user" else "assistant", m.text if m.text.strip() else CUT) for m in said.messages)


def _log(reply: ChatReply, context: TurnContext) -> None:
    """Which model answered and what it took; its words are the message."""
    context.log(LogEvent(context.turn, "usage", {**asdict(reply.usage), "model": reply.model}))
    if note := _WORTH_KNOWING.get(reply.finish):
        context.log(LogEvent(context.turn, "note", {"text": note}))
