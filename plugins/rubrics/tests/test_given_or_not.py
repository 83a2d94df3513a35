"""Figures that stand in an answer and are not given: taken back, of another ratio or company, one of several candidates, from a sum that gives another."""

from decimal import Decimal

import pytest
from test_judged import ScriptedJudge, says
from test_rulings import criterion, outcomes, route, rubric

from finassay_rubrics.grading.by_judge import FIGURE, JudgedMeaning
from finassay_rubrics.grading.grade import Grader
from finassay_rubrics.grading.locate import Target, locate, words_of
from finassay_rubrics.grading.markup import without_markup
from finassay_rubrics.grading.names import aliases_in, others_in
from finassay_rubrics.grading.text import plain
from finassay_rubrics.grading.working import computed

GROSS = criterion("g", "States the fiscal 2022 gross margin", route("23.4", decimals=0), points=50)
OPERATING = criterion("o", "States the fiscal 2022 operating margin", route("11.3", decimals=0), points=50)
QUERY = "What were the gross margin and operating margin of Orvane (ticker ORV) in fiscal 2022?"


def graded(text, *criteria, query=QUERY):
    return outcomes(rubric(*(criteria or (GROSS, OPERATING))).model_copy(update={"query": query}), text)


def gross(text):
    return graded(f"{text}\n\nThe operating margin of Orvane was 11% in fiscal 2022.")["g"]


TABLE = "| | 2022 | 2021 |\n|---|---|---|\n| Gross margin | {} | 25% |\n| Operating margin | 11% | 12% |\n\n"


@pytest.mark.parametrize(
    ("figure", "after", "told"),
    [
        ("23%", "", {"g": "met", "o": "met"}),
        ("21%", "The gross margin in the table above should read 23%.", {"g": "met", "o": "met"}),
        ("23%", "Correction: the gross margin of 2022 in the table above is wrong; it was 21%.", {"g": "unmet", "o": "met"}),
        ("21%", "I made an error above. The gross margin of 2022 is 23%.", {"g": "met", "o": "met"}),
        ("23%", "The 2021 gross margin in the table above should read 26%.", {"g": "met", "o": "met"}),
    ],
)
def test_a_correction_in_prose_withdraws_the_table_s_figure(figure, after, told):
    assert graded(TABLE.format(figure) + after) == told


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("The gross margin was 23% in 2022.", "met"),
        ("The net margin was 23% in 2022.", "unmet"),
        ("Pretax margin, 2022: 23%", "unmet"),
        ("| | 2022 |\n|---|---|\n| Net profit margin | 23% |", "unmet"),
        ("| | 2022 |\n|---|---|\n| Gross profit margin | 23% |", "met"),
    ],
)
def test_a_ratio_under_another_ratio_s_name_is_no_answer(text, outcome):
    assert gross(text) == outcome


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("Zentia (ORV, formerly Orvane) had a gross margin of 23% in 2022. Zentia's gross margin was 23%.", "met"),
        ("Orvane (Zentia, ORV) is meant.\n\nZentia's gross margin was 23% in 2022.", "met"),
        ("Zentia is the operating brand of Orvane.\n\nZentia's gross margin was 23% in 2022.", "met"),
        ("ORV's gross margin was 23% in 2022.", "met"),
        ("Zentia's gross margin was 23% in 2022.", "unmet"),
        ("Mirabel (MRB): gross margin 23% in 2022", "unmet"),
        ("Its rival Mirabel (MRB) is smaller.\n\nMRB had a gross margin of 23% in 2022.", "unmet"),
        ("### Mirabel (MRB)\n\n- Gross margin 2022: 23%", "unmet"),
        ("### Orvane (ORV)\n\n- Gross margin 2022: 23%\n\n### Mirabel (MRB)\n\n- Gross margin 2022: 31%", "met"),
        ("| Company | Gross margin 2022 |\n|---|---|\n| Mirabel | 23% |", "unmet"),
        ("| Company | Gross margin 2022 |\n|---|---|\n| Mirabel | 31% |\n| Orvane | 23% |", "met"),
        ("| 2022 | MRB | ORV |\n|---|---|---|\n| Gross margin | 23% | 31% |", "unmet"),
        ("| 2022 | MRB | ORV | Median |\n|---|---|---|---|\n| Gross margin | 31% | 23% | 27% |", "met"),
    ],
)
def test_companies_by_alias_ticker_heading_row_and_column(text, outcome):
    assert gross(text) == outcome


def test_names_are_told_from_acronyms():
    own = frozenset({"orvane"})
    assert aliases_in("Orvane (NYSE: ORV, Zentia)", own) == {"orv", "zentia"}
    assert aliases_in("Orvane (in millions)", own) == frozenset()
    assert others_in("Return on Equity (ROE), Funds From Operations (FFO), Mirabel (MRB)", own, frozenset()) == {"mirabel", "mrb"}


@pytest.mark.parametrize(
    "text",
    [
        "Possible values of the gross margin:\n\n| A | B |\n|---|---|\n| 23% | 25% |",
        "| | Low | High |\n|---|---|---|\n| Gross margin 2022, possible values | 23% | 25% |",
        "Candidates:\n\n| Metric | 2022 |\n|---|---|\n| Gross margin | 23% |",
    ],
)
def test_candidates_in_a_table_are_no_answer(text):
    assert gross(text) == "unmet"


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("Gross margin 2022 = 234 / 1,000 = 23.4%", "met"),
        ("Gross margin 2022 = gross profit / revenue = 23.4%", "met"),
        ("Gross margin 2022 = 500 / 1,000 = 23.4%", "unmet"),
        ("$$\\text{Gross margin}_{2022} = \\frac{234}{1{,}000} \\times 100 = 23.4\\%$$", "met"),
        ("$$\\text{Gross margin}_{2022} = \\frac{334}{1{,}000} = 23.4\\%$$", "unmet"),
    ],
)
def test_1_17_b_a_written_sum_that_gives_another_figure(text, outcome):
    assert gross(text) == outcome


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("11,512 / 86,392", 0.13325),
        ("$234 million / $1 billion", 0.234),
        ("(14.7% + 20.7% + 38.9%) / 3", 24.7667),
        ("(61,742 / 39,130)^(1/3) - 1", 0.16419),
        ("( 61,742 / 39,130 )^1/3 - 1", 0.16419),
        ("1,142 / 7,130 × 365", 58.4614),
        ("revenue / 5", None),
        ("5", None),
        ("1 / 0", None),
        ("((5 / 3)", None),
        ("9 ^ 9 ^ 9 ^ 9", None),
    ],
)
def test_sums(text, value):
    found = computed(text)
    assert (found is None) if value is None else found[0] == pytest.approx(value, rel=1e-4)


def test_1_6_no_gate_hangs_on_what_follows_from_others():
    debt = criterion("nd", "States fiscal 2022 net debt", route("800", "USD", scale="millions"), points=50)
    lever = criterion(
        "lev", "States fiscal 2022 net debt to EBITDA", route("2.50", "times", decimals=1), depends_on=("nd",), gate="must_pass", points=50
    )
    text = "Net debt was $960 million in fiscal 2022. Net debt to EBITDA was 3.4x in fiscal 2022."
    score = Grader(rubric(debt, lever)).grade(text).score
    assert (score.outcome("lev"), score.failed_gates) == ("unmet", ())
    free = lever.model_copy(update={"depends_on": ()})
    assert Grader(rubric(debt, free)).grade(text).score.failed_gates == ("lev",)


def judged(text, answer):
    judge = ScriptedJudge({"g": answer, "o": says("not said")})
    found = Grader(rubric(GROSS, OPERATING), meaning=JudgedMeaning(judge)).grade(text).findings
    return judge, found["g"]["any"]


def test_1_16_a_figure_in_other_words_is_left_to_the_judge():
    text = "Of every hundred euros that came in, 23 % were left once the goods were paid for."
    judge, found = judged(text, says("said", "23 % were left"))
    assert [(r.dimension.id, r.question.text) for r in judge.asked] == [("g", FIGURE), ("o", FIGURE)]
    assert found.outcome == "met"
    assert judged(text, says("said", "Of every hundred euros"))[1].outcome == "unmet"  # no such figure stands there
    assert judged(text, says("not said"))[1].outcome == "unmet"
    judge, found = judged("The gross margin could not be found.", says("said", "gross margin"))
    assert (found.outcome, [r.dimension.id for r in judge.asked]) == ("unmet", ["o"])  # the answer addresses it


@pytest.mark.parametrize(
    "text", ["I have no data, but I would guess about 12 %.", "My best estimate is 12 %. The filing is not available."]
)
def test_a_guess_is_an_answer(text):
    assert [n.value for n in locate(text, Target(words_of("gross margin"))).figures] == [Decimal(12)]
    assert gross("I have no data. I would guess a gross margin of 23% for 2022.") == "met"


HTML = """<p>Figures for <b>2022</b>:</p>
<table border="1"><tr><th></th><th colspan="2">Orvane&nbsp;group</th></tr>
<tr>
  <td>Gross margin</td>
  <td>23.4%</td><td>&minus;1.2%</td>
</tr>
<tr><td>Operating margin</td><td><strong>11.3%</strong></td><td></td></tr></table>"""


def test_html_is_read_at_its_own_places():
    assert len(without_markup(HTML)) == len(HTML)
    assert "-1.2%" in plain(HTML).text
    assert [line.count("|") for line in without_markup(HTML).splitlines() if "|" in line] == [3, 3, 3]
    assert graded(HTML) == {"g": "met", "o": "met"}
    found = Grader(rubric(GROSS, OPERATING)).grade(HTML).findings["o"]["any"]
    assert HTML[slice(*found.span)] == "11.3%"
    text = "A margin < 5% and > 3% <unknown tag> & more"
    assert without_markup(text) == text


LARGEST = criterion("p", "Names the largest product", route("Entrova is the largest product", "words"), kind="categorical", points=100)


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("Entrova was the largest product, with $3.1 billion.", "met"),
        ("The largest product was Entrova.", "met"),
        ("Cosendra was the largest product.", "unmet"),
    ],
)
def test_another_name_in_the_first_place_is_another_answer(text, outcome):
    assert graded(text, LARGEST, query="Which was the largest product of Orvane in fiscal 2022?")["p"] == outcome
