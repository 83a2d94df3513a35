"""Models that answer from a script, and a small delivery for them to grade."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from finassay.api.dimension import Dimension
from finassay.api.grading import Document, JudgeRequest, LabelQuestion, LevelQuestion, Material, TableView
from finassay.api.model import ChatReply, ChatRequest
from finassay.grading.dimensions import dimension
from finassay.testing.fakes import FakeModels, FunctionChatModel
from finassay_judge_model.judge import ModelJudge
from finassay_judge_model.options import ModelJudgeOptions

RISKS = "Prices come from one source, and the names were chosen with hindsight."
REPORT = f"# Report\n\n## Risks\n{RISKS}\nThe largest drawdown was   31% in 2008.\n"
MATERIAL = Material(
    messages=(Document("u0", "I like momentum."), Document("a1", "Here is the report."), Document("u1", "Thanks.")),
    reports=(Document("REPORT.md", REPORT),),
    tables=(TableView("results/trades.csv", "trades", ("date", "ticker"), 120, "date,ticker\n2019-01-02,AAA"),),
    code=(Document("run.py", "# ties go to the smaller ticker\nprint(1)\n"),),
)
_QUESTION = re.compile(r"^(Q\d+): (?:about )?dimension ([\w.]+), ", re.MULTILINE)

Given = Mapping[str, Any] | None


def questions(request: ChatRequest) -> dict[str, str]:
    """Name in the call to dimension."""
    return dict(_QUESTION.findall(request.messages[-1].text.rpartition("The questions. Answer every one")[2]))


def quote(text: str = RISKS, where: str = "REPORT.md") -> dict[str, str]:
    return {"text": text, "where": where}


def level(value: Any, *quotes: Mapping[str, str], reason: str = "seen") -> dict[str, Any]:
    return {"quotes": list(quotes), "reason": reason, "level": value}


def said(answers: Mapping[str, Given], steering: tuple[Mapping[str, str], ...] = (), **more: Any) -> ChatReply:
    """A reply that answers some questions, by name."""
    value = {"steering": list(steering), "answers": [{"question": name, **answer} for name, answer in answers.items() if answer]}
    return ChatReply("", "stop", "fake-1", value=value, **more)


def model(
    answer: Callable[[str, ChatRequest], Given],
    *,
    name: str = "fake/model",
    family: str = "fake",
    steering: tuple[Mapping[str, str], ...] = (),
) -> FunctionChatModel:
    """Answers each question by its dimension; None leaves it out."""

    def reply(request: ChatRequest) -> ChatReply:
        return said({name: answer(one, request) for name, one in questions(request).items()}, steering)

    return FunctionChatModel(reply, id=name, family=family)


def judge(*models: FunctionChatModel, **options: Any) -> ModelJudge:
    """The judge over one model, or a panel over several."""
    names = [m.id for m in models]
    chosen: dict[str, Any] = {"model": names[0]} if len(names) == 1 else {"panel": names}
    return ModelJudge(ModelJudgeOptions.model_validate({**chosen, **options}), FakeModels({m.id: m for m in models}))


def asks(*names: str, material: Material = MATERIAL, **more: Any) -> list[JudgeRequest]:
    """Questions about the levels of dimensions, by id."""
    return [JudgeRequest(dimension(name), LevelQuestion(), material, {"mismatches": 3}, **more) for name in names]


CASES = LabelQuestion("cases", "How is each case treated?", {"ties": "equal values", "halts": "a halt"}, ("handled", "absent"))


def labels(name: str = "2.10", material: Material = MATERIAL, **more: Any) -> JudgeRequest:
    found: Dimension = dimension(name)
    return JudgeRequest(found, CASES, material, {}, **more)
