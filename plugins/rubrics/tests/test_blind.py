"""Blind preference: nothing of the origin is handed out, nothing changed is counted, sides are balanced."""

import csv
import json

import pytest
from click.testing import CliRunner
from test_agree import OWN, criterion, rubric

from finassay.api.errors import FinassayError, InvalidFileError
from finassay_rubrics.cli.main import rubric as command
from finassay_rubrics.measure.blind import Pair, export, paired, preference, read_choices
from finassay_rubrics.record.reading import rubric_json
from finassay_rubrics.record.rubric import Evidence


def of(query, *criteria, **more):
    return rubric(*criteria).model_copy(update={"query": query, **more})


def both(number):
    """A generated rubric full of what would tell its origin, and an expert's."""
    quote = Evidence(kind="source", document="SECRET_10K", quote="Sales 418")
    one = criterion("gen-1", f"States revenue {number}", ("any", 418 + number, "USD", "millions", "FY2022"))
    one = one.model_copy(update={"expected": (one.expected[0].model_copy(update={"evidence": (quote,)}),), "notes": "SECRET note"})
    first = of(f"What of company {number}?", one, writer={"id": "SECRET-writer"}, reviewer={"id": "SECRET-reviewer"})
    second = of(f"What of company  {number}?", criterion("exp-1", f"Revenue {number}", ("any", 400 + number, "USD", "millions", "")))
    return Pair(first, second)


PAIRS = [both(number) for number in range(9)]


def filled(folder, said, rater=""):
    """A table that somebody filled in: `said` takes the item's number and gives the choice."""
    path = folder / "preference.csv"
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    with path.open("w", newline="") as file:
        out = csv.DictWriter(file, list(rows[0]))
        out.writeheader()
        for number, row in enumerate(rows):
            out.writerow({**row, "choice": said(number), "rater": rater})
    return path


def test_nothing_tells_the_origin(tmp_path):
    folder, key = tmp_path / "out", tmp_path / "key.json"
    export(PAIRS, ("ours", "experts"), folder, key)
    for path in folder.iterdir():
        text = path.read_text()
        assert "SECRET" not in text, path.name
        assert not any(word in text for word in ("ours", "experts", "gen-1", "exp-1")), path.name
    assert sorted(p.name for p in folder.iterdir()) == ["manifest.json", "preference.csv", "preference.html"]
    assert "418 millions USD" in (folder / "preference.html").read_text()
    assert key.stat().st_mode & 0o077 == 0


def test_sides_are_balanced_and_drawn_by_the_seed(tmp_path):
    lefts = []
    for seed in ("a", "a", "b", None):
        number = len(lefts)
        items = export(PAIRS, ("one", "two"), tmp_path / f"out{number}", tmp_path / f"key{number}.json", seed)
        lefts.append([(item.left.query, item.first_is_left) for item in items])
    assert lefts[0] == lefts[1] != lefts[2]
    assert all(sum(first for _, first in drawn) in (4, 5) for drawn in lefts)
    assert lefts[3] not in lefts[:3]


def test_the_win_rate_is_that_of_the_first(tmp_path):
    folder, key = tmp_path / "out", tmp_path / "key.json"
    items = export(PAIRS, ("ours", "experts"), folder, key, "s")
    wins, ties, losses = range(6), range(6, 7), range(7, 8)

    def said(number):
        first, second = ("left", "Right") if items[number].first_is_left else ("right", "LEFT")
        return first if number in wins else "tie" if number in ties else second if number in losses else ""

    names, choices, empty = read_choices(folder, key, [filled(folder, said)])
    found = preference(choices)
    assert (names, empty) == (("ours", "experts"), 1)
    assert (found.wins, found.ties, found.losses) == (6, 1, 1)
    assert found.win_rate.value == pytest.approx(6.5 / 8)
    assert 0.4 < found.win_rate.low < found.win_rate.value < found.win_rate.high <= 1
    assert found.sign_test == pytest.approx(2 * (1 + 7) / 2**7)
    assert found.agreement is None


def test_several_raters(tmp_path):
    folder, key = tmp_path / "out", tmp_path / "key.json"
    export(PAIRS, ("ours", "experts"), folder, key, "s")
    first = filled(folder, lambda number: "left")
    other = tmp_path / "other.csv"
    first.rename(other)
    other.with_name("second.csv").write_text(other.read_text())
    _, choices, _ = read_choices(folder, key, [other, other.with_name("second.csv")])
    found = preference(choices)
    assert (found.judged, found.agreement, found.left_share) == (18, 1, 1)
    assert set(found.by_rater) == {"other", "second"}


def change(path, old, new, count=1):
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, count))


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (lambda folder, key: change(key, '"left": "first"', '"left": "second"'), "is not the key"),
        (lambda folder, key: change(folder / "preference.html", "418", "481"), "is not the page"),
        (lambda folder, key: (folder / "preference.html").unlink(), "cannot be read"),
        (lambda folder, key: change(folder / "manifest.json", '"key": "', '"key": "0'), "is not the key"),
        (lambda folder, key: change(folder / "preference.csv", "P001", "P099"), "no item"),
        (lambda folder, key: change(folder / "preference.csv", "P001", "P002"), "another one"),
        (lambda folder, key: change(folder / "preference.csv", ",left,", ",better,"), "expected left"),
        (lambda folder, key: change(folder / "preference.csv", "choice", "answer"), "has no choice"),
        (lambda folder, key: key.write_text("[]"), "not of"),
        (lambda folder, key: key.unlink(), "key"),
        (lambda folder, key: filled(folder, lambda number: ""), "nobody"),
        (lambda folder, key: (folder / "preference.csv").write_text((folder / "preference.csv").read_text() * 2), "no item"),
    ],
)
def test_what_was_changed_is_found_before_anything_is_counted(tmp_path, spoil, told):
    folder = tmp_path / "out"
    key = tmp_path / "out.key.json"
    export(PAIRS, ("ours", "experts"), folder, key, "s")
    filled(folder, lambda number: "left")
    spoil(folder, key)
    done = CliRunner().invoke(command, ["agree", "blind", "import", str(folder)])
    assert isinstance(done.exception, FinassayError), done.output
    assert told in str(done.exception)
    assert "ours" not in done.output


def test_a_rater_counts_once(tmp_path):
    folder, key = tmp_path / "out", tmp_path / "key.json"
    export(PAIRS, ("ours", "experts"), folder, key, "s")
    path = filled(folder, lambda number: "tie", rater="one")
    with pytest.raises(InvalidFileError, match="twice"):
        read_choices(folder, key, [path, path])


def test_the_commands(tmp_path):
    for name in ("ours", "theirs"):
        for number, pair in enumerate(PAIRS[:4]):
            folder = tmp_path / name / str(number)
            folder.mkdir(parents=True)
            (folder / "rubric.json").write_text(rubric_json(pair.first if name == "ours" else pair.second))
    run = CliRunner().invoke
    arguments = ["agree", "blind", "export", str(tmp_path / "ours"), str(tmp_path / "theirs"), "--out", str(tmp_path / "out")]
    done = run(command, [*arguments, "--names", "ours", "theirs", "--seed", "1"])
    assert done.exit_code == 0, (done.output, done.exception)
    assert isinstance(run(command, arguments).exception, FinassayError)  # nothing is written over
    filled(tmp_path / "out", lambda number: "left")
    told = json.loads(run(command, ["agree", "blind", "import", str(tmp_path / "out"), "--json"]).output)
    assert (told["first"], told["choices"], told["wins"] + told["losses"], told["share_of_left"]) == ("ours", 4, 4, 1)
    inside = [*arguments[:-1], str(tmp_path / "two"), "--key", str(tmp_path / "two" / "key.json")]
    assert "keep the key" in str(run(command, inside).exception).lower() or isinstance(run(command, inside).exception, FinassayError)


def test_rubrics_of_other_queries_are_no_pair():
    with pytest.raises(FinassayError, match="different queries"):
        paired([OWN], [PAIRS[0].first])


def test_hostile_words_stay_words(tmp_path):
    query = '=HYPERLINK("x") <script>alert(1)</script>'
    pair = Pair(
        of(query, criterion("a", "<img src=x onerror=y>", ("any", 1, "", "", ""))), of(query, criterion("b", "b", ("any", 1, "", "", "")))
    )
    export([pair], ("one", "two"), tmp_path / "out", tmp_path / "key.json")
    page = (tmp_path / "out" / "preference.html").read_text()
    assert "<script>" not in page
    assert "<img" not in page
    with (tmp_path / "out" / "preference.csv").open(newline="") as file:
        assert next(csv.DictReader(file))["query"].startswith("'=")
