"""A stand-in for a model that plays well: it reads the prompt as a model would and answers by the five rules, on the sample belief."""

import re
from typing import Any

from finassay.api.conversation import Conversation, Message
from finassay.api.matching import asked, proposed, stated
from finassay.api.model import ChatReply, ChatRequest
from finassay.api.simulator import Scene
from finassay.testing.fakes import FakeModels, FunctionChatModel
from finassay.testing.samples import sample_belief, sample_persona, sample_task
from finassay_simulator_model.simulator import ModelOptions, ModelSimulator

BELIEF = sample_belief()
GO_ON = ("Please go on.", "Carry on with it.", "I am waiting to see something.")


def reply(value: Any, **more: Any) -> ChatReply:
    return ChatReply("", more.pop("finish", "stop"), "fake-1", value=value, **more)


def decision(
    message: str, action: str = "follow_up", *, status: str = "missing", cite: tuple[str, ...] = (), **more: Any
) -> dict[str, Any]:
    observations = [{"goal": goal, "status": status, "citations": list(cite)} for goal in ("backtest", "traceable-results", "report")]
    return {"observations": observations, "action": action, "message": message, "evidence": [], "block_reason": None, **more}


def plays(request: ChatRequest) -> ChatReply:
    """Opens with the points that the prompt names; answers what the last message asks; otherwise lets the assistant go on."""
    asked_for = set((request.schema or {})["properties"])
    prompt = request.messages[-1].text
    if asked_for == {"message"}:
        points = re.findall(r"^- I like (.+)\.$", prompt, re.MULTILINE)
        return reply({"message": f"I like {' and '.join(points)}. The universe is AAA, BBB and CCC, with data up to the end of 2019."})
    if asked_for == {"summary"}:
        return reply({"summary": "They talked."})
    if asked_for == {"verdicts"}:
        return reply({"verdicts": []})
    last = re.findall(r"<<<(a\d+)>>>\n(.*?)\n<<<end of \1>>>", prompt, re.DOTALL)
    heard = last[-1][1] if last else ""
    raised = asked(BELIEF.items, heard) | frozenset(proposed(BELIEF.items, heard))
    told = stated(BELIEF.items, prompt.split("CONVICTIONS SO FAR")[1].split("WHAT YOU WANT")[0])
    said = " ".join(f"I want to {item.sentence}." for item in BELIEF.items if item.id in raised and item.id not in told)
    return reply(decision(said or GO_ON[len(last) % len(GO_ON)], "clarify" if said else "follow_up"))


MODELS = FakeModels({"fake/model": FunctionChatModel(plays)})


def simulator(*script: ChatReply | Exception, **options: Any) -> tuple[ModelSimulator, FunctionChatModel]:
    """The component on a model that answers decisions and openings from a script (the last entry again), and checks and summaries by itself."""
    left = list(script)

    def answer(request: ChatRequest) -> ChatReply | Exception:
        if set((request.schema or {})["properties"]) in ({"summary"}, {"verdicts"}):
            return plays(request)
        return (left.pop(0) if len(left) > 1 else left[0]) if left else plays(request)

    model = FunctionChatModel(answer)
    return ModelSimulator(ModelOptions(model="fake/model", **options), FakeModels({"fake/model": model})), model


def scene(*texts: str, **more: Any) -> Scene:
    """A conversation in which the assistant said these texts."""
    said = Conversation((Message("u0", 0, "user", "I like last year's winners."),))
    for turn, text in enumerate(texts, start=1):
        said = said.with_message(Message(f"a{turn}", turn, "agent", text))
        if turn < len(texts):
            said = said.with_message(Message(f"u{turn}", turn, "user", f"Go on {turn}."))
    return Scene(sample_task(), sample_persona(), said, **more)
