"""How well figures are graded by program alone: answers that people have labelled, to questions with a key of one figure.

`measure(folder)` reads `questions.jsonl` and `responses.jsonl.gz` (or `responses.jsonl`). A label conflict is a label that no stated rule could
follow: the same figure labelled both ways, or an answer called correct that holds the key nowhere within half a unit of its last place.
"""

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

from attrs import evolve, frozen

from finassay_rubrics.grading.asked import Keyed, keyed
from finassay_rubrics.grading.compare import Profile, accepts
from finassay_rubrics.grading.locate import Located, locate
from finassay_rubrics.grading.numbers import numbers
from finassay_rubrics.measure.rows import found as found_in
from finassay_rubrics.measure.rows import left_out, rows_of
from finassay_rubrics.measure.statistics import verdict_figures

_RIGHT: Final = frozenset(["correct answer", "correct", "right", "right answer", "true", "yes", "1", "pass", "passed", "met"])
_NOT_RIGHT: Final = frozenset(
    [
        "incorrect answer",
        "incorrect",
        "wrong",
        "wrong answer",
        "false",
        "no",
        "0",
        "fail",
        "failed",
        "unmet",
        "refusal",
        "refused",
        "failed to answer",
    ]
)
PROFILES: Final[tuple[Profile, ...]] = ("strict", "lenient")
ALL: Final = "all"


@frozen
class Judged:
    """One labelled answer, graded by program under both profiles."""

    question: str
    question_type: str
    model: str
    label: str
    key: str
    strict: bool
    lenient: bool
    how: str
    """How the figure was found: `conclusion`, `sentence`, `emphasis`, `first line`, `only figure`; empty where the answer gives none."""
    figure: str
    """As the answer states it."""
    value: str
    """In its own unit, to be compared with that of other answers."""
    quote: str
    conflict: str = ""
    """Why no rule could follow the label; empty for a label that one could."""
    holds_key: bool = False
    """Whether any number of the answer is within half a unit of the key's last place."""
    ends_with_it: bool = False
    """Whether the figure is the last number of the answer, too."""

    @property
    def right(self) -> bool:
        """What the person said."""
        return bool(is_right(self.label))

    def by(self, profile: Profile) -> bool:
        """What the program said."""
        return self.strict if profile == "strict" else self.lenient


@frozen
class Agreement:
    """Program beside people, over some answers."""

    name: str
    profile: Profile
    answers: int
    both_right: int
    both_wrong: int
    too_strict: int
    """Called correct by people alone."""
    too_lenient: int
    """Called correct by the program alone."""

    @property
    def accuracy(self) -> float | None:
        return (self.both_right + self.both_wrong) / self.answers if self.answers else None

    @property
    def kappa(self) -> float | None:
        """Cohen's kappa; None where one of the two uses a single verdict, so that chance explains everything."""
        n = self.answers
        if not n:
            return None
        program, people = self.both_right + self.too_lenient, self.both_right + self.too_strict
        chance = (program * people + (n - program) * (n - people)) / n**2
        return None if chance == 1 else ((self.both_right + self.both_wrong) / n - chance) / (1 - chance)


def is_right(label: object) -> bool | None:
    """What a person's label says: right, not right (wrong or a refusal), or None where it says neither."""
    said = " ".join(str(label).casefold().split()) if not isinstance(label, bool) else str(label).casefold()
    return True if said in _RIGHT else False if said in _NOT_RIGHT else None


def labelled(folder: Path, needed: Sequence[str]) -> Iterator[dict[str, Any]]:
    """The rows of `responses` whose label says something; others are refused or, while `tolerant`, left out. Raises `InvalidFileError`."""
    path = found_in(folder, "responses")
    for number, row in enumerate(rows_of(path, needed), start=1):
        if is_right(row["human_label"]) is None:
            left_out(f"{path}: answer {number}", f"is labelled {str(row['human_label'])[:40]!r}, which says neither right nor wrong")
        else:
            yield row


def half_of(question: str) -> int:
    """0, on which rules may be tuned, or 1, held out: by digest of the question's id, so that nobody chooses."""
    return hashlib.sha256(question.encode()).digest()[0] % 2


def judge(folder: Path, half: int | None = None) -> list[Judged]:
    """Every labelled answer to a question with a key of one figure. Raises `InvalidFileError` for files that cannot be read."""
    questions = {str(q["financebench_id"]): q for q in rows_of(found_in(folder, "questions"), ("financebench_id", "question", "answer"))}
    keys: dict[str, Keyed] = {}
    for name, raw in questions.items():
        found = keyed(str(raw["question"]), str(raw["answer"]), str(raw.get("company", "")))
        if found is not None and half in (None, half_of(name)):
            keys[name] = found
    needed = ("financebench_id", "answer", "human_label")
    rows = [r for r in labelled(folder, needed) if str(r["financebench_id"]) in keys]
    judged = [_judged(r, questions[str(r["financebench_id"])], keys[str(r["financebench_id"])]) for r in rows]
    return _with_conflicts(judged)


def _judged(row: Mapping[str, Any], question: Mapping[str, Any], asked: Keyed) -> Judged:
    text = str(row["answer"])
    found: Located = locate(text, asked.target)
    figures = found.figures
    everything = numbers(text, asked.target.ignore)
    model = str(row.get("model", "?")) + (f" {row['mode']}" if row.get("mode") else "")
    return Judged(
        question=str(row["financebench_id"]),
        question_type=str(question.get("question_type", "")),
        model=model,
        label=str(row["human_label"]),
        key=str(question["answer"]),
        strict=any(accepts(n, asked.expected, "strict") for n in figures),
        lenient=any(accepts(n, asked.expected, "lenient") for n in figures),
        how=found.how or "",
        figure=" / ".join(n.text for n in figures),
        value=f"{(figures[0].units.scaleb(-2) if figures[0].kind == 'percent' else figures[0].units).normalize()}" if figures else "",
        quote=found.quote[:300],
        holds_key=any(accepts(n, asked.expected, "strict") for n in everything),
        ends_with_it=bool(figures) and everything[-1].start == figures[-1].start,
    )


def _with_conflicts(judged: Sequence[Judged]) -> list[Judged]:
    """Marks labels that no rule could follow. Of one figure labelled both ways the rarer label is the conflict; of a tie, all.

    A figure counts only where the answer ends with it, so that an answer that the program misread is not excused.
    """
    groups: dict[tuple[str, str], Counter[bool]] = defaultdict(Counter)
    for one in judged:
        if one.ends_with_it:
            groups[one.question, one.value][one.right] += 1
    out = []
    for one in judged:
        same = groups.get((one.question, one.value), Counter()) if one.ends_with_it else Counter[bool]()
        why = ""
        if same[one.right] and same[one.right] <= same[not one.right]:
            why = f"{one.figure} is labelled both ways: {same[True]} correct, {same[False]} not"
        elif one.right and not one.holds_key:
            why = f"called correct, though no number of the answer is the key {one.key} within half a unit"
        out.append(evolve(one, conflict=why))
    return out


def agreement(name: str, judged: Sequence[Judged], profile: Profile) -> Agreement:
    """Counts of one group of answers."""
    table = Counter((one.by(profile), one.right) for one in judged)
    return Agreement(name, profile, len(judged), table[True, True], table[False, False], table[False, True], table[True, False])


def intervals(judged: Sequence[Judged], profile: Profile) -> dict[str, Any]:
    """Accuracy, kappa and macro F1 with 95 % intervals over questions: answers to one question are not independent."""
    found = verdict_figures(judged, lambda one: one.question, lambda one: (one.by(profile), one.right))
    return {name: None if figure is None else figure.json() for name, figure in found.items()}


def by_model(judged: Sequence[Judged]) -> list[tuple[Agreement, Agreement]]:
    """Strict and lenient for each model and mode, in order of name, and over all at the end."""
    groups: dict[str, list[Judged]] = defaultdict(list)
    for one in judged:
        groups[one.model].append(one)
    named = [*sorted(groups.items()), (ALL, list(judged))]
    return [(agreement(name, own, "strict"), agreement(name, own, "lenient")) for name, own in named]


def disagreements(judged: Sequence[Judged], profile: Profile) -> list[Judged]:
    """Answers on which program and people differ."""
    return [one for one in judged if one.by(profile) != one.right]


def ceiling(judged: Sequence[Judged]) -> Decimal:
    """Share of the answers whose label a rule could follow."""
    return Decimal(sum(1 for one in judged if not one.conflict)) / max(1, len(judged))
