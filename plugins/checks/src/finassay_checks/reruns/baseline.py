"""The runs of delivered scripts as they are; each is made once, whoever asks first."""

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from attrs import define, field, frozen

from finassay.api.delivery import CodeRunner, Package, RunResult
from finassay_checks.delivered import read_delivery
from finassay_checks.reruns.entry import Entry, entries

SECONDS: Final = 300.0
"""Time of one run."""


@frozen(eq=False)
class Attempt:
    """One run of one script. `given` are the files of its copy of the tree, `hidden` the roles whose tables were kept out of it."""

    entry: Entry
    hidden: tuple[str, ...]
    given: Mapping[str, Path]
    result: RunResult


def delivered_as(result: RunResult, paths: Iterable[str]) -> dict[str, Path]:
    """Delivered path to the file that a run wrote for it: at the same path, below another folder (a script that was meant to be started
    beside the delivered tree writes `deliver/…`), or under the same name elsewhere where only one file has it."""
    written = {name: path for name, path in result.written.items() if not name.endswith(".py")}
    found: dict[str, Path] = {}
    wanted = list(paths)
    tails = Counter(path.rpartition("/")[2] for path in wanted)
    for path in wanted:
        tail = path.rpartition("/")[2]
        below = [name for name in written if name.endswith("/" + path)]
        alike = [name for name in written if name.rpartition("/")[2] == tail] if tails[tail] == 1 else []
        if path in written:
            found[path] = written[path]
        elif len(below) == 1 or (not below and len(alike) == 1):
            found[path] = written[(below or alike)[0]]
    return found


@define(eq=False)
class Baseline:
    """The scripts in their order, and their runs. Use as `package.fact(baseline)`, and only where the package has a runner."""

    package: Package
    runner: CodeRunner
    entries: tuple[Entry, ...]
    _made: dict[tuple[str, tuple[str, ...]], Attempt] = field(factory=dict)

    def attempt(self, entry: Entry, hidden: tuple[str, ...] = ()) -> Attempt:
        """Run a script in a copy of the tree without reports and without the files that hold only tables of the `hidden` roles; with
        nothing hidden, in the whole tree. Raises `SandboxError`."""
        key = (entry.path, hidden)
        if key not in self._made:
            given = self._files(hidden)
            result = self.runner.run(given, ("{python}", entry.path), seconds=SECONDS)
            self._made[key] = Attempt(entry, hidden, given, result)
        return self._made[key]

    @property
    def made(self) -> tuple[Attempt, ...]:
        return tuple(self._made.values())

    def _files(self, hidden: tuple[str, ...]) -> dict[str, Path]:
        delivered = self.package.fact(read_delivery)
        if not hidden:
            return {file.path: self.package.path(file) for file in self.package.tree.files}
        roles: dict[str, set[str]] = {}
        for table in delivered.role_tables:
            roles.setdefault(table.table.path, set()).add(table.role)
        reports = {d.where for d in delivered.reports}
        return {
            file.path: self.package.path(file)
            for file in self.package.tree.files
            if file.path not in reports and not (file.path in roles and roles[file.path] <= set(hidden))
        }


def baseline(package: Package) -> Baseline | None:
    """None where the evaluator may run no code."""
    if package.runner is None:
        return None
    return Baseline(package, package.runner, entries(package.fact(read_delivery)))
