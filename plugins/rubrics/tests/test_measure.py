"""Measuring on labelled material: keys, label conflicts, agreement, the command."""

import gzip
import json
import os
import shutil
from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest
from click.testing import CliRunner

from finassay.api.errors import FinassayError, InvalidFileError
from finassay_rubrics.cli.main import rubric as command
from finassay_rubrics.grading.asked import keyed, target_of
from finassay_rubrics.grading.compare import accepts
from finassay_rubrics.grading.locate import locate
from finassay_rubrics.measure.responses import agreement, by_model, half_of, is_right, judge
from finassay_rubrics.record.exchange.forms import read
from finassay_rubrics.record.reading import rubric_json

SHARED = Path(os.environ.get("FINASSAY_SHARED", Path(__file__).parents[4] / "shared"))
BENCH = SHARED / "data" / "financebench"
EXPERTS = SHARED / "data" / "vals-finance-agent"


@pytest.mark.parametrize(
    ("key", "question", "value", "kind", "scale"),
    [
        ("$1577.00", "What is the capex (in USD millions)?", "1577", "amount", 10**6),
        ("$8.70", "What is net PPE? Answer in USD billions.", "8.7", "amount", 10**9),
        ("65.4%", "What is the change?", "65.4", "percent", 1),
        ("-0.02", "What is the ROA?", "-0.02", "times", 1),
        ("(0.35)", "What is the ratio?", "-0.35", "times", 1),
        ("93.86 days", "What is the DPO?", "93.86", "days", 1),
        ("412", "What were sales in USD millions?", "412", "amount", 10**6),
        ("1.2 billion", "What were sales?", "1.2", "times", 1),
    ],
)
def test_keys_of_one_figure(key, question, value, kind, scale):
    expected = keyed(question, key).expected
    assert (expected.value, expected.kind, int(expected.scale)) == (Decimal(value), kind, scale)


@pytest.mark.parametrize("key", ["", "No", "Yes, by 4%", "4% and 5%", "FY2018", "between 3 and 4", "12 March 2020"])
def test_keys_that_are_no_figure(key):
    assert keyed("What is it?", key) is None


def test_what_a_question_names_as_its_metric():
    target = target_of(
        "You are an analyst. What is Foxglove's FY2017 return on assets (ROA)? Round your answer to two decimal places.", "Foxglove Inc"
    )
    assert (target.words, target.acronyms, target.periods) == ({"return", "asset"}, {"ROA"}, {"2017"})


@pytest.mark.parametrize(
    ("question", "key", "answer", "right"),
    [
        ("What is the FY2019 gross margin?", "41.2%", "Gross profit was $412 million on sales of $1,000 million. The gross margin was 41.2%.", True),
        ("What is the FY2019 quick ratio?", "1.31", "The quick ratio is 1.31: for every $1 of liabilities there is $1.31 at hand.", True),
        ("What is the three year average margin?", "4.0%", "The margin is 3.0% in 2017.\nIt is 5.0% in 2018.\nThe average is (3.0% + 5.0%) / 2 = 4.0%", True),
        ("How much capex (in USD millions)?", "$1577", "Capex was $1,577,000 (in thousands).", True),
        ("How much capex (in USD millions)?", "$1577", "Capex was $1,577 in 2017. Therefore capex for 2018 was $1,612 million.", False),
        ("What restructuring cost is shown? If none, state 0.", "0", "I cannot find it. If it is not shown, the answer would be 0.", False),
        ("What restructuring cost is shown? If none, state 0.", "0", "The restructuring cost is $0.", True),
        ("What is the FY2019 ROA?", "0.05", "Net income was $0.05 billion; total assets are not given.", False),
    ],
)  # fmt: skip
def test_answers_to_plain_questions(question, key, answer, right):
    asked = keyed(question, key)
    assert any(accepts(n, asked.expected, "lenient") for n in locate(answer, asked.target).figures) is right


def write(folder: Path, answers, *, packed=True):
    questions = [{"financebench_id": "q1", "question": "What is the current ratio?", "answer": "1.50", "company": "Foxglove"}]
    questions.append({"financebench_id": "q2", "question": "Why?", "answer": "Because of mix.", "company": "Foxglove"})
    (folder / "questions.jsonl").write_text("".join(json.dumps(q) + "\n" for q in questions))
    rows = [{"financebench_id": "q1", "model": m, "mode": "", "answer": a, "human_label": label} for m, a, label in answers]
    text = "".join(json.dumps(r) + "\n" for r in rows)
    if packed:
        with gzip.open(folder / "responses.jsonl.gz", "wt") as out:
            out.write(text)
    else:
        (folder / "responses.jsonl").write_text(text)


ANSWERS = [
    ("a", "The current ratio is 1.50.", "Correct Answer"),
    ("a", "The current ratio is 1.9.", "Incorrect Answer"),
    ("a", "I cannot tell.", "Refusal"),
    ("b", "The current ratio is 1.50.", "Incorrect Answer"),
    ("b", "So the current ratio is 1.50.", "Correct Answer"),
    ("b", "The current ratio is 1.7.", "Correct Answer"),
]


def test_conflicts_are_told_and_left_out_of_a_second_figure_only(tmp_path):
    write(tmp_path, ANSWERS)
    judged = judge(tmp_path)
    assert [bool(j.conflict) for j in judged] == [False, False, False, True, False, True]
    everything = agreement("all", judged, "lenient")
    assert (everything.answers, everything.both_right, everything.both_wrong, everything.too_strict, everything.too_lenient) == (
        6,
        2,
        2,
        1,
        1,
    )
    assert everything.kappa == pytest.approx(1 / 3)
    assert agreement("all", [j for j in judged if not j.conflict], "lenient").kappa == 1
    assert [pair[0].name for pair in by_model(judged)] == ["a", "b", "all"]
    assert len(judge(tmp_path, 0)) + len(judge(tmp_path, 1)) == 6
    assert len(judge(tmp_path, half_of("q1"))) == 6


def test_kappa_is_undefined_where_chance_explains_everything(tmp_path):
    write(tmp_path, [("a", "I cannot tell.", "Refusal")])
    assert agreement("all", judge(tmp_path), "strict").kappa is None
    assert agreement("none", [], "strict").accuracy is None


def test_the_command_on_a_small_folder(tmp_path):
    write(tmp_path, ANSWERS, packed=False)
    done = CliRunner().invoke(command, ["measure", str(tmp_path), "--json"])
    assert done.exit_code == 0, done.output
    told = json.loads(done.output)
    assert told["grading"]["answers"] == 6
    assert len(told["grading"]["disagreements"]["lenient"]) == 2
    assert told["grading"]["disagreements"]["lenient"][0]["how"]
    assert len(told["grading"]["conflicts"]) == 2
    assert set(told) == {"holdings", "grading", "not_measured", "left_out"}
    assert told["left_out"] == []
    assert told["not_measured"] == {
        "statements": "no documents.jsonl, no corpus/",
        "experts": "no expert_rubrics.jsonl",
        "recall": "no generated rubrics (--generated)",
        "answers": "no generated rubrics (--generated)",
    }
    lenient = told["grading"]["groups"]["all"]["lenient"]
    assert lenient["intervals"]["kappa"]["value"] == pytest.approx(lenient["kappa"])
    assert lenient["intervals"]["kappa"]["low"] is None  # a single question
    assert told["grading"]["models"]["a"]["lenient"]["kappa"] == 1
    assert CliRunner().invoke(command, ["measure", str(tmp_path)]).exit_code == 0


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("responses.jsonl", "not json\n"),
        ("responses.jsonl", "[1]\n"),
        ("responses.jsonl", '{"financebench_id": "q1"}\n'),
        ("responses.jsonl.gz", "no gzip"),
    ],
)
def test_bad_files_end_in_one_line(tmp_path, name, content):
    write(tmp_path, [], packed=False)
    (tmp_path / name).write_text(content)
    with pytest.raises(InvalidFileError, match="responses"):
        judge(tmp_path)


QUESTION = {"financebench_id": "x1", "question": "What is the FY2022 revenue of Orchard Toolworks (in USD millions)?", "answer": 4812}
ANSWER = {"financebench_id": "x1", "answer": "It was $4,812 million.", "human_label": "correct"}


@pytest.mark.parametrize(
    ("files", "measured", "absent", "left"),
    [
        ({"questions.jsonl": [QUESTION]}, {"holdings"}, {"grading": "no responses.jsonl"}, []),
        ({"corpus/D.jsonl": [{"page": 1, "text": "a"}]}, {"holdings"}, {"statements": "no questions.jsonl, no documents.jsonl"}, []),
        ({"responses.jsonl": [ANSWER]}, {"holdings"}, {"grading": "no questions.jsonl"}, []),
        ({"questions.jsonl": [QUESTION], "responses.jsonl": [ANSWER]}, {"holdings", "grading"}, {}, []),
        (
            {"questions.jsonl": [QUESTION, "{", [1], {"question": ["a"], "financebench_id": "x2", "answer": {}}], "responses.jsonl": [ANSWER, {**ANSWER, "answer": None}, {**ANSWER, "human_label": "perhaps"}]},
            {"holdings", "grading"},
            {},
            ["line 2 is not JSON", "line 3 is no object", "line 2 has no answer", "says neither right nor wrong"],
        ),
        (
            {"questions.jsonl": [{**QUESTION, "question_type": "another kind"}], "documents.jsonl": [{"doc_name": "D", "signed": "yesterday"}, "x"], "corpus/D.jsonl": [{"page": 1, "text": None}]},
            {"holdings", "statements"},
            {},
            ["signed is no date", "line 2 is not JSON"],
        ),
        ({"expert_rubrics.jsonl": [{"question": "q", "answer": "7%", "rubric": [{"operator": "correctness", "criteria": "It is 7%"}]}, {"question": 3}, "x"]}, {"experts"}, {}, ["is no expert's rubric", "line 3 is not JSON"]),
        ({"questions.jsonl": [QUESTION], "generated/r/rubric.json": ["{"]}, {"holdings"}, {"recall": "no rubric"}, ["rubric.json"]),
        ({"questions.jsonl": [QUESTION], "responses.jsonl.gz": ["no gzip"]}, set(), {"holdings": "cannot be read", "grading": "cannot be read"}, []),
    ],
)  # fmt: skip
def test_what_can_be_measured_is_and_the_rest_is_told(tmp_path, files, measured, absent, left):
    for name, rows in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows))
    done = CliRunner().invoke(command, ["measure", str(tmp_path), "--json"])
    if not measured:
        assert isinstance(done.exception, FinassayError)
        assert all(why in str(done.exception) for why in absent.values())
        return
    assert done.exit_code == 0, done.output
    told = json.loads(done.output)
    assert set(told) == {*measured, "not_measured", "left_out"}
    assert all(why in told["not_measured"][part] for part, why in absent.items())
    assert all(any(why in line for line in told["left_out"]) for why in left), told["left_out"]
    assert bool(told["left_out"]) == bool(left)
    shown = CliRunner().invoke(command, ["measure", str(tmp_path)])
    assert shown.exit_code == 0
    assert sum(line.startswith("left out: ") for line in shown.output.splitlines()) == len(told["left_out"])


@pytest.mark.parametrize(("label", "right"), [("Correct Answer", True), ("correct", True), (True, True), ("Refusal", False), (0, False), ("maybe", None)])  # fmt: skip
def test_what_a_label_says(label, right):
    assert is_right(label) is right


def test_a_folder_without_anything(tmp_path):
    done = CliRunner().invoke(command, ["measure", str(tmp_path)])
    assert isinstance(done.exception, FinassayError)


@pytest.mark.skipif(
    not (BENCH / "responses.jsonl.gz").is_file(), reason="no labelled answers: the shared folder is not beside the checkout"
)
def test_agreement_with_people_does_not_fall():
    """On the half on which rules were tuned; the held-out half stands in the docs."""
    judged = [j for j in judge(BENCH, 0) if j.question_type == "metrics-generated"]
    assert len(judged) == 288
    assert agreement("half 0", judged, "lenient").kappa >= 0.98
    assert agreement("half 0", judged, "strict").kappa >= 0.95


@pytest.mark.skipif(
    not (EXPERTS / "expert_rubrics.jsonl").is_file(), reason="no experts' rubrics: the shared folder is not beside the checkout"
)
def test_experts_answers_meet_experts_criteria():
    done = CliRunner().invoke(command, ["measure", str(EXPERTS), "--json"])
    told = json.loads(done.output)["experts"]
    assert (told["questions"], told["criteria"]) == (34, 113)
    assert told["met_by_the_experts_own_answer"] > 0.8
    assert told["met_by_the_answer_to_another_question"] < 0.05


def whole(folder: Path):
    """A folder with every part: a made-up company's filing, its question, answers, an expert's rubric, a generated one."""
    write(folder, [("a", "Revenue was $4,812 million.", "Correct Answer"), ("a", "Revenue was $4,390 million.", "Incorrect Answer")])
    question = {
        "financebench_id": "q1",
        "question": "What is the FY2022 revenue of Orchard Toolworks (in USD millions)?",
        "answer": "$4812.00",
    }
    (folder / "questions.jsonl").write_text(json.dumps({**question, "question_type": "metrics-generated", "company": "Orchard Toolworks", "doc_name": "D", "extra": [1]}) + "\n")  # fmt: skip
    (folder / "documents.jsonl").write_text(json.dumps({"doc_name": "D", "company": "Orchard Toolworks", "form": "10k", "period": 2022, "signed": "2023-02-01"}) + "\n")  # fmt: skip
    (folder / "corpus").mkdir()
    (folder / "corpus" / "D.jsonl").write_text(json.dumps({"page": 1, "text": "ORCHARD TOOLWORKS annual report 2022"}) + "\n")
    row = {"question": question["question"], "answer": "$4,812 million", "rubric": [{"operator": "correctness", "criteria": "Revenue: $4,812 million"}]}  # fmt: skip
    (folder / "expert_rubrics.jsonl").write_text(json.dumps(row) + "\n")
    made = folder / "generated" / "one"
    made.mkdir(parents=True)
    rubric = read(folder / "expert_rubrics.jsonl", date(2023, 3, 1))[0]
    (made / "rubric.json").write_text(rubric_json(rubric))


ALL = {"holdings", "statements", "grading", "experts", "recall", "answers"}


def measured(folder, *more):
    done = CliRunner().invoke(command, ["measure", str(folder), "--json", *more])
    if done.exception and not isinstance(done.exception, (FinassayError, SystemExit)):
        raise done.exception
    return done


def test_everything_is_measured_where_everything_is_there(tmp_path):
    whole(tmp_path)
    told = json.loads(measured(tmp_path).output)
    assert set(told) == {*ALL, "not_measured", "left_out"}
    assert (told["not_measured"], told["left_out"]) == ({}, [])
    assert told["recall"]["recall_any_route"] == told["recall"]["precision"] == 1
    assert (told["answers"]["answers"], told["answers"]["lenient"]["kappa"]["value"]) == (2, 1)
    assert told["answers"]["strict"]["tracking"]["order_accuracy"]["value"] == 1
    assert CliRunner().invoke(command, ["measure", str(tmp_path)]).exit_code == 0


@pytest.mark.parametrize(
    ("name", "lost"),
    [
        ("questions.jsonl", {"statements", "grading", "answers"}),
        ("documents.jsonl", {"statements"}),
        ("corpus", {"statements"}),
        ("responses.jsonl.gz", {"grading", "answers"}),
        ("expert_rubrics.jsonl", {"experts"}),
        ("generated", {"recall", "answers"}),
    ],
)
def test_what_is_absent_is_told_and_the_rest_measured(tmp_path, name, lost):
    whole(tmp_path)
    path = tmp_path / name
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    told = json.loads(measured(tmp_path).output)
    assert set(told["not_measured"]) == lost
    assert set(told) - {"not_measured", "left_out"} == ALL - lost
    for why in told["not_measured"].values():
        assert why.startswith("no ")


@pytest.mark.parametrize("name", ["questions.jsonl", "documents.jsonl", "responses.jsonl.gz"])
def test_empty_files_lose_their_part_alone(tmp_path, name):
    whole(tmp_path)
    path = tmp_path / name
    path.write_bytes(gzip.compress(b"") if name.endswith(".gz") else b"\n\n")
    told = json.loads(measured(tmp_path).output)
    assert {"experts", "recall"} <= set(told)


@pytest.mark.parametrize(
    ("name", "row"),
    [
        ("documents.jsonl", {"doc_name": "D"}),
        ("documents.jsonl", {"doc_name": "../../etc/passwd", "company": None, "signed": None}),
        ("documents.jsonl", {"doc_name": "absent", "company": 5, "period": [1]}),
        ("questions.jsonl", {"financebench_id": 7, "question": "What is the FY2022 revenue of X?", "answer": 4812}),
        ("questions.jsonl", {"financebench_id": "q", "question": "Why?", "answer": "Because.", "company": None, "question_type": 3}),
        ("corpus/D.jsonl", {"page": 1, "text": "a", "boxes": [1, 2]}),
        ("responses.jsonl.gz", {"financebench_id": "other", "answer": None, "human_label": "Correct Answer", "model": None}),
        ("responses.jsonl.gz", {"financebench_id": "q1", "answer": "5", "human_label": "A label nobody knows"}),
    ],
)
def test_odd_rows_are_measured_or_refused_in_one_line(tmp_path, name, row):
    whole(tmp_path)
    path = tmp_path / name
    text = (json.dumps(row) + "\n").encode()
    path.write_bytes(gzip.compress(text) if name.endswith(".gz") else text)
    done = measured(tmp_path)
    if done.exception:
        assert "\n" not in str(done.exception)
        assert name.split("/")[-1].split(".")[0] in str(done.exception)
    else:
        assert {"experts", "recall"} <= set(json.loads(done.output))


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("documents.jsonl", b"{"),
        ("documents.jsonl", b'{"company": "X"}'),
        ("documents.jsonl", b'{"doc_name": "D", "signed": "soon"}'),
        ("questions.jsonl", b"[]"),
        ("questions.jsonl", b'{"financebench_id": "x"}'),
        ("corpus/D.jsonl", b'{"page": "first", "text": "x"}'),
        ("expert_rubrics.jsonl", b"no"),
        ("generated/one/rubric.json", b"{}"),
    ],
)
def test_broken_parts_end_in_one_line_that_names_them_and_the_rest_is_measured(tmp_path, name, content):
    whole(tmp_path)
    (tmp_path / name).write_bytes(content)
    told = json.loads(measured(tmp_path).output)
    lines = [*told["left_out"], *told["not_measured"].values()]
    assert any(name.split("/")[-1].split(".")[0] in line or "D: signed" in line for line in lines), lines
    assert not any("\n" in line for line in lines)
    assert len(ALL & set(told)) >= 3


def test_experts_values_are_keys_where_there_is_no_rubric(tmp_path):
    whole(tmp_path)
    (tmp_path / "expert_rubrics.jsonl").unlink()
    told = json.loads(measured(tmp_path, "--only", "recall").output)["recall"]
    assert (told["expert_values"], told["recall_any_route"]) == (1, 1)
    question = json.loads((tmp_path / "questions.jsonl").read_text())
    (tmp_path / "questions.jsonl").write_text(json.dumps({**question, "answer": "$4813.00"}) + "\n")
    told = json.loads(measured(tmp_path, "--only", "recall").output)["recall"]
    assert told["recall_any_route"] == 0
    assert "generated Revenue" in told["unmatched"][0]
