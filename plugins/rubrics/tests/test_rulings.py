"""The rulings on grading, each with an answer that keeps it and one that does not. The number of the ruling stands in the test's name."""

from datetime import date
from decimal import Decimal

import pytest

from finassay_rubrics.grading.compare import accepts, expected_of
from finassay_rubrics.grading.grade import Grader
from finassay_rubrics.grading.numbers import numbers
from finassay_rubrics.grading.years import Calendar, marked
from finassay_rubrics.record.reading import rubric_of
from finassay_rubrics.record.rubric import Criterion, Obligation, Route, Rubric, Tolerance, Topic


def route(value, unit="percent", period="FY2022", *, id="any", topic=None, scale="", decimals=None, **more):
    if isinstance(value, str) and unit == "words":
        return Route(route_id=id, topic=topic, value=value, **more)
    tolerance = more.pop("tolerance", Tolerance(rule="stated precision", decimals=decimals))
    return Route(route_id=id, topic=topic, value=Decimal(value), unit=unit, period=period, scale=scale, tolerance=tolerance, **more)


def criterion(id, text, *routes, kind="numeric", points=50, **more):
    return Criterion(id=id, obligation_id="O1", text=text, kind=kind, points=Decimal(points), expected=routes, **more)


def rubric(*criteria, topics=(), query="What was asked"):
    obligation = Obligation(id="O1", what="the figures", spans=("MET1",), frozen=Decimal(100), points=Decimal(100))
    return Rubric(query=query, cutoff="2024-12-31", obligations=(obligation,), criteria=criteria, topics=topics)


def outcomes(one, text, profile="strict"):
    return {r.criterion: r.found.outcome for r in Grader(one, profile).grade(text).score.results}


MARGIN = criterion("m", "States the fiscal 2022 operating margin", route("13.3", decimals=1), points=100)
TOPIC = Topic(id="denominator", routes=("end", "average"))


def two_routes(id, text, end, average, period, **more):
    routes = [route(end, id="end", topic="denominator", period=period, convention="on year-end assets")]
    routes += [route(average, id="average", topic="denominator", period=period, convention="on average total assets")] if average else []
    return criterion(id, text, *routes, **more)


def test_1_2_routes_belong_to_a_topic_and_the_best_single_one_counts():
    one = rubric(
        two_routes("a", "States return on assets for FY2022", "1.82", "1.79", "FY2022"),
        two_routes("b", "States return on assets for FY2021", "3.40", "3.31", "FY2021"),
        topics=(TOPIC,),
    )
    score = Grader(one).grade("Return on assets was 1.79% in FY2022 and 3.31% in FY2021.").score
    assert (score.routes, score.points) == ({"denominator": "average"}, Decimal("100.00"))
    score = Grader(one).grade("Return on assets was 1.79% in FY2022 and 3.40% in FY2021.").score
    assert (score.routes, score.points, score.mixed) == ({"denominator": "end"}, Decimal("50.00"), ("denominator",))


def dependent(**more):
    return rubric(
        criterion("nd", "States fiscal 2022 net debt", route("800", "USD", scale="millions")),
        criterion("lev", "States fiscal 2022 net debt to EBITDA", route("2.50", "times", decimals=1), depends_on=("nd",), **more),
    )


WRONG_INPUT = "Net debt was $960 million in fiscal 2022. Net debt to EBITDA was 3.0x in fiscal 2022."


def test_1_6_one_fault_is_charged_once_unless_strict():
    score = Grader(dependent()).grade(WRONG_INPUT).score
    assert [(r.criterion, r.found.outcome, r.found.consistent_with_error) for r in score.results] == [
        ("nd", "unmet", False),
        ("lev", "met", True),
    ]
    assert outcomes(dependent(strict=True), WRONG_INPUT) == {"nd": "unmet", "lev": "unmet"}
    assert outcomes(dependent(), WRONG_INPUT.replace("3.0x", "3.4x")) == {"nd": "unmet", "lev": "unmet"}


def test_1_7_what_cannot_be_assessed_leaves_both_sides():
    of_file = criterion("f", "States the margin in the model file", route("13.3"), scope="file")
    score = Grader(rubric(MARGIN.model_copy(update={"points": Decimal(60)}), of_file.model_copy(update={"points": Decimal(40)}))).grade(
        "The operating margin was 13.3% in fiscal 2022."
    )
    assert (score.score.points, score.score.assessable, score.score.open) == (Decimal("100.00"), 60, ("f",))


@pytest.mark.parametrize(
    ("value", "unit", "scale", "text", "right"),
    [
        ("86392", "USD", "millions", "$86,392 million", True),
        ("86392", "USD", "millions", "$86.4 billion", True),
        ("86392", "USD", "millions", "$86 billion", False),
        ("750", "USD", "millions", "$0.75 billion", True),
        ("86392", "USD", "millions", "EUR 86,392 million", False),
        ("741", "CHF", "millions", "$741 million", False),
        ("0.389", "USD", "billions", "USD 389 million", True),
        ("2.57", "USD per share", "", "$2.57", True),
        ("2.57", "USD per share", "", "$2.6", False),
        ("1385", "stores", "", "1.4 thousand", False),
        ("16.42", "US cents", "", "$0.1642", True),
        ("16.42", "US cents", "", "$16.42", False),
        ("24.6", "months", "", "2.1 years", False),
        ("14", "years", "", "168 months", True),
    ],
)
def test_1_13_units_scales_and_precision(value, unit, scale, text, right):
    (number,) = numbers(text, lengths=True)
    tolerance = (
        Tolerance(rule="exact") if unit in ("stores",) else Tolerance(rule="stated precision", decimals=2 if "share" in unit else None)
    )
    assert accepts(number, expected_of(route(value, unit, scale=scale, tolerance=tolerance))) is right


def test_1_14_a_difference_of_the_figures_as_shown_counts():
    one = rubric(
        criterion("a", "States the fiscal 2022 margin", route("13.36", decimals=1), points=30),
        criterion("b", "States the fiscal 2021 margin", route("12.62", decimals=1, period="FY2021"), points=30),
        criterion("d", "States the change in margin", route("0.74", "percentage points", "FY2022 less FY2021", decimals=1), points=40),
    )
    shown = "The margin was 13.4% in fiscal 2022 and 12.6% in fiscal 2021, an increase of 0.8 percentage points."
    assert set(outcomes(one, shown).values()) == {"met"}
    assert outcomes(one, shown.replace("0.8", "0.9"))["d"] == "unmet"


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("The operating margin was 13.3% in fiscal 2022.", "met"),
        ("| | FY2022 | FY2021 |\n|---|---|---|\n| Operating margin | 13.3% | 14.0% |", "met"),
        ("Operating margin = 11,512 / 86,392 = 13.3%", "met"),
        ("The operating margin of fiscal 2021 was 13.3%.", "unmet"),
        ("Operating income rose by 13.3% in fiscal 2022.", "unmet"),
        ("I cannot tell the operating margin.", "unmet"),
    ],
)
def test_1_16_the_figure_that_is_given_as_the_answer(text, outcome):
    assert outcomes(rubric(MARGIN), text) == {"m": outcome}


def test_1_17_a_the_same_cell_with_two_values_is_a_contradiction():
    right = "The operating margin was 13.3% in fiscal 2022.\n\n"
    assert outcomes(rubric(MARGIN), right + "In short: the operating margin was 15.1% in fiscal 2022.") == {"m": "unmet"}
    assert outcomes(rubric(MARGIN), "The operating margin was 15.1% in fiscal 2022.\n\n" + right) == {"m": "unmet"}
    assert outcomes(rubric(MARGIN), right + "In short: the operating margin was 13.33% in fiscal 2022.") == {"m": "met"}
    assert outcomes(rubric(MARGIN), right + "The operating margin of the snacks segment was 15.1% in fiscal 2022.") == {"m": "met"}


def test_1_17_b_a_mean_that_is_not_that_of_its_own_figures_is_wrong():
    one = rubric(
        *(criterion(y, f"States the FY{y} margin", route(v, period=f"FY{y}", decimals=1), points=25) for y, v in (("2020", "3.1"), ("2021", "2.3"), ("2022", "3.1"))),
        criterion("avg", "States the 3 year average margin", route("2.83", period="FY2020..FY2022", decimals=1), points=25, depends_on=("2020", "2021", "2022")),
    )  # fmt: skip
    text = "The margin was 3.1% in FY2020, 2.3% in FY2021 and 3.1% in FY2022; the average is {}."
    assert outcomes(one, text.format("2.8%"))["avg"] == "met"
    assert outcomes(one, text.format("2.6%"))["avg"] == "unmet"
    # an average of the answer's own figures, one of which is wrong
    own = outcomes(one, "The margin was 3.1% in FY2020, 2.0% in FY2021 and 3.1% in FY2022; the average is 2.7%.")
    assert (own["2021"], own["avg"]) == ("unmet", "met")


def test_1_17_c_direction_words_against_the_signs_of_figures():
    one = rubric(
        criterion("a", "States the fiscal 2022 margin", route("12.0", decimals=1), points=30),
        criterion("b", "States the fiscal 2021 margin", route("10.0", decimals=1, period="FY2021"), points=30),
        criterion("d", "Says that the margin rose", route("rose", "words"), kind="categorical", points=40),
    )
    assert outcomes(one, "The margin rose to 12.0% in fiscal 2022 from 10.0% in fiscal 2021.")["d"] == "met"
    assert outcomes(one, "The margin rose to 10.0% in fiscal 2022 from 12.0% in fiscal 2021.")["d"] == "unmet"


def test_1_18_gates():
    gated = MARGIN.model_copy(update={"gate": "must_pass", "points": Decimal(40)})
    other = criterion("r", "States fiscal 2022 revenue", route("500", "USD", scale="millions"), points=60)
    score = Grader(rubric(gated, other)).grade("Revenue was $500 million in fiscal 2022, the operating margin 15.0%.").score
    assert (score.points, score.gated, score.failed_gates) == (Decimal("60.00"), Decimal("0.00"), ("m",))


def test_2_1_forms_are_no_routes():
    change = criterion(
        "d",
        "States the size of the change in margin",
        route("-0.72", "percentage points", "FY2022 less FY2021", decimals=1, sign_rule="size"),
        points=100,
    )
    for said in ("0.7 percentage points", "72 basis points", "0.72 pp", "0.7 percentage points (72 bp)"):
        assert outcomes(rubric(change), f"The margin fell by {said}.") == {"d": "met"}, said
    assert outcomes(rubric(change), "The margin fell by 7 basis points.") == {"d": "unmet"}


def holed():
    return rubric(
        two_routes("a", "States return on assets for FY2022", "1.82", "1.79", "FY2022", points=40),
        two_routes("b", "States return on assets for FY2021", "3.40", None, "FY2021", points=40),
        criterion("c", "States fiscal 2022 revenue", route("500", "USD", scale="millions"), points=20),
        topics=(TOPIC,),
    )


def test_2_3_a_route_with_a_hole_is_taken_only_where_it_is_declared():
    silent = Grader(holed()).grade("Return on assets was 1.79% in FY2022. Revenue was $500 million in fiscal 2022.").score
    assert (silent.routes, silent.points) == ({"denominator": "end"}, Decimal("20.00"))
    told = (
        Grader(holed())
        .grade("Return on assets, on average total assets, was 1.79% in FY2022. Revenue was $500 million in fiscal 2022.")
        .score
    )
    assert (told.routes, told.open, told.points, told.assessable) == ({"denominator": "average"}, ("b",), Decimal("100.00"), 60)


@pytest.mark.parametrize(
    ("said", "outcome"),
    [
        ("13.3% or 15.1%", "unmet"),
        ("either 15.1% or 13.3%", "unmet"),
        ("between 13.3% and 14.0%", "unmet"),
        ("13.3%-14.0%", "unmet"),
        ("13.3% (15.1% excluding impairments)", "met"),
        ("13.3%, or 15.1% without impairments", "met"),
        ("13.3% or 13.33%", "met"),
    ],
)
def test_2_7_several_numbers_as_insurance(said, outcome):
    assert outcomes(rubric(MARGIN), f"The operating margin of fiscal 2022 was {said}.") == {"m": outcome}


def test_2_8_a_trend_over_mixed_cells_is_unmet():
    one = rubric(
        two_routes("a", "States return on assets for FY2022", "1.82", "1.70", "FY2022", points=30),
        two_routes("b", "States return on assets for FY2021", "3.40", "3.31", "FY2021", points=30),
        criterion("d", "Says that return on assets fell", route("fell", "words"), kind="categorical", points=40),
        topics=(TOPIC,),
    )
    assert outcomes(one, "Return on assets fell from 3.40% in FY2021 to 1.82% in FY2022.")["d"] == "met"
    assert outcomes(one, "Return on assets fell from 3.40% in FY2021 to 1.70% in FY2022.")["d"] == "unmet"


def test_2_9_faults_are_present_or_absent_and_earn_nothing():
    fault = criterion(
        "x",
        "Recommends buying the shares",
        route("fault absent", "words"),
        kind="prohibited",
        polarity="negative",
        points=0,
        gate="must_pass",
    )
    one = rubric(MARGIN, fault)
    text = "The operating margin was 13.3% in fiscal 2022. {}"
    for said, outcome, gated in (
        ("I recommend buying the shares.", "fault present", "0.00"),
        ("I do not recommend buying the shares.", "fault absent", "100.00"),
        ("", "fault absent", "100.00"),
    ):
        score = Grader(one).grade(text.format(said)).score
        assert (score.outcome("x"), f"{score.gated:f}", f"{score.points:f}") == (outcome, gated, "100.00"), said


def test_2_10_formats_are_checked_by_program_without_evidence():
    table = criterion(
        "t",
        "Puts the figures in exactly one table labelled USD millions",
        route("1 table", "words"),
        kind="format",
        status="not_applicable",
        points=100,
    )
    assert outcomes(rubric(table), "| USD millions | 2022 |\n|---|---|\n| Revenue | 5 |") == {"t": "met"}
    assert outcomes(rubric(table), "Revenue was 5 million.") == {"t": "unmet"}


def test_2_12_a_verdict_needs_the_yardstick_of_its_route():
    verdict = criterion(
        "v",
        "Says whether the firm is capital-intensive",
        route("not capital-intensive", "words", id="end", topic="denominator", requires="capital expenditure relative to revenue"),
        route("capital-intensive", "words", id="average", topic="denominator", requires="return on assets"),
        kind="categorical",
        points=100,
    )
    one = rubric(verdict, topics=(TOPIC,))
    for text, outcome in (
        ("By capital expenditure relative to revenue the firm is not capital-intensive.", "met"),
        ("Measured by return on assets the firm is capital-intensive.", "met"),
        ("The firm is capital-intensive.", "unmet"),
        ("Measured by return on assets the firm is not capital-intensive.", "unmet"),
    ):
        assert outcomes(one, text) == {"v": outcome}, text


# -- 1.12: fiscal periods ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("label", "end", "text", "years"),
    [
        # one issuer names the year that ends in early February 2024 fiscal 2023, another fiscal 2024
        ("2023", date(2024, 2, 3), "February 3, 2024", ["2023"]),
        ("2023", date(2024, 2, 3), "January 28, 2023", ["2022"]),
        ("2023", date(2024, 2, 3), "28.01.2023 | 03.02.2024", ["2022", "2023"]),
        ("2024", date(2024, 2, 3), "February 3, 2024", ["2024"]),
        ("2017", date(2017, 1, 28), "January 30, 2016", ["2016"]),
        # years that end in May, June and December
        ("2022", date(2022, 5, 29), "May 30, 2021", ["2021"]),
        ("2022", date(2022, 12, 31), "December 25, 2021", ["2021"]),
        ("2021", date(2022, 1, 1), "December 31, 2022", ["2022"]),
        # a day that ends no fiscal year has its own year
        ("2023", date(2024, 2, 3), "filed on June 5, 2023", ["2023"]),
        # a name beside its end counts before the end, whatever the calendar
        ("2023", date(2024, 2, 3), "fiscal 2023 (year ended January 28, 2023)", ["2023"]),
        ("2023", date(2024, 2, 3), "the year ended January 28, 2023 (fiscal 2022)", ["2022"]),
    ],
)  # fmt: skip
def test_1_12_a_fiscal_year_is_told_by_its_end(label, end, text, years):
    assert [year for _, _, year in marked(text, Calendar(label, end))] == years


def of_retailer(period_end, label="FY2023"):
    routes = (route("39.1", decimals=1, period=label, period_end=period_end),)
    return rubric(criterion("g", "States fiscal 2023 gross margin", *routes, points=100))


HEADED = "| Year ended | February 3, 2024 | January 28, 2023 |\n|---|---|---|\n| Gross margin | 39.1% | 38.5% |"


@pytest.mark.parametrize(
    ("one", "text", "outcome"),
    [
        (of_retailer(date(2024, 2, 3)), HEADED, "met"),
        (of_retailer(date(2023, 1, 28)), HEADED, "unmet"),
        (of_retailer(date(2023, 1, 28)), HEADED.replace("38.5", "39.1").replace("39.1", "40.2", 1), "met"),
        (of_retailer(None, "FY2023 (ended 2024-02-03)"), HEADED, "met"),
        (of_retailer(None, "FY2023 (ended 2023-01-28)"), HEADED, "unmet"),
        # where the rubric does not tell, the answer itself may
        (of_retailer(None), HEADED + "\n\nThe year ended February 3, 2024 is fiscal 2023.", "met"),
        (of_retailer(None), "In fiscal 2023 gross margin was 39.1%, after 38.5% a year earlier.", "met"),
        (of_retailer(None), "In fiscal 2022 gross margin was 39.1%.", "unmet"),
    ],
)  # fmt: skip
def test_1_12_columns_are_keyed_by_end_date(one, text, outcome):
    assert outcomes(one, text) == {"g": outcome}


def test_1_12_a_label_under_two_rules_is_two_routes():
    """Asked for FY2023 of an issuer that names the year to January 2023 fiscal 2022: either value, and the end dates tell which."""
    routes = [
        route("39.1", decimals=1, period="FY2023", period_end=date(2024, 2, 3), id="issuer", topic="fiscal_label"),
        route("38.5", decimals=1, period="FY2023", period_end=date(2023, 1, 28), id="year-end", topic="fiscal_label"),
    ]
    one = rubric(
        criterion("g", "States fiscal 2023 gross margin", *routes, points=100),
        topics=(Topic(id="fiscal_label", routes=("issuer", "year-end")),),
    )
    for text, chosen in (
        ("Gross margin was 39.1% in fiscal 2023.", "issuer"),
        ("Gross margin was 38.5% in the year ended January 28, 2023.", "year-end"),
        ("Gross margin was 38.5% in fiscal 2023.", "year-end"),
    ):
        score = Grader(one).grade(text).score
        assert (score.routes, score.outcome("g")) == ({"fiscal_label": chosen}, "met"), text
    # exchanged: each value at the other end date
    wrong = "Gross margin was 38.5% in the year ended February 3, 2024."
    assert outcomes(one, wrong) == {"g": "unmet"}


def test_a_draft_with_a_hole_and_a_list_can_be_read():
    draft = {
        "schema": "rubric/draft", "query": "q", "cutoff": {"date": "2023-03-01", "inclusive": True}, "obligation_points_final": {"O1": "100.00"},
        "route_topics": {"denominator": ["end", "average"]},
        "criteria": [
            {"id": "a", "obligation_id": "O1", "text": "States return on assets", "kind": "numeric", "points": "50.00", "expected": [
                {"route_id": "end", "topic": "denominator", "value": 1.8, "unit": "percent", "scale": "ones", "tolerance": {"rule": "band", "abs": 0.1}},
                {"route_id": "average", "topic": "denominator", "value": None, "unit": "percent", "status": "unresolved", "reason": "no total assets"},
            ]},
            {"id": "s", "obligation_id": "O1", "text": "Names the segments", "kind": "set", "points": "50.00", "expected": [
                {"route_id": "any", "topic": None, "value": ["Freight", "Storage"]},
            ]},
        ],
    }  # fmt: skip
    one = rubric_of(draft, "here")
    assert [r.route_id for r in one.criterion("a").expected] == ["end"]
    assert outcomes(one, "Return on assets was 1.8%. The segments are Storage and Freight.") == {"a": "met", "s": "met"}
    assert outcomes(one, "Return on assets was 1.8%. The only segment is Storage.")["s"] == "unmet"
