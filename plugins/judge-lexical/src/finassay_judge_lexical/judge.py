"""The entry point of the judge `lexical`."""

from pydantic import BaseModel, ConfigDict

from finassay.api.errors import JudgeError
from finassay.api.grading import Answer, JudgeRequest, LabelQuestion, Quote


class LexicalOptions(BaseModel):
    """Nothing to set; every key is refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class LexicalJudge:
    """Grades by stated rules over words, numbers and the facts that programs computed; the README lists every rule.

    Deterministic. Text that addresses whoever grades is left out before any rule looks. Raises `JudgeError` for a dimension without a rule.
    """

    api_version = 1
    description = "Grades meaning by stated rules over the words of a delivery; needs no model."
    Options = LexicalOptions
    id = "lexical"
    version = "1"
    deterministic = True

    def __init__(self, options: LexicalOptions) -> None:
        self.options = options

    def answer(self, request: JudgeRequest) -> Answer:
        from finassay_judge_lexical.labels import answer_labels
        from finassay_judge_lexical.rules import RULES
        from finassay_judge_lexical.text import Reading

        reading = Reading.of(request.material)
        if isinstance(request.question, LabelQuestion):
            return answer_labels(request.question, reading, request.facts)
        rule = RULES.get(request.dimension.id)
        if rule is None:
            raise JudgeError(
                f"the lexical judge has no rule for dimension {request.dimension.id}", hint="Use a judge that reads, or leave it unjudged."
            )
        found = rule(reading, request.facts)
        return Answer(
            f"{found.reason} (lexical rule {request.dimension.id})",
            level=found.level,
            quotes=tuple(Quote(line.text, line.where) for line in found.lines),
        )
