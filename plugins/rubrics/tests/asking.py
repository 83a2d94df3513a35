"""What the offline families would write for a query, with every question answered as it is understood: nothing is looked up."""

from finassay.api.research import Assignment, Derivation
from finassay_rubrics.context.bind import bind
from finassay_rubrics.context.reading import obligations
from finassay_rubrics.metrics.ask import understand
from finassay_rubrics.metrics.draft import draft
from finassay_rubrics.metrics.formula import FormulaError


def answered(question):
    try:
        found, *_ = (understand(one) for one in question.parts or (question,))
    except FormulaError as error:
        return Derivation(None, reason=str(error))
    if question.combine in ("highest", "lowest"):
        return Derivation(question.parts[0].entity)
    return Derivation("increased" if found.kind == "words" else 1, found.unit)


def drafted(query, derive=answered):
    """For each obligation, its criteria."""
    bindings = bind(query)
    found = {}
    for one in obligations(bindings):
        assignment = Assignment(one.id, one.what, {"query": query, "bindings": bindings}, principles=("P01 G: g",), bindings=one.spans)
        found[one.what] = draft(assignment, derive).criteria
    return found


def texts(query):
    """For each obligation, the texts of its grounded criteria."""
    return {what: [c.text for c in criteria if c.routes] for what, criteria in drafted(query).items()}


__all__ = ["answered", "drafted", "texts"]
