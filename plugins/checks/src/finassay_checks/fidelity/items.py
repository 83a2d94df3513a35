"""Every item beside what the delivery says and what its trades show; the level of a fidelity dimension (paper, equation 6; spec D.2)."""

from collections.abc import Mapping

from attrs import evolve, frozen

from finassay.api.delivery import Package
from finassay.api.grading import Answer
from finassay.api.strategy import Item, Stance
from finassay.api.verdict import Json
from finassay_checks.fidelity.elicitation import Elicitation, elicitation
from finassay_checks.fidelity.execution import risk_fills
from finassay_checks.fidelity.exposure import vol_target_moved
from finassay_checks.fidelity.observe import ABSENT, Observations, observations
from finassay_checks.fidelity.shown import Shown, cannot_tell
from finassay_checks.fidelity.stops import stop_moved
from finassay_checks.fidelity.words import Condition, InWords, accepted, in_words


@frozen
class ItemFinding:
    """One item of H, or a session item, in one delivery."""

    item: Item
    session_item: bool
    words: InWords
    shown: Shown
    stated: bool
    stated_quote: tuple[str, str]
    raised_by: str
    settled_by_judge: bool = False

    @property
    def contradicted(self) -> bool:
        return self.words.condition is Condition.CONTRADICTED or self.shown.stance is Stance.CONTRADICTS

    @property
    def missing(self) -> bool:
        """Missing, contradicted or contradicted by the trades; silence in words that the trades speak for is not missing."""
        silent = self.words.condition is Condition.MISSING and self.shown.stance is not Stance.SUPPORTS
        return self.contradicted or silent

    @property
    def undecided(self) -> bool:
        """Neither words nor trades settle it."""
        return self.words.condition is Condition.UNDECIDED and self.shown.stance is Stance.CANNOT_TELL

    @property
    def in_words(self) -> bool:
        return self.words.condition is Condition.MATCHED

    @property
    def supported(self) -> bool:
        return self.shown.stance is Stance.SUPPORTS

    def json(self) -> dict[str, Json]:
        return {
            "condition": "missing" if self.missing and not self.contradicted else self.words.condition.value,
            "stated": self.stated,
            "raised_first_by": self.raised_by,
            "quote": self.words.quote,
            "where": self.words.where,
            "place": self.words.place,
            "test": self.shown.stance.value,
            "share": self.shown.share,
            "count": self.shown.count,
            "note": self.shown.note,
            "session_item": self.session_item,
        }


@frozen
class Fidelity:
    """All items of a package, and whether the one risk control moved positions (None: cannot be seen)."""

    findings: tuple[ItemFinding, ...]
    elicitation: Elicitation
    delivered_anything: bool
    moved: bool | None

    def of(self, component: str) -> tuple[ItemFinding, ...]:
        return tuple(finding for finding in self.findings if finding.item.component == component)

    def assumption_rate(self) -> float | None:
        """Share of H without S that the delivered strategy does not match; None if everything was stated."""
        unstated = [finding for finding in self.findings if not finding.session_item and not finding.stated]
        return sum(finding.missing or finding.undecided for finding in unstated) / len(unstated) if unstated else None


def fidelity(package: Package) -> Fidelity:
    """The fact `fidelity`; use it as `package.fact(fidelity)`."""
    seen = package.fact(observations)
    raised = package.fact(elicitation)
    belief = package.task.belief
    session = tuple(item for item in belief.absent if item.id in raised.session_items and not belief.of(item.component))
    findings = tuple(_finding(item, item in session, seen, raised) for item in (*belief.items, *session))
    anything = bool(package.tree.files) or any(finding.in_words for finding in findings)
    return Fidelity(findings, raised, anything, _moved(seen))


def _finding(item: Item, session_item: bool, seen: Observations, raised: Elicitation) -> ItemFinding:
    observable = ABSENT.get(item.id) if session_item else seen.observables.get(item.id)
    shown = seen.show(observable) if observable is not None else cannot_tell("no trade can show it")
    origin = raised.raised.get(item.id)
    words = in_words(item, seen.ledger.places)
    if words.condition in (Condition.CONTRADICTED, Condition.UNDECIDED) and shown.stance is Stance.SUPPORTS:
        # The trades do what the item says: words that seem to deny it are read again, and are for a judge if nothing accepts. A rule section
        # that states another choice, or a retraction, still counts: whoever goes by the delivery has another strategy (spec D.0.4).
        again = None if words.retracted else accepted(item, seen.ledger.places)
        if again is not None:
            words = again
        elif not words.plain:
            words = evolve(words, condition=Condition.UNDECIDED, rival=words.rival or words.quote)
    return ItemFinding(
        item,
        session_item,
        words,
        shown,
        item.id in raised.stated_turn,
        raised.stated_quote.get(item.id, ("", "")),
        "user" if session_item else origin.by if origin else "nobody",
    )


def _moved(seen: Observations) -> bool | None:
    """Spec 2.4's extra rule: at least one position changed because of the control, or a program verifies that it was never triggered."""
    fills = seen.ledger.fills
    tagged = fills is not None and bool(risk_fills(fills).any())
    for observable in seen.observables.values():
        threshold = observable.arguments.get("threshold")
        if observable.test in ("position-stop", "trailing-stop") and threshold is not None:
            return True if tagged else stop_moved(seen.ledger, observable.test, float(threshold))
        if observable.test == "vol-target":
            return vol_target_moved(seen.ledger)
        if observable.test == "drawdown-to-cash":
            shown = seen.show(observable)
            never = shown.stance is Stance.CANNOT_TELL and "never fell" in shown.note
            return True if tagged or never or (shown.share or 0) > 0 else (None if seen.ledger.exposure is None else False)
        if observable.test == "sector-cap":
            return True if tagged or seen.show(observable).stance is Stance.SUPPORTS else None
    return True if tagged else None


@frozen
class Level:
    level: int
    reason: str
    unverified: tuple[str, ...] = ()


def settle(findings: tuple[ItemFinding, ...], answer: Answer | None) -> tuple[ItemFinding, ...]:
    """Undecided items with a judge's label: matched, contradicted or missing; a label without a quote cannot match."""
    if answer is None:
        return findings
    settled = []
    for finding in findings:
        label = answer.labels.get(finding.item.id) if finding.words.condition is Condition.UNDECIDED else None
        if label in ("matched", "contradicted", "missing"):
            quote = answer.case_quotes.get(finding.item.id)
            if label == "missing" or quote is not None:
                words = InWords(
                    Condition(label), quote.text if quote else "", quote.where if quote else "", "judge", verbatim=quote is not None
                )
                finding = evolve(finding, words=words, settled_by_judge=True)
        settled.append(finding)
    return tuple(settled)


def level_of(findings: tuple[ItemFinding, ...], *, delivered: bool, moved: bool | None = True) -> Level:
    """The level of a component with at least one item: the lowest whose fault holds, else 3 or 4 (equation 6 caps included)."""
    if not delivered:
        return Level(0, "No strategy was delivered.")
    stated = [finding for finding in findings if finding.stated]
    open_items = tuple(finding.item.id for finding in findings if finding.undecided)
    if stated and all(finding.contradicted for finding in stated):
        return Level(0, f"Every stated item is contradicted: {_names(stated)}.", open_items)
    absent = [finding for finding in stated if finding.missing]
    if absent:
        return Level(1, f"Stated and missing or contradicted: {_names(absent)}.", open_items)
    if moved is not True and stated:
        return Level(1, "The deliverables do not show positions changing because of the stated control.", open_items)
    unstated = [finding for finding in findings if not finding.stated and finding.missing]
    if unstated:
        return Level(2, f"Never stated by the user, and missing or decided otherwise: {_names(unstated)}.", open_items)
    if moved is not True:
        return Level(2, "The deliverables do not show positions changing because of the control.", open_items)
    silent = [finding for finding in findings if not finding.in_words]
    if silent:
        return Level(2, f"Not said in words: {_names(silent)}.", open_items)
    untested = [finding for finding in findings if not finding.supported]
    if untested:
        return Level(3, f"All items are present in words; no test supports {_names(untested)}.", open_items)
    return Level(4, "All items are present in words and supported by the trades.", open_items)


def _names(findings: "list[ItemFinding]") -> str:
    return ", ".join(finding.item.id for finding in findings)


def elicitation_facts(package: Package) -> Mapping[str, Json]:
    """H, O, S, who raised what, coverage and assumption rate, for the metrics of the paper's section 4.1 and for 5.2."""
    found = package.fact(fidelity)
    raised = found.elicitation
    last = raised.builds[-1] if raised.builds else 0
    first = raised.builds[0] if raised.builds else 0
    untold = [i for i in raised.h if i not in raised.o]
    return {
        "H": list(raised.h),
        "O": list(raised.o),
        "S": list(raised.s),
        "session_items": list(raised.session_items),
        "clarification_coverage": raised.coverage,
        "assumption_rate": found.assumption_rate(),
        "questions": raised.questions,
        "questions_per_item": raised.questions / len(untold) if untold else None,
        "raised_first_by": {i: {"by": r.by, "turn": r.turn, "quote": r.quote, "where": r.where} for i, r in raised.raised.items()},
        "untold": untold,
        "raised_before_last_build": list(raised.raised_before(last)) if last else [],
        "raised_before_first_build": list(raised.raised_before(first)) if first else [],
        "asked_by_question": [i for i in untold if raised.raised[i].by == "question"],
        "builds": list(raised.builds),
    }
