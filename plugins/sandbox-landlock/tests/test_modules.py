"""Modules that are installed in place: Python looks them up in the list of the folder around them."""

import sys
from pathlib import Path

import pytest

from finassay.api.sandbox import BoxSpec
from finassay.runs.interpreter import interpreter_folders
from finassay_sandbox_landlock.sandbox import LandlockOptions, LandlockSandbox


def test_a_package_is_found_though_only_it_is_readable(tmp_path: Path):
    sandbox = LandlockSandbox(LandlockOptions())
    if not sandbox.probe().ok or "with namespaces" not in sandbox.probe().detail:
        pytest.skip(f"no namespaces here: {sandbox.probe().detail}")
    for name in ("shown", "other"):
        (tmp_path / "src" / name).mkdir(parents=True)
        (tmp_path / "src" / name / "__init__.py").write_text(f"print({name!r})\n")
    (tmp_path / "workspace").mkdir()
    environment = {"PYTHONPATH": str(tmp_path / "src")}
    box = sandbox.open(BoxSpec(tmp_path / "workspace", (*interpreter_folders(), tmp_path / "src" / "shown"), environment=environment))
    try:
        code = "import os, shown\nprint(os.listdir(os.environ['PYTHONPATH']))\ntry:\n    import other\nexcept ImportError:\n    print('hidden')"
        process = box.spawn([sys.executable, "-c", code])
        assert [line.decode() for line in process.lines()] == ["shown", "['shown']", "hidden"], process.stderr_tail()
    finally:
        box.close()
