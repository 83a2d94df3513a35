"""The conformance checks of researchers find what they are for: each planted fault is caught by name, and an honest researcher passes."""

from decimal import Decimal

import pytest
from attrs import evolve

from finassay.api.research import Derivation, Draft, DraftCriterion, DraftRoute, Input, Question, Quote
from finassay.testing.research import TOTAL_ASSETS, ResearcherSubject
from finassay.testing.result import run_checks

CODE = 'import json, sys\nfrom decimal import Decimal\nx = json.load(sys.stdin)\nprint(json.dumps({"value": str(Decimal(x["total"]))}))\n'
ROW = "Total assets $ 3,598.8 $ 3,423.8"


class Honest:
    """Finds one row, and refuses everything else."""

    id = family = "honest"
    version = "1"

    def derive(self, question, desk):
        items = [item for item in desk.find(question.entity or "?") if not question.documents or item.reference in question.documents]
        if question.metric != "total_assets" or not items or question.period.asked != "FY2022":
            return Derivation(None, reason="not found")
        return self.found(desk.open(items[0].source, items[0].reference), desk)

    def found(self, document, desk):
        page = next(page for page in document.pages if ROW in page.text)
        start = page.text.index(ROW)
        item = document.item
        quote = Quote(item.source, item.reference, page.number, start, start + len(ROW), ROW, page.digest, item.published)
        given = Input("total", TOTAL_ASSETS, 0, "3,598.8", Decimal(10) ** 6)
        return Derivation(TOTAL_ASSETS, "USD", quotes=(quote,), inputs=(given,), script=desk.run(CODE, {"total": str(TOTAL_ASSETS)}))

    def write(self, assignment, desk):
        question = Question("q", "States the total assets", "total_assets", entity="Orchard Toolworks")
        return Draft((DraftCriterion("O1.1", "States the total assets", "text", (), (), question=question),))


class Guesses(Honest):
    def derive(self, question, desk):
        return Derivation(Decimal(1), "USD")


class Silent(Honest):
    def derive(self, question, desk):
        return Derivation(None)


class Misquotes(Honest):
    def found(self, document, desk):
        good = super().found(document, desk)
        return evolve(good, quotes=(evolve(good.quotes[0], start=good.quotes[0].start + 1, end=good.quotes[0].end + 1),))


class Unbound(Honest):
    def found(self, document, desk):
        good = super().found(document, desk)
        return evolve(good, inputs=(evolve(good.inputs[0], shown="9,999.9"),))


class OtherScale(Honest):
    def found(self, document, desk):
        good = super().found(document, desk)
        return evolve(good, inputs=(evolve(good.inputs[0], scale=Decimal(1000)),))


class TypesFigures(Honest):
    def found(self, document, desk):
        return evolve(super().found(document, desk), script=desk.run('import json\nprint(json.dumps({"value": 3598.8}))\n', {}))


class RunsElsewhere(Honest):
    def found(self, document, desk):
        good = super().found(document, desk)
        return evolve(good, script=evolve(good.script, output={"value": "1"}))


class Anybody(Honest):
    def derive(self, question, desk):
        items = desk.find("")
        return self.found(desk.open(items[0].source, items[0].reference), desk) if items else Derivation(None, reason="nothing there")


class GivesAway(Honest):
    def write(self, assignment, desk):
        items = desk.find("Orchard Toolworks")
        derivation = self.found(desk.open(items[0].source, items[0].reference), desk)
        question = Question("q", "States the total assets, 3,598.8", "total_assets")
        return Draft(
            (DraftCriterion("O1.1", "States the total assets", "numeric", (), (), (DraftRoute("any", "", "", derivation),), question),)
        )


def failed(researcher):
    return {result.id.removeprefix("researcher/") for result in run_checks("researcher", ResearcherSubject(researcher)) if not result.ok}


def test_an_honest_researcher_passes():
    assert failed(Honest()) == set()


@pytest.mark.parametrize(
    ("researcher", "check"),
    [
        (Guesses(), "grounded"),
        (Guesses(), "keeps-to-the-cutoff"),
        (Guesses(), "refuses"),
        (Silent(), "grounded"),
        (Misquotes(), "grounded"),
        (Unbound(), "grounded"),
        (OtherScale(), "grounded"),
        (TypesFigures(), "grounded"),
        (RunsElsewhere(), "grounded"),
        (Anybody(), "refuses"),
        (Anybody(), "keeps-to-the-documents"),
        (GivesAway(), "writes-criteria"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_a_fault_is_found(researcher, check):
    assert check in failed(researcher)
