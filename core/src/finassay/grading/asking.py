"""Asking a judge: all questions together, one sample or several, quotes verified, failures told apart from zeroes."""

from collections.abc import Iterable, Mapping, Sequence
from statistics import median_low
from typing import Final

from attrs import Factory, evolve, field, frozen

from finassay.api.delivery import Package
from finassay.api.dimension import Dimension
from finassay.api.errors import BudgetError, JudgeError, ProviderError, ProviderRefusedError
from finassay.api.grading import Answer, Document, Judge, JudgeRequest, LabelQuestion, LevelQuestion, Material, Quote, Reader
from finassay.api.scorecard import Steering
from finassay.api.verdict import Json, Scored, Source, Unscored
from finassay.grading.quotes import Corpus, Quoted, look_up, unsupported_labels, verified_labels

SAMPLED: Final = frozenset({"2.7", "4.1", "5.1", "5.6"})
"""Vetoes that a judge decides alone: three samples and their median, unless the judge never varies."""
SAMPLES: Final = 3
MAX_STEERING: Final = 40


@frozen
class Sample:
    """One answer about a level after its quotes were looked up."""

    level: int
    raw: int
    reason: str
    quoted: Quoted
    facts: Mapping[str, Json] = Factory(dict)
    refused: tuple[str, ...] = ()
    """Quotes of an earlier answer to the same question that were refused."""


class NoVerdictError(Exception):
    """The judge gave nothing to go by; carries what the dimension becomes."""

    def __init__(self, unscored: Unscored) -> None:
        super().__init__(unscored.detail)
        self.unscored = unscored


@frozen
class Asker:
    """A judge with the material of one package. Collects what the delivery says to steer the judge.

    `BudgetError` goes through every method: money that is spent is no verdict, and the grading is made again when there is more.
    """

    judge: Judge
    material: Material
    corpus: Corpus = field(repr=False)
    guidance: str = ""
    """What guidance packs add to the judge's instructions."""
    steering: dict[str, Steering] = field(factory=dict, init=False, eq=False, repr=False)

    @classmethod
    def prepare(cls, judge: Judge, reader: Reader | None, package: Package, guidance: str = "") -> "Asker":
        """Read the package once. Without a reader the judge sees the conversation only; a reader's exception goes through."""
        material = (
            reader.read(package)
            if reader
            else Material(messages=tuple(Document(m.id, m.text) for m in package.conversation.messages), reports=(), tables=(), code=())
        )
        return cls(judge, material, Corpus.of(package, material), guidance)

    @property
    def batches(self) -> bool:
        """Whether the judge takes many questions together."""
        return callable(getattr(self.judge, "answer_all", None))

    # -- labels -----------------------------------------------------------------------------------------------------

    def labels(self, dimension: Dimension, questions: Iterable[LabelQuestion], facts: Mapping[str, Json]) -> dict[str, Answer]:
        """Answers to the questions of one dimension, by question; see `all_labels`."""
        asked = list(questions)
        answers = self.all_labels([(dimension, question, facts) for question in asked])
        return {question.id: answer for question, answer in zip(asked, answers, strict=True) if answer is not None}

    def all_labels(self, wanted: Sequence[tuple[Dimension, LabelQuestion, Mapping[str, Json]]]) -> list[Answer | None]:
        """Answers with their unquoted labels dropped, in order; None where the judge had no answer: the question stays undecided.

        A judge that varies is asked once more about the labels whose quotes were refused; the others stand.
        """
        requests = [
            JudgeRequest(dimension, question, self.material, facts, guidance=self.guidance) for dimension, question, facts in wanted
        ]
        raw = [_known(request, answer) for request, answer in zip(requests, self._ask_all(requests), strict=True)]
        found = [verified_labels(answer, self.corpus) if answer else None for answer in raw]
        if self.judge.deterministic:
            return found
        refused = [unsupported_labels(answer, self.corpus) if answer else {} for answer in raw]
        again = [index for index, quotes in enumerate(refused) if quotes]
        second = self._ask_all([evolve(requests[i], refused=tuple(dict.fromkeys(refused[i].values()))) for i in again])
        for index, answer in zip(again, second, strict=True):
            better, first = _known(requests[index], answer), found[index]
            if better is not None and first is not None:
                found[index] = _completed(first, verified_labels(better, self.corpus), refused[index])
        return found

    # -- levels -----------------------------------------------------------------------------------------------------

    def level(self, dimension: Dimension, facts: Mapping[str, Json]) -> Scored:
        """The judge's level of one dimension; see `levels`. Raises `NoVerdictError`."""
        found = self.levels([(dimension, facts)])[0]
        if isinstance(found, Unscored):
            raise NoVerdictError(found)
        return found

    def levels(self, wanted: Sequence[tuple[Dimension, Mapping[str, Json]]]) -> list[Scored | Unscored]:
        """The judge's levels, in order; `Unscored` where it gave nothing to go by.

        Where samples are drawn, three give the median. If one of them is no answer, or they lie more than one level apart, a fourth is
        drawn. It may take the place of the missing one, or leave out one outlier: the three of the four that lie within one level decide
        by their median. If no three do, the judges disagree.
        """

        def request(index: int, sample: int) -> JudgeRequest:
            dimension, facts = wanted[index]
            return JudgeRequest(dimension, LevelQuestion(), self.material, facts, sample, guidance=self.guidance)

        plan = [(index, sample) for index, (dimension, _) in enumerate(wanted) for sample in range(self._wanted(dimension))]
        drawn: list[list[Sample | Unscored]] = [[] for _ in wanted]
        for (index, _), sample in zip(plan, self._samples([request(*place) for place in plan]), strict=True):
            drawn[index].append(sample)
        again = [index for index, samples in enumerate(drawn) if _wants_a_fourth(samples)]
        for index, sample in zip(again, self._samples([request(index, SAMPLES) for index in again]), strict=True):
            drawn[index].append(sample)
        return [self._decided(samples) for samples in drawn]

    def _wanted(self, dimension: Dimension) -> int:
        return 1 if self.judge.deterministic or dimension.id not in SAMPLED else SAMPLES

    def _decided(self, drawn: list[Sample | Unscored]) -> Scored | Unscored:
        samples = [s for s in drawn if isinstance(s, Sample)]
        failures = [s for s in drawn if isinstance(s, Unscored)]
        if len(samples) < (SAMPLES if len(drawn) > 1 else 1):
            return failures[0]
        agreeing: Sequence[Sample] = samples
        if _spread(samples) > 1:
            ordered = sorted(samples, key=lambda s: s.level)
            parts = (ordered[:-1], ordered[1:]) if len(samples) > SAMPLES else ()
            agreeing = next((part for part in parts if _spread(part) <= 1), [])
        if not agreeing:
            levels = ", ".join(str(s.level) for s in samples)
            return Unscored("judges disagree", f"{len(samples)} samples gave the levels {levels}", self.judge.id)
        level = median_low([s.level for s in agreeing])
        return self._scored(next(s for s in samples if s.level == level), samples)

    def _scored(self, chosen: Sample, samples: list[Sample]) -> Scored:
        drawn = f" (median of the levels {', '.join(str(s.level) for s in samples)})" if len(samples) > 1 else ""
        facts: dict[str, Json] = {"samples": [s.raw for s in samples]} if len(samples) > 1 else {}
        if chosen.quoted.invented:
            facts["quotes_not_found"] = list(chosen.quoted.invented)
        if chosen.refused:
            facts["quotes_refused"] = list(chosen.refused)
        if any(s.facts for s in samples):
            facts["judge"] = dict(chosen.facts) if len(samples) == 1 else {"samples": [dict(s.facts) for s in samples]}
        return Scored(
            level=chosen.level,
            source=Source.JUDGE,
            by=self.judge.id,
            reason=chosen.reason + drawn,
            evidence=chosen.quoted.evidence,
            raw_level=chosen.raw if chosen.raw != chosen.level else None,
            facts=facts,
        )

    def _samples(self, requests: Sequence[JudgeRequest]) -> list[Sample | Unscored]:
        """Every answer with its quotes looked up; one whose quotes do not carry its level is asked for once more if the judge varies."""
        found = [self._sample(answer) for answer in self._ask_all(requests)]
        refused = [s.quoted.refused(s.raw) if isinstance(s, Sample) and not self.judge.deterministic else () for s in found]
        again = [index for index, quotes in enumerate(refused) if quotes]
        second = self._ask_all([evolve(requests[i], refused=refused[i]) for i in again])
        for index, answer in zip(again, second, strict=True):
            first, better = found[index], self._sample(answer)
            if isinstance(first, Sample):
                kept = _no_higher(better, first.raw) if isinstance(better, Sample) else first
                found[index] = evolve(kept, refused=refused[index])
        return found

    def _sample(self, answer: Answer | Unscored) -> Sample | Unscored:
        if isinstance(answer, Unscored):
            return answer
        if isinstance(answer.level, bool) or not isinstance(answer.level, int) or not 0 <= answer.level <= 4:
            return Unscored("judge unparsed", f"level {answer.level!r} is not between 0 and 4", self.judge.id)
        quoted = look_up(answer.quotes, self.corpus, answer.steering)
        level, why = quoted.bound(answer.level)
        return Sample(level, answer.level, f"{answer.reason} [{why}]" if why else answer.reason, quoted, answer.facts)

    # -- the judge --------------------------------------------------------------------------------------------------

    def _ask_all(self, requests: Sequence[JudgeRequest]) -> list[Answer | Unscored]:
        """An answer or its absence for every request, in order."""
        if not requests:
            return []
        together = self._ask_together(requests) if self.batches else None
        answers = [self._ask(request) for request in requests] if together is None else together
        for answer in answers:
            if isinstance(answer, Answer):
                self._collect(answer.steering)
        return answers

    def _ask_together(self, requests: Sequence[JudgeRequest]) -> list[Answer | Unscored] | None:
        """None where the judge fails at answering together: then each request is asked alone, unless nobody can be reached at all."""
        try:
            answers = list(self.judge.answer_all(requests))  # type: ignore[attr-defined]
        except BudgetError:
            raise
        except Exception as error:  # a judge is somebody else's code
            return [self._missing(error)] * len(requests) if _down(error) else None
        return [self._checked(answer) for answer in answers] if len(answers) == len(requests) else None

    def _ask(self, request: JudgeRequest) -> Answer | Unscored:
        try:
            return self._checked(self.judge.answer(request))
        except BudgetError:
            raise
        except Exception as error:  # as above: what it raises is no verdict
            return self._missing(error)

    def _checked(self, answer: object) -> Answer | Unscored:
        if isinstance(answer, Answer):
            return answer
        if isinstance(answer, Exception):
            return self._missing(answer)
        return Unscored("judge unparsed", f"the judge answered with {type(answer).__name__}", self.judge.id)

    def _missing(self, error: Exception) -> Unscored:
        refused = next((e for e in (error, error.__cause__) if isinstance(e, ProviderRefusedError)), None)
        hint = f" ({refused.hint})" if refused is not None and refused.hint else ""
        if isinstance(error, JudgeError):
            return Unscored("judge unavailable" if _down(error) else "judge unparsed", f"{error}{hint}", self.judge.id)
        said = str(error) if isinstance(error, ProviderError) else f"{type(error).__name__}: {error}"
        return Unscored("judge unavailable", f"{said[:500]}{hint}", self.judge.id)

    def _collect(self, passages: Sequence[Quote]) -> None:
        for passage in passages:
            place = self.corpus.place(passage.text)
            if place is not None and len(self.steering) < MAX_STEERING:
                text = " ".join(passage.text.split())[:500]
                self.steering.setdefault(text, Steering(text, place, self.judge.id))


def _down(error: Exception) -> bool:
    """Whether it was the way to the model that failed, not its answer."""
    return isinstance(error, ProviderError | OSError) or isinstance(error.__cause__, ProviderError | OSError)


def _known(request: JudgeRequest, answer: Answer | Unscored) -> Answer | None:
    """The answer with those labels that were asked for."""
    question = request.question
    if isinstance(answer, Unscored) or not isinstance(question, LabelQuestion):
        return None
    return evolve(answer, labels={c: label for c, label in answer.labels.items() if c in question.cases and label in question.labels})


def _completed(first: Answer, second: Answer, refused: Mapping[str, str]) -> Answer:
    """The first answer with what the second says about the cases whose quotes were refused."""
    labels = {case: label for case, label in second.labels.items() if case in refused}
    quotes = {case: quote for case, quote in second.case_quotes.items() if case in labels}
    facts = {**first.facts, "quotes_refused": [quote for quote in refused.values() if quote]}
    return evolve(first, labels={**first.labels, **labels}, case_quotes={**first.case_quotes, **quotes}, facts=facts)


def _no_higher(sample: Sample, level: int) -> Sample:
    """A second asking is for better quotes, never for a better level."""
    if sample.level <= level:
        return sample
    return evolve(sample, level=level, reason=f"{sample.reason} [asked again for its quotes only: stays at {level}]")


def _wants_a_fourth(drawn: Sequence[Sample | Unscored]) -> bool:
    samples = [s for s in drawn if isinstance(s, Sample)]
    missing = len(drawn) - len(samples)
    return len(drawn) > 1 and (missing == 1 or (missing == 0 and _spread(samples) > 1))


def _spread(samples: Iterable[Sample]) -> int:
    levels = [s.level for s in samples]
    return max(levels) - min(levels)
