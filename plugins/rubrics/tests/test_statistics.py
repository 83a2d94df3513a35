"""Figures and intervals against published and independently computed values; score tracking over files."""

import csv
import json
import math
import random
from statistics import mean

import numpy as np
import pytest
from click.testing import CliRunner
from test_agree import OWN, RIGHT, criterion, rubric

from finassay.api.errors import FinassayError
from finassay_rubrics.cli.main import rubric as command
from finassay_rubrics.measure.agreeing import Pair, agreement_json
from finassay_rubrics.measure.statistics import _OF_TABLES, correlation, kappa, macro_f1, verdict_figures, with_interval
from finassay_rubrics.measure.tracking import Scores, order_of, track
from finassay_rubrics.record.reading import rubric_json


def verdicts(table):
    """Verdicts of a two-by-two table: rows are the person's, columns the program's."""
    rows = [(person, program) for person in (0, 1) for program in (0, 1) for _ in range(table[person][program])]
    return [bool(program) for _, program in rows], [bool(person) for person, _ in rows]


@pytest.mark.parametrize(
    ("table", "value"),
    [([[20, 5], [10, 15]], 0.4), ([[45, 15], [25, 15]], 0.13043478260869554), ([[280, 3], [7, 343]], 0.9680896112276174)],
)
def test_kappa_of_published_tables(table, value):
    """The values are those of statsmodels' `cohens_kappa`; the first two are textbook examples."""
    assert kappa(*verdicts(table)) == pytest.approx(value, abs=1e-12)


def test_macro_f1_by_hand():
    program, person = verdicts([[20, 5], [10, 15]])
    assert macro_f1(program, person) == pytest.approx((2 * 15 / (2 * 15 + 5 + 10) + 2 * 20 / (2 * 20 + 5 + 10)) / 2)
    assert macro_f1([], []) is None
    assert kappa([True, True], [True, False]) is None


def test_correlations_by_hand():
    first, second = [1.0, 2.0, 3.0, 4.0, 4.0], [1.0, 3.0, 2.0, 4.0, 5.0]
    # 8 pairs in order, 1 not, 1 tied on the left: tau-b = (8 - 1) / sqrt(9 * 10)
    assert correlation("kendall", first, second) == pytest.approx(7 / 90**0.5)
    assert correlation("spearman", [1, 2, 3, 4], [1, 2, 4, 3]) == pytest.approx(1 - 6 * 2 / (4 * 15))
    assert correlation("pearson", [0, 1, 2], [0, 1, 5]) == pytest.approx(5 / (2 * (4 + 1 + 9)) ** 0.5)
    assert correlation("pearson", [1, 1], [0, 1]) is None
    assert correlation("kendall", [1], [2]) is None


def test_the_interval_draws_whole_queries():
    """Ten answers that are all alike within their query are worth one: the interval is that of the queries, not of the answers."""
    draw = random.Random(3)
    levels = {f"q{n}": draw.gauss(50, 10) for n in range(40)}
    rows = [(name, value) for name, value in levels.items() for _ in range(10)]
    found = with_interval(rows, lambda own: mean(v for _, v in own), lambda row: row[0])
    spread = (sum((v - mean(levels.values())) ** 2 for v in levels.values()) / len(levels)) ** 0.5
    half = 1.96 * spread / len(levels) ** 0.5
    assert found.value == pytest.approx(mean(levels.values()))
    assert found.low == pytest.approx(found.value - half, rel=0.02)
    assert found.high == pytest.approx(found.value + half, rel=0.02)
    assert with_interval(rows, lambda own: mean(v for _, v in own), lambda row: row[0]) == found  # the same each time


def test_figures_of_verdicts():
    pairs = [Pair(f"q{n % 3}", "a", str(n), n % 2 == 0, n % 2 == 0 or n == 1) for n in range(12)]
    told = agreement_json(pairs)
    assert told["kappa"]["value"] == pytest.approx(5 / 6)
    assert told["macro_f1"]["value"] == pytest.approx((12 / 13 + 10 / 11) / 2)
    assert told["kappa"]["low"] <= told["kappa"]["value"] <= told["kappa"]["high"]
    assert told["by_verdict"]["met"] == {"precision": 1, "recall": pytest.approx(6 / 7), "f1": pytest.approx(12 / 13), "people": 7}
    alone = agreement_json([p for p in pairs if p.query == "q0"])
    assert alone["accuracy"] == {"value": 1, "low": None, "high": None}
    assert agreement_json([Pair("q", "a", "c", True, True)])["kappa"] is None
    assert agreement_json([])["macro_f1"] is None


def test_figures_of_tables_are_those_of_scikit_learn():
    """Over random tables, empty and one-sided ones among them."""
    draw = random.Random(1)
    for _ in range(200):
        table = [[draw.choice([0, 0, 1, 2, 5, 30]) for _ in range(2)] for _ in range(2)]
        program, person = verdicts([[table[0][0], table[1][0]], [table[0][1], table[1][1]]])  # there rows are the person's
        if not program:
            continue
        counts = np.asarray(table, dtype=float)
        expected = kappa(program, person)
        found = float(_OF_TABLES["kappa"](counts))
        assert math.isnan(found) if expected is None else found == pytest.approx(expected)
        assert float(_OF_TABLES["macro_f1"](counts)) == pytest.approx(macro_f1(program, person))


def test_intervals_of_verdicts_are_those_of_plain_resampling():
    draw = random.Random(2)
    rows = [(f"q{n % 20}", draw.random() < 0.6) for n in range(300)]
    said = [(q, truth if draw.random() < 0.9 else not truth, truth) for q, truth in rows]
    fast = verdict_figures(said, lambda row: row[0], lambda row: (row[1], row[2]))["kappa"]
    slow = with_interval(said, lambda own: kappa([r[1] for r in own], [r[2] for r in own]), lambda row: row[0], draws=300)
    assert fast.value == pytest.approx(slow.value)
    assert (fast.low, fast.high) == pytest.approx((slow.low, slow.high), abs=0.02)


def test_order_of_pairs_within_queries():
    one = [Scores("a", "1", 90, 80), Scores("a", "2", 70, 60), Scores("a", "3", 70, 20), Scores("a", "4", 95, 80)]
    two = [Scores("b", "1", 10, 90), Scores("b", "2", 20, 30)]
    found = order_of([one, two])
    # a: five pairs are told apart (1 and 4 are not), four right, one tied; b: one, wrong
    assert (found.pairs, found.right, found.tied, found.left_out) == (6, 4, 1, 1)
    assert found.accuracy == pytest.approx(4.5 / 6)
    measured = track([*one, *two])
    assert measured.order_accuracy.value == pytest.approx(4.5 / 6)
    assert measured.defined_within == {"pearson": 2, "spearman": 2, "kendall": 2}
    assert measured.bias.value == pytest.approx((10 + 10 + 50 + 15 - 80 - 10) / 6)
    assert order_of([[Scores("a", "1", 1, 1)]]).accuracy is None


def test_two_measures_that_agree_and_two_that_do_not():
    draw = random.Random(7)
    truth = [(f"q{n // 6}", draw.uniform(0, 100)) for n in range(120)]
    same = track([Scores(q, str(n), v / 2 + 10, v) for n, (q, v) in enumerate(truth)], draws=300)
    assert [same.pooled[how].value for how in same.pooled] == pytest.approx([1, 1, 1])
    assert (same.order_accuracy.value, same.order_accuracy.low) == (1, 1)
    other = track([Scores(q, str(n), draw.uniform(0, 100), v) for n, (q, v) in enumerate(truth)], draws=300)
    assert other.pooled["kendall"].low < 0 < other.pooled["kendall"].high
    assert other.order_accuracy.low < 0.5 < other.order_accuracy.high


def run(*arguments):
    return CliRunner().invoke(command, ["agree", *map(str, arguments)])


def test_the_command_on_tables_and_folders(tmp_path):
    table = tmp_path / "scores.csv"
    with table.open("w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["query", "answer", "generated", "expert", "note"])
        out.writerows([f"q{n % 4}", n, 10 * n % 97, 10 * n % 97 + n % 3, ""] for n in range(24))
        out.writerow(["q0", "x", "", "50", ""])
    told = json.loads(run("track", table, "--json").output)
    assert (told["answers"], told["queries"], told["undefined_scores"]) == (24, 4, 1)
    assert told["pearson"]["low"] > 0.9
    assert "order accuracy" in run("track", table).output
    folder = tmp_path / "case"
    folder.mkdir()
    (folder / "rubric.json").write_text(rubric_json(OWN))
    wrong = RIGHT.replace("418", "481").replace("12.4%", "14.2%")
    (folder / "answers.json").write_text(json.dumps([{"id": "A", "text": RIGHT, "points": 100}, {"id": "B", "text": wrong, "points": 60}]))
    people = json.loads(run("track", folder, "--json").output)
    assert (people["order_accuracy"]["value"], people["rmse"]["value"]) == (1, pytest.approx(50**0.5))  # 50 points for 60
    expert = rubric(criterion("a", "States fiscal 2022 revenue", ("any", 418, "USD", "millions", "FY2022"), points=100))
    (folder / "expert.json").write_text(rubric_json(expert))
    told = json.loads(run("track", folder, "--json").output)
    assert (told["order_accuracy"]["value"], told["bias"]["value"]) == (1, pytest.approx(25))


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("a.csv", "query,answer\nq,1\n", "row 1 has no generated"),
        ("a.csv", "query,generated,expert\nq,many,1\n", "expected a number"),
        ("a.csv", "query,generated,expert\nq,nan,1\n", "expected a number"),
        ("a.csv", "", "holds no rows"),
        ("a.csv", b"\xff\xfe", "cannot be read"),
        ("a.json", "{", "cannot be read"),
        ("a.json", "[1]", "list of objects"),
        ("a.jsonl", '{"query": "q", "generated": 1, "expert": true}', "expected a number"),
        ("a.csv", "query,generated,expert\nq,1,2\n", "at least two"),
        ("folder", None, "cannot be read"),
    ],
)
def test_bad_tables_end_in_one_line(tmp_path, name, content, told):
    path = tmp_path / name
    if content is None:
        path.mkdir()
    else:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    done = run("track", path)
    assert isinstance(done.exception, FinassayError)
    assert told in str(done.exception)
    assert "\n" not in str(done.exception)


def test_verdicts_of_a_table(tmp_path):
    rows = [{"query": f"q{n % 3}", "criterion": str(n), "program": "met" if n % 2 else "unmet", "person": "met"} for n in range(9)]
    rows += [{"query": "q0", "program": "cannot assess", "person": "met"}, {"query": "q0", "program": "met", "person": ""}]
    path = tmp_path / "verdicts.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    told = json.loads(run("verdicts", path, "--json").output)
    assert (told["verdicts"], told["no_verdict_by_program"], told["no_verdict_by_person"], told["kappa"]) == (9, 1, 1, None)
    assert len(told["differing"]) == 5
