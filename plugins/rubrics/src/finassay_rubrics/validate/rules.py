"""The rules that every rubric is held to, whatever guidance is added."""

from collections.abc import Iterable, Mapping
from copy import deepcopy
from itertools import islice
from typing import Final

from finassay.api.guidance import Rule, Stage, Violation
from finassay.api.verdict import Json
from finassay.grading.clock import CheckTimeoutError
from finassay_rubrics.validate import context_rules, convention_rules, grade_rules, rubric_rules
from finassay_rubrics.validate.bounded import RULE_SECONDS, within

RULES: Final = (
    Rule("R01", "context", "bindings are verbatim spans", context_rules.spans),
    Rule("R02", "context", "the signature is value-free", context_rules.signature),
    Rule("R03", "context", "eight arrays, and everything asked is bound", context_rules.arrays),
    Rule("R04", "context", "a bank's task matches completely and alone", context_rules.bank_match),
    Rule("R05", "context", "the cutoff is written by code", context_rules.cutoff),
    Rule("R06", "budget", "100 points, equal to the cent, frozen first", context_rules.budget),
    Rule("R07", "rubric", "points add up, moves keep their bounds", rubric_rules.points),
    Rule("R08", "rubric", "what is grounded rests on quotes or scripts", rubric_rules.grounding),
    Rule("R09", "rubric", "documents are dated on or before the cutoff", rubric_rules.dates),
    Rule("R10", "rubric", "numbers have unit, tolerance and period", rubric_rules.fields),
    Rule("R11", "rubric", "routes of a cell do not overlap", rubric_rules.overlaps),
    Rule("R12", "rubric", "one claim, one test", rubric_rules.wording),
    Rule("R13", "rubric", "no two criteria test the same", rubric_rules.duplicates),
    Rule("R14", "rubric", "every obligation can be graded", rubric_rules.gradable),
    Rule("R15", "rubric", "conventions have routes, or a reason for one", rubric_rules.topics),
    Rule("R16", "rubric", "scripts take quoted numbers", rubric_rules.inputs),
    Rule("R17", "rubric", "faults earn nothing, gates stand alone", rubric_rules.prohibited),
    Rule("R18", "review", "another family found the same values", rubric_rules.review),
    Rule("R19", "grade", "a met figure names its place", grade_rules.spans),
    Rule("R20", "grade", "one route for each convention", grade_rules.one_route),
    Rule("R21", "rubric", "each criterion realizes a principle", rubric_rules.principled),
    Rule("R22", "rubric", "conventions that the query states are followed", convention_rules.conventions),
)
MAX_VIOLATIONS: Final = 500
_OVERRAN: Final[dict[Rule, Violation]] = {}
"""Rules that took too long in this process, with what is told of them: they are not asked again."""


def violations(product: Mapping[str, Json], stage: Stage, rules: Iterable[Rule] = RULES) -> list[Violation]:
    """What breaks the rules of a stage. A rule that itself fails, or does not come to an end, counts as broken: it cannot have been kept."""
    found: list[Violation] = []
    for rule in rules:
        if rule.stage == stage:
            found += _told(rule, product)
    return found[:MAX_VIOLATIONS]


def _told(rule: Rule, product: Mapping[str, Json]) -> list[Violation]:
    if rule in _OVERRAN:
        return [_OVERRAN[rule]]
    try:
        return within(RULE_SECONDS, lambda: _asked(rule, product))
    except CheckTimeoutError as error:
        _OVERRAN[rule] = Violation(rule.id, "rule", f"the rule itself failed: it {error}, and is not asked again")
        return [_OVERRAN[rule]]
    except (Exception, SystemExit) as error:  # somebody else's code, in a pack
        said = " ".join(f"{type(error).__name__}: {error}".split())
        return [Violation(rule.id, "rule", f"the rule itself failed: {said}"[:300])]


def _asked(rule: Rule, product: Mapping[str, Json]) -> list[Violation]:
    """What a rule gives, however much that is. A rule of a pack gets a copy of its own: it may change what it is given."""
    told = list(islice(rule.check(product if rule in RULES else deepcopy(dict(product))), MAX_VIOLATIONS))
    if not all(isinstance(one, Violation) and all(isinstance(t, str) for t in (one.rule, one.place, one.reason)) for one in told):
        raise TypeError("it gives something else than violations")
    return told
