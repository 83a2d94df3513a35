"""What a newcomer's queries and edits showed: a question that is misread never ends as a grounded value, and a rubric that was changed is seen."""

import json

import pytest
from asking import drafted, texts
from click.testing import CliRunner
from rubric_team import Scripted, Shelf, made, script_runner

from finassay.api.errors import FinassayError, UsageError
from finassay.api.research import Derivation
from finassay_rubrics.budget import bears_points
from finassay_rubrics.cli.context import query_of
from finassay_rubrics.cli.main import rubric
from finassay_rubrics.generate.criteria import criteria_of
from finassay_rubrics.generate.decisions import Decision, decide
from finassay_rubrics.generate.folder import RubricFolder


@pytest.fixture
def scripts_run_here(monkeypatch):
    monkeypatch.setattr("finassay_rubrics.generate.assembly.script_runner", script_runner)


# -- what is asked ----------------------------------------------------------------------------------------------------


def test_a_compound_rate_is_no_total_growth():
    assert texts("What was Orchard's compound annual growth rate of revenue from fiscal 2019 to fiscal 2021?") == {
        "compound annual growth rate of revenue": ["States the CAGR of revenue from FY2019 to FY2021"]
    }
    assert texts("What was Orchard's revenue growth in fiscal 2021, and its revenue CAGR from 2019 to 2021?") == {
        "revenue growth": ["States the growth of revenue from FY2020 to FY2021, in units of percents"],
        "revenue CAGR": ["States the CAGR of revenue from FY2019 to FY2021"],
    }
    assert texts("What was the average annual revenue growth of Orchard from 2018 to 2021?") == {
        "average annual revenue growth": ["States the average annual growth of revenue from FY2018 to FY2021, in units of percents"]
    }


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        (
            "What was Orchard's net income in fiscal 2021, and by how much did inventories change between fiscal 2018 and fiscal 2019?",
            [["States the net income of FY2021"], ["States the change in inventory from FY2018 to FY2019"]],
        ),
        (
            "For fiscal 2021, what was Orchard's revenue? For fiscal 2020, what was its net income?",
            [["States the revenue of FY2021"], ["States the net income of FY2020"]],
        ),
        (
            "Report Orchard's revenue in FY2019 and net income in FY2020.",
            [["States the revenue of FY2019"], ["States the net income of FY2020"]],
        ),
        (
            "Report revenue and net income of Orchard for FY2020 and FY2021.",
            [
                ["States the revenue of FY2020", "States the revenue of FY2021"],
                ["States the net income of FY2020", "States the net income of FY2021"],
            ],
        ),
        ("State Orchard's FY2021 revenue and FY2020 net income.", [[], []]),
        ("In FY2021 report Orchard's revenue. In FY2020 report its net income. Report its inventory.", [*[["x"]] * 2, []]),
        ("What was Orchard's revenue in Q4 2021?", [[]]),
    ],
)
def test_each_metric_takes_the_periods_of_its_own_clause(query, wanted):
    found = list(texts(query).values())
    assert [len(one) for one in found] == [len(one) for one in wanted]
    assert all(one == other for one, other in zip(found, wanted, strict=True) if other != ["x"])
    assert all(c.reason for criteria in drafted(query).values() for c in criteria if not c.routes)


@pytest.mark.parametrize(
    "query",
    [
        "Calculate Orchard's three-year average of net margin for FY2021.",
        "What was Orchard's revenue CAGR in FY2021?",
        "What was Orchard's revenue growth for FY2019, FY2020 and FY2021?",
    ],
)
def test_years_that_are_not_told_are_not_guessed(query):
    ((one,),) = drafted(query).values()
    assert not one.routes
    assert "over several years" in one.reason


@pytest.mark.parametrize(
    "query",
    [
        "What was revenue of Orchard and of Larkspur in fiscal 2017?",
        "For Orchard and Larkspur, report revenue in fiscal 2017.",
        "For each of Orchard and Larkspur, give revenue in FY2017.",
    ],
)
def test_a_second_issuer_is_not_dropped(query):
    assert list(texts(query).values()) == [["States the revenue of Orchard in FY2017", "States the revenue of Larkspur in FY2017"]]


@pytest.mark.parametrize(
    "query",
    [
        "What was revenue of Orchard & Larkspur in FY2017?",
        "What was revenue of Orchard Inc. (NYSE: ORCH) in FY2017? Take it from Orchard's report.",
        "What was revenue of Orchard and Sons in FY2017?",
    ],
)
def test_one_issuer_with_several_names_is_one(query):
    assert list(texts(query).values()) == [["States the revenue of FY2017"]]


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("ratio of inventories to revenue", "ratio of inventory to revenue"),
        ("inventories divided by revenue", "ratio of inventory to revenue"),
        ("inventories to revenue ratio", "ratio of inventory to revenue"),
        ("ratio of total debt to total equity", "ratio of total debt to total equity"),
    ],
)
def test_a_ratio_of_two_lines_is_one_obligation(asked, said):
    assert texts(f"What was the {asked} of Orchard in FY2021?") == {asked: [f"States the {said} of FY2021"]}


@pytest.mark.parametrize(
    "query",
    [
        "Which year had the highest gross margin for Orchard from FY2018 to FY2020?",
        "In which fiscal year between 2018 and 2020 was Orchard's inventory turnover lowest?",
        "Orchard's inventory was highest in which year, FY2018 or FY2019?",
        "Report the year with the highest gross margin of Orchard from FY2018 to FY2020.",
        "When was Orchard's gross margin highest between FY2018 and FY2021?",
    ],
)
def test_a_year_that_is_asked_for_is_not_answered_by_levels(query):
    criteria = [c for several in drafted(query).values() for c in several]
    assert [c.kind for c in criteria if not c.optional] == ["categorical"]
    assert all(c.text.startswith(("Says in which", "States the highest", "States the lowest")) for c in criteria)


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


@pytest.mark.parametrize("span", ["Q2", "Q22023", "1st July", "M&A", "FX", "Adjusted Non GAAP", "Format X.XX", "10-K", "USD"])
def test_what_is_in_capitals_is_not_always_an_issuer(span):
    from finassay_rubrics.metrics.issuers import issuers

    bound = [{"id": "ENT1", "span": "Orchard Toolworks"}, {"id": "ENT2", "span": span}]
    assert issuers(f"What was the revenue of Orchard Toolworks, {span}?", bound) == ["Orchard Toolworks"]
    assert len(issuers("Revenue of Orchard Toolworks and of Larkspur", [bound[0], {"id": "ENT2", "span": "Larkspur"}])) == 2


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("How fast did Orchard's revenue grow per year on average from fiscal 2019 to fiscal 2021?", ""),
        ("What percentage of Orchard's revenue was net income in fiscal 2021?", "net income as a percentage of revenue"),
        ("What was the difference between Orchard's revenue and net income in fiscal 2021?", "difference between revenue and net income"),
        ("How many times was Orchard's inventory covered by revenue in fiscal 2021?", "ratio of revenue to inventory"),
        ("What was Orchard's total debt as a multiple of net income in fiscal 2021?", "ratio of total debt to net income"),
        ("How many times did revenue exceed what Orchard spent on inventory in fiscal 2021?", ""),
    ],
)
def test_a_relation_is_understood_or_left_and_never_answered_by_levels(query, said):
    found = [t for grounded in texts(query).values() for t in grounded]
    assert found == ([f"States the {said} of FY2021"] if said else [])


def test_a_direction_asked_beside_figures_is_asked():
    (grounded,) = texts("Did Orchard's gross margin increase or decrease in fiscal 2021?").values()
    assert grounded == [
        "States the gross margin of FY2020",
        "States the gross margin of FY2021",
        "Says whether the gross margin increased or declined from FY2020 to FY2021",
    ]
