"""The pages of a rubric: what came back is read there, and nothing in it is more than words."""

import json

import pytest
from test_validate import RUBRIC

from finassay_rubrics.cli.show import came_back, write_pages
from finassay_rubrics.pages.render import MAX_HISTORY, html, markdown
from finassay_rubrics.record.rubric import Rubric

HOSTILE = "<script>alert(1)</script> \u202e | # [x](y)"


@pytest.fixture
def rubric():
    return Rubric.model_validate(RUBRIC)


def test_what_came_back_stands_on_both_pages(tmp_path, rubric):
    (tmp_path / "manifest.json").write_text("{}")
    told = [
        {"obligation": "O1", "try": 1, "rule": "R12", "place": "O1.a", "reason": HOSTILE},
        {"obligation": "O2", "try": 1, "rule": "", "place": "", "reason": "the reviewer found 7"},
    ]
    (tmp_path / "violations.jsonl").write_text("".join(json.dumps(one) + "\n" for one in told) + '{"torn')
    write_pages(tmp_path, rubric)
    page, text = (tmp_path / "rubric.html").read_text(), (tmp_path / "rubric.md").read_text()
    assert "<script>" not in page + text
    assert "\u202e" not in page + text
    assert "&lt;script&gt;" in page
    for shown in (page, text):
        assert "What came back" in shown
        assert "R12" in shown
        assert "the reviewer found 7" in shown
    assert "realizes P01" in page


def test_without_a_history_nothing_is_said_of_one(tmp_path, rubric):
    assert came_back(tmp_path) == []
    assert "What came back" not in html(rubric) + markdown(rubric)


def test_a_long_history_is_bounded(tmp_path, rubric):
    (tmp_path / "manifest.json").write_text("{}")
    line = json.dumps({"obligation": "O1", "rule": "R12", "place": "O1.a", "reason": "again and again"})
    (tmp_path / "violations.jsonl").write_text((line + "\n") * (MAX_HISTORY + 5))
    page = html(rubric, came_back(tmp_path))
    assert page.count("again and again") == MAX_HISTORY
    assert "and 5 more" in page
