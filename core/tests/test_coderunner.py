"""Running delivered code again, in whichever sandbox works here."""

import os
import sys
import threading
from pathlib import Path

import pytest

from finassay.api.sandbox import Limits, Sandbox
from finassay.catalog.catalog import Catalog
from finassay.runs import coderunner
from finassay.runs.coderunner import SandboxCodeRunner
from finassay.runs.interpreter import interpreter_folders, masked_packages


def _sandbox(name: str) -> Sandbox:
    catalog = Catalog.installed()
    if name not in {offer.id for offer in catalog.offers("sandbox")}:
        pytest.skip(f"the sandbox {name!r} is not installed")
    sandbox: Sandbox = catalog.create("sandbox", name)[0]
    if not (probe := sandbox.probe()).ok:
        pytest.skip(f"the sandbox {name!r} does not work here: {probe.detail}")
    return sandbox


@pytest.fixture(params=["local", "bubblewrap"])
def runner(request: pytest.FixtureRequest, tmp_path: Path):
    made = SandboxCodeRunner(
        _sandbox(request.param),
        interpreter_folders(),
        {"NAMED": "yes"},
        tmp_path / "scratch",
        limits=Limits(2**30, processes=64, file_bytes=2**20),
    )
    yield made
    made.close()
    assert not list((tmp_path / "scratch").iterdir())


@pytest.fixture
def stored(tmp_path: Path):
    """Writes a file as the blob store keeps it: under another name, read-only."""

    def make(text: str) -> Path:
        path = tmp_path / f"blob{len(list(tmp_path.iterdir()))}"
        path.write_text(text)
        path.chmod(0o400)
        return path

    return make


def test_runs_beside_its_files_and_tells_what_was_written(runner, stored):
    code = stored(
        "import os, pathlib\n"
        "print(pathlib.Path('data/in.csv').read_text(), os.environ['NAMED'])\n"
        "pathlib.Path('out').mkdir(); pathlib.Path('out/equity.csv').write_text('1')\n"
        "pathlib.Path('data/in.csv').write_text('two')\n"
    )
    files = {"run.py": code, "data/in.csv": stored("one"), "same.txt": stored("same")}
    result = runner.run(files, ("{python}", "run.py"), seconds=30)
    assert (result.exit_code, result.stdout.strip()) == (0, "one yes"), result.stderr
    assert set(result.written) == {"data/in.csv", "out/equity.csv"}
    assert result.written["out/equity.csv"].read_text() == "1"
    assert files["data/in.csv"].read_text() == "one"


def test_an_error_is_told_with_its_traceback(runner, stored):
    result = runner.run({"run.py": stored("raise SystemExit(int('x'))")}, ("{python}", "run.py"), seconds=30)
    assert result.exit_code == 1
    assert "ValueError" in result.stderr


def test_the_clock_ends_it_with_what_it_started(runner, stored):
    code = (
        "import subprocess, sys, time\n"
        'subprocess.Popen([sys.executable, \'-c\', \'import time\\nwhile True: open("beat", "a").write("x"); time.sleep(0.02)\'],'
        " start_new_session=True)\n"
        "print('up', flush=True); time.sleep(60)\n"
    )
    result = runner.run({"run.py": stored(code)}, ("{python}", "run.py"), seconds=1.5)
    assert result.exit_code is None
    assert result.stdout == "up\n"
    assert result.seconds > 1
    assert result.seconds < 10
    size = result.written["beat"].stat().st_size
    threading.Event().wait(0.2)
    assert result.written["beat"].stat().st_size == size


def test_output_is_bounded(runner, stored):
    result = runner.run({"run.py": stored("for _ in range(300): print('x' * 9999)")}, ("{python}", "run.py"), seconds=30)
    assert result.exit_code == 0
    assert len(result.stdout) == coderunner.MAX_OUTPUT


def test_links_pipes_and_unreadable_folders_are_left_alone(runner, stored):
    code = "import os\nos.symlink('/etc/passwd', 'link'); os.symlink('/etc', 'folder'); os.mkfifo('pipe'); os.mkdir('shut'); os.chmod('shut', 0)\n"
    result = runner.run({"run.py": stored(code)}, ("{python}", "run.py"), seconds=30)
    assert result.exit_code == 0, result.stderr
    assert result.written == {}


def test_what_is_written_is_bounded_in_number_and_size(runner, stored, monkeypatch):
    monkeypatch.setattr(coderunner, "MAX_WRITTEN", 5)
    monkeypatch.setattr(coderunner, "MAX_WRITTEN_BYTES", 3_000)
    many = stored("for i in range(50): open(f'f{i:02}', 'w').write('x')")
    assert sorted(runner.run({"run.py": many}, ("{python}", "run.py"), seconds=30).written) == [f"f{i:02}" for i in range(5)]
    large = stored("for i in range(4): open(f'f{i}', 'w').write('x' * 1000)")
    assert sorted(runner.run({"run.py": large}, ("{python}", "run.py"), seconds=30).written) == ["f0", "f1", "f2"]


def test_memory_and_file_size_are_limited(runner, stored):
    assert runner.run({"run.py": stored("bytearray(2**31)")}, ("{python}", "run.py"), seconds=30).exit_code == 1
    result = runner.run({"run.py": stored("open('big', 'wb').write(bytes(2**22))")}, ("{python}", "run.py"), seconds=30)
    assert result.exit_code != 0
    assert all(path.stat().st_size <= 2**20 for path in result.written.values())


def test_paths_that_lead_out_are_not_copied(runner, stored, tmp_path):
    files = {"../escaped": stored("x"), "/escaped": stored("x"), "a/../../escaped": stored("x"), "kept": stored("x")}
    result = runner.run(files, ("{python}", "-c", "import os; print(sorted(n for n in os.listdir() if not n.startswith('.')))"), seconds=30)
    assert result.stdout.strip() == "['kept']"
    assert not list(tmp_path.rglob("escaped"))


def test_two_run_at_once(runner, stored):
    code = stored(
        "import sys, time, pathlib; pathlib.Path('mine').write_text(sys.argv[1]); time.sleep(0.3); print(pathlib.Path('mine').read_text())"
    )
    told: dict[str, str] = {}

    def act(name: str) -> None:
        told[name] = runner.run({"run.py": code}, ("{python}", "run.py", name), seconds=30).stdout.strip()

    threads = [threading.Thread(target=act, args=(name,)) for name in "abc"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert told == {"a": "a", "b": "b", "c": "c"}


def test_the_interpreter_is_named_with_its_base_and_without_a_home():
    folders = interpreter_folders()
    assert all(folder.exists() for folder in folders)
    real = Path(sys.executable).resolve()
    assert any(real.is_relative_to(folder.resolve()) for folder in folders)
    assert not any(Path(os.path.expanduser("~")).resolve().is_relative_to(folder.resolve()) for folder in folders)


def test_every_finassay_package_is_masked_but_the_kept():
    masked = masked_packages(())
    assert all("finassay" in path.name for path in masked)
    kept = masked_packages({"finassay"})
    assert all(not path.name.startswith(("finassay-0", "finassay-1")) and path.name != "finassay" for path in kept)
    assert set(kept) < set(masked)
