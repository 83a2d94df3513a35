"""What every stage of a rubric's making works with, and what the stages hand to each other."""

from collections.abc import Callable, Mapping, Sequence
from datetime import date
from importlib.metadata import version
from typing import Any

from attrs import define, field, frozen

from finassay.api.errors import InvalidFileError, UsageError
from finassay.api.guidance import Guidance, Violation
from finassay.api.research import Desk, Researcher
from finassay_rubrics.context.contextualize import context_digest
from finassay_rubrics.generate.compose import Composer, RuleComposer
from finassay_rubrics.generate.decisions import Waiting
from finassay_rubrics.generate.folder import RubricFolder
from finassay_rubrics.generate.looks import GlobalReviewer
from finassay_rubrics.record.rubric import Criterion, Move, Obligation, Rubric, Topic

Told = Callable[[str], None]


def silent(words: str) -> None:
    """Shows nothing."""


@frozen
class Returned:
    """Why something comes back."""

    criterion: str
    """Its id; empty where it is no single one."""
    words: str
    rule: str = ""
    """The rule that is broken; empty where a reviewer found something."""
    stands: bool = False
    """Whether the criterion stays as it is if nobody mends it: what the global reviewer finds takes nothing from a value that two derived."""


@frozen
class Part:
    """What an obligation came to."""

    criteria: tuple[Criterion, ...]
    waiting: tuple[Waiting, ...] = ()


def told_apart(writer: Researcher, reviewer: Researcher | None, global_reviewer: GlobalReviewer | None) -> None:
    """Raises `UsageError` where who checks is of the writer's family, or a model whose family is not known checks another model."""
    for role, checks in (("reviewer", reviewer), ("global reviewer", global_reviewer)):
        if checks is None:
            continue
        if checks.family == writer.family:
            raise UsageError(
                f"writer and {role} are of one family, {writer.family}", hint="Take a reviewer of another: what neither sees, nobody sees."
            )
        models = [one for one in (writer, checks) if getattr(type(one), "takes_models", False)]
        unknown = [one for one in models if one.family in ("", "unknown")]
        if len(models) > 1 and unknown:
            raise UsageError(
                f"the family of {unknown[0].id} is not known, so that it may be that of the other",
                hint="Take a model whose maker its name tells, name the family where its provider has the option, or an offline researcher.",
            )


@frozen
class Team:
    """Who makes a rubric."""

    writer: Researcher
    reviewer: Researcher | None
    writer_desk: Desk
    reviewer_desk: Desk | None
    global_reviewer: GlobalReviewer | None = None
    """Who looks at the whole; rules alone where there is none."""
    composer: Composer = RuleComposer()
    person_desk: Desk | None = None
    """Where what people state is looked up and computed; the writer's where there is none."""

    @property
    def desk_of_people(self) -> Desk:
        return self.person_desk or self.writer_desk

    @classmethod
    def checked(
        cls,
        writer: Researcher,
        reviewer: Researcher | None,
        writer_desk: Desk,
        reviewer_desk: Desk | None,
        *,
        same_family: bool = False,
        global_reviewer: GlobalReviewer | None = None,
        composer: Composer | None = None,
        person_desk: Desk | None = None,
    ) -> "Team":
        """Raises `UsageError` where who checks is of the writer's family, unless that is what is tried out."""
        if not same_family:
            told_apart(writer, reviewer, global_reviewer)
        return cls(writer, reviewer, writer_desk, reviewer_desk, global_reviewer, composer or RuleComposer(), person_desk)


@define
class Work:
    """One rubric in one folder: what it is made from, by whom, and where its steps are kept."""

    folder: RubricFolder
    context: Mapping[str, Any]
    guidance: Guidance
    team: Team
    bank_criteria: Mapping[str, tuple[str, ...]] = field(factory=dict)
    """Obligation to the criteria of the bank's task."""
    validate: bool = True
    """False tries out what the validator is worth."""
    told: Told = silent
    failed: dict[str, Any] = field(init=False, factory=dict)
    """Looks and compositions of which nothing held, by the names of their files: this process asks no more for them."""

    def rubric(
        self, obligations: Sequence[Obligation], criteria: Sequence[Criterion], topics: Sequence[Topic], moves: Sequence[Move]
    ) -> Rubric:
        """A rubric's record around these, with who made it from what."""
        return Rubric(
            query=str(self.context["query"]),
            cutoff=date.fromisoformat(str(self.context["cutoff"]["date"])),
            obligations=tuple(obligations),
            criteria=tuple(criteria),
            topics=tuple(topics),
            moves=tuple(moves),
            context_digest=context_digest(self.context),
            budget_digest=str(self.folder.read("budget.json")["digest"]) if self.folder.has("budget.json") else "",
            guidance=(f"{self.guidance.id} {self.guidance.version}",),
            writer=_identity(self.team.writer),
            reviewer=_identity(self.team.reviewer) if self.team.reviewer else {},
            versions=self._versions(),
        )

    def _versions(self) -> dict[str, str]:
        contextualizer = self.context.get("contextualizer")
        named = {
            "contextualizer": contextualizer.get("id") if isinstance(contextualizer, Mapping) else None,
            "global-reviewer": self.team.global_reviewer.id if self.team.global_reviewer else None,
            "composer": self.team.composer.id if self.team.composer.id != RuleComposer.id else None,
        }
        return {"finassay-rubrics": version("finassay-rubrics"), **{role: str(name) for role, name in named.items() if name}}


def criterion_of(violation: Violation) -> str:
    """The criterion that a violation is about; empty where it is about none."""
    return violation.place.removeprefix("criterion ") if violation.place.startswith("criterion ") else ""


def words_of(violation: Violation) -> str:
    return f"rule {violation.rule}: {violation.place}: {violation.reason}"


def stored(part: Part) -> dict[str, Any]:
    """What an obligation came to, as JSON data."""
    return {
        "criteria": [c.model_dump(mode="json", by_alias=True) for c in part.criteria],
        "waiting": [{"item": w.item, "why": list(w.why), "about": w.about} for w in part.waiting],
    }


def part_from(data: Any) -> Part:
    """Raises `InvalidFileError`."""
    try:
        criteria = tuple(Criterion.model_validate(c) for c in data["criteria"])
        return Part(criteria, tuple(Waiting(w["item"], tuple(w["why"]), w["about"]) for w in data["waiting"]))
    except (ValueError, KeyError, TypeError) as error:
        raise InvalidFileError(f"a stored obligation cannot be read: {error}"[:300]) from error


def _identity(researcher: Researcher) -> dict[str, Any]:
    own = getattr(researcher, "identity", None)
    return {
        "id": researcher.id,
        "family": researcher.family,
        "version": researcher.version,
        **(dict(own) if isinstance(own, Mapping) else {}),
    }
