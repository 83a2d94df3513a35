"""What an agent can learn from names, and from what is installed beside it."""

import hashlib
import sys

import pytest

from finassay.runs import interpreter
from finassay.runs.folder import RunFolder, SessionKey


def test_the_name_of_a_workspace_cannot_be_guessed_from_the_ids_of_tasks(tmp_path):
    key = SessionKey("worker", "us-long-only-3", 1)
    names = {RunFolder(tmp_path / run).workspace(key).name for run in "abc"}
    assert len(names) == 3
    assert hashlib.sha256(key.id.encode()).hexdigest()[:12] not in names


def test_the_name_of_a_workspace_stays_when_the_run_is_gone_on_with(tmp_path):
    key = SessionKey("worker", "us-long-only-3", 1)
    first = RunFolder(tmp_path).workspace(key)
    assert RunFolder(tmp_path).workspace(key) == first
    secret = tmp_path / "sealed" / "names.key"
    assert secret.stat().st_mode & 0o777 == 0o600
    assert RunFolder(tmp_path).is_sealed(secret)
    assert [p.name for p in secret.parent.iterdir()] == ["names.key"]


def test_a_workspace_that_its_agent_locked_can_be_set_aside(tmp_path):
    key, folder = SessionKey("worker", "us-long-only-3", 1), RunFolder(tmp_path)
    folder.session_path(key).mkdir(parents=True)
    folder.workspace(key).mkdir(parents=True)
    folder.workspace(key).chmod(0)
    aside = folder.set_aside(key, "environment_error") / "workspace"
    assert aside.stat().st_mode & 0o700 == 0o700


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """Install a distribution: its name, its files, its entry points."""

    def install(name: str, files: tuple[str, ...], groups: tuple[str, ...]) -> None:
        info = tmp_path / f"{name.replace('-', '_')}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text("".join(f"[{group}]\nx = {name}:X\n" for group in groups))
        for path in files:
            (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / path).write_text("x = 1\n")
        own = [f"{info.name}/{n}" for n in ("METADATA", "entry_points.txt", "RECORD")]
        (info / "RECORD").write_text("".join(f"{path},,\n" for path in (*files, *own, "../../bin/x")))

    monkeypatch.syspath_prepend(str(tmp_path))
    interpreter._own_packages.cache_clear()
    yield install
    monkeypatch.undo()
    interpreter._own_packages.cache_clear()


def masked(tmp_path, *keep):
    return {str(path.relative_to(tmp_path)) for path in interpreter.masked_packages(keep) if path.is_relative_to(tmp_path)}


def test_a_grammar_of_somebody_else_is_masked_whatever_it_is_called(installed, tmp_path):
    installed("acme-strategies", ("acme/grammar.py", "acme_words.py", "__pycache__/acme_words.cpython-311.pyc"), ("finassay.grammars",))
    installed("acme-tools", ("tools/a.py",), ("finassay.agents", "finassay.channels", "console_scripts"))
    installed("acme-data", ("data.py",), ())
    expected = {"acme", "acme_words.py", "__pycache__/acme_words.cpython-311.pyc", "acme_strategies-1.0.dist-info"}
    assert masked(tmp_path) == expected
    assert masked(tmp_path, "acme_strategies") == set()
    assert str(tmp_path) in sys.path
