"""Asking a judge: one sample or several, quotes verified, failures told apart from zeroes."""

from collections.abc import Iterable, Mapping
from statistics import median_low
from typing import Final

from attrs import field, frozen

from finassay.api.delivery import Package
from finassay.api.dimension import Dimension
from finassay.api.errors import JudgeError, ProviderError
from finassay.api.grading import Answer, Document, Judge, JudgeRequest, LabelQuestion, LevelQuestion, Material, Question, Reader
from finassay.api.verdict import Json, Scored, Source, Unscored
from finassay.grading.quotes import Corpus, Quoted, look_up, verified_labels

SAMPLED: Final = frozenset({"2.7", "4.1", "5.1", "5.6"})
"""Vetoes that a judge decides alone: three samples and their median, unless the judge never varies."""


@frozen
class Sample:
    """One answer about a level after its quotes were looked up."""

    level: int
    raw: int
    reason: str
    quoted: Quoted


class NoVerdictError(Exception):
    """The judge gave nothing to go by; carries what the dimension becomes."""

    def __init__(self, unscored: Unscored) -> None:
        super().__init__(unscored.detail)
        self.unscored = unscored


@frozen
class Asker:
    """A judge with the material of one package."""

    judge: Judge
    material: Material
    corpus: Corpus = field(repr=False)

    @classmethod
    def prepare(cls, judge: Judge, reader: Reader | None, package: Package) -> "Asker":
        """Read the package once. Without a reader the judge sees the conversation only; a reader's exception goes through."""
        material = (
            reader.read(package)
            if reader
            else Material(messages=tuple(Document(m.id, m.text) for m in package.conversation.messages), reports=(), tables=(), code=())
        )
        return cls(judge, material, Corpus.of(package, material))

    def labels(self, dimension: Dimension, questions: Iterable[LabelQuestion], facts: Mapping[str, Json]) -> dict[str, Answer]:
        """Answers with their unquoted labels dropped. A question that the judge could not answer is left out: it stays undecided."""
        answers = {}
        for question in questions:
            try:
                answer = self._ask(dimension, question, facts, 0)
            except NoVerdictError:
                continue
            known = {case: label for case, label in answer.labels.items() if case in question.cases and label in question.labels}
            answers[question.id] = verified_labels(Answer(answer.reason, None, known, answer.quotes, answer.case_quotes), self.corpus)
        return answers

    def level(self, dimension: Dimension, facts: Mapping[str, Json]) -> Scored:
        """The judge's level. Raises `NoVerdictError`.

        Where samples are drawn, three give the median. If they lie more than one level apart, a fourth is drawn and may leave out one
        outlier: the three of the four that lie within one level decide by their median. If no three do, the judges disagree.
        """
        wanted = 1 if self.judge.deterministic or dimension.id not in SAMPLED else 3
        samples = [self._sample(dimension, facts, index) for index in range(wanted)]
        agreeing = samples
        if _spread(samples) > 1:
            samples.append(self._sample(dimension, facts, wanted))
            ordered = sorted(samples, key=lambda s: s.level)
            agreeing = next((part for part in (ordered[:-1], ordered[1:]) if _spread(part) <= 1), [])
        if not agreeing:
            levels = ", ".join(str(s.level) for s in samples)
            raise NoVerdictError(Unscored("judges disagree", f"four samples gave the levels {levels}", self.judge.id))
        level = median_low([s.level for s in agreeing])
        chosen = next(s for s in samples if s.level == level)
        return self._scored(chosen, samples)

    def _scored(self, chosen: Sample, samples: list[Sample]) -> Scored:
        drawn = f" (median of the levels {', '.join(str(s.level) for s in samples)})" if len(samples) > 1 else ""
        facts: dict[str, Json] = {"samples": [s.raw for s in samples]} if len(samples) > 1 else {}
        if chosen.quoted.invented:
            facts["quotes_not_found"] = list(chosen.quoted.invented)
        return Scored(
            level=chosen.level,
            source=Source.JUDGE,
            by=self.judge.id,
            reason=chosen.reason + drawn,
            evidence=chosen.quoted.evidence,
            raw_level=chosen.raw if chosen.raw != chosen.level else None,
            facts=facts,
        )

    def _sample(self, dimension: Dimension, facts: Mapping[str, Json], index: int) -> Sample:
        answer = self._ask(dimension, LevelQuestion(), facts, index)
        if isinstance(answer.level, bool) or not isinstance(answer.level, int) or not 0 <= answer.level <= 4:
            raise NoVerdictError(Unscored("judge unparsed", f"level {answer.level!r} is not between 0 and 4", self.judge.id))
        quoted = look_up(answer.quotes, self.corpus)
        level, why = quoted.bound(answer.level)
        return Sample(level, answer.level, f"{answer.reason} [{why}]" if why else answer.reason, quoted)

    def _ask(self, dimension: Dimension, question: Question, facts: Mapping[str, Json], index: int) -> Answer:
        request = JudgeRequest(dimension, question, self.material, facts, index)
        try:
            return self.judge.answer(request)
        except JudgeError as error:
            down = isinstance(error.__cause__, ProviderError | OSError)
            raise NoVerdictError(Unscored("judge unavailable" if down else "judge unparsed", str(error), self.judge.id)) from error
        except Exception as error:  # a judge is somebody else's code; what it raises is no verdict
            raise NoVerdictError(Unscored("judge unavailable", f"{type(error).__name__}: {error}"[:500], self.judge.id)) from error


def _spread(samples: Iterable[Sample]) -> int:
    levels = [s.level for s in samples]
    return max(levels) - min(levels)
