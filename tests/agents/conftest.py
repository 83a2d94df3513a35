"""Where the real programs are, and a home that holds nothing of the user's."""

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import pytest
from attrs import frozen

ROOT = Path(__file__).parents[2]
AGENTS = Path(os.environ.get("FINASSAY_AGENTS", ROOT / ".agents")).absolute()


@frozen
class Program:
    """One of the installed programs."""

    name: str
    path: Path

    def run(
        self,
        args: Sequence[str],
        *,
        home: Path,
        env: Mapping[str, str] | None = None,
        stdin: str = "",
        cwd: Path | None = None,
        seconds: float = 60,
    ) -> subprocess.CompletedProcess[str]:
        """Run to the end with a clean environment; raises if that takes longer than `seconds`."""
        clean = {"HOME": str(home), "PATH": f"{self.path.parent}:/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8", "TERM": "dumb"}
        return subprocess.run(
            [str(self.path), *args],
            input=stdin,
            env={**clean, **(env or {})},
            cwd=cwd or home,
            capture_output=True,
            text=True,
            timeout=seconds,
            start_new_session=True,
            check=False,
        )


def installed(name: str) -> Program:
    path = AGENTS / "bin" / name
    if not path.exists():
        pytest.skip(f"{name} is not in {AGENTS.name}/bin: run make agents, or set FINASSAY_AGENTS")
    return Program(name, path)


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "home"
    folder.mkdir()
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def program() -> Callable[[str], Program]:
    """`program("codex")` is the installed one; without it the test is skipped."""
    return installed
