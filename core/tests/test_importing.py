"""Sessions held elsewhere: what comes in, what is refused, and that nothing is half taken."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from finassay.api.errors import InvalidFileError, UsageError
from finassay.catalog.catalog import Catalog
from finassay.records.imported import ImportedSession, item_value
from finassay.runs.folder import RunFolder
from finassay.runs.grade import make_package
from finassay.runs.importing import import_session
from finassay.runs.view import run_view

SCHEMA = Path(__file__).parents[2] / "docs" / "reference" / "session-import.schema.json"
EMPTY = Catalog(())


def session() -> dict[str, Any]:
    return {
        "task": {"cutoff": "2016-12-30", "universe": "two names", "opening": "as said"},
        "conversation": [
            {"turn": 0, "from": "user", "text": "Test an idea."},
            {"turn": 1, "from": "agent", "text": "Done, see report.md.", "seconds": 3.5},
            {"turn": 1, "from": "user", "text": "And the trades?"},
            {"turn": 2, "from": "agent", "text": "Added.", "cut": True},
        ],
        "deliveries": {
            "1": {"report.md": "0001.md"},
            "2": {"report.md": "0001.md", "data/trades.csv": "0002.csv"},
        },
        "log": [{"turn": 2, "kind": "tool-call", "data": {"id": "1", "name": "python", "input": "x"}}],
        "end": {"end_reason": "satisfied", "why": "all there"},
    }


def write(folder: Path, data: Any = None, **files: str) -> Path:
    (folder / "files").mkdir(parents=True)
    (folder / "session.json").write_text(data if isinstance(data, str) else json.dumps(session() if data is None else data))
    for name, text in ({"0001.md": "# Report\n", "0002.csv": "date,ticker\n"} | files).items():
        (folder / "files" / name).write_text(text)
    return folder


def tree(root: Path) -> dict[str, bytes]:
    return {str(p.relative_to(root)): p.read_bytes() for p in root.rglob("*") if p.is_file() and p.name != ".lock"}


def test_a_session_comes_in_whole(tmp_path: Path) -> None:
    found = import_session(write(tmp_path / "my case.1"), tmp_path / "run", EMPTY)
    assert (found.key.id, found.turns, found.files, found.reason) == ("imported.my-case-1.1", 2, 2, "satisfied")
    assert found.ignored == ("task.opening",)
    folder = RunFolder(tmp_path / "run")
    state = folder.state(found.key)
    assert [m.id for m in state.conversation.messages] == ["u0", "a1", "u1", "a2"]
    assert [f.path for f in state.deliveries[1].files] == ["report.md", "data/trades.csv"]
    assert state.turns[0].seconds == 3.5
    assert state.turns[1].cut
    assert state.log[0].data["name"] == "python"
    assert (state.ended, state.end_detail) == ("satisfied", "all there")
    package = make_package(folder, folder.tasks()["my-case-1"], state)
    assert package.path(package.tree.files[0]).read_text() == "# Report\n"
    assert package.cutoff.isoformat() == "2016-12-30"
    assert run_view(folder).sessions[0].end_reason == "satisfied"


def test_a_turn_that_is_not_named_leaves_the_tree(tmp_path: Path) -> None:
    data = session()
    del data["deliveries"]["2"]
    found = import_session(write(tmp_path / "case", data), tmp_path / "run", EMPTY)
    state = RunFolder(tmp_path / "run").state(found.key)
    assert state.deliveries[1].files == state.deliveries[0].files


def test_a_turn_may_be_a_folder(tmp_path: Path) -> None:
    data = session()
    data["deliveries"]["2"] = "turn2"
    source = write(tmp_path / "case", data)
    (source / "files" / "turn2" / "sub").mkdir(parents=True)
    (source / "files" / "turn2" / "sub" / "a.csv").write_text("x\n")
    (source / "files" / "turn2" / "out").symlink_to("/etc")
    found = import_session(source, tmp_path / "run", EMPTY)
    last = RunFolder(tmp_path / "run").state(found.key).deliveries[1]
    assert [f.path for f in last.files] == ["sub/a.csv"]
    assert [r.path for r in last.rejected] == ["out"]


def test_the_same_session_is_refused_and_another_is_the_next_repeat(tmp_path: Path) -> None:
    source, run = write(tmp_path / "case"), tmp_path / "run"
    import_session(source, run, EMPTY)
    before = tree(run)
    with pytest.raises(UsageError, match="holds this session already"):
        import_session(source, run, EMPTY)
    assert tree(run) == before
    changed = session()
    changed["end"]["why"] = "another day"
    (source / "session.json").write_text(json.dumps(changed))
    assert import_session(source, run, EMPTY).key.repeat == 2
    assert len(run_view(RunFolder(run)).sessions) == 2


def _set(place: str, value: Any) -> Any:
    def change(data: dict[str, Any]) -> None:
        *path, last = place.split("/")
        at: Any = data
        for part in path:
            at = at[int(part)] if isinstance(at, list) else at[part]
        at[int(last) if isinstance(at, list) else last] = value

    return change


BAD = {
    "no cutoff": (_set("task/cutoff", "soon"), "task.cutoff"),
    "unknown ending": (_set("end/end_reason", "great"), "end.end_reason"),
    "out of order": (_set("conversation/1/from", "user"), "user opens"),
    "no text": (_set("conversation/0/text", 3), "text"),
    "unknown turn": (_set("deliveries/7", {}), "no agent spoke"),
    "upwards": (_set("deliveries/1", {"../x": "0001.md"}), "relative path"),
    "absolute": (_set("deliveries/1", {"/etc/x": "0001.md"}), "relative path"),
    "back slash": (_set("deliveries/1", {"a\\b": "0001.md"}), "relative path"),
    "control": (_set("deliveries/1", {"a\x1b[2J.md": "0001.md"}), "control"),
    "deep": (_set("deliveries/1", {"/".join("a" * 20): "0001.md"}), "deeper"),
    "file and folder": (_set("deliveries/1", {"a": "0001.md", "a/b": "0001.md"}), "as a file and as a folder"),
    "stored upwards": (_set("deliveries/1", {"x": "../session.json"}), "relative path"),
    "not stored": (_set("deliveries/1", {"x": "none.md"}), "cannot be opened"),
    "a link": (_set("deliveries/1", {"x": "link.md"}), "cannot be opened"),
    "below a link": (_set("deliveries/1", {"x": "linked/passwd"}), "cannot be opened"),
    "a pipe": (_set("deliveries/1", {"x": "pipe"}), "no regular file"),
    "folder is a link": (_set("deliveries/1", "linked"), "is a link"),
    "items without grammar": (_set("task/items", ["stock.factor:x"]), "need a grammar"),
    "alias": (_set("agent", "../x"), "agent"),
}


@pytest.mark.parametrize("name", BAD)
@pytest.mark.parametrize("fresh", [True, False])
def test_bad_sessions_leave_nothing(tmp_path: Path, name: str, fresh: bool) -> None:
    run = tmp_path / "run"
    if not fresh:
        import_session(write(tmp_path / "good"), run, EMPTY)
    before = tree(run) if run.exists() else None
    change, says = BAD[name]
    data = session()
    change(data)
    source = write(tmp_path / "case", data, **{"0001.md": "other bytes\n"})
    (source / "files" / "link.md").symlink_to("/etc/passwd")
    (source / "files" / "linked").symlink_to("/etc")
    os.mkfifo(source / "files" / "pipe")
    with pytest.raises(UsageError, match=says) as error:
        import_session(source, run, EMPTY)
    assert "\n" not in str(error.value)
    assert "\x1b" not in str(error.value)
    assert (tree(run) if run.exists() else None) == before


@pytest.mark.parametrize("text", ["", "[", "[]", "null", '{"task": {}}', "[" * 100_000])
def test_what_is_no_session_is_one_line(tmp_path: Path, text: str) -> None:
    with pytest.raises(InvalidFileError) as error:
        import_session(write(tmp_path / "case", text), tmp_path / "run", EMPTY)
    assert "\n" not in str(error.value)
    assert not (tmp_path / "run").exists()


def test_a_folder_without_a_session(tmp_path: Path) -> None:
    with pytest.raises(InvalidFileError, match="not found"):
        import_session(tmp_path, tmp_path / "run", EMPTY)
    with pytest.raises(InvalidFileError, match="no folder"):
        import_session(tmp_path / "nowhere", tmp_path / "run", EMPTY)


def test_items_are_made_into_the_strategy_that_voices_them(tmp_path: Path) -> None:
    data = session()
    items = ["stock.factor:mom_12_1", "portfolio.weighting:equal", "risk.option:trailing_stop", "risk.threshold(11%)"]
    data["task"]["items"] = [*items, "execution.schedule:weekly", "cost.rate(7bps)"]
    installed = Catalog.installed()
    if "us-long-only" not in {offer.id for offer in installed.offers("grammar")}:
        pytest.skip("the grammar us-long-only is not installed")
    found = import_session(write(tmp_path / "case", data), tmp_path / "run", installed, grammar="us-long-only")
    task = RunFolder(tmp_path / "run").tasks()[found.key.task]
    assert [i.id for i in task.belief.items] == [item_value(text)[0] for text in data["task"]["items"]]
    assert [i.number.value for i in task.belief.items if i.number] == [11.0, 7.0]
    assert task.observables["cost.rate"].arguments["bps"] == 7.0
    data["task"]["items"] = [*items, "execution.schedule:hourly"]
    with pytest.raises(InvalidFileError, match="hourly"):
        import_session(write(tmp_path / "bad", data), tmp_path / "run", installed, grammar="us-long-only")


@pytest.mark.parametrize(
    ("text", "value"), [("a.b:c", None), ("risk.threshold(12%)", 12.0), ("cost.rate (7.5 bps)", 7.5), ("cost.rate(10)", 10.0)]
)
def test_values_of_items(text: str, value: float | None) -> None:
    assert item_value(text)[1] == value


def test_the_written_schema_is_the_models() -> None:
    if not SCHEMA.is_file():
        pytest.skip("docs/ is not beside this distribution")
    assert json.loads(SCHEMA.read_text()) == ImportedSession.model_json_schema(by_alias=True)
