"""The command itself: what it prints, how it ends, what it refuses in one line, and what it never opens."""

import json
import os

import pandas as pd
import pytest
from click.testing import CliRunner

from finassay.api.errors import FinassayError
from finassay_checks.audit.command import audit
from finassay_checks.audit.folder import open_folder
from finassay_checks.sessions import sessions_between

DATES = sessions_between("XNYS", pd.Timestamp("2019-01-02"), pd.Timestamp("2019-06-28"))


def prices(folder, dates=DATES, name="prices.csv"):
    pd.DataFrame({"date": dates.strftime("%Y-%m-%d"), "close": [50 + 0.1 * i for i in range(len(dates))]}).to_csv(
        folder / name, index=False
    )


def run(folder, *options):
    return CliRunner().invoke(audit, [str(folder), *options])


def test_a_table_for_people_names_metrics_findings_tables_and_reasons(tmp_path):
    prices(tmp_path, DATES.drop(DATES[40]))
    (tmp_path / "report.json").write_text(json.dumps({"total_return": 5.0, "note": "\x1b[31mred"}), encoding="utf-8")
    shown = run(tmp_path)
    assert shown.exit_code == 20
    assert shown.output.startswith("wrong")
    for word in ("total_return", "differs", "missing_session", str(DATES[40].date()), "prices.csv", "a date, a ticker and positive closes"):
        assert word in shown.output
    assert "\x1b" not in shown.output


@pytest.mark.parametrize(
    ("files", "code"), [({}, 0), ({"gap": True}, 21), ({"report": {"total_return": 3.0}}, 20), ({"only": {"sharpe": 1.2}}, 22)]
)
def test_each_verdict_ends_with_its_own_code(files, code, tmp_path):
    if "only" in files:
        (tmp_path / "report.json").write_text(json.dumps(files["only"]), encoding="utf-8")
    else:
        prices(tmp_path, DATES.drop(DATES[40]) if files.get("gap") else DATES)
        if "report" in files:
            (tmp_path / "report.json").write_text(json.dumps(files["report"]), encoding="utf-8")
    assert run(tmp_path, "--json").exit_code == code


def test_the_cutoff_is_inclusive_and_may_be_given_or_stated(tmp_path):
    prices(tmp_path)
    last = str(DATES[-1].date())
    assert json.loads(run(tmp_path, "--json", "--cutoff", last).output)["verdict"] == "pass"
    found = json.loads(run(tmp_path, "--json", "--cutoff", str(DATES[-2].date())).output)
    assert [f["rows"] for f in found["findings"] if f["check"] == "future_row"] == [[last]]
    (tmp_path / "task.json").write_text(json.dumps({"data_cutoff": str(DATES[-2].date())}), encoding="utf-8")
    assert json.loads(run(tmp_path, "--json").output)["verdict"] == "wrong"


def test_the_market_decides_which_days_are_sessions(tmp_path):
    dates = sessions_between("XLON", pd.Timestamp("2019-01-02"), pd.Timestamp("2019-06-28"))
    prices(tmp_path, dates)
    found = json.loads(run(tmp_path, "--json", "--market", "LSE").output)
    assert found["verdict"] == "pass"
    assert found["settings"]["exchange"] == "XLON"
    assert json.loads(run(tmp_path, "--json").output)["settings"]["exchange"] == "XLON", "the dates of the prices tell it"
    assert "missing_session" in {f["check"] for f in json.loads(run(tmp_path, "--json", "--market", "XNYS").output)["findings"]}


@pytest.mark.parametrize(
    ("made", "options", "word"),
    [
        ("missing", (), "does not exist"),
        ("file", (), "is no folder"),
        ("empty", (), "no files"),
        ("prices", ("--market", "NOWHERE"), "no calendar"),
        ("task", (), "no date"),
        ("broken", (), "task.json cannot be read"),
        ("zone", (), "no time zone"),
    ],
)
def test_bad_input_is_one_clear_line(made, options, word, tmp_path):
    folder = tmp_path / "f"
    if made == "file":
        folder.write_text("x", encoding="utf-8")
    elif made != "missing":
        folder.mkdir()
    if made in ("prices", "task", "broken", "zone"):
        prices(folder)
    text = {"task": '{"data_cutoff": "soon"}', "broken": "{", "zone": '{"exchange_timezone": "Mars/Base"}'}.get(made)
    if text is not None:
        (folder / "task.json").write_text(text, encoding="utf-8")
    result = run(folder, *options)
    assert isinstance(result.exception, FinassayError)
    assert word in str(result.exception)
    assert result.exception.hint
    assert result.exception.exit_code in (2, 3)


def test_links_and_archives_are_named_and_never_followed(tmp_path):
    secret = tmp_path / "secret.csv"
    prices(tmp_path, name="secret.csv")
    folder = tmp_path / "f"
    folder.mkdir()
    prices(folder)
    os.symlink(secret, folder / "linked.csv")
    (folder / "data.zip").write_bytes(b"PK\x03\x04")
    package = open_folder(folder).package
    assert [f.path for f in package.tree.files] == ["data.zip", "prices.csv"]
    checks = {f["check"]: f for f in json.loads(run(folder, "--json").output)["findings"]}
    assert checks["not_taken"]["file"] == "linked.csv"
    assert checks["archive_not_opened"]["file"] == "data.zip"


def test_two_logs_that_fit_equally_well_are_ambiguous_not_guessed(tmp_path):
    prices(tmp_path)
    for name, size in (("log_a.csv", 10), ("log_b.csv", 25)):
        rows = [(DATES[i].date(), "AAA", "BUY" if i % 2 == 0 else "SELL", size, 50 + 0.1 * i) for i in range(10, 20)]
        pd.DataFrame(rows, columns=["date", "ticker", "side", "shares", "price"]).to_csv(tmp_path / name, index=False)
    found = json.loads(run(tmp_path, "--json").output)
    assert "ambiguous_role" in {f["check"] for f in found["findings"]}
    assert {t["status"] for t in found["tables"] if t["role"] == "trades"} == {"ambiguous"}
