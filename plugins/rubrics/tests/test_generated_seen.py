"""What a newcomer's queries and edits showed: a question that is misread never ends as a grounded value, and a rubric that was changed is seen."""

import json

import pytest
from click.testing import CliRunner
from rubric_team import Scripted, Shelf, made, script_runner

from finassay.api.errors import FinassayError, UsageError
from finassay.api.research import Assignment, Derivation
from finassay_rubrics.budget import bears_points
from finassay_rubrics.cli.context import query_of
from finassay_rubrics.cli.main import rubric
from finassay_rubrics.context.bind import bind
from finassay_rubrics.context.reading import obligations
from finassay_rubrics.generate.criteria import criteria_of
from finassay_rubrics.generate.decisions import Decision, decide
from finassay_rubrics.generate.folder import RubricFolder
from finassay_rubrics.metrics.ask import understand
from finassay_rubrics.metrics.draft import draft
from finassay_rubrics.metrics.formula import FormulaError


@pytest.fixture
def scripts_run_here(monkeypatch):
    monkeypatch.setattr("finassay_rubrics.generate.assembly.script_runner", script_runner)


def drafted(query):
    """What the offline families would write for each obligation of a query, with every question answered as it is understood."""
    bindings = bind(query)

    def answered(question):
        try:
            found = understand(question)
        except FormulaError as error:
            return Derivation(None, reason=str(error))
        return Derivation("increased" if found.kind == "words" else 1, found.unit)

    found = {}
    for one in obligations(bindings):
        assignment = Assignment(one.id, one.what, {"query": query, "bindings": bindings}, principles=("P01 G: g",), bindings=one.spans)
        found[one.what] = draft(assignment, answered).criteria
    return found


def texts(query):
    """For each obligation, the texts of its grounded criteria."""
    return {what: [c.text for c in criteria if c.routes] for what, criteria in drafted(query).items()}


# -- a rubric that was changed ----------------------------------------------------------------------------------------


def checked(folder):
    result = CliRunner().invoke(rubric, ["check", str(folder)])
    assert result.exception is None or isinstance(result.exception, SystemExit | FinassayError)
    return result.output


def edited(folder, name, change):
    data = json.loads((folder / name).read_text())
    change(data)
    (folder / name).write_text(json.dumps(data))
    return checked(folder)


def looser(data):
    data["criteria"][0]["expected"][0]["tolerance"]["abs"] = "4000"


def no_gate(data):
    data["criteria"][0]["gate"] = "none"


def other_text(data):
    data["criteria"][0]["text"] = "States something"


def no_digest(data):
    data["content_digest"] = ""
    looser(data)


def more_points(data):
    data["obligations"][0]["points"] = data["criteria"][0]["points"] = "120.00"


def other_split(data):
    data["obligations"][0]["points"] = "60.00"


@pytest.mark.parametrize(
    ("name", "change", "said"),
    [
        ("rubric.json", looser, "digest rubric.json: was changed after it was made"),
        ("rubric.json", no_gate, "digest rubric.json: was changed after it was made"),
        ("rubric.json", other_text, "digest rubric.json: was changed after it was made"),
        ("rubric.json", no_digest, "digest rubric.json: was changed after it was made"),
        ("rubric.json", more_points, "points rubric.json: the points of the obligations sum to 120.00, not to 100"),
        ("budget.json", other_split, "digest budget.json: is not the split that rubric.json was made with"),
    ],
)
def test_check_sees_that_a_rubric_was_changed(tmp_path, scripts_run_here, name, change, said):
    made(tmp_path / "r")
    untouched = checked(tmp_path / "r")
    assert "digest" not in untouched
    assert "points rubric.json" not in untouched
    assert [line for line in edited(tmp_path / "r", name, change).splitlines() if line.startswith(said)]


# -- forms, files, decisions ------------------------------------------------------------------------------------------


def test_a_form_earns_nothing_but_an_artefact_does():
    query = "Report revenue of Orchard for FY2021 and FY2022 in one table, in USD millions."
    criteria = criteria_of(type("D", (), {"criteria": drafted(query)["one table"]}), "O2")
    assert [(c.text, c.kind, bears_points(c)) for c in criteria] == [
        ("Puts the figures into one table", "format", True),
        ("Keeps to the form asked: in USD millions", "format", False),
    ]


@pytest.mark.parametrize("given", ["queries/larkpsur.txt", "larkpsur.md", "./query", "QUERY.TXT"])
def test_a_file_that_is_not_there_is_no_query(given):
    with pytest.raises(UsageError, match="there is no such file"):
        query_of(given)


@pytest.mark.parametrize("given", ["What was revenue in FY2021/22?", "Revenue?", "Describe what notes.md says about revenue."])
def test_a_query_is_not_taken_for_a_file(given):
    assert query_of(given) == given


def test_a_value_that_its_quote_does_not_show_is_refused_when_it_is_decided(tmp_path, scripts_run_here):
    made(tmp_path / "r", reviewer=Scripted("other", derives=lambda q, d: Derivation(None, reason="not there")), source=Shelf())
    folder = RubricFolder(tmp_path / "r")
    said = {"decision": "value", "document": "report", "by": "x", "quote": "Net sales $ 4,812"}
    with pytest.raises(UsageError, match="does not show 4391"):
        decide(folder, "O1.1", Decision(value=4391, **said))
    assert not (tmp_path / "r" / "queue" / "O1.1.decision.json").exists()
    decide(folder, "O1.1", Decision(value=4812, **said))
    assert (tmp_path / "r" / "queue" / "O1.1.decision.json").exists()
